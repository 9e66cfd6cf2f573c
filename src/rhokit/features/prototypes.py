"""Rows that stand for all rows near them: a kernel smoother that adds up."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import gaussian_columns
from rhokit.features.landmarks import product_loses_digits
from rhokit.records import (
    FLOATS,
    ArrayField,
    Number,
    Reader,
    Record,
    Values,
    require,
)

Floats = NDArray[np.float64]

# Of two prototypes that are as near, rounding shall not choose: each is this much
# farther away than the one before it.
_TURN = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-9}
# Rows of a block, whose kernels are there at once.
_ROWS = 2**8


@dataclass(frozen=True, eq=False)
class Prototypes:
    r"""Points, to the nearest of which every row is counted.

    What outcomes weigh at x is a sum over prototypes p, each with the weight
    :math:`n_{pk}` of the rows that are counted to it,

    .. math:: s_k(x) = \sum_p n_{pk}\, e^{-\|A x - p\|^2}

    the posterior of which is that of a density matrix for every outcome, in a metric
    of its own. Sums of counts are exact where all rows are prototypes.

    Parameters
    ----------
    matrix : array of shape (d,) or (d, d)
        A: factors of columns, or a matrix.
    points : array of shape (P, d)
        p, in the precision of the model.
    floor : float
        Share of the weight of all rows that is told of rows far from all of them.
    """

    matrix: Floats
    points: NDArray[np.floating]
    floor: float

    def __len__(self) -> int:
        return len(self.points)

    def nearest(self, rows: NDArray[np.floating]) -> NDArray[np.intp]:
        """The prototype that each of scaled rows (n, d) is counted to, shape (n,)."""
        centred = self._placed(rows)
        turns = _TURN[self.points.dtype] * np.arange(len(self))
        away = (np.vecdot(self._centred, self._centred) + turns).astype(centred.dtype)
        return np.asarray((away - 2 * (centred @ self._centred.T)).argmin(axis=1))

    def kernel(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Kernels (n, P) of scaled rows (n, d) and prototypes."""
        return gaussian_columns(
            self._placed(rows),
            self._centred,
            1.0,
            by_differences=self._by_differences,
        )[0]

    def kernel_at(
        self, rows: NDArray[np.floating], own: NDArray[np.intp]
    ) -> NDArray[np.floating]:
        """Kernels (n,) of rows and one prototype each."""
        apart = self._placed(rows) - self._centred[own]
        return np.exp(-np.vecdot(apart, apart))

    def _placed(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows in units of the kernel, from the middle of the prototypes."""
        with np.errstate(over="ignore"):
            placed = placed_by(self.matrix, rows.astype(np.float64, copy=False))
            return np.asarray((placed - self._middle).astype(self.points.dtype))

    @cached_property
    def _middle(self) -> Floats:
        return np.asarray(self.points.mean(axis=0, dtype=np.float64))

    @cached_property
    def _centred(self) -> NDArray[np.floating]:
        return np.asarray((self.points - self._middle).astype(self.points.dtype))

    @cached_property
    def _by_differences(self) -> bool:
        return product_loses_digits(self._centred, 1.0, self.points.dtype)


def placed_by(matrix: Floats, rows: Floats) -> Floats:
    """Rows (n, d) times factors (d,), or a matrix (d, d)."""
    return rows * matrix if matrix.ndim == 1 else rows @ matrix


def _check(prototypes: Values, reader: Reader) -> None:
    """Kernels between rows and points must be affordable."""
    count = len(prototypes["points"])
    require(count > 0, "there must be some prototypes")
    reader.claim(_ROWS * 8 * count, f"{count} prototypes")


PROTOTYPES = Record(
    Prototypes,
    _check,
    matrix=ArrayField(("d",), ("d", "d")),
    points=ArrayField((None, "d"), dtypes=FLOATS),
    floor=Number(0.0, 1.0),
)
"""The field of prototypes."""
