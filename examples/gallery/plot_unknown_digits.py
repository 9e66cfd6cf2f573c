"""
A classifier that may say "unknown"
===================================

A density matrix per class knows how likely an image is at all. Trained on the digits 0
to 7, the model has never seen an 8 or a 9, and its density tells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rhokit import DMKDClassifier

X, y = load_digits(return_X_y=True)
known, train = y < 8, np.arange(len(y)) < 1200
model = DMKDClassifier(feature_map="landmarks", reject=0.02, random_state=0)
model.fit(X[known & train], y[known & train])

scores = model.score_samples(X[~train])
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
bins = np.linspace(scores.min(), scores.max(), 50)
for which, label in [
    (known, "digits 0 to 7, held out"),
    (~known, "8 and 9, never seen"),
]:
    ax.hist(scores[which[~train]], bins=bins, alpha=0.7, label=label)
ax.set(
    xlabel="log-density of the image", ylabel="images", title="What it has never seen"
)
ax.legend(frameon=False)

# %%
answers = model.predict(X[~train])
for which, name in [(known, "digits 0 to 7"), (~known, "8 and 9")]:
    share = (answers[which[~train]] == "unknown").mean()
    print(f"called unknown of {name}: {share:.0%}")
