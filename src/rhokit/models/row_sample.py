"""A small sample of the rows that a model has seen, which adds up as states do."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features import row_keys

# Of the weight that counts most: a row that has faded to less has no place.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest keys, where a key is a hash of the row itself.

    A row's key does not depend on when or where it is seen, so the sample of a whole
    is the same however the rows were split, and forgetting a row finds it again. A
    row that comes twice is kept once, with the sum of its weights.

    Parameters
    ----------
    size : int
        The most rows to keep.
    keys : array of shape (n,), uint64, ascending
    rows : array of shape (n, d)
    target : array of shape (n, ...)
    weight : array of shape (n,)
    """

    size: int
    keys: NDArray[np.uint64]
    rows: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rows: NDArray[Any],
        target: NDArray[Any],
        weights: NDArray[np.float64] | None,
        size: int,
        names: NDArray[Any] | None = None,
    ) -> "RowSample":
        """Sample rows (n, d) with targets (n, ...) and weights (n,) or None.

        ``names`` (n, ...) stand for the targets in the keys where the targets
        themselves are codes that may change.
        """
        weights = np.ones(len(rows)) if weights is None else weights
        seen = np.flatnonzero(weights)
        keys = row_keys(rows[seen], (target if names is None else names)[seen])
        first = seen[np.argsort(keys, kind="stable")]
        sample = cls(size, np.sort(keys), rows[first], target[first], weights[first])
        return sample._distinct()

    def __add__(self, other: "RowSample") -> "RowSample":
        """Sample of both sets of rows."""
        pairs = zip(self._values(), other._values(), strict=True)
        keys, *values = (np.concatenate(pair) for pair in pairs)
        order = np.argsort(keys, kind="stable")
        return RowSample(
            self.size, keys[order], *(value[order] for value in values)
        )._distinct()

    def __sub__(self, other: "RowSample") -> "RowSample":
        """Forget rows; rows that once had to make room for them do not come back."""
        if not len(self.keys):
            return self
        weight = self.weight.copy()
        place = np.searchsorted(self.keys, other.keys).clip(max=len(self.keys) - 1)
        same = self.keys[place] == other.keys
        weight[place[same]] -= other.weight[same]
        return self._with_weight(weight)._keep(weight > 1e-9 * self.weight)

    def scale(self, factor: float) -> "RowSample":
        """These rows, each counting ``factor`` times as much.

        Where there is no room left, rows that hardly count any more make some.
        """
        weight = self.weight * factor
        faded = self._with_weight(weight)
        if len(weight) < self.size:
            return faded
        return faded._keep(weight > _LEAST_SHARE * factor * self.weight.max())

    def holds(self, rows: NDArray[Any], names: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of rows (n, d) with these names (n, ...) are in the sample."""
        return np.isin(row_keys(rows, names), self.keys)

    def with_target(self, target: NDArray[Any]) -> "RowSample":
        """These rows with their targets named anew."""
        return replace(self, target=target)

    def _values(self) -> tuple[NDArray[Any], ...]:
        return self.keys, self.rows, self.target, self.weight

    def _with_weight(self, weight: NDArray[np.float64]) -> "RowSample":
        return replace(self, weight=weight)

    def _distinct(self) -> "RowSample":
        """Equal rows once, and not more than there is room for."""
        _, first, inverse = np.unique(self.keys, return_index=True, return_inverse=True)
        weight: Any = np.bincount(inverse, self.weight)
        kept = self._keep(first)
        return kept._with_weight(weight)._keep(slice(self.size))

    def _keep(self, which: Any) -> "RowSample":
        return RowSample(self.size, *(value[which] for value in self._values()))


@dataclass(frozen=True, eq=False)
class MeasuredSample:
    """The rest of a sample in a model that only predicts: no rows, but answers.

    Parameters
    ----------
    target : array of shape (n, ...)
    weight : array of shape (n,)
    logs : array of shape (n, K)
        What each row measured when it was left out of the state.
    held_out : bool
        Whether the rows never were in the state, as those that judge a training.
    """

    target: NDArray[Any]
    weight: NDArray[np.float64]
    logs: NDArray[np.float64]
    held_out: bool = False
