"""The values that a column takes, where its rows tell: so that drawn ones are such."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUES = 256
"""More different values than this are not told one by one."""
# Rows for each value, that no others are to be expected; and rows that are looked at
# before all of them are.
_ROWS_PER_VALUE, _FIRST_ROWS = 10, 5000
_ALL_ARE_WHOLE = 2.0**52  # from here on floats have no fractions


@dataclass(frozen=True)
class ColumnSupport:
    """Values that a column takes, or whole numbers between the least and the largest.

    Parameters
    ----------
    values : tuple of float, ascending
    is_complete : bool
        Whether there are no others; else whole numbers between the first and the last.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.column_support import ColumnSupport
    >>> months = np.tile(np.arange(1.0, 13), 20)
    >>> ColumnSupport.of(months).settled(np.array([0.2, 6.6, 14.0]))
    array([ 1.,  7., 12.])
    """

    values: tuple[float, ...]
    is_complete: bool

    @classmethod
    def of(
        cls, values: NDArray[Any], weights: NDArray[np.float64] | None = None
    ) -> "ColumnSupport | None":
        """What rows (n,) show of a column; None where any value may come.

        A value of weight k counts as k.
        """
        first = values[:: max(1, len(values) // _FIRST_ROWS)]
        total = max(float(len(values) if weights is None else weights.sum()), 1.0)
        total = max(total, float(len(values)))
        if len(np.unique(first)) <= MOST_VALUES:
            distinct = np.unique(values)
            most = min(MOST_VALUES, total / _ROWS_PER_VALUE)
            if len(distinct) <= most:
                return cls(tuple(distinct.astype(float).tolist()), True)
        for some in (first, values):  # the first ones say it of most columns
            is_whole = (some == np.rint(some)) & (np.abs(some) < _ALL_ARE_WHOLE)
            if not is_whole.all():
                return None
        return cls((float(values.min()), float(values.max())), False)

    def settled(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """The values nearest to those that were drawn, (n,)."""
        known = np.array(self.values, drawn.dtype)
        if not self.is_complete:
            return np.clip(np.rint(drawn), known[0], known[-1])
        middles = (known[1:] + known[:-1]) / 2
        return np.asarray(known[np.searchsorted(middles, drawn)])
