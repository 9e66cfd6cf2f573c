"""Invertible shapes of columns: straight or bent, with ends, mended by a spline."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.ends import ColumnEnds
from rhokit.features.splines import Splines

Floats = NDArray[np.float64]

LINEAR, LOG, ASINH = 0, 1, 2
# Where an inverse hyperbolic sine may be centred, as quantiles of the column, and how
# wide its straight middle may be, in standard deviations.
_CENTRES = (0.0, 0.1, 0.5, 0.9, 1.0)
_WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# How wide the bend at an end may be, in standard deviations of the bent column.
_SOFTS = (0.03, 0.1, 0.3, 1.0)
# Inverse hyperbolic sines that are tried with every such bend: these about an end, and
# so many of the likeliest others, which takes less time than all.
_END_WIDTHS, _LIKELIEST = (0.1, 0.3, 1.0, 3.0), 3
# Nats per row that a shape must gain over a straight line to be worth it, and over a
# logarithm, which keeps what is above zero there.
_LEAST_GAIN, _LEAST_GAIN_OVER_LOG = 0.02, 0.01
# Columns of fewer distinct values are steps, which no shape makes smooth.
_LEAST_DISTINCT = 20
_TINY = np.finfo(float).tiny
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
        parts = [
            _chosen(column, mass, each, straight)
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
        u, slope = _bend(inside, *shape, self.low[j], self.high[j])
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

    def apply(self, rows: NDArray[Any]) -> tuple[Floats, Floats]:
        """Bent rows (n, d), and logarithms of the volume that bending makes, (n,).

        Rows beyond an end that holds for good get ``-inf``, and some place.
        """
        z = np.array(rows, dtype=np.float64)
        log_volume = np.zeros(len(z))
        outside = self.outside(rows)
        for j in range(z.shape[1]):
            low, high = self.places(j)
            x = np.where(z[:, j] > self.low[j], z[:, j], np.maximum(z[:, j], low))
            x = np.where(x < self.high[j], x, np.minimum(x, high))
            z[:, j], slope = self.bend(j, x)
            log_volume += np.where(outside[:, j], -np.inf, slope)
            if len(self.splines):
                z[:, j], slope = self.splines.apply(j, z[:, j])
                log_volume += slope
        return z, log_volume

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
        v = _unsoftened(u, self.soft[j], *self.bent_ends(j))
        if kind == LOG:
            return np.asarray(origin + np.exp(v))
        return np.asarray(origin + unit * np.sinh(v)) if kind == ASINH else v

    def bent_ends(self, j: int) -> tuple[float, float]:
        """Where column j ends once it is a logarithm or asinh."""
        shape = self.kind[j], self.origin[j], self.unit[j]
        return _bent_ends(*shape, self.low[j], self.high[j])

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


def _bend(
    x: Floats,
    kind: int,
    origin: float,
    unit: float,
    soft: float,
    low: float,
    high: float,
) -> tuple[Floats, Floats]:
    """A bent column without centre and width, and the logarithm of its slope."""
    if kind == LOG:
        v = np.log(x - origin)
        slope = -v
    elif kind == ASINH:
        away = (x - origin) / unit
        v = np.arcsinh(away)
        # log1p(u²), where a square would be too large to be a number.
        slope = -np.logaddexp(0, 2 * np.log(np.abs(away) + 1e-300)) / 2 - np.log(unit)
    else:
        v, slope = x, np.zeros(len(x))
    low, high = _bent_ends(kind, origin, unit, low, high)
    if np.isinf(low) and np.isinf(high):
        return v, slope
    u, more = v, np.zeros(len(v))
    with np.errstate(over="ignore", divide="ignore"):
        if np.isfinite(low):
            away = np.maximum((v - low) / soft, _TINY)
            u, more = u + soft * np.log(-np.expm1(-away)), more + 1 / np.expm1(away)
        if np.isfinite(high):
            away = np.maximum((high - v) / soft, _TINY)
            u, more = u - soft * np.log(-np.expm1(-away)), more + 1 / np.expm1(away)
    return u, slope + np.log1p(more)


def _unsoftened(u: Floats, soft: float, low: float, high: float) -> Floats:
    """What the bends at two ends made u of."""
    if np.isfinite(low):
        v = low + soft * np.logaddexp(0, (u - low) / soft)
        if np.isfinite(high):
            v = v - soft * np.logaddexp(0, (u - high) / soft)
        return np.asarray(v)
    if np.isfinite(high):
        return np.asarray(high - soft * np.logaddexp(0, (high - u) / soft))
    return u


def _bent_ends(
    kind: int, origin: float, unit: float, low: float, high: float
) -> tuple[float, float]:
    """Ends of a column that is bent."""
    if kind == ASINH:
        return tuple(np.arcsinh((np.array([low, high]) - origin) / unit).tolist())
    if kind == LOG:
        return -np.inf, float(np.log(high - origin))
    return low, high


def _chosen(
    x: Floats, mass: Floats, ends: ColumnEnds, straight: bool
) -> tuple[int, float, float, float, float, float, ColumnEnds]:
    """Kind, origin, unit, soft, centre and width of a column's shape, and its ends."""
    low, high = ends.low, ends.high
    spread = np.sqrt(_variance(x, mass))
    best, score = _softened(x, mass, (LINEAR, 0.0, 1.0), low, high)
    distinct = np.unique(x)
    if not straight and len(distinct) >= _LEAST_DISTINCT and spread > 0:
        least_gain = _LEAST_GAIN
        with_zero = ends.from_zero()
        if np.isfinite(with_zero.low):
            shape = LOG, with_zero.low, 1.0
            log, own = _softened(x, mass, shape, with_zero.low, high)
            if own > score + least_gain:
                best, score, least_gain = log, own, _LEAST_GAIN_OVER_LOG
        places = np.quantile(distinct, _CENTRES)
        options = [(ASINH, b, s * spread) for b in places for s in _WIDTHS]
        free = [_likelihood(x, mass, *each, 1.0, -np.inf, np.inf) for each in options]
        tried = [options[place] for place in np.argsort(free)[-_LIKELIEST:]]
        finite = [end for end in (low, high) if np.isfinite(end)]
        tried += [(ASINH, end, s * spread) for end in finite for s in _END_WIDTHS]
        bends = [_softened(x, mass, each, low, high) for each in tried]
        asinh, own = max(bends, key=lambda bend: bend[1])
        if own > score + least_gain:
            best = asinh
    if best[0] == LOG:
        ends = ends.from_zero()
    bent, _ = _bend(x, *best, ends.low, high)
    width = np.sqrt(_variance(bent, mass))
    centre = np.average(bent, weights=mass)
    return *best, float(centre), float(width if width > 0 else 1.0), ends


