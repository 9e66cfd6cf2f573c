"""From an estimator's parameters and the first rows to a model without rows."""

from typing import Any

from rhokit.batch import Batch
from rhokit.models import Model, plan_outcomes
from rhokit.plans import PlanRequest
from rhokit.plans.request import check_map, refuse_maps_of_numbers
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
    request = PlanRequest(
        estimator.feature_map,
        estimator.gamma,
        estimator.n_components,
        estimator.scale,
        seed=int(generator(estimator.random_state).integers(2**31 - 1)),
        bounded=bounded,
        power=representation.power,
        representation=representation.name,
        takes_series=representation.may_be_series
        and readout.takes_series
        and rank is None,
    )
    check_map(request.feature_map, request.takes_series)
    if batch.columns.schema is not None:
        refuse_maps_of_numbers(request.feature_map, batch.columns)
    if readout.has_target:
        readout.check_rank(rank, owner)
        by_rank = isinstance(rank, str) and rank == "loo"
        readout = readout.learn(batch.target, batch.weights, foreseen, owner)
        plan, readout = plan_outcomes(
            request, batch, readout, representation, by_rank=by_rank
        )
    else:
        plan = representation.plan_density(request, batch)
    return Model(plan, readout, batch_size=estimator.batch_size)
