"""Gaussian cells: rows as quadratic features, and mixtures that are linear in them.

The logarithm of a normal density is a polynomial of second degree, so that of all cells
at all rows is one product of two matrices: quadratic features (n, q) times coefficients
(q, C). A cell sums up the same features, weighed by how much rows belong to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

Floats = NDArray[np.float64]

# Quantiles are within so many widths of some cell; steps towards them, until they are
# as near as this; and probabilities that have normal quantiles.
_TAIL, _MOST_STEPS, _NEAR = 40.0, 200, 1e-12
_LEVELS = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
# Numbers of what is no covariance are cut off here.
_LARGEST = 1e100
# Products of columns need not be written down for so few cells of so many columns.
_FEW_CELLS, _MANY_COLUMNS = 8, 16
# Nor if rows belong to a smaller share of the cells than the first, and the features of
# all are more numbers than the second.
_SPARSE, _LEAST_SPARSE = 0.2, 500_000
_LOG_TWO_PI = float(np.log(2 * np.pi))
# Least eigenvalue of correlations that rounding has made indefinite.
_LEAST_EIGENVALUE = 1e-10


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


@dataclass(frozen=True, eq=False)
class CellMixture:
    r"""A mixture of normal distributions, times shares of categories.

    .. math:: f(z, k) = \sum_c \pi_c\, \mathcal N(z; \mu_c, \Sigma_c)
              \prod_j p_{c j k_j}

    Parameters
    ----------
    log_weight : array of shape (C,)
        log π, ``-inf`` for cells without rows.
    mean : array of shape (C, d)
    covariance : array of shape (C, d, d)
    log_shares : array of shape (C, w)
        log p of all categories of all columns, one after the other; w may be zero.
    """

    log_weight: Floats
    mean: Floats
    covariance: Floats
    log_shares: Floats

    @property
    def d(self) -> int:
        """Number of columns of numbers."""
        return int(self.mean.shape[1])

    @classmethod
    def from_moments(
        cls, moments: Floats, d: int, log_weight: Floats, log_shares: Floats
    ) -> "CellMixture":
        """The mixture of means and covariances that sums of features (C, q) have."""
        mean, scatter = centred(moments, d)
        weight = np.maximum(moments[:, 0], np.finfo(float).tiny)
        return cls(log_weight, mean, scatter / weight[:, None, None], log_shares)

    def coefficients(self) -> Floats:
        """Of the logarithms of all cells' densities, shape (q + w, C)."""
        d = self.d
        i, j = pairs(d)
        root = np.linalg.cholesky(self.covariance)
        inverse = np.linalg.inv(root)
        precision = inverse.transpose(0, 2, 1) @ inverse
        slope = np.einsum("cij,cj->ci", precision, self.mean)
        log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        constant = -0.5 * (np.vecdot(slope, self.mean) + d * _LOG_TWO_PI) - log_root
        squares = precision[:, i, j] * np.where(i == j, -0.5, -1.0)
        # A cell without rows has a weight that no sum of others can make up for.
        log_weight = np.maximum(self.log_weight, -1e300)
        parts = [(log_weight + constant)[:, None], slope, squares, self.log_shares]
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T)

    def log_density(self, rows: CellRows) -> Floats:
        """Of rows, shape (n,)."""
        return np.asarray(logsumexp(rows.values(self.coefficients()), axis=1))

    def part(self, columns: list[int], shares: list[int]) -> "CellMixture":
        """The mixture of some columns of numbers and of categories."""
        return CellMixture(
            self.log_weight,
            self.mean[:, columns],
            self.covariance[:, columns][:, :, columns],
            self.log_shares[:, shares],
        )

    def conditional(
        self, given: list[int], values: Floats, log_likelihood: Floats
    ) -> "CellMixture":
        """The mixture of the other columns, where some have these values (g,).

        Parameters
        ----------
        given : list of int
        values : array of shape (g,)
        log_likelihood : array of shape (C,)
            Of whatever else is known, such as categories.
        """
        rest = [j for j in range(self.d) if j not in given]
        log_weight = self.log_weight + log_likelihood
        mean, covariance = self.mean[:, rest], self.covariance[:, rest][:, :, rest]
        if given:
            known = self.part(given, [])
            log_weight = log_weight + known.log_cells(values[None])[0]
            cross = self.covariance[:, given][:, :, rest]  # (C, g, rest)
            gain = np.linalg.solve(known.covariance, cross)
            away = values - known.mean
            mean = mean + np.einsum("cg,cgr->cr", away, gain)
            covariance = covariance - cross.transpose(0, 2, 1) @ gain
            covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
        log_weight = log_weight - logsumexp(log_weight)
        return CellMixture(log_weight, mean, covariance, self.log_shares)

    def log_cells(self, z: Floats) -> Floats:
        """Log-density of every cell at rows (n, d), without weights, shape (n, C)."""
        plain = CellMixture(
            np.zeros(len(self.mean)), self.mean, self.covariance, self.log_shares[:, :0]
        )
        return np.asarray(quadratic_features(z) @ plain.coefficients())

    def cdf(self, column: int, z: Floats) -> Floats:
        """Probability that a column is at most z (n,), shape (n,)."""
        width = np.sqrt(self.covariance[:, column, column])
        return np.asarray(
            ndtr((z[:, None] - self.mean[:, column]) / width) @ np.exp(self.log_weight)
        )

    def quantiles(self, columns: list[int], levels: Floats) -> Floats:
        """Values of columns below which probabilities lie, shape (K, columns).

        Levels are those of all columns (K,), or of each (K, columns).

        By Newton's method for the normal quantile of the distribution function, which
        is nearly straight; where steps do not shrink by half, bounds are halved.
        """
        mean = self.mean[:, columns].T  # (columns, C)
        width = np.sqrt(self.covariance[:, columns, columns]).T
        weight = np.exp(self.log_weight)
        wanted = ndtri(np.clip(levels, *_LEVELS))
        wanted = wanted.reshape(len(levels), -1)
        high = np.repeat((mean + _TAIL * width).max(axis=1)[None], len(levels), axis=0)
        low = np.repeat((mean - _TAIL * width).min(axis=1)[None], len(levels), axis=0)
        x, moved = np.clip(mean @ weight + wanted, low, high), high - low
        for _ in range(_MOST_STEPS):
            away = (x[:, :, None] - mean) / width
            reached = ndtri(np.clip(ndtr(away) @ weight, *_LEVELS))
            low = np.where(reached < wanted, x, low)
            high = np.where(reached < wanted, high, x)
            slope = np.exp(reached**2 / 2) * ((np.exp(-(away**2) / 2) / width) @ weight)
            with np.errstate(over="ignore"):
                step = (wanted - reached) / np.maximum(slope, np.finfo(float).tiny)
            is_astray = ~((x + step >= low) & (x + step <= high))
            is_astray |= np.abs(step) > moved / 2
            step = np.where(is_astray, (low + high) / 2 - x, step)
            x, moved = x + step, np.abs(step)
            if (moved <= _NEAR * (1 + np.abs(x))).all():
                break
        return np.asarray(x)

    def moments(self) -> Floats:
        """Weighted moments of the cells: what sums of their features would be."""
        d = self.d
        weight = np.exp(self.log_weight)[:, None]
        second = self.covariance + self.mean[:, :, None] * self.mean[:, None, :]
        parts = [np.ones_like(weight), self.mean, second[:, *pairs(d)]]
        parts.append(np.exp(self.log_shares))
        return np.concatenate(parts, axis=1) * weight

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
        """Rows (n, d), and the cell that each comes from (n,)."""
        weights = np.exp(self.log_weight - logsumexp(self.log_weight))
        counts = rng.multinomial(n, weights / weights.sum())
        z = rng.normal(size=(n, self.d))
        cell = np.repeat(np.arange(len(counts)), counts)
        stops = np.cumsum(counts)
        for c in np.flatnonzero(counts):
            own = slice(stops[c] - counts[c], stops[c])
            root = np.linalg.cholesky(self.covariance[c])
            z[own] = z[own] @ root.T + self.mean[c]
        order = rng.permutation(n)
        return z[order], cell[order]


