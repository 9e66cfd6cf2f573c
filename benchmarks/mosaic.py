"""A mosaic of local densities against 1,024 landmarks for all rows, in one run.

Fit and prediction of both take turns on the same float32 rows, and the log-density of
rows that neither has seen stands beside: a mosaic that is fast and wrong has gained
nothing. The map is chosen by each model as part of its fit. Then the mosaic alone: rows
per second once it is prepared, bytes of its file, time to draw rows, and a file of
more rows than memory should hold, beside reading it and learning from memory.

Round clusters are easy for a mosaic. Cover types and digits are not, and are measured
where their files are.
"""

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pyarrow.dataset import dataset

from benchmarks.data import cluster_rows
from benchmarks.goals.scale import write_parquet
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
from rhokit import DMKDE, MosaicFeatures, dumps, fit_files

NAME = "mosaic"
LANDMARKS = 1024
# A mosaic that is fast before all else has one layer of so many cells: three, or ten
# for the eight clusters of ten columns, which three cannot hold apart.
FEW_CELLS, MORE_CELLS = 3, {"clusters, 10": 10}
FIT, PREDICT, NATS, PACE, SHARE, BYTES, DRAW, FILE = (
    "landmarks' seconds to fit over the mosaic's",
    "landmarks' seconds to predict over the mosaic's",
    "held-out nats per row above landmarks",
    "rows per second of partial_fit",
    "share of the SGEMM peak, (1 + d)² flops per row and cell",
    "bytes of the saved model",
    "seconds to draw rows",
    "seconds from a file over those to read it and to learn from memory",
)
_GOALS = {
    FIT: Goal(at_least=10),
    PREDICT: Goal(at_least=10),
    NATS: Goal(at_least=0),
    PACE: Goal(at_least=2e6),
    SHARE: None,
    BYTES: Goal(at_most=20e6),
    DRAW: Goal(at_most=1),
    FILE: Goal(at_most=1.15),
}


@dataclass(frozen=True)
class Sizes:
    """How many rows to fit, to ask for, to stream and to draw, and rounds."""

    n: int = 100_000
    n_queries: int = 20_000
    n_streamed: int = 2_000_000
    n_filed: int = 100_000_000
    n_drawn: int = 100_000
    repeats: int = 3


_QUICK = Sizes(10_000, 2_000, 100_000, n_filed=200_000, n_drawn=1_000, repeats=1)


def tasks(quick):
    """Both maps on each kind of rows, then the mosaic alone."""
    sizes = _QUICK if quick else Sizes()
    makers = {f"clusters, {d}": partial(_clusters, d) for d in (10, 40)}
    makers |= {name: _REAL[name] for name in readable(() if quick else tuple(_REAL))}
    for name, make in makers.items():
        for n_cells in (MORE_CELLS.get(name, FEW_CELLS), None):
            what = name if n_cells is None else f"{name}, few cells"
            yield Task(what, partial(versus, what, make, sizes, n_cells))
    for n_cells in (FEW_CELLS, None):
        what = "alone" if n_cells is None else "alone, few cells"
        yield Task(what, partial(alone, sizes, n_cells))
    yield Task("file", partial(file, sizes))


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
        NAME: partial(_mosaic, n_cells),
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


def alone(sizes, n_cells=None, d=10):
    """The mosaic's own pace, file and samples, on clusters."""
    rows = _clusters(d, sizes)[0].astype(np.float32)
    prepared = _mosaic(n_cells).prepare(rows)
    case = f"{NAME} of {prepared.feature_map_.n_cells_} cells, clusters, {d} columns"
    result = partial(_result, case, d=d)
    streamed = np.resize(rows, (sizes.n_streamed, d))
    paces, peaks = zip(
        *((_pace(prepared, streamed), _peak()) for _ in range(sizes.repeats)),
        strict=True,
    )
    pace, best, peak = float(np.median(paces)), max(paces), float(np.median(peaks))
    yield result(PACE, pace, best=best, rows=len(streamed))
    # A symmetric sum needs half of its multiplications and additions.
    flops = pace * prepared.feature_map_.n_cells_ * (1 + d) ** 2
    yield result(SHARE, flops / peak, peak_flops=peak)
    model = prepared.blank().partial_fit(rows)
    yield result(BYTES, float(len(dumps(model))))
    draw = partial(model.sample, sizes.n_drawn, random_state=0)
    yield result(DRAW, _seconds(draw), rows=sizes.n_drawn)


def file(sizes, d=10):
    """A mosaic of few cells from a Parquet file, beside what its parts take."""
    rows = _clusters(d, sizes)[0].astype(np.float32)
    prepared = _mosaic(FEW_CELLS).prepare(rows)
    streamed = np.resize(rows, (sizes.n_streamed, d))
    with tempfile.TemporaryDirectory(prefix="rhokit-mosaic-") as folder:
        path = write_parquet(Path(folder) / "large.parquet", sizes.n_filed, d, 0)
        gigabytes = path.stat().st_size / 1e9
        pace = _pace(prepared, streamed)
        reading = _seconds(partial(_read, path))
        whole = _seconds(partial(fit_files, prepared.blank(), path))
    parts = {"reading": reading, "rows_per_second": pace, "whole": whole}
    case = f"{NAME} of few cells, {sizes.n_filed:,} rows of Parquet, {d} columns"
    ratio = whole / (reading + sizes.n_filed / pace)
    yield _result(case, FILE, ratio, d=d, file_gigabytes=gigabytes, **parts)


def _mosaic(n_cells):
    return DMKDE(feature_map=MosaicFeatures(n_cells=n_cells), random_state=0)


def _pace(prepared, rows):
    """Rows per second from memory."""
    return len(rows) / _seconds(partial(prepared.blank().partial_fit, rows))


def _peak(n=2048):
    """Flops per second of a plain product in single precision."""
    factor = np.ones((n, n), np.float32)
    return 2 * n**3 / _seconds(lambda: factor @ factor)


def _read(path):
    """Read a file and nothing else."""
    for _ in dataset(path).to_batches():
        pass


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
