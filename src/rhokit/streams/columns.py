"""Names of columns, kept apart from a model that learns from plain arrays."""

from copy import copy


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
