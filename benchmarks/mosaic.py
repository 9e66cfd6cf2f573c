"""A mosaic of local densities against 1,024 landmarks for all rows, in one run.

Fit and prediction of both take turns on the same float32 rows, and the log-density of
rows that neither has seen stands beside: a mosaic that is fast and wrong has gained
nothing. The map is chosen by each model as part of its fit. Then the mosaic alone: rows
per second once it is prepared, bytes of its file, time to draw rows.

Round clusters are easy for a mosaic. Cover types and digits are not, and are measured
where their files are.
"""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.data import cluster_rows
from benchmarks.likelihood_sets import (
    COMPONENTS,
    cover_rows,
    digit_rows,
    principal,
    standardised,
)
from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Goal, Result, n_cores
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import table as table_of_goals
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE, MosaicFeatures, dumps

NAME = "mosaic"
LANDMARKS = 1024
# A mosaic that is fast before all else has no more cells in a layer.
FEW_CELLS = 10
FIT, PREDICT, NATS, PACE, BYTES, DRAW = (
    "landmarks' seconds to fit over the mosaic's",
    "landmarks' seconds to predict over the mosaic's",
    "held-out nats per row above landmarks",
    "rows per second of partial_fit",
    "bytes of the saved model",
    "seconds to draw rows",
)
_GOALS = {
    FIT: Goal(at_least=10),
    PREDICT: Goal(at_least=10),
    NATS: Goal(at_least=0),
    PACE: Goal(at_least=2e6),
    BYTES: Goal(at_most=20e6),
    DRAW: Goal(at_most=1),
}


@dataclass(frozen=True)
class Sizes:
    """How many rows to fit, to ask for, to stream and to draw, and rounds."""

    n: int = 100_000
    n_queries: int = 20_000
    n_streamed: int = 2_000_000
    n_drawn: int = 100_000
    repeats: int = 3


_QUICK = Sizes(n=10_000, n_queries=2_000, n_streamed=100_000, n_drawn=1_000, repeats=1)


def tasks(quick):
    """Both maps on each kind of rows, then the mosaic alone."""
    sizes = _QUICK if quick else Sizes()
    makers = {f"clusters, {d}": partial(_clusters, d) for d in (10, 40)}
    makers |= {name: _REAL[name] for name in readable(() if quick else tuple(_REAL))}
    for name, make in makers.items():
        for n_cells in (FEW_CELLS, None):
            what = name if n_cells is None else f"{name}, few cells"
            yield Task(what, partial(versus, what, make, sizes, n_cells))
    yield Task("alone", partial(alone, sizes))


def _clusters(d, sizes):
    rows = cluster_rows(sizes.n, d, sizes.n_queries, 0)
    return standardised(*rows)


def _cover(sizes):
    rows = cover_rows(load_arrays("covtype"), sizes.n + sizes.n_queries)
    return standardised(rows[: sizes.n], rows[sizes.n :])


def _digits(sizes):
    rows = np.random.default_rng(0).permutation(digit_rows(load_arrays("mnist")))
    n = min(sizes.n, len(rows) - 10_000)
    return standardised(*principal(rows[:n], rows[n:], COMPONENTS))


_REAL = {"covtype": _cover, "mnist": _digits}


def versus(name, make, sizes, n_cells=None):
    """Both maps on the same rows, in turn.

    Parameters
    ----------
    name : str
        Of the rows.
    make : callable
        Takes the sizes, returns rows to fit and rows to ask for.
    sizes : Sizes
    n_cells : int, optional
        Most cells of a layer of the mosaic; as by default without it.
    """
    rows, queries = (part.astype(np.float32) for part in make(sizes))
    case = f"{name}, {len(rows):,} × {rows.shape[1]}"
    result = partial(_result, case, n=len(rows), d=rows.shape[1])
    makers = {
        NAME: partial(
            DMKDE, feature_map=MosaicFeatures(n_cells=n_cells), random_state=0
        ),
        "landmarks": partial(
            DMKDE, feature_map="landmarks", n_components=LANDMARKS, random_state=0
        ),
    }
    fits = {key: (lambda made=made: made().fit(rows)) for key, made in makers.items()}
    yield _ratio(result, FIT, interleaved(fits, sizes.repeats))
    fitted = {key: made().fit(rows) for key, made in makers.items()}
    asks = {
        key: (lambda model=model: model.score_samples(queries))
        for key, model in fitted.items()
    }
    yield _ratio(result, PREDICT, interleaved(asks, sizes.repeats))
    means = {key: float(np.mean(ask())) for key, ask in asks.items()}
    details = {f"{key}_nats": mean for key, mean in means.items()}
    yield result(NATS, means[NAME] - means["landmarks"], **details)


def _ratio(result, metric, times):
    both = times["landmarks"], times[NAME]
    value, best = compare(lambda slow, fast: slow / fast, *both)
    details = both[0].details("landmarks") | both[1].details(NAME)
    return result(metric, value, best=best, **details)


def alone(sizes, d=10):
    """The mosaic's own pace, file and samples, on clusters."""
    rows = _clusters(d, sizes)[0].astype(np.float32)
    result = partial(_result, f"{NAME}, clusters, {d} columns", d=d)
    streamed = np.resize(rows, (sizes.n_streamed, d))
    prepared = DMKDE(feature_map=NAME, random_state=0).prepare(rows)
    paces = [
        len(streamed) / _seconds(partial(prepared.blank().partial_fit, streamed))
        for _ in range(sizes.repeats)
    ]
    pace, best = float(np.median(paces)), max(paces)
    yield result(PACE, pace, best=best, rows=len(streamed))
    model = prepared.blank().partial_fit(rows)
    yield result(BYTES, float(len(dumps(model))))
    draw = partial(model.sample, sizes.n_drawn, random_state=0)
    yield result(DRAW, _seconds(draw), rows=sizes.n_drawn)


def _result(case, metric, value, *, best=None, **details):
    goal, threads = _GOALS[metric], n_cores()
    return Result(case, metric, value, goal, threads, best, details=details)


def _seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def table(lines):
    """What was measured and what was asked for."""
    return table_of_goals([line for line in lines if line["metric"] != SECONDS])
