"""Estimators that are looked at: the model that answers, its kind, its columns."""

from copy import copy
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rhokit.models import Model

NUMBER = "number"


def one_pass(estimator: Any) -> Any:
    """The one-pass estimator that answers: a trained one holds it.

    Examples
    --------
    >>> from rhokit import DMKDE
    >>> model = DMKDE()
    >>> one_pass(model) is model
    True
    """
    inner = getattr(estimator, "estimator_", None)
    return inner if hasattr(inner, "fitted_model") else estimator


def is_trained(estimator: Any) -> bool:
    """Whether an estimator was trained by gradient, rather than in one pass."""
    return one_pass(estimator) is not estimator


def fitted_model(estimator: Any) -> Model:
    """The model of a fitted estimator of rhokit, one-pass or trained.

    Raises
    ------
    TypeError
        If it is no estimator of rhokit.
    NotFittedError
        If it holds no rows.
    """
    refuse_class(estimator)
    check_is_fitted(estimator)
    inner = one_pass(estimator)
    if not hasattr(inner, "fitted_model"):
        raise TypeError(
            "a fitted density, classifier or regressor of rhokit must be given, got "
            f"{type(estimator).__name__}"
        )
    model: Model = inner.fitted_model()
    return model


def snapshot(estimator: Any) -> Any:
    """A copy of an estimator for several questions, whatever the other learns.

    Models are frozen values that learning replaces, so that a copy costs nothing.
    """
    return copy(estimator)


def kind_of(estimator: Any) -> str:
    """``"density"``, ``"classes"``, ``"ordered"`` or ``"values"``: what it answers.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> kind_of(DMKDE(random_state=0).fit(np.random.default_rng(0).normal(size=(9, 1))))
    'density'
    """
    kind: str = fitted_model(estimator).readout.kind
    return kind


def require_kind(estimator: Any, kind: str, what: str) -> Model:
    """The model of an estimator of one kind; others are refused."""
    model = fitted_model(estimator)
    if model.readout.kind != kind:
        raise TypeError(f"{what} must be given, got {type(estimator).__name__}")
    return model


def require_method(estimator: Any, method: str, what: str) -> None:
    """Refuse an estimator of any library that lacks a method, or is not fitted."""
    refuse_class(estimator)
    if not hasattr(estimator, method):
        raise TypeError(f"{what} must be given, got {type(estimator).__name__}")
    check_is_fitted(estimator)


def refuse_class(estimator: Any) -> None:
    """Refuse a class in the place of one of its instances."""
    if isinstance(estimator, type):
        raise TypeError(
            f"a fitted model must be given, got the class {estimator.__name__}"
        )


# ---- columns -----------------------------------------------------------------------


def column_names(estimator: Any, n_columns: int | None = None) -> list[str]:
    """Names of the columns, or ``"column 0"``, ``"column 1"``, ...

    Parameters
    ----------
    estimator : estimator or None
    n_columns : int, optional
        Columns of the rows, which names must be as many as.
    """
    names = getattr(estimator, "feature_names_in_", None)
    d = estimator.n_features_in_ if n_columns is None else n_columns
    if names is None or len(names) != d:
        return [f"column {place}" for place in range(d)]
    return [str(name) for name in names]


def column_kinds(estimator: Any) -> tuple[str, ...]:
    """``"number"``, ``"category"`` or ``"ordered"``, for every column."""
    plan = fitted_model(estimator).plan
    schema, d = plan.columns.schema, plan.columns.n_features
    if schema is not None:
        return tuple(schema.kinds)
    return (NUMBER if plan.feature_map.numeric_rows else "category",) * d


def number_columns(estimator: Any) -> list[int]:
    """Places of the columns that hold numbers, not categories."""
    kinds = column_kinds(estimator)
    return [place for place, kind in enumerate(kinds) if kind == NUMBER]


def find_columns(estimator: Any, name: str, wanted: Any) -> list[int]:
    """Places of columns of numbers that are given by place or by name, in that order.

    ``name`` is that of the argument, for the error.
    """
    columns = fitted_model(estimator).plan.columns
    places, numbers = columns.find(name, wanted), number_columns(estimator)
    for place in places:
        if place not in numbers:
            wrong = column_names(estimator)[place]
            raise ValueError(
                f"{name} must hold numbers, but {wrong!r} holds categories"
            )
    return places
