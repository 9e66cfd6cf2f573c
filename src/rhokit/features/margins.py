"""Splines that give columns the quantiles that a mixture expects."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhokit.features.cells import CellMixture
from rhokit.features.reading import Reading
from rhokit.features.shapes import ColumnShapes
from rhokit.features.splines import Splines

Floats = NDArray[np.float64]

# Quantiles that are brought to where the mixture has them: those with so many rows
# beyond. Tails count as much as the middle.
_LEVELS = (1e-4, 3e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5)
_LEAST_BEYOND, _LEAST_ROWS, _TAIL = 10.0, 2000.0, 0.003
# Rows that splines move by so many widths of a cell are moved out of it.
_FAR = 0.5
# How often masses of some rows are scaled to the shares of all, and by what at most.
_RAKINGS, _MOST_RAKED = 5, 2.0
# A piece is at least so wide, and stretched no more than so many times.
_LEAST_PIECE, _MOST_STRETCH, _LEAST_KNOTS = 1e-3, 30.0, 4


@dataclass(frozen=True, eq=False)
class Margins:
    """Quantiles of columns.

    Parameters
    ----------
    levels : array of shape (K, d)
        Shares of the rows up to these values, in every column those near to the same.
    values : array of shape (K, d)
    """

    levels: Floats
    values: Floats

    @classmethod
    def of(cls, rows: Floats, mass: Floats, reading: Reading) -> "Margins":
        """Quantiles of rows (n, d), as far out as there are rows.

        They lie between values, where these end as they are read: the share of rows up
        to there is known, however many rows have the same value.
        """
        total = mass.sum()
        low = [p for p in _LEVELS if p * total >= _LEAST_BEYOND]
        if total < _LEAST_ROWS:
            low = []
        near = np.array(low + [1 - p for p in reversed(low) if p < 0.5])
        parts = [_between(column, mass, near) for column in rows.T]
        levels, below, above = (
            np.array(parts).reshape(rows.shape[1], 3, len(near)).transpose(1, 2, 0)
        )
        reached = reading.reached(below)
        is_between = (reached > below) & (reached < above)
        return cls(levels, np.where(is_between, reached, (below + above) / 2))

    def raked(self, rows: Floats, mass: Floats) -> Floats:
        """Masses (n,) of some of the rows, with the shares that all have.

        Of 20,000 rows one in 1,000 are 20, give or take four or five. Masses between
        the quantiles of a column are scaled to what all rows have there, column by
        column, and again, since columns disturb one another.
        """
        columns = []
        for x, levels, values in zip(rows.T, self.levels.T, self.values.T, strict=True):
            is_between = ~np.isin(values, x) & (np.diff(levels, prepend=0.0) > 0)
            shares = np.diff(levels[is_between], prepend=0.0, append=1.0)
            columns.append((np.searchsorted(values[is_between], x), shares))
        found, total = mass, mass.sum()
        for place, shares in columns * _RAKINGS:
            own = np.bincount(place, found, len(shares)) / total
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.where(own > 0, shares / own, 1.0)
            found = found * factor[place]
            found *= total / found.sum()
        return np.asarray(mass * np.clip(found / mass, 1 / _MOST_RAKED, _MOST_RAKED))

    @property
    def has_tails(self) -> bool:
        """Whether there are rows enough to know tails by."""
        return len(self.levels) > 2 * sum(p > _TAIL for p in _LEVELS) - 1

    def splines(
        self, shapes: ColumnShapes, mixture: CellMixture, *, most_torn: float
    ) -> Splines | None:
        """Splines that take quantiles of bent columns to those of a mixture.

        A column keeps what it has where values are the same over several levels, and
        where cells of more than ``most_torn`` of the weight are so narrow that their
        rows would be moved out of them. None if there are too few rows to know tails
        by.
        """
        if not len(self.levels):
            return None
        known = shapes.splines
        if not len(known):
            known = Splines.same(len(self.levels), mixture.d)
        knots, values = known.knots.copy(), known.values.copy()
        expected = mixture.quantiles(list(range(mixture.d)), self.levels)
        for j, column in enumerate(self.values.T):
            own = shapes.bend(j, column)[0]
            points = _ascending(np.stack([own, expected[:, j]]))
            if points is None:
                continue
            found = Splines.through(*points[:, :, None])
            if _torn(found, known.part([j]), mixture, j) > most_torn:
                continue
            knots[:, j], values[:, j] = points
        return Splines.through(knots, values)


def _ascending(points: Floats) -> Floats | None:
    """Points (2, K) that ascend, those that do not replaced by more of a straight end.

    Of equal values the level nearest to the middle counts. None where too few are left,
    or pieces are stretched too much.
    """
    n_levels = points.shape[1]
    middle = n_levels // 2
    kept = [middle]
    for places in (range(middle - 1, -1, -1), range(middle + 1, n_levels)):
        last = middle
        for k in places:
            if np.abs(points[:, k] - points[:, last]).min() > _LEAST_PIECE:
                kept.append(k)
                last = k
    found = points[:, sorted(kept)]
    if len(kept) < _LEAST_KNOTS:
        return None
    widths = np.diff(found, axis=1)
    if np.abs(np.log(widths[1] / widths[0])).max() > np.log(_MOST_STRETCH):
        return None
    missing = np.arange(1.0, n_levels - len(kept) + 1)
    step = np.array([[1.0], [widths[1, 0] / widths[0, 0]]])
    return np.concatenate([found[:, :1] - step * missing[::-1], found], axis=1)


def _torn(new: Splines, old: Splines, mixture: CellMixture, column: int) -> float:
    """Weight of the cells whose rows would be moved out of them."""
    mean = mixture.mean[:, column]
    moved = np.abs(new.apply(0, old.invert(0, mean))[0] - mean)
    far = moved > _FAR * np.sqrt(mixture.covariance[:, column, column])
    return float(np.exp(mixture.log_weight) @ far)


def _between(x: Floats, mass: Floats, near: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares of rows near to these, and the values next to where they are reached.

    Where a value has the rows of several levels, those further out are in its middle.
    """
    values, group = np.unique(x, return_inverse=True)
    reached = np.cumsum(np.bincount(group, mass)) / mass.sum()
    if len(values) < 2:
        return near, np.full(len(near), values[0]), np.full(len(near), values[0])
    places = np.searchsorted((reached[1:-1] + reached[:-2]) / 2, near)
    levels, below, above = reached[places], values[places], values[places + 1]
    same, k = np.diff(places) == 0, np.arange(len(near) - 1)
    middles = reached - np.diff(reached, prepend=0.0) / 2
    low, high = k[same & (near[1:] <= 0.5)], k[same & (near[:-1] >= 0.5)] + 1
    for own, value in ((low, places[low]), (high, places[high] + 1)):
        levels[own] = middles[value]
        below[own] = above[own] = values[value]
    return levels, below, above


__all__ = ["Margins"]
