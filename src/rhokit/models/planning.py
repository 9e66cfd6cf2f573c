"""The plan and the read-out of a model with a target, by leave-one-out."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import BlendFeatures, group_rows, row_keys
from rhokit.models.model import Model
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
# Of fewer rows than this, folds say if ordered labels take blends.
_LEAST_WEIGHED_ROWS, _MOST_WEIGHED_ROWS, _FOLDS = 64, 1200, 3


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
        return _blend(request, batch, readout, representation)
    if _weighs_blend(request, batch, readout) and _is_better_by_folds(
        _blend, _matrices, request, batch, readout, representation
    ):
        return _blend(request, batch, readout, representation)
    return _matrices(request, batch, readout, representation, by_rank=by_rank)


def _blend(
    request: PlanRequest,
    batch: Batch,
    readout: Any,
    representation: type[Representation],
) -> tuple[Plan, Any]:
    """Plan and read-out of a blend."""
    readout = blended(readout)
    return plan_blend(request, batch, readout), readout


def _matrices(
    request: PlanRequest,
    batch: Batch,
    readout: Any,
    representation: type[Representation],
    *,
    by_rank: bool = False,
) -> tuple[Plan, Any]:
    """Plan and read-out of a density matrix for each outcome, or of another map."""
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
        if not request.may_blend:
            raise ValueError(
                "The 'feature_map' parameter must not be 'blend' for joint or "
                f"overlapping states and for a rank: take 'landmarks'. Got {wanted!r} "
                "instead."
            )
        return True
    return name == "auto" and _suits_blend(request, batch, readout)


def _suits_blend(request: PlanRequest, batch: Batch, readout: Any) -> bool:
    """Whether nothing else is asked for, of rows that a blend is good for."""
    if not _is_free(request) or not readout.suits_blend:
        return False
    if readout.weighs_blends and len(batch) < _MOST_WEIGHED_ROWS:
        return False
    width = batch.columns.width
    if not _LEAST_BLEND_COLUMNS <= width <= _MOST_BLEND_COLUMNS:
        return False
    return _has_rows(batch, _LEAST_BLEND_ROWS)


def _weighs_blend(request: PlanRequest, batch: Batch, readout: Any) -> bool:
    """Whether folds say if a blend or matrices are better for so few rows."""
    wanted = request.feature_map
    free = isinstance(wanted, str) and wanted == "auto" and _is_free(request)
    if not (free and readout.weighs_blends and readout.suits_blend):
        return False
    few = len(batch) < _MOST_WEIGHED_ROWS
    return few and batch.columns.width > 1 and _has_rows(batch, _LEAST_WEIGHED_ROWS)


def _is_free(request: PlanRequest) -> bool:
    """Whether γ and scaling are left open, and rows are whole."""
    chosen = isinstance(request.gamma, str) and request.gamma == "loo"
    chosen = chosen and request.is_gaussian
    free = chosen and request.scales_by_itself and request.may_blend
    return free and not request.has_gaps


def _has_rows(batch: Batch, count: int) -> bool:
    """Whether so many rows differ."""
    few = batch.seen().rows[: 4 * count]  # mostly tells already
    return len(group_rows(few)[0]) >= count


def _is_better_by_folds(
    way: Any,
    other: Any,
    request: PlanRequest,
    batch: Batch,
    readout: Any,
    representation: type[Representation],
) -> bool:
    """Whether rows that others predict gain by one way of planning over another.

    By more than a standard error of the mean gain, in which copies are one row.
    """
    seen = batch.seen()
    keys = row_keys(seen.rows, np.zeros(len(seen)))
    fold = _folds(readout.groups(readout.encode(seen.target), seen.weights), keys)
    gains = np.zeros(len(seen))
    for number in np.unique(fold[fold >= 0]):
        known, judges = seen.take(fold != number), seen.take(fold == number)
        errors = []
        for each in (other, way):
            model = Model(*each(request, known, readout, representation)).add(known)
            errors.append(model.readout.errors_of(model, judges))
        gains[fold == number] = errors[0] - errors[1]
    weight = seen.mass * (fold >= 0)
    total = weight @ gains
    parts = weight * (gains - total / max(weight.sum(), np.finfo(float).tiny))
    _, copies = np.unique(keys, return_inverse=True)
    return bool(total > np.linalg.norm(np.bincount(copies, parts)))


def _folds(groups: NDArray[Any], keys: NDArray[Any]) -> NDArray[np.intp]:
    """Folds (n,) by hashes of the rows: copies are in one, and order does not matter.

    Each group is dealt out by itself; the only row of one judges nothing, and has -1.
    """
    fold = np.full(len(keys), -1)
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        names, places = np.unique(keys[own], return_inverse=True)
        if len(names) > 1:
            fold[own] = places % _FOLDS
    return fold


def _witnesses(
    batch: Batch, target: NDArray[Any], readout: Any
) -> NDArray[np.bool_] | None:
    """Rows that will be sampled, where these must not become landmarks."""
    if not readout.needs_witnesses:
        return None
    names, size = readout.names(target), witness_count(len(batch))
    sample = RowSample.of(batch.rows, target, batch.weights, size, names)
    return sample.holds(batch.rows, names)
