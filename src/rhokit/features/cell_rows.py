"""Rows as cells see them: quadratic features, and ones and zeros of categories."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Products of columns need not be written down for so few cells of so many columns.
_FEW_CELLS, _MANY_COLUMNS = 8, 16
# Nor if rows belong to a smaller share of the cells than the first, and the features of
# all are more numbers than the second.
_SPARSE, _LEAST_SPARSE = 0.2, 500_000


@cache
def pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs of columns whose products are features."""
    return np.triu_indices(d)


def n_quadratic(d: int) -> int:
    """How many features d columns have: one, the columns, and their products."""
    return 1 + d + d * (d + 1) // 2


def quadratic_features(z: Floats, out: Floats | None = None) -> Floats:
    """``[1, z, z⊗z]`` of rows (n, d), products once each, shape (n, q)."""
    n, d = z.shape
    if out is None:
        out = np.empty((n, n_quadratic(d)))
    out[:, 0] = 1
    out[:, 1 : d + 1] = z
    first = d + 1
    for j in range(d):
        np.multiply(z[:, j:], z[:, j : j + 1], out=out[:, first : first + d - j])
        first += d - j
    return out


def cell_features(z: Floats, onehot: Floats) -> Floats:
    """Quadratic features of rows (n, d) and categories (n, w), shape (n, q + w)."""
    q = n_quadratic(z.shape[1])
    out = np.empty((len(z), q + onehot.shape[1]))
    quadratic_features(z, out[:, :q])
    out[:, q:] = onehot
    return out


def square(numbers: Floats, d: int) -> Floats:
    """Symmetric matrices (C, d, d) of their upper triangles (C, d (d + 1) / 2)."""
    i, j = pairs(d)
    whole = np.empty((len(numbers), d, d))
    whole[:, i, j] = numbers
    whole[:, j, i] = numbers
    return whole


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows ``[1, z, categories]``, and what polynomials of cells make of them.

    Parameters
    ----------
    columns : array of shape (n, 1 + d + w)
        One, bent numbers, and ones and zeros of categories.
    d : int
        How many are numbers.
    known : callable, optional
        Returns features (n, q + w) that were made before.
    """

    columns: Floats
    d: int
    known: Callable[[], Floats] | None = None

    @property
    def z(self) -> Floats:
        """The numbers, shape (n, d)."""
        return self.columns[:, 1 : self.d + 1]

    @property
    def onehot(self) -> Floats:
        """The categories, shape (n, w)."""
        return self.columns[:, self.d + 1 :]

    @cached_property
    def features(self) -> Floats:
        """With all products of numbers, shape (n, q + w)."""
        if self.known is not None:
            return self.known()
        return cell_features(self.z, self.onehot)

    def values(self, coefficients: Floats) -> Floats:
        """Of polynomials with coefficients (q + w, C), shape (n, C)."""
        if not spares_products(self.d, coefficients.shape[1]):
            return np.asarray(self.features @ coefficients)
        d, q = self.d, n_quadratic(self.d)
        linear = np.concatenate([coefficients[: d + 1], coefficients[q:]])
        values = self.columns @ linear
        i, j = pairs(d)
        halves = coefficients[d + 1 : q].T * np.where(i == j, 1.0, 0.5)
        for c, form in enumerate(square(halves, d)):
            values[:, c] += np.vecdot(self.z @ form, self.z)
        return np.asarray(values)

    def sums(self, member: Floats, least: float = 0.0) -> Floats:
        """Of features, weighed by how much rows belong to cells (n, C): (C, q + w).

        Rows may be left out of cells that they belong to no more than ``least``.
        """
        if not self._is_sparse(member, least):
            return np.asarray(member.T @ self.features)
        d, q = self.d, n_quadratic(self.d)
        i, j = pairs(d)
        sums = np.empty((member.shape[1], q + self.onehot.shape[1]))
        for c, own in enumerate(np.ascontiguousarray(member.T)):
            some = np.flatnonzero(own > least)
            root = np.sqrt(own[some])
            part = self.columns[some] * root[:, None]
            numbers = part[:, : d + 1]
            products = numbers.T @ numbers
            sums[c, : d + 1], sums[c, d + 1 : q] = products[0], products[1:, 1:][i, j]
            sums[c, q:] = root @ part[:, d + 1 :]
        return sums

    def _is_sparse(self, member: Floats, least: float) -> bool:
        """Whether sums take less time cell by cell, of the rows that belong to it."""
        n, n_cells = member.shape
        if spares_products(self.d, n_cells):
            return True
        if n * n_quadratic(self.d) < _LEAST_SPARSE:
            return False
        return bool(np.count_nonzero(member > least) < _SPARSE * member.size)


def spares_products(d: int, n_cells: int) -> bool:
    """Whether so few cells take less time than products of so many columns."""
    return n_cells <= _FEW_CELLS and d >= _MANY_COLUMNS
