"""Leave-one-out predictions of a target, in closed form.

What a row's neighbours say about its target is the sum of their evidence, each
weighted by the squared overlap with the row. Leaving the row out is leaving its own
term out. So one product of states gives the leave-one-out prediction of every row,
for any number of outcomes: no state is built, and nothing is fitted again.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import GaussianKernel
from rhokit.core.spectrum import leading_eigenpairs
from rhokit.fast import map_blocks
from rhokit.features import FeatureMap, group_rows
from rhokit.plans.scaling import Scaling

# Leave-one-out probes so many rows, against so many.
_MOST_PROBES = 1024
MOST_ROWS = 5000
# Of few rows more of them, so that the choice is not left to chance.
_ENOUGH_PROBES = 128
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

    def strata(self, target: NDArray[Any]) -> NDArray[np.intp]:
        """Parts of the rows that a sample of them must not miss, shape (n,)."""


class SmoothTask(Task, Protocol):
    """A task with a loss that has a slope."""

    def loss(
        self,
        gathered: NDArray[np.float64],
        truth: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> tuple[float, NDArray[np.float64]]:
        """A smooth loss of rows with evidence (n, C) of their own; its slope (n, C).

        A mean over rows, in units of a log-likelihood.
        """


def _grouped(
    rows: NDArray[Any], weight: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Groups of equal rows, in an order that units of columns do not change."""
    if rows.dtype.kind != "f":
        return group_rows(rows)
    return group_rows(rows, Scaling.from_rows("std", rows, weight).apply(rows))


class LeaveOneOut:
    """Predictions of rows from all rows but themselves and their copies.

    Of many rows it takes a sample, and probes a part of that. Strata of the task that
    are rare get more than their share of both, and weigh less by as much: so scores
    are those of all rows, and what is rare is there to be predicted.

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
        strata = task.strata(target[seen])
        weight = np.ones(len(seen)) if weights is None else weights[seen]
        if len(seen) > MOST_ROWS:
            some = _sampled(strata, rng)
            weight = weight[some] * _corrections(strata, weight, some)
            seen, strata = seen[some], strata[some]
        first, group = _grouped(rows[seen], weight)
        self.n_rows = len(rows)
        self.task = task
        self._seen = seen
        self._group = group  # of each member
        self._first = seen[first]  # a row of each group
        self._target = target[seen]
        self._weight = weight
        self._stratum = _rarest(strata, weight, group)  # of each group
        mass = np.bincount(self._group, self._weight)
        self.mass: NDArray[np.float64] = np.asarray(mass, float)  # of each group
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
        sizes = np.bincount(self._stratum)
        most = min(_MOST_PROBES, max(1, int(share * self.n_distinct)))
        counts = allotted(np.ceil(share * sizes).astype(int), most)
        parts = [
            own[np.linspace(0, len(own) - 1, count).astype(int)]
            for own, count in zip(_parts(self._stratum), counts.tolist(), strict=True)
        ]
        return np.sort(np.concatenate(parts))

    def turns(self, share: float) -> list[NDArray[np.intp]]:
        """Probes of this share; of few groups more such parts, which do not meet."""
        probes = self.probes(share)
        count = min(math.ceil(_ENOUGH_PROBES / len(probes)), int(1 / share))
        if count == 1:
            return [probes]
        step, parts = int(1 / share), _parts(self._stratum)
        turns = [np.concatenate([own[k::step] for own in parts]) for k in range(count)]
        return [np.sort(turn) for turn in turns if len(turn)]

    def some_of(self, probes: NDArray[np.intp], most: int) -> NDArray[np.intp]:
        """About so many of the probes."""
        parts = _parts(self._stratum[probes])
        counts = allotted(np.array([len(own) for own in parts]), most)
        thinned = [
            own[:: max(1, len(own) // max(1, count))]
            for own, count in zip(parts, counts.tolist(), strict=True)
        ]
        return probes[np.sort(np.concatenate(thinned))]

    def unprobed(self, probes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of all rows are none of the probes."""
        kept = np.ones(self.n_rows, bool)
        kept[self._seen[np.isin(self._group, probes)]] = False
        return kept

    def halves(self) -> list[NDArray[np.intp]]:
        """Every other group of each stratum, and the rest."""
        parts = _parts(self._stratum)
        return [np.sort(np.concatenate([own[k::2] for own in parts])) for k in (0, 1)]

    def evidence_among(self, kept: NDArray[np.intp]) -> NDArray[np.float64]:
        """Weighted evidence (k, C) of some groups that stand for all of them."""
        factors = _corrections(self._stratum, self.mass, kept)
        return self.evidence(self.task.evidence)[kept] * factors[:, None]

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
        """Rows that belong to probes: which probe, their target, their weight.

        Weights add up to the number of probes, where these are of one weight, and to
        less where some weigh more than others.
        """
        place = np.full(self.n_distinct, -1)
        place[probes] = np.arange(len(probes))
        mine = np.flatnonzero(place[self._group] >= 0)
        probe = place[self._group[mine]]
        factors = _corrections(self._stratum, self.mass, probes)
        mass = self.mass[probes] * factors
        shares = mass / mass.max()
        unit = mass.max() * (shares @ shares) / shares.sum()
        return probe, self._target[mine], self._weight[mine] * factors[probe] / unit

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
        return self.score_in_turns([overlaps], [probes])

    def score_in_turns(
        self, overlaps: list[Overlaps], turns: list[NDArray[np.intp]]
    ) -> float:
        """That of all probes, where each part of them has overlaps of its own."""
        evidence = self.evidence(self.task.evidence)
        gathered = np.concatenate(
            [self.gather(*own, evidence) for own in zip(overlaps, turns, strict=True)]
        )
        which, target, weight = self.members(np.concatenate(turns))
        return float(self.task.score(gathered[which], target, weight))


