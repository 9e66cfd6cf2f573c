"""MNIST rows and rows uniform in the box, seed by seed."""

import numpy as np

from benchmarks.data import box_rows
from benchmarks.exact import exact_log_density
from benchmarks.records import Result
from experiments.densities import (
    EXACT,
    LANDMARKS,
    PAPER,
    Setting,
    contestants,
    fitted,
    floored_logs,
    log_errors,
)
from experiments.mnist_pca import mnist_rows
from experiments.mnist_scatter.config import (
    BOTH,
    CORRELATION,
    ERROR,
    POINTS,
    RANDOM,
    SIZES,
    TEST,
)
from experiments.runs import Task

_SHOWN = PAPER, LANDMARKS


def tasks(size):
    """One for each seed and γ."""
    settings = dict(SIZES[size])
    seeds, gammas = settings.pop("seeds"), settings.pop("gammas")
    return [
        Task(f"γ = {g:g}, seed {s}", one_seed, settings | {"gamma": g, "seed": s})
        for s in range(seeds)
        for g in gammas
    ]


def one_seed(rows, queries, gamma, n_components, rank, epochs, seed):
    """Errors of all models at test rows, at random rows and at both together."""
    sample, test = mnist_rows(rows, queries, seed)  # (N, 40), (n, 40)
    both = np.concatenate([test, box_rows(queries, sample.shape[1], seed)])  # (2n, 40)
    exact = exact_log_density(sample, both, gamma)  # (2n,)
    if not seed:
        yield points(EXACT, exact, gamma)
    setting = Setting(gamma, n_components, rank, seed, epochs)
    for contestant in contestants(sample.shape[1]):
        model, details = fitted(contestant, setting, sample)
        logs, at_floor = floored_logs(model, both)
        for where, part in parts(len(test)).items():
            about = details | {"where": where}
            about |= {"at_floor": float(at_floor[part].mean())}
            values = log_errors(logs[part], exact[part])
            for metric, value in zip((ERROR, CORRELATION), values, strict=True):
                yield Result(contestant.name, metric, value, seed=seed, details=about)
        if not seed and contestant.name in _SHOWN:
            yield points(contestant.name, logs, gamma)


def parts(n_test):
    """Which of the rows, by their name: test rows come first, random ones follow."""
    return {
        TEST: slice(None, n_test),
        RANDOM: slice(n_test, None),
        BOTH: slice(None),
    }


def points(name, logs, gamma):
    """A line that holds all log-densities, for the picture; its value is their mean."""
    details = {"gamma": gamma, "logs": logs.round(3).tolist()}
    return Result(name, POINTS, float(logs.mean()), details=details)
