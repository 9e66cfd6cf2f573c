"""Descriptions of fitted models: what was fitted, and how."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.core import GaussianKernel, choose_rank
from rhokit.features import FeatureMap
from rhokit.inspection.subjects import (
    NUMBER,
    column_kinds,
    column_names,
    fitted_model,
    is_trained,
)
from rhokit.models import Model


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a model.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "ordered"}
    bandwidth : float or None
        The kernel's width in the column's own units, None where columns are mixed
        and where there is no kernel.
    categories : tuple, optional
        In their order; None of a column of numbers, and where they are not known.
    """

    name: str
    kind: str
    bandwidth: float | None
    categories: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Description:
    """A model in numbers.

    Parameters
    ----------
    name : str
        Of its class.
    kind : {"density", "classes", "ordered", "values"}
    representation : str
        What the state is: ``"matrix"``, ``"series"``, ``"mean"``, ``"mosaic"``.
    weight : float
        Rows that it was fitted to, each by its weight.
    n_columns, n_outcomes : int
    gamma, bandwidth : float or None
        Of the kernel, in scaled units; None of a mosaic of no kernel.
    map_name : str
        Of the feature map's class.
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
    columns : tuple of ColumnDescription
    n_cells, n_layers : int or None
        Of a mosaic.
    """

    name: str
    kind: str
    representation: str
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
    columns: tuple[ColumnDescription, ...]
    n_cells: int | None = None
    n_layers: int | None = None


def describe(estimator: Any) -> Description:
    """Read a fitted model's own numbers.

    Parameters
    ----------
    estimator : fitted estimator of rhokit, one-pass or trained

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = DMKDE(feature_map="landmarks", n_components=64, random_state=0)
    >>> found = describe(model.fit(X))
    >>> found.kind, found.weight, found.map_name, found.dimension, found.scaling
    ('density', 500.0, 'LandmarkFeatures', 64, 'columns')
    """
    model = fitted_model(estimator)
    assert model.state is not None
    plan, numbers = model.plan, np.asarray(model.state.numbers)
    floor = getattr(estimator, "floor_", None)
    return Description(
        name=type(estimator).__name__,
        kind=model.readout.kind,
        representation=plan.representation,
        weight=row_weight(model),
        n_columns=plan.columns.n_features,
        n_outcomes=len(model.weight),
        gamma=None if plan.gamma is None else float(plan.gamma),
        bandwidth=_bandwidth(model),
        map_name=type(plan.feature_map).__name__,
        dimension=int(plan.feature_map.n_components_),
        rank=kept_rank(model),
        scaling=_scaling(model),
        n_numbers=numbers.size,
        memory=numbers.nbytes + _bytes_of(plan.feature_map),
        floor=None if floor is None else float(floor),
        is_trained=is_trained(estimator),
        columns=_columns(estimator, model),
        n_cells=getattr(plan.feature_map, "n_cells_", None),
        n_layers=_n_layers(plan.feature_map),
    )


def row_weight(model: Model) -> float:
    """Rows that a model was fitted to, each by its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = QMRegressor(n_components=8, random_state=0).fit(X, X)
    >>> round(row_weight(model.fitted_model()), 6)
    50.0
    """
    return model.total_weight


def kept_rank(model: Model) -> int | None:
    """Eigenvectors that predictions use of each matrix; None for all of them."""
    state, rank = model.state, model.rank
    if state is not None and not state.takes_rows:
        return None if state.rank is None else int(state.rank)
    if rank is None or rank == "elbow":  # an elbow is where the spectrum says
        return None
    return choose_rank(np.ones(model.plan.feature_map.n_components_), rank)


def _bandwidth(model: Model) -> float | None:
    gamma = model.plan.gamma
    return None if gamma is None else float(GaussianKernel(gamma).bandwidth)


def _n_layers(feature_map: FeatureMap) -> int | None:
    stops = getattr(feature_map, "stops_", None)
    return None if stops is None else len(stops)


def _bytes_of(feature_map: FeatureMap) -> int:
    arrays = (v for v in vars(feature_map).values() if isinstance(v, np.ndarray))
    return sum(array.nbytes for array in arrays)


def _scaling(model: Model) -> str:
    scaling = model.plan.scaling
    if not model.plan.feature_map.numeric_rows or scaling.is_identity:
        return "none"
    if not scaling.by_columns:
        return "mixed"
    matrix = scaling.matrix
    return "common" if len(matrix) > 1 and np.ptp(matrix) == 0 else "columns"


def _columns(estimator: Any, model: Model) -> tuple[ColumnDescription, ...]:
    names, kinds = column_names(estimator), column_kinds(estimator)
    unit, scaling = _bandwidth(model), model.plan.scaling
    widths: list[float | None] = [None] * len(names)
    if unit is not None and scaling.by_columns:
        for column, place in enumerate(model.plan.columns.starts.tolist()):
            if kinds[column] == NUMBER:
                widths[column] = unit / abs(float(scaling.matrix[place]))
    schema = model.plan.columns.schema
    known = (None,) * len(names) if schema is None else schema.categories
    parts = zip(names, kinds, widths, known, strict=True)
    return tuple(ColumnDescription(*part) for part in parts)
