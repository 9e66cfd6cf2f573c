"""Detectors of anomalies: rhokit's densities, and those of PyOD.

A detector is fitted to rows without labels and scores the same rows (``setting``
"contaminated") or other ones ("clean"); the larger a score, the odder the row. Where a
row would vouch for itself, it is left out: rhokit's detector recognises the rows that
it learned, and PyOD's have the scores of theirs (``decision_scores_``) ready after the
fit. So only seconds of fit and scores together compare. rhokit's detector is told the
setting, as its users would tell it; PyOD's have no such parameter.
"""

from functools import partial
from importlib import import_module

from benchmarks.contest import Contestant

_PACKAGE = "pyod"
# What grows with the square of the rows takes minutes to hours beyond these.
_MOST_ROWS = {"KDE": 20_000}
# Module, class, whether it takes a number of threads, whether a seed.
_DETECTORS = (
    ("kde", "KDE", False, False),
    ("ecod", "ECOD", False, False),  # its threads are processes: slower on all sets
    ("copod", "COPOD", False, False),  # likewise
    ("hbos", "HBOS", False, False),
    ("iforest", "IForest", True, True),
    ("knn", "KNN", True, False),
    ("lof", "LOF", True, False),
    ("mcd", "MCD", False, True),
    ("cblof", "CBLOF", False, True),
    ("inne", "INNE", False, True),
    ("dif", "DIF", False, True),
)
# What grows with the cube of the columns, or faster.
_MOST_COLUMNS = {"MCD": 500}
_SIZES = {"n": "rows", "d": "columns"}


def _is_clean(facts):
    """Whether the rows that are scored are others than those of the fit."""
    return facts.get("setting") == "clean"


class Detector:
    """rhokit's DMKDOutlierDetector: minus the logarithm of the p-value of a row.

    Parameters
    ----------
    facts : dict
    """

    def __init__(self, facts):
        from rhokit import DMKDOutlierDetector

        training = "clean" if _is_clean(facts) else "contaminated"
        seed = facts.get("seed", 0)
        self._model = DMKDOutlierDetector(training=training, random_state=seed)

    def fit(self, rows, target=None):
        """Fit."""
        self._model.fit(rows)

    def answer(self, queries):
        """How surprising rows are; those of the fit are left out."""
        return -self._model.score_samples(queries)


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
        self._is_clean = _is_clean(facts)

    def fit(self, rows, target=None):
        """Fit, and score the rows."""
        self._model.fit(rows)

    def answer(self, queries):
        """Scores of the rows of the fit, from the first one on, or of others."""
        if self._is_clean:
            return self._model.decision_function(queries)
        return self._model.decision_scores_[: len(queries)]


def _takes(name):
    """Why a detector stays away from many rows, or None."""

    def takes(facts):
        for size, limits in (("n", _MOST_ROWS), ("d", _MOST_COLUMNS)):
            most, what = limits.get(name, facts[size]), _SIZES[size]
            if facts[size] > most:
                return f"not tried on more than {most:,} {what}"
        return None

    return takes


def _theirs(module, name, threaded, seeded):
    build = partial(PyOD, module=module, name=name, threaded=threaded, seeded=seeded)
    return Contestant(f"PyOD {name}", build, _PACKAGE, takes=_takes(name))


CONTESTANTS = (
    Contestant("rhokit detector", Detector, ours=True),
    *(_theirs(*detector) for detector in _DETECTORS),
)
