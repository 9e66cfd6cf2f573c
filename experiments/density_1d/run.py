"""Rows of two hills, seed by seed."""

import numpy as np

from benchmarks.exact import exact_log_density, rmse
from benchmarks.records import Result
from experiments.densities import EXACT, Setting, contestants, fitted
from experiments.density_1d.config import AGAINST_EXACT, AGAINST_TRUTH, RANGE, SIZES
from experiments.runs import Task
from rhokit.datasets import bimodal, bimodal_pdf

_CURVE_POINTS = 250


def tasks(size):
    """One for each seed."""
    settings = dict(SIZES[size])
    seeds = settings.pop("seeds")
    return [Task(f"seed {s}", one_seed, settings | {"seed": s}) for s in range(seeds)]


def one_seed(rows, points, gammas, n_components, rank, epochs, seed):
    """Errors of all models at equally spaced points, for each γ."""
    sample = bimodal(rows, random_state=seed)  # (N, 1)
    at = np.linspace(*RANGE, points)[:, None]  # (n, 1)
    truth = bimodal_pdf(at[:, 0])
    for gamma in gammas:
        exact = np.exp(exact_log_density(sample, at, gamma))
        own = {"seed": seed, "details": {"gamma": gamma} | _curve(exact, seed)}
        yield Result(EXACT, AGAINST_TRUTH, rmse(exact, truth), **own)
        setting = Setting(gamma, n_components, rank, seed, epochs)
        for contestant in contestants(d=1):
            model, details = fitted(contestant, setting, sample)
            density = model.density(at)
            errors = {AGAINST_TRUTH: truth, AGAINST_EXACT: exact}
            for metric, wanted in errors.items():
                more = _curve(density, seed) if metric == AGAINST_TRUTH else {}
                yield Result(
                    contestant.name,
                    metric,
                    rmse(density, wanted),
                    seed=seed,
                    details=details | more,
                )


def _curve(density, seed):
    """The estimate itself, of the first seed, for the figure."""
    if seed:
        return {}
    step = max(1, len(density) // _CURVE_POINTS)
    return {"step": step, "curve": density[::step].round(6).tolist()}
