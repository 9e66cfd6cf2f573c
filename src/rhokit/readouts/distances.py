"""How far rows are from others: their neighbours, and the ellipsoid of them all."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial import KDTree

from rhokit.fast import block_rows, map_blocks

Floats = NDArray[np.float64]

# Trees find neighbours in up to so many columns; in more, all rows are compared.
_MOST_TREE_COLUMNS = 12
# Distances that are none.
_LEAST = 1e-9
# What an ellipsoid has of a column more than its rows: that of one row as far away as
# they are on average, and as little as this where they are all in one place.
_PRIOR, _LEAST_VARIANCE = 1.0, 1e-6


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Distance to the nearest rows of a total weight of k.

    Parameters
    ----------
    points : array of shape (m, w)
        Different rows.
    weights : array of shape (m,)
    k : float
    """

    points: Floats
    weights: Floats
    k: float

    @cached_property
    def _nearest(self) -> Callable[[Floats, int], tuple[Floats, NDArray[np.intp]]]:
        """From rows (n, w) to distances and places of points next to them (n, c)."""
        if self.points.shape[1] > _MOST_TREE_COLUMNS:
            return self._compared
        tree = KDTree(self.points)

        def query(rows: Floats, count: int) -> tuple[Floats, NDArray[np.intp]]:
            found, near = tree.query(rows, count)
            # Points that are infinitely far away have the place behind the last one.
            near = np.minimum(near, len(self.points) - 1)
            return np.reshape(found, (-1, count)), np.reshape(near, (-1, count))

        return query

    def _compared(self, rows: Floats, count: int) -> tuple[Floats, NDArray[np.intp]]:
        """The same by the distances to all points."""
        centre, points, lengths = self._centred
        farness = lengths - 2 * ((rows - centre) @ points)
        near = np.argpartition(farness, count - 1, axis=1)[:, :count]
        # Once more, by differences: products of matrices lose digits of small ones.
        squares = np.stack(
            [((rows - self.points[each]) ** 2).sum(axis=1) for each in near.T], axis=1
        )
        order = np.argsort(squares, axis=1, kind="stable")
        squares = np.take_along_axis(squares, order, axis=1)
        return np.sqrt(squares), np.take_along_axis(near, order, axis=1)

    @cached_property
    def _centred(self) -> tuple[Floats, Floats, Floats]:
        """Centre, points from there (w, m), and their squared lengths."""
        centre = self.points.mean(axis=0)
        points = np.ascontiguousarray((self.points - centre).T)
        return centre, points, (points**2).sum(axis=0)

    def away(self, rows: Floats) -> Floats:
        """Logarithms of distances of rows (n, w), shape (n,)."""
        return self._away(rows, None)

    def away_left_out(self) -> Floats:
        """Of the points themselves, each without one copy of itself, shape (m,)."""
        return self._away(self.points, np.arange(len(self.points)))

    def _away(self, rows: Floats, own: NDArray[np.intp] | None) -> Floats:
        if not len(rows):
            return np.empty(0)

        def work(worker: int, block: slice) -> Floats:
            return self._of_block(rows[block], None if own is None else own[block])

        size = block_rows(max(len(self.points), math.ceil(self.k)))
        return np.concatenate(map_blocks(work, len(rows), size))

    def _of_block(self, rows: Floats, own: NDArray[np.intp] | None) -> Floats:
        found = np.empty(len(rows))
        left, count = np.arange(len(rows)), math.ceil(self.k) + (own is not None)
        while len(left):
            mine = None if own is None else own[left]
            count = min(count, len(self.points))
            found[left], enough = self._among(rows[left], mine, count)
            if count == len(self.points):
                break
            left, count = left[~enough], 4 * count
        return np.log(np.maximum(found, _LEAST))

    def _among(
        self, rows: Floats, own: NDArray[np.intp] | None, count: int
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Distances by so many of the nearest points, and whether these are enough."""
        distances, near = self._nearest(rows, count)
        weights = self.weights[near]
        if own is not None:
            itself = near == own[:, None]
            weights = weights - itself * np.minimum(weights, 1.0)
        reached = weights.cumsum(axis=1)
        enough = reached >= self.k * (1 - 1e-9)
        is_enough: NDArray[np.bool_] = np.asarray(enough.any(axis=1))
        place = np.where(is_enough, enough.argmax(axis=1), count - 1)
        return distances[np.arange(len(rows)), place], is_enough


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    r"""Distance from the mean of rows in the metric of their covariance.

    .. math:: (x - \mu)^\top A^{-1} (x - \mu)\,(W + \lambda), \qquad
              A = \sum_i w_i (x_i - \mu)(x_i - \mu)^\top + \lambda D,

    where D has the variances of the columns, and λ is one row.

    Parameters
    ----------
    points : array of shape (m, w)
    weights : array of shape (m,)
    """

    points: Floats
    weights: Floats

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats, float]:
        """Mean, widths of the columns, Cholesky factor of A in these, and W."""
        total = float(self.weights.sum())
        mean: Floats = self.weights @ self.points / total
        apart = self.points - mean
        variance = self.weights @ apart**2 / total + _LEAST_VARIANCE
        width: Floats = np.sqrt(variance * total)
        apart = apart / width * np.sqrt(self.weights)[:, None]
        metric = apart.T @ apart
        metric[np.diag_indices_from(metric)] += (_PRIOR + 1e-9 * total) / total
        root = np.asarray(np.linalg.cholesky(metric), dtype=np.float64)
        return mean, width, root, total

    def _squares(self, rows: Floats) -> Floats:
        r""":math:`(x - \mu)^\top A^{-1} (x - \mu)` of rows (n, w), shape (n,)."""
        mean, width, root, _ = self._parts
        apart = solve_triangular(root, ((rows - mean) / width).T, lower=True)
        return np.asarray((apart**2).sum(axis=0))

    def away(self, rows: Floats) -> Floats:
        """Logarithms of distances of rows (n, w), shape (n,)."""
        total = self._parts[3]
        squares = (total + _PRIOR) * self._squares(rows)
        return np.log(np.maximum(np.sqrt(squares), _LEAST))

    def away_left_out(self) -> Floats:
        """Of the points themselves, each without one copy of itself, shape (m,).

        Mean and A change by the row that is left out, A by a matrix of rank one.
        """
        total = self._parts[3]
        own = np.minimum(self.weights, 1.0)
        rest = np.maximum(total - own, 1e-9 * total)
        squares = self._squares(self.points)
        kept = np.maximum(1 - own * total / rest * squares, 1e-9)
        squares = (rest + _PRIOR) * (total / rest) ** 2 * squares / kept
        return np.log(np.maximum(np.sqrt(squares), _LEAST))
