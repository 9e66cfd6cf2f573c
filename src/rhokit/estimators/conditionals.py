"""Answers given some of the columns, as functions that become estimators' methods."""

from copy import copy
from typing import Any, TypeVar

import numpy as np

from rhokit.batch import Columns
from rhokit.estimators.answers import with_columns
from rhokit.models import (
    CategoryDistribution,
    Model,
    NumberDistribution,
    distribution_of,
    fill_gaps,
)
from rhokit.validation import generator

E = TypeVar("E", bound=Any)


def conditional(estimator: E, given: Any) -> E:
    """The model of the other columns, where some have given values.

    In closed form: :math:`p(x_a \\mid x_b)`, of mosaics, over landmarks and on grids,
    whose columns are scaled one by one. It only predicts.

    Parameters
    ----------
    given : dict
        From columns, by name or place, to their values: numbers, or categories.

    Returns
    -------
    model : estimator of the same class

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> model = DMKDE(random_state=0).fit(X)
    >>> model.conditional({0: 1.0, 1: 1.0}).mosaic().mean().round(1)
    array([2.])
    """
    model = estimator.fitted_model()
    values = given_values(model, given)
    kept = [c for c in range(model.plan.columns.n_features) if c not in values]
    return with_columns(estimator, model.conditional(values), kept)


def given_values(model: Model, given: Any) -> dict[int, Any]:
    """Values by the places of their columns, as wide rows have them."""
    columns = model.plan.columns
    if not isinstance(given, dict) or not 0 < len(given) < columns.n_features:
        raise ValueError(
            "given must be a dict from some of the columns to their values, not from "
            f"all {columns.n_features} of them. Got {given!r} instead."
        )
    places = columns.find("given", list(given))
    return {
        place: _wide_value(columns, place, value)
        for place, value in zip(places, given.values(), strict=True)
    }


def distribution(
    estimator: Any, column: Any, given: Any = None
) -> NumberDistribution | CategoryDistribution:
    """What one column is likely to be, whatever the others are, or given some.

    Parameters
    ----------
    column : int or str
        Place or name of a column of numbers or of categories.
    given : dict, optional
        From other columns to their values, as for :meth:`conditional`.

    Returns
    -------
    distribution : NumberDistribution or CategoryDistribution
        With ``mean``, ``std``, ``cdf``, ``quantile`` and ``mode`` of numbers;
        ``probabilities`` and ``mode`` of categories, with ``cdf`` and ``quantile``
        where they have an order.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> X[:, 2] += 3 * X[:, 0]
    >>> model = DMKDE(random_state=0).fit(X)
    >>> given = model.distribution(2, {0: 1.0})
    >>> round(given.mean), given.quantile([0.16, 0.5, 0.84]).round()
    (3, array([2., 3., 4.]))
    """
    model = estimator.fitted_model()
    columns = model.plan.columns
    (place,) = columns.find("column", [column])
    if given:
        values = given_values(model, given)
        if place in values:
            raise ValueError(f"given must not name the column {column!r} itself")
        kept = [c for c in range(columns.n_features) if c not in values]
        model, place = model.conditional(values), kept.index(place)
    alone = model.plan.columns.n_features == 1
    return distribution_of(model if alone else model.marginal([place]))


def impute(
    estimator: Any,
    X: Any,
    *,
    how: str = "mean",
    random_state: Any = None,
    return_spread: bool = False,
) -> Any:
    """Rows whose missing values are filled in from those that are there.

    Of a mosaic, for all rows at once; of other models, one row after the other, by
    their conditional.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    how : {"mean", "draw"}, default="mean"
        Expectations of numbers, and the likeliest category; or values drawn together
        from what is likely, so that filled rows spread as others do.
    random_state : int, RandomState or Generator, optional
    return_spread : bool, default=False
        Return standard deviations of numbers and, for categories, the probability of
        another one, too.

    Returns
    -------
    filled : array or frame
        As X was.
    spread : array of shape (n, d)
        Zero where nothing was missing. Only if asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> X[:, 2] = 3 * X[:, 0] + 0.1 * X[:, 2]
    >>> model = DMKDE(random_state=0).fit(X)
    >>> filled, spread = model.impute([[1.0, 0.0, np.nan]], return_spread=True)
    >>> filled.round(1), spread.round(1)
    (array([[1., 0., 3.]]), array([[0. , 0. , 0.1]]))
    """
    if how not in ("mean", "draw"):
        raise ValueError(f"how must be 'mean' or 'draw', got {how!r}")
    model, asking = estimator.fitted_model(), copy(estimator)
    asking.missing = "integrate"
    rows = asking.check_query(X, model)
    rng = None if how == "mean" else generator(random_state)
    found = fill_gaps(model, rows, rng)
    filled = model.plan.columns.completed(X, found.rows)
    return (filled, found.spread) if return_spread else filled


def _wide_value(columns: Columns, place: int, value: Any) -> Any:
    """A value as wide rows have it, or an error that names its column."""
    schema = columns.schema
    name = place if columns.names is None else columns.names[place]
    known = None if schema is None else schema.categories[place]
    if schema is not None and known is not None:
        if value not in known:
            raise ValueError(
                f"given: column {name!r} has the categories {list(known)}, got "
                f"{value!r}"
            )
        return schema.states(place)[known.index(value)]
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "fiub" or not np.isfinite(number):
        raise ValueError(f"given: column {name!r} needs a finite number, got {value!r}")
    return float(number)
