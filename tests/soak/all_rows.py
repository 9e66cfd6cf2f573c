"""The slow model: every row that counts, with its weight."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhokit.testing.cases import joined, take


@dataclass(frozen=True, eq=False)
class AllRows:
    """Rows with targets, weights and names, and the most that there ever was.

    Parameters
    ----------
    rows, target : array or frame of length n
    weights : array of shape (n,)
    ids : array of shape (n,)
        A number for each time that a row was learned.
    peak : float
        The largest total weight so far, faded as the rows were.
    forgot : bool
        Whether rows were taken out, so that sums hold what is left of a difference.
    """

    rows: Any
    target: Any
    weights: Any
    ids: Any
    peak: float = 0.0
    forgot: bool = False

    @property
    def total(self):
        return float(self.weights.sum())

    def __len__(self):
        return len(self.weights)

    def data(self, which=slice(None)):
        """Rows and targets, as estimators take them."""
        return take(self.rows, which), take(self.target, which)

    def plus(self, other):
        """These rows and others."""
        target = None
        if self.target is not None:
            target = joined([self.target, other.target])
        both = replace(
            self,
            rows=joined([self.rows, other.rows]),
            target=target,
            weights=np.concatenate([self.weights, other.weights]),
            ids=np.concatenate([self.ids, other.ids]),
            forgot=self.forgot or other.forgot,
        )
        return replace(both, peak=max(self.peak, other.peak, both.total))

    def minus(self, which, weights):
        """Some rows count so much less."""
        left = self.weights.copy()
        left[which] -= weights
        return replace(self, weights=left, forgot=True)._without_empty()

    def without(self, other):
        """Take out what was added with another set of rows."""
        order = np.argsort(self.ids)
        which = order[np.searchsorted(self.ids, other.ids, sorter=order)]
        return self.minus(which, other.weights)

    def holds(self, other):
        """Whether all rows of another set still count as much as there."""
        known = dict(zip(self.ids.tolist(), self.weights.tolist(), strict=True))
        return all(
            known.get(name, 0.0) >= weight * (1 - 1e-9)
            for name, weight in zip(
                other.ids.tolist(), other.weights.tolist(), strict=True
            )
        )

    def faded(self, factor):
        return replace(self, weights=self.weights * factor, peak=self.peak * factor)

    def _without_empty(self):
        heaviest = self.weights.max(initial=1e-300)
        return self.only(np.flatnonzero(self.weights > 1e-12 * heaviest))

    def only(self, which):
        """Some of the rows."""
        rows, target = self.data(which)
        weights, ids = self.weights[which], self.ids[which]
        return replace(self, rows=rows, target=target, weights=weights, ids=ids)
