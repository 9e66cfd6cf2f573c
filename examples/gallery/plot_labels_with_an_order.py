"""
Labels that have an order
=========================

Grades of diabetes from mild to severe: a miss by two grades is worse than by one.
QMOrdinalClassifier predicts the label of least absolute error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from rhokit import QMOrdinalClassifier

X, y = load_diabetes(return_X_y=True)
grade = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
model = QMOrdinalClassifier(random_state=0).fit(X[:342], grade[:342])
probabilities = model.predict_proba(X[342:])
order = np.argsort(probabilities @ np.arange(5))

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
ax.imshow(probabilities[order].T, aspect="auto", origin="lower", cmap="Blues")
ax.plot(grade[342:][order], ".", color="#b5382a", label="what came true")
ax.set(xlabel="patients, by the expected grade", ylabel="grade", yticks=range(5))
ax.legend(loc="upper left")
error = abs(model.predict(X[342:]) - grade[342:]).mean()
ax.set_title(f"Probabilities of five grades; mean absolute error {error:.2f}")
