"""Rows that wait to be learned together, and a sample of rows that pass by."""

from typing import Any

import numpy as np

Batch = tuple[Any, Any, Any]


class RowBuffer:
    """Batches of rows, kept until they are taken out as one."""

    def __init__(self):
        self._batches: list[Batch] = []
        self.n_rows = 0

    def add(self, X, y=None, weight=None):
        """Keep rows (n, d), with targets (n, ...) and weights (n,) if they have any."""
        if len(X):
            self._batches.append((X, y, weight))
            self.n_rows += len(X)

    def settle(self):
        """Copy what was added last: its owner may use the memory for other rows."""
        if self._batches:
            last = self._batches[-1]
            self._batches[-1] = tuple(None if p is None else p.copy() for p in last)

    def peek(self):
        """All rows that were kept, as X, y and weights."""
        self._batches = [joined(self._batches)]
        return self._batches[0]

    def take(self):
        """All rows that were kept, as X, y and weights; the buffer is empty then."""
        batches, self._batches, self.n_rows = self._batches, [], 0
        return joined(batches)


def joined(batches: list[Batch]):
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    rows, targets, weights = map(list, zip(*batches, strict=True))
    if any(y is None for y in targets) != all(y is None for y in targets):
        raise ValueError("some batches have a target y and others have none")
    if any(weight is not None for weight in weights):
        pairs = zip(rows, weights, strict=True)
        weights = [np.ones(len(X)) if w is None else w for X, w in pairs]
    return tuple(
        None if parts[0] is None else np.concatenate(parts)
        for parts in (rows, targets, weights)
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

    def __init__(self, size, rng):
        self._size = size
        self._rng = rng
        self._kept: list[Batch] = []
        self._draws: list[np.ndarray] = []
        self._bar = np.inf  # draws above it cannot stay
        self.n_passed = 0

    def add(self, X, y=None, weight=None):
        """Let rows pass by; those of weight zero are not there."""
        self.n_passed += len(X)
        draws = self._rng.random(len(X))
        if weight is not None:
            draws[np.asarray(weight) == 0] = np.inf
        chosen = np.flatnonzero(draws < self._bar)
        self._kept.append(_rows(chosen, X, y, weight))
        self._draws.append(draws[chosen])
        if sum(map(len, self._draws)) > 2 * self._size:
            self._drop()

    def sample(self):
        """The sample as X, y and weights, in the order in which they passed."""
        self._drop()
        return self._kept[0]

    def _drop(self):
        batch, draws = joined(self._kept), np.concatenate(self._draws)
        if len(draws) > self._size:
            self._bar = np.partition(draws, self._size)[self._size]
        stay = np.flatnonzero(draws < self._bar)
        self._kept, self._draws = [_rows(stay, *batch)], [draws[stay]]


def _rows(which, *parts):
    return tuple(None if part is None else np.asarray(part)[which] for part in parts)
