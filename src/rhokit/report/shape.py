"""What the rows and the model look like: columns, a pair, scores, the spectrum."""

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.core import FeatureMean, LowRankDensityMatrix
from rhokit.fast import small_algebra
from rhokit.report.fitted import (
    DENSITY,
    NUMBER,
    column_kinds,
    keeps_series,
    kept_rank,
    kind_of,
    one_pass,
)
from rhokit.report.rows import Rows
from rhokit.report.words import MISSING, is_missing

MOST_COLUMNS = 12
_CURVE_POINTS = 161
_MAP_POINTS = 64
_MOST_DOTS = 300
_MOST_BARS = 12
# What lies in the view of a chart; a few far values would squeeze all others.
_VIEW = (0.005, 0.995)
_VIEW_MARGIN = 0.15
_ROUNDING = 1e-12  # relative: what is closer is one number
# Shares of the density inside the shades of a map.
SHARES = (0.95, 0.8, 0.5, 0.2)
# A larger matrix takes too long to decompose for a page.
_LARGEST_MATRIX = 1024


# ---- columns ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts (m,) between edges (m + 1,), and how many lie outside of them."""

    edges: np.ndarray
    counts: np.ndarray
    n_outside: int = 0


@dataclass(frozen=True, eq=False)
class ColumnShape:
    """How one column is distributed.

    Parameters
    ----------
    name, kind : str
    histogram : Histogram or None
        Of numbers.
    x, density : arrays of shape (m,), or None
        The model's own density of the column, where it gives one.
    categories : tuple of (str, int)
        Values and how often they come, the commonest first, or in their order.
    shares : tuple of float
        The model's own probabilities of these categories, NaN where it has none.
    """

    name: str
    kind: str
    histogram: Histogram | None = None
    x: np.ndarray | None = None
    density: np.ndarray | None = None
    categories: tuple[tuple[str, int], ...] = ()
    shares: tuple[float, ...] = ()


def column_shapes(model: Any, rows: Rows) -> tuple[ColumnShape, ...]:
    """The first few columns, each with the model's density where it has one."""
    inner = one_pass(model)
    kinds = column_kinds(inner, rows)[:MOST_COLUMNS]
    return tuple(
        _numbers(model, rows, place)
        if kind == NUMBER
        else _categories(model, rows, place, kind)
        for place, kind in enumerate(kinds)
    )


def _numbers(model: Any, rows: Rows, place: int) -> ColumnShape:
    values = rows.numbers(place)
    seen = values[np.isfinite(values)]
    name = rows.names[place]
    if not len(seen):
        return ColumnShape(name, NUMBER)
    low, high = view(seen)
    counts = histogram(seen, low, high)
    part = part_of(model, [place])
    if part is None:
        return ColumnShape(name, NUMBER, counts)
    x = np.linspace(low, high, _CURVE_POINTS)
    return ColumnShape(name, NUMBER, counts, x, part.density(x[:, None]))


def _categories(model: Any, rows: Rows, place: int, kind: str) -> ColumnShape:
    words = [MISSING if is_missing(v) else str(v) for v in rows.columns[place]]
    labels, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    pairs = [(str(labels[k]), int(counts[k])) for k in order]
    if kind == "ordered":
        ranks = _ranks(one_pass(model).schema_.categories[place])
        pairs.sort(key=lambda pair: ranks.get(pair[0], len(ranks)))
    known = _model_shares(model, place)
    shares = [known.get(word, math.nan) for word, _ in pairs]
    if len(pairs) > _MOST_BARS:
        cut = _MOST_BARS - 1
        others = f"{len(pairs) - cut} others", sum(n for _, n in pairs[cut:])
        pairs, shares = [*pairs[:cut], others], [*shares[:cut], sum(shares[cut:])]
    name = rows.names[place]
    return ColumnShape(name, kind, categories=tuple(pairs), shares=tuple(shares))


def _ranks(categories: tuple[Any, ...]) -> dict[str, int]:
    return {str(category): rank for rank, category in enumerate(categories)}


def _model_shares(model: Any, place: int) -> dict[str, float]:
    """A model's probabilities of a column's categories, by their names."""
    schema = getattr(one_pass(model), "schema_", None)
    part = None if schema is None else part_of(model, [place])
    if schema is None or part is None:
        return {}
    shares = part.density(schema.states(place)).tolist()
    words = (str(category) for category in schema.categories[place])
    return dict(zip(words, shares, strict=True))


def part_of(model: Any, places: list[int]) -> Any:
    """The model of some columns alone; None where it cannot be had."""
    inner = one_pass(model)
    if kind_of(model) != DENSITY or inner.gamma_ is None:
        return None
    if len(places) == inner.n_features_in_:
        part = inner
    else:
        try:
            part = inner.marginal(places)
        except (AttributeError, ValueError):  # other states, and maps of random waves
            part = None
    return None if part is None else _nameless(part)


def _nameless(model: Any) -> Any:
    """A copy that takes rows without names, as points of a grid are."""
    other = copy(model)
    vars(other).pop("feature_names_in_", None)
    return other


def view(values: np.ndarray) -> tuple[float, float]:
    """Ends between which nearly all values lie, and some room."""
    low, high = np.quantile(values, _VIEW)
    room = _VIEW_MARGIN * (_apart(low, high) or max(abs(high), 1.0))
    return float(low - room), float(high + room)


def _apart(low: float, high: float) -> float:
    """How far two numbers are apart; zero where rounding alone tells them apart."""
    return high - low if high - low > _ROUNDING * max(abs(low), abs(high)) else 0.0


