"""Scaling that belongs to the model: rows in, the same density out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

SCALE_RULES = ("std", "robust", "whiten", "common")
# Rules that also need to know which rows belong together.
GROUP_RULES = ("within",)
# Share of the mean variance that is added to every direction inside the groups, so
# that none counts for more than the data can say.
_WITHIN_RIDGE = 0.1


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map ``(x - centre) @ matrix``, with the logarithm of its volume.

    Parameters
    ----------
    centre : array of shape (d,)
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
        alone. Columns without spread are centred and left at their scale. Where
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
        if rule == "robust":
            low, centre, high = _weighted_quantiles(rows, mass, (0.25, 0.5, 0.75))
            return cls(centre, _inverse_widths((high - low) / 1.3489795003921634, rows))
        centre = np.average(rows, axis=0, weights=mass)
        if rule == "within":
            return cls._within_groups(rows, mass, groups)
        if rule in ("std", "common"):
            spread = np.sqrt(np.average((rows - centre) ** 2, axis=0, weights=mass))
            if rule == "common":
                spread = np.full(d, np.sqrt(np.mean(spread**2)))
            return cls(centre, _inverse_widths(spread, rows))
        covariance = np.cov(rows.T, aweights=mass, bias=True).reshape(d, d)
        values, vectors = np.linalg.eigh(covariance)
        # Variances keep rounding relative to the largest one, not to their own size.
        values[values < 10 * d * np.finfo(rows.dtype).eps * values[-1]] = 0
        widths = np.sqrt(values)
        return cls(centre, _in_rows(vectors * _inverse_widths(widths, rows)))

    @classmethod
    def _within_groups(
        cls, rows: NDArray[Any], mass: NDArray[np.float64], groups: Any
    ) -> "Scaling":
        """Whiten by the covariance inside groups, of columns of variance one."""
        plain = cls.from_rows("std", rows, mass)
        scaled = plain.apply(rows)
        inside = np.zeros_like(scaled)
        for group in np.unique(groups):
            own = groups == group
            if mass[own].any():
                centre = np.average(scaled[own], axis=0, weights=mass[own])
                inside[own] = scaled[own] - centre
        covariance = (inside * mass[:, None]).T @ inside / mass.sum()
        values, vectors = np.linalg.eigh(covariance)
        if not values.mean() > 10 * np.finfo(float).eps:
            return plain  # groups of one row each, or of equal rows, have no inside
        ridge = _WITHIN_RIDGE * values.mean()
        widths = np.sqrt(np.clip(values, 0, None) + ridge)
        return cls(plain.centre, _in_rows(plain.matrix[:, None] * vectors / widths))

    def among(self, places: NDArray[np.bool_]) -> "Scaling":
        """This scaling for the columns at some places, the others as they are."""
        centre = np.zeros(len(places))
        centre[places] = self.centre
        if self.matrix.ndim == 1:
            factors = np.ones(len(places))
            factors[places] = self.matrix
            return Scaling(centre, factors)
        matrix = np.eye(len(places))
        matrix[np.ix_(places, places)] = self.matrix
        return Scaling(centre, matrix)

    def marginal(self, places: list[int]) -> "Scaling":
        """The scaling of some columns, in the metric that integrating leaves."""
        centre = self.centre[places]
        if self.matrix.ndim == 1:
            return Scaling(centre, self.matrix[places])
        metric = self.matrix @ self.matrix.T
        gone = [place for place in range(len(metric)) if place not in places]
        left = metric[np.ix_(places, places)]
        if gone:
            cross = metric[np.ix_(gone, places)]
            solved = cho_solve(cho_factor(metric[np.ix_(gone, gone)]), cross)
            left = left - cross.T @ solved
        if not places:
            return Scaling(centre, np.ones(0))
        return Scaling(centre, np.asarray(np.linalg.cholesky(left), dtype=float))

    @property
    def by_columns(self) -> bool:
        """Whether each column is scaled by itself."""
        return self.matrix.ndim == 1

    @property
    def inverse(self) -> NDArray[np.float64]:
        """The matrix that takes scaled rows back, shape (d, d)."""
        if self.by_columns:
            return np.diag(1 / self.matrix)
        return np.asarray(np.linalg.inv(self.matrix))

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
        return float(np.linalg.slogdet(self.matrix)[1])

    def apply(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Scale rows (n, d), in their own precision."""
        matrix = self.matrix
        if matrix.ndim == 1 and (matrix == 1).all() and not self.centre.any():
            return rows
        centred = rows - self.centre.astype(rows.dtype)
        matrix = self.matrix.astype(rows.dtype)
        return np.asarray(centred * matrix if matrix.ndim == 1 else centred @ matrix)

    def invert(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Scaled rows back in the user's units."""
        if self.matrix.ndim == 1:
            return np.asarray(rows / self.matrix + self.centre)
        return np.asarray(rows @ np.linalg.inv(self.matrix) + self.centre)


def _given_widths(given: Any, d: int) -> NDArray[np.float64]:
    widths = np.asarray(given, dtype=np.float64)
    if widths.shape != (d,) or not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(
            f"The 'scale' parameter must be None, one of {SCALE_RULES}, or {d} "
            f"positive widths, one per column. Got {widths!r} instead."
        )
    return widths


def _in_rows(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """One order in memory, so that the same numbers give the same bits."""
    return np.ascontiguousarray(matrix)


def _inverse_widths(
    widths: NDArray[np.float64], rows: NDArray[Any]
) -> NDArray[np.float64]:
    # A constant column has a width of rounding, not of data.
    rounding = 10 * np.finfo(rows.dtype).eps * np.abs(rows).max(initial=1.0)
    return np.asarray(1 / np.where(widths > rounding, widths, 1.0))


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
