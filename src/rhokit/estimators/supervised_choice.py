"""Choices by leave-one-out for models with a target: scaling, map and γ.

What a row's neighbours say about its target is the sum of their evidence, each
weighted by the squared overlap with the row. Leaving the row out is leaving its own
term out. So one product of states gives the leave-one-out prediction of every row,
for any number of outcomes: no state is built, and nothing is fitted again.
"""

from dataclasses import dataclass

import numpy as np

from rhokit.core.spectrum import leading_eigenpairs
from rhokit.estimators.choice import MapChooser, climb, is_grid
from rhokit.estimators.scaling import Scaling
from rhokit.fast import map_blocks
from rhokit.features import (
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    gamma_by_rule,
    group_rows,
)

# Leave-one-out probes so many rows, against so many.
_MOST_PROBES = 1024
_MOST_ROWS = 5000
# Of an approximate map, at most this share of the rows: landmarks are not chosen from
# the rows that probe them, which would make them look better than they are.
_PROBED_SHARE = 0.25
# γ around the median rule: coarse steps of the exact kernel, then finer ones.
_COARSE = 2.0 ** np.arange(-3, 12)
_FINE = 2.0 ** np.array([-0.5, 0.5])
_MOST_STEPS = 6
_PARTS = (1, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
# Rivals to landmarks are first tried on so many probes, and followed up only if they
# come close.
_SCREENING_PROBES = 256
_CLOSE = 0.03
_MOST_SCALING_ROWS = 10_000
_MOST_HALVINGS = 6
_PROBES_PER_BLOCK = 128


@dataclass(frozen=True)
class Candidate:
    """What was tried, and how well it did when each row was left out.

    Parameters
    ----------
    scale : str, array or None
        Rule of the scaling.
    feature_map : str
        Name of the map; ``"exact"`` is the kernel itself.
    gamma : float
    score : float
        More is better; to be compared among equal numbers of probes.
    n_probes : int
        How many rows were left out in turn.
    """

    scale: object
    feature_map: str
    gamma: float
    score: float
    n_probes: int


class LeaveOneOut:
    """Predictions of rows from all rows but themselves and their copies.

    Parameters
    ----------
    rows : array of shape (n, d)
        In the user's units.
    weights : array of shape (n,), optional
    target : array of shape (n, ...)
    task : Task
    rng : numpy.random.Generator
    """

    def __init__(self, rows, weights, target, task, rng):
        seen = np.arange(len(rows)) if weights is None else np.flatnonzero(weights)
        if len(seen) > _MOST_ROWS:
            seen = np.sort(rng.choice(seen, _MOST_ROWS, replace=False))
        first, group = group_rows(rows[seen])
        self.n_rows = len(rows)
        self.task = task
        self._seen = seen
        self._group = group  # of each member
        self._first = seen[first]  # a row of each group
        self._target = target[seen]
        self._weight = np.ones(len(seen)) if weights is None else weights[seen]
        self.mass = np.bincount(self._group, self._weight)  # of each group
        self.total_weight = float(len(rows) if weights is None else weights.sum())

    @property
    def n_distinct(self):
        """Number of rows that differ."""
        return len(self._first)

    def rows(self, rows):
        """One row of each group, from all rows in any units."""
        return rows[self._first]

    def probes(self, share=1.0):
        """Groups to be left out in turn, at most this share of them."""
        count = min(_MOST_PROBES, max(1, int(share * self.n_distinct)))
        return np.linspace(0, self.n_distinct - 1, count).astype(int)

    def unprobed(self, share):
        """Which of all rows are no probe."""
        kept = np.ones(self.n_rows, bool)
        kept[self._seen[np.isin(self._group, self.probes(share))]] = False
        return kept

    def evidence(self, evidence_of):
        """Weighted evidence of each group, shape (G, C)."""
        evidence = evidence_of(self._target) * self._weight[:, None]
        total = np.zeros((self.n_distinct, evidence.shape[1]))
        np.add.at(total, self._group, evidence)
        return total

    def members(self, probes):
        """Rows that belong to probes: which probe, their target, their weight."""
        place = np.full(self.n_distinct, -1)
        place[probes] = np.arange(len(probes))
        mine = np.flatnonzero(place[self._group] >= 0)
        return place[self._group[mine]], self._target[mine], self._weight[mine]

    def gather(self, overlaps, probes, evidence):
        """Evidence (G, C) that probes get from all rows but themselves, (P, C).

        Parameters
        ----------
        overlaps : callable
            From a slice of the probes to their squared overlaps with all groups,
            shape (b, G).
        probes : array of shape (P,)
        evidence : array of shape (G, C)
        """

        def work(worker, block):
            part = overlaps(block)
            part[np.arange(len(part)), probes[block]] = 0
            return part @ evidence.astype(part.dtype)

        parts = map_blocks(work, len(probes), _PROBES_PER_BLOCK)
        return np.concatenate(parts).astype(np.float64)

    def score(self, overlaps, probes):
        """Score of the task when probes are predicted from the other rows."""
        evidence = self.evidence(self.task.evidence)
        which, target, weight = self.members(probes)
        gathered = self.gather(overlaps, probes, evidence)[which]
        return self.task.score(gathered, target, weight)


def squared_distances(rows, probes):
    """Squared distances (P, G) of probes to all rows, less that to the nearest other.

    So the nearest counts one: nothing underflows, as in the models themselves.
    """
    centred = rows - rows.mean(axis=0)
    lengths = np.vecdot(centred, centred)

    def work(worker, block):
        own = probes[block]
        squares = lengths[own][:, None] + lengths - 2 * (centred[own] @ centred.T)
        squares[np.arange(len(own)), own] = np.inf
        nearest = squares.min(axis=1, keepdims=True)
        return np.maximum(squares - np.where(np.isfinite(nearest), nearest, 0), 0)

    return np.concatenate(map_blocks(work, len(probes), _PROBES_PER_BLOCK))


def kernel_overlaps(squares, gamma):
    """Squared overlaps under the kernel itself, from squared distances (P, G)."""
    rate = squares.dtype.type(-gamma)
    return lambda block: np.exp(rate * squares[block])


def map_overlaps(feature_map, rows, probes):
    """Squared overlaps of probes with all rows, of states under a map.

    Those of a grid are the kernel's own, up to a factor for each probe.
    """
    if isinstance(feature_map, GridFeatures):
        return kernel_overlaps(squared_distances(rows, probes), feature_map.gamma)
    states = feature_map.transform(rows)
    others = states.conj().T

    def overlaps(block):
        product = states[probes[block]] @ others
        return (product * product.conj()).real

    return overlaps


def choose_rank_by_score(loo, task, states):
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
    rank : int, or None where everything is worth keeping
    """
    probes = loo.probes()
    evidence = loo.evidence(task.evidence)  # (G, K)
    dim = states.shape[1]
    ranks = [max(1, dim // 2**halvings) for halvings in range(_MOST_HALVINGS, -1, -1)]
    gathered = np.zeros((len(ranks), len(probes), evidence.shape[1]))

    def work(worker, block):
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
    best = ranks[int(np.argmax(scores))]  # of equals, the smallest
    return None if best == dim else best


class SupervisedChoice:
    """Finds scaling, map and γ; keeps every candidate with its score.

    Parameters
    ----------
    loo : LeaveOneOut
    rows : array of shape (n, d)
        All rows, in the user's units.
    weights : array of shape (n,), optional
    groups : array of shape (n,), optional
        Which rows belong together, for the scaling.
    scales : list
        Rules of scaling to choose from.
    gamma : float or str
        ``"loo"`` for a choice.
    wanted : str or FeatureMap
    n_components, seed, bounded, grids : see MapChooser
    landmarks_by_group : bool
        Whether groups get landmarks of their own.
    witnesses : array of shape (n,), bool, optional
        Rows that landmarks must not be chosen from, where they are not all rows.
    schema : Schema, optional
        Where some of the columns are states of categories.
    """

    def __init__(
        self,
        loo,
        rows,
        weights,
        groups,
        *,
        scales,
        gamma,
        wanted,
        n_components,
        seed,
        bounded,
        landmarks_by_group,
        grids=False,
        witnesses=None,
        schema=None,
    ):
        self.loo = loo
        self.rows, self.weights, self.groups = rows, weights, groups
        self.scales = scales
        self.gamma = gamma
        self.wanted, self.n_components = wanted, n_components
        self.seed, self.bounded, self.grids = seed, bounded, grids
        self.landmarks_by_group = landmarks_by_group
        self.witnesses = witnesses
        self.schema = schema
        self.rng = np.random.default_rng(seed)
        self.candidates = []
        self.spared_witnesses = False

    def run(self):
        """Scaling, fitted map and γ."""
        rule, scaling, gamma = self._choose_scale()
        scaled = scaling.apply(self.rows)
        kinds = self._kinds(scaled.shape[1])
        kind = kinds[0]
        if len(kinds) > 1 or (
            self.gamma == "loo" and not self._resolves(kind, scaled, gamma)
        ):
            # Half the digits decide the same, in half the time.
            narrow = scaled if scaling.is_identity else scaled.astype(np.float32)
            kind, gamma = self._choose_map(kinds, narrow, gamma, rule)
        chooser = self._chooser(kind, scaled, np.ones(len(scaled), bool))
        if self._spares_witnesses(chooser.kind(gamma)):
            self.spared_witnesses = True
            chooser = self._chooser(kind, scaled, ~self.witnesses)
        if self.gamma == "loo" and is_grid(chooser.kind(gamma)):
            # A grid resolves any bandwidth: go on to that of all rows, by the usual
            # rate.
            growth = self.loo.total_weight / self.loo.mass.sum()
            gamma *= float(growth) ** (2 / (scaled.shape[1] + 4))
        return scaling, chooser(gamma), gamma

    def _choose_scale(self):
        """Rule, scaling and γ to start from that suit the exact kernel best."""
        self._refuse_equal_rows()
        is_number = None if self.schema is None else self.schema.is_number
        scalings = [
            Scaling.from_rows(rule, *self._rows_for_scaling(), is_number=is_number)
            for rule in self.scales
        ]
        found = [
            (score, rule, scaling, gamma)
            for rule, scaling in zip(self.scales, scalings, strict=True)
            for gamma, score in self._kernel_scores(rule, scaling)
        ]
        return max(found, key=lambda each: each[0])[1:]

    def _rows_for_scaling(self):
        """Rows, weights and groups, not more than needed to see their spread."""
        if len(self.rows) <= _MOST_SCALING_ROWS:
            return self.rows, self.weights, self.groups
        some = self.rng.choice(len(self.rows), _MOST_SCALING_ROWS, replace=False)
        return tuple(
            None if values is None else values[some]
            for values in (self.rows, self.weights, self.groups)
        )

    def _refuse_equal_rows(self):
        if isinstance(self.gamma, str) and self.loo.n_distinct < 2:
            raise ValueError(
                f"gamma={self.gamma!r} cannot be computed from rows that are all "
                f"equal (n_samples={self.loo.n_rows}): give gamma as a number"
            )

    def _kernel_scores(self, rule, scaling):
        """Pairs of γ and the exact kernel's score; a lone γ needs none."""
        if not isinstance(self.gamma, str):
            return [(float(self.gamma), 0.0)]
        rows, mass = scaling.apply(self.loo.rows(self.rows)), self.loo.mass
        if self.gamma != "loo":
            total = self.loo.total_weight
            gamma = gamma_by_rule(self.gamma, rows, mass, n_rows=total, rng=self.rng)
            return [(gamma, 0.0)]
        median = gamma_by_rule("median", rows, mass, rng=self.rng)
        probes = self.loo.probes()
        squares = squared_distances(rows.astype(np.float32), probes)

        def scores(gammas):
            values = [
                self.loo.score(kernel_overlaps(squares, gamma), probes)
                for gamma in gammas
            ]
            tried = [
                Candidate(rule, "exact", float(gamma), value, len(probes))
                for gamma, value in zip(gammas, values, strict=True)
            ]
            self.candidates.extend(tried)
            return [(each.gamma, each.score) for each in tried]

        coarse = scores(median * _COARSE)
        top = max(coarse, key=lambda pair: pair[1])[0]
        return coarse + scores(top * _FINE)

    def _kinds(self, d):
        """The maps to compare: names, or instances."""
        if self.wanted != "auto" or (d <= 2 and self.schema is None):
            return [self.wanted]
        if self._is_exact("landmarks"):
            return ["landmarks"]
        rival = FourierFeatures(
            n_components=self.n_components, form="pair", sampling="orthogonal"
        )
        return ["landmarks", rival]

    def _is_exact(self, kind):
        """Whether landmarks would be all rows, so that nothing is approximated."""
        return kind in ("auto", "landmarks") and (
            self.loo.n_rows <= _MOST_ROWS and self.loo.n_distinct <= self.n_components
        )

    def _resolves(self, kind, scaled, gamma):
        """Whether the map follows the kernel itself, for which γ was chosen."""
        if self._is_exact(kind) or not self.grids:
            return self._is_exact(kind)
        chooser = self._chooser(kind, scaled, np.ones(len(scaled), bool))
        return is_grid(chooser.kind(gamma))

    def _spares_witnesses(self, kind):
        """Whether the final map must be made without the witnesses."""
        if self.witnesses is None or self._is_exact(kind):
            return False
        return kind == "landmarks" or isinstance(kind, LandmarkFeatures)

    def _choose_map(self, kinds, scaled, start, rule):
        """The map, and its γ, with the best leave-one-out score of its own."""
        probes = self.loo.probes(_PROBED_SHARE)
        few = probes[:: max(1, len(probes) // _SCREENING_PROBES)]
        pool = self.loo.unprobed(_PROBED_SHARE)
        rows = self.loo.rows(scaled)
        steps = _MOST_STEPS if self.gamma == "loo" else 0

        def score_of(chooser, probes):
            def score(gamma):
                feature_map = chooser(gamma)
                value = self.loo.score(map_overlaps(feature_map, rows, probes), probes)
                name = type(feature_map).__name__
                self.candidates.append(Candidate(rule, name, gamma, value, len(probes)))
                return value

            return score

        def first_gamma(kind, chooser):
            if _is_landmarks(kind) or not steps:
                return start
            # Random features are noise where the kernel itself does best.
            gammas = [start * part for part in _PARTS]
            return max(gammas, key=score_of(chooser, few))

        choosers = [self._chooser(kind, scaled, pool) for kind in kinds]
        gamma = first_gamma(kinds[0], choosers[0])
        found = [(*climb(score_of(choosers[0], probes), gamma, steps), kinds[0])]
        for kind, chooser in zip(kinds[1:], choosers[1:], strict=True):
            known = score_of(choosers[0], few)(found[0][1])
            gamma = first_gamma(kind, chooser)
            value, gamma = climb(score_of(chooser, few), gamma, steps)
            if value > known - _CLOSE:
                found.append((*climb(score_of(chooser, probes), gamma, steps), kind))
        _, gamma, kind = max(found, key=lambda each: each[0])
        return kind, gamma

    def _chooser(self, kind, scaled, pool):
        return MapChooser(
            kind,
            scaled[pool],
            None if self.weights is None else self.weights[pool],
            self.n_components,
            self.seed,
            self.bounded,
            groups=self.groups[pool] if self.landmarks_by_group else None,
            for_outcomes=True,
            grids=self.grids,
            schema=self.schema,
        )


def _is_landmarks(kind):
    return kind in ("auto", "landmarks") or isinstance(kind, LandmarkFeatures)
