"""How time and memory grow: with rows, with the map's size, with rank and classes.

A curve is one measure of one model over one size. Its exponent is the slope in the
logarithms over the larger half of the sizes (``benchmarks.fits``): 1 where the measure
is proportional to the size, 0 where it does not depend on it. What theory expects
stands beside. γ and scaling are given, so that nothing is measured but sums, products
and predictions.

Times are those of arrays held in memory, medians of interleaved rounds; jobs that take
long are done once or twice. Memory is that of a process of its own, above what it had
when all was loaded and compiled, while rows come in batches that nobody keeps. Kernel
densities that keep all rows stand beside.
"""

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.neighbors import KernelDensity
from threadpoolctl import threadpool_limits

from benchmarks.data import uniform_rows
from benchmarks.fits import Curve, times
from benchmarks.memory import reset_peak, resident_megabytes
from benchmarks.records import Goal, Result, n_cores
from benchmarks.runs import Task
from benchmarks.tables import number, text_table
from benchmarks.tables import table as table_of_goals
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE, DMKDClassifier, QMRegressor

FIT, ASK, PEAK = "fit seconds", "prediction seconds", "peak megabytes"
ROWS, COLUMNS, RANK, CLASSES = "training rows", "columns of the map", "rank", "classes"
TREE, EXACT = "scikit-learn KernelDensity", "exact sums, fused"
_GAMMA = 4.0
_QUERIES = 10_000
_TREE_QUERIES = 20  # scaled up to the others' number: each costs the same
_BATCH_ROWS = 50_000
_WARM_ROWS = 10_000  # fewer do not need the compiled loops
_LEAST_MEGABYTES = 1.0  # below it, pages and not models are counted
_ROOT = Path(__file__).resolve().parents[1]


