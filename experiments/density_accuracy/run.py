"""Three sets, seed by seed: every map at every size."""

import numpy as np

from benchmarks.data import spiral_rows
from benchmarks.exact import exact_log_density, rmse
from benchmarks.records import Result
from experiments.densities import floored_logs
from experiments.density_accuracy.config import (
    AGAINST_EXACT,
    AGAINST_TRUTH,
    BETTER,
    EXACT_ITSELF,
    GRID,
    IID,
    LANDMARKS,
    LINE,
    MNIST,
    OF_LOGS,
    PANELS,
    RFF,
    SIZES,
    SPIRALS,
)
from experiments.mnist_pca import mnist_rows
from experiments.runs import Task
from rhokit import DMKDE, FourierFeatures, MeanEmbeddingKDE
from rhokit.datasets import bimodal, bimodal_pdf

_FEATURE_SEEDS = 10_000
_RANGE = -5.0, 10.0


def tasks(size):
    """One for each set and seed; the seeds of a set one after the other."""
    settings = dict(SIZES[size])
    seeds = settings.pop("seeds")
    return [
        Task(
            f"{panel}, seed {seed}",
            one_seed,
            settings | {"panel": panel, "gammas": gammas, "seed": seed},
        )
        for panel, gammas in PANELS.items()
        for seed in range(seeds)
    ]


def one_seed(panel, rows, queries, gammas, sizes, seed):
    """Errors of all maps, for each γ and D."""
    sample, at = _draw(panel, rows, queries, seed)
    truth = bimodal_pdf(at[:, 0]) if panel == LINE else None
    for gamma in gammas:
        exact_logs = exact_log_density(sample, at, gamma)
        common = {"panel": panel, "gamma": gamma}
        if truth is not None:
            error = rmse(np.exp(exact_logs), truth)
            yield Result(EXACT_ITSELF, AGAINST_TRUTH, error, seed=seed, details=common)
        for name, size, model in _models(panel, gamma, sizes, seed):
            model.fit(sample)
            details = common | {"D": size or model.state_.total.size}
            for metric, value, more in errors(model, at, exact_logs, truth, panel):
                yield Result(name, metric, value, seed=seed, details=details | more)


def _draw(panel, n, n_queries, seed):
    """Rows (N, d) and where the density is asked for (n, d)."""
    if panel == LINE:
        return bimodal(n, random_state=seed), np.linspace(*_RANGE, n_queries)[:, None]
    if panel == SPIRALS:
        return spiral_rows(n, n_queries, seed)
    return mnist_rows(n, n_queries, seed)


def _models(panel, gamma, sizes, seed):
    """Name, D and model of each; the grid is as large as γ and the rows ask for."""
    for size in sizes:
        common = {"gamma": gamma, "scale": None, "n_components": size}
        common |= {"random_state": _FEATURE_SEEDS + seed}
        yield IID, size, DMKDE(feature_map="fourier", **common)
        pairs = FourierFeatures(
            n_components=size,
            sampling="orthogonal" if panel == MNIST else "sobol",
            form="pair",
        )
        yield BETTER, size, DMKDE(feature_map=pairs, **common)
        yield RFF, size, MeanEmbeddingKDE(feature_map="fourier", **common)
        yield LANDMARKS, size, DMKDE(feature_map="landmarks", **common)
    if panel != MNIST:
        yield GRID, None, DMKDE(gamma=gamma, scale=None)


def errors(model, at, exact_logs, truth, panel):
    """Metric, value and details: of densities, or of their logarithms."""
    if panel == MNIST:
        logs, below = floored_logs(model, at)
        yield OF_LOGS, rmse(logs, exact_logs), {"at_floor": float(below.mean())}
        return
    density = model.density(at)
    yield AGAINST_EXACT, rmse(density, np.exp(exact_logs)), {}
    if truth is not None:
        yield AGAINST_TRUTH, rmse(density, truth), {}
