"""γ of a density: by a rule, or of the best leave-one-out likelihood."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import leave_one_out
from rhokit.core.arrays import safe_log
from rhokit.features import FeatureMap, KernelSum, distinct_rows, gamma_by_rule
from rhokit.kernels import kernel_of
from rhokit.plans.maps import MapChooser
from rhokit.plans.plan import Candidate
from rhokit.plans.request import PlanRequest, refuse_endless

# Leave-one-out probes so many rows, against a state of so many.
_LOO_PROBES = 2048
_LOO_ROWS = 6000
_LOO_MOST_STEPS = 12
# The same for series, where they cost little.
_SERIES_LOO_ROWS = 2**17
# Series of more modes than this take more time than the kernels of a few rows.
_LARGE_GRID = 2**16
# The same least density for all γ, as a share of what the first map can see.
_LEAST_OVER_FLOOR = 0.01
_LOG_TINY = math.log(1e-298)


def choose_kernel(
    request: PlanRequest,
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
) -> tuple[Any, list[Candidate]]:
    """The kernel with the largest leave-one-out likelihood, and all that were tried.

    Where the map is free, landmarks are compared, which all kernels have.

    Parameters
    ----------
    request : PlanRequest
        With several kernels; those that no density can be made of are left out.
    rows : array of shape (n, d)
        Scaled rows.
    weights : array of shape (n,), optional
    """
    tried: list[tuple[float, Any, Candidate]] = []
    wanted = request.feature_map
    free = isinstance(wanted, str) and wanted == "auto"
    for each in request.kernels:
        kernel = kernel_of(each, 1.0)
        if not math.isfinite(kernel.log_mass(1, request.power)):
            continue
        own = "landmarks" if free else wanted
        own_request = replace(request, kernel=each, feature_map=own)
        chooser = MapChooser(own_request, rows, weights)
        score, gamma, count = _scored(chooser, np.random.default_rng(request.seed))
        found = Candidate(request.scale_rule, own, gamma, score, count, kernel.name)
        tried.append((score, each, found))
    if not tried:
        refuse_endless(request.kernels[0], request.power)
    best = max(tried, key=lambda one: one[0])[1]
    return best, [found for _, _, found in tried]


def _scored(chooser: MapChooser, rng: np.random.Generator) -> tuple[float, float, int]:
    """Leave-one-out likelihood of the γ that is asked for, it, and how many probes."""
    gamma = chooser.request.gamma
    if isinstance(gamma, str):
        gamma = choose_gamma(gamma, chooser, rng)
    rows, mass = distinct_rows(chooser.rows, chooser.weights, _LOO_ROWS, rng)
    likelihood = _likelihood(chooser, gamma, rows, mass)
    return likelihood(gamma), gamma, min(len(rows), _LOO_PROBES)


def choose_gamma(gamma: str, chooser: MapChooser, rng: np.random.Generator) -> float:
    """γ for a density, by a rule or by leave-one-out.

    Parameters
    ----------
    gamma : str
    chooser : MapChooser
        Makes the maps whose leave-one-out likelihood is compared.
    rng : numpy.random.Generator
    """
    most = _SERIES_LOO_ROWS if gamma == "sheather-jones" else _LOO_ROWS
    rows, mass = distinct_rows(chooser.rows, chooser.weights, most, rng)
    if len(rows) < 2:
        raise ValueError(
            f"gamma={gamma!r} cannot be computed from rows that are all equal "
            f"(n_samples={len(chooser.rows)}): give gamma as a number"
        )
    total = len(chooser.rows) if chooser.weights is None else chooser.weights.sum()
    if gamma != "loo":
        return gamma_by_rule(gamma, rows, mass, n_rows=total, rng=rng)
    start = gamma_by_rule("scott", rows, mass)
    factor = chooser.request.map_gamma_factor
    if chooser.resolves(start * factor) and chooser.request.takes_series:
        rows, mass = distinct_rows(chooser.rows, chooser.weights, _SERIES_LOO_ROWS, rng)
    best = _best_gamma(chooser, start, rows, mass)
    if not chooser.resolves(best * factor):
        return best
    # Such a map resolves any bandwidth: go on to that of all rows, by the usual rate.
    return float(best * (total / mass.sum()) ** (2 / (rows.shape[1] + 4)))


def _best_gamma(
    chooser: MapChooser,
    start: float,
    rows: NDArray[Any],
    mass: NDArray[np.float64],
) -> float:
    """γ with the largest leave-one-out likelihood, found uphill from a start."""
    likelihood = _likelihood(chooser, start, rows, mass)
    _, best = climb(likelihood, start, _LOO_MOST_STEPS)
    around = (likelihood(best * step) for step in (0.5, 1, 2))
    return float(best * 2 ** _top_of_parabola(*around))


def _likelihood(
    chooser: MapChooser, start: float, rows: NDArray[Any], mass: NDArray[np.float64]
) -> Callable[[float], float]:
    """Leave-one-out likelihood for any γ, no less than what the first map sees."""
    factor = chooser.request.map_gamma_factor
    power = chooser.request.power
    first = chooser(start * factor)
    smallest = max(first.log_floor_ * power / 2, _LOG_TINY)
    least = smallest + math.log(_LEAST_OVER_FLOOR) - chooser.log_mass(first)
    # Copies of numbers go together: otherwise repeated values, as integers have, would
    # each find its twin at distance zero, and the best kernel would be infinitely
    # narrow. Categories are there to be repeated.
    out = np.minimum(mass, 1) if chooser.has_only_categories else mass

    @cache
    def likelihood(gamma: float) -> float:
        feature_map = chooser(gamma * factor)
        log_mass = chooser.log_mass(feature_map)
        return _loo_likelihood(feature_map, rows, mass, out, power, least, log_mass)

    return likelihood


def climb(
    score: Callable[[float], float], start: float, most_steps: int
) -> tuple[float, float]:
    """The best score by steps of two up or down from a start, with its γ."""
    scores = {0: score(start)}

    def at(step: int) -> float:
        if step not in scores:
            scores[step] = score(start * 2.0**step)
        return scores[step]

    best = 0
    if most_steps:
        direction = 1 if at(1) > at(0) else -1
        while abs(best) < most_steps and at(best + direction) > at(best):
            best += direction
    return scores[best], start * 2.0**best


def _top_of_parabola(left: float, middle: float, right: float) -> float:
    """Where a parabola through values at -1, 0, 1 has its top, at most ½ away."""
    curvature = left - 2 * middle + right
    offset = 0.5 * (left - right) / curvature if curvature < 0 else 0.0
    return max(-0.5, min(0.5, offset)) if math.isfinite(offset) else 0.0


def _loo_likelihood(
    feature_map: FeatureMap,
    rows: NDArray[Any],
    mass: NDArray[np.float64],
    out: NDArray[np.float64],
    power: int,
    least: float,
    log_mass: float,
) -> float:
    """Mean log-density of rows, each with a mass of ``out`` (n,) of it left out.

    Log-densities below ``least`` count as that.
    """
    rows = rows.astype(feature_map.dtype_, copy=False)
    if feature_map.representation == "series":
        probes = np.arange(len(rows))
        measured, lengths = _measured_by_series(feature_map, rows, mass)
    else:
        probes = np.linspace(0, len(rows) - 1, min(len(rows), _LOO_PROBES)).astype(int)
        measured, lengths = _measured(feature_map.states(rows), probes, mass, power)
    left = leave_one_out(measured, lengths**power, out[probes], float(mass.sum()))
    # What unrelated rows measure of each other is no density: counted as one, it would
    # ask for ever narrower kernels. Below twice of it all is noise.
    floor = math.exp(feature_map.log_floor_ * power / 2)
    seen = np.where(left > 2 * floor, left - floor, 0)
    logs = safe_log(seen) - log_mass
    return float(np.average(np.maximum(logs, least), weights=mass[probes]))


def _measured_by_series(
    feature_map: Any, rows: NDArray[Any], mass: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values that rows measure, and their squared lengths."""
    lengths, n_modes = np.ones(len(rows)), feature_map.grid_.n_modes
    if n_modes > _LARGE_GRID and len(rows) ** 2 < n_modes:
        # A few rows far apart: their kernels are fewer than the waves between them.
        rows = rows.astype(np.float64)
        kernels = KernelSum(rows, mass, feature_map.get_params()["gamma"])
        return np.exp(kernels.log_mean(rows)), lengths
    angles, _ = feature_map.columns(rows)
    sums = feature_map.sums(1)
    sums.add(0, angles, mass[:, None])
    measured = feature_map.series(sums.total() / mass.sum()).born(angles)[:, 0]
    return measured, lengths


def _measured(
    states: NDArray[Any], probes: NDArray[Any], mass: NDArray[np.float64], power: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values that probes among states (n, D) measure, and their squared lengths."""
    probed = states[probes]
    lengths = np.vecdot(probed, probed).real
    if power == 2:
        weighted = states * np.sqrt(mass).astype(states.real.dtype)[:, None]
        total = weighted.T @ weighted.conj()
        measured = np.vecdot(probed, probed @ total.T).real / mass.sum()
    else:
        total = mass.astype(states.dtype) @ states
        measured = (probed @ total.conj()).real / mass.sum()
    return measured.astype(np.float64), lengths.astype(np.float64)
