"""A model that learns from plain arrays, and the names of their columns beside it."""

from copy import copy

import numpy as np
from sklearn.base import clone

from rhokit.estimators.base import StateEstimator


def check_one_pass(estimator):
    """Refuse what does not learn by adding up."""
    if not isinstance(estimator, StateEstimator):
        raise TypeError(
            "estimator must be a one-pass model, which learns by adding up, got "
            f"{type(estimator).__name__}"
        )


def fresh(estimator, columns=None, schema=None):
    """A model to work on that holds no rows, and whether it has been prepared.

    What was prepared and holds no rows keeps its scaling, γ and map. ``columns`` are
    the names of the columns of the rows that it will be given, and ``schema`` their
    kinds, if these rows are wide.
    """
    if estimator._is_prepared() and estimator.state_ is None:
        compare_columns(estimator, columns)
        return without_names(estimator, columns), True
    work = without_names(clone(estimator), columns)
    work._row_schema = schema
    return work, False


def learn(model, X, y, weight):
    """Add rows, unless all of them have weight zero."""
    if weight is None or np.any(weight):
        model.partial_fit(X, y, sample_weight=weight)


def without_names(estimator, columns=None):
    """A copy that does not ask rows for the names of their columns.

    Errors name them all the same, if they are given.
    """
    other = copy(estimator)
    vars(other).pop("feature_names_in_", None)
    if columns is not None:
        other._column_names = columns
    return other


def become(estimator, learned, names):
    """Let an estimator be what was learned, with these names of columns, if any."""
    if learned.state_ is None:
        raise ValueError(
            "X holds no rows of a weight above zero: nothing to learn from"
        )
    parameters = estimator.get_params(deep=False)
    estimator.__dict__ = vars(learned) | parameters
    for name in ("_column_names", "_row_schema"):
        vars(estimator).pop(name, None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
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


def require_pyarrow():
    """Say how to get what reads files, where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "reading files needs pyarrow: pip install 'rhokit[files]'"
        ) from error


def takes_categories(estimator):
    """Whether columns of categories may stand beside numbers."""
    if estimator._is_prepared():
        return estimator.schema_ is not None
    wanted = estimator.feature_map
    return getattr(wanted, "mixes", wanted in ("auto", "landmarks", "fourier"))
