"""What a stream has learned and what waits, as one value that is replaced whole."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from rhokit.batch import Batch
from rhokit.errors import DataError
from rhokit.estimators.base import OnePassEstimator
from rhokit.streams.buffer import BatchBuffer
from rhokit.streams.history import History
from rhokit.streams.single_rows import SingleRow


@dataclass(frozen=True, eq=False)
class StreamState:
    """A stream between two rows.

    Whatever happens while rows are learned, they are either here or in the model:
    the next state takes the place of this one in a single step.

    Parameters
    ----------
    work : one-pass model
        That has learned what came before the rows that wait.
    single : list of SingleRow
        Rows that came one by one, after those that wait.
    waiting : BatchBuffer
    held : tuple of Batch
        What is in the window, oldest first.
    n_learned, n_left : int
        Rows that were learned, and those that wait no more, learned or refused.
    n_skipped : int
        Rows of the learned ones that looked like outliers and changed nothing.
    gaps : tuple of int
        Positions of rows that were refused before they came to wait.
    refused : tuple of DataError
        Of which nobody has been told yet.
    history : History, optional
    """

    work: OnePassEstimator
    single: list[SingleRow] = field(default_factory=list)
    waiting: BatchBuffer = field(default_factory=BatchBuffer)
    held: tuple[Batch, ...] = ()
    n_learned: int = 0
    n_left: int = 0
    n_skipped: int = 0
    gaps: tuple[int, ...] = ()
    refused: tuple[DataError, ...] = ()
    history: History | None = None

    @property
    def n_seen(self) -> int:
        """Rows that came and were not refused."""
        return self.n_learned + self.waiting.n_rows + len(self.single)

    @property
    def next_position(self) -> int:
        """Position of the next row to come."""
        return self._position(self.n_left + self.waiting.n_rows) + len(self.single)

    def _position(self, index: int) -> int:
        """Position in the stream of a row that came to wait as the index-th."""
        for gap in self.gaps:
            index += gap <= index
        return index

    # ---- the next state -------------------------------------------------------------

    def gathered(self, batch: Batch) -> StreamState:
        """The first single rows wait as a batch."""
        waiting = self.waiting.joined_by(batch)
        return replace(self, waiting=waiting, single=self.single[len(batch) :])

    def without_single(self, error: Exception) -> StreamState:
        """The first single row is refused."""
        position = self._position(self.n_left + self.waiting.n_rows)
        return replace(
            self,
            single=self.single[1:],
            gaps=(*self.gaps, position),
            refused=(*self.refused, at_row(error, position)),
        )

    def learned(self, work: OnePassEstimator, n_rows: int, **rest: Any) -> StreamState:
        """A model has learned the first rows that wait."""
        n_learned = self.n_learned + n_rows
        return replace(self._past(n_rows), work=work, n_learned=n_learned, **rest)

    def without_first(self, error: Exception) -> StreamState:
        """The row that waits longest is refused."""
        refusal = at_row(error, self._position(self.n_left))
        return replace(self._past(1), refused=(*self.refused, refusal))

    def _past(self, n_rows: int) -> StreamState:
        waiting = self.waiting.without_first(n_rows)
        return replace(self, waiting=waiting, n_left=self.n_left + n_rows)


def slide(
    work: OnePassEstimator, held: tuple[Batch, ...], window: int
) -> tuple[Batch, ...]:
    """Let a model unlearn what falls out of a window; what is left in it."""
    rest = deque(held)
    surplus = sum(map(len, rest)) - window
    while surplus > 0:
        oldest = rest.popleft()
        gone = oldest.take(slice(surplus))
        if gone.total_weight > 0:
            work.unlearn(gone)
        if len(gone) < len(oldest):
            rest.appendleft(oldest.take(slice(surplus, None)))
        surplus -= len(gone)
    return tuple(rest)


def at_row(error: Exception, position: int) -> DataError:
    """What is wrong with the row at a position of a stream."""
    if isinstance(error, DataError):
        return error.at(row=position)
    return DataError(str(error), row=position)
