"""Rows of three spirals, seed by seed."""

import numpy as np

from benchmarks.data import spiral_rows
from benchmarks.exact import exact_log_density, relative_rmse, rmse
from benchmarks.records import Result
from experiments.densities import (
    AUTO,
    EXACT,
    PAPER,
    PAPER_FULL,
    PAPER_SGD,
    SGD,
    Setting,
    contestants,
    fitted,
)
from experiments.runs import Task
from experiments.spirals.config import (
    AGAINST_EXACT,
    IMAGE,
    LIKELIHOOD,
    RELATIVE,
    SIZES,
)

_SHOWN = PAPER, PAPER_FULL, AUTO, PAPER_SGD, SGD


def tasks(size):
    """One for each seed and γ."""
    settings = dict(SIZES[size])
    seeds, gammas = settings.pop("seeds"), settings.pop("gammas")
    return [
        Task(f"γ = {g:g}, seed {s}", one_seed, settings | {"gamma": g, "seed": s})
        for s in range(seeds)
        for g in gammas
    ]


def one_seed(rows, queries, gamma, n_components, rank, epochs, pixels, seed):
    """Errors at rows of the same spirals; of the first seed, images, too."""
    sample, at = spiral_rows(rows, queries, seed)  # (N, 2), (n, 2)
    square = unit_square(pixels)  # (pixels², 2)
    logs = exact_log_density(sample, at, gamma)
    own = {"seed": seed, "details": {"gamma": gamma}}
    yield Result(EXACT, LIKELIHOOD, float(logs.mean()), **own)
    if not seed:
        density = np.exp(exact_log_density(sample, square, gamma))
        yield image(EXACT, density, gamma)
    setting = Setting(gamma, n_components, rank, seed, epochs)
    for contestant in contestants(d=2):
        model, details = fitted(contestant, setting, sample)
        density, exact = model.density(at), np.exp(logs)
        values = {
            AGAINST_EXACT: rmse(density, exact),
            RELATIVE: relative_rmse(density, exact),
        }
        if contestant.ours:  # of the others, nobody knows the integral
            values[LIKELIHOOD] = float(model.score_samples(at).mean())
        own = {"seed": seed, "details": details}
        for metric, value in values.items():
            yield Result(contestant.name, metric, value, **own)
        if not seed and contestant.name in _SHOWN:
            yield image(contestant.name, model.density(square), gamma)


def unit_square(pixels):
    """Middles of the pixels of an image of the unit square, row by row."""
    middles = (np.arange(pixels) + 0.5) / pixels
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def image(name, density, gamma):
    """A line with the density at all pixels; its value is their mean, the mass."""
    details = {"gamma": gamma, "pixels": density.round(3).tolist()}
    return Result(name, IMAGE, float(density.mean()), details=details)
