"""States of mosaics: for every cell the sums of quadratic features of its rows."""

from dataclasses import dataclass
from typing import ClassVar

from rhokit.core.sums import Sums


@dataclass(frozen=True, eq=False)
class CellSums(Sums):
    r"""One small density matrix per cell, held by its distinct numbers.

    Rows are ``[1, z]`` in each cell; what is summed up is
    :math:`\sum_i r_c(x_i)\,[1, z_i][1, z_i]^\top`, its upper triangle row by row: the
    weight, the sums and the products of a cell's rows; then how often each category is
    among them.

    Parameters
    ----------
    total : array of shape (K, C, q + w)
    weight : array of shape (K,)
        Total weight of the rows in each sum, which count once in every layer of cells.
    """

    @property
    def n_cells(self) -> int:
        """C, the number of cells."""
        return int(self.total.shape[1])


@dataclass(frozen=True, eq=False)
class CellMoments(CellSums):
    """A mixture of cells as it is measured, by moments that are final.

    Of some of the columns, or where some are known, no sums of rows are left to add to.
    """

    takes_rows: ClassVar[bool] = False
    rank: ClassVar[None] = None
