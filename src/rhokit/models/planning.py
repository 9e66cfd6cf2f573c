"""The plan and the read-out of a model with a target, by leave-one-out."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.models.row_sample import RowSample
from rhokit.plans import Plan, PlanRequest, SupervisedChoice
from rhokit.plans.leave_one_out import (
    LeaveOneOut,
    Overlaps,
    choose_rank_by_score,
    map_overlaps,
)
from rhokit.plans.supervised import witness_count
from rhokit.representations import Representation


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
    target = readout.encode(batch.target, batch.weights)
    task = readout.task(target, batch.weights)
    loo = LeaveOneOut(batch, target, task, np.random.default_rng(request.seed))
    if request.is_gaussian:
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


def _witnesses(
    batch: Batch, target: NDArray[Any], readout: Any
) -> NDArray[np.bool_] | None:
    """Rows that will be sampled, where these must not become landmarks."""
    if not readout.needs_witnesses:
        return None
    names, size = readout.names(target), witness_count(len(batch))
    sample = RowSample.of(batch.rows, target, batch.weights, size, names)
    return sample.holds(batch.rows, names)
