"""Columns of the rows, each with the model's own density."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection import (
    ColumnDescription,
    DensityGrid,
    Histogram,
    InspectedRows,
    NoMarginalError,
    category_probabilities,
    histogram,
    marginal_density,
    region_levels,
    strongest_pair,
    view,
)
from rhokit.inspection.subjects import NUMBER
from rhokit.report.stretched import Stretched
from rhokit.report.words import MISSING
from rhokit.validation import is_missing

MOST_COLUMNS = 12
_CURVE_POINTS = 161
_MAP_POINTS = 64
_MOST_DOTS = 300
_MOST_BARS = 12
# Probabilities of the shades of a map.
PROBABILITIES = (0.95, 0.8, 0.5, 0.2)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnRange:
    """Ends, gaps and categories of one column of the rows, in the user's units.

    Parameters
    ----------
    minimum, median, maximum : float or None
        Of numbers.
    n_missing : int
    n_categories : int or None
    """

    minimum: float | None
    median: float | None
    maximum: float | None
    n_missing: int
    n_categories: int | None


@dataclass(frozen=True, eq=False)
class ColumnShape:
    """How one column is distributed.

    Parameters
    ----------
    name, kind : str
    histogram : Histogram or None
        Of numbers.
    curve : DensityGrid or None
        The model's own density of the column, where it gives one.
    stretched : Stretched or None
        Of numbers with long tails: how they are drawn instead.
    categories : tuple of (str, int)
        Values and how often they come, the commonest first, or in their order.
    probabilities : tuple of float
        The model's own probabilities of these categories, NaN where it has none.
    """

    name: str
    kind: str
    histogram: Histogram | None = None
    curve: DensityGrid | None = None
    stretched: Stretched | None = None
    categories: tuple[tuple[str, int], ...] = ()
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Pair:
    """The density of two columns, and some of the rows.

    Parameters
    ----------
    names : tuple of two str
    grid : DensityGrid
    levels : array
        The densities above which ``PROBABILITIES`` of what is in view lie.
    dots : array of shape (k, 2)
        Some of the rows.
    correlation : float
    """

    names: tuple[str, str]
    grid: DensityGrid
    levels: Floats
    dots: Floats
    correlation: float


Columns = Sequence[ColumnDescription]


def column_ranges(rows: InspectedRows, columns: Columns) -> tuple[ColumnRange, ...]:
    """Ends, gaps and categories of all columns."""
    return tuple(_range(rows, i, column.kind) for i, column in enumerate(columns))


def _range(rows: InspectedRows, place: int, kind: str) -> ColumnRange:
    if kind != NUMBER:
        gaps = [is_missing(value) for value in rows.columns[place]]
        found = len({str(value) for value in rows.columns[place]}) - any(gaps)
        return ColumnRange(None, None, None, sum(gaps), found)
    values = rows.numbers(place)
    seen = values[~np.isnan(values)]
    n_missing = len(values) - len(seen)
    if not len(seen):
        return ColumnRange(None, None, None, n_missing, None)
    low, middle, high = (float(f(seen)) for f in (np.min, np.median, np.max))
    return ColumnRange(low, middle, high, n_missing, None)


def column_shapes(
    density: Any, rows: InspectedRows, columns: Columns
) -> tuple[ColumnShape, ...]:
    """The first few columns, each with the model's density where it has one.

    Parameters
    ----------
    density : fitted density, or None
    rows : InspectedRows
    columns : sequence of ColumnDescription
    """
    return tuple(
        _numbers(density, rows, place)
        if column.kind == NUMBER
        else _categories(density, rows, place, column)
        for place, column in enumerate(columns[:MOST_COLUMNS])
    )


def _numbers(density: Any, rows: InspectedRows, place: int) -> ColumnShape:
    values = rows.numbers(place)
    seen = values[np.isfinite(values)]
    name = rows.names[place]
    if not len(seen):
        return ColumnShape(name, NUMBER)
    if seen.min() == seen.max():  # nothing to be seen that a number does not say
        return ColumnShape(name, NUMBER)
    low, high = view(seen)
    counts = histogram(seen, low, high)
    curve = _grid(density, [place], [np.linspace(low, high, _CURVE_POINTS)])
    return ColumnShape(
        name, NUMBER, counts, curve, Stretched.of(seen, _density_at(density, place))
    )


def _density_at(density: Any, place: int) -> Any:
    """The model's density of a column at values; None where it has none."""

    def found(at: Floats) -> Floats | None:
        grid = _grid(density, [place], [at])
        return None if grid is None else grid.density

    return found


def _grid(density: Any, places: list[int], axes: list[Floats]) -> DensityGrid | None:
    """The density of some columns; None where it cannot be had."""
    if density is None:
        return None
    try:
        return marginal_density(density, places, axes)
    except NoMarginalError:
        return None


def _categories(
    density: Any, rows: InspectedRows, place: int, column: ColumnDescription
) -> ColumnShape:
    words = [MISSING if is_missing(v) else str(v) for v in rows.columns[place]]
    labels, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    pairs = [(str(labels[k]), int(counts[k])) for k in order]
    known = _probabilities(density, place)
    if column.kind == "ordered":
        ranks = {str(word): rank for rank, word in enumerate(column.categories or ())}
        pairs.sort(key=lambda pair: ranks.get(pair[0], len(ranks)))
    found = [known.get(word, math.nan) for word, _ in pairs]
    if len(pairs) > _MOST_BARS:
        cut = _MOST_BARS - 1
        others = f"{len(pairs) - cut} others", sum(n for _, n in pairs[cut:])
        pairs, found = [*pairs[:cut], others], [*found[:cut], sum(found[cut:])]
    return ColumnShape(
        rows.names[place],
        column.kind,
        categories=tuple(pairs),
        probabilities=tuple(found),
    )


def _probabilities(density: Any, place: int) -> dict[str, float]:
    """A model's probabilities of a column's categories, by their names."""
    if density is None:
        return {}
    try:
        found = category_probabilities(density, place)
    except NoMarginalError:
        return {}
    return {str(category): p for category, p in found.items()}


def pair_shape(density: Any, rows: InspectedRows, columns: Columns) -> Pair | None:
    """The two columns that depend on each other most; None without their density."""
    numeric = [place for place, each in enumerate(columns) if each.kind == NUMBER]
    if density is None or len(numeric) < 2:
        return None
    table = np.column_stack([rows.numbers(p) for p in numeric[:MOST_COLUMNS]])
    first, second, correlation = strongest_pair(table)
    points = table[:, [first, second]]
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return None
    places = [numeric[first], numeric[second]]
    axes = [np.linspace(*view(column), _MAP_POINTS) for column in points.T]
    grid = _grid(density, places, axes)
    if grid is None:
        return None
    names = rows.names[places[0]], rows.names[places[1]]
    some = np.linspace(0, len(points) - 1, min(len(points), _MOST_DOTS)).astype(int)
    levels = region_levels(grid.density, PROBABILITIES)
    return Pair(names, grid, levels, points[some], correlation)
