"""Centres and spreads of columns, whatever their units and however far from zero."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.base import column_ends

Floats = NDArray[np.float64]

# Values of a column that differ by less than this share of their size, two steps of
# its last digit, differ by rounding.
_ROUNDING = 2 * float(np.finfo(np.float64).eps)
# A mean that one number misses by more than this share of the spread has two.
_MISSED = 2.0**-34
# Squares of numbers up to this, and of one over it, are far from the ends of numbers.
_LARGE = 2.0**200
# Of so many columns, ends are taken one by one.
_FEW = 16


@dataclass(frozen=True, eq=False)
class ColumnSpread:
    """Mean and standard deviation of columns.

    Parameters
    ----------
    size : array of shape (d,)
        The largest absolute value.
    centre : array of shape (d,)
        The mean; the value itself, where there is but one.
    remainder : array of shape (d,)
        To be added to the centre where that has too few digits: of columns that are
        far from zero, compared with their spread.
    spread : array of shape (d,)
        The standard deviation; zero where values differ by rounding alone.
    is_noisy : array of shape (d,), bool
        Where they do differ by rounding.
    """

    size: Floats
    centre: Floats
    remainder: Floats
    spread: Floats
    is_noisy: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Floats, mass: Floats) -> "ColumnSpread":
        """Take the spread of rows (n, d), each of a mass (n,) above zero.

        Extreme values are taken in units of powers of two, which round nothing, so
        that no square is too large or too small to be a number.
        """
        low, high = (_ends(rows, end) for end in (np.min, np.max))
        size = np.maximum(-low, high)
        unit = power_of_two(size)
        if unit.max() < _LARGE and unit.min() > 1 / _LARGE:
            unit = np.ones(len(size))  # nothing is gained
        else:
            rows = rows / unit
        centre = np.average(rows, axis=0, weights=mass)
        rest, spread = _moments(rows - centre, mass)
        moved = np.abs(rest) > _MISSED * spread
        if moved.any():
            spread = np.where(moved, _moments(rows - centre - rest, mass)[1], spread)
        rest = np.where(moved, rest, 0)
        head = centre + rest
        rest -= head - centre
        is_equal = high / unit - low / unit <= _ROUNDING * (size / unit)
        return cls(
            size,
            np.where(is_equal, low, head * unit),
            np.where(is_equal, 0, rest * unit),
            np.where(is_equal, 0, spread * unit),
            is_equal & (high > low),
        )

    @property
    def exact_centre(self) -> Floats:
        """The centre, (d,), or (2, d) with its remainder where there is one."""
        if not self.remainder.any():
            return self.centre
        return np.stack([self.centre, self.remainder])

    def inverse(self, widths: Floats) -> Floats:
        """One over widths (d,); columns without any are left at their scale.

        Where these differ by rounding, it is made to be small.
        """
        rounding = np.where(self.is_noisy, 1e-6 * self.size, 0)
        seen = widths >= np.finfo(np.float64).tiny
        return np.asarray(1 / np.maximum(np.where(seen, widths, 1.0), rounding))


def power_of_two(sizes: Floats) -> Floats:
    """The powers of two at or below sizes, which are to be divided by them; 1 of 0."""
    return np.where(sizes > 0, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)


def _moments(centred: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Means, and roots of mean squares."""
    mean = mass @ centred / mass.sum()
    return mean, np.sqrt(np.average(centred**2, axis=0, weights=mass))


def _ends(rows: Floats, end: Callable[..., Any]) -> Floats:
    """Least or largest values of columns."""
    few = rows.shape[1] <= _FEW
    return np.asarray(column_ends(rows, end) if few else end(rows, axis=0))
