"""Densities of one or two columns of a model on grids, and regions of these."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.checks import check_fraction
from rhokit.inspection.subjects import fitted_model, one_pass, require_kind

Floats = NDArray[np.float64]


class NoMarginalError(ValueError):
    """The model has no density of some of its columns."""


@dataclass(frozen=True, eq=False)
class DensityGrid:
    """The density of one or two columns at the points of a grid.

    Parameters
    ----------
    columns : tuple of int
        Places of the columns.
    axes : tuple of arrays of shape (m,)
        Values of each.
    density : array of shape (m,) or (m, m)
        Of two columns, ``density[j, i]`` is that at ``(axes[0][i], axes[1][j])``.
    """

    columns: tuple[int, ...]
    axes: tuple[Floats, ...]
    density: Floats


def marginal_grid(
    estimator: Any, columns: Sequence[int], n: int | None = None
) -> DensityGrid:
    """The density of one or two columns over the region where it is worth a look.

    Parameters
    ----------
    estimator : fitted density, one-pass or trained
    columns : sequence of one or two int
        Places of columns of numbers, in any order.
    n : int, optional
        Points per axis: see :meth:`rhokit.DMKDE.grid`.

    Returns
    -------
    grid : DensityGrid

    Raises
    ------
    NoMarginalError
        If the model has no densities of some of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> model = DMKDE(gamma=2.0, scale=None, n_components=64, random_state=0).fit(X)
    >>> grid = marginal_grid(model, [2], 50)
    >>> grid.axes[0].shape, grid.density.shape
    ((50,), (50,))
    """
    *axes, density = marginal_of(estimator, columns).grid(n)
    if list(columns) != sorted(columns):
        axes, density = axes[::-1], density.T
    return DensityGrid(tuple(columns), tuple(axes), density)


def marginal_density(
    estimator: Any, columns: Sequence[int], axes: Sequence[Floats]
) -> DensityGrid:
    """The density of one or two columns at given values of each.

    Parameters
    ----------
    estimator : fitted density, one-pass or trained
    columns : sequence of one or two int, rising
    axes : sequence of arrays of shape (m,)

    Returns
    -------
    grid : DensityGrid

    Raises
    ------
    NoMarginalError
        If the model has no densities of some of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal([0, 5], size=(500, 2))
    >>> model = DMKDE(random_state=0).fit(X)
    >>> found = marginal_density(model, [1], [np.array([0.0, 5.0])])
    >>> found.density.round(1)
    array([0. , 0.4])
    """
    points = np.stack(np.meshgrid(*axes), axis=-1)
    density = _density_at(
        marginal_of(estimator, columns), points.reshape(-1, len(axes))
    )
    return DensityGrid(tuple(columns), tuple(axes), density.reshape(points.shape[:-1]))


def category_probabilities(estimator: Any, column: int) -> dict[Any, float]:
    """A density's probabilities of the categories of one column.

    Parameters
    ----------
    estimator : fitted density of frames with categories
    column : int
        The column's place.

    Returns
    -------
    probabilities : dict
        By category; what is missing to one is that of categories that were not
        learned. Empty where the model's columns have no schema.

    Raises
    ------
    NoMarginalError
        If the model has no densities of some of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from rhokit import DMKDE
    >>> rng = np.random.default_rng(0)
    >>> kinds = pd.Categorical(rng.choice(["a", "b"], 200, p=[0.25, 0.75]))
    >>> X = pd.DataFrame({"kind": kinds, "size": rng.normal(size=200)})
    >>> model = DMKDE(n_components=16, random_state=0).fit(X)
    >>> {kind: round(p, 1) for kind, p in category_probabilities(model, 0).items()}
    {'a': 0.2, 'b': 0.8}
    """
    schema = fitted_model(estimator).plan.columns.schema
    if schema is None:
        return {}
    part = marginal_of(estimator, [column])
    found = _density_at(part, schema.states(column)).tolist()
    return dict(zip(schema.categories[column] or (), found, strict=True))


def marginal_of(estimator: Any, columns: Sequence[int]) -> Any:
    """The density of some columns, which keep the model's order."""
    what = "a density (DMKDE, MeanEmbeddingKDE or DMKDESGD)"
    model, inner = require_kind(estimator, "density", what), one_pass(estimator)
    d = model.plan.columns.n_features
    if len(columns) == d:
        return inner
    if not hasattr(inner, "marginal"):
        raise NoMarginalError(
            f"a {type(inner).__name__} of {d} columns has no densities of some of them"
        )
    try:
        return inner.marginal(sorted(columns))
    except ValueError as error:
        raise NoMarginalError(str(error)) from error


def _density_at(estimator: Any, rows: Floats) -> Floats:
    """Density at wide rows without names."""
    model = estimator.fitted_model()
    rows = rows.astype(model.plan.feature_map.dtype_)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(model.log_density(rows)))


# ---- regions -----------------------------------------------------------------------


def region_levels(density: Floats, probabilities: Sequence[float]) -> Floats:
    """Densities above which given probabilities lie, in the smallest regions.

    Parameters
    ----------
    density : array
        At the points of a regular grid.
    probabilities : sequence of float in (0, 1)

    Returns
    -------
    levels : array of the length of ``probabilities``
        Empty where the density is zero everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> region_levels(np.array([0.1, 0.1, 0.2, 0.6]), (0.95, 0.8, 0.5, 0.2))
    array([0.1, 0.2, 0.6, 0.6])
    """
    wanted = np.array([check_fraction("probabilities", p) for p in probabilities])
    heights = np.sort(np.maximum(density, 0), axis=None)[::-1]
    reached = np.cumsum(heights)
    if not reached[-1] > 0:
        return np.empty(0)
    # Rounding may leave a sum below what it adds up to.
    places = np.searchsorted(reached, wanted * reached[-1] * (1 - 1e-12))
    return np.asarray(heights[places])


def strongest_pair(rows: Floats) -> tuple[int, int, float]:
    """The two columns of rows (n, d) that depend on each other most.

    Returns
    -------
    first, second : int
    correlation : float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 2] += 5 * X[:, 0]
    >>> strongest_pair(X)[:2]
    (0, 2)
    """
    d = rows.shape[1]
    whole = rows[np.isfinite(rows).all(axis=1)]
    spread = whole.std(axis=0) if len(whole) else np.zeros(d)
    mean = whole.mean(axis=0) if len(whole) else np.zeros(d)
    standard = (whole - mean) / np.where(spread > 0, spread, 1)
    overlap = np.triu(standard.T @ standard / max(len(whole), 1), k=1)
    first, second = divmod(int(np.abs(overlap).argmax()), d)
    if first == second:  # nothing depends on anything
        first, second = 0, 1
    return first, second, float(overlap[first, second])
