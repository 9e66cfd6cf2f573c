"""Classes and values side by side: how good learners are, their time and their size.

Classes are those of real sets, on their own splits. The largest real sets of values at
hand are small, so that each is judged on several of its published partitions: errors
are the mean over them, seconds and bytes those of one partition.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.contest import Case, Limits, compete
from benchmarks.contestants.learners import CLASSIFIERS, REGRESSORS, TRAINING
from benchmarks.real_data import load_classes, load_partitions, readable
from benchmarks.records import Result, n_cores
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import number, text_table

SHARE, DISTANCE = "accuracy", "mean absolute error"
CLASSES, VALUES = "classes", "values"
_METRICS = {CLASSES: SHARE, VALUES: DISTANCE}
_MODULE = "benchmarks.contestants.learners"
_FEATURES = 1_000
_QUICK_FEATURES = 200
_QUICK_ROWS = 500
CLASS_SETS = "usps", "letters", "mnist"
VALUE_SETS = "abalone", "stocks", "boston_housing"
_PARTITIONS = 3
QUICK_SETS = "usps", "stocks"
# In a quick run some of each kind must do: every process takes seconds to start.
_QUICK_ABSENT = (
    "RBFSampler + LogisticRegression",
    "RBFSampler + Ridge",
    "RBFSampler + SGDClassifier",
    "Nystroem + SGDClassifier",
    "GaussianNB",
    "constant median",
)
# One task for every learner, lest minutes be lost.
_BY_LEARNER = ("mnist",)
_MOST_ROWS = 5_000
_LEFT = ("learner",)
_PER_FIT = (
    "fit_seconds",
    "answer_seconds",
    "total_seconds",
    "best_seconds",
    "model_bytes",
)


@dataclass(frozen=True, eq=False)
class Set:
    """Rows with targets, and rows to be judged by.

    Parameters
    ----------
    name : str
    kind : {"classes", "values"}
    splits : list of Split
        One, or the partitions of a set of values.
    features : int
        Of every kernel approximation.
    """

    name: str
    kind: str
    splits: list
    features: int = _FEATURES

    @property
    def sizes(self):
        """Rows and columns of a split."""
        n, d = self.splits[0].train_rows.shape
        return {"n": n, "d": d}

    @property
    def truth(self):
        """Targets of all queries."""
        return np.concatenate([split.test_target for split in self.splits])

    def case(self):
        """For the contest; values have the number of their partition in front."""
        rows, queries = (
            self._stacked([getattr(split, part) for split in self.splits])
            for part in ("train_rows", "test_rows")
        )
        target = np.concatenate([split.train_target for split in self.splits])
        return Case(self.name, rows, queries, target, {"features": self.features})

    def _stacked(self, parts):
        if self.kind == CLASSES:
            return parts[0]
        return np.concatenate(
            [np.insert(rows, 0, number, axis=1) for number, rows in enumerate(parts)]
        )


def class_set(name, quick=False):
    """A set of classes; of a large one, or in a quick run, some of its rows."""
    split = load_classes(name)
    if quick:
        return Set(name, CLASSES, [split.fewer(_QUICK_ROWS)], _QUICK_FEATURES)
    if name in _BY_LEARNER:
        split = split.fewer(_MOST_ROWS)
    return Set(name, CLASSES, [split])


def value_set(name, quick=False):
    """A set of values in its first partitions; in a quick run, the first one alone."""
    partitions = load_partitions(name, "y_continuous")
    if quick:
        return Set(name, VALUES, partitions[:1], _QUICK_FEATURES)
    return Set(name, VALUES, partitions[:_PARTITIONS])


def tasks(quick):
    """One for every set that is there; of a large one, one for every learner."""
    # The budget is for all queries: nothing is scaled up.
    limits = Limits(rounds=1, budget=60, patience=30)
    if not quick:
        limits = Limits(rounds=3, budget=60, patience=90, slow=2)
    for name in readable(QUICK_SETS if quick else (*CLASS_SETS, *VALUE_SETS)):
        load, learners = (
            (class_set, CLASSIFIERS) if name in CLASS_SETS else (value_set, REGRESSORS)
        )
        if quick:
            learners = [each for each in learners if each.name not in _QUICK_ABSENT]
        groups = {name: learners}
        if name in _BY_LEARNER:
            groups = {f"{name}: {each.name}": [each] for each in learners}
        for task, group in groups.items():
            yield Task(
                task, partial(results, partial(load, name, quick), group, limits)
            )


def results(load, contestants, limits):
    """The learners on one set.

    Parameters
    ----------
    load : callable
        Returns the set.
    contestants : sequence of Contestant
    limits : Limits
    """
    given, threads = load(), n_cores()
    case = given.case()
    n = len(case.queries)
    for score in compete(case, _MODULE, contestants, [n], n, limits, threads):
        details = per_fit(score.details(), len(given.splits)) | given.sizes
        yield Result(
            f"{given.name}: {score.name}",
            _METRICS[given.kind],
            quality(given, score.answers),
            threads=threads,
            details=details
            | {
                "case": given.name,
                "set": given.name,
                "kind": given.kind,
                "features": given.features,
                "partitions": len(given.splits),
                "training": TRAINING.get(score.name),
            },
        )


def quality(given, answers):
    """Accuracy, or the mean over the partitions of mean absolute errors."""
    if answers is None:
        return None
    if given.kind == CLASSES:
        return float((answers == given.truth).mean())
    # Partitions have the same number of rows.
    return float(np.abs(answers - given.truth).mean())


def per_fit(details, n_models):
    """Seconds and bytes of one of several models that were fitted in a row."""
    scaled = {}
    for key in _PER_FIT:
        value = details.get(key)
        if isinstance(value, dict):
            scaled[key] = {count: each / n_models for count, each in value.items()}
        elif value is not None:
            scaled[key] = value / n_models
    return details | scaled


# ---- table ---------------------------------------------------------------------------


def table(lines):
    """For every set, the learners from the best to the worst; then the absences."""
    sets = {}
    for line in lines:
        if line["metric"] != SECONDS:
            sets.setdefault(line["details"]["set"], []).append(line)
    return "\n\n".join(_set_table(group) for group in sets.values())


def _set_table(lines):
    metric, facts = lines[0]["metric"], lines[0]["details"]
    sign = -1 if metric == SHARE else 1
    found = [line for line in lines if line["value"] is not None]
    found.sort(key=lambda line: sign * line["value"])
    away = [line["details"] for line in lines if line["value"] is None]
    parts = [
        f"{facts['set']}: {facts['n']:,} training rows, {facts['d']} columns, "
        f"partitions: {facts['partitions']}",
        text_table([_row(line) for line in found], _LEFT),
        *(f"  {each['contestant']}: {each['reason']}" for each in away),
    ]
    return "\n".join(parts)


def _row(line):
    details = line["details"]
    (predicted,) = details["answer_seconds"].values()
    size = details["model_bytes"]
    digits = 4 if line["metric"] == SHARE else 3
    return {
        "learner": ("* " if details["ours"] else "  ") + details["contestant"],
        line["metric"]: f"{line['value']:.{digits}f}",
        "fit s": number(details["fit_seconds"]),
        "predict s": number(predicted),
        "model MB": number(None if size is None else size / 1e6),
        "peak MB": number(details["peak_megabytes"]),
    }
