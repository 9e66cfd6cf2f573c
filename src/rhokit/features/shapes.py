"""Invertible shapes of columns: straight or bent, with ends, mended by a spline."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.bends import ASINH, LINEAR, LOG, bend, bent_ends, unsoftened
from rhokit.features.ends import ColumnEnds
from rhokit.features.shape_choice import chosen_shape
from rhokit.features.splines import Splines

Floats = NDArray[np.float64]

# Columns are no farther away than this, in their own spreads: squares stay finite.
_FARTHEST = 1e60
# Of exponentials that stay finite.
_MOST_EXPONENT = 500.0
# Values at an end are taken for those so far inside of it, in spreads.
_AT_END = 1e-3


@dataclass(frozen=True, eq=False)
class ColumnShapes:
    r"""One increasing function per column, in three steps.

    .. math:: v = x,\ \log(x - b),\ \mathrm{asinh}\frac{x - b}{s}; \qquad
              u = v + r \log(1 - e^{-(v - l) / r}) - r \log(1 - e^{-(h - v) / r});
              \qquad z = T\Big(\frac{u - c}{w}\Big)

    The second is straight but near the ends l and h of the column, where it goes to
    infinity like a logarithm, so that all of z is inside of them; a side without an end
    has no such term. Where rows only suggest an end, z goes on beyond it, by the
    logarithm of the distance: little lies there, and nothing is impossible. T is a
    spline, straight in its tails.

    Parameters
    ----------
    kind : array of shape (d,), of 0 (a line), 1 (a logarithm), 2 (asinh)
    origin : array of shape (d,)
        b; zero for a line.
    unit : array of shape (d,)
        s; one for a line and for a logarithm.
    soft : array of shape (d,)
        r; one where a column has no ends.
    centre, width : arrays of shape (d,)
        c and w.
    low, high : arrays of shape (d,)
        Ends of columns, in units of x; infinite where there are none.
    turn : array of shape (2, d)
        How far inside of an end that rows only suggest the column turns, to go on
        beyond it; zero for ends that hold for good.
    splines : Splines
    """

    kind: NDArray[np.int64]
    origin: Floats
    unit: Floats
    soft: Floats
    centre: Floats
    width: Floats
    low: Floats
    high: Floats
    turn: Floats
    splines: Splines

    @classmethod
    def lines(cls, d: int) -> "ColumnShapes":
        """Columns as they are."""
        bends = np.repeat([[0.0], [1], [1], [0], [1]], d, axis=1)
        ends, turn = np.full((2, d), -np.inf), np.zeros((2, d))
        kinds, knots = np.zeros(d, np.int64), np.zeros((3, 0, d))
        return cls.of_arrays(kinds, bends, ends, turn, knots)

    @classmethod
    def chosen(
        cls,
        rows: Floats,
        mass: Floats,
        ends: list[ColumnEnds],
        straight: bool = False,
    ) -> "ColumnShapes":
        """Shapes under which each column (n,) is likeliest as a normal distribution.

        Parameters
        ----------
        rows : array of shape (n, d)
        mass : array of shape (n,)
        ends : list of ColumnEnds
        straight : bool
            Whether only lines are wanted, but for the ends.
        """
        share = mass / mass.sum()
        parts = [
            chosen_shape(np.ascontiguousarray(column), share, each, straight)
            for column, each in zip(rows.T, ends, strict=True)
        ]
        bends = np.array([each[1:6] for each in parts]).reshape(-1, 5).T
        own = [each[-1] for each in parts]
        sides = np.array([[e.low, -e.high] for e in own]).reshape(-1, 2).T
        turn = np.array([[e.low_turn, e.high_turn] for e in own]).reshape(-1, 2).T
        kinds = np.array([each[0] for each in parts], np.int64)
        return cls.of_arrays(kinds, bends, sides, turn, np.zeros((3, 0, len(own))))

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """What files hold: bends (5, d), ends (2, d), the upper mirrored, and knots."""
        bends = self.origin, self.unit, self.soft, self.centre, self.width
        splines = self.splines
        return (
            np.stack(bends),
            np.stack([self.low, -self.high]),
            np.stack([splines.knots, splines.values, splines.slopes]),
        )

    @classmethod
    def of_arrays(
        cls, kinds: Any, bends: Floats, ends: Floats, turn: Floats, knots: Floats
    ) -> "ColumnShapes":
        """Shapes of what files hold."""
        origin, unit, soft, centre, width = bends
        splines = Splines(knots[0], knots[1], knots[2])
        return cls(
            kinds, origin, unit, soft, centre, width, ends[0], -ends[1], turn, splines
        )

    @property
    def are_lines(self) -> bool:
        """Whether no column is bent, but for its ends."""
        return not self.kind.any() and not len(self.splines)

    def bend(self, j: int, x: Floats) -> tuple[Floats, Floats]:
        """Column j (n,) without its spline, and the logarithm of its slope."""
        inside = np.clip(x, *self.turns(j))
        shape = self.kind[j], self.origin[j], self.unit[j], self.soft[j]
        u, slope = bend(inside, *shape, self.low[j], self.high[j])
        z = (u - self.centre[j]) / self.width[j]
        slope = slope - np.log(self.width[j])
        beyond = x - inside
        if beyond.any():
            more = np.log1p(np.abs(beyond) * np.exp(slope))
            z, slope = z + np.sign(beyond) * more, slope - more
        return np.clip(z, -_FARTHEST, _FARTHEST), slope

    def turns(self, j: int) -> tuple[float, float]:
        """Where column j begins to go on beyond suggested ends; infinite for none."""
        low, high = self.turn[:, j]
        return (
            self.low[j] + low if low > 0 else -np.inf,
            self.high[j] - high if high > 0 else np.inf,
        )

    def apply(
        self, rows: NDArray[Any], *, with_volume: bool = True
    ) -> tuple[Floats, Floats]:
        """Bent rows (n, d), and logarithms of the volume that bending makes, (n,).

        Rows beyond an end that holds for good get ``-inf``, and some place. Without the
        volume, which takes most of the time, logarithms are zeros.
        """
        z = self._lines(rows)
        log_volume = np.zeros(len(z))
        for j, x in self._curved(rows):
            z[:, j], slope = self.bend(j, x)
            log_volume += slope
            if len(self.splines) and with_volume:
                z[:, j], slope = self.splines.apply(j, z[:, j])
                log_volume += slope
            elif len(self.splines):
                z[:, j] = self.splines.place(j, z[:, j])
        if not with_volume:
            return z, np.zeros(len(z))
        log_volume -= np.log(self.width[self._is_line]).sum()
        log_volume[self.outside(rows).any(axis=1)] = -np.inf
        return z, log_volume

    @cached_property
    def _is_line(self) -> NDArray[np.bool_]:
        """Which columns are straight, without ends (d,): all are bent at once."""
        has_ends = np.isfinite(self.low) | np.isfinite(self.high)
        return (self.kind == LINEAR) & ~has_ends & (not len(self.splines))

    def _lines(self, rows: NDArray[Any]) -> Floats:
        """Rows (n, d) with all columns bent as if they were straight."""
        z = rows - self.centre
        z /= self.width
        return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST, out=z))

    def _curved(self, rows: NDArray[Any]) -> Iterator[tuple[int, Floats]]:
        """The other columns (n,), held where their ends are."""
        curved = np.flatnonzero(~self._is_line)
        every = np.ascontiguousarray(rows.T[curved], dtype=np.float64)
        for j, x in zip(curved.tolist(), every, strict=True):
            low, high = self.places(j)
            x = np.where(x > self.low[j], x, np.maximum(x, low))
            yield j, np.where(x < self.high[j], x, np.minimum(x, high))

    def breaks(self, j: int) -> Floats:
        """Bent values where column j is not smooth: knots, and where it goes on."""
        turns = np.array(self.turns(j))
        z = self.bend(j, turns[np.isfinite(turns)])[0]
        if not len(self.splines):
            return z
        return np.concatenate([self.splines.values[:, j], self.splines.place(j, z)])

    def places(self, j: int) -> tuple[float, float]:
        """Where values at the ends of column j are held; infinite for no such ends.

        A density has no value at an end, where its shape is infinite, and rows may have
        it all the same: they are as likely as those nearby.
        """
        near = min(_AT_END, (self.high[j] - self.low[j]) / 4)
        below, above = self.turn[:, j] == 0
        return (
            self.low[j] + near if below else -np.inf,
            self.high[j] - near if above else np.inf,
        )

    def invert(self, z: Floats) -> Floats:
        """Rows (n, d) of bent ones."""
        rows = np.array(z, dtype=np.float64)
        for j in range(rows.shape[1]):
            rows[:, j] = self.invert_column(j, rows[:, j])
        return rows

    def invert_column(self, j: int, z: Floats) -> Floats:
        """Column j of bent values (n,)."""
        if len(self.splines):
            z = self.splines.invert(j, z)
        turns = np.array(self.turns(j))
        goes_on = np.isfinite(turns)
        at_turns, slopes = np.array([-np.inf, np.inf]), np.zeros(2)
        if goes_on.any():
            at_turns[goes_on], slopes[goes_on] = self.bend(j, turns[goes_on])
        inside = np.clip(z, *at_turns)
        x = np.clip(self._uncurved(j, inside), self.low[j], self.high[j])
        away = np.minimum(np.abs(z - inside), _MOST_EXPONENT)
        slope = np.where(z < inside, slopes[0], slopes[1])
        return np.asarray(x + np.sign(z - inside) * np.expm1(away) / np.exp(slope))

    def _uncurved(self, j: int, z: Floats) -> Floats:
        """Column j of bent values (n,) between the turns, without a spline."""
        kind, origin, unit = self.kind[j], self.origin[j], self.unit[j]
        u = z * self.width[j] + self.centre[j]
        v = unsoftened(u, self.soft[j], *self.bent_ends(j))
        if kind == LOG:
            return np.asarray(origin + np.exp(v))
        return np.asarray(origin + unit * np.sinh(v)) if kind == ASINH else v

    def bent_ends(self, j: int) -> tuple[float, float]:
        """Where column j ends once it is a logarithm or asinh."""
        shape = self.kind[j], self.origin[j], self.unit[j]
        return bent_ends(*shape, self.low[j], self.high[j])

    def part(self, kept: list[int]) -> "ColumnShapes":
        """Shapes of some of the columns."""
        bends, ends, knots = self.arrays()
        return self.of_arrays(
            self.kind[kept],
            bends[:, kept],
            ends[:, kept],
            self.turn[:, kept],
            knots[:, :, kept],
        )

    def mended(self, splines: Splines) -> "ColumnShapes":
        """These with splines in place of those that they have."""
        return replace(self, splines=splines)

    def outside(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Where values (n, d) are beyond ends that hold for good, (n, d)."""
        below, above = self.turn == 0
        return np.asarray((rows < self.low) & below | (rows > self.high) & above)


__all__ = ["ColumnShapes"]
