"""A model that learns batch by batch in place of the user's, until all went well."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rhokit.batch import Batch, Columns
from rhokit.errors import DataError
from rhokit.estimators.base import OnePassEstimator
from rhokit.plans.request import check_map
from rhokit.plans.request import takes_categories as map_takes_categories

# The least share of the past that is kept by one block: below it, it is gone.
_LEAST_DECAY = 1e-300
# Rows to choose scaling, γ and map from.
_SAMPLE_ROWS = 20_000
_SAMPLE_ROWS_PER_COMPONENT = 10


def check_one_pass(estimator: Any) -> None:
    """Refuse what does not learn by adding up, and parameters that cannot be.

    Batches of one fit are then checked as ``one_of_many``.
    """
    if not isinstance(estimator, OnePassEstimator):
        raise TypeError(
            "estimator must be a one-pass model, which learns by adding up, got "
            f"{type(estimator).__name__}"
        )
    estimator.check_constructor(estimator.get_params(deep=False))


def fresh(estimator: OnePassEstimator) -> OnePassEstimator:
    """A model to work on that holds no rows.

    What was prepared and holds no rows keeps its scaling, γ and map.
    """
    if estimator.is_prepared and estimator.state_ is None:
        return copy(estimator)
    unprepared: OnePassEstimator = clone(estimator)
    return unprepared


def learn(model: OnePassEstimator, batch: Batch) -> None:
    """Add rows, unless none of them has a weight above zero."""
    if batch.total_weight > 0:
        model.partial_fit(batch)


def become(
    estimator: OnePassEstimator, learned: OnePassEstimator, columns: Columns
) -> OnePassEstimator:
    """Let an estimator be what was learned, with the names that its columns have."""
    if learned.state_ is None:
        raise ValueError(
            "X holds no rows of a weight above zero: nothing to learn from"
        )
    named = with_names(learned, columns.names or learned.plan_.columns.names)
    parameters = estimator.get_params(deep=False)
    estimator.__dict__ = vars(named) | parameters
    return estimator


def with_names(
    estimator: OnePassEstimator, names: tuple[Any, ...] | None
) -> OnePassEstimator:
    """A copy whose columns have these names; None for none."""
    model = estimator.model_
    plan = model.plan
    if plan.columns.names == names:
        return copy(estimator)
    plan = replace(plan, columns=replace(plan.columns, names=names))
    return estimator.with_model(replace(model, plan=plan))


def learn_fading(work: OnePassEstimator, batch: Batch, half_life: float | None) -> None:
    """Add rows, each of which makes those before count less, if the past fades."""
    if half_life is None:
        learn(work, batch)
        return
    ages = np.arange(len(batch) - 1, -1, -1)
    weights = np.exp2(-ages / half_life) * batch.mass
    kept = max(2.0 ** (-len(batch) / half_life), _LEAST_DECAY)
    if weights.any():
        work.partial_fit(replace(batch, weights=weights), decay=kept)
    elif work.state_ is not None:
        work.fade(kept)  # time passes all the same


def usual_rows(
    work: Any, batch: Batch, level: float, n_trusted: int
) -> NDArray[np.bool_]:
    """Which rows are among the first ones, or have p-values above a level."""
    usual = np.arange(len(batch)) < n_trusted
    if work.state_ is not None and not usual.all():
        usual |= work.p_values(batch) > level
    return np.asarray(usual, dtype=bool)


def prepared(work: OnePassEstimator, batch: Batch) -> OnePassEstimator:
    """A copy with a plan chosen from these rows.

    Rows that stand in the way of any plan take no part; they are refused, each by
    itself, when they are learned.
    """
    kept = np.arange(len(batch))
    while True:
        try:
            return copy(work).prepare(batch.take(kept))
        except DataError as error:
            if error.row is None or len(kept) == 1:
                raise
            kept = np.delete(kept, error.row)


def compare_columns(estimator: OnePassEstimator, columns: Columns) -> None:
    """Refuse columns that a prepared model does not know."""
    if not estimator.is_prepared:
        return
    known = estimator.plan_.columns
    names = None if columns.names is None else list(columns.names)
    if names is not None and known.names is not None and list(known.names) != names:
        raise ValueError(
            f"the model was prepared for the columns {list(known.names)}, got "
            f"{names}: choose the same ones, in this order"
        )
    if known.n_features != columns.n_features:
        which = "" if names is None else f": {names}"
        raise ValueError(
            f"the model was prepared for {known.n_features} columns, got "
            f"{columns.n_features}{which}"
        )


def takes_categories(estimator: OnePassEstimator) -> bool:
    """Whether columns of categories may stand beside numbers."""
    if estimator.is_prepared:
        return estimator.plan_.columns.schema is not None
    check_map(estimator.feature_map)
    return map_takes_categories(estimator.feature_map)


def require_pyarrow() -> None:
    """Say how to get what reads files, where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "reading files needs pyarrow: pip install 'rhokit[files]'"
        ) from error


def sample_size(estimator: OnePassEstimator) -> int:
    """How many rows to choose scaling, γ and map from."""
    return max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_COMPONENT * estimator.n_components)
