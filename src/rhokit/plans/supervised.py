"""The plan of a model with a target: scaling, map and γ by leave-one-out."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import (
    CoherentFeatures,
    FeatureMap,
    FourierFeatures,
)
from rhokit.kernels import CoherentKernel, kernel_of
from rhokit.plans.bandwidth import climb
from rhokit.plans.leave_one_out import (
    MOST_ROWS,
    LeaveOneOut,
    map_overlaps,
)
from rhokit.plans.maps import MapChooser
from rhokit.plans.plan import SAMPLE_ROWS, Candidate, Plan
from rhokit.plans.request import PlanRequest
from rhokit.plans.scale_choice import ScaleChoice

# Of an approximate map, at most this share of the rows: landmarks are not chosen from
# the rows that probe them, which would make them look better than they are.
_PROBED_SHARE = 0.25
_MOST_STEPS = 6
_PARTS = (1, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
# Rivals to landmarks are first tried on so many probes, and followed up only if they
# come close.
_SCREENING_PROBES = 256
_CLOSE = 0.03


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
        self.candidates: list[Candidate] = []
        self.scales = ScaleChoice(request, batch, loo, groups, self.candidates)

    def run(self) -> Plan:
        """The plan."""
        rule, scaling, gamma, kernel = self.scales.run()
        self.request = replace(self.request, kernel=kernel)
        scaled = scaling.apply(self.batch.rows)
        weights = self.batch.weights
        self.scales.refuse_far(scaled if weights is None else scaled[weights > 0])
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
            importances=self.scales.importances(scaling),
            candidates=tuple(self.candidates),
        )

    # ---- maps ----------------------------------------------------------------------

    def _wanted_maps(self, d: int) -> list[Any]:
        """The maps to compare: names, or instances."""
        wanted, few = self.request.feature_map, d <= 2
        automatic = isinstance(wanted, str) and wanted == "auto"
        kernel = kernel_of(self.request.kernel, 1.0)
        if automatic and isinstance(kernel, CoherentKernel):
            exact = CoherentFeatures(spin=kernel.spin)
            if exact.size(d) <= self.request.n_components:
                return [exact]  # nothing is approximated
        few = few and self.request.is_gaussian
        if not automatic or (few and self.batch.columns.schema is None):
            return [wanted]
        if self._has_all_landmarks:
            return ["landmarks"]
        rival = FourierFeatures(
            n_components=self.request.n_components,
            form="pair",
            sampling="orthogonal",
            kernel=self.request.kernel,
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
        kernel = kernel_of(self.request.kernel, 1.0).name
        found = Candidate(rule, name, gamma, value, n_probes, kernel)
        self.candidates.append(found)
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
