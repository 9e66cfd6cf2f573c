"""Overlaps of rows under a kernel itself, which maps approximate."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import Kernel
from rhokit.kernels import kernel_of
from rhokit.plans.leave_one_out import Overlaps, kernel_overlaps, squared_distances


def exact_overlaps(
    wanted: Any, rows: NDArray[Any], probes: NDArray[np.intp]
) -> Callable[[float], Overlaps]:
    """From γ to squared overlaps (b, G) of probes with all rows, under a kernel.

    Up to a factor for each probe: the nearest other row counts one, where kernels fall
    to nothing.
    """
    if kernel_of(wanted, 1.0).is_gaussian:
        squares = squared_distances(rows, probes)
        return lambda gamma: kernel_overlaps(squares, gamma)

    def for_gamma(gamma: float) -> Overlaps:
        kernel = kernel_of(wanted, gamma)
        return lambda block: _squared_overlaps(kernel, rows, probes[block])

    return for_gamma


def _squared_overlaps(
    kernel: Kernel, rows: NDArray[Any], own: NDArray[np.intp]
) -> NDArray[Any]:
    logs = kernel.log_overlaps(rows[own], rows)
    logs[np.arange(len(own)), own] = -np.inf
    nearest = logs.max(axis=1, keepdims=True)
    nearest = np.where(np.isfinite(nearest), nearest, 0)
    return np.asarray(np.exp(2 * (logs - nearest)))
