"""
Rows that lack values
=====================

A density can be asked about part of a row: what is missing is integrated out. Here
values are taken away at random from rows of wines, and a classifier that integrates is
set beside one whose gaps were filled with medians.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer

from rhokit import DMKDClassifier

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train, test = order[:120], order[120:]
given = {"feature_map": "landmarks", "random_state": 0}
asked = DMKDClassifier(missing="integrate", **given).fit(X[train], y[train])
filled = DMKDClassifier(**given).fit(X[train], y[train])
medians = SimpleImputer(strategy="median").fit(X[train])

shares, scores = np.linspace(0, 0.8, 9), []
for share in shares:
    gaps = np.where(rng.random((6, *X[test].shape)) < share, np.nan, X[test])
    pairs = [
        (asked.score(rows, y[test]), filled.score(medians.transform(rows), y[test]))
        for rows in gaps
    ]
    scores.append(np.mean(pairs, axis=0))

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
lines = ax.plot(100 * shares, 100 * np.array(scores), marker="o")
ax.legend(lines, ["integrated out", "filled with medians"], frameon=False)
ax.set(xlabel="values missing (%)", ylabel="right (%)", title="58 wines, 13 columns")
