"""The plan of a model with a target: scaling, map and γ by leave-one-out."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import (
    FeatureMap,
    FourierFeatures,
    gamma_by_rule,
)
from rhokit.plans.bandwidth import climb
from rhokit.plans.leave_one_out import (
    MOST_ROWS,
    LeaveOneOut,
    kernel_overlaps,
    map_overlaps,
    squared_distances,
)
from rhokit.plans.maps import MapChooser
from rhokit.plans.plan import SAMPLE_ROWS, Candidate, Plan
from rhokit.plans.request import PlanRequest
from rhokit.plans.scaling import Scaling
from rhokit.validation import refuse_far

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
# Of more columns, the covariance inside groups costs more than it may bring.
_MOST_WITHIN_COLUMNS = 1024


class SupervisedChoice:
    """Finds scaling, map and γ; keeps every candidate with its score.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
        All rows.
    loo : LeaveOneOut
        Of these rows.
    groups : array of shape (n,)
        Which rows belong together, for the scaling.
    landmarks_by_group : bool
        Whether groups get landmarks of their own.
    witnesses : array of shape (n,), bool, optional
        Rows that landmarks must not be chosen from, where they are not all rows.
    """

    def __init__(
        self,
        request: PlanRequest,
        batch: Batch,
        loo: LeaveOneOut,
        groups: NDArray[Any],
        *,
        landmarks_by_group: bool,
        witnesses: NDArray[np.bool_] | None = None,
    ) -> None:
        self.request, self.batch, self.loo = request, batch, loo
        self.groups = groups
        self.landmarks_by_group = landmarks_by_group
        self.witnesses = witnesses
        self.by_score = isinstance(request.gamma, str) and request.gamma == "loo"
        self.rng = np.random.default_rng(request.seed)
        self.candidates: list[Candidate] = []

    def run(self) -> Plan:
        """The plan."""
        rule, scaling, gamma = self._choose_scale()
        scaled = scaling.apply(self.batch.rows)
        weights = self.batch.weights
        self._refuse_far(scaled if weights is None else scaled[weights > 0])
        everything = np.ones(len(scaled), bool)
        wanted = self._wanted_maps(scaled.shape[1])
        kind = wanted[0]
        chooser = self._chooser(kind, scaled, everything)
        if len(wanted) > 1 or (self.by_score and not self._resolves(chooser, gamma)):
            # Half the digits decide the same, in half the time.
            narrow = scaled if scaling.is_identity else scaled.astype(np.float32)
            kind, gamma = self._choose_map(wanted, narrow, gamma, rule)
            chooser = self._chooser(kind, scaled, everything)
        if self.by_score and chooser.resolves(gamma):
            # It resolves any bandwidth: go on to that of all rows, by the usual rate.
            growth = self.loo.total_weight / self.loo.mass.sum()
            gamma *= float(growth) ** (2 / (scaled.shape[1] + 4))
        sample_rows = SAMPLE_ROWS
        if self.witnesses is not None and self._misses_witnesses(chooser, gamma):
            sample_rows = witness_count(len(scaled))
            chooser = self._chooser(kind, scaled, ~self.witnesses)
        feature_map = chooser(gamma)
        return Plan(
            self.batch.columns,
            scaling,
            gamma,
            feature_map,
            feature_map.representation,
            compares_outcomes=True,
            sample_rows=sample_rows,
            candidates=tuple(self.candidates),
        )

    # ---- scaling -------------------------------------------------------------------

    def _choose_scale(self) -> tuple[Any, Scaling, float]:
        """Rule and scaling that suit the exact kernel best, and γ to start from.

        A γ that is given, or that a rule gives, is taken in the units of the scaling,
        and has no say in its choice.
        """
        self._refuse_equal_rows()
        rules = self._scale_rules()
        is_number = self.batch.columns.is_number
        found = [
            (
                rule,
                Scaling.from_rows(rule, *self._rows_for_scaling(), is_number=is_number),
            )
            for rule in rules
        ]
        if len(found) == 1 and not self.by_score:
            rule, scaling = found[0]
            return rule, scaling, self._given_gamma(scaling)
        scored = [
            (score, rule, scaling, gamma)
            for rule, scaling in found
            for gamma, score in self._kernel_scores(rule, scaling)
        ]
        rule, scaling, gamma = max(scored, key=lambda each: each[0])[1:]
        return rule, scaling, gamma if self.by_score else self._given_gamma(scaling)

    def _scale_rules(self) -> list[Any]:
        """Rules of scaling to choose from."""
        d = self.batch.rows.shape[1]
        if not self.request.scales_by_itself:
            return [self.request.scale_rule]
        if d == 1 or self.loo.n_distinct < 2:
            return ["std"]
        within = ["within"] if d <= _MOST_WITHIN_COLUMNS else []
        return ["std", "common", *within]

    def _rows_for_scaling(self) -> tuple[Any, Any, Any]:
        """Rows, weights and groups, not more than needed to see their spread."""
        batch, groups = self.batch, self.groups
        if len(batch) > _MOST_SCALING_ROWS:
            some = self.rng.choice(len(batch), _MOST_SCALING_ROWS, replace=False)
            batch, groups = batch.take(some), groups[some]
        return batch.rows, batch.weights, groups

    def _refuse_equal_rows(self) -> None:
        gamma = self.request.gamma
        if isinstance(gamma, str) and self.loo.n_distinct < 2:
            raise ValueError(
                f"gamma={gamma!r} cannot be computed from rows that are all "
                f"equal (n_samples={self.loo.n_rows}): give gamma as a number"
            )

    def _refuse_far(self, scaled: NDArray[Any]) -> None:
        columns = self.batch.columns
        refuse_far(scaled, columns.names if columns.schema is None else None)

    def _given_gamma(self, scaling: Scaling) -> float:
        """γ as a number, or by a rule that needs no scores."""
        gamma = self.request.gamma
        if not isinstance(gamma, str):
            return float(gamma)
        rows = scaling.apply(self.loo.rows(self.batch.rows))
        self._refuse_far(rows)
        mass, total = self.loo.mass, self.loo.total_weight
        return gamma_by_rule(gamma, rows, mass, n_rows=total, rng=self.rng)

    def _kernel_scores(self, rule: Any, scaling: Scaling) -> list[tuple[float, float]]:
        """Pairs of γ and the exact kernel's score."""
        rows = scaling.apply(self.loo.rows(self.batch.rows))
        self._refuse_far(rows)
        median = gamma_by_rule("median", rows, self.loo.mass, rng=self.rng)
        probes = self.loo.probes()
        squares = squared_distances(rows.astype(np.float32), probes)

        def scores(gammas: NDArray[Any]) -> list[tuple[float, float]]:
            values = [
                self.loo.score(kernel_overlaps(squares, gamma), probes)
                for gamma in gammas
            ]
            pairs = list(zip(gammas.tolist(), values, strict=True))
            self.candidates += [
                Candidate(rule, "exact", each, value, len(probes))
                for each, value in pairs
            ]
            return pairs

        coarse = scores(median * _COARSE)
        top = max(coarse, key=lambda pair: pair[1])[0]
        return coarse + scores(top * _FINE)

    # ---- maps ----------------------------------------------------------------------

    def _wanted_maps(self, d: int) -> list[Any]:
        """The maps to compare: names, or instances."""
        wanted, few = self.request.feature_map, d <= 2
        automatic = isinstance(wanted, str) and wanted == "auto"
        if not automatic or (few and self.batch.columns.schema is None):
            return [wanted]
        if self._has_all_landmarks:
            return ["landmarks"]
        rival = FourierFeatures(
            n_components=self.request.n_components, form="pair", sampling="orthogonal"
        )
        return ["landmarks", rival]

    @property
    def _has_all_landmarks(self) -> bool:
        """Whether landmarks would be all rows, so that nothing is approximated."""
        loo = self.loo
        few = loo.n_distinct <= self.request.n_components
        return loo.n_rows <= MOST_ROWS and few

    def _is_exact(self, kind: Any) -> bool:
        named = isinstance(kind, str) and kind in ("auto", "landmarks")
        return named and self._has_all_landmarks

    def _resolves(self, chooser: MapChooser, gamma: float) -> bool:
        """Whether the map follows the kernel itself, for which γ was chosen."""
        if self._is_exact(chooser.request.feature_map):
            return True
        return self.request.takes_series and chooser.resolves(gamma)

    def _misses_witnesses(self, chooser: MapChooser, gamma: float) -> bool:
        """Whether the final map must be made without the witnesses."""
        kind = chooser.kind(gamma)
        return not self._is_exact(kind) and _is_from_data(kind)

    def _choose_map(
        self, wanted: list[Any], scaled: NDArray[Any], start: float, rule: Any
    ) -> tuple[Any, float]:
        """The map, and its γ, with the best leave-one-out score of its own.

        With a γ that is given, the map with the best score there. The choice of γ ends
        with that, too, so that giving it back chooses the same map.
        """
        turns = self.loo.turns(_PROBED_SHARE)
        most = _SCREENING_PROBES // len(turns)
        few = [self.loo.some_of(probes, most) for probes in turns]
        pools = [self.loo.unprobed(probes) for probes in turns]
        rows = self.loo.rows(scaled)
        choosers = [[self._chooser(kind, scaled, p) for p in pools] for kind in wanted]

        @cache
        def score(kind: int, is_screening: bool, gamma: float) -> float:
            maps = [chooser(gamma) for chooser in choosers[kind]]
            return self._map_score(maps, rows, few if is_screening else turns, rule)

        def score_of(kind: int, *, is_screening: bool) -> Any:
            return partial(score, kind, is_screening)

        def first_gamma(kind: int, start: float, steps: int) -> float:
            if _is_from_data(wanted[kind]) or not steps:
                return start
            # Random features are noise where the kernel itself does best.
            gammas = [start * part for part in _PARTS]
            return max(gammas, key=score_of(kind, is_screening=True))

        def best(start: float, steps: int) -> tuple[Any, float]:
            own = first_gamma(0, start, steps)
            value, gamma = climb(score_of(0, is_screening=False), own, steps)
            found = [(value, gamma, wanted[0])]
            for kind in range(1, len(wanted)):
                own = first_gamma(kind, start, steps)
                value, own = climb(score_of(kind, is_screening=True), own, steps)
                if value > score(0, True, gamma) - _CLOSE:
                    whole = climb(score_of(kind, is_screening=False), own, steps)
                    found.append((*whole, wanted[kind]))
            _, gamma, chosen = max(found, key=lambda each: each[0])
            return chosen, gamma

        if not self.by_score:
            return best(start, 0)
        chosen, gamma = best(start, _MOST_STEPS)
        return best(gamma, 0) if len(wanted) > 1 else (chosen, gamma)

    def _map_score(
        self,
        feature_maps: list[FeatureMap],
        rows: NDArray[Any],
        turns: list[NDArray[np.intp]],
        rule: Any,
    ) -> float:
        """Score of maps of one kind and γ, each of which is asked for its probes."""
        overlaps = [
            map_overlaps(feature_map, rows, probes)
            for feature_map, probes in zip(feature_maps, turns, strict=True)
        ]
        value, one = self.loo.score_in_turns(overlaps, turns), feature_maps[0]
        name, gamma = type(one).__name__, one.get_params()["gamma"]
        n_probes = sum(map(len, turns))
        self.candidates.append(Candidate(rule, name, gamma, value, n_probes))
        return value

    def _chooser(
        self, kind: Any, scaled: NDArray[Any], pool: NDArray[np.bool_]
    ) -> MapChooser:
        weights = self.batch.weights
        return MapChooser(
            replace(self.request, feature_map=kind),
            scaled[pool],
            None if weights is None else weights[pool],
            groups=self.groups[pool] if self.landmarks_by_group else None,
            for_outcomes=True,
            schema=self.batch.columns.schema,
        )


def witness_count(n_rows: int) -> int:
    """How many rows may be kept out of the choice of landmarks."""
    return min(SAMPLE_ROWS, max(1, n_rows // 4))


def _is_from_data(kind: Any) -> bool:
    """Whether a map looks better to rows that it was made from."""
    if isinstance(kind, str):
        return kind in ("auto", "landmarks")
    return bool(kind.from_data)
