"""Anomalies side by side: how well detectors rank the rows of labelled sets.

The sets are those of ADBench (Han et al., 2022), of each a random 2,000 rows at most,
in two settings. *Contaminated*: a detector is fitted to all rows, sees no label, and
scores the same rows. *Clean*: it is fitted to half of the rows that are no anomalies,
and scores the others and the anomalies. Labels only judge the scores. Columns are
standardised for everybody, by the rows of the fit, since distances need it. The seed of
a run draws the rows and the halves, and is the detectors' own.

rhokit's detector was made with every second set, by their names, from the first one on
(``SEEN``); the others say what it does on sets that it was not chosen by.

A task is rhokit's detector, or all others in turn, on one set in one setting with one
seed. Lines go to the results at once and stay until their task is measured afresh. Many
fits take an instant: detectors share a process, which is ended if one takes too long.
"""

import sys
import time
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks import anomaly_verdicts
from benchmarks.anomaly_verdicts import AREA
from benchmarks.contest.contestants import find
from benchmarks.contest.elsewhere import Elsewhere, Failed, TooLong
from benchmarks.contestants.detectors import CONTESTANTS
from benchmarks.likelihood import allowed_threads, source_digest
from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Result
from benchmarks.runs import Ledger, Task

RUN = Ledger
N_SEEDS = 5
SETTINGS = ("contaminated", "clean")
SETS = anomaly_verdicts.SETS
QUICK_SETS = ("letter", "thyroid")
_MOST_ROWS, _QUICK_ROWS = 2_000, 1_000
_PATIENCE, _QUICK_PATIENCE = 600, 60
_FILES = {f"adbench/{name}": name for name in SETS}
_MODULE = "benchmarks.contestants.detectors"
_SIDES = {"rhokit": True, "others": False}
# The rows of a first fit, in which detectors load and compile what they need.
_WARM_ROWS = 200


def tasks(quick):
    """Both sides on every set that is there, seed by seed."""
    elsewhere = Elsewhere(_QUICK_PATIENCE if quick else _PATIENCE)
    most = _QUICK_ROWS if quick else _MOST_ROWS
    wanted = QUICK_SETS if quick else SETS
    files = list(readable(file for file, name in _FILES.items() if name in wanted))
    sides = {side: list(_taking_part(ours)) for side, ours in _SIDES.items()}
    for seed in range(1 if quick else N_SEEDS):
        for file in files:
            for setting in SETTINGS:
                for side, contestants in sides.items():
                    which = _FILES[file], setting, seed
                    yield Task(
                        f"{which[0]} / {setting} / seed {seed} / {side}",
                        partial(results, *which, most, elsewhere, contestants),
                    )


def _taking_part(ours):
    for contestant in CONTESTANTS:
        if contestant.ours == ours:
            if find_spec(contestant.package) is not None:
                yield contestant
            else:  # no line: what is installed later takes part then
                text = f"{contestant.package} is not installed"
                print(f"  {contestant.name} left out: {text}", file=sys.stderr)


def results(name, setting, seed, most, elsewhere, contestants):
    """A line for every detector on at most so many rows of a set."""
    fit_rows, asked, labels = case(load_arrays(f"adbench/{name}"), setting, seed, most)
    n, d = fit_rows.shape
    threads = allowed_threads()
    facts = {"setting": setting, "seed": seed, "n": n, "d": d, "threads": threads}
    for contestant in contestants:
        details = {"contestant": contestant.name, "ours": contestant.ours} | facts
        details |= {"set": name, "case": name}
        if contestant.ours:
            details["source"] = source_digest()
        value, own = judged(contestant, fit_rows, asked, labels, facts, elsewhere)
        text = f"{name}, {setting}, seed {seed}: {contestant.name}"
        yield Result(
            text, AREA, value, threads=threads, seed=seed, details=details | own
        )


def judged(contestant, fit_rows, asked, labels, facts, elsewhere):
    """Area of a detector, and the rest of its line."""
    reason = contestant.takes(facts)
    if reason is None:
        arguments = contestant.name, fit_rows, asked, facts
        try:
            scores, seconds = elsewhere.call(scored, *arguments)
        except (TooLong, Failed) as error:
            reason = str(error)
        else:
            area, precision = quality(labels, scores)
            reason = "some scores are no numbers" if area is None else None
            return area, seconds | {"average_precision": precision, "reason": reason}
    return None, {"average_precision": None, "reason": reason}


_WARM = set()


def scored(name, fit_rows, asked, facts):
    """Scores of a detector, and the processor's seconds: called elsewhere."""
    contestant = find(_MODULE, name)
    if name not in _WARM:
        model = contestant.build(facts)
        model.fit(fit_rows[:_WARM_ROWS])
        model.answer(asked[:1])
        _WARM.add(name)
    model, start = contestant.build(facts), time.process_time()
    model.fit(fit_rows)
    middle = time.process_time()
    scores = np.asarray(model.answer(asked))
    end = time.process_time()
    return scores, {
        "fit_seconds": middle - start,
        "answer_seconds": {str(len(asked)): end - middle},
        "total_seconds": {str(len(asked)): end - start},
    }


# ---- rows ----------------------------------------------------------------------------


def case(arrays, setting, seed, most):
    """Rows to be fitted to and to be scored, and the labels of the latter."""
    order = np.random.default_rng(seed).permutation(len(arrays["X"]))[:most]
    rows, labels = arrays["X"][order].astype(np.float64), arrays["y"][order]
    fitted, asked = parts(labels, setting, seed)
    scaler = StandardScaler().fit(rows[fitted])
    fit_rows, queries = (
        np.ascontiguousarray(scaler.transform(rows[which])) for which in (fitted, asked)
    )
    return fit_rows, queries, labels[asked]


def parts(labels, setting, seed=0):
    """Places of the rows of the fit, and of those that are scored."""
    everything = np.arange(len(labels))
    if setting == "contaminated":
        return everything, everything
    rng = np.random.default_rng(seed + 1)
    normal = rng.permutation(np.flatnonzero(labels == 0))
    half = len(normal) // 2
    return normal[:half], np.setdiff1d(everything, normal[:half])


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


def table(lines):
    """Each setting: means and ranks by detector, of all sets and of those not seen."""
    return anomaly_verdicts.report(lines)
