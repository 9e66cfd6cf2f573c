"""Settings by cross-validation inside the training rows.

All configurations are tried on one fold, the better ones on more, the best on all
five: what is clearly worse need not be tried five times. Only training rows come in.
"""

import numpy as np
from sklearn.model_selection import KFold

from experiments.classification.families import FAMILIES, draw
from rhokit.features import gamma_by_rule

FOLDS = 5
# After so many folds, so many configurations go on.
_RACE = ((1, 6), (3, 2), (5, 1))


def search(family, rows, labels, size, seed=0):
    """The best settings of a family, with all that was tried.

    Parameters
    ----------
    family : str
    rows : array of shape (n, d)
        Of the training part.
    labels : array of shape (n,)
    size : Size
    seed : int

    Returns
    -------
    best : dict
        ``settings``, with γ in place of its ``width``, ``folds`` and ``accuracy``.
    tried : list of dict
    """
    own = FAMILIES[family]
    chosen = np.random.default_rng(seed).permutation(len(rows))[: size.tuning_rows]
    rows, labels = rows[chosen], labels[chosen]
    median = float(gamma_by_rule("median", rows, rng=np.random.default_rng(seed)))
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(rows))
    racing = [
        {"settings": with_gamma(settings, median), "scores": []}
        for settings in draw(own.space, size.configurations, seed)
    ]
    tried = list(racing)
    for stop, keep in _RACE:
        for entry in racing:
            for learn, judge in folds[len(entry["scores"]) : stop]:
                settings = entry["settings"] | {"epochs": size.epochs}
                model = own.make(settings, size.n_components, seed)
                model.fit(rows[learn], labels[learn])
                right = model.predict(rows[judge]) == labels[judge]
                entry["scores"].append(float(right.mean()))
        racing = sorted(racing, key=_mean, reverse=True)[:keep]
    return _summary(racing[0]), [_summary(entry) for entry in tried]


def with_gamma(settings, median):
    """The settings with γ in place of a multiple of the median rule's."""
    if "width" not in settings:
        return settings
    others = {name: value for name, value in settings.items() if name != "width"}
    return others | {"gamma": settings["width"] * median}


def _mean(entry):
    return float(np.mean(entry["scores"]))


def _summary(entry):
    scores = entry["scores"]
    return {
        "settings": entry["settings"],
        "folds": len(scores),
        "accuracy": _mean(entry),
    }
