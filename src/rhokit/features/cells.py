"""Gaussian cells: rows as quadratic features, and mixtures that are linear in them.

The logarithm of a normal density is a polynomial of second degree, so that of all cells
at all rows is one product of two matrices: quadratic features (n, q) times coefficients
(q, C). A cell sums up the same features, weighed by how much rows belong to it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from rhokit.features.category_shares import blocks_of
from rhokit.features.cell_rows import (
    CellRows,
    n_quadratic,
    pairs,
    quadratic_features,
    square,
)

Floats = NDArray[np.float64]

# Quantiles are within so many widths of some cell; steps towards them, until they are
# as near as this; and probabilities that have normal quantiles.
_TAIL, _MOST_STEPS, _NEAR = 40.0, 200, 1e-12
_LEVELS = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
# Numbers of what is no covariance are cut off here.
_LARGEST = 1e100
_LOG_TWO_PI = float(np.log(2 * np.pi))
# Shares of unseen categories below this are rounding.
_CLOSED = 1e-13
# Least eigenvalue of correlations that rounding has made indefinite.
_LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True, eq=False)
class CellMixture:
    r"""A mixture of normal distributions, times shares of categories.

    .. math:: f(z, k) = \sum_c \pi_c\, \mathcal N(z; \mu_c, \Sigma_c)
              \prod_j p_{c j k_j}

    What the categories of a column leave of one is the share of those that were not
    learned, whose rows have zeros for all of them.

    Parameters
    ----------
    log_weight : array of shape (C,)
        log π, ``-inf`` for cells without rows.
    mean : array of shape (C, d)
    covariance : array of shape (C, d, d)
    log_shares : array of shape (C, w)
        log p of all categories of all columns, one after the other; w may be zero.
    sizes : tuple of int
        How many of these are of each column.
    """

    log_weight: Floats
    mean: Floats
    covariance: Floats
    log_shares: Floats
    sizes: tuple[int, ...] = ()

    @property
    def d(self) -> int:
        """Number of columns of numbers."""
        return int(self.mean.shape[1])

    @classmethod
    def from_moments(
        cls,
        moments: Floats,
        d: int,
        log_weight: Floats,
        log_shares: Floats,
        sizes: tuple[int, ...],
    ) -> "CellMixture":
        """The mixture of means and covariances that sums of features (C, q) have."""
        mean, scatter = centred(moments, d)
        weight = np.maximum(moments[:, 0], np.finfo(float).tiny)
        covariance = scatter / weight[:, None, None]
        return cls(log_weight, mean, covariance, log_shares, sizes)

    @cached_property
    def log_unseen(self) -> Floats:
        """Logarithms of the shares of unseen categories (C, columns).

        Zero where there are none, so that nothing is asked of it.
        """
        logs = np.zeros((len(self.log_shares), len(self.sizes)))
        for column, own in enumerate(blocks_of(self.sizes)):
            left = 1 - np.exp(self.log_shares[:, own]).sum(axis=1)
            is_open = left > _CLOSED
            logs[is_open, column] = np.log(left[is_open])
        return logs

    def log_categories(self, onehot: Floats) -> Floats:
        """Logarithms (C,) of the shares of a row's categories (w,)."""
        unseen = np.repeat(self.log_unseen, self.sizes, axis=1)
        known = (self.log_shares - unseen) @ onehot
        return np.asarray(known + self.log_unseen.sum(axis=1))

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
        # Of a row without ones, categories were not learned; a one takes that back.
        constant += self.log_unseen.sum(axis=1)
        shares = self.log_shares - np.repeat(self.log_unseen, self.sizes, axis=1)
        parts = [(log_weight + constant)[:, None], slope, squares, shares]
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T)

    def log_density(self, rows: CellRows) -> Floats:
        """Of rows, shape (n,)."""
        return np.asarray(logsumexp(rows.values(self.coefficients()), axis=1))

    def part(self, columns: list[int], shares: list[int]) -> "CellMixture":
        """The mixture of some columns of numbers and of categories."""
        blocks = blocks_of(self.sizes)
        sizes = tuple(
            size
            for size, own in zip(self.sizes, blocks, strict=True)
            if own.start in shares
        )
        return CellMixture(
            self.log_weight,
            self.mean[:, columns],
            self.covariance[:, columns][:, :, columns],
            self.log_shares[:, shares],
            sizes,
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
        return replace(self, log_weight=log_weight, mean=mean, covariance=covariance)

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
        parts[0].sizes,
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
