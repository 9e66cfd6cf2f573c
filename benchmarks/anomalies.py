"""Anomalies side by side: how well detectors rank the rows of labelled sets.

The sets are those of ADBench (Han et al., 2022), in two settings. *Contaminated*: a
detector is fitted to all rows, sees no label, and scores the same rows. *Clean*: it is
fitted to half of the rows that are no anomalies, and scores the others and the
anomalies. Labels only judge the scores. Columns are standardised for everybody, by the
rows of the fit, since distances need it.

rhokit's detector was made with every second set, by their names, from the first one on
(``SEEN``); the others say what it does on sets that nobody looked at.
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
    "aloi",
    "annthyroid",
    "breastw",
    "cardiotocography",
    "cover",
    "donors",
    "glass",
    "http",
    "internetads",
    "landsat",
    "letter",
    "magic_gamma",
    "mnist",
    "musk",
    "optdigits",
    "pima",
    "satimage-2",
    "shuttle",
    "spambase",
    "thyroid",
    "vertebral",
    "wbc",
    "wilt",
    "wpbc",
)
SEEN = SETS[::2]
SETTINGS = ("contaminated", "clean")
QUICK_SETS = ("letter", "thyroid")
_MOST_ROWS, _QUICK_ROWS = 2_000, 1_000
# In a quick run one of each kind must do: every process takes seconds to start.
_QUICK_ABSENT = (
    "PyOD CBLOF",
    "PyOD COPOD",
    "PyOD DIF",
    "PyOD GMM",
    "PyOD HBOS",
    "PyOD INNE",
    "PyOD LOF",
    "PyOD MCD",
    "PyOD OCSVM",
)
_FILES = {f"adbench/{name}": name for name in SETS}
_MODULE = "benchmarks.contestants.detectors"
_LEFT = ("detector",)
_NOTE = """\
Means over the sets. Mean rank: without a figure is last; such count as 0.5 in the mean.
Above: rhokit's detector less this one, with the standard error of the difference over
sets. Seconds: fit and scores, of the sets that have a figure."""


def tasks(quick):
    """One for every set that is there, in each setting."""
    limits = Limits(rounds=1, budget=3, patience=60 if quick else 600)
    wanted = QUICK_SETS if quick else SETS
    most = _QUICK_ROWS if quick else _MOST_ROWS
    taking_part = [c for c in CONTESTANTS if not (quick and c.name in _QUICK_ABSENT)]
    for file in readable(file for file, name in _FILES.items() if name in wanted):
        for setting in SETTINGS:
            name = _FILES[file]
            run = partial(results, name, setting, most, limits, taking_part)
            yield Task(f"{name}, {setting}", run)


def results(name, setting, most, limits, contestants=CONTESTANTS):
    """The detectors on at most so many rows of a set, in one setting."""
    arrays = load_arrays(f"adbench/{name}")
    order = np.random.default_rng(0).permutation(len(arrays["X"]))[:most]
    rows, labels = arrays["X"][order].astype(np.float64), arrays["y"][order]
    fitted, scored = parts(labels, setting)
    scaler = StandardScaler().fit(rows[fitted])
    fit_rows, asked = (
        np.ascontiguousarray(scaler.transform(rows[which]))
        for which in (fitted, scored)
    )
    case = Case(name, fit_rows, asked, facts={"setting": setting})
    yield from contest(case, labels[scored], limits, contestants)


def parts(labels, setting):
    """Places of the rows of the fit, and of those that are scored."""
    everything = np.arange(len(labels))
    if setting == "contaminated":
        return everything, everything
    normal = np.random.default_rng(1).permutation(np.flatnonzero(labels == 0))
    half = len(normal) // 2
    return normal[:half], np.setdiff1d(everything, normal[:half])


def contest(case, labels, limits, contestants):
    """The detectors on the rows of one set.

    Parameters
    ----------
    case : Case
        Its queries are scored.
    labels : array of shape (n,)
        Of these, 1 for anomalies, 0 for the others; no detector sees them.
    limits : Limits
    contestants : sequence of Contestant
    """
    n, threads, setting = len(case.queries), n_cores(), case.facts["setting"]
    details = case.sizes | {"case": case.name, "set": case.name, "setting": setting}
    for score in compete(case, _MODULE, contestants, [n], n, limits, threads):
        area, precision = quality(labels, score.answers)
        own = score.details() | details | {"average_precision": precision}
        if score.reason is None and area is None:
            own["reason"] = "some scores are no numbers"
        name = f"{case.name}, {setting}: {score.name}"
        yield Result(name, AREA, area, threads=threads, details=own)


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
    """Each setting: means and ranks by detector, of all sets and of those not seen."""
    lines = [line["details"] | line for line in lines if line["metric"] != SECONDS]
    texts = [f"{AREA}, *: rhokit's. {_NOTE}\n"]
    for setting in SETTINGS:
        for of, without in (("all sets", ()), ("sets not looked at", SEEN)):
            some = [
                line
                for line in lines
                if line["setting"] == setting and line["set"] not in without
            ]
            if some:
                texts += [f"{setting}, {of}", _standing(some), ""]
    away = [f"{line['case']}: {line['reason']}" for line in lines if line["reason"]]
    return "\n".join([*texts, *away]).rstrip()


def _standing(lines):
    """Detectors, the best mean rank first."""
    found = {}
    for line in lines:
        found.setdefault(line["contestant"], {})[line["set"]] = line
    sets = list(dict.fromkeys(line["set"] for line in lines))
    ranks = mean_ranks(found, sets)
    areas = {name: _areas(by_set, sets) for name, by_set in found.items()}
    first = next((areas[name] for name in areas if name == "rhokit detector"), None)
    rows = [
        _row(name, found[name], areas[name], ranks[name], first)
        for name in sorted(found, key=ranks.get)
    ]
    return text_table(rows, _LEFT)


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
    areas = [_areas(by_set, sets, -np.inf) for by_set in found.values()]
    ranks = rankdata(-np.array(areas), axis=0).mean(axis=1)
    return dict(zip(found, ranks.tolist(), strict=True))


def _areas(by_set, sets, without=0.5):
    """Areas of the sets, chance where there is no figure."""
    known = [by_set.get(name) for name in sets]
    absent = [line is None or line["value"] is None for line in known]
    return np.array(
        [
            without if is_absent else line["value"]
            for line, is_absent in zip(known, absent, strict=True)
        ]
    )


def _row(name, by_set, areas, rank, first):
    ended = [line for line in by_set.values() if line["value"] is not None]
    mark = "* " if any(line["ours"] for line in by_set.values()) else "  "
    seconds = sum(sum(line["total_seconds"].values()) for line in ended)
    precisions = [line["average_precision"] for line in ended]
    return {
        "detector": mark + name,
        "mean": f"{areas.mean():.3f}",
        "mean rank": f"{rank:.1f}",
        "above": above(first, areas),
        "precision": f"{np.mean(precisions):.3f}" if ended else "-",
        "sets": str(len(ended)),
        "seconds": number(seconds),
    }


def above(first, areas):
    """By how much the first one is above on average, and the standard error of it."""
    if first is None or np.array_equal(first, areas):
        return "-"
    difference = first - areas
    if len(difference) < 2:
        return f"{difference.mean():+.3f}"
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.3f} ± {error:.3f}"
