"""Leave-one-out predictions of a target, in closed form.

What a row's neighbours say about its target is the sum of their evidence, each
weighted by the squared overlap with the row. Leaving the row out is leaving its own
term out. So one product of states gives the leave-one-out prediction of every row,
for any number of outcomes: no state is built, and nothing is fitted again.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import GaussianKernel
from rhokit.core.spectrum import leading_eigenpairs
from rhokit.fast import map_blocks
from rhokit.features import FeatureMap, group_rows

# Leave-one-out probes so many rows, against so many.
_MOST_PROBES = 1024
MOST_ROWS = 5000
_MOST_HALVINGS = 6
_PROBES_PER_BLOCK = 128

Overlaps = Callable[[slice], NDArray[Any]]


class Task(Protocol):
    """Evidence that adds up, made of targets, and a score made of that."""

    def evidence(self, target: NDArray[Any]) -> NDArray[np.float64]:
        """Evidence that each row adds to its neighbours, shape (n, C)."""

    def score(
        self,
        gathered: NDArray[np.float64],
        target: NDArray[Any],
        weight: NDArray[np.float64],
    ) -> float:
        """How good predictions from gathered evidence (n, C) are; more is better."""


class LeaveOneOut:
    """Predictions of rows from all rows but themselves and their copies.

    Parameters
    ----------
    batch : Batch
        Rows in the user's units.
    target : array of shape (n, ...)
        As the task takes it.
    task : Task
    rng : numpy.random.Generator
    """

    def __init__(
        self, batch: Batch, target: NDArray[Any], task: Any, rng: np.random.Generator
    ) -> None:
        rows, weights = batch.rows, batch.weights
        seen = np.arange(len(rows)) if weights is None else np.flatnonzero(weights)
        if len(seen) > MOST_ROWS:
            seen = np.sort(rng.choice(seen, MOST_ROWS, replace=False))
        first, group = group_rows(rows[seen])
        self.n_rows = len(rows)
        self.task = task
        self._seen = seen
        self._group = group  # of each member
        self._first = seen[first]  # a row of each group
        self._target = target[seen]
        self._weight = np.ones(len(seen)) if weights is None else weights[seen]
        self.mass = np.bincount(self._group, self._weight)  # of each group
        self.total_weight = batch.total_weight

    @property
    def n_distinct(self) -> int:
        """Number of rows that differ."""
        return len(self._first)

    def rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """One row of each group, from all rows in any units."""
        return rows[self._first]

    def probes(self, share: float = 1.0) -> NDArray[np.intp]:
        """Groups to be left out in turn, at most this share of them."""
        count = min(_MOST_PROBES, max(1, int(share * self.n_distinct)))
        return np.linspace(0, self.n_distinct - 1, count).astype(int)

    def unprobed(self, share: float) -> NDArray[np.bool_]:
        """Which of all rows are no probe."""
        kept = np.ones(self.n_rows, bool)
        kept[self._seen[np.isin(self._group, self.probes(share))]] = False
        return kept

    def evidence(
        self, evidence_of: Callable[[NDArray[Any]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Weighted evidence of each group, shape (G, C)."""
        evidence = evidence_of(self._target) * self._weight[:, None]
        total = np.zeros((self.n_distinct, evidence.shape[1]))
        np.add.at(total, self._group, evidence)
        return total

    def members(
        self, probes: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
        """Rows that belong to probes: which probe, their target, their weight."""
        place = np.full(self.n_distinct, -1)
        place[probes] = np.arange(len(probes))
        mine = np.flatnonzero(place[self._group] >= 0)
        return place[self._group[mine]], self._target[mine], self._weight[mine]

    def gather(
        self,
        overlaps: Overlaps,
        probes: NDArray[np.intp],
        evidence: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Evidence (G, C) that probes get from all rows but themselves, (P, C).

        Parameters
        ----------
        overlaps : callable
            From a slice of the probes to their squared overlaps with all groups,
            shape (b, G).
        probes : array of shape (P,)
        evidence : array of shape (G, C)
        """

        def work(worker: int, block: slice) -> NDArray[Any]:
            part = overlaps(block)
            part[np.arange(len(part)), probes[block]] = 0
            return part @ evidence.astype(part.dtype)

        parts = map_blocks(work, len(probes), _PROBES_PER_BLOCK)
        return np.concatenate(parts).astype(np.float64)

    def score(self, overlaps: Overlaps, probes: NDArray[np.intp]) -> float:
        """Score of the task when probes are predicted from the other rows."""
        evidence = self.evidence(self.task.evidence)
        which, target, weight = self.members(probes)
        gathered = self.gather(overlaps, probes, evidence)[which]
        return float(self.task.score(gathered, target, weight))


def squared_distances(rows: NDArray[Any], probes: NDArray[np.intp]) -> NDArray[Any]:
    """Squared distances (P, G) of probes to all rows, less that to the nearest other.

    So the nearest counts one: nothing underflows, as in the models themselves.
    """
    centred = rows - rows.mean(axis=0)
    lengths = np.vecdot(centred, centred)

    def work(worker: int, block: slice) -> NDArray[Any]:
        own = probes[block]
        squares = lengths[own][:, None] + lengths - 2 * (centred[own] @ centred.T)
        squares[np.arange(len(own)), own] = np.inf
        nearest = squares.min(axis=1, keepdims=True)
        nearest = np.where(np.isfinite(nearest), nearest, 0)
        return np.asarray(np.maximum(squares - nearest, 0))

    return np.concatenate(map_blocks(work, len(probes), _PROBES_PER_BLOCK))


def kernel_overlaps(squares: NDArray[Any], gamma: float) -> Overlaps:
    """Squared overlaps under the kernel itself, from squared distances (P, G)."""
    kernel = GaussianKernel(gamma)
    return lambda block: np.asarray(kernel(squares[block]))


def map_overlaps(
    feature_map: FeatureMap, rows: NDArray[Any], probes: NDArray[np.intp]
) -> Overlaps:
    """Squared overlaps of probes with all rows, of states under a map.

    Those of a grid are the kernel's own, up to a factor for each probe.
    """
    if feature_map.representation == "series":
        gamma = feature_map.get_params()["gamma"]
        return kernel_overlaps(squared_distances(rows, probes), gamma)
    states = feature_map.transform(rows)
    others = states.conj().T

    def overlaps(block: slice) -> NDArray[Any]:
        product = states[probes[block]] @ others
        return np.asarray((product * product.conj()).real)

    return overlaps


def choose_rank_by_score(loo: LeaveOneOut, task: Task, states: NDArray[Any]) -> int:
    """How many eigenvectors of each outcome's matrix predict rows left out best.

    Leaving a row out, the eigenvectors stay as they are, and it takes its own term
    out of what they keep: so one decomposition per outcome serves all ranks.

    Parameters
    ----------
    loo : LeaveOneOut
    task : Task
        Whose evidence are the weights of outcomes.
    states : array of shape (G, D)
        States of one row of each group.

    Returns
    -------
    rank : int
        The dimension itself where everything is worth keeping.
    """
    probes = loo.probes()
    evidence = loo.evidence(task.evidence)  # (G, K)
    dim = states.shape[1]
    ranks = [max(1, dim // 2**halvings) for halvings in range(_MOST_HALVINGS, -1, -1)]
    gathered = np.zeros((len(ranks), len(probes), evidence.shape[1]))

    def work(worker: int, block: slice) -> None:
        for outcome in range(block.start, block.stop):
            mass = evidence[:, outcome]
            rooted = states * np.sqrt(mass).astype(states.real.dtype)[:, None]
            values, vectors = leading_eigenpairs(rooted.T @ rooted.conj())
            parts = np.abs(states[probes] @ vectors.conj()) ** 2  # (P, D)
            for index, rank in enumerate(ranks):
                kept = parts[:, :rank].sum(axis=1)
                total = parts[:, :rank] @ values[:rank]
                gathered[index, :, outcome] = total - mass[probes] * kept**2

    map_blocks(work, evidence.shape[1], 1)
    which, target, weight = loo.members(probes)
    scores = [
        task.score(np.clip(each, 0, None)[which], target, weight) for each in gathered
    ]
    return ranks[int(np.argmax(scores))]  # of equals, the smallest
