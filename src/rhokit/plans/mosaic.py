"""The plan of a mosaic: scaling by a rule, the rest by held-out likelihood."""

from typing import Any

import numpy as np

from rhokit.batch import Batch
from rhokit.features.bandwidth import gamma_by_rule
from rhokit.features.registry import make_map
from rhokit.plans.plan import Candidate, Plan
from rhokit.plans.request import MIXING_SCALES, PlanRequest
from rhokit.plans.scaling import Scaling
from rhokit.validation import FARTHEST, refuse_far


def plan_mosaic(request: PlanRequest, batch: Batch) -> Plan:
    """Choose shapes, layers and cells for a density of these rows.

    With a γ, for the kernel density estimate of that.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
    """
    columns, weights = batch.columns, batch.weights
    scaling = Scaling.from_rows(
        _rule(request), batch.rows, weights, is_number=columns.is_number
    )
    scaled = scaling.apply(batch.rows)
    if max(scaled.max(), -scaled.min()) >= FARTHEST[scaled.dtype]:
        refuse_far(batch.seen().rows, columns.names if columns.schema is None else None)
    gamma = _gamma(request, scaled, weights)
    wanted = "mosaic" if isinstance(request.feature_map, str) else request.feature_map
    mosaic: Any = make_map(wanted, gamma=gamma, random_state=request.seed)
    columns.give_to(mosaic)
    zeros = scaling.apply(np.zeros((1, columns.width)))[0]
    mosaic.choose(scaled, weights, zeros)
    candidates = tuple(
        Candidate(
            "std", f"mosaic of {each.n_cells} cells", gamma, each.score, each.n_probes
        )
        for each in mosaic.tried_
    )
    return Plan(columns, scaling, gamma, mosaic, "mosaic", candidates=candidates)


def _rule(request: PlanRequest) -> Any:
    """The rule of the scaling, of columns one by one."""
    scale = request.scale
    if not isinstance(scale, str):
        return scale
    if scale in MIXING_SCALES:
        raise ValueError(
            "The 'scale' parameter must be 'auto', 'std', 'robust', 'common', None or "
            "widths for a mosaic, whose cells have metrics of their own. Got "
            f"{scale!r} instead."
        )
    return "std" if scale == "auto" else scale


def _gamma(request: PlanRequest, scaled: Any, weights: Any) -> float | None:
    """γ of a kernel to follow, if any."""
    gamma = request.gamma
    if not isinstance(gamma, str):
        return float(gamma)
    return None if gamma == "loo" else gamma_by_rule(gamma, scaled, weights)
