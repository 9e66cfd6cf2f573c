"""How much memory learning takes, said before it starts."""

from dataclasses import dataclass

import numpy as np

from rhokit.fast import blas_threads, block_rows

# Sums that a worker has under way at once; more outcomes are closed one by one.
_OPEN_SUMS = 4
# Rows that leave-one-out looks at, and copies of their columns.
_PLANNED_ROWS = 8192
_PLANNING_COPIES = 3
# Matrices of the landmarks' kernel while it is decomposed.
_DECOMPOSITION = 8
# Rows as they are given, as they are checked, and as they are scaled.
_BATCH_COPIES = 3


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
    def total(self):
        """The most at any time."""
        return self.map + max(self.planning, self.sums + self.workers + self.batch)

    def __str__(self):
        parts = ("planning", "sums", "workers", "batch", "map")
        listed = ", ".join(f"{name} {as_text(getattr(self, name))}" for name in parts)
        return f"{as_text(self.total)} ({listed})"


def estimate_memory(*, n_features, n_columns, n_outcomes, matrix, itemsize, batch_rows):
    """Bytes for a model of these sizes.

    Parameters
    ----------
    n_features, n_columns, n_outcomes : int
        d, m and K.
    matrix : bool
        Whether a state is (m, m) for every outcome, or (m,).
    itemsize : int
        Bytes of a number of the columns.
    batch_rows : int
    """
    d, m, k = n_features, n_columns, n_outcomes
    size = m * m if matrix else m
    wide = max(8, itemsize)
    own = (
        min(k, _OPEN_SUMS) * size * (itemsize if itemsize == wide else itemsize + wide)
    )
    columns = block_rows(m) * m * itemsize
    planned = min(_PLANNED_ROWS, 8 * m) * (m + d) * wide * _PLANNING_COPIES
    return MemoryEstimate(
        planning=int(planned + _DECOMPOSITION * m * m * wide),
        sums=int(3 * k * size * wide),
        workers=int(blas_threads() * (own + 2 * columns)),
        batch=int(_BATCH_COPIES * batch_rows * d * np.dtype(np.float64).itemsize),
        map=int((m * m + m * d) * (itemsize + wide)),
    )


def as_text(n_bytes):
    """A number of bytes as people say it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
