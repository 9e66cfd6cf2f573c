"""The plan of a density: scaling by a rule, γ by leave-one-out likelihood."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.fast import small_algebra
from rhokit.plans.bandwidth import choose_gamma, choose_kernel
from rhokit.plans.maps import MapChooser
from rhokit.plans.mosaic import plan_mosaic
from rhokit.plans.plan import Plan
from rhokit.plans.proposal import Proposal
from rhokit.plans.request import PlanRequest, refuse_endless
from rhokit.plans.scaling import Scaling
from rhokit.validation import FARTHEST, level_of_the_user, refuse_far

# Landmarks by default, and the share of a density that they must hold, as so many rows
# tell; where it is less, a mosaic follows the kernel.
_ENOUGH, _LEAST_REACH, _REACH_ROWS = 1024, 0.999, 2000


def plan_density(request: PlanRequest, batch: Batch) -> Plan:
    """Choose scaling, γ and map for a density of these rows.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
    """
    rows, weights, columns = batch.rows, batch.weights, batch.columns
    if isinstance(request.kernel, tuple):
        scaled = Scaling.from_rows(request.scale_rule, rows, weights).apply(rows)
        kernel, tried = choose_kernel(request, scaled, weights)
        plan = plan_density(replace(request, kernel=kernel), batch)
        return replace(plan, candidates=(*plan.candidates, *tried))
    family = request.density_family(columns)
    if family == "mosaic":
        return plan_mosaic(request, batch)
    is_number = None if columns.schema is None else columns.schema.is_number
    rule = request.scale_rule
    scaling = Scaling.from_rows(rule, rows, weights, is_number=is_number)
    scaled = scaling.apply(rows)
    chooser = MapChooser(request, scaled, weights, schema=columns.schema)
    if family == "given":
        feature_map = chooser(None)
        own = feature_map.representation
        kind = request.representation if own == "matrix" else own
        return Plan(columns, scaling, None, feature_map, kind)
    if not request.is_gaussian:
        refuse_endless(request.kernel, request.power)
    if max(scaled.max(), -scaled.min()) >= FARTHEST[scaled.dtype]:
        seen = scaled if weights is None else scaled[weights > 0]
        refuse_far(seen, columns.names if columns.schema is None else None)
    gamma = request.gamma
    if isinstance(gamma, str):
        gamma = choose_gamma(gamma, chooser, np.random.default_rng(request.seed))
    feature_map = chooser(gamma * 2 / request.power)
    own = feature_map.representation  # what a map asks for, if it is no matrix
    kind = request.representation if own == "matrix" else own
    if own == "series":
        return Plan(columns, scaling, gamma, feature_map, kind)
    if request.may_be_mosaic(columns) and _misses(feature_map, scaled, request):
        return plan_mosaic(replace(request, feature_map="mosaic", gamma=gamma), batch)
    if columns.n_features <= 2:
        _warn_of_landmarks(chooser, gamma, feature_map.n_columns_)
    rng = np.random.default_rng(request.seed)
    with small_algebra(scaled.shape[1]):
        proposal = Proposal.from_rows(scaled, weights, gamma, rng)
    return Plan(columns, scaling, gamma, feature_map, kind, proposal=proposal)


def _misses(feature_map: Any, scaled: NDArray[Any], request: PlanRequest) -> bool:
    """Whether landmarks, as many as there are by default, are too few for the kernel.

    Cells then follow it better. Who asks for another number wants landmarks.
    """
    asked_for = request.n_components < _ENOUGH
    if asked_for or feature_map.n_columns_ < request.n_components:
        return False
    step = max(1, len(scaled) // _REACH_ROWS)
    reach = feature_map.lengths(scaled[::step])
    return bool(np.mean(reach**2) < _LEAST_REACH)


def _warn_of_landmarks(chooser: MapChooser, gamma: float, n_columns: int) -> None:
    """Warn where few columns got landmarks, which are not even all rows."""
    request = chooser.request
    wanted = request.feature_map
    expected = isinstance(wanted, str) and wanted == "auto" and request.takes_series
    if not expected or not request.is_gaussian or chooser.rows.shape[1] > 2:
        return
    if n_columns >= request.n_components and not chooser.has_few_rows:
        warnings.warn(
            f"the rows span too many widths of a kernel of gamma={gamma:.4g} "
            "for a grid: landmarks are taken, which are less exact. Leave out rows "
            "far away from all others, or give a smaller gamma",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
