"""Models of an estimator: chosen by rows, asked with parameters, brought together."""

from dataclasses import replace
from typing import Any

from rhokit.batch import Batch
from rhokit.models import Model, plan_outcomes, takes_blend
from rhokit.plans import PlanRequest
from rhokit.plans.request import (
    check_map,
    numeric_rows,
    own_kernel,
    refuse_categories,
    refuse_maps_of_numbers,
)
from rhokit.representations import REPRESENTATIONS
from rhokit.validation import generator


def chosen_model(
    estimator: Any, batch: Batch, *, bounded: bool, foreseen: Any = None
) -> Model:
    """A model without rows, whose plan and read-out are chosen from these.

    Parameters
    ----------
    estimator : OnePassEstimator
        Whose parameters count; it is left as it is.
    batch : Batch
    bounded : bool
        Whether these are all the rows that will come.
    foreseen : array-like, optional
        Targets that will come and that the rows may lack.
    """
    owner, rank = type(estimator).__name__, estimator.rank
    readout = estimator.make_readout()
    representation = REPRESENTATIONS[estimator.representation]
    request = _request(estimator, readout, bounded=bounded)
    check_map(request.feature_map, request.takes_series)
    if numeric_rows(request.feature_map):
        batch = batch.told(bounded=bounded)
    if batch.columns.schema is not None:
        refuse_maps_of_numbers(request.feature_map, batch.columns)
        refuse_categories(request.kernel, batch.columns)
    if readout.has_target:
        readout.check_rank(rank, owner)
        by_rank = isinstance(rank, str) and rank == "loo"
        readout = readout.learn(batch.target, batch.weights, foreseen, owner)
        plan, readout = plan_outcomes(
            request, batch, readout, representation, by_rank=by_rank
        )
    else:
        plan = representation.plan_density(request, batch)
        plan = replace(plan, sample_rows=readout.sample_rows)
    return Model(plan, readout, batch_size=estimator.batch_size)


def _request(estimator: Any, readout: Any, *, bounded: bool) -> PlanRequest:
    """What the parameters of an estimator demand of a plan."""
    owner = type(estimator).__name__
    check_map(estimator.feature_map)
    representation = REPRESENTATIONS[estimator.representation]
    return PlanRequest(
        estimator.feature_map,
        "loo" if estimator.gamma is None else estimator.gamma,
        estimator.n_components,
        estimator.scale,
        seed=int(generator(estimator.random_state).integers(2**31 - 1)),
        bounded=bounded,
        power=representation.power,
        representation=representation.name,
        has_gaps=estimator.missing == "integrate",
        kernel=own_kernel(estimator.feature_map, estimator.kernel, owner),
        takes_series=representation.may_be_series
        and readout.takes_series
        and estimator.rank is None,
        may_blend=representation.may_be_series
        and readout.has_target
        and readout.may_blend
        and estimator.rank is None,
    )


def chooses_blend(estimator: Any, batch: Batch) -> bool:
    """Whether the plan that is chosen from these rows will be a blend."""
    readout = estimator.make_readout()
    if not readout.has_target:
        return False
    request = _request(estimator, readout, bounded=True)
    check_map(request.feature_map, request.takes_series)
    return takes_blend(request, batch, readout)


def asked_model(estimator: Any, model: Model) -> Model:
    """A model as it is asked with the parameters of today."""
    readout, rank = estimator.make_readout(model.readout), estimator.rank
    if rank is not None:
        owner = type(estimator).__name__
        rank = model.plan.chosen_rank(rank)
        readout.check_rank(rank, owner)
        model.representation.check_rank(rank, owner)
    wanted = rank, estimator.batch_size, estimator.missing == "integrate"
    if readout is model.readout and wanted == model.asked_with:
        return model
    rank, batch_size, may_miss = wanted
    return replace(
        model, readout=readout, rank=rank, batch_size=batch_size, may_miss=may_miss
    )


def mergeable_models(
    estimator: Any, what: str, mine: Model, others: tuple[Any, ...]
) -> list[Model]:
    """The models of others that have seen rows, if all can be brought together."""
    for other in others:
        if type(other) is not type(estimator):
            raise TypeError(
                f"{what}: a {type(estimator).__name__} takes models of its own class, "
                f"got {type(other).__name__}"
            )
    models = [other.prepared_model() for other in others]
    for model in models:
        mine.refuse_unlike(model, what)
    return [model for model in models if model.state is not None]
