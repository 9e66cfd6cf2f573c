"""Which cells rows fall into: down every tree, node by node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast.numba_loops import loops_for


def tree_cells(
    codes: NDArray[np.uint8],
    roots: NDArray[np.int32],
    features: NDArray[np.int16],
    thresholds: NDArray[np.uint8],
    children: NDArray[np.int32],
) -> NDArray[np.int32]:
    """The cell of every tree that each row is in, shape (n, T).

    Parameters
    ----------
    codes : array of shape (n, d)
    roots : array of shape (T,)
        First nodes of the trees.
    features, thresholds, children : arrays of shape (N,)
        Of a node: the column that is compared, or -1; the largest code that goes to
        the left; the node on the left, one before that on the right, or the cell.
    """
    out = np.empty((len(codes), len(roots)), np.int32)
    loops = loops_for(out.size)
    if loops is None:
        return _by_levels(codes, roots, features, thresholds, children)
    codes = np.ascontiguousarray(codes)
    loops.tree_cells(codes, roots, features, thresholds, children, out)
    return out


def _by_levels(
    codes: NDArray[np.uint8], roots: Any, features: Any, thresholds: Any, children: Any
) -> NDArray[np.int32]:
    """The same for all rows and trees at once, a level at a time."""
    nodes = np.repeat(roots[None], len(codes), axis=0)
    rows = np.arange(len(codes))[:, None]
    while True:
        asked = features[nodes]
        inside = asked >= 0
        if not inside.any():
            return np.asarray(children[nodes])
        right = codes[rows, np.maximum(asked, 0)] > thresholds[nodes]
        nodes = np.where(inside, children[nodes] + right, nodes)


def add_to_cells(
    cells: NDArray[np.int32], masses: NDArray[np.float64], table: NDArray[np.float64]
) -> None:
    """Add the masses (n, K) of rows to the cells (n, T) that they are in.

    Parameters
    ----------
    cells : array of shape (n, T)
    masses : array of shape (n, K)
    table : array of shape (C, K)
        What is added to, in place.
    """
    loops = loops_for(cells.size)
    if loops is not None:
        loops.add_to_cells(cells, masses, table)
        return
    for k in range(masses.shape[1]):
        own = np.flatnonzero(masses[:, k])
        np.add.at(table[:, k], cells[own], masses[own, k, None])


def sum_over_cells(
    cells: NDArray[np.int32], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the cells (n, T) that rows are in hold (C, J), added up, shape (n, J)."""
    out = np.zeros((len(cells), table.shape[1]))
    loops = loops_for(cells.size)
    if loops is not None:
        loops.sum_over_cells(cells, table, out)
        return out
    for own in cells.T:
        out += table[own]
    return out
