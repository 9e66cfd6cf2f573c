"""The shape of a column under which it is likeliest as a normal distribution."""

import numpy as np
from numpy.typing import NDArray

from rhokit.features.bends import ASINH, LINEAR, LOG, bend, bent_ends
from rhokit.features.ends import ColumnEnds

Floats = NDArray[np.float64]

# Where an inverse hyperbolic sine may be centred, as quantiles of the column, and how
# wide its straight middle may be, in standard deviations.
_CENTRES = (0.0, 0.1, 0.5, 0.9, 1.0)
_WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# How wide the bend at an end may be, in standard deviations of the bent column.
_SOFTS = (0.03, 0.1, 0.3, 1.0)
# Inverse hyperbolic sines that are tried with every such bend, and on all rows: these
# about an end, and so many of those that are likeliest of some rows.
_END_WIDTHS, _LIKELIEST, _FEW_ROWS = (0.1, 0.3, 1.0, 3.0), 3, 500
# Nats per row that a shape must gain over a straight line to be worth it, and over a
# logarithm, which keeps what is above zero there.
_LEAST_GAIN, _LEAST_GAIN_OVER_LOG = 0.02, 0.01
# Columns of fewer distinct values are steps, which no shape makes smooth.
_LEAST_DISTINCT = 20
_TINY = np.finfo(float).tiny


def chosen_shape(
    x: Floats, mass: Floats, ends: ColumnEnds, straight: bool
) -> tuple[int, float, float, float, float, float, ColumnEnds]:
    """Kind, origin, unit, soft, centre and width of a column's shape, and its ends.

    Parameters
    ----------
    x : array of shape (n,)
    mass : array of shape (n,)
        Sums to one.
    ends : ColumnEnds
    straight : bool
        Whether only lines are wanted, but for the ends.
    """
    low, high = ends.low, ends.high
    spread = np.sqrt(_variance(x, mass))
    best, score = _softened(x, mass, (LINEAR, 0.0, 1.0), low, high)
    distinct = np.unique(x)
    if not straight and len(distinct) >= _LEAST_DISTINCT and spread > 0:
        least_gain = _LEAST_GAIN
        with_zero = ends.from_zero()
        if np.isfinite(with_zero.low):
            shape = LOG, with_zero.low, 1.0
            log, own = _softened(x, mass, shape, with_zero.low, high)
            if own > score + least_gain:
                best, score, least_gain = log, own, _LEAST_GAIN_OVER_LOG
        places = np.quantile(distinct, _CENTRES)
        options = [(ASINH, b, s * spread) for b in places for s in _WIDTHS]
        free = _free_likelihoods(x, mass, options)
        tried = [options[place] for place in np.argsort(free)[-_LIKELIEST:]]
        finite = [end for end in (low, high) if np.isfinite(end)]
        tried += [(ASINH, end, s * spread) for end in finite for s in _END_WIDTHS]
        bends = [_softened(x, mass, each, low, high) for each in tried]
        asinh, own = max(bends, key=lambda bend: bend[1])
        if own > score + least_gain:
            best = asinh
    if best[0] == LOG:
        ends = ends.from_zero()
    bent, _ = bend(x, *best, ends.low, high)
    width = np.sqrt(_variance(bent, mass))
    centre = mass @ bent
    return *best, float(centre), float(width if width > 0 else 1.0), ends


def _softened(
    x: Floats,
    mass: Floats,
    shape: tuple[int, float, float],
    low: float,
    high: float,
) -> tuple[tuple[int, float, float, float], float]:
    """The shape with the likeliest bend at its ends, and its likelihood."""
    ends = bent_ends(*shape, low, high)
    if np.isinf(ends).all():
        return (*shape, 1.0), _likelihood(x, mass, *shape, 1.0, low, high)
    spread = np.sqrt(_variance(bend(x, *shape, 1.0, -np.inf, np.inf)[0], mass))
    options = [(*shape, float(soft * spread)) for soft in _SOFTS]
    scores = [_likelihood(x, mass, *each, low, high) for each in options]
    best = int(np.argmax(scores))
    return options[best], scores[best]


def _free_likelihoods(
    x: Floats, mass: Floats, options: list[tuple[int, float, float]]
) -> Floats:
    """Log-likelihoods of asinh of some rows, of a column without ends, shape (K,)."""
    some = slice(None, None, max(1, len(x) // _FEW_ROWS))
    x, mass = x[some], mass[some] / mass[some].sum()
    origin, unit = np.array([each[1:] for each in options]).T
    away = (x - origin[:, None]) / unit[:, None]
    bent = np.arcsinh(away)
    variance = (bent - (bent @ mass)[:, None]) ** 2 @ mass
    slope = np.log(np.hypot(1, away)) @ mass + np.log(unit)
    return np.asarray(-slope - np.log(np.maximum(variance, _TINY)) / 2)


def _likelihood(
    x: Floats,
    mass: Floats,
    kind: int,
    origin: float,
    unit: float,
    soft: float,
    low: float,
    high: float,
) -> float:
    """Log-likelihood of a bent column as a normal distribution, but for a constant."""
    bent, slope = bend(x, kind, origin, unit, soft, low, high)
    variance = _variance(bent, mass)
    if not variance > 0:
        return -np.inf if kind else -np.log(_TINY) / 2
    return float(mass @ slope - np.log(variance) / 2)


def _variance(x: Floats, mass: Floats) -> float:
    return float(mass @ (x - mass @ x) ** 2)


__all__ = ["chosen_shape"]