def mixed(parts: list[CellMixture], weights: Floats) -> CellMixture:
    """The mixture of mixtures of these weights (L,)."""
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    return CellMixture(
        np.concatenate([p.log_weight + w for p, w in zip(parts, logs, strict=True)]),
        np.concatenate([each.mean for each in parts]),
        np.concatenate([each.covariance for each in parts]),
        np.concatenate([each.log_shares for each in parts]),
    )


def centred(moments: Floats, d: int) -> tuple[Floats, Floats]:
    """Means (C, d) and scatters (C, d, d) of sums of features (C, q)."""
    weight = np.maximum(moments[:, 0], np.finfo(float).tiny)[:, None]
    mean = moments[:, 1 : d + 1] / weight
    second = square(moments[:, d + 1 : n_quadratic(d)], d)
    outer = (mean * weight)[:, :, None] * mean[:, None, :]
    return mean, second - outer


def definite(covariance: Floats) -> Floats:
    """Covariances (C, d, d), those mended that are none.

    A row that is far away takes the last digits of what the others of its cell share;
    and a file may hold anything.
    """
    if _is_definite(covariance):
        return covariance
    return np.stack([c if _is_definite(c) else _mended(c) for c in covariance])


def _is_definite(covariance: Floats) -> bool:
    try:
        return bool(np.isfinite(np.linalg.cholesky(covariance)).all())
    except np.linalg.LinAlgError:
        return False


def _mended(covariance: Floats) -> Floats:
    """One of them (d, d), by the eigenvalues of its correlations."""
    known = np.nan_to_num(covariance, posinf=_LARGEST, neginf=-_LARGEST)
    known = np.clip(known, -_LARGEST, _LARGEST)
    variance = np.diag(known)
    root = np.sqrt(np.where(variance > 1 / _LARGEST, variance, 1.0))
    values, vectors = np.linalg.eigh(known / np.outer(root, root))
    vectors = vectors * root[:, None]
    least = _LEAST_EIGENVALUE * max(1.0, float(values[-1]))
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def softmax_by_layer(logits: Floats, stops: Any) -> Floats:
    """Weights of cells (n, C) that sum to one in every layer, in place.

    Parameters
    ----------
    logits : array of shape (n, C)
    stops : sequence of int
        Where the cells of each layer end.
    """
    start = 0
    for stop in stops:
        own = logits[:, start:stop]
        own -= own.max(axis=1, keepdims=True)
        np.exp(own, out=own)
        own /= own.sum(axis=1, keepdims=True)
        start = stop
    return logits
