"""Invertible shapes of columns: straight, logarithms, inverse hyperbolic sines."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LINEAR, LOG, ASINH = 0, 1, 2
# Where an inverse hyperbolic sine may be centred, as quantiles of the column, and how
# wide its straight middle may be, in standard deviations.
_CENTRES = (0.0, 0.1, 0.5, 0.9, 1.0)
_WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# Nats per row that a shape must gain over a straight line to be worth it, and over a
# logarithm, which keeps what is above zero there.
_LEAST_GAIN, _LEAST_GAIN_OVER_LOG = 0.02, 0.01
# Columns of fewer distinct values are steps, which no shape makes smooth.
_LEAST_DISTINCT = 20
_TINY = np.finfo(float).tiny
# Columns are no farther away than this, in their own spreads: squares stay finite.
_FARTHEST = 1e60


@dataclass(frozen=True, eq=False)
class ColumnShapes:
    r"""One increasing function per column, then centred and divided by its spread.

    .. math:: z = \frac{g(x) - c}{w}, \qquad
              g(x) = x, \quad \log(x - b), \quad \mathrm{asinh}\frac{x - b}{s}

    A logarithm has no density below b. Moments of what is normally distributed in z
    are known in closed form for all three.

    Parameters
    ----------
    kind : array of shape (d,), of 0 (a line), 1 (a logarithm), 2 (asinh)
    origin : array of shape (d,)
        b; zero for a line.
    unit : array of shape (d,)
        s; one for a line and for a logarithm.
    centre, width : arrays of shape (d,)
        c and w.
    """

    kind: NDArray[np.int64]
    origin: Floats
    unit: Floats
    centre: Floats
    width: Floats

    @classmethod
    def lines(cls, d: int) -> "ColumnShapes":
        """Columns as they are."""
        return cls(np.zeros(d, np.int64), *(np.full(d, x) for x in (0.0, 1, 0, 1)))

    @classmethod
    def chosen(
        cls, rows: Floats, mass: Floats, zeros: Floats, straight: bool = False
    ) -> "ColumnShapes":
        """Shapes under which each column (n,) is likeliest as a normal distribution.

        Parameters
        ----------
        rows : array of shape (n, d)
        mass : array of shape (n,)
        zeros : array of shape (d,)
            Where the user's zero is: columns above it may have logarithms.
        straight : bool
            Whether only lines are wanted.
        """
        parts = [
            _chosen(column, mass, zero, straight)
            for column, zero in zip(rows.T, zeros, strict=True)
        ]
        kind, *rest = zip(*parts, strict=True)
        return cls(np.array(kind, np.int64), *(np.array(each) for each in rest))

    @property
    def are_lines(self) -> bool:
        """Whether no column is bent."""
        return not self.kind.any()

    def apply(self, rows: NDArray[Any]) -> tuple[Floats, Floats]:
        """Bent rows (n, d), and logarithms of the volume that bending makes, (n,).

        Rows where a logarithm has no density get ``-inf``, and some place.
        """
        z = np.array(rows, dtype=np.float64)
        log_volume = np.full(len(z), -np.log(self.width).sum())
        for j in np.flatnonzero(self.kind):
            z[:, j], slope = _bend(z[:, j], self.kind[j], self.origin[j], self.unit[j])
            log_volume += slope
        z = np.clip((z - self.centre) / self.width, -_FARTHEST, _FARTHEST)
        return z, log_volume

    def invert(self, z: Floats) -> Floats:
        """Rows (n, d) of bent ones."""
        rows = z * self.width + self.centre
        for j in np.flatnonzero(self.kind == LOG):
            rows[:, j] = self.origin[j] + np.exp(rows[:, j])
        for j in np.flatnonzero(self.kind == ASINH):
            rows[:, j] = self.origin[j] + self.unit[j] * np.sinh(rows[:, j])
        return rows

    def part(self, kept: list[int]) -> "ColumnShapes":
        """Shapes of some of the columns."""
        rest = self.origin, self.unit, self.centre, self.width
        return ColumnShapes(self.kind[kept], *(each[kept] for each in rest))

    def outside(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Where values (n, d) have no density whatever the model is, shape (n, d)."""
        return np.asarray((self.kind == LOG) & (rows <= self.origin))

    def exponentials(self) -> list[tuple[list[float], list[float]]]:
        """Each bent column back as ``offset + Σ_k a_k exp(t_k z)``; empty for a line.

        For a logarithm one term, for an inverse hyperbolic sine two: of these, normal
        distributions have moments in closed form.
        """
        terms: list[tuple[list[float], list[float]]] = []
        rest = zip(self.kind, self.unit, self.centre, self.width, strict=True)
        for kind, unit, centre, width in rest:
            half = unit / 2
            if kind == LOG:
                terms.append(([np.exp(centre)], [width]))
            elif kind == ASINH:
                factors = [half * np.exp(centre), -half * np.exp(-centre)]
                terms.append((factors, [width, -width]))
            else:
                terms.append(([], []))
        return terms


def _bend(x: Floats, kind: int, origin: float, unit: float) -> tuple[Floats, Floats]:
    """A bent column, and the logarithm of its slope."""
    if kind == LOG:
        above = x - origin
        inside = above > 0
        g = np.log(np.where(inside, above, 1.0))
        return g, np.where(inside, -g, -np.inf)
    u = (x - origin) / unit
    # log1p(u²), where a square would be too large to be a number.
    return np.arcsinh(u), -np.logaddexp(0, 2 * np.log(np.abs(u) + 1e-300)) / 2 - np.log(
        unit
    )


def _chosen(
    x: Floats, mass: Floats, zero: float, straight: bool
) -> tuple[int, float, float, float, float]:
    """Kind, origin, unit, centre and width of a column's shape."""
    best, score = (LINEAR, 0.0, 1.0), -np.log(max(_variance(x, mass), _TINY)) / 2
    least_gain, distinct = _LEAST_GAIN, np.unique(x)
    spread = np.sqrt(_variance(x, mass))
    if not straight and len(distinct) >= _LEAST_DISTINCT and spread > 0:
        # Zero may be one of the values to come where it is but a step below the least.
        above = distinct[0] - zero
        if np.isfinite(zero) and above > 2 * np.diff(distinct).min():
            own = _likelihood(x, mass, LOG, zero, 1.0)
            if own > score + least_gain:
                best, score, least_gain = (LOG, zero, 1.0), own, _LEAST_GAIN_OVER_LOG
        places = np.quantile(distinct, _CENTRES)
        options = [(ASINH, b, s * spread) for b in places for s in _WIDTHS]
        scores = [_likelihood(x, mass, *option) for option in options]
        if max(scores) > score + least_gain:
            best = options[int(np.argmax(scores))]
    kind, origin, unit = best
    bent = x if kind == LINEAR else _bend(x, kind, origin, unit)[0]
    width = np.sqrt(_variance(bent, mass))
    centre = np.average(bent, weights=mass)
    return kind, origin, unit, float(centre), float(width if width > 0 else 1.0)


def _likelihood(
    x: Floats, mass: Floats, kind: int, origin: float, unit: float
) -> float:
    """Log-likelihood of a bent column as a normal distribution, but for a constant."""
    bent, slope = _bend(x, kind, origin, unit)
    variance = _variance(bent, mass)
    if not variance > 0:
        return -np.inf
    return float(np.average(slope, weights=mass) - np.log(variance) / 2)


def _variance(x: Floats, mass: Floats) -> float:
    return float(np.average((x - np.average(x, weights=mass)) ** 2, weights=mass))
