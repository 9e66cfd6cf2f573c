"""Where columns end, and steps that their values are on, as far as rows show it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# An end shows in the rows nearest to it, this many or this share of all: next to
# them, in an equal width, are about as many, while tails thin out. So must it be with
# twice and four times as many, that the edge of a small cluster is none.
_NEAREST, _NEAREST_SHARE, _SCALES = 50.0, 0.1, (1, 2, 4)
_LEAST_NEAREST, _LEAST_RATIO = 30.0, 0.6
# Rows that would lie below zero, by that ratio, where it is an end: there are many.
_MISSING_BELOW_ZERO = 7.0
# Zero is the end of a column whose least value is nearer to it than this, in standard
# deviations.
_REACH = 1.0
# An end that rows suggest lies so many of their gaps beyond the last one.
_MARGIN = 10.0
# A value is an atom if it has so many times the rows of the next one; its cell is so
# wide, in standard deviations.
_ATOM, _ATOM_CELL = 5.0, (1e-3, 0.05)
# Values of a step are so near to multiples of it, which are no more than so many, and
# there are so many of them, or so many rows for each: else it is chance. The least gap
# is one of these numbers of steps.
_NEAR, _MOST_STEPS, _LEAST_VALUES, _LEAST_COPIES = 0.01, 1e7, 8, 5.0
_GAPS = (1, 2, 3, 4, 5)
_ROUNDING = 1e-6  # of the spread


@dataclass(frozen=True)
class ColumnEnds:
    """What a column's support is, and how its values are read.

    Parameters
    ----------
    low, high : float
        Infinite where a column does not end.
    low_cell, high_cell : float
        How far the last value is from the end, if all between them counts as that
        value: half a step, or the cell of an atom; else zero.
    low_turn, high_turn : float
        How far inside of an end that rows only suggest the column turns, to go on
        beyond it. Zero for an end that holds for good: rows beyond are refused.
    anchor, step : float
        Values are at whole numbers of steps from the anchor; zero if there is no step.
    zero : float
        The user's, where all rows are above it: a logarithm may end there.
    """

    low: float = -np.inf
    high: float = np.inf
    low_cell: float = 0.0
    high_cell: float = 0.0
    low_turn: float = 0.0
    high_turn: float = 0.0
    anchor: float = 0.0
    step: float = 0.0
    zero: float = -np.inf

    @classmethod
    def of(
        cls, x: Floats, mass: Floats, zero: float, least: float, most: float
    ) -> "ColumnEnds":
        """Ends of a column (n,) of masses (n,).

        Parameters
        ----------
        x : array of shape (n,)
            Some of the rows.
        mass : array of shape (n,)
        zero : float
            The user's; ``-inf`` where it is not known.
        least, most : float
            Of all rows.
        """
        values, group = np.unique(x, return_inverse=True)
        counts = np.bincount(group, mass).astype(np.float64)
        spread = float(np.sqrt(np.cov(values, aweights=counts, bias=True)))
        if len(values) < 2 or not spread > 0:
            return cls()
        column = _Column(values, counts, spread, _step(values, mass.sum()))
        # Zero may be one of the values to come if it is but a step below the least.
        is_above = values[0] - zero > 2 * np.diff(values).min()
        low, low_cell, low_turn = column.lower(zero, least)
        high, high_cell, high_turn = column.mirrored().lower(-np.inf, -most)
        return cls(
            low,
            -high,
            low_cell,
            high_cell,
            low_turn,
            high_turn,
            anchor=values[0] if column.step else 0.0,
            step=column.step,
            zero=zero if is_above else -np.inf,
        )

    def confirmed(
        self, x: Floats, mass: Floats, fold: NDArray[np.intp]
    ) -> "ColumnEnds":
        """Without ends that rows only suggest, and others among them deny.

        Parameters
        ----------
        x : array of shape (n,)
        mass : array of shape (n,)
        fold : array of shape (n,)
            Rows of a number are left out together, and may be beyond the ends that the
            others have.
        """
        known = self
        for each in np.unique(fold) if self.low_turn or self.high_turn else ():
            rest, out = x[fold != each], x[fold == each]
            if len(np.unique(rest)) < 2:
                continue
            of_rest = ColumnEnds.of(
                rest, mass[fold != each], self.zero, rest.min(), rest.max()
            )
            if known.low_turn and out.min() <= of_rest.low:
                known = replace(known, low=-np.inf, low_cell=0.0, low_turn=0.0)
            if known.high_turn and out.max() >= of_rest.high:
                known = replace(known, high=np.inf, high_cell=0.0, high_turn=0.0)
        return known

    def from_zero(self) -> "ColumnEnds":
        """With nothing at zero and below."""
        if np.isfinite(self.low):
            return self
        return replace(self, low=self.zero, low_cell=0.0, low_turn=0.0)


@dataclass(frozen=True, eq=False)
class _Column:
    """Distinct values that ascend, with their masses."""

    values: Floats
    counts: Floats
    spread: float
    step: float

    def mirrored(self) -> "_Column":
        return replace(self, values=-self.values[::-1], counts=self.counts[::-1])

    def lower(self, zero: float, least: float) -> tuple[float, float, float]:
        """The lower end, its cell, and how far inside of it the column turns."""
        first, step = self.values[0], self.step
        is_atom = self._is_atom
        cell = step / 2 or (self._atom_cell if is_atom else 0.0)
        if zero <= least and least - zero <= _REACH * self.spread:
            is_step = step and abs(np.remainder((first - zero) / step + 0.5, 1) - 0.5)
            # An atom is at zero, or has nothing to do with it.
            at_zero = first - zero < _ROUNDING * self.spread
            near, ratio, _ = self._edge(zero, 1)
            is_end = near * ratio >= _MISSING_BELOW_ZERO or (is_atom and at_zero)
            if is_end and not is_step > _NEAR:
                if not step:
                    cell = self._atom_cell if at_zero else 0.0
                return zero - cell, cell, 0.0
        edges = [self._edge(first, scale) for scale in _SCALES]
        is_end = edges[0][0] >= _LEAST_NEAREST and all(
            ratio >= _LEAST_RATIO for _, ratio, _ in edges
        )
        if not (is_end or is_atom):
            return -np.inf, 0.0, 0.0
        gap = edges[0][2]
        if step:
            least = least - step * np.floor(_MARGIN * gap / step)
            return least - step / 2, step / 2, step / 2
        if is_atom:
            return least - cell, cell, cell
        return least - _MARGIN * gap, 0.0, _MARGIN * gap / 2

    def _edge(self, start: float, scale: int) -> tuple[float, float, float]:
        """Rows near to an edge, their ratio to those next to them, and their gaps."""
        total = self.counts.sum()
        reached = np.cumsum(self.counts)
        wanted = scale * min(_NEAREST, _NEAREST_SHARE * total)
        last = int(np.searchsorted(reached, wanted * (1 - 1e-9)))
        near = float(reached[last])
        width = float(self.values[last] - start + self.step)
        # All of them are at one value, or most at the last one, which hides the others.
        if not width > 0 or (last and near > 2 * wanted):
            return near, 0.0, 0.0
        stop = start + 2 * width - self.step / 2
        next_to = reached[np.searchsorted(self.values, stop) - 1] - near
        return near, min(1.0, near / max(next_to, 1.0)), width / near

    @property
    def _is_atom(self) -> bool:
        """Whether far more rows are at the first value than near it."""
        first, others = self.counts[0], self.counts[1:6].max()
        return bool(not self.step and first >= max(_LEAST_NEAREST, _ATOM * others))

    @property
    def _atom_cell(self) -> float:
        narrow, wide = _ATOM_CELL
        gap = (self.values[1] - self.values[0]) / 2
        return float(np.clip(gap, narrow * self.spread, wide * self.spread))


def _step(values: Floats, total: float) -> float:
    """The step that sorted values are on, or zero."""
    span, gap = values[-1] - values[0], float(np.diff(values).min())
    few = len(values) < _LEAST_VALUES and total < _LEAST_COPIES * len(values)
    if gap * _MOST_STEPS < span or few:
        return 0.0
    for parts in _GAPS:
        step = float(span / round(parts * span / gap))
        multiples = (values - values[0]) / step
        if np.abs(multiples - np.round(multiples)).max() <= _NEAR:
            return step
    return 0.0


__all__ = ["ColumnEnds"]
