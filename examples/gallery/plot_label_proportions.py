"""
Classes from the shares in bags
===============================

Nobody tells the label of any row, only how large a share of each bag has it, as votes
are known by district. ``fit_proportions`` learns density matrices of the classes from
that, in closed form. Beside it stand the usual way, a logistic regression on the means
of the bags, and a model that is told all labels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import DMKDClassifier


def put_in_bags(y, size, rng):
    """A bag for each row, about so large; every class prefers some of the bags."""
    n_bags = len(y) // size
    bags = np.empty(len(y), dtype=int)
    for label in np.unique(y):
        of_class = rng.dirichlet(np.full(n_bags, 0.5))
        bags[y == label] = rng.choice(n_bags, np.sum(y == label), p=of_class)
    return bags


def regression_of_means(X, bags, shares):
    """Each bag's mean as often as it has labels, weighted by their shares."""
    means = pd.DataFrame(X).groupby(bags).mean().loc[shares.index].to_numpy()
    rows, labels = np.repeat(means, shares.shape[1], axis=0), [*shares.columns]
    weights = shares.to_numpy().ravel() * np.repeat(
        np.bincount(bags)[shares.index], len(labels)
    )
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(max_iter=2000).fit(
        scaler.transform(rows), labels * len(means), sample_weight=weights
    )
    return make_pipeline(scaler, model)


sets = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
found = {}
for name, load in sets.items():
    for split in range(3):
        rng = np.random.default_rng(split)
        X, new, y, truth = train_test_split(*load(return_X_y=True), random_state=split)
        bags = put_in_bags(y, 15, rng)
        shares = pd.crosstab(bags, y, normalize="index")
        model = DMKDClassifier(
            feature_map="landmarks", n_components=256, random_state=0
        )
        found[name, split] = {
            "shares, fit_proportions": model.fit_proportions(X, bags, shares).score(
                new, truth
            ),
            "shares, regression of means": regression_of_means(X, bags, shares).score(
                new, truth
            ),
            "all labels": model.fit(X, y).score(new, truth),
        }
table = pd.DataFrame(found).T.groupby(level=0, sort=False).mean()
print(table.round(3))

# %%
# Means over three splits, bags of about 15 rows:

ax = table.plot.bar(figsize=(7, 3.6), color=["#0072B2", "#D55E00", "#d9dde3"], rot=0)
ax.set(ylabel="accuracy of single rows", ylim=(0.5, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.tight_layout()
