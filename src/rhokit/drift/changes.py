"""What a column, or two of them, looked like before and now."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, spearmanr
from scipy.stats.contingency import association

from rhokit.drift.comparison import ColumnChange, PairChange
from rhokit.drift.permutation import block_means
from rhokit.drift.scores import dependence_scores
from rhokit.drift.tables import Column

Floats = NDArray[np.float64]
# Bins of a picture: of numbers, inside these levels; and of categories.
_BINS, _VIEW, _MOST_BARS = 24, (0.005, 0.995), 12
_FEWEST_ROWS = 3


def column_change(
    old: Column,
    new: Column,
    p_value: float,
    strength: float,
    old_missing: float = math.nan,
    new_missing: float = math.nan,
) -> ColumnChange:
    """How a column differs, told from both sides' values.

    Shares of missing values are given, where they are known.
    """
    of_kind = _numbers if old.labels is None else _categories
    return ColumnChange(
        name=old.name,
        kind=old.kind,
        role=old.role,
        p_value=float(p_value),
        strength=float(strength),
        old_missing=old_missing,
        new_missing=new_missing,
        **of_kind(old, new),
    )


def _numbers(old: Column, new: Column) -> dict[str, Any]:
    one, other = (each.values[~np.isnan(each.values)] for each in (old, new))
    both = np.concatenate([one, other])
    edges = _edges(both)
    counts = [
        np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0] for x in (one, other)
    ]
    return {
        "distance": _largest_gap(one, other),
        "old": _typical(one),
        "new": _typical(other),
        "appeared": {},
        "vanished": {},
        "bins": tuple(edges.tolist()),
        "old_counts": tuple(counts[0].tolist()),
        "new_counts": tuple(counts[1].tolist()),
    }


def _typical(values: Floats) -> dict[str, float]:
    if not len(values):
        return {"median": float("nan"), "spread": float("nan")}
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return {"median": middle, "spread": high - low}


def _edges(values: Floats) -> Floats:
    if not len(values):
        return np.array([0.0, 1.0])
    low, high = np.quantile(values, _VIEW)
    if not high > low:
        low, high = values.min(), values.max()
    if not high > low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _BINS + 1)


def _largest_gap(one: Floats, other: Floats) -> float:
    """The largest difference of two empirical distribution functions."""
    if not len(one) or not len(other):
        return float("nan")
    points = np.concatenate([one, other])
    reached = [
        np.searchsorted(np.sort(x), points, side="right") / len(x) for x in (one, other)
    ]
    return float(np.abs(reached[0] - reached[1]).max())


def _categories(old: Column, new: Column) -> dict[str, Any]:
    labels = [str(label) for label in old.labels or ()]
    counts = [_counts(each, len(labels)) for each in (old, new)]
    shares = [c / max(c.sum(), 1) for c in counts]
    before, after = (dict(zip(labels, c.tolist(), strict=True)) for c in counts)
    order = np.argsort(-(shares[0] + shares[1]), kind="stable")[:_MOST_BARS]
    return {
        "distance": float(np.abs(shares[0] - shares[1]).sum() / 2),
        "old": dict(zip(labels, shares[0].tolist(), strict=True)),
        "new": dict(zip(labels, shares[1].tolist(), strict=True)),
        "appeared": {x: n for x, n in after.items() if n and not before[x]},
        "vanished": {x: n for x, n in before.items() if n and not after[x]},
        "bins": tuple(labels[k] for k in order),
        "old_counts": tuple(counts[0][order].tolist()),
        "new_counts": tuple(counts[1][order].tolist()),
    }


def _counts(column: Column, size: int) -> NDArray[np.intp]:
    known = column.values[~np.isnan(column.values)].astype(np.intp)
    return np.bincount(known, minlength=size)


def pair_change(
    old: tuple[Column, Column], new: tuple[Column, Column], p_value: float
) -> PairChange:
    """How the dependence of two columns differs."""
    names = old[0].name, old[1].name
    return PairChange(names, float(p_value), _dependence(*old), _dependence(*new))


def dependence_p_value(
    old: tuple[Column, Column], new: tuple[Column, Column], block_rows: int
) -> float:
    """That two columns go together as before, whatever became of each by itself.

    By Welch's test of products of scores that are made on each side alone.
    """
    scores = [dependence_scores(*pair) for pair in (old, new)]
    if not scores[0].shape[1] or scores[0].shape[1] != scores[1].shape[1]:
        return 1.0
    blocks = [block_means(each.astype(np.float32), block_rows) for each in scores]
    error = sum(each.var(axis=0, ddof=1) / len(each) for each in blocks)
    apart = blocks[0].mean(axis=0) - blocks[1].mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(error > 0, apart**2 / error, 0.0)
    return float(chi2.sf(squares.sum(), len(squares)))


def _dependence(one: Column, other: Column) -> float:
    known = ~(np.isnan(one.values) | np.isnan(other.values))
    a, b = one.values[known], other.values[known]
    if len(a) < _FEWEST_ROWS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    if one.labels is None and other.labels is None:
        return float(spearmanr(a, b).statistic)
    table = _table(_coded(one, a), _coded(other, b))
    return float(association(table, method="cramer"))


def _coded(column: Column, values: Floats) -> NDArray[np.intp]:
    """Categories, or quarters of the numbers, as codes without gaps."""
    if column.labels is None:
        quarters = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
        return np.unique(quarters, return_inverse=True)[1]
    return np.unique(values, return_inverse=True)[1]


def _table(one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.intp]:
    table = np.zeros((one.max() + 1, other.max() + 1), np.intp)
    np.add.at(table, (one, other), 1)
    return table
