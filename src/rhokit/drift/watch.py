"""Rows that are watched as they come: whether they are still like those before."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.drift.sequential import Capital, SequentialRanks, ratios
from rhokit.drift.tables import Table, stacked
from rhokit.drift.watched_scores import WatchedScores

Floats = NDArray[np.float64]
# Rows that fix the scores, at least in blocks; and rows, or blocks, that ranks begin
# with.
_FIRST_ROWS, _FIRST_BLOCKS = 100, 10
_REFERENCE_ROWS, _REFERENCE_BLOCKS = 100, 40
# Rows whose scores are held at once.
_MOST_ROWS = 1024
# Columns and pairs whose evidence a change keeps.
_SHOWN = 50
_WORDS = 4  # random numbers that one step of the generator gives


@dataclass(frozen=True)
class ChangePoint:
    """A place from which on rows are no longer like those before.

    Parameters
    ----------
    began, noticed : int
        About the number of the first changed row, and of the row that gave it away,
        counted from zero.
    columns : tuple of str
        Columns that have changed by themselves, the clearest one first.
    pairs : tuple of two str
        Columns that go together in another way, of those that did not change.
    evidence : dict
        From columns, and pairs as ``"a and b"``, to the logarithm, to base ten, of what
        bets on it have made of 1; beyond minus that of the rate of false alarms, it is
        named.
    began_time, noticed_time : float or datetime64, optional
        When these rows came.
    """

    began: int
    noticed: int
    columns: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    evidence: dict[str, float]
    began_time: Any = None
    noticed_time: Any = None

    @property
    def names(self) -> list[str]:
        """Names of what has changed: columns, and pairs as ``"a and b"``."""
        return [*self.columns, *(" and ".join(pair) for pair in self.pairs)]

    @property
    def text(self) -> str:
        """The change in words."""
        named = ", ".join(f"`{name}`" for name in self.names)
        when = f"about row {self.began:,} (noticed at row {self.noticed:,})"
        if self.began_time is not None:
            when += f", {self.began_time} (noticed {self.noticed_time})"
        return f"{when}: {named}"


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows from one change to the next, and what is bet on there being none.

    Parameters
    ----------
    start : int
        Number of its first row.
    block_rows : int
        Rows that are averaged, because they may depend on each other.
    seed : int
    waiting : Table, optional
        First rows, before they fix the scores.
    scores : WatchedScores, optional
    rest : array of shape (r, S), optional
        Scores of rows of a block that is not full, or blocks that ranks begin with.
    reference : array of shape (b, S), optional
        Blocks that ranks will begin with.
    ranks : SequentialRanks, optional
    evidence : Capital, optional
    n_blocks : int
        Blocks that have been ranked, or that ranks began with.
    """

    start: int
    block_rows: int
    seed: int
    waiting: Table | None = None
    scores: WatchedScores | None = None
    rest: Floats | None = None
    reference: Floats | None = None
    ranks: SequentialRanks | None = None
    evidence: Capital | None = None
    n_blocks: int = 0

    @property
    def first_rows(self) -> int:
        """Rows that fix the scores."""
        return max(_FIRST_ROWS, _FIRST_BLOCKS * self.block_rows)

    @property
    def n_reference(self) -> int:
        """Blocks that ranks begin with."""
        return _REFERENCE_ROWS if self.block_rows == 1 else _REFERENCE_BLOCKS

    @property
    def warm_up(self) -> int:
        """Rows in which no change can be found."""
        return self.first_rows + self.n_reference * self.block_rows

    def after(
        self, table: Table, rate: float | None = None
    ) -> tuple[Segment, int | None]:
        """The segment with further rows, and the row that gave a change away.

        Where one did, evidence is that of the rows up to there.

        Parameters
        ----------
        table : Table
        rate : float, optional
            False alarms per row; None where there is nothing to notice any more.
        """
        scored, table = self._with_scores(table)
        if scored.scores is None or not len(table):
            return scored, None
        bars = None
        if rate is not None:
            bars = 1 / (rate * self.block_rows * scored.scores.weights)
        return scored._with_rows(scored.scores.of_rows(table), bars)

    def _with_scores(self, table: Table) -> tuple[Segment, Table]:
        """The segment whose scores are fixed, if there are enough rows; the others."""
        if self.scores is not None:
            return self, table
        rows = table if self.waiting is None else stacked([self.waiting, table])
        if len(rows) < self.first_rows:
            return replace(self, waiting=rows), rows.take(slice(0))
        scores = WatchedScores.of(rows.take(slice(self.first_rows)))
        empty = np.zeros((0, len(scores.about)))
        fixed = replace(self, waiting=None, scores=scores, rest=empty, reference=empty)
        return fixed, rows.take(slice(self.first_rows, None))

    def _with_rows(
        self, scores: Floats, bars: Floats | None
    ) -> tuple[Segment, int | None]:
        assert self.rest is not None
        rows = np.concatenate([self.rest, scores])
        n = len(rows) // self.block_rows
        used = n * self.block_rows
        blocks = rows[:used].reshape(n, self.block_rows, rows.shape[1]).mean(axis=1)
        return replace(self, rest=rows[used:])._with_blocks(blocks, bars)

    def _with_blocks(
        self, blocks: Floats, bars: Floats | None
    ) -> tuple[Segment, int | None]:
        segment, blocks = self._with_ranks(blocks)
        if segment.ranks is None or segment.evidence is None or not len(blocks):
            return segment, None
        tags, within = segment.random_numbers(segment.n_blocks, len(blocks))
        u, ranks = segment.ranks.ranked(blocks, tags, within)
        first = segment.row_of(segment.n_blocks)
        evidence, at = segment.evidence.after(ratios(u), segment.n_blocks, bars)
        n_blocks = segment.n_blocks + len(blocks)
        found = replace(segment, ranks=ranks, evidence=evidence, n_blocks=n_blocks)
        if at is None:
            return found, None
        return found, first + (at + 1) * self.block_rows - 1

    def _with_ranks(self, blocks: Floats) -> tuple[Segment, Floats]:
        """The segment whose ranks have begun, if blocks are enough; the others."""
        if self.ranks is not None or self.reference is None:
            return self, blocks
        reference = np.concatenate([self.reference, blocks])
        m = self.n_reference
        if len(reference) < m:
            return replace(self, reference=reference), blocks[:0]
        tags, _ = self.random_numbers(0, m)
        begun = replace(
            self,
            reference=None,
            ranks=SequentialRanks.of(reference[:m], tags),
            evidence=Capital.none(blocks.shape[1]),
            n_blocks=m,
        )
        return begun, reference[m:]

    def random_numbers(self, first: int, n: int) -> tuple[Floats, Floats]:
        """Random numbers of blocks, the same however rows came: (n, S) twice."""
        assert self.scores is not None
        n_scores = len(self.scores.about)
        steps = -(-2 * n_scores // _WORDS)
        source = np.random.Philox(key=[self.seed, self.start])
        source.advance(first * steps)
        found = np.random.Generator(source).random((n, steps * _WORDS))
        return found[:, :n_scores], found[:, n_scores : 2 * n_scores]

    def row_of(self, block: int) -> int:
        """Number of the first row of a block."""
        return self.start + self.first_rows + block * self.block_rows

    def change(self, noticed: int, rate: float) -> ChangePoint:
        """What the evidence says of a change.

        Parameters
        ----------
        noticed : int
            Number of the row that gave it away.
        rate : float
            False alarms per row.
        """
        assert self.scores is not None
        assert self.evidence is not None
        capital = self.evidence.peaks * self.scores.weights * self.block_rows
        best = int(np.argmax(capital))
        began = self.row_of(round(self.evidence.began(best)))
        names = [scale.name for scale in self.scores.columns]
        made: dict[tuple[int, ...], float] = {}
        for about, value in zip(self.scores.about, capital.tolist(), strict=True):
            made[about] = max(made.get(about, 0.0), value)
        order = sorted(made, key=lambda about: -made[about])
        sure = [about for about in order if made[about] * rate >= 1]
        alone = {about[0] for about in sure if len(about) == 1}
        pairs = [a for a in sure if len(a) == 2 and not alone & set(a)]
        return ChangePoint(
            began=min(max(began, self.start), noticed),
            noticed=noticed,
            columns=tuple(names[a[0]] for a in sure if len(a) == 1),
            pairs=tuple((names[i], names[j]) for i, j in pairs),
            evidence={
                " and ".join(names[i] for i in about): math.log10(made[about])
                for about in [*sure, *(a for a in order if a not in sure)][:_SHOWN]
                if made[about] > 0
            },
        )


@dataclass(frozen=True, eq=False)
class Watch:
    r"""Change points of rows that come one after the other, in room that does not grow.

    Each column's place, spread, categories and gaps, and products of two columns, are
    ranked among all rows since the last change. While rows are exchangeable,

    .. math:: P(\text{a false alarm within } t \text{ rows}) \le t \cdot \text{rate}

    for every t, whatever their distribution; nothing is asymptotic.

    Parameters
    ----------
    rate : float
        False alarms per row.
    block_rows : int
        Rows that come one after the other and may depend on each other.
    seed : int
    n_rows : int
        Rows that were watched.
    changes : tuple of ChangePoint
    current : Segment, optional
        Since the last change.
    settling : Segment, optional
        The one before it, which still gathers evidence of what has changed.
    """

    rate: float = 1e-6
    block_rows: int = 1
    seed: int = 0
    n_rows: int = 0
    changes: tuple[ChangePoint, ...] = ()
    current: Segment | None = None
    settling: Segment | None = field(default=None, repr=False)

    def after(self, table: Table) -> Watch:
        """The watch with further rows."""
        watch = self
        for start in range(0, len(table), _MOST_ROWS):
            piece = table.take(slice(start, start + _MOST_ROWS))
            while len(piece):
                watch, piece = watch.step(piece)
        return watch

    def step(self, table: Table) -> tuple[Watch, Table]:
        """With as many of the rows as come before the next change, and the others."""
        segment = self.current or Segment(self.n_rows, self.block_rows, self.seed)
        table, later = self._until_settled(segment, table)
        watch = self._settled(segment, table)
        grown, noticed = segment.after(table, self.rate)
        if noticed is None:
            n_rows = self.n_rows + len(table)
            watch = replace(watch, current=grown, n_rows=n_rows)
            return watch, later
        change = grown.change(noticed, self.rate)
        used = noticed + 1 - self.n_rows
        # Of ranks, what came after the alarm is known already; they only name columns.
        again, _ = segment.after(table.take(slice(used)))
        fresh = Segment(noticed + 1, self.block_rows, self.seed)
        watch = replace(
            watch,
            n_rows=noticed + 1,
            changes=(*watch.changes, change),
            current=fresh,
            settling=again,
        )
        rest = table.take(slice(used, None))
        return watch, stacked([rest, later]) if len(later) else rest

    def _until_settled(self, segment: Segment, table: Table) -> tuple[Table, Table]:
        """Rows until the segment before is told apart from this one, and the others."""
        if self.settling is None:
            return table, table.take(slice(0))
        left = segment.start + segment.warm_up - self.n_rows
        return table.take(slice(left)), table.take(slice(left, None))

    def _settled(self, segment: Segment, table: Table) -> Watch:
        """With what these rows say of the last change."""
        if self.settling is None:
            return self
        grown, _ = self.settling.after(table)
        last = self.changes[-1]
        found = grown.change(last.noticed, self.rate)
        found = replace(
            found,
            began=last.began,
            began_time=last.began_time,
            noticed_time=last.noticed_time,
        )
        over = self.n_rows + len(table) >= segment.start + segment.warm_up
        changes = (*self.changes[:-1], found)
        return replace(self, changes=changes, settling=None if over else grown)

    @property
    def watches_from(self) -> int:
        """The row from which on a further change can be found."""
        segment = self.current or Segment(self.n_rows, self.block_rows, self.seed)
        return segment.start + segment.warm_up
