"""Batches that wait to be learned together, and a sample of rows that pass by."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.streams.target_form import TargetForm


class BatchBuffer:
    """Batches, kept until they are taken out as one."""

    def __init__(self) -> None:
        # Each with the number of rows up to its end, so that one step keeps both.
        self._parts: list[tuple[Batch, int]] = []

    @property
    def n_rows(self) -> int:
        """Rows that are kept."""
        return self._parts[-1][1] if self._parts else 0

    def add(self, batch: Batch) -> None:
        """Keep a batch, unless it has no rows."""
        if len(batch):
            self._parts.append((batch, self.n_rows + len(batch)))

    def settle(self) -> None:
        """Copy what was added last: its owner may use the memory for other rows."""
        if self._parts:
            batch, n_rows = self._parts[-1]
            self._parts[-1] = copied(batch), n_rows

    def peek(self) -> Batch:
        """All rows that are kept."""
        if len(self._parts) > 1:
            batch = joined([batch for batch, _ in self._parts])
            self._parts = [(batch, len(batch))]
        return self._parts[0][0]

    def take(self) -> Batch:
        """All rows that were kept; the buffer is empty then."""
        batch, self._parts = self.peek(), []
        return batch

    def joined_by(self, batch: Batch) -> "BatchBuffer":
        """Another buffer with these rows and those of a batch."""
        other = BatchBuffer()
        other._parts = list(self._parts)
        other.add(batch)
        return other

    def without_first(self, n_rows: int) -> "BatchBuffer":
        """Another buffer with all but the first rows."""
        other = BatchBuffer()
        other.add(self.peek().take(slice(n_rows, None)))
        return other


def copied(batch: Batch) -> Batch:
    """A batch in memory of its own."""
    target = None if batch.target is None else batch.target.copy()
    weights = None if batch.weights is None else batch.weights.copy()
    return replace(batch, rows=batch.rows.copy(), target=target, weights=weights)


def joined(batches: list[Batch]) -> Batch:
    """Several batches of the same columns as one; targets must be of one form."""
    first = batches[0]
    if len(batches) == 1:
        return first
    weighted = any(batch.weights is not None for batch in batches)
    targets = [batch.target for batch in batches if batch.target is not None]
    if targets:
        form = TargetForm.of(targets[0])
        targets = [form.fitted(target) for target in targets]
    times = [batch.times for batch in batches if batch.times is not None]
    return replace(
        first,
        rows=np.concatenate([batch.rows for batch in batches]),
        target=np.concatenate(targets) if targets else None,
        weights=np.concatenate([b.mass for b in batches]) if weighted else None,
        times=None if first.times is None else np.concatenate(times),
    )


class Reservoir:
    """A uniform sample of the rows that pass by.

    Each row draws a number, and the rows with the smallest ones stay.

    Parameters
    ----------
    size : int
        The most rows to keep.
    rng : Generator
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size = size
        self._rng = rng
        self._kept: list[Batch] = []
        self._draws: list[NDArray[np.float64]] = []
        self._bar: Any = np.inf  # draws above it cannot stay
        self.n_passed = 0

    def add(self, batch: Batch) -> None:
        """Let rows pass by; those of weight zero are not there."""
        self.keep(batch.take(self.draw(len(batch), batch.weights)))

    def draw(self, n_rows: int, weights: NDArray[Any] | None) -> NDArray[np.intp]:
        """Places of the rows that may stay, of rows that pass by: :meth:`keep` these.

        What is not among them need not be looked at.
        """
        self.n_passed += n_rows
        draws = self._rng.random(n_rows)
        if weights is not None:
            draws[weights == 0] = np.inf
        chosen = np.flatnonzero(draws < self._bar)
        self._draws.append(draws[chosen])
        return chosen

    def keep(self, batch: Batch) -> None:
        """Keep the rows that were drawn last, for as long as they may stay."""
        if len(batch):
            self._kept.append(batch)
        if sum(map(len, self._draws)) > 2 * self._size:
            self._drop()

    def sample(self) -> Batch:
        """The sample, in the order in which its rows passed."""
        if not self._kept:
            raise ValueError(
                "there are no rows of a weight above zero: nothing to learn from"
            )
        self._drop()
        return self._kept[0]

    def _drop(self) -> None:
        batch, draws = joined(self._kept), np.concatenate(self._draws)
        if len(draws) > self._size:
            self._bar = np.partition(draws, self._size)[self._size]
        stay = np.flatnonzero(draws < self._bar)
        self._kept, self._draws = [batch.take(stay)], [draws[stay]]
