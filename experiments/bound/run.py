"""Errors of Fourier features draw by draw, and sizes by the rule with their errors.

All errors are shares of the root mean square of the exact density at the same points,
rows left out of the fit. The compact set of the bound is the box that holds all rows.
"""

import math

import numpy as np

from benchmarks.exact import exact_log_density
from benchmarks.records import Result
from experiments.bound.config import (
    CORRECTED,
    DELTA,
    DEMANDED,
    GAMMAS,
    LARGEST,
    LINE,
    NORMALISED,
    OUT_OF_REACH,
    PRINTED,
    PROMISED,
    REACHED,
    RECOMMENDED,
    RMSE,
    RULES,
    SIZES,
    UNNORMALISED,
)
from experiments.runs import Task
from rhokit import n_components_for
from rhokit.datasets import bimodal, spirals
from rhokit.estimators.size_rule import mean_kernel
from rhokit.features import FourierBound, FourierFeatures, LandmarkFeatures

_FEATURE_SEEDS = 10_000
_MAPS = {"fourier": FourierFeatures, "landmarks": LandmarkFeatures}
_CASES = {UNNORMALISED: False, NORMALISED: True}


def tasks(size):
    """One for each set and seed, of the draws and of the rule."""
    found = []
    for kind, work in (("draws", one_draw), ("rule", one_rule)):
        settings = dict(SIZES[size][kind])
        seeds = settings.pop("seeds")
        found += [
            Task(f"{kind}, {panel}, seed {seed}", work, settings | own)
            for panel, gamma in GAMMAS.items()
            for seed in range(seeds)
            for own in [{"panel": panel, "gamma": gamma, "seed": seed}]
        ]
    return found


def one_draw(panel, gamma, rows, queries, sizes, seed):
    """Errors for each D, what the bound promises, and the D that it would demand."""
    sample, at = draw_rows(panel, rows, queries, seed)
    exact = np.exp(exact_log_density(sample, at, gamma))
    unit = float(np.sqrt(np.mean(exact**2)))
    bounds = {
        name: FourierBound(
            gamma=gamma,
            n_features=sample.shape[1],
            diameter=float(np.linalg.norm(np.ptp(np.vstack([sample, at]), axis=0))),
            printed=name == PRINTED,
        )
        for name in (CORRECTED, PRINTED)
    }
    for size in sizes:
        details = {"panel": panel, "gamma": gamma, "D": size, "unit": unit}
        common = {"seed": seed, "details": details}
        for name, normalize in _CASES.items():
            features = FourierFeatures(
                gamma=gamma,
                n_components=size,
                normalize=normalize,
                random_state=_FEATURE_SEEDS + seed,
            )
            largest, root = errors(features, sample, at, exact)
            yield Result(name, LARGEST, largest, **common)
            yield Result(name, RMSE, root, **common)
            if normalize:
                continue  # the bound is not about them
            for which, bound in bounds.items():
                log_count = bound.log_n_components(math.log(largest * unit), DELTA)
                yield Result(which, PROMISED, bound.error(size, DELTA) / unit, **common)
                yield Result(which, DEMANDED, math.exp(log_count), **common)


def one_rule(panel, gamma, rows, queries, errors, most, seed):
    """Sizes that the rule recommends, and the errors of maps that it has not seen."""
    sample, at = draw_rows(panel, rows, queries, seed)
    exact = np.exp(exact_log_density(sample, at, gamma))
    for kind, name in RULES.items():
        for error in errors:
            details = {"panel": panel, "gamma": gamma, "map": kind, "asked": error}
            common = {"seed": seed, "details": details}
            given = {
                "gamma": gamma,
                "scale": None,
                "feature_map": kind,
                "max_components": most[kind],
            }
            try:
                size = n_components_for(error, sample, **given, random_state=seed)
            except ValueError:
                yield Result(name, OUT_OF_REACH, most[kind], **common)
                continue
            features = _MAPS[kind](
                gamma=gamma, n_components=size, random_state=_FEATURE_SEEDS + seed
            )
            yield Result(name, RECOMMENDED, size, **common)
            reached = error_of(features, sample, at, exact)
            details = details | {"D": size}
            yield Result(name, REACHED, reached, seed=seed, details=details)


def draw_rows(panel, n, n_queries, seed):
    """Rows (N, d) to fit, and rows left out (n, d)."""
    if panel == LINE:
        rows = bimodal(n + n_queries, random_state=seed)
    else:
        rows, _ = spirals(n + n_queries, random_state=seed)
    return rows[:n], rows[n:]


def errors(features, sample, at, exact):
    """Largest error and RMSE, as shares of the root mean square density."""
    features.fit(sample)
    density = mean_kernel(features, sample, at) / math.exp(features.log_mass())
    misses = np.abs(density - exact) / np.sqrt(np.mean(exact**2))
    return float(misses.max()), float(np.sqrt(np.mean(misses**2)))


def error_of(features, sample, at, exact):
    """RMSE alone."""
    return errors(features, sample, at, exact)[1]
