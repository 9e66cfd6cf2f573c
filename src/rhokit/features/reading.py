"""How values of a density are read: as whole steps, and no further than the ends.

A density over all numbers stands for whole numbers by the cells about them: what lies
within half a step of a value counts as that value, and what lies between the end of a
column and its first value as the first one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Shares of a step that rounding may move a value by; digits of a step that count, of
# single and of double precision; and the largest exponents that need care.
_ROUNDING, _DIGITS = 1e-4, {np.dtype(np.float32): 2, np.dtype(np.float64): 9}
_MOST_EXPONENT = 250


@dataclass(frozen=True, eq=False)
class Reading:
    """Steps and cells at the ends of every column, in scaled units.

    Parameters
    ----------
    anchor, step, low_cell, high_cell, low, high : arrays of shape (d,)
        As of :class:`~rhokit.features.ends.ColumnEnds`.
    """

    anchor: Floats
    step: Floats
    low_cell: Floats
    high_cell: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, reading: Floats, ends: Floats) -> "Reading":
        """Of what files hold: reading (6, d), and ends (2, d), the upper mirrored."""
        anchor, step, low_cell, high_cell = reading[:4]
        return cls(anchor, step, low_cell, high_cell, ends[0], -ends[1])

    def settled(self, rows: Floats) -> Floats:
        """The values that scaled rows (n, d) are read as."""
        step = np.where(self.step > 0, self.step, 1.0)
        steps = np.floor((rows - self.anchor) / step + 0.5)
        rows = np.where(self.step > 0, self.anchor + steps * step, rows)
        is_plain = self.step == 0
        least, most = self.low + self.low_cell, self.high - self.high_cell
        reach = least + np.where(is_plain, self.low_cell, 0.0)
        rows = np.where(rows < reach, least, rows)
        reach = most - np.where(is_plain, self.high_cell, 0.0)
        return np.where(rows > reach, most, rows)

    def reached(self, rows: Floats) -> Floats:
        """Up to where the values are that are read as at most these (n, d)."""
        step = np.where(self.step > 0, self.step, 1.0)
        steps = np.floor((rows - self.anchor) / step + _ROUNDING) + 0.5
        found = np.where(self.step > 0, self.anchor + steps * step, rows)
        low, high = self.low + self.low_cell, self.high - self.high_cell
        is_plain = self.step == 0
        near = _ROUNDING * (self.low_cell + self.high_cell)
        is_low = is_plain & (self.low_cell > 0)
        found = np.where(is_low, np.maximum(found, low + self.low_cell), found)
        found = np.where(rows < low - near, self.low, found)
        is_high = is_plain & (self.high_cell > 0)
        found = np.where(is_high, np.minimum(found, high - self.high_cell), found)
        return np.where(rows >= high - near, self.high, found)

    def in_units(self, rows: Floats, scaling: Any, dtype: np.dtype[Any]) -> Floats:
        """Values that scaled rows (n, d) are read as, in the user's units.

        Rounded to what their precision has of a step, so that whole numbers are whole,
        and not beyond the ends for rounding.
        """
        found = np.array(scaling.invert(self.settled(rows)))
        # Rows at the first value are at it, whatever rounding made of them.
        values = self.low + self.low_cell, self.high - self.high_cell
        extremes = scaling.invert(np.stack(values))
        spread = 1 / scaling.matrix
        for j, step in enumerate(np.where(self.step > 0, self.step, 1.0) * spread):
            exponent = _DIGITS[dtype] - np.floor(np.log10(step))
            if not abs(exponent) <= _MOST_EXPONENT:
                continue
            digits = int(exponent)
            if self.step[j] > 0:
                found[:, j] = np.round(found[:, j], digits)
            least, most = np.round(extremes[:, j], digits)
            found[:, j] = np.clip(found[:, j], least, most)
        return found


__all__ = ["Reading"]
