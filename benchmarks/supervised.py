"""Values with distributions, and classes: defaults against defaults.

A task is one contestant on some splits of one set, which it learns one after the other
in a process of its own; there is a line for every split. Lines go to the results at
once and stay until their task is measured afresh, so that some contestants can be
measured without the others. The tasks of a set stand in a row: in one run, contestants
take turns on it. The first splits of all sets come first, slow sets last.
"""

import os
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import supervised_verdicts
from benchmarks.contest import Limits, compete
from benchmarks.contestants.learners import CLASSIFIERS, REGRESSORS, SLOW
from benchmarks.likelihood import allowed_threads, source_digest
from benchmarks.real_data import readable
from benchmarks.records import Result
from benchmarks.runs import Ledger, Task
from benchmarks.supervised_measures import METRICS, judge
from benchmarks.supervised_sets import CLASSES, VALUES, load, sets

RUN = Ledger
_MODULE = "benchmarks.contestants.learners"
_CONTESTANTS = {VALUES: REGRESSORS, CLASSES: CLASSIFIERS}
_FIRST_SPLITS = 5
_QUICK_SPLITS = 2
# Nothing is scaled up, and nobody is stopped before an hour.
_LIMITS = Limits(rounds=1, budget=3_600, patience=3_600)


def tasks(quick):
    """Each contestant on the splits of each set that is there."""
    found = [given for given in sets(quick) if any(readable([given.file]))]
    early = [given for given in found if not given.late]
    quickest, slowest = (partial(_contestants, slow=slow) for slow in (False, True))
    yield from _stage(early, quickest, quick, first=True)
    if not quick:
        yield from _stage(early, quickest, quick, first=False)
        yield from _stage([each for each in found if each.late], quickest, quick)
    yield from _stage(early, slowest, quick)


def _contestants(kind, slow):
    for contestant in _CONTESTANTS[kind]:
        if (contestant.name in SLOW) == slow:
            if find_spec(contestant.package) is not None:
                yield contestant
            else:  # no line: what is installed later takes part then
                text = f"{contestant.package} is not installed"
                print(f"  {contestant.name} left out: {text}", file=sys.stderr)


def _stage(given_sets, contestants, quick, first=True):
    for given in given_sets:
        most = min(given.n_splits, _QUICK_SPLITS if quick else _FIRST_SPLITS)
        numbers = range(most) if first else range(most, given.n_splits)
        if numbers:
            for contestant in contestants(given.kind):
                yield _task(given, numbers, contestant, quick)


def _task(given, numbers, contestant, quick):
    which = f"split {numbers[0]}" if len(numbers) == 1 else f"splits {span(numbers)}"
    run = partial(results, partial(load, given, numbers, quick), contestant)
    return Task(f"{given.name} / {which} / {contestant.name}", run)


def span(numbers):
    """The first and the last one."""
    return f"{numbers[0]}-{numbers[-1]}"


def results(load_group, contestant):
    """A line for every split, or one with the reason why there is none.

    Parameters
    ----------
    load_group : callable
        Returns the splits.
    contestant : Contestant
    """
    group, threads = load_group(), allowed_threads()
    load_now = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    case = group.case()
    n = len(case.queries)
    (score,) = compete(case, _MODULE, [contestant], [n], n, _LIMITS, threads)
    common = group.sizes | {"load": load_now, "kind": group.given.kind}
    if contestant.ours:
        common["source"] = source_digest()
    if score.answers is None:
        yield _line(group, group.numbers[0], None, threads, common | score.details())
        return
    common |= per_split(score.details(), group)
    stops = np.cumsum([len(split.test_target) for split in group.splits])[:-1]
    parts = np.split(score.answers, stops)
    for number, split, part in zip(group.numbers, group.splits, parts, strict=True):
        value, others = judge(group.given.kind, part, split.test_target)
        yield _line(group, number, value, threads, common | others)


def per_split(details, group):
    """Seconds and bytes of one of several models that were fitted in a row."""
    n, n_test = len(group.splits), str(group.sizes["n_test"])
    kept = {key: details[key] for key in ("contestant", "ours", "reason")}
    for key in ("fit_seconds", "fit_processor_seconds"):
        kept[key] = details[key] / n
    for key in ("answer_seconds", "answer_processor_seconds", "total_seconds"):
        (seconds,) = details[key].values()
        kept[key] = {n_test: seconds / n}
    size = details["model_bytes"]
    return kept | {"model_bytes": None if size is None else round(size / n)}


def _line(group, number, value, threads, details):
    given = group.given
    details |= {"set": given.name, "case": given.name, "split": number}
    return Result(
        f"{given.name} / split {number} / {details['contestant']}",
        METRICS[given.kind],
        value,
        threads=threads,
        seed=number,
        details=details,
    )


def table(lines):
    """Means by set and contestant, then who is above whom."""
    return supervised_verdicts.report(lines)
