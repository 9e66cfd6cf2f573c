"""Anomalies side by side: how well detectors rank the rows of labelled sets.

The sets are those of ADBench (Han et al., 2022). The usual protocol: a detector is
fitted to all rows, sees no label, and scores the same rows; labels only judge the
scores. Columns are standardised for everybody, since distances need it.
"""

from functools import partial

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.contest import Case, Limits, compete
from benchmarks.contestants.detectors import CONTESTANTS
from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Result, n_cores
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import number, text_table

AREA = "ROC AUC"
SETS = (
    "breastw",
    "letter",
    "musk",
    "thyroid",
    "optdigits",
    "satimage2",
    "annthyroid",
    "shuttle",
)
QUICK_SETS = ("letter",)
# In a quick run one of each kind must do: every process takes seconds to start.
_QUICK_ABSENT = (
    "rhokit fourier",
    "PyOD COPOD",
    "PyOD GMM",
    "PyOD HBOS",
    "PyOD LOF",
    "PyOD OCSVM",
)
_FILES = {f"anomaly_{name}": name for name in SETS}
_MODULE = "benchmarks.contestants.detectors"
_LEFT = ("detector",)
_NOTE = """\
Mean rank: without a figure is last. Seconds: fit and scores, of the
sets that have a figure."""


def tasks(quick):
    """One for every set that is there."""
    limits = Limits(rounds=1, budget=3, patience=10)
    if not quick:
        limits = Limits(rounds=3, budget=3, patience=40, slow=1)
    wanted = QUICK_SETS if quick else SETS
    taking_part = [c for c in CONTESTANTS if not (quick and c.name in _QUICK_ABSENT)]
    for file in readable(file for file, name in _FILES.items() if name in wanted):
        name = _FILES[file]
        yield Task(name, partial(results, name, limits, taking_part))


def results(name, limits, contestants=CONTESTANTS):
    """The detectors on one set of real rows."""
    arrays = load_arrays(f"anomaly_{name}")
    rows = StandardScaler().fit_transform(arrays["X"].astype(np.float64))
    yield from contest(
        name, np.ascontiguousarray(rows), arrays["y"], limits, contestants
    )


def contest(name, rows, labels, limits, contestants):
    """The detectors on the rows of one set.

    Parameters
    ----------
    name : str
    rows : array of shape (n, d)
    labels : array of shape (n,)
        1 for anomalies, 0 for the others; no detector sees them.
    limits : Limits
    contestants : sequence of Contestant
    """
    n, threads = len(rows), n_cores()
    case = Case(name, rows, rows)
    scores = compete(case, _MODULE, contestants, [n], n, limits, threads)
    for score in scores:
        area, precision = quality(labels, score.answers)
        details = score.details() | case.sizes | {"case": name, "set": name}
        if score.reason is None and area is None:
            details["reason"] = "some scores are no numbers"
        yield Result(
            f"{name}: {score.name}",
            AREA,
            area,
            threads=threads,
            details=details | {"average_precision": precision},
        )


def quality(labels, scores):
    """Area under the ROC curve and average precision; None where there is no ranking.

    Scores that are infinite share the highest rank.
    """
    if scores is None or np.isnan(scores).any():
        return None, None
    ranks = rankdata(scores)  # the measures take no infinity
    return (
        float(roc_auc_score(labels, ranks)),
        float(average_precision_score(labels, ranks)),
    )


# ---- table ---------------------------------------------------------------------------


def table(lines):
    """Areas by detector and set, with mean ranks and seconds; then the absences."""
    lines = [line["details"] | line for line in lines if line["metric"] != SECONDS]
    sets = list(dict.fromkeys(line["set"] for line in lines))
    found = {}
    for line in lines:
        found.setdefault(line["contestant"], {})[line["set"]] = line
    ranks = mean_ranks(found, sets)
    rows = [
        _row(name, found[name], sets, ranks) for name in sorted(found, key=ranks.get)
    ]
    away = [f"{line['case']}: {line['reason']}" for line in lines if line["reason"]]
    parts = [f"{AREA}, *: rhokit's. {_NOTE}\n", text_table(rows, _LEFT)]
    return "\n".join([*parts, "", *away] if away else parts)


def mean_ranks(found, sets):
    """Mean rank of each detector over the sets; who has no figure shares the last.

    Parameters
    ----------
    found : dict of str to dict
        Lines by detector and set.
    sets : list of str

    Returns
    -------
    ranks : dict of str to float
    """
    areas = [[_area(by_set.get(name)) for name in sets] for by_set in found.values()]
    ranks = rankdata(-np.array(areas), axis=0).mean(axis=1)
    return dict(zip(found, ranks.tolist(), strict=True))


def _area(line):
    return -np.inf if line is None or line["value"] is None else line["value"]


def _row(name, by_set, sets, ranks):
    ended = [line for line in by_set.values() if line["value"] is not None]
    seconds = sum(line["total_seconds"][str(line["n"])] for line in ended)
    mark = "* " if any(line["ours"] for line in by_set.values()) else "  "
    areas = {each: _cell(by_set.get(each)) for each in sets}
    return {
        "detector": mark + name,
        **areas,
        "mean rank": f"{ranks[name]:.1f}",
        "sets": str(len(ended)),
        "seconds": number(seconds),
    }


def _cell(line):
    return "-" if line is None or line["value"] is None else f"{line['value']:.3f}"
