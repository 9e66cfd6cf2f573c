"""Where cells begin: sums of rows by the clusters that k-means finds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import block_rows, map_blocks
from rhokit.features.weighted_rows import WeightedRows

Floats = NDArray[np.float64]

_LLOYD_STEPS = 8
# Centres are drawn from so many rows, or so many for each.
_START_ROWS, _ROWS_PER_CELL = 2000, 10
# Of so many rows that are drawn, the best becomes a centre.
_DRAWS = 8


def started(rows: WeightedRows, n_cells: int, rng: np.random.Generator) -> Floats:
    """Sums of features (C, q + w) of the clusters that k-means finds."""
    z, mass = rows.z, rows.mass
    if n_cells == 1 or not z.shape[1]:
        return rows.cell_rows().sums(mass[:, None])
    most = min(len(z), max(_START_ROWS, _ROWS_PER_CELL * n_cells))
    some = np.sort(rng.choice(len(z), most, replace=False))
    centres = _spread(z[some], mass[some], n_cells, rng)
    for _ in range(_LLOYD_STEPS):
        sums = _cluster_sums(rows, centres, with_products=False)
        seen = sums[:, 0] > 0
        centres = sums[seen, 1:] / sums[seen, :1]
    moments = _cluster_sums(rows, centres, with_products=True)
    return moments[moments[:, 0] > 0]


def _spread(z: Floats, mass: Floats, n_cells: int, rng: np.random.Generator) -> Floats:
    """Rows (n_cells, d) that are far from each other, by greedy k-means++.

    A row is drawn by its mass times the squared distance to the nearest one so far; of
    a few, the one is taken that leaves the least of them.
    """
    lengths = np.vecdot(z, z)
    chosen = [int(np.searchsorted(np.cumsum(mass), rng.random() * mass.sum()))]
    nearest = lengths - 2 * (z @ z[chosen[0]]) + lengths[chosen[0]]
    for _ in range(1, n_cells):
        reached = np.cumsum(mass * np.maximum(nearest, 0))
        drawn = np.searchsorted(reached, rng.random(_DRAWS) * reached[-1])
        drawn = np.minimum(drawn, len(z) - 1)
        left = lengths[drawn, None] - 2 * (z[drawn] @ z.T) + lengths
        np.minimum(left, nearest, out=left)
        best = int((left @ mass).argmin())
        chosen.append(int(drawn[best]))
        nearest = left[best]
    return z[chosen]


def _cluster_sums(
    rows: WeightedRows, centres: Floats, *, with_products: bool
) -> Floats:
    """Sums of features by the nearest centre; of one and the numbers, or of all."""
    lengths = (centres**2).sum(axis=1)
    sums: dict[int, Any] = {}

    def work(worker: int, block: slice) -> None:
        own = rows.cell_rows(block)
        nearest = (lengths - 2 * (own.z @ centres.T)).argmin(axis=1)
        member = np.zeros((len(nearest), len(centres)))
        member[np.arange(len(nearest)), nearest] = rows.mass[block]
        total = (
            own.sums(member)
            if with_products
            else member.T @ own.columns[:, : 1 + own.d]
        )
        sums[worker] = sums.get(worker, 0) + total

    map_blocks(work, len(rows), block_rows(len(centres)))
    return np.asarray(sum(sums[worker] for worker in sorted(sums)))


__all__ = ["started"]
