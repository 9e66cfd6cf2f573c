"""What was fitted and how, read off a model."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rhokit.core import LowRankDensityMatrix, ToeplitzDensityMatrix
from rhokit.core.spectrum import choose_rank
from rhokit.features import FeatureMap
from rhokit.report.rows import Rows
from rhokit.report.words import is_missing

DENSITY, CLASSES, VALUES = "density", "classes", "values"
NUMBER = "number"


@dataclass(frozen=True)
class Column:
    """One column of the rows, in the user's units.

    ``low``, ``middle`` and ``high`` are the least, the median and the largest value;
    ``bandwidth`` is the kernel's width, None where columns are mixed.
    """

    name: str
    kind: str
    low: float | None
    middle: float | None
    high: float | None
    n_missing: int
    n_categories: int | None
    bandwidth: float | None


@dataclass(frozen=True)
class Fitted:
    """A model in numbers.

    Parameters
    ----------
    name : str
        Of its class.
    kind : {"density", "classes", "values"}
    weight : float
        Rows that it was fitted to, each by its weight.
    n_columns, n_outcomes : int
    gamma, bandwidth : float or None
        Of the kernel, in scaled units.
    map_name : str
    dimension : int
        Of the map's states.
    rank : int or None
        Eigenvectors kept of each matrix, None for all.
    scaling : {"none", "columns", "common", "mixed"}
    n_numbers, memory : int
        Of the state, and bytes of state and map.
    floor : float or None
        Log-density below which it cannot tell the density from zero.
    is_trained : bool
        By gradient, rather than in one pass.
    columns : tuple of Column
    """

    name: str
    kind: str
    weight: float
    n_columns: int
    n_outcomes: int
    gamma: float | None
    bandwidth: float | None
    map_name: str
    dimension: int
    rank: int | None
    scaling: str
    n_numbers: int
    memory: int
    floor: float | None
    is_trained: bool
    columns: tuple[Column, ...]


def kind_of(model: Any) -> str:
    """Whether a model answers with densities, classes or values; else an error."""
    for method, kind in (
        ("predict_interval", VALUES),
        ("predict_proba", CLASSES),
        ("score_samples", DENSITY),
    ):
        if hasattr(one_pass(model), method) and hasattr(one_pass(model), "state_"):
            return kind
    check_is_fitted(model)
    raise TypeError(
        "model must be a fitted density, classifier or regressor of rhokit, got "
        f"{type(model).__name__}"
    )


def one_pass(model: Any) -> Any:
    """The model that answers: a trained one holds it."""
    return getattr(model, "estimator_", model)


def describe(model: Any, rows: Rows) -> Fitted:
    """Read a fitted model's own numbers, and sum up the columns of rows."""
    inner, kind = one_pass(model), kind_of(model)
    state = inner.state_
    if state is None or not float(np.sum(state.weight)) > 0:
        raise NotFittedError(
            f"model holds no rows: fit this {type(model).__name__} before the report"
        )
    gamma = None if inner.gamma_ is None else float(inner.gamma_)
    feature_map = inner.feature_map_
    return Fitted(
        name=type(model).__name__,
        kind=kind,
        weight=float(np.sum(state.weight)) / _n_targets(inner),
        n_columns=len(rows.names),
        n_outcomes=state.n_outcomes,
        gamma=gamma,
        bandwidth=None if gamma is None else 1 / math.sqrt(2 * gamma),
        map_name=type(feature_map).__name__,
        dimension=int(feature_map.n_components_),
        rank=kept_rank(inner),
        scaling=_scaling(inner),
        n_numbers=_numbers_of(state).size,
        memory=_numbers_of(state).nbytes + _bytes_of(feature_map),
        floor=float(model.floor_) if hasattr(model, "floor_") else None,
        is_trained=inner is not model,
        columns=_columns(inner, rows),
    )


def kept_rank(inner: Any) -> int | None:
    """Eigenvectors that predictions use of each matrix; None for all of them."""
    if isinstance(inner.state_, LowRankDensityMatrix):
        return inner.state_.rank
    rank = getattr(inner, "rank", None)
    rank = getattr(inner, "rank_", None) if rank == "loo" else rank
    if rank is None or rank == "elbow":  # an elbow is where the spectrum says
        return None
    return choose_rank(np.ones(inner.feature_map_.n_components_), rank)


def column_kinds(inner: Any, rows: Rows) -> tuple[str, ...]:
    """``"number"``, ``"category"`` or ``"ordered"``, for every column."""
    schema = getattr(inner, "schema_", None)
    if schema is not None:
        return tuple(schema.kinds)
    if inner.feature_map_.numeric_rows:
        return (NUMBER,) * len(rows.names)
    return ("category",) * len(rows.names)


def _n_targets(inner: Any) -> int:
    return len(getattr(inner, "output_maps_", [None]))


def _numbers_of(state: Any) -> np.ndarray:
    if isinstance(state, LowRankDensityMatrix):
        return np.asarray(state.factor)
    return np.asarray(state.total)


def _bytes_of(feature_map: FeatureMap) -> int:
    arrays = (v for v in vars(feature_map).values() if isinstance(v, np.ndarray))
    return sum(array.nbytes for array in arrays)


def _scaling(inner: Any) -> str:
    if not inner.feature_map_.numeric_rows or inner.scaling_.is_identity:
        return "none"
    matrix = inner.scaling_.matrix
    if matrix.ndim == 2:
        return "mixed"
    return "common" if len(matrix) > 1 and np.ptp(matrix) == 0 else "columns"


def _columns(inner: Any, rows: Rows) -> tuple[Column, ...]:
    kinds = column_kinds(inner, rows)
    widths = _bandwidths(inner, kinds)
    return tuple(
        _column(rows, place, kind, widths.get(place))
        for place, kind in enumerate(kinds)
    )


def _bandwidths(inner: Any, kinds: tuple[str, ...]) -> dict[int, float]:
    """The kernel's width in each column of numbers, by its place."""
    matrix = inner.scaling_.matrix
    if inner.gamma_ is None or matrix.ndim != 1:
        return {}
    schema = getattr(inner, "schema_", None)
    places = range(len(kinds)) if schema is None else [b.start for b in schema.blocks]
    unit = 1 / math.sqrt(2 * inner.gamma_)
    return {
        column: unit / abs(float(matrix[place]))
        for column, (place, kind) in enumerate(zip(places, kinds, strict=True))
        if kind == NUMBER
    }


def _column(rows: Rows, place: int, kind: str, bandwidth: float | None) -> Column:
    low = middle = high = n_categories = None
    if kind == NUMBER:
        values = rows.numbers(place)
        seen = values[~np.isnan(values)]
        n_missing = len(values) - len(seen)
        if len(seen):
            low, middle, high = (float(f(seen)) for f in (np.min, np.median, np.max))
    else:
        gaps = [is_missing(value) for value in rows.columns[place]]
        n_missing = sum(gaps)
        n_categories = len({str(value) for value in rows.columns[place]}) - any(gaps)
    return Column(
        rows.names[place], kind, low, middle, high, n_missing, n_categories, bandwidth
    )


def keeps_series(model: Any) -> bool:
    """Whether the state is a Fourier series, which has no matrix of its own."""
    return isinstance(one_pass(model).state_, ToeplitzDensityMatrix)
