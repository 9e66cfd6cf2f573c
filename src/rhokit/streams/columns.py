"""A model that learns from plain arrays, and the names of their columns beside it."""

from copy import copy

from sklearn.base import clone

from rhokit.estimators.base import StateEstimator


def check_one_pass(estimator):
    """Refuse what does not learn by adding up."""
    if not isinstance(estimator, StateEstimator):
        raise TypeError(
            "estimator must be a one-pass model, which learns by adding up, got "
            f"{type(estimator).__name__}"
        )


def fresh(estimator):
    """A model to work on that holds no rows, and whether it has been prepared.

    What was prepared and holds no rows keeps its scaling, γ and map.
    """
    if estimator._is_prepared() and estimator.state_ is None:
        return without_names(estimator), True
    return clone(estimator), False


def without_names(estimator):
    """A copy that does not ask rows for the names of their columns."""
    other = copy(estimator)
    vars(other).pop("feature_names_in_", None)
    return other


def become(estimator, learned, names):
    """Let an estimator be what was learned, with these names of columns, if any."""
    parameters = estimator.get_params(deep=False)
    estimator.__dict__ = vars(learned) | parameters
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator


def compare_columns(estimator, columns):
    """Refuse columns that a prepared model does not know; None has no names."""
    names = getattr(estimator, "feature_names_in_", None)
    if columns is None:
        return
    if names is not None and list(names) != list(columns):
        raise ValueError(
            f"the model was prepared for the columns {list(names)}, got "
            f"{list(columns)}: choose the same ones, in this order"
        )
    if estimator.n_features_in_ != len(columns):
        raise ValueError(
            f"the model was prepared for {estimator.n_features_in_} columns, got "
            f"{len(columns)}: {list(columns)}"
        )
