"""Columns of a kernel over landmarks, and what integrals of them need."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rhokit.core import Kernel
from rhokit.fast import gaussian_columns
from rhokit.features.base import Columns

Floats = NDArray[np.float64]
_LONG_ROW = 64


@dataclass(frozen=True)
class KernelColumns:
    """What a map over landmarks asks of its kernel.

    Parameters
    ----------
    of_rows : callable
        From rows (n, d) and landmarks (m, d) to columns (n, m), and the logarithm of
        what was taken out of each row: see :func:`rhokit.fast.gaussian_columns`.
    matrix : callable
        From landmarks to values between them, (m, m).
    overlaps : callable
        From landmarks to integrals of products of columns, in units of the kernel's
        mass, (m, m).
    """

    of_rows: Callable[..., Columns]
    matrix: Callable[[Floats], Floats]
    overlaps: Callable[[Floats], Floats]


def kernel_columns(kernel: Any) -> KernelColumns:
    """Columns of a kernel: of the Gaussian one by fused loops and matrix products."""
    if not kernel.is_gaussian:
        return KernelColumns(
            partial(plain_columns, kernel),
            lambda landmarks: np.asarray(kernel.overlaps(landmarks, landmarks)),
            kernel.column_overlaps,
        )
    narrow = kernel.of_overlaps()
    return KernelColumns(
        partial(gaussian_columns, rate=narrow.gamma),
        lambda landmarks: np.asarray(narrow(squared_distances(landmarks))),
        lambda landmarks: np.asarray(
            kernel.overlap_of_columns(squared_distances(landmarks))
        ),
    )


def plain_columns(
    kernel: Kernel,
    rows: NDArray[Any],
    landmarks: NDArray[Any],
    *,
    relative: bool,
    row_scale: NDArray[Any] | None,
    by_differences: bool,
    out: NDArray[Any] | None,
) -> Columns:
    """Columns (n, m) by the kernel's own formula, and what was taken out of rows."""
    log_scale = None
    with np.errstate(over="ignore", under="ignore"):
        if relative and not kernel.has_signs:
            logs = kernel.log_overlaps(rows, landmarks)
            logs = np.maximum(logs, np.finfo(logs.dtype).min / 4)
            log_scale = logs.max(axis=1)
            values = np.exp(logs - log_scale[:, None])
        else:
            values = kernel.overlaps(rows, landmarks)
    # Products of smaller ones would be no normal numbers, which are slow.
    values[np.abs(values) < np.sqrt(np.finfo(values.dtype).smallest_normal)] = 0
    if row_scale is not None:
        values *= row_scale[:, None]
    if out is not None:
        out[...] = values
        values = out
    return values, None if log_scale is None else log_scale.astype(np.float64)


def squared_distances(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between rows, (m, m); of long rows by a matrix product."""
    if rows.shape[1] <= _LONG_ROW:
        return np.asarray(cdist(rows, rows, "sqeuclidean"))
    centred = rows - rows.mean(axis=0)
    lengths = np.vecdot(centred, centred)
    squares = np.maximum(lengths[:, None] + lengths - 2 * (centred @ centred.T), 0)
    np.fill_diagonal(squares, 0)
    return squares
