"""How far out values are among others: shares of rows beyond them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Beyond the last value the tail falls as it does, on average, in its last tenth.
_TAIL = 0.1
# Values that differ by no more are one.
_ROUNDING = 1e-9
# Rates at which it may fall.
_MOST_RATE = 1e9


@dataclass(frozen=True, eq=False)
class Tail:
    r"""Surprise of values: minus the logarithm of the share of rows that go as far.

    At a value that w of W rows reach it is :math:`-\log(w / (W + 1))`, the p-value of a
    row that was left out; it is linear between values, and beyond the last one, where
    the tail is taken to be exponential.

    Parameters
    ----------
    values : array of shape (m,)
        Ascending.
    surprises : array of shape (m,)
        Ascending.
    rate : float
        By which the surprise rises beyond the last value.
    least : float
        The smallest p-value that so many rows can show.
    """

    values: Floats
    surprises: Floats
    rate: float
    least: float

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> "Tail":
        """Of the values (n,) of rows that were left out in turn, and their weights."""
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        is_new = np.diff(ascending, prepend=-np.inf) > _ROUNDING
        distinct, place = ascending[is_new], np.empty(len(order), dtype=np.intp)
        place[order] = is_new.cumsum() - 1
        # In units of the heaviest row, so that no sum is beyond all numbers.
        weights, one = weights / weights.max(), 1 / weights.max()
        weight: Any = np.bincount(place, weights)
        own: Any = np.full(len(distinct), np.inf)
        np.minimum.at(own, place, weights)
        total = float(weight.sum())
        # The row itself counts as one, however little it weighs.
        reached = weight[::-1].cumsum()[::-1] + np.maximum(one - own, 0)
        shares = np.minimum(reached / (total + one), 1.0)
        beyond = weight.cumsum() > (1 - _TAIL) * total
        start = distinct[np.argmax(beyond)]
        excess = np.average(distinct[beyond] - start, weights=weight[beyond])
        rate = 1 / max(float(excess), 1 / _MOST_RATE)
        return cls(distinct, -np.log(shares), rate, float(one / (total + one)))

    def surprise(self, values: Floats) -> Floats:
        """Surprise of values (n,), shape (n,)."""
        inside = np.interp(values, self.values, self.surprises)
        beyond = np.maximum(values - self.values[-1], 0.0)
        return np.asarray(inside + self.rate * beyond)
