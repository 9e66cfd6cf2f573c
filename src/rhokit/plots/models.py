"""What pictures ask of a model and of its rows, in one wording."""

from numbers import Integral, Real

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from rhokit.estimators.base import StateEstimator
from rhokit.estimators.density import DensityEstimator
from rhokit.validation import check_rows


def answering(model):
    """The one-pass model that answers: that of a trained one, or the model itself."""
    inner = getattr(model, "estimator_", None)
    return inner if isinstance(inner, StateEstimator) else model


def require_density(owner, model):
    """Refuse what is no fitted density; the model that answers."""
    inner = answering(model)
    if not isinstance(inner, DensityEstimator):
        _refuse(owner, "a density (DMKDE, MeanEmbeddingKDE or DMKDESGD)", model)
    check_is_fitted(model)
    return inner


def require_method(owner, model, method, what):
    """Refuse a model that lacks a method, or is not fitted."""
    if isinstance(model, type) or not hasattr(model, method):
        _refuse(owner, what, model)
    check_is_fitted(model)


def _refuse(owner, what, model):
    if isinstance(model, type):
        raise TypeError(f"{owner} needs a fitted model, got the class {model.__name__}")
    raise TypeError(f"{owner} needs {what}, got {type(model).__name__}")


def schema_of(model):
    """What the columns are, None where all are plain numbers."""
    return getattr(answering(model), "schema_", None)


def column_names(model):
    """Names of the model's columns, or their places."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"column {place}" for place in range(model.n_features_in_)]
    return [str(name) for name in names]


def column_place(model, column, name="column"):
    """The place of a column that is given by place or by name."""
    names = list(getattr(model, "feature_names_in_", []))
    d = model.n_features_in_
    if column in names:
        return names.index(column)
    if (
        isinstance(column, Integral)
        and not isinstance(column, bool)
        and 0 <= column < d
    ):
        return int(column)
    which = f"one of {names}" if names else "a number"
    raise ValueError(
        f"{name} must be {which}, or a place from 0 to {d - 1}, got {column!r}"
    )


def number_places(model):
    """Places of the columns that hold numbers, not categories."""
    schema = schema_of(model)
    if schema is None:
        return list(range(model.n_features_in_))
    return [place for place, kind in enumerate(schema.kinds) if kind == "number"]


def require_number(model, place, name="column"):
    """Refuse a column of categories."""
    if place not in number_places(model):
        wrong = column_names(model)[place]
        raise ValueError(f"{name} must hold numbers, but {wrong!r} holds categories")


def rows_of(model, X):
    """Rows as numbers (n, d), checked against the model's columns.

    NaN stands for what is missing, and for categories, which are no numbers.
    """
    inner = answering(model)
    schema = schema_of(model)
    if schema is None:
        may_miss = getattr(inner, "missing", "raise") != "raise"
        return check_rows(model, X, reset=False, may_miss=may_miss)
    wide = schema.encode(X)
    rows = np.full((len(wide), model.n_features_in_), np.nan)
    for place in number_places(model):
        rows[:, place] = wide[:, schema.blocks[place].start]
    return rows


def take_rows(X, which):
    """Some rows of an array or a frame, of the same kind."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[which, :].to_native()
    return np.asarray(X)[which]


def row_labels(X, n):
    """What the rows are called: a frame's index, or their places."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or len(index) != n:
        return np.arange(n)
    return np.asarray(index)


def require_target(owner, y, n=None):
    """The target as an array, refused where there is none."""
    if y is None:
        raise ValueError(f"{owner} needs y, what the rows really are, got None")
    target = np.asarray(y)
    if n is not None and len(target) != n:
        raise ValueError(f"y must have one entry per row of X, {n}, got {len(target)}")
    return target


def share(name, value):
    """A share between 0 and 1, both excluded."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")
    return float(value)
