"""The plan and the read-out of a model with a target, by leave-one-out."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import BlendFeatures, group_rows
from rhokit.models.row_sample import RowSample
from rhokit.plans import Plan, PlanRequest, SupervisedChoice
from rhokit.plans.leave_one_out import (
    LeaveOneOut,
    Overlaps,
    choose_rank_by_score,
    map_overlaps,
)
from rhokit.plans.supervised import witness_count
from rhokit.readouts import blended
from rhokit.representations import Representation, plan_blend

# "auto" takes blends of so many columns, and of so many rows that differ.
_LEAST_BLEND_COLUMNS, _MOST_BLEND_COLUMNS = 3, 2**15 - 1
_LEAST_BLEND_ROWS = 240


def plan_outcomes(
    request: PlanRequest,
    batch: Batch,
    readout: Any,
    representation: type[Representation],
    *,
    by_rank: bool,
) -> tuple[Plan, Any]:
    """Plan and read-out that predict the targets of rows left out best.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
    readout : TargetReadOut
        That knows these targets.
    representation : subclass of Representation
        What a state is, unless the map asks for another one.
    by_rank : bool
        Whether the rank is to be chosen, too.
    """
    if takes_blend(request, batch, readout):
        readout = blended(readout)
        return plan_blend(request, batch, readout), readout
    target = readout.encode(batch.target, batch.weights)
    task = readout.task(target, batch.weights)
    loo = LeaveOneOut(batch, target, task, np.random.default_rng(request.seed))
    if request.has_gamma:
        choice = SupervisedChoice(
            request,
            batch,
            loo,
            readout.groups(target, batch.weights),
            landmarks_by_group=readout.landmarks_by_group,
            witnesses=_witnesses(batch, target, readout),
        )
        plan = representation.plan_outcomes(choice)
    else:
        plan = representation.plan_density(request, batch)
        plan = replace(plan, compares_outcomes=True)
    sample = plan.scale(loo.rows(batch.rows))

    def overlaps(probes: NDArray[np.intp]) -> Overlaps:
        return map_overlaps(plan.feature_map, sample, probes)

    readout = readout.chosen(loo, overlaps, request.seed)
    if by_rank:
        states = plan.feature_map.transform(sample)
        rank = choose_rank_by_score(loo, readout.rank_task(), states)
        plan = replace(plan, loo_rank=rank)
    return plan, readout


def takes_blend(request: PlanRequest, batch: Batch, readout: Any) -> bool:
    """Whether a blend is asked for, or is what ``"auto"`` takes for these rows."""
    wanted = request.feature_map
    name = wanted if isinstance(wanted, str) else wanted.name
    if name == BlendFeatures.name:
        if readout.blended is None or not request.takes_series:
            raise ValueError(
                "The 'feature_map' parameter must not be 'blend' for joint states and "
                f"for a rank: take 'landmarks'. Got {wanted!r} instead."
            )
        return True
    return name == "auto" and _suits_blend(request, batch, readout)


def _suits_blend(request: PlanRequest, batch: Batch, readout: Any) -> bool:
    """Whether nothing else is asked for, of rows that a blend is good for."""
    chosen = isinstance(request.gamma, str) and request.gamma == "loo"
    chosen = chosen and request.is_gaussian
    free = chosen and request.scales_by_itself and request.takes_series
    if not free or request.has_gaps or readout.blended is None:
        return False
    width = batch.columns.width
    if not _LEAST_BLEND_COLUMNS <= width <= _MOST_BLEND_COLUMNS:
        return False
    few = batch.seen().rows[: 4 * _LEAST_BLEND_ROWS]  # mostly tells already
    return len(group_rows(few)[0]) >= _LEAST_BLEND_ROWS


def _witnesses(
    batch: Batch, target: NDArray[Any], readout: Any
) -> NDArray[np.bool_] | None:
    """Rows that will be sampled, where these must not become landmarks."""
    if not readout.needs_witnesses:
        return None
    names, size = readout.names(target), witness_count(len(batch))
    sample = RowSample.of(batch.rows, target, batch.weights, size, names)
    return sample.holds(batch.rows, names)
