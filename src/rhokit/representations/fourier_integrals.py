"""Integrals, contractions and quantiles of Fourier series, as arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len

Floats = NDArray[np.float64]
_TURN = 2 * math.pi
# Newton's steps, which end when they move an angle by less than this.
MOST_STEPS = 60
STEP_TOL = 1e-14
# A distribution function is known to about this.
_SHARE_TOL = 1e-13
# Nodes for each of a series' own, where its quantiles are looked for.
FINER_LINE = 4


def integrated(coefficients: NDArray[Any]) -> NDArray[Any]:
    """Series (..., M + 1) of the integral by the angle, but for its linear part."""
    step = np.arange(1, coefficients.shape[-1])
    integral = np.zeros_like(coefficients)
    integral[..., 1:] = coefficients[..., 1:] * 1j / step
    return integral


def power_integrals(size: int, power: int) -> NDArray[Any]:
    """Integrals of ``θ^p exp(-ilθ) / 2π`` over the period, for all l of an axis."""
    step = np.arange(-(size // 2), size // 2 + 1)
    constant = step == 0
    safe = np.where(constant, 1, step)
    signs = (-1.0) ** step
    result = constant.astype(complex)
    for p in range(1, power + 1):  # by parts
        ends = (math.pi**p - (-math.pi) ** p) / _TURN
        result = np.where(
            constant,
            (math.pi ** (p + 1) - (-math.pi) ** (p + 1)) / ((p + 1) * _TURN),
            (ends * signs - p * result) * 1j / safe,
        )
    return result


def contracted(full: NDArray[Any], parts: list[NDArray[Any]]) -> NDArray[Any]:
    """``Σ_l c_l Π_axis v[:, l]`` over the first axes, for parts v (n, m_axis)."""
    first, *others = parts
    result = np.tensordot(first, full, axes=1)  # (n, m_2, ...)
    for part in others:
        result = np.einsum("nl...,nl->n...", result, part)
    return result


def row_quantiles(series: NDArray[Any], shares: Floats) -> Floats:
    """Angles below which each of many series (n, M + 1) has its share (n,)."""
    count = next_fast_len(FINER_LINE * (2 * series.shape[1] - 1), real=True)
    level = series[:, :1].real
    integral = integrated(series)
    waves = np.pad(integral.conj(), ((0, 0), (0, count // 2 + 1 - series.shape[1])))
    table = np.roll(irfft(waves, count, norm="forward"), count // 2, axis=1)
    nodes = (np.arange(count) - count // 2) * (_TURN / count)
    table = table + level * (nodes + math.pi)
    start = _row_values(integral, np.full(len(series), -math.pi))[:, None]
    reached = np.maximum.accumulate((table - start) / (_TURN * level), axis=1)
    place = (reached < shares[:, None]).sum(axis=1)
    low = np.where(place > 0, nodes[np.maximum(place - 1, 0)], -math.pi)
    high = np.where(place < count, nodes[np.minimum(place, count - 1)], math.pi)

    def evaluate(angles: Floats) -> Floats:
        both = _row_values(np.stack([integral, series]), angles)
        both[0] += level[:, 0] * (angles + math.pi) - start[:, 0]
        return both / (_TURN * level[:, 0])

    return solve_increasing(evaluate, shares, low, high)


def _row_values(series: NDArray[Any], angles: Floats) -> Floats:
    """Value of each series (..., n, M + 1) at its own angle (n,)."""
    waves = np.exp(1j * angles[:, None] * np.arange(series.shape[-1]))
    return 2 * np.vecdot(waves, series).real - series[..., 0].real


def solve_increasing(
    evaluate: Callable[[Floats], Any], wanted: Floats, low: Floats, high: Floats
) -> Floats:
    """Where increasing functions reach values (n,), between ``low`` and ``high``.

    Newton's steps where they stay inside the bracket, and its middle elsewhere.
    ``evaluate`` gives function and derivative, shape (2, n).
    """
    place = (low + high) / 2
    for _ in range(MOST_STEPS):
        value, slope = evaluate(place)
        below = value < wanted
        low, high = np.where(below, place, low), np.where(below, high, place)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = place - (value - wanted) / slope
        good = (step >= low) & (step <= high)
        after = np.where(good, step, (low + high) / 2)
        going = (np.abs(after - place) > STEP_TOL) & (
            np.abs(value - wanted) > _SHARE_TOL
        )
        place = np.where(going, after, place)
        if not going.any():
            break
    return place
