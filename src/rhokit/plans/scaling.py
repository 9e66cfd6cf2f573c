"""Scaling that belongs to the model: rows in, the same density out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rhokit.plans.spread import ColumnSpread, power_of_two
from rhokit.validation import FARTHEST

SCALE_RULES = ("std", "robust", "whiten", "common")
# Rules that need targets: which rows belong together, and what they predict.
TARGET_RULES = ("within", "learned")
# Share of the mean variance that is added to every direction inside the groups, so
# that none counts for more than the data can say.
_WITHIN_RIDGE = 0.1
# Distances from the middle of a group, in spreads, that are rounding.
_NO_SPREAD = 1e-11
# Factors above this, or below one over it, are beyond single precision or near it.
_EXTREME = 2.0**100
# Single precision loses digits of columns that are so many widths away from zero.
_FAR = 2.0**12
_LEAST_WIDTH = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map ``(x - centre) @ matrix``, with the logarithm of its volume.

    A change of the units of a column, or of its zero, leaves what the rules scale it
    to as it is, up to rounding, and shifts the logarithm of the volume by that of the
    unit; of ``"common"``, one of all columns together does.

    Parameters
    ----------
    centre : array of shape (d,), or (2, d)
        With a remainder of it, where columns are so far from zero that one number has
        too few digits.
    matrix : array of shape (d,) for a factor per column, or (d, d)
    """

    centre: NDArray[np.float64]
    matrix: NDArray[np.float64]

    @classmethod
    def from_rows(
        cls,
        rule: Any,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None = None,
        groups: NDArray[Any] | None = None,
        is_number: NDArray[np.bool_] | None = None,
    ) -> "Scaling":
        """Choose the scaling of rows (n, d) by a rule or from given widths.

        ``"std"`` divides by the standard deviation, ``"robust"`` by the distance
        between the quartiles as a normal distribution would have it, ``"common"`` by
        one width for all columns, ``"whiten"`` also removes correlations,
        ``"within"`` removes those inside the groups (n,) of rows, so that what tells
        groups apart stands out; an array divides by itself; None leaves the rows
        alone. Columns without spread, whose values differ by rounding at most, are
        centred and left at their scale; one without a distance between its quartiles
        is divided by its standard deviation. Where
        ``is_number`` (d,) is False, rows pass unchanged: states of categories have
        length one, so that two categories are as far apart as two rows usually are
        in a column of standard deviation one.
        """
        if is_number is not None:
            numbers = cls.from_rows(rule, rows[:, is_number], weights, groups)
            return numbers.among(is_number)
        d = rows.shape[1]
        if not d:
            return cls(np.zeros(0), np.ones(0))
        if isinstance(rule, str) and rule == "whiten" and d == 1:
            rule = "std"  # there is nothing to mix
        if rule is None:
            return cls(np.zeros(d), np.ones(d))
        if not isinstance(rule, str):
            return cls(np.zeros(d), 1 / _given_widths(rule, d))
        rows = rows.astype(np.float64, copy=False)
        mass = np.ones(len(rows)) if weights is None else weights
        if not mass.all():  # such rows are not there
            seen = mass > 0
            rows, mass = rows[seen], mass[seen]
            groups = None if groups is None else groups[seen]
        mass = mass / power_of_two(mass.max())
        columns = ColumnSpread.of(rows, mass)
        if rule == "robust":
            return _between_quartiles(rows, mass, columns)
        widths = columns.spread
        if rule == "common":
            unit = power_of_two(widths.max())
            widths = np.full(d, unit * np.sqrt(np.mean((widths / unit) ** 2)))
        plain = cls(columns.exact_centre, columns.inverse(widths))
        if rule == "within":
            return _within_groups(plain, rows, mass, groups)
        return _whitened(plain, rows, mass) if rule == "whiten" else plain

    def among(self, places: NDArray[np.bool_]) -> "Scaling":
        """This scaling for the columns at some places, the others as they are."""
        centre = np.zeros((*self.centre.shape[:-1], len(places)))
        centre[..., places] = self.centre
        if self.matrix.ndim == 1:
            factors = np.ones(len(places))
            factors[places] = self.matrix
            return Scaling(centre, factors)
        matrix = np.eye(len(places))
        matrix[np.ix_(places, places)] = self.matrix
        return Scaling(centre, matrix)

    def weighted(
        self, matrix: NDArray[np.float64], units: NDArray[np.bool_]
    ) -> tuple["Scaling", float]:
        """This scaling of columns, then a metric; and γ, which the metric includes.

        Parameters
        ----------
        matrix : array of shape (d,) or (d, d)
            That scaled rows are multiplied with.
        units : array of shape (d,), bool
            Columns whose squares are weighted by one in the mean.
        """
        squares = matrix**2 if matrix.ndim == 1 else (matrix**2).sum(axis=1)
        chosen = squares[units] if units.any() else np.ones(1)
        # Equal weights are their own mean, which rounding would only spoil: columns of
        # categories are not scaled at all.
        gamma = float(chosen[0] if np.ptp(chosen) == 0 else chosen.mean())
        factors = matrix / np.sqrt(gamma)
        if factors.ndim == 1:
            return Scaling(self.centre, self.matrix * factors), gamma
        return Scaling(self.centre, _in_rows(self.matrix[:, None] * factors)), gamma

    def marginal(self, places: list[int]) -> "Scaling":
        """The scaling of some columns, in the metric that integrating leaves."""
        centre = self.centre[..., places]
        if self.matrix.ndim == 1:
            return Scaling(centre, self.matrix[places])
        units, matrix = self._equilibrated()
        metric = matrix @ matrix.T
        gone = [place for place in range(len(metric)) if place not in places]
        left = metric[np.ix_(places, places)]
        if gone:
            cross = metric[np.ix_(gone, places)]
            solved = cho_solve(cho_factor(metric[np.ix_(gone, gone)]), cross)
            left = left - cross.T @ solved
        if not places:
            return Scaling(centre, np.ones(0))
        root = np.asarray(np.linalg.cholesky(left), dtype=float)
        return Scaling(centre, units[places, None] * root)

    def _equilibrated(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Powers of two (d,), and the matrix (d, d) whose rows they multiply.

        Columns of different units make rows of different sizes, of which products and
        inverses would be too large or too small to be numbers.
        """
        units = power_of_two(self._sizes())
        return units, self.matrix / units[:, None]

    @property
    def by_columns(self) -> bool:
        """Whether each column is scaled by itself."""
        return self.matrix.ndim == 1

    @property
    def inverse(self) -> NDArray[np.float64]:
        """The matrix that takes scaled rows back, shape (d, d)."""
        if self.by_columns:
            return np.diag(1 / self.matrix)
        units, matrix = self._equilibrated()
        return np.asarray(np.linalg.inv(matrix) / units)

    @property
    def is_identity(self) -> bool:
        """Whether rows pass unchanged."""
        plain = self.matrix.ndim == 1 and not self.centre.any()
        return bool(plain and (self.matrix == 1).all())

    @property
    def log_volume(self) -> float:
        """``log|det|``, to be added to a log-density to return to the user's units."""
        if self.matrix.ndim == 1:
            return float(np.log(self.matrix).sum())
        units, matrix = self._equilibrated()
        return float(np.linalg.slogdet(matrix)[1] + np.log(units).sum())

    def _sizes(self) -> NDArray[np.float64]:
        """The largest factor of every column, shape (d,)."""
        sizes = np.abs(self.matrix)
        return np.asarray(sizes if self.by_columns else sizes.max(axis=1))

    def dtype_for(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The precision that rows of some precision are scaled in.

        Double for columns of extreme units or far away from zero, else their own.
        """
        sizes = self._sizes()
        extreme = (sizes > _EXTREME) | (sizes < 1 / _EXTREME)
        far = (np.abs(self.centre) > _FAR / sizes) & (sizes > 0)
        return np.result_type(dtype, np.float64) if (extreme | far).any() else dtype

    def apply(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Scale rows (n, d), in their own precision."""
        matrix = self.matrix
        if matrix.ndim == 1 and (matrix == 1).all() and not self.centre.any():
            return rows
        own = rows.dtype
        dtype = own if own == np.float64 else self.dtype_for(own)
        for part in self.centre.reshape(-1, len(matrix)).astype(dtype):
            rows = rows - part
        if np.abs(matrix).max() > _EXTREME:
            rows, matrix = self._nearer(rows, own)
        matrix = matrix.astype(dtype)
        scaled = rows * matrix if matrix.ndim == 1 else rows @ matrix
        return np.asarray(scaled.astype(own, copy=False))

    def _nearer(
        self, centred: NDArray[Any], own: np.dtype[Any]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Rows no farther away than can be squared, and the matrix that is left."""
        units = power_of_two(self._sizes())
        matrix = (self.matrix.T / units).T
        most = FARTHEST[own]
        with np.errstate(over="ignore"):
            return np.clip(centred * units, -most, most), matrix

    def invert(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Scaled rows back in the user's units."""
        back = rows / self.matrix if self.by_columns else rows @ self.inverse
        for part in self.centre.reshape(-1, self.centre.shape[-1])[::-1]:
            back = back + part
        return np.asarray(back)

    def carry(self, rows: NDArray[Any], places: list[int]) -> NDArray[Any]:
        """Scaled rows (n, d) as those of some columns, in the scaling of these.

        Not by way of the user's units, which far from zero have few digits.
        """
        if self.by_columns or not places:
            return rows[:, places]
        return rows @ (self.inverse[:, places] @ self.marginal(places).matrix)


def scaled_variances(
    scaling: Scaling, rows: NDArray[Any], mass: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What each column (d,) of rows (n, d) adds to the variance of scaled rows.

    That of columns with their spreads, if they were independent.
    """
    spread = ColumnSpread.of(rows.astype(np.float64, copy=False), mass).spread
    matrix = scaling.matrix.reshape(len(spread), -1)
    return np.asarray(((spread[:, None] * matrix) ** 2).sum(axis=1))


def _given_widths(given: Any, d: int) -> NDArray[np.float64]:
    widths = np.asarray(given, dtype=np.float64)
    if (
        widths.shape != (d,)
        or not (np.isfinite(widths) & (widths >= _LEAST_WIDTH)).all()
    ):
        raise ValueError(
            f"The 'scale' parameter must be None, one of {SCALE_RULES}, or {d} "
            f"positive widths, one per column. Got {widths!r} instead."
        )
    return widths


def _between_quartiles(
    rows: NDArray[Any], mass: NDArray[np.float64], columns: ColumnSpread
) -> Scaling:
    """Divide by the distance of the quartiles, in units of a normal one's."""
    low, centre, high = _weighted_quantiles(rows, mass, (0.25, 0.5, 0.75))
    widths = (high - low) / 1.3489795003921634
    is_seen = (columns.spread > 0) & (widths > 0)
    return Scaling(centre, columns.inverse(np.where(is_seen, widths, columns.spread)))


def _whitened(plain: Scaling, rows: NDArray[Any], mass: NDArray[np.float64]) -> Scaling:
    """Remove correlations of columns of variance one, by a root that turns nothing."""
    d = rows.shape[1]
    covariance = np.cov(plain.apply(rows).T, aweights=mass, bias=True)
    values, vectors = np.linalg.eigh(covariance.reshape(d, d))
    # Variances keep rounding relative to the largest one, not to their own size.
    is_seen = values > 10 * d * np.finfo(rows.dtype).eps * values[-1]
    root = (vectors / np.sqrt(np.where(is_seen, values, 1.0))) @ vectors.T
    return Scaling(plain.centre, _in_rows(plain.matrix[:, None] * root))


def _within_groups(
    plain: Scaling, rows: NDArray[Any], mass: NDArray[np.float64], groups: Any
) -> Scaling:
    """Whiten by the covariance inside groups, of columns of variance one."""
    scaled = plain.apply(rows)
    inside = np.zeros_like(scaled)
    for group in np.unique(groups):
        own = groups == group
        centre = np.average(scaled[own], axis=0, weights=mass[own])
        inside[own] = scaled[own] - centre
    inside[np.abs(inside) < _NO_SPREAD] = 0  # so that rounding turns nothing
    covariance = (inside * mass[:, None]).T @ inside / mass.sum()
    values, vectors = np.linalg.eigh(covariance)
    if not values.mean() > 10 * np.finfo(float).eps:
        return plain  # groups of one row each, or of equal rows, have no inside
    ridge = _WITHIN_RIDGE * values.mean()
    widths = np.sqrt(np.clip(values, 0, None) + ridge)
    return Scaling(plain.centre, _in_rows(plain.matrix[:, None] * vectors / widths))


def _in_rows(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """One order in memory, so that the same numbers give the same bits."""
    return np.ascontiguousarray(matrix)


def _weighted_quantiles(
    rows: NDArray[Any], mass: NDArray[np.float64], levels: tuple[float, ...]
) -> tuple[NDArray[Any], ...]:
    """Quantiles of each column, where a weight of k counts as k copies."""
    order = np.argsort(rows, axis=0)
    ordered = np.take_along_axis(rows, order, axis=0)
    reached = np.cumsum(mass[order], axis=0)
    targets = [(reached >= level * reached[-1:]).argmax(axis=0) for level in levels]
    columns = np.arange(rows.shape[1])
    return tuple(ordered[target, columns] for target in targets)