# ---- what is measured ------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """An estimator, and the rows that it is made for.

    Parameters
    ----------
    name : str
    build : callable
        Makes a new one.
    d : int
    target : callable, optional
        Makes the target from rows.
    """

    name: str
    build: Callable
    d: int = 10
    target: Callable | None = None

    def draw(self, n, seed=0):
        """Arguments for a fit to so many rows."""
        rows = uniform_rows(n, self.d, seed)
        return [rows] if self.target is None else [rows, self.target(rows)]


def fixed(kind, feature_map, n_components, gamma=_GAMMA, **others):
    """A model with nothing left to choose."""
    return kind(
        gamma=gamma,
        n_components=n_components,
        feature_map=feature_map,
        scale=None,
        random_state=0,
        **others,
    )


def tree():
    """The kernel density of the same γ that keeps all rows in a tree."""
    return KernelDensity(bandwidth=(2 * _GAMMA) ** -0.5)


def labels(rows, n_classes=10):
    """Classes as many as wanted, all of the same size."""
    return np.arange(len(rows)) % n_classes


MODELS = {
    model.name: model
    for model in (
        Model("DMKDE, grid, 1-D", partial(fixed, DMKDE, "grid", 1024, 1000.0), d=1),
        Model("DMKDE, 256 landmarks", partial(fixed, DMKDE, "landmarks", 256)),
        Model("DMKDE, Fourier, 256", partial(fixed, DMKDE, "fourier", 256)),
        Model(
            "DMKDClassifier, 64 landmarks",
            partial(fixed, DMKDClassifier, "landmarks", 64),
            target=labels,
        ),
        Model(
            "QMRegressor, 32 landmarks",
            partial(
                fixed,
                QMRegressor,
                "landmarks",
                32,
                n_levels=8,
                beta=64.0,
                bounds=(0, 1),
                calibration=None,
            ),
            target=lambda rows: rows.mean(axis=1),
        ),
    )
}
_QUICK_MODELS = tuple(MODELS)[:2]


def tasks(quick):
    """Pieces of the section; memory only where the system tells it."""
    models = [MODELS[name] for name in (_QUICK_MODELS if quick else MODELS)]
    sizes = spaced(4, 5.5, 3) if quick else spaced(4, 7, 7)
    kept = spaced(4, 5, 3) if quick else spaced(4, 6, 5)
    rounds = 1 if quick else 3
    for model in models:
        yield Task(f"rows: {model.name}", partial(over_rows, model, sizes, rounds))
    yield Task("rows: exact sums", partial(exact_over_rows, kept, rounds))
    if Path("/proc/self/status").exists():
        for name in [models[1].name] if quick else MODELS:
            yield Task(f"memory: {name}", partial(memory, name, sizes, 0.0))
        yield Task(f"memory: {TREE}", partial(memory, TREE, kept, 1.0))
    # To whiten twice as many landmarks would take longer than all the rest.
    for kind, most in (("Fourier", 12), ("landmarks", 11)):
        dims = (64, 256, 1024) if quick else tuple(2**k for k in range(6, most + 1))
        yield Task(f"columns: {kind}", partial(over_columns, kind, dims, rounds))
    ranks = (4, 32, 256) if quick else tuple(2**k for k in range(2, 11))
    yield Task("rank", partial(over_rank, ranks, rounds))
    numbers = (2, 8, 32) if quick else tuple(2**k for k in range(1, 8))
    yield Task("classes", partial(over_classes, numbers, rounds))
    for threads in [n_cores()] if quick else sorted({1, n_cores()}):
        many = 300_000 if quick else 1_000_000
        yield Task(f"ratios: {threads} threads", partial(ratios, threads, many, rounds))


def spaced(first, last, count):
    """Round numbers of rows between two powers of ten, equally spaced in logarithms."""
    return tuple(int(round(10**k, -2)) for k in np.linspace(first, last, count))


# ---- curves ----------------------------------------------------------------------


def over_rows(model, sizes, rounds, n_queries=_QUERIES):
    """Fit and prediction of one model over its training rows."""
    arrays = model.draw(max(sizes))
    curve = Curve(model.name, FIT, ROWS, 1.0)
    fitted = yield from _fits(
        curve, lambda n: model.build().fit(*(a[:n] for a in arrays)), sizes, rounds
    )
    queries = model.draw(n_queries, seed=1)[0]
    yield from _predictions(Curve(model.name, ASK, ROWS, 0.0), fitted, queries, rounds)


def exact_over_rows(sizes, rounds, n_queries=_QUERIES, tree_queries=_TREE_QUERIES):
    """Those that keep all rows: a tree of them, and plain sums over them."""
    from benchmarks.rivals import FusedExactKDE  # compiles; the others need not wait

    rows, queries = uniform_rows(max(sizes), 10, 0), uniform_rows(n_queries, 10, 1)
    curve = Curve(TREE, FIT, ROWS, 1.0)
    fitted = yield from _fits(curve, lambda n: tree().fit(rows[:n]), sizes, rounds)
    few = queries[:tree_queries]
    seconds = times({n: partial(fitted[n].score_samples, few) for n in sizes}, rounds)
    seconds = {n: value * n_queries / len(few) for n, value in seconds.items()}
    details = {"queries": n_queries, "timed_queries": len(few)}
    yield from Curve(TREE, ASK, ROWS, 1.0).results(seconds, **details)
    exact = {n: FusedExactKDE(rows[:n], _GAMMA, "product") for n in sizes}
    jobs = {n: partial(exact[n].score_samples, queries, n_cores()) for n in sizes}
    details = {"queries": n_queries}
    yield from Curve(EXACT, ASK, ROWS, 1.0).results(times(jobs, rounds), **details)


def over_columns(kind, dims, rounds, n=20_000, n_queries=_QUERIES):
    """Prediction at full rank over the size of the map."""
    rows, queries = uniform_rows(n, 10, 0), uniform_rows(n_queries, 10, 1)
    fitted = {dim: fixed(DMKDE, kind.lower(), dim).fit(rows) for dim in dims}
    curve = Curve(f"DMKDE, {kind}", ASK, COLUMNS, 2.0)
    yield from _predictions(curve, fitted, queries, rounds)


def over_rank(ranks, rounds, n=20_000, n_queries=_QUERIES):
    """Prediction over the rank that is kept of a map as large as the largest rank."""
    dim = max(ranks)
    rows, queries = uniform_rows(n, 10, 0), uniform_rows(n_queries, 10, 1)
    fitted = {r: fixed(DMKDE, "fourier", dim, rank=r).fit(rows) for r in ranks}
    curve = Curve(f"DMKDE, Fourier, D = {dim:,}", ASK, RANK, 1.0)
    yield from _predictions(curve, fitted, queries, rounds)


def over_classes(numbers, rounds, n=100_000, dim=256, n_queries=_QUERIES):
    """Fit of the same rows in more and more classes, and prediction of them."""
    rows, queries = uniform_rows(n, 10, 0), uniform_rows(n_queries, 10, 1)
    name = f"DMKDClassifier, Fourier, D = {dim:,}"

    def fit(k):
        return fixed(DMKDClassifier, "fourier", dim).fit(rows, labels(rows, k))

    fitted = yield from _fits(Curve(name, FIT, CLASSES, 0.0), fit, numbers, rounds)
    curve = Curve(name, ASK, CLASSES, 1.0)
    yield from _predictions(curve, fitted, queries, rounds)


def _fits(curve, fit, sizes, rounds):
    """Results of a curve of fits; returns the fitted models by size."""
    fitted = {}

    def job(size):
        fitted[size] = fit(size)

    yield from curve.results(times({n: partial(job, n) for n in sizes}, rounds))
    return fitted


def _predictions(curve, fitted, queries, rounds):
    """Results of a curve of predictions."""
    seconds = times(_asking(fitted, queries), rounds)
    yield from curve.results(seconds, queries=len(queries))


def _asking(fitted, queries):
    """A job for each model, which has answered before: the first time it factors."""
    jobs = {}
    for size, model in fitted.items():
        ask = model.score_samples if isinstance(model, DMKDE) else model.predict
        ask(queries[:1])
        jobs[size] = partial(ask, queries)
    return jobs


# ---- goals -----------------------------------------------------------------------


def ratios(threads, many, rounds, dim=512, n_queries=_QUERIES):
    """Ten times the rows take ten times as long to fit; as long to ask, any number."""
    few, fewest = many // 10, many // 100
    rows, queries = uniform_rows(many, 10, 0), uniform_rows(n_queries, 10, 1)
    with threadpool_limits(threads):
        fresh = fixed(DMKDE, "fourier", dim)
        fits = {n: partial(fresh.fit, rows[:n]) for n in (few, many)}
        case = f"fit, Fourier, D = {dim}, {many:,} rows against {few:,}"
        yield _ratio(case, fits, many / few, threads, rounds)
        fitted = {n: fixed(DMKDE, "fourier", dim).fit(rows[:n]) for n in (fewest, many)}
        asked = _asking(fitted, queries)
        case = f"predict, Fourier, D = {dim}, fitted to {many:,} rows against "
        yield _ratio(f"{case}{fewest:,}", asked, 1.0, threads, 2 * rounds + 3)


def _ratio(case, jobs, expected, threads, rounds):
    """Time of the second job over that of the first, within a tenth of a number."""
    first, second = interleaved(jobs, rounds).values()
    value, best = compare(lambda a, b: b / a, first, second)
    return Result(
        case,
        "ratio of times",
        value,
        Goal(at_least=0.9 * expected, at_most=1.1 * expected),
        threads,
        best,
        details=first.details("small") | second.details("large"),
    )


# ---- memory ----------------------------------------------------------------------


def memory(name, sizes, expected):
    """Most resident memory of a process of its own, over the rows it has seen."""
    command = [sys.executable, "-m", "benchmarks.scaling", name, *map(str, sizes)]
    done = subprocess.run(
        command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    peaks = {step["rows"]: step["megabytes"] for step in _steps(done.stdout)}
    yield from Curve(name, PEAK, ROWS, expected).results(peaks)


def stream(model, sizes):
    """Fit batches one after the other; yields the rows seen at each of the sizes."""
    estimator, seen = model.build(), 0
    for size in sizes:
        while seen < size:
            n = min(_BATCH_ROWS, size - seen)
            estimator.partial_fit(*model.draw(n, seed=seen))
            seen += n
        yield seen


def keep(sizes):
    """Fit trees to all rows at once, one size after the other."""
    for size in sizes:
        tree().fit(uniform_rows(size, 10, 0))
        yield size


def main():
    """The process that is measured: one line for each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("sizes", type=int, nargs="+")
    options = parser.parse_args()
    name = options.name
    steps = keep if name == TREE else partial(stream, MODELS[name])
    list(steps([_WARM_ROWS]))
    _give_back()
    reset_peak()
    start = resident_megabytes()[0]
    for rows in steps(sorted(options.sizes)):
        most = max(resident_megabytes()[1] - start, _LEAST_MEGABYTES)
        print(json.dumps({"rows": rows, "megabytes": most}), flush=True)


def _give_back():
    """Return freed memory to the system, or what follows would seem to need none."""
    with suppress(AttributeError):  # a C library other than GNU's
        ctypes.CDLL(None).malloc_trim(0)


def _steps(text):
    return [json.loads(line) for line in text.splitlines()]


# ---- table -----------------------------------------------------------------------


def table(lines):
    """Curves with their ends and exponents, and the goals below them."""
    curves = [_cells(line) for line in lines if line["metric"] == "exponent"]
    goals = [line for line in lines if line["goal"] is not None]
    parts = text_table(curves, ("model", "measure", "over")), table_of_goals(goals)
    return "\n\n".join(part for part in parts if part.strip())


def _cells(line):
    details = line["details"]
    sizes, values = details["sizes"], details["values"]
    return {
        "model": details["model"],
        "measure": details["measure"],
        "over": details["axis"],
        "sizes": f"{sizes[0]:,} → {sizes[-1]:,}",
        "values": f"{number(values[0])} → {number(values[-1])}",
        "exponent": "none" if line["value"] is None else f"{line['value']:z.2f}",
        "in theory": f"{details['expected']:g}",
    }


if __name__ == "__main__":
    main()
