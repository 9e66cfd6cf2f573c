"""How much memory learning takes, said before it starts."""

from dataclasses import dataclass
from typing import Any

from rhokit.fast import blas_threads, block_rows

# Measured on models of 512 to 2,048 columns, and a little more: columns of the rows
# that leave-one-out looks at, matrices of their own size, copies of the sample.
_PLANNED_COLUMNS = 3 * 6000
_PLANNED_MATRICES = 2
_PLANNED_ROWS = 2 * 20_000
_PLANNED_REST = 2**24
# Rows that leave-one-out looks at on a grid.
# Rows that a mosaic is chosen from.
_PLANNED_ROWS = 20_000
_PLANNED_GRID_ROWS = 2**17
# Kernel values of rows left out, against others.
_PLANNED_PAIRS = 3 * 1024 * 5000 * 8
# Rows that are left out of a blend, and their features while its ridge is chosen.
_JUDGED_ROWS, _JUDGED_COPIES = 8_000, 4
_COMPLEX = 16
_NODE_NUMBERS = 24
# What allocators keep for threads while they learn.
_LEARNING_REST = 2**24


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that learning takes at most, beyond what is loaded already.

    Parameters
    ----------
    planning : int
        While scaling, γ and map are chosen, before the first row is added.
    sums : int
        The state, the sums of a batch, and the two added up.
    workers : int
        Columns and sums that every worker thread has under way.
    batch : int
        The rows of a batch.
    map : int
        The feature map.
    """

    planning: int
    sums: int
    workers: int
    batch: int
    map: int

    @property
    def total(self) -> int:
        """The most at any time."""
        return self.map + max(self.planning, self.sums + self.workers + self.batch)

    def __str__(self) -> str:
        parts = ("planning", "sums", "workers", "batch", "map")
        listed = ", ".join(f"{name} {as_text(getattr(self, name))}" for name in parts)
        return f"{as_text(self.total)} ({listed})"


@dataclass(frozen=True)
class Load:
    """How much a model has to learn at once.

    Parameters
    ----------
    n_outcomes : int
        K.
    batch_rows : int
        Rows of the largest batch.
    batch_copies : int
        Of the rows of a batch, at once.
    open_sums : int
        Outcomes that a worker sums up at once; others are closed one by one.
    """

    n_outcomes: int
    batch_rows: int
    batch_copies: int
    open_sums: int


def estimate_memory(
    n_features: int, n_columns: int, itemsize: int, load: Load, *, matrix: bool
) -> MemoryEstimate:
    """Bytes for a model of these sizes.

    Parameters
    ----------
    n_features, n_columns : int
        d and m.
    itemsize : int
        Bytes of a number of the columns.
    load : Load
    matrix : bool
        Whether a state is (m, m) for every outcome, or (m,).
    """
    d, m, k = n_features, n_columns, load.n_outcomes
    size = m * m if matrix else m
    wide = max(8, itemsize)
    own = (
        min(k, load.open_sums)
        * size
        * (itemsize if itemsize == wide else itemsize + wide)
    )
    columns = block_rows(m) * m * itemsize
    planned = _PLANNED_COLUMNS * m * itemsize + _PLANNED_MATRICES * m * m * wide
    return MemoryEstimate(
        planning=int(planned + _PLANNED_ROWS * d * 8 + _PLANNED_REST),
        sums=int(3 * k * size * wide),
        workers=int(blas_threads() * (own + 2 * columns) + _LEARNING_REST),
        batch=int(load.batch_copies * load.batch_rows * (d + 1) * 8),
        map=int((m * m + m * d) * (itemsize + wide)),
    )


def estimate_grid_memory(feature_map: Any, load: Load) -> MemoryEstimate:
    """Bytes for a model on a grid: see :func:`estimate_memory`."""
    n_outcomes, batch_rows = load.n_outcomes, load.batch_rows
    d, modes = feature_map.n_columns_, feature_map.grid_.n_modes
    series = n_outcomes * modes * _COMPLEX
    # Fine grids of the FFTs, and what they are made of, for one outcome at a time; in
    # one dimension, moments of the nodes.
    nodes = _NODE_NUMBERS if d == 1 else 2 * 2**d
    transform = 2 * nodes * modes * _COMPLEX
    rows = min(batch_rows, feature_map.rows_per_block(batch_rows, n_outcomes, None, 1))
    block = rows * (2 * d + 12 + 3 * n_outcomes) * 8
    planned = _PLANNED_GRID_ROWS * (d + 8) * 8 if n_outcomes == 1 else _PLANNED_PAIRS
    return MemoryEstimate(
        planning=int(planned + transform + _PLANNED_REST),
        sums=int(3 * series),
        workers=int(blas_threads() * (series + transform + block) + _LEARNING_REST),
        batch=int(load.batch_copies * batch_rows * (d + 1) * 8),
        map=int(4 * modes * 8),
    )


def estimate_cell_memory(feature_map: Any, load: Load) -> MemoryEstimate:
    """Bytes for a mosaic: see :func:`estimate_memory`."""
    m, cells = feature_map.router_.shape
    d = feature_map.n_numbers
    sums = load.n_outcomes * cells * m * 8
    rows = feature_map.rows_per_block(load.batch_rows, load.n_outcomes, None, 1)
    block = min(load.batch_rows, rows) * (3 * m + 5 * cells) * 8
    return MemoryEstimate(
        planning=int(_PLANNED_ROWS * (3 * d + 8) * 8 + 8 * cells * m * 8),
        sums=int(3 * sums),
        workers=int(blas_threads() * (sums + block) + _LEARNING_REST),
        batch=int(
            load.batch_copies * load.batch_rows * (feature_map.n_features_in_ + 1) * 8
        ),
        map=int(2 * cells * m * 8),
    )


def estimate_blend_memory(feature_map: Any, load: Load) -> MemoryEstimate:
    """Bytes for a blend: see :func:`estimate_memory`."""
    size, forest = feature_map.n_features, feature_map.forest_
    d, points = feature_map.n_columns_, feature_map.n_prototypes
    sums = 8 * (load.n_outcomes * (size + feature_map.n_cells) + size**2)
    rows = feature_map.rows_per_block(load.batch_rows, load.n_outcomes, None, 1)
    numbers = 3 * size + 2 * d + 2 * forest.n_trees + 4 * load.n_outcomes
    block = min(load.batch_rows, rows) * (numbers + 2 * points) * 8
    nodes = len(forest.features) * 13
    judged = _JUDGED_COPIES * _JUDGED_ROWS * size * 8
    planned = _PLANNED_ROWS * (3 * d + 8) * 8 + 6 * size**2 * 8 + 10 * nodes
    return MemoryEstimate(
        planning=int(planned + judged),
        sums=int(3 * sums),
        workers=int(blas_threads() * (2 * sums + block) + _LEARNING_REST),
        batch=int(load.batch_copies * load.batch_rows * (d + 1) * 8),
        map=int(2 * nodes + 3 * feature_map.n_kernels**2 * 8 + 3 * points * d * 8),
    )


def as_text(n_bytes: int) -> str:
    """A number of bytes as people say it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
