"""Rows as a weighted set: what tells them apart, and a sample without repetition."""

import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBERS = "fiub"  # kinds of dtypes
# Constants of the SplitMix64 generator, which mix the bits of a word.
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def distinct_rows(
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    max_rows: int,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """At most ``max_rows`` rows without repetition, with summed weights.

    Up to ``max_rows`` rows, the answer, its order included, depends on the weighted
    set of rows alone: not on their order, nor on whether a row is there twice or has
    weight two.
    """
    if weights is None:
        weights = np.ones(len(rows))
    seen = np.flatnonzero(weights)
    if len(seen) > max_rows:
        seen = np.sort(rng.choice(seen, max_rows, replace=False))
    first, group = group_rows(rows[seen])
    # 0.0 and -0.0 are one value to arithmetic.
    mass = np.bincount(group, weights[seen], len(first)).astype(np.float64)
    return rows[seen[first]] + 0, mass


def group_rows(
    rows: NDArray[Any], scaled: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index of the first row of each group of equals, and each row's group.

    Groups of numbers are sorted along a fixed direction: so they keep their order when
    rounding changes the numbers a little, which hashes would not. With ``scaled``
    (n, d), along that of these numbers instead, which have no units.
    """
    _, first, group = np.unique(row_keys(rows), return_index=True, return_inverse=True)
    if rows.dtype.kind not in _NUMBERS:
        return first, group
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    along = (rows if scaled is None else scaled)[first] @ direction
    order = np.argsort(along, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[group]


def row_keys(
    rows: NDArray[Any], names: NDArray[Any] | None = None
) -> NDArray[np.uint64]:
    """A hash of each row (n, d), together with its name (n, ...), shape (n,).

    Each number's bits are multiplied by an odd constant of its column and the
    products added up, then mixed so that all bits of the sum matter. Wide rows are
    compared this way in a fraction of the time that sorting them takes; two rows of a
    million that differ have the same key with a chance of 3e-8.
    """
    if rows.dtype.kind not in _NUMBERS:
        texts = (repr(row.tolist()).encode() for row in rows)
        rows = np.array([[zlib.crc32(text)] for text in texts]).reshape(len(rows), 1)
    parts = (
        [rows]
        if names is None
        else [rows, names.reshape(len(names), math.prod(names.shape[1:]))]
    )
    table = np.concatenate(parts, axis=1).astype(np.float64) + 0.0  # one zero only
    bits = np.ascontiguousarray(table).view(np.uint64)
    odd = 2 * np.random.default_rng(0).integers(2**63, size=bits.shape[1]) + 1
    keys = bits ^ (bits >> np.uint64(32))
    keys = (keys * odd.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    for shift, factor in _MIX:
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
