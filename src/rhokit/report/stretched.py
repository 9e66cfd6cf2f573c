"""Columns of long tails, on an axis where equal steps are equal odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

# A tail is long if so many times the distance of its quartile from the median do not
# reach it; and as many different values must be there.
_LONG, _FEWEST = 12, 50
_LEVELS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
_TICKS = np.array([0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0])
_BINS, _PER_BIN, _NEAREST_TICKS = 24, 12, 0.09

Density = Callable[[Floats], Floats | None]


@dataclass(frozen=True, eq=False)
class Stretched:
    """Shares of rows between places on such an axis.

    Parameters
    ----------
    places : array of shape (b + 1,)
        Ends of the bins, in units of a normal variable.
    values : array of shape (b + 1,)
        The column's values there.
    rows : array of shape (b,)
        Shares of the rows.
    model : array of shape (b,), or None
        The model's own probabilities.
    ticks : tuple of (float, float)
        Places and values.
    """

    places: Floats
    values: Floats
    rows: Floats
    model: Floats | None
    ticks: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, values: Floats, density: Density) -> Stretched | None:
        """The axis of a column (n,), None where its tails are not long.

        ``density`` gives the model's density at values, or None.
        """
        if not has_long_tails(values):
            return None
        levels, known = _knots(values)
        places = np.linspace(levels[0], levels[-1], _BINS + 1)
        ends = np.interp(places, levels, known)
        counts, _ = np.histogram(values, ends)
        return cls(
            places,
            ends,
            counts / len(values),
            _probabilities(ends, density),
            tuple(_ticks(values, levels, known)),
        )


def has_long_tails(values: Floats) -> bool:
    """Whether a few values would squeeze all others.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> has_long_tails(rng.normal(size=1000)), has_long_tails(rng.pareto(1, size=1000))
    (False, True)
    """
    if len(np.unique(values)) < _FEWEST:
        return False
    low, first, middle, third, high = np.quantile(
        values, [0.001, 0.25, 0.5, 0.75, 0.999]
    )
    spread = max(third - middle, middle - first)
    return bool(spread > 0 and max(high - middle, middle - low) > _LONG * spread)


def _knots(values: Floats) -> tuple[Floats, Floats]:
    """Places and values between which the axis is a straight line, both rising."""
    share = 0.5 / len(values)
    levels = np.concatenate([[share], _LEVELS, [1 - share]])
    levels = levels[(levels >= share) & (levels <= 1 - share)]
    known = np.quantile(values, levels)
    known[0], known[-1] = values.min(), values.max()
    rising = np.append(True, np.diff(np.maximum.accumulate(known)) > 0)
    return ndtri(levels[rising]), known[rising]


def _probabilities(ends: Floats, density: Density) -> Floats | None:
    """Integrals of the model's density between ends."""
    steps = (np.arange(_PER_BIN) + 0.5) / _PER_BIN
    width = np.diff(ends)
    at = ends[:-1, None] + width[:, None] * steps
    found = density(at.ravel())
    if found is None:
        return None
    return np.asarray(found.reshape(at.shape).mean(axis=1) * width)


def _ticks(values: Floats, levels: Floats, known: Floats) -> list[tuple[float, float]]:
    """Quantiles of round probabilities, so far apart that words do not collide."""
    kept: list[tuple[float, float]] = []
    room = _NEAREST_TICKS * (levels[-1] - levels[0])
    for value in np.quantile(values, _TICKS).tolist():
        place = float(np.interp(value, known, levels))
        if not kept or place - kept[-1][0] > room:
            kept.append((place, value))
    return kept
