"""
Probabilities that can be believed
==================================

Of all rows that a model is 80 % sure of, it should be right about 80 %. Digits, by
DMKDClassifier and by a forest, both without settings.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from rhokit import DMKDClassifier
from rhokit.plots import CalibrationDisplay

rows = load_digits(return_X_y=True)
X, new, y, truth = train_test_split(*rows, test_size=0.5, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
models = [DMKDClassifier(random_state=0), RandomForestClassifier(random_state=0)]
for ax, model in zip(axes, models, strict=True):
    model.fit(X, y)
    CalibrationDisplay.from_estimator(model, new, truth, ax=ax)
    loss = log_loss(truth, model.predict_proba(new))
    ax.set_title(f"{type(model).__name__}: log-loss {loss:.3f}")
