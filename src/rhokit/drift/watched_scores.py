"""Scores of rows that the first rows fix, for whatever comes after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhokit.drift.tables import Column, Table, plain

Floats = NDArray[np.float64]
# Categories that are looked at one by one; of them, those in pairs of columns.
_MOST_LABELS, _MOST_PAIR_LABELS = 12, 3
# Scores of pairs, those whose columns go together most first.
_MOST_PAIRS = 400
# Quartiles of a normal distribution are so many standard deviations apart.
_NORMAL_QUARTILES = 1.349


@dataclass(frozen=True)
class ColumnScale:
    """How the values of a column become scores.

    Parameters
    ----------
    name : str
    labels : tuple of str, optional
        The most frequent categories; None for numbers.
    centers, scales : tuple of float
        Of the numbers, or of the indicator of each of these categories.
    """

    name: str
    labels: tuple[str, ...] | None
    centers: tuple[float, ...]
    scales: tuple[float, ...]

    @classmethod
    def of(cls, column: Column) -> ColumnScale:
        """The scale of first values."""
        known = column.values[~np.isnan(column.values)]
        if column.labels is None:
            return cls(column.name, None, *_robust(known))
        counts = np.bincount(known.astype(np.intp), minlength=len(column.labels))
        order = np.argsort(-counts, kind="stable")[:_MOST_LABELS]
        labels = tuple(plain(column.labels[k]) for k in order.tolist())
        shares = (counts[order] + 0.5) / (counts.sum() + 1)
        spreads = np.sqrt(shares * (1 - shares))
        return cls(column.name, labels, tuple(shares.tolist()), tuple(spreads.tolist()))

    def parts(self, column: Column) -> Floats:
        """Centred scores of about unit spread, zero for what is missing, (n, s)."""
        if self.labels is None:
            z = (column.values - self.centers[0]) / self.scales[0]
            return np.nan_to_num(np.arcsinh(z))[:, None]
        found = self._indicators(column)
        found = (found - np.array(self.centers)) / np.array(self.scales)
        return np.nan_to_num(found)

    def own(self, column: Column) -> Floats:
        """Scores that see a change of this column alone, shape (n, s)."""
        gaps = np.isnan(column.values)[:, None].astype(np.float64)
        if self.labels is None:
            z = self.parts(column)
            return np.hstack([z, np.abs(z), gaps])
        known = np.nan_to_num(self._indicators(column))
        others = 1 - known.sum(axis=1, keepdims=True) - gaps
        return np.hstack([known, others, gaps])

    @property
    def n_own(self) -> int:
        """How many scores see this column alone."""
        return 3 if self.labels is None else len(self.labels) + 2

    @property
    def n_parts(self) -> int:
        """How many of its parts are multiplied with those of other columns."""
        return 1 if self.labels is None else min(len(self.labels), _MOST_PAIR_LABELS)

    def _indicators(self, column: Column) -> Floats:
        """Which of the categories each row has; NaN where it is missing."""
        places = {label: k for k, label in enumerate(self.labels or ())}
        texts = [plain(label) for label in column.labels or ()]
        lookup = np.zeros((len(texts) + 1, len(places)))
        for row, text in enumerate(texts):
            if text in places:
                lookup[row, places[text]] = 1.0
        lookup[-1] = np.nan
        codes = np.where(np.isnan(column.values), len(texts), column.values)
        return np.asarray(lookup[codes.astype(np.intp)])


def _robust(known: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Median and spread, of whatever kind is not zero."""
    if not len(known):
        return (0.0,), (1.0,)
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75]).tolist()
    spread = (high - low) / _NORMAL_QUARTILES
    if not spread > 0:
        spread = float(known.std())
    return (middle,), (spread if spread > 0 else max(abs(middle), 1.0),)


@dataclass(frozen=True)
class WatchedScores:
    """Scores of columns and of pairs of them, as first rows have fixed them.

    Parameters
    ----------
    columns : tuple of ColumnScale
    pairs : tuple of (int, int, int, int)
        Places of two columns, and of the parts that are multiplied.
    """

    columns: tuple[ColumnScale, ...]
    pairs: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def of(cls, first: Table) -> WatchedScores:
        """Scores that first rows fix."""
        scales = tuple(ColumnScale.of(column) for column in first.columns)
        parts = [
            s.parts(c)[:, : s.n_parts]
            for s, c in zip(scales, first.columns, strict=True)
        ]
        return cls(scales, _pairs(parts))

    @property
    def about(self) -> list[tuple[int, ...]]:
        """Places of the column, or of the two columns, that each score is about."""
        own = [(place,) for place, s in enumerate(self.columns) for _ in range(s.n_own)]
        return [*own, *((i, j) for i, j, _, _ in self.pairs)]

    @property
    def weights(self) -> Floats:
        """Part of the false alarms that each score may raise; the sum is one."""
        n_own = sum(s.n_own for s in self.columns)
        if not self.pairs:
            return np.full(n_own, 1 / n_own)
        halves = [n_own, len(self.pairs)]
        return np.repeat([1 / (2 * n) for n in halves], halves)

    def of_rows(self, table: Table) -> Floats:
        """Scores of further rows of the same columns, shape (n, S)."""
        both = list(zip(self.columns, table.columns, strict=True))
        own = [scale.own(column) for scale, column in both]
        if not self.pairs:
            return np.hstack(own)
        parts = [scale.parts(column) for scale, column in both]
        products = [parts[i][:, a] * parts[j][:, b] for i, j, a, b in self.pairs]
        return np.hstack([*own, np.stack(products, axis=1)])


def _pairs(parts: list[Floats]) -> tuple[tuple[int, int, int, int], ...]:
    """Pairs of parts of different columns; of too many, those that go together most."""
    owners = [(i, a) for i, part in enumerate(parts) for a in range(part.shape[1])]
    every = np.hstack(parts)
    spread = every.std(axis=0)
    every = (every - every.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    together = np.abs(every.T @ every)
    one, other = np.triu_indices(len(owners), 1)
    apart = np.array([owners[k][0] for k in range(len(owners))])
    allowed = apart[one] != apart[other]
    one, other = one[allowed], other[allowed]
    if len(one) > _MOST_PAIRS:
        order = np.argsort(-together[one, other], kind="stable")[:_MOST_PAIRS]
        chosen = np.sort(order)
        one, other = one[chosen], other[chosen]
    return tuple(
        (owners[i][0], owners[j][0], owners[i][1], owners[j][1])
        for i, j in zip(one.tolist(), other.tolist(), strict=True)
    )
