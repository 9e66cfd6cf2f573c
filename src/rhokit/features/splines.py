"""Increasing functions through a few points, with inverses in closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Splines:
    r"""One increasing function per column: a quotient of quadratics between knots.

    Between two knots, with ξ from 0 to 1, s the slope of the chord, h its height and a,
    b the slopes at its ends,

    .. math:: y = y_k + h\,\frac{s ξ^2 + a ξ (1 - ξ)}{s + (a + b - 2 s) ξ (1 - ξ)},

    which grows for all positive slopes, has a continuous derivative, and is undone by
    the root of a quadratic equation. Beyond the knots it is straight.

    Parameters
    ----------
    knots, values, slopes : arrays of shape (K, d)
        Without knots, columns stay as they are.
    """

    knots: Floats
    values: Floats
    slopes: Floats

    @classmethod
    def through(cls, knots: Floats, values: Floats) -> "Splines":
        """Through points (K, d) that ascend in every column; K is two or more."""
        chords = np.diff(values, axis=0) / np.diff(knots, axis=0)
        inner = np.sqrt(chords[:-1] * chords[1:])
        slopes = np.concatenate([chords[:1], inner, chords[-1:]])
        return cls(knots, values, slopes)

    @classmethod
    def same(cls, n_knots: int, d: int) -> "Splines":
        """Columns as they are, with knots."""
        knots = np.repeat(np.arange(float(n_knots))[:, None], d, axis=1)
        return cls.through(knots, knots)

    def __len__(self) -> int:
        return len(self.knots)

    def part(self, kept: list[int]) -> "Splines":
        """Of some of the columns."""
        return Splines(self.knots[:, kept], self.values[:, kept], self.slopes[:, kept])

    def apply(self, column: int, x: Floats) -> tuple[Floats, Floats]:
        """Values (n,) of a column, and logarithms of the slopes there."""
        y, (at, both, below, chord, a, b) = self._place(column, x)
        rise = b * at**2 + 2 * chord * both + a * (1 - at) ** 2
        return y, np.log(chord**2 * rise) - 2 * np.log(below)

    def place(self, column: int, x: Floats) -> Floats:
        """Values (n,) of a column alone."""
        return self._place(column, x)[0]

    def _place(self, column: int, x: Floats) -> tuple[Floats, tuple[Floats, ...]]:
        """Values (n,) of a column, and what slopes there are made of."""
        knots, (x0, y0, width, chord, a, b) = self._pieces(column, x, self.knots)
        at = np.clip((x - x0) / width, 0, 1)
        both = at * (1 - at)
        below = chord + (a + b - 2 * chord) * both
        y = y0 + width * chord * (chord * at**2 + a * both) / below
        beyond = x - np.clip(x, knots[0], knots[-1])
        if beyond.any():
            y = y + beyond * np.where(beyond < 0, a, b)
        return y, (at, both, below, chord, a, b)

    def invert(self, column: int, y: Floats) -> Floats:
        """Where the function has these values (n,)."""
        values, (x0, y0, width, chord, a, b) = self._pieces(column, y, self.values)
        rise = (np.clip(y, values[0], values[-1]) - y0) / width
        bend = a + b - 2 * chord
        first = chord * (chord - a) + rise * bend
        second = chord * a - rise * bend
        root = np.sqrt(np.maximum(second**2 + 4 * first * chord * rise, 0))
        at = np.clip(2 * chord * rise / (second + root), 0, 1)
        beyond = y - np.clip(y, values[0], values[-1])
        return x0 + width * at + beyond / np.where(beyond < 0, a, b)

    def _pieces(
        self, column: int, x: Floats, along: Floats
    ) -> tuple[Floats, tuple[Floats, ...]]:
        """Which piece values are in, and what it is like."""
        own = along[:, column]
        k = np.clip(np.searchsorted(own, x, side="right") - 1, 0, len(own) - 2)
        return own, tuple(each[k] for each in self.pieces(column))

    def pieces(self, column: int) -> tuple[Floats, ...]:
        """Where pieces begin, their widths, slopes of chords and at both ends."""
        knots, values = self.knots[:, column], self.values[:, column]
        width = np.diff(knots)
        slopes = self.slopes[:, column]
        chord = np.diff(values) / width
        return knots[:-1], values[:-1], width, chord, slopes[:-1], slopes[1:]


__all__ = ["Splines"]
