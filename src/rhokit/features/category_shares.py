"""Shares of categories, among all rows and in cells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def blocks_of(sizes: tuple[int, ...]) -> list[slice]:
    """Where the categories of each column stand among those of all."""
    stops = np.cumsum(sizes, dtype=int).tolist()
    return [slice(stop - size, stop) for size, stop in zip(sizes, stops, strict=True)]


@dataclass(frozen=True, eq=False)
class CategoryShares:
    """Shares of categories among all rows; they leave that of unseen ones.

    Parameters
    ----------
    values : array of shape (w,)
        Of all columns of categories, one after the other.
    sizes : tuple of int
        How many of these are of each column.
    """

    values: Floats
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def known(self) -> Floats:
        """One less the probability of unseen ones, for each category (w,)."""
        sums = [self.values[own].sum() for own in blocks_of(self.sizes)]
        return np.repeat(np.array(sums), self.sizes)


NO_CATEGORIES = CategoryShares(np.ones(0), ())
