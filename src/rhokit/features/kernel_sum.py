"""Exact sums of the kernel over a few rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import distance_product, gaussian_columns, map_blocks
from rhokit.features.landmarks import product_loses_digits

# Queries and rows of a tile, whose kernels stay in the cache.
_TILE_QUERIES = 256
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
        self._centred = rows - self._centre
        mass = np.ones(len(rows)) if weights is None else weights
        shares = (mass / mass.sum()).astype(rows.dtype)
        starts = range(_TILE_ROWS, len(rows), _TILE_ROWS)
        self._tiles = [
            (rows, own, distance_product(rows, gamma, rows.dtype))
            for rows, own in zip(
                np.split(self._centred, starts), np.split(shares, starts), strict=True
            )
        ]

    def log_mean(self, queries: NDArray[Any]) -> NDArray[np.float64]:
        r"""Logarithm of :math:`\bar k` at each query, shape (n,).

        Finite at any distance, as the log-densities of landmarks are.
        """
        centred = queries - self._centre
        slowly = any(
            product_loses_digits(rows, self._gamma, rows.dtype)
            for rows in (centred, self._centred)
        )
        buffers: dict[int, NDArray[Any]] = {}

        def work(worker: int, block: slice) -> NDArray[np.float64]:
            if worker not in buffers:
                buffers[worker] = np.empty(_TILE_QUERIES * _TILE_ROWS, centred.dtype)
            return self._log_mean(centred[block], buffers[worker], slowly)

        return np.concatenate(map_blocks(work, len(centred), _TILE_QUERIES))

    def _log_mean(
        self, queries: NDArray[Any], memory: NDArray[Any], slowly: bool
    ) -> NDArray[np.float64]:
        total = np.full(len(queries), -np.inf)
        for rows, shares, product in self._tiles:
            kernels, log_scale = gaussian_columns(
                queries,
                rows,
                self._gamma,
                relative=True,
                by_differences=slowly,
                product=None if slowly else product,
                out=memory[: len(queries) * len(rows)].reshape(len(queries), -1),
            )
            with np.errstate(divide="ignore"):
                np.logaddexp(total, np.log(kernels @ shares) + log_scale, out=total)
        return total
