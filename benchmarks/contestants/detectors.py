"""Detectors of anomalies: rhokit's densities, and those of PyOD.

A detector is fitted to rows without labels and scores the same rows; the larger a
score, the odder the row. Where a row would vouch for itself, it is left out: rhokit's
densities leave each row out in closed form, and PyOD's detectors have the scores of
their training rows (``decision_scores_``) ready after the fit. So only seconds of fit
and scores together compare.
"""

from functools import partial
from importlib import import_module

from benchmarks.contest import Contestant

_PACKAGE = "pyod"
# What grows with the square of the rows takes minutes to hours beyond these.
_MOST_ROWS = {"KDE": 20_000, "OCSVM": 20_000}
# Module, class, whether it takes a number of threads, whether a seed.
_DETECTORS = (
    ("kde", "KDE", False, False),
    ("ecod", "ECOD", False, False),  # its threads are processes: slower on all sets
    ("copod", "COPOD", False, False),  # likewise
    ("hbos", "HBOS", False, False),
    ("iforest", "IForest", True, True),
    ("knn", "KNN", True, False),
    ("lof", "LOF", True, False),
    ("ocsvm", "OCSVM", False, False),
    ("gmm", "GMM", False, True),
)


class Density:
    """rhokit's DMKDE: how unlikely a row is, by all the others.

    Parameters
    ----------
    facts : dict
    **parameters
        Of the estimator, where they are not the defaults.
    """

    def __init__(self, facts, **parameters):
        from rhokit import DMKDE

        self._model = DMKDE(random_state=facts.get("seed", 0), **parameters)

    def fit(self, rows, target=None):
        """Fit."""
        self._model.fit(rows)

    def answer(self, queries):
        """Minus the log-density of rows that the model was fitted to."""
        return -self._model.score_samples(queries, leave_one_out=True)


class PyOD:
    """A detector of PyOD with its own defaults.

    Parameters
    ----------
    facts : dict
    module, name : str
        Where the class is.
    threaded, seeded : bool
        Whether it takes a number of threads, and a seed.
    """

    def __init__(self, facts, module, name, *, threaded, seeded):
        made = getattr(import_module(f"{_PACKAGE}.models.{module}"), name)
        settings = {"n_jobs": facts["threads"]} if threaded else {}
        if seeded:
            settings["random_state"] = facts.get("seed", 0)
        self._model = made(**settings)

    def fit(self, rows, target=None):
        """Fit, and score the rows."""
        self._model.fit(rows)

    def answer(self, queries):
        """Scores of the rows that the detector was fitted to, from the first one on."""
        return self._model.decision_scores_[: len(queries)]


def _takes(name):
    """Why a detector stays away from many rows, or None."""

    def takes(facts):
        most = _MOST_ROWS.get(name, facts["n"])
        return None if facts["n"] <= most else f"not tried on more than {most:,} rows"

    return takes


def _ours(name, **parameters):
    return Contestant(name, partial(Density, **parameters), ours=True)


def _theirs(module, name, threaded, seeded):
    build = partial(PyOD, module=module, name=name, threaded=threaded, seeded=seeded)
    return Contestant(f"PyOD {name}", build, _PACKAGE, takes=_takes(name))


CONTESTANTS = (
    _ours("rhokit auto"),
    _ours("rhokit auto, median rule", gamma="median"),
    _ours("rhokit fourier", feature_map="fourier"),
    *(_theirs(*detector) for detector in _DETECTORS),
)