def allotted(sizes: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """How many to take of each stratum (S,), in all at most ``most``.

    Each has its share, but not less than half of what it would have if all were of one
    size, as far as it is that large.
    """
    if sizes.sum() <= most:
        return sizes
    least = np.minimum(sizes, most // (2 * np.count_nonzero(sizes)))
    share = np.maximum(sizes * (most / sizes.sum()), least) - least
    wanted = least + share * ((most - least.sum()) / share.sum())
    counts = np.floor(wanted).astype(int)
    missing = most - counts.sum()
    counts[np.argsort(counts - wanted, kind="stable")[:missing]] += 1
    return np.asarray(counts)


def _parts(strata: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Which rows each stratum has."""
    order = np.argsort(strata, kind="stable")
    return np.split(order, np.cumsum(np.bincount(strata))[:-1])


def _sampled(strata: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Some rows, of each stratum what is allotted to it."""
    parts = _parts(strata)
    counts = allotted(np.array([len(own) for own in parts]), MOST_ROWS)
    some = [
        rng.choice(own, count, replace=False)
        for own, count in zip(parts, counts.tolist(), strict=True)
    ]
    return np.sort(np.concatenate(some))


def _corrections(
    strata: NDArray[np.intp], weight: NDArray[np.float64], some: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Factors of the weights of some rows that give strata their part of all again."""
    whole = np.bincount(strata, weight)
    taken = np.bincount(strata[some], weight[some], len(whole))
    factors = whole / np.where(taken > 0, taken, 1)
    return np.asarray(factors[strata[some]] * (taken.sum() / whole.sum()))


def _rarest(
    strata: NDArray[np.intp], weight: NDArray[np.float64], group: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The rarest stratum among each group's members, renumbered, shape (G,)."""
    by_rank = np.argsort(np.bincount(strata, weight), kind="stable")
    rank = np.argsort(by_rank)
    found = np.full(group.max() + 1, len(rank))
    np.minimum.at(found, group, rank[strata])
    return np.unique(found, return_inverse=True)[1]


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