def histogram(values: np.ndarray, low: float, high: float) -> Histogram:
    """Counts in at most 40 bins of equal width, more of them for more values."""
    inside = values[(values >= low) & (values <= high)]
    n_bins = int(np.clip(2 * len(inside) ** (1 / 3), 8, 40))
    counts, edges = np.histogram(inside, n_bins, (low, high))
    return Histogram(edges, counts, len(values) - len(inside))


def histogram_of_logs(logs: np.ndarray) -> Histogram | None:
    """Log-densities that are finite in bins, but for a few that are far below."""
    seen = logs[np.isfinite(logs)]
    if not len(seen):
        return None
    low, high = max(view(seen)[0], float(seen.min())), float(seen.max())
    room = 0.0 if _apart(low, high) else 0.5
    return histogram(seen, low - room, high + room)


# ---- a pair ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """The density of two columns over a grid.

    Parameters
    ----------
    names : tuple of two str
    x, y : arrays of shape (m,)
    density : array of shape (m, m)
        ``density[j, i]`` at ``(x[i], y[j])``.
    levels : tuple of float
        The densities above which ``SHARES`` of what is in view lies.
    dots : array of shape (k, 2)
        Some of the rows.
    correlation : float
    """

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    density: np.ndarray
    levels: tuple[float, ...]
    dots: np.ndarray
    correlation: float


def pair_shape(model: Any, rows: Rows) -> Pair | None:
    """The two columns that depend on each other most; None if the model has no pair."""
    kinds = column_kinds(one_pass(model), rows)
    numeric = [place for place, kind in enumerate(kinds) if kind == NUMBER]
    if len(numeric) < 2 or kind_of(model) != DENSITY:
        return None
    places, correlation = _strongest(rows, numeric[:MOST_COLUMNS])
    part = part_of(model, places)
    if part is None:
        return None
    columns = np.column_stack([rows.numbers(place) for place in places])
    columns = columns[np.isfinite(columns).all(axis=1)]
    if not len(columns):
        return None
    x, y = (np.linspace(*view(column), _MAP_POINTS) for column in columns.T)
    points = np.stack(np.meshgrid(x, y), axis=-1)  # (m, m, 2)
    density = part.density(points.reshape(-1, 2)).reshape(points.shape[:2])
    first, second = (rows.names[place] for place in places)
    some = np.linspace(0, len(columns) - 1, min(len(columns), _MOST_DOTS)).astype(int)
    return Pair(
        (first, second), x, y, density, levels(density), columns[some], correlation
    )


def levels(density: np.ndarray) -> tuple[float, ...]:
    """Thresholds above which given shares of the density on a grid lie, rising.

    Examples
    --------
    >>> import numpy as np
    >>> levels(np.array([0.1, 0.1, 0.2, 0.6]))
    (0.1, 0.2, 0.6, 0.6)
    """
    ordered = np.sort(np.maximum(density.ravel(), 0))[::-1]
    reached = np.cumsum(ordered)
    if not reached[-1] > 0:
        return ()
    places = np.searchsorted(reached, np.array(SHARES) * reached[-1] * (1 - 1e-12))
    return tuple(float(ordered[place]) for place in places)


def _strongest(rows: Rows, numeric: list[int]) -> tuple[list[int], float]:
    """Places of the two columns with the largest correlation, in absolute value."""
    table = np.column_stack([rows.numbers(place) for place in numeric])
    table = table[np.isfinite(table).all(axis=1)]
    spread = table.std(axis=0) if len(table) else np.zeros(len(numeric))
    standard = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1)
    overlap = np.triu(standard.T @ standard / max(len(table), 1), k=1)
    first, second = divmod(int(np.abs(overlap).argmax()), len(numeric))
    if first == second:  # nothing depends on anything
        first, second = 0, 1
    return [numeric[first], numeric[second]], float(overlap[first, second])


# ---- the spectrum ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the density matrix of all rows, whatever their outcome.

    Parameters
    ----------
    values : array of shape (D,)
        Descending, as shares of their sum.
    effective_rank : float
        The exponential of their entropy: how many directions the state really uses.
    rank : int or None
        Eigenvectors that predictions keep, of each outcome's matrix; None for all.
    kept : float or None
        Share of the trace that these hold, for a single outcome whose matrix is
        truncated.
    """

    values: np.ndarray
    effective_rank: float
    rank: int | None
    kept: float | None


def spectrum(model: Any) -> Spectrum | None:
    """Decompose a model's state; None where it is no matrix, or too large a one."""
    inner = one_pass(model)
    state = inner.state_
    if isinstance(state, FeatureMean):
        return None
    if inner.feature_map_.n_components_ > _LARGEST_MATRIX:
        return None
    pooled = state.mix(np.ones((1, state.n_outcomes)))
    whitening = inner.feature_map_.whitening_
    if keeps_series(inner):
        pooled = inner.feature_map_.to_dense(pooled)
    elif whitening is not None:
        pooled = pooled.change_basis(whitening.astype(np.float64))
    with small_algebra(pooled.dim):
        values = np.linalg.eigvalsh(pooled.normalized()[0])[::-1]
    values = np.clip(values / values.sum(), 0, None)  # below zero is rounding
    rank = _rank_of(inner, values)
    truncates = rank is not None and not isinstance(state, LowRankDensityMatrix)
    single = state.n_outcomes == 1
    kept = float(values[:rank].sum()) if truncates and single else None
    return Spectrum(values, _effective_rank(values), rank, kept)


def _rank_of(inner: Any, values: np.ndarray) -> int | None:
    if getattr(inner, "rank", None) == "elbow" and inner.state_.n_outcomes == 1:
        return max(1, int((values > values.mean()).sum()))
    return kept_rank(inner)


def _effective_rank(values: np.ndarray) -> float:
    seen = values[values > 0]
    return math.exp(-float(np.sum(seen * np.log(seen))))
