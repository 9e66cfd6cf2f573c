"""Models fitted to more and more rows; all of a size are timed in turn."""

from copy import copy
from functools import partial

import numpy as np
from sklearn.neighbors import KernelDensity

from benchmarks.data import spiral_rows
from benchmarks.exact import log_mass, log_relative_rmse
from benchmarks.fits import times
from benchmarks.records import Result, n_cores
from benchmarks.rivals import FusedExactKDE
from experiments.density_time.config import (
    AUTO,
    FUSED,
    LANDMARKS,
    LINE,
    METRIC,
    NUMPY,
    PANELS,
    PAPER,
    PAPER_FULL,
    SIZES,
    SPIRALS,
    TREE,
)
from experiments.mnist_pca import mnist_rows
from experiments.runs import Task
from rhokit import DMKDE
from rhokit.datasets import bimodal

_BLOCK_NUMBERS = 2**22
_MNIST_ROWS = 10_000
_NOISE = 0.01  # of rows that are drawn again, so that no two are the same


def tasks(size):
    """One for each set and number of rows, none beside another."""
    settings = dict(SIZES[size])
    return [
        Task(
            f"{panel}, {n:,} rows",
            one_size,
            {k: v for k, v in settings.items() if k != "sizes"}
            | {"panel": panel, "rows": n},
            alone=True,
        )
        for panel in PANELS
        for n in settings["sizes"]
    ]


def one_size(panel, rows, queries, n_components, rank, rounds, tree_rows):
    """Seconds of a prediction of all queries, and how far it is from the exact one."""
    gamma = PANELS[panel]
    sample, at = draw(panel, rows, queries)
    jobs = exact_jobs(sample, at, gamma, tree_rows)
    jobs |= our_jobs(sample, at, gamma, n_components, rank)
    seconds = times(jobs, rounds)
    exact = jobs[FUSED]()
    for name, job in jobs.items():
        error = log_relative_rmse(job(), exact)
        details = {"panel": panel, "rows": rows, "gamma": gamma, "error": error}
        yield Result(name, METRIC, seconds[name], details=details)


def draw(panel, n, n_queries, seed=0):
    """Rows (N, d) and queries (n, d) in single precision, for all models the same."""
    if panel == LINE:
        both = bimodal(n + n_queries, random_state=seed)
        rows, at = both[:n], both[n:]
    elif panel == SPIRALS:
        rows, at = spiral_rows(n, n_queries, seed)
    else:
        rows, at = resampled_mnist(n, n_queries, seed)
    return rows.astype(np.float32), at.astype(np.float32)


def resampled_mnist(n, n_queries, seed):
    """MNIST rows drawn with replacement, with a little noise: any number of them."""
    rows, at = mnist_rows(_MNIST_ROWS, n_queries, seed)
    rng = np.random.default_rng(seed)
    chosen = rows[rng.integers(len(rows), size=n)]
    return chosen + rng.normal(0.0, _NOISE, chosen.shape), at


def exact_jobs(rows, at, gamma, tree_rows):
    """Exact kernel densities: NumPy, compiled loops, and a tree of few enough rows."""
    way = "loop" if rows.shape[1] <= 4 else "product"
    fused = FusedExactKDE(rows, gamma, way)
    jobs = {
        NUMPY: partial(numpy_log_density, rows, at, gamma),
        FUSED: partial(fused.score_samples, at, n_cores()),
    }
    if len(rows) <= tree_rows:
        tree = KernelDensity(bandwidth=(2 * gamma) ** -0.5).fit(rows)
        jobs[TREE] = partial(tree.score_samples, at)
    return jobs


def our_jobs(rows, at, gamma, n_components, rank):
    """DMKDE of several maps, which have answered once: the first time they factor."""
    common = {
        "gamma": gamma,
        "scale": None,
        "n_components": n_components,
        "random_state": 0,
    }
    full = DMKDE(feature_map="fourier", **common).fit(rows)
    models = {
        PAPER: copy(full).set_params(rank=rank),
        PAPER_FULL: full,
        LANDMARKS: DMKDE(feature_map="landmarks", **common).fit(rows),
    }
    if rows.shape[1] <= 2:
        models[AUTO] = DMKDE(gamma=gamma, scale=None).fit(rows)
    for model in models.values():
        model.score_samples(at[:1])
    return {name: partial(model.score_samples, at) for name, model in models.items()}


def numpy_log_density(rows, queries, gamma):
    """Exact kernel density as one writes it with NumPy: blocks of a matrix product.

    In the precision of the rows. Distances come from ``‖x‖² + ‖y‖² - 2 x·y``.
    """
    lengths = np.vecdot(rows, rows)  # (N,)
    sums = np.empty(len(queries))
    size = max(1, _BLOCK_NUMBERS // len(rows))
    for start in range(0, len(queries), size):
        block = queries[start : start + size]
        squares = block @ rows.T  # (b, N)
        squares *= -2
        squares += lengths
        squares += np.vecdot(block, block)[:, None]
        squares *= -gamma
        sums[start : start + size] = np.exp(squares, out=squares).sum(axis=1)
    with np.errstate(divide="ignore"):
        return np.log(sums / len(rows)) - log_mass(gamma, rows.shape[1])