def _softened(
    x: Floats,
    mass: Floats,
    shape: tuple[int, float, float],
    low: float,
    high: float,
) -> tuple[tuple[int, float, float, float], float]:
    """The shape with the likeliest bend at its ends, and its likelihood."""
    ends = _bent_ends(*shape, low, high)
    if np.isinf(ends).all():
        return (*shape, 1.0), _likelihood(x, mass, *shape, 1.0, low, high)
    spread = np.sqrt(_variance(_bend(x, *shape, 1.0, -np.inf, np.inf)[0], mass))
    options = [(*shape, float(soft * spread)) for soft in _SOFTS]
    scores = [_likelihood(x, mass, *each, low, high) for each in options]
    best = int(np.argmax(scores))
    return options[best], scores[best]


def _likelihood(
    x: Floats,
    mass: Floats,
    kind: int,
    origin: float,
    unit: float,
    soft: float,
    low: float,
    high: float,
) -> float:
    """Log-likelihood of a bent column as a normal distribution, but for a constant."""
    bent, slope = _bend(x, kind, origin, unit, soft, low, high)
    variance = _variance(bent, mass)
    if not variance > 0:
        return -np.inf if kind else -np.log(_TINY) / 2
    return float(np.average(slope, weights=mass) - np.log(variance) / 2)


def _variance(x: Floats, mass: Floats) -> float:
    return float(np.average((x - np.average(x, weights=mass)) ** 2, weights=mass))
