"""Blends as candidates: one of classes, and one of values between the levels.

They are made without torch, one model after the other. Each gives a distribution over
the levels for every query, as all candidates do.
"""

import numpy as np

from rhokit import DMKDClassifier, QMRegressor

_LEVELS = 5


def by_classes(rows, codes, queries, seed):
    """Probabilities (k, levels) of a blend that does not know the levels' order."""
    model = DMKDClassifier(feature_map="blend", random_state=seed).fit(rows, codes)
    found = np.zeros((len(queries), _LEVELS))
    found[:, model.classes_] = model.predict_proba(queries)
    return found


def by_values(rows, codes, queries, seed):
    """Probabilities (k, levels) of a blend of values."""
    model = QMRegressor(
        feature_map="blend",
        n_levels=_LEVELS,
        bounds=(0, _LEVELS - 1),
        random_state=seed,
    ).fit(rows, codes.astype(float))
    return model.predict_distribution(queries)


KINDS = {"classes": by_classes, "values": by_values}


def blended(task, kind, seed=0):
    """Distributions of the queries, shape (B, k, levels)."""
    fit = KINDS[kind]
    parts = zip(task.rows, task.codes, task.queries, strict=True)
    return np.stack(
        [
            fit(rows.numpy(), codes.numpy().astype(int), queries.numpy(), seed)
            for rows, codes, queries in parts
        ]
    ).astype(np.float32)
