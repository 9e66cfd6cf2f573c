"""Bends of one column: a line, a logarithm or asinh, softened where it ends."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LINEAR, LOG, ASINH = 0, 1, 2
_TINY = np.finfo(float).tiny


def bend(
    x: Floats,
    kind: int,
    origin: float,
    unit: float,
    soft: float,
    low: float,
    high: float,
) -> tuple[Floats, Floats]:
    """A bent column without centre and width, and the logarithm of its slope."""
    if kind == LOG:
        v = np.log(x - origin)
        slope = -v
    elif kind == ASINH:
        away = (x - origin) / unit
        v = np.arcsinh(away)
        slope = -np.log(np.hypot(1, away)) - np.log(unit)
    else:
        v, slope = x, np.zeros(len(x))
    low, high = bent_ends(kind, origin, unit, low, high)
    if np.isinf(low) and np.isinf(high):
        return v, slope
    u, more = v, np.zeros(len(v))
    with np.errstate(over="ignore", divide="ignore"):
        if np.isfinite(low):
            away = np.maximum((v - low) / soft, _TINY)
            u, more = u + soft * np.log(-np.expm1(-away)), more + 1 / np.expm1(away)
        if np.isfinite(high):
            away = np.maximum((high - v) / soft, _TINY)
            u, more = u - soft * np.log(-np.expm1(-away)), more + 1 / np.expm1(away)
    return u, slope + np.log1p(more)


def unsoftened(u: Floats, soft: float, low: float, high: float) -> Floats:
    """What the bends at two ends made u of."""
    if np.isfinite(low):
        v = low + soft * np.logaddexp(0, (u - low) / soft)
        if np.isfinite(high):
            v = v - soft * np.logaddexp(0, (u - high) / soft)
        return np.asarray(v)
    if np.isfinite(high):
        return np.asarray(high - soft * np.logaddexp(0, (high - u) / soft))
    return u


def bent_ends(
    kind: int, origin: float, unit: float, low: float, high: float
) -> tuple[float, float]:
    """Ends of a column that is bent."""
    if kind == ASINH:
        return tuple(np.arcsinh((np.array([low, high]) - origin) / unit).tolist())
    if kind == LOG:
        return -np.inf, float(np.log(high - origin))
    return low, high


__all__ = ["ASINH", "LINEAR", "LOG", "bend", "bent_ends", "unsoftened"]
