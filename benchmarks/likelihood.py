"""Held-out log-density of real tables, in nats per row, beside what others reach.

Every contestant has the same training rows, four fifths of a table, standardised by
their own mean and spread, chooses everything from them, and is judged by the mean
log-density of the other fifth. Five random splits. A task is one contestant on one
split of one table, and its line is kept as soon as it is there: the whole section
takes many hours. Cheap tables and contestants come first, flows last.

Beside the mean stand the means of up to fifty blocks of test rows, the same ones for
everybody, so that the standard error of a difference can be had from two lines.
"""

import hashlib
import os
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.contest import Case, Limits, compete
from benchmarks.contestants.likelihoods import CONTESTANTS, FLOW
from benchmarks.likelihood_sets import DEQUANTISED, fold, tables
from benchmarks.likelihood_verdicts import METRIC, report
from benchmarks.real_data import readable
from benchmarks.records import Result, n_cores
from benchmarks.runs import Ledger, Task

RUN = Ledger
N_SPLITS = 5
_MODULE = "benchmarks.contestants.likelihoods"
_MOST_BLOCKS = 50
_ROWS_OF_A_BLOCK = 5
_DAY = 86_400.0
_FLOW_SECONDS = "RHOKIT_FLOW_SECONDS"
# Patience is for the whole fit, which takes hours for 300 parts of many columns.
_LIMITS = Limits(rounds=1, budget=60, patience=_DAY)
_FACTS = {
    False: {"most_parts": 300, "n_choosing": 5_000, "flow_seconds": 600},
    True: {"most_parts": 30, "n_choosing": 1_000, "flow_seconds": 10},
}


def tasks(quick):
    """Each contestant on each split of each table that is there."""
    found = [table for table in tables(quick) if any(readable([table.file]))]
    quickest = [c for c in CONTESTANTS if c.name != FLOW]
    slowest = [c for c in CONTESTANTS if c.name == FLOW]
    for contestants in (quickest, slowest):
        for split in range(1 if quick else N_SPLITS):
            for dequantised in (False, True):
                for contestant in _installed(contestants):
                    for table in found:
                        if not dequantised or _has_variant(table, quick):
                            yield _task(table, split, dequantised, contestant, quick)


def _has_variant(table, quick):
    """Whether it is measured with noise, too; in the quick form small ones alone."""
    return table.lattice and not (quick and table.cost > 1)


def _installed(contestants):
    for contestant in contestants:
        if find_spec(contestant.package) is not None:
            yield contestant
        else:  # no line: what is installed later takes part then
            text = f"{contestant.package} is not installed"
            print(f"  {contestant.name} left out: {text}", file=sys.stderr)


def _task(table, split, dequantised, contestant, quick):
    variant = f", {DEQUANTISED}" if dequantised else ""
    name = f"{table.name}{variant} / split {split} / {contestant.name}"
    run = partial(results, table, split, dequantised, contestant, facts_of(quick))
    return Task(name, run)


def facts_of(quick):
    """Limits of what is tried; ``RHOKIT_FLOW_SECONDS`` overrides that of flows."""
    facts = dict(_FACTS[quick])
    given = os.environ.get(_FLOW_SECONDS)
    return facts | ({"flow_seconds": float(given)} if given else {})


def results(table, split, dequantised, contestant, facts):
    """One contestant on one split of a table."""
    rows = fold(table, split, dequantised)
    variant = DEQUANTISED if dequantised else "as they are"
    details = {"set": table.name, "variant": variant, "split": split}
    case = Case(table.name, rows.train, rows.test, facts=facts | {"seed": split})
    yield judged(case, contestant, details)


def judged(case, contestant, details):
    """The line of one contestant on a case.

    Parameters
    ----------
    case : Case
        Its queries are the held-out rows.
    contestant : Contestant
    details : dict
        What is known of the case: set, variant, split.
    """
    n, threads = len(case.queries), allowed_threads()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    (score,) = compete(case, _MODULE, [contestant], [n], n, _LIMITS, threads)
    details = details | score.details() | case.sizes | {"n_test": n, "load": load}
    if contestant.ours:
        details["source"] = source_digest()
    value, found = quality(score.answers)
    details |= found
    if value is None and details["reason"] is None:
        details["reason"] = "the density of some rows is zero or no number"
    names = details["set"], details["variant"], f"split {details['split']}"
    return Result(
        " / ".join([*names, contestant.name]),
        METRIC,
        value,
        threads=threads,
        seed=details["split"],
        details=details,
    )


def quality(logs):
    """Mean log-density and what else a line says of it; None where it is infinite."""
    if logs is None:
        return None, {}
    lost = int(np.sum(~np.isfinite(logs)))
    if lost:
        return None, {"lost_rows": lost, "median": float(np.median(logs))}
    n_blocks = max(2, min(_MOST_BLOCKS, len(logs) // _ROWS_OF_A_BLOCK))
    blocks = [float(np.mean(part)) for part in np.array_split(logs, n_blocks)]
    return float(np.mean(logs)), {
        "standard_error": float(np.std(logs, ddof=1) / np.sqrt(len(logs))),
        "median": float(np.median(logs)),
        "lowest": float(np.min(logs)),
        "blocks": [round(value, 5) for value in blocks],
    }


def allowed_threads():
    """What ``OMP_NUM_THREADS`` says, all cores without it; the line tells."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdigit() else n_cores()


@cache
def source_digest():
    """A short name of rhokit's source: versions in development share a number."""
    folder = Path(find_spec("rhokit").origin).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def table(lines):
    """Means by table and contestant, then who is above whom."""
    return report(lines)
