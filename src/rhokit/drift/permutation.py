r"""A test by permutation of several kinds of change at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata

from rhokit.drift.scores import Contrast, Scores

Floats = NDArray[np.float64]
# So many blocks make means normal enough for p-values that permutations cannot reach.
_MANY_BLOCKS = 200
# What families that look at the largest of columns and of pairs count; others one.
_WEIGHTS = {"columns": 4.0, "pairs": 2.0}
_COLUMN_FAMILIES: tuple[str, ...] = (
    "place",
    "spread",
    "shape",
    "step",
    "labels",
    "missing",
)


@dataclass(frozen=True, eq=False)
class Tested:
    """What a test by permutation says.

    Parameters
    ----------
    p_value : float
        Of no change at all.
    column_p_values : array of shape (d,)
        Of each column, corrected for there being several.
    column_strengths : array of shape (d,)
        How far each column is from no change, in standard deviations.
    pairs : list of tuple
        Places of the columns of each pair.
    pair_p_values : array of shape (number of pairs,)
        Corrected, too.
    """

    p_value: float
    column_p_values: Floats
    column_strengths: Floats
    pairs: list[tuple[int, ...]]
    pair_p_values: Floats


def block_means(values: NDArray[np.float32], size: int) -> Floats:
    """Means of blocks of so many consecutive rows; the last rows may be left over."""
    n_blocks = len(values) // size
    kept = values[: n_blocks * size].reshape(n_blocks, size, -1)
    return np.asarray(kept.mean(axis=1), dtype=np.float64)


def permutation_test(
    scores: Scores,
    n_old: int,
    n_columns: int,
    *,
    block_rows: int = 1,
    n_permutations: int = 999,
    seed: int = 0,
) -> Tested:
    r"""Test whether two sets of rows come from one distribution.

    Rows, or blocks of them, are exchanged between both sides at random. Of each score's
    difference of means :math:`t`, families look at the largest and at the sum of
    squares, over columns and over pairs, and at the maximum mean discrepancy; what they
    find is brought together as a weighted sum of :math:`1/p_f`. Each step
    treats the true sides as it treats exchanged ones, so that

    .. math:: P(p \le \alpha) \le \alpha

    however many rows there are, if blocks are exchangeable.

    Parameters
    ----------
    scores : Scores
        Of both sides' rows, the old ones first.
    n_old : int
    n_columns : int
    block_rows : int
        Rows that are exchanged together, because they may depend on each other.
    n_permutations : int
    seed : int
    """
    sides = _sides(scores.values, n_old, block_rows)
    counts = len(sides[0]), len(sides[1])
    signs = _exchanged(*counts, n_permutations, seed)
    blocks = np.concatenate(sides)
    spread = blocks.std(axis=0)
    spread[spread < 1e-9] = np.inf
    scale = 1 / np.sqrt(1 / counts[0] + 1 / counts[1])
    t = _product(signs, (blocks - blocks.mean(axis=0)) / spread) * scale
    squares = t**2  # (B + 1, p)
    strengths = np.stack(
        [_strength(squares, each) for each in scores.contrasts]
        or [np.zeros(len(signs))],
        axis=1,
    )
    families = _families(scores.contrasts, squares, strengths)
    kernel = np.concatenate(_sides(scores.kernel, n_old, block_rows))
    if kernel.shape[1]:
        apart = _product(signs, kernel - kernel.mean(axis=0))
        families.append((1.0, (apart**2).sum(axis=1)))
    asymptotic = _asymptotic(scores.contrasts, squares[0], sum(counts))
    return _verdict(families, strengths, scores.contrasts, n_columns, asymptotic)


def _sides(
    values: NDArray[np.float32], n_old: int, block_rows: int
) -> tuple[Floats, Floats]:
    return (
        block_means(values[:n_old], block_rows),
        block_means(values[n_old:], block_rows),
    )


def _exchanged(
    n_old: int, n_new: int, n_permutations: int, seed: int
) -> NDArray[np.float32]:
    """Weights of a difference of means (B + 1, N), the true sides first."""
    rng = np.random.default_rng(seed)
    weights = np.repeat([-1 / n_old, 1 / n_new], [n_old, n_new]).astype(np.float32)
    signs = np.tile(weights, (n_permutations + 1, 1))
    signs[1:] = rng.permuted(signs[1:], axis=1)
    return signs


def _product(signs: NDArray[np.float32], values: Floats) -> Floats:
    return np.asarray(signs @ values.astype(np.float32), dtype=np.float64)


def _strength(squares: Floats, contrast: Contrast) -> Floats:
    r"""Sums of squares as standard normal numbers, by Wilson and Hilferty, (B + 1,)."""
    df = len(contrast.scores)
    total = squares[:, list(contrast.scores)].sum(axis=1)
    return np.asarray(
        (np.cbrt(total / df) - (1 - 2 / (9 * df))) / np.sqrt(2 / (9 * df))
    )


def _families(
    contrasts: tuple[Contrast, ...], squares: Floats, strengths: Floats
) -> list[tuple[float, Floats]]:
    """Weights and statistics (B + 1,) of the families that look at scores."""
    found = []
    largest = {"columns": _COLUMN_FAMILIES, "pairs": ("pair",)}
    for kind, names in largest.items():
        which = [k for k, each in enumerate(contrasts) if each.family in names]
        if which:
            found.append((_WEIGHTS[kind], strengths[:, which].max(axis=1)))
    sums: tuple[tuple[str, ...], ...]
    sums = (("place", "labels", "missing"), ("spread",), ("pair",))
    for names in sums:
        places = [s for c in contrasts if c.family in names for s in c.scores]
        if places:
            found.append((1.0, squares[:, places].sum(axis=1)))
    return found


def _asymptotic(
    contrasts: tuple[Contrast, ...], squares: Floats, n_blocks: int
) -> Floats:
    """p-values of contrasts for many blocks, one where there are few."""
    if n_blocks < _MANY_BLOCKS:
        return np.ones(max(len(contrasts), 1))
    totals = [squares[list(each.scores)].sum() for each in contrasts]
    degrees = [len(each.scores) for each in contrasts]
    return np.asarray(chi2.sf(totals, degrees)) if contrasts else np.ones(1)


def _verdict(
    families: list[tuple[float, Floats]],
    strengths: Floats,
    contrasts: tuple[Contrast, ...],
    n_columns: int,
    asymptotic: Floats,
) -> Tested:
    by_columns = [k for k, c in enumerate(contrasts) if c.family != "pair"]
    by_pairs = [k for k, c in enumerate(contrasts) if c.family == "pair"]
    of_columns = np.full((len(strengths), n_columns), -np.inf)
    least = np.ones(n_columns)
    for k in by_columns:
        place = contrasts[k].columns[0]
        of_columns[:, place] = np.maximum(of_columns[:, place], strengths[:, k])
        least[place] = min(least[place], asymptotic[k] * len(by_columns))
    of_pairs = strengths[:, by_pairs]
    column_p = _corrected(of_columns, least)
    pair_p = _corrected(of_pairs, asymptotic[by_pairs] * len(by_pairs))
    overall = _overall(families) if families else 1.0
    if overall <= 1 / len(strengths) and contrasts:
        overall = min(overall, float(asymptotic.min()) * len(contrasts))
    pairs = [contrasts[k].columns for k in by_pairs]
    return Tested(overall, column_p, of_columns[0], pairs, pair_p)


def _overall(families: list[tuple[float, Floats]]) -> float:
    """p-value of the weighted sum of 1/p over families, for the true sides."""
    total = sum(w / rankdata(-found, method="max") for w, found in families)
    return float((total >= total[0] * (1 - 1e-9)).mean())


def _corrected(statistics: Floats, asymptotic: Floats) -> Floats:
    """p-values that allow for the largest of all statistics, shape (m,)."""
    if not statistics.shape[1]:
        return np.ones(0)
    largest = np.sort(statistics.max(axis=1))
    below = np.searchsorted(largest, statistics[0] - 1e-9, side="left")
    p = (len(largest) - below) / len(largest)
    floor = 1 / len(largest)
    return np.asarray(np.where(p <= floor, np.minimum(p, asymptotic), p))
