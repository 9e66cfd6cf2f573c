"""Bent rows with masses, as steps of expectation and maximisation take them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.cell_rows import CellRows, n_quadratic

Floats = NDArray[np.float64]

# Features that are kept rather than made again: 256 MB.
_MOST_KEPT = 2**25


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Bent rows with masses, handed out as features block by block.

    Parameters
    ----------
    z : array of shape (n, d)
    onehot : array of shape (n, w)
        Categories of all columns that have any; w may be zero.
    mass : array of shape (n,)
    """

    z: Floats
    onehot: Floats
    mass: Floats

    def __len__(self) -> int:
        return len(self.z)

    def among(self, which: NDArray[Any]) -> "WeightedRows":
        """Some of the rows."""
        return WeightedRows(self.z[which], self.onehot[which], self.mass[which])

    def cell_rows(self, block: slice = slice(None)) -> CellRows:
        """A block of rows as cells see them."""
        every = self._every
        n_features = n_quadratic(every.d) + self.onehot.shape[1]
        if len(self) * n_features > _MOST_KEPT:
            return CellRows(every.columns[block], every.d)
        return CellRows(every.columns[block], every.d, lambda: every.features[block])

    @cached_property
    def _every(self) -> CellRows:
        """All rows: steps of expectation and maximisation ask again and again."""
        ones = np.ones((len(self), 1))
        columns = np.concatenate([ones, self.z, self.onehot], axis=1)
        return CellRows(columns, self.z.shape[1])


__all__ = ["WeightedRows"]
