r"""Scores of rows that do not know which side a row belongs to.

All of them are made from both sides' rows together, so that exchanging rows between the
sides leaves them as they are: that is what makes a test by permutation exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from rhokit.drift.tables import Column

Floats = NDArray[np.float64]
# Degrees of the polynomials of ranks: the first sees places, the second spreads.
_DEGREES = 4
# Quantiles of both sides together at which their distribution functions are compared.
_STEPS = np.arange(1, 12) / 12
# Categories that are looked at one by one, and in pairs of columns.
_MOST_LABELS, _MOST_PAIR_LABELS = 50, 3
# Pairs of columns that are compared, those with the largest correlations first.
_MOST_PAIRS = 1500
# Frequencies of the random features of the kernel, and rows that its width is from.
_FREQUENCIES, _WIDTH_ROWS = 256, 500


@dataclass(frozen=True)
class Contrast:
    """Scores that are compared together.

    Parameters
    ----------
    family : str
        ``"place"``, ``"spread"``, ``"shape"`` or ``"step"`` of numbers, ``"labels"``,
        ``"missing"``, or ``"pair"``.
    columns : tuple of int
        Places of the columns that they are about.
    scores : tuple of int
        Places of the scores.
    """

    family: str
    columns: tuple[int, ...]
    scores: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scores:
    """Standardised scores of rows, what they are about, and features of a kernel.

    Parameters
    ----------
    values : array of shape (n, p)
        Of mean 0 and variance 1 over all rows.
    contrasts : tuple of Contrast
    kernel : array of shape (n, m)
        Features whose inner products are a Gaussian kernel of whole rows.
    """

    values: NDArray[np.float32]
    contrasts: tuple[Contrast, ...]
    kernel: NDArray[np.float32]


def scores_of(columns: Sequence[Column], *, pairs: bool = True) -> Scores:
    r"""Scores of the rows of both sides together.

    A number has Legendre polynomials of its rank :math:`u \in [-1, 1]`, a category the
    indicators of its labels, two columns the products of their normal scores.

    Parameters
    ----------
    columns : sequence of Column
        Of both sides' rows, one after the other.
    pairs : bool, default=True
        Whether pairs of columns and the kernel are wanted.
    """
    parts: list[Floats] = []
    contrasts: list[Contrast] = []
    for place, column in enumerate(columns):
        for family, found in _of_column(column):
            start = len(parts)
            parts += list(found.T)
            wanted = tuple(range(start, len(parts)))
            contrasts += _contrasts(family, place, wanted)
    n = len(columns[0].values)
    kernel = np.zeros((n, 0), np.float32)
    if pairs:
        parts += _pairs(columns, contrasts, len(parts))
        kernel = _kernel_features([_normal_scores(c) for c in columns])
    values = np.stack(parts, axis=1) if parts else np.zeros((n, 0))
    return Scores(values.astype(np.float32), tuple(contrasts), kernel)


def _contrasts(family: str, place: int, wanted: tuple[int, ...]) -> Iterator[Contrast]:
    if family == "ranks":
        yield Contrast("place", (place,), wanted[:1])
        if len(wanted) > 1:
            yield Contrast("spread", (place,), wanted[1:2])
            yield Contrast("shape", (place,), wanted)
    elif family == "steps":
        for score in wanted:
            yield Contrast("step", (place,), (score,))
    else:
        yield Contrast(family, (place,), wanted)


def _of_column(column: Column) -> Iterator[tuple[str, Floats]]:
    """Families of scores of a column; none where all rows have the same value."""
    gaps = np.isnan(column.values)
    if gaps.any() and not gaps.all():
        yield "missing", standardised(gaps[:, None].astype(np.float64))
    found = standardised(
        _polynomials(column) if column.labels is None else _labels(column, _MOST_LABELS)
    )
    if found.shape[1]:
        yield ("ranks" if column.labels is None else "labels"), found
    if column.labels is None and found.shape[1] > 1:
        yield "steps", standardised(_below(column))


def standardised(scores: Floats) -> Floats:
    """Columns with mean 0 and variance 1 over known rows, without constant ones.

    Unknown rows have the mean.
    """
    with np.errstate(all="ignore"):
        known = ~np.isnan(scores)
        counts = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, scores, 0.0)
        filled = np.where(known, filled - filled.sum(axis=0) / counts, 0.0)
        spread = np.sqrt((filled**2).sum(axis=0) / len(scores))
    kept = spread > 1e-9
    return np.asarray(filled[:, kept] / spread[kept])


def ranks(values: Floats) -> Floats:
    """Ranks between 0 and 1, equal ones sharing theirs; NaN stays, shape (n,)."""
    known = ~np.isnan(values)
    found = np.full(len(values), np.nan)
    found[known] = (rankdata(values[known]) - 0.5) / max(int(known.sum()), 1)
    return found


def _polynomials(column: Column) -> Floats:
    """Legendre polynomials of the ranks, shape (n, 4); (n, 1) of two values."""
    u = 2 * ranks(column.values) - 1
    values = np.unique(u[~np.isnan(u)])
    degrees = min(_DEGREES, max(len(values) - 1, 1))
    vander = np.polynomial.legendre.legvander(u, degrees)
    return np.asarray(vander[:, 1:])


def _below(column: Column) -> Floats:
    """Whether ranks are below steps, shape (n, 11)."""
    u = ranks(column.values)[:, None]
    return np.where(np.isnan(u), np.nan, u < _STEPS)


def _labels(column: Column, most: int) -> Floats:
    """Indicators of the most frequent labels, and of all others together."""
    codes = column.values
    known = ~np.isnan(codes)
    counts = np.bincount(codes[known].astype(np.intp), minlength=1)
    frequent = np.argsort(-counts, kind="stable")[:most]
    found = (codes[:, None] == frequent).astype(np.float64)
    if len(counts) > most:
        found = np.hstack([found, 1 - found.sum(axis=1, keepdims=True)])
    found[~known] = np.nan
    return found


def _normal_scores(column: Column) -> Floats:
    """Normal quantiles of ranks, or indicators of labels, shape (n, s)."""
    if column.labels is None:
        return standardised(ndtri(ranks(column.values))[:, None])
    return standardised(_labels(column, _MOST_PAIR_LABELS)) / np.sqrt(2)


def _pairs(
    columns: Sequence[Column], contrasts: list[Contrast], start: int
) -> list[Floats]:
    """Products of the scores of two columns; adds what they are about."""
    scores = [_normal_scores(column) for column in columns]
    scores = [_told_apart(each) for each in scores]
    parts: list[Floats] = []
    for i, j in _pairs_to_compare(scores):
        found = standardised(_products(scores[i], scores[j]))
        if found.shape[1]:
            places = range(start + len(parts), start + len(parts) + found.shape[1])
            contrasts.append(Contrast("pair", (i, j), tuple(places)))
            parts += list(found.T)
    return parts


def _told_apart(scores: Floats) -> Floats:
    """Scores without the second of two labels, which the first one tells."""
    return scores[:, :1] if scores.shape[1] == 2 else scores


def _products(one: Floats, other: Floats) -> Floats:
    return np.stack([a * b for a in one.T for b in other.T], axis=1)


def dependence_scores(one: Column, other: Column) -> Floats:
    """Products of two columns' scores among the rows of a single side, (n, s)."""
    both = [_told_apart(_normal_scores(each)) for each in (one, other)]
    return (
        _products(*both)
        if all(each.shape[1] for each in both)
        else np.zeros((len(one.values), 0))
    )


