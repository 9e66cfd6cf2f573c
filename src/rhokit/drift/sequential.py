r"""Capital that rows are no longer like those before them, row by row.

A row's rank among all rows before it says nothing about theirs, as long as their order
is as good as any other: ranks are then independent and uniform. So one can bet against
that. A bet is a density :math:`h` on [0, 1]; the Shiryaev-Roberts sum

.. math:: R_n = (R_{n-1} + 1)\, h(u_n) = \sum_{j \le n} \prod_{i=j}^{n} h(u_i)

is the capital of those who began to bet at any row before. Its mean is n while nothing
changes, so that by Doob's inequality :math:`P(\max_{k \le n} R_k \ge c) \le n / c`,
whatever the distribution of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Exponential tilts towards either end, and masses put on an end of a certain width.
_TILTS = (-5.0, -2.0, -0.7, 0.7, 2.0, 5.0)
_ENDS = ((0.001, 0.01), (0.02, 0.1))
N_BETS = len(_TILTS) + 2 * len(_ENDS)
# Rows whose ranks are found together; the largest capital that is told from others.
_CHUNK, _LARGEST = 32, 1e200


@dataclass(frozen=True, eq=False)
class SequentialRanks:
    r"""Ranks of values among all before them, in room that does not grow.

    The order of m first values cuts the line into m + 1 gaps. If g values have been
    counted in a gap, its own one included, of t in all, the next value falls into it
    with probability :math:`g/t`, exactly, and where in the gap is drawn at random. So
    are ties, so that whole numbers are no exception.

    Parameters
    ----------
    edges : array of shape (S, m)
        The first values of each score, in order.
    tags : array of shape (S, m)
        Random numbers by which equal ones are ordered.
    counts : array of shape (S, m + 1)
    """

    edges: Floats
    tags: Floats
    counts: Floats

    @classmethod
    def of(cls, first: Floats, tags: Floats) -> SequentialRanks:
        """Ranks that begin with first values and their tags, both (m, S)."""
        order = np.lexsort((tags.T, first.T))
        edges, tags = (np.take_along_axis(x.T, order, axis=1) for x in (first, tags))
        return cls(edges, tags, np.ones((len(edges), edges.shape[1] + 1)))

    def ranked(
        self, values: Floats, tags: Floats, within: Floats
    ) -> tuple[Floats, SequentialRanks]:
        """Ranks in [0, 1] of further values, all (n, S), and what has then been seen.

        Parameters
        ----------
        values : array of shape (n, S)
        tags, within : array of shape (n, S)
            Random numbers that order ties, and values within a gap.
        """
        gaps = np.stack(
            [self._gaps(s, values[:, s], tags[:, s]) for s in range(values.shape[1])],
            axis=1,
        )
        found, counts = np.empty(values.shape), self.counts.copy()
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            found[part] = _ranks_of(gaps[part], within[part], counts)
            places = gaps[part] + np.arange(counts.shape[0]) * counts.shape[1]
            counts += np.bincount(places.ravel(), minlength=counts.size).reshape(
                counts.shape
            )
        return found, replace(self, counts=counts)

    def _gaps(self, s: int, values: Floats, tags: Floats) -> NDArray[np.intp]:
        """How many edges lie below each value, ties by their tags."""
        edges = self.edges[s]
        low = np.searchsorted(edges, values)
        tied = np.flatnonzero(edges[np.minimum(low, len(edges) - 1)] == values)
        if len(tied):
            equal = edges == values[tied, None]
            low[tied] += (equal & (self.tags[s] < tags[tied, None])).sum(axis=1)
        return np.asarray(low, dtype=np.intp)


def _ranks_of(gaps: NDArray[np.intp], within: Floats, counts: Floats) -> Floats:
    """Ranks of a few rows among those counted and each other, shape (n, S)."""
    n, n_scores = gaps.shape
    scores = np.arange(n_scores)
    below = (np.cumsum(counts, axis=1) - counts)[scores, gaps]
    inside = counts[scores, gaps]
    earlier = np.tri(n, k=-1, dtype=bool)[:, :, None]
    below += ((gaps[None] < gaps[:, None]) & earlier).sum(axis=1)
    inside += ((gaps[None] == gaps[:, None]) & earlier).sum(axis=1)
    total = counts[0].sum() + np.arange(n)
    return np.asarray((below + within * inside) / total[:, None])


def ratios(u: Floats) -> Floats:
    """What each bet pays for ranks (n, S), shape (n, number of bets, S)."""
    found = np.empty((len(u), N_BETS, u.shape[1]))
    for bet, theta in enumerate(_TILTS):
        found[:, bet] = _tilt(theta) * np.exp(theta * u)
    for bet, (width, mass) in enumerate(_ENDS):
        place = len(_TILTS) + 2 * bet
        inside, outside = mass / width, (1 - mass) / (1 - width)
        found[:, place] = np.where(u < width, inside, outside)
        found[:, place + 1] = np.where(u >= 1 - width, inside, outside)
    return found


def _tilt(theta: float) -> float:
    """What exp(θu) is to be multiplied with to have mass one on [0, 1]."""
    return float(theta / np.expm1(theta))


@dataclass(frozen=True, eq=False)
class Capital:
    """Shiryaev-Roberts sums of all bets on all scores.

    Parameters
    ----------
    sums : array of shape (number of bets, S)
    starts : array of shape (number of bets, S)
        The same sums of rows' numbers: divided by ``sums``, where a change began.
    peaks : array of shape (S,)
        The largest mean over bets so far.
    """

    sums: Floats
    starts: Floats
    peaks: Floats

    @classmethod
    def none(cls, n_scores: int) -> Capital:
        """What there is before the first row."""
        empty = np.zeros((N_BETS, n_scores))
        return cls(empty, empty, np.zeros(n_scores))

    def after(
        self, paid: Floats, first: int, bars: Floats | None = None
    ) -> tuple[Capital, int | None]:
        """The evidence after further rows, and the row at which a bar was passed.

        Parameters
        ----------
        paid : array of shape (n, number of bets, S)
        first : int
            Number of the first of the rows.
        bars : array of shape (S,), optional
            Ends at the first row at which the mean over bets of a score reaches these.
        """
        found = self
        for start in range(0, len(paid), _CHUNK):
            part = paid[start : start + _CHUNK]
            found, place = found.after_few(part, first + start, bars)
            if place is not None:
                return found, start + place
        return found, None

    def after_few(
        self, paid: Floats, first: int, bars: Floats | None
    ) -> tuple[Capital, int | None]:
        sums = np.empty((len(paid) + 1, *self.sums.shape))
        starts = np.empty_like(sums)
        sums[0], starts[0] = self.sums, self.starts
        for row, each in enumerate(paid):
            np.multiply(sums[row] + 1, each, out=sums[row + 1])
            np.multiply(starts[row] + (first + row), each, out=starts[row + 1])
        means = sums[1:].mean(axis=1)  # (n, S)
        place = None
        if bars is not None and (means >= bars).any():
            place = int((means >= bars).any(axis=1).argmax())
        last = len(paid) if place is None else place + 1
        peaks = np.maximum(self.peaks, means[:last].max(axis=0))
        sums, starts = sums[last], starts[last]
        # Capitals beyond telling; a change begins where it did all the same.
        most = np.maximum(sums / _LARGEST, 1.0)
        return Capital(sums / most, starts / most, peaks), place

    def began(self, score: int) -> float:
        """About at which row the change of a score began."""
        total = self.sums[:, score].sum()
        return float(self.starts[:, score].sum() / total) if total > 0 else 0.0
