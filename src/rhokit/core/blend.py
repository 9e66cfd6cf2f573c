"""States of blends: sums for each outcome, beside those that all outcomes share."""

from dataclasses import dataclass, replace
from typing import Self

from rhokit.core.arrays import Array
from rhokit.core.sums import Sums


@dataclass(frozen=True, eq=False)
class BlendSums(Sums):
    r"""What ridge regression and the cells of trees need to know of rows.

    For features :math:`f(x)` and cells :math:`1_c(x)`, these are
    :math:`\sum_i w_{ik} [f(x_i), 1(x_i)]` of every outcome, and
    :math:`\sum_i w_i\, f(x_i) f(x_i)^\top`, a density matrix of all rows, by its upper
    triangle row by row.

    Parameters
    ----------
    total : array of shape (K, F + C)
    weight : array of shape (K,)
        Total weight of the rows in each sum.
    products : array of shape (F (F + 1) / 2,)
    """

    products: Array

    def __add__(self, other: Self | int) -> Self:
        sums: Self = super().__add__(other)
        if isinstance(other, BlendSums) and sums is not NotImplemented:
            return replace(sums, products=self.products + other.products)
        return sums

    __radd__ = __add__

    def __sub__(self, other: Self) -> Self:
        sums: Self = super().__sub__(other)
        if sums is NotImplemented:
            return sums
        return replace(sums, products=self.products - other.products)

    def scale(self, factor: float) -> Self:
        """All rows count ``factor`` times as much (0 < factor < 1: decay)."""
        sums = super().scale(factor)
        return replace(sums, products=self.products * factor)
