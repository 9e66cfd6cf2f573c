"""Exact sums of the kernel over a few rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import (
    distance_product,
    gaussian_columns,
    gaussian_sums,
    map_blocks,
)
from rhokit.features.landmarks import product_loses_digits

# Queries of a block: as many as make the compiled loops worth it, within limits.
_PAIRS = 2**18
_FEWEST_QUERIES, _MOST_QUERIES = 256, 4096
# Rows of a tile of far queries.
_TILE_ROWS = 1024


class KernelSum:
    r"""The weighted mean of a Gaussian kernel over rows, without a feature map.

    .. math:: \bar k(x) = \frac{\sum_i w_i\, e^{-\gamma\|x - x_i\|^2}}{\sum_i w_i}

    Parameters
    ----------
    rows : array of shape (s, d), float
    weights : array of shape (s,), optional
    gamma : float

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.features import KernelSum
    >>> kernels = KernelSum(np.array([[0.0], [1.0]]), None, gamma=1.0)
    >>> np.exp(kernels.log_mean(np.array([[0.0], [0.5]]))).round(3)
    array([0.684, 0.779])
    """

    def __init__(
        self, rows: NDArray[Any], weights: NDArray[np.float64] | None, gamma: float
    ) -> None:
        self._gamma = gamma
        self._centre = rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        self._rows = rows - self._centre
        self._product = distance_product(self._rows, gamma, rows.dtype)
        # The largest weight is one: products with kernels stay normal numbers.
        mass = np.ones(len(rows)) if weights is None else weights / weights.max()
        self._weights = mass.astype(rows.dtype)
        self._log_total = np.log(mass.sum())
        # Kernels below the smallest normal number are left out of plain sums, which
        # is less than their rounding where the mean is above this.
        info = np.finfo(rows.dtype)
        self._log_least = float(np.log(info.smallest_normal) - np.log(info.eps))

    def log_mean(self, queries: NDArray[Any]) -> NDArray[np.float64]:
        r"""Logarithm of :math:`\bar k` at each query, shape (n,).

        Finite at any distance, as the log-densities of landmarks are.
        """
        centred = queries - self._centre
        slowly = any(
            product_loses_digits(rows, self._gamma, rows.dtype)
            for rows in (centred, self._rows)
        )

        def work(worker: int, block: slice) -> NDArray[np.float64]:
            return self._log_mean(centred[block], slowly)

        size = -(-_PAIRS // len(self._rows))
        size = max(_FEWEST_QUERIES, min(size, _MOST_QUERIES))
        return np.concatenate(map_blocks(work, len(centred), size))

    def _log_mean(self, queries: NDArray[Any], slowly: bool) -> NDArray[np.float64]:
        sums = gaussian_sums(
            queries,
            self._rows,
            self._weights,
            self._gamma,
            by_differences=slowly,
            product=None if slowly else self._product,
        )
        with np.errstate(divide="ignore"):
            logs = np.log(sums) - self._log_total
        (far,) = np.nonzero(logs < self._log_least)
        if len(far):
            logs[far] = self._log_mean_far_away(queries[far], slowly)
        return logs

    def _log_mean_far_away(
        self, queries: NDArray[Any], slowly: bool
    ) -> NDArray[np.float64]:
        """Sum with each tile's largest kernel taken out before it is summed."""
        total = np.full(len(queries), -np.inf)
        for start in range(0, len(self._rows), _TILE_ROWS):
            tile = slice(start, start + _TILE_ROWS)
            kernels, log_scale = gaussian_columns(
                queries,
                self._rows[tile],
                self._gamma,
                relative=True,
                by_differences=slowly,
                product=None if slowly else self._product[:, tile],
            )
            with np.errstate(divide="ignore"):
                logs = np.log(kernels @ self._weights[tile]) + log_scale
            np.logaddexp(total, logs, out=total)
        return total - self._log_total
