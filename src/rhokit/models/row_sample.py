"""A small sample of the rows that a model has seen, which adds up as states do."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features import row_keys

# Of the weight that counts most: a row that has faded to less has no place.
_LEAST_SHARE = 0.01
_ARRAYS = ("keys", "rows", "target", "weight")


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest keys, where a key is a hash of the row itself.

    A row's key does not depend on when or where it is seen, so the sample of a whole
    is the same however the rows were split, and forgetting a row finds it again. A
    row that comes twice is kept once, with the sum of its weights.

    Where rows had to make room, those with larger keys are not known any more. So the
    sample holds *all* rows with keys below a bound, whatever was forgotten since, and
    rows that come later have a place only if they are below it, too: it stays a fair
    sample of the rows that there are.

    Parameters
    ----------
    size : int
        The most rows to keep.
    keys : array of shape (n,), uint64, ascending
    rows : array of shape (n, d)
    target : array of shape (n, ...)
    weight : array of shape (n,)
    bound : int, optional
        The smallest key of a row that had to make room; None if none had to.
    """

    size: int
    keys: NDArray[np.uint64]
    rows: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[np.float64]
    bound: int | None = None

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
        if len(keys) > 4 * size:  # of many rows, few need to be sorted
            low = np.flatnonzero(keys <= np.partition(keys, 2 * size)[2 * size])
            if len(np.unique(keys[low])) > size:
                seen, keys = seen[low], keys[low]
        return cls(size, keys, rows[seen], target[seen], weights[seen]).sorted()

    def __add__(self, other: "RowSample") -> "RowSample":
        """Sample of both sets of rows."""
        both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in _ARRAYS
        }
        return replace(self, **both, bound=_lower(self.bound, other.bound)).sorted()

    def __sub__(self, other: "RowSample") -> "RowSample":
        """Forget rows; rows that once had to make room for them do not come back."""
        if not len(self.keys):
            return self
        weight = self.weight.copy()
        place = np.searchsorted(self.keys, other.keys).clip(max=len(self.keys) - 1)
        same = self.keys[place] == other.keys
        weight[place[same]] -= other.weight[same]
        left = replace(self, weight=weight).take(weight > 1e-9 * self.weight)
        return left.below(_lower(self.bound, other.bound))

    def scale(self, factor: float) -> "RowSample":
        """The same rows, each counting ``factor`` times as much.

        Where there is no room left, rows that hardly count any more make some: for
        any row that comes, since those that had to make room have faded, too.
        """
        weight = self.weight * factor
        faded = replace(self, weight=weight).take(weight > 0)
        if len(weight) < self.size and self.bound is None:
            return faded
        counts = weight > _LEAST_SHARE * weight.max(initial=0)
        return faded if counts.all() else replace(faded.take(counts), bound=None)

    def whole(self, total: float) -> "RowSample":
        """The same rows, with a place for any if they are all of a total weight.

        Without a single row left, the sample begins anew.
        """
        lacks = len(self.keys) and self.weight.sum() < (1 - 1e-9) * total
        return self if lacks or self.bound is None else replace(self, bound=None)

    def holds(self, rows: NDArray[Any], names: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of rows (n, d) with these names (n, ...) are in the sample."""
        return np.isin(row_keys(rows, names), self.keys)

    def with_target(self, target: NDArray[Any]) -> "RowSample":
        """The same rows with their targets named anew."""
        return replace(self, target=target)

    def take(self, which: Any) -> "RowSample":
        """Some of the rows: a slice, places, or a mask."""
        return replace(self, **{name: getattr(self, name)[which] for name in _ARRAYS})

    def below(self, bound: int | None) -> "RowSample":
        """The rows with keys below a bound, which are all that there are."""
        if bound is None:
            return self
        stop = int(np.searchsorted(self.keys, np.uint64(bound)))
        return replace(self.take(slice(stop)), bound=bound)

    def sorted(self) -> "RowSample":
        """Equal rows once, in order, and not more than there is room for."""
        _, first, inverse = np.unique(self.keys, return_index=True, return_inverse=True)
        weight: Any = np.bincount(inverse, self.weight)
        distinct = replace(self.take(first), weight=weight).below(self.bound)
        if len(distinct.keys) <= self.size:
            return distinct
        return distinct.below(int(distinct.keys[self.size]))


def _lower(bound: int | None, other: int | None) -> int | None:
    """The lower one of two bounds."""
    if bound is None or other is None:
        return other if bound is None else bound
    return min(bound, other)


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