def _pairs_to_compare(scores: list[Floats]) -> list[tuple[int, int]]:
    """All pairs; of too many, those whose columns go together most."""
    usable = [place for place, each in enumerate(scores) if each.shape[1]]
    pairs = [(i, j) for i in usable for j in usable if i < j]
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    first = np.stack([scores[place][:, 0] for place in usable], axis=1)
    together = np.abs(first.T @ first)
    rows, places = np.triu_indices(len(usable), 1)
    order = np.argsort(-together[rows, places], kind="stable")[:_MOST_PAIRS]
    return sorted((usable[rows[k]], usable[places[k]]) for k in order.tolist())


def _kernel_features(scores: list[Floats]) -> NDArray[np.float32]:
    r"""Random features of a Gaussian kernel of median width, shape (n, 2m)."""
    rows = np.hstack(scores)
    rng = np.random.default_rng(0)
    some = rows[rng.permutation(len(rows))[:_WIDTH_ROWS]]
    squares = ((some[:, None] - some) ** 2).sum(axis=2)
    apart = squares[squares > 1e-12]
    width = np.sqrt(np.median(apart) if len(apart) else 1.0)
    angles = rows @ (rng.normal(size=(rows.shape[1], _FREQUENCIES)) / width)
    features = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(_FREQUENCIES)
    return np.asarray(features, dtype=np.float32)
