"""The Born rule at the speed of matrix multiplication."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

# A factor of more than this share of full rank is made triangular, which halves
# the work; below it the plain product is cheaper already.
_TRIANGULAR_FROM = 0.6
# Width of the steps in which a triangular factor is multiplied. Steps of gemm come
# closer to the peak than trmm does.
_STEP = 128


class Measurement:
    r"""Measures columns with a factored state: :math:`\|A_k c\|^2`.

    Twin of :meth:`rhokit.core.LowRankDensityMatrix.born`. A factor close to full
    rank is replaced by the triangle of its QR decomposition, which measures the same
    with half the multiplications.

    Parameters
    ----------
    factor : array of shape (K, r, D)
    dtype : dtype
        Of the columns that will be measured.
    """

    def __init__(self, factor: NDArray[Any], dtype: Any) -> None:
        rank, dim = factor.shape[1:]
        self.triangular = rank > _TRIANGULAR_FROM * dim
        if self.triangular:
            factor = np.stack([_upper_triangle(matrix) for matrix in factor])
        self._dtype = np.dtype(dtype)
        self._steps = [_steps(m.T.astype(dtype), self.triangular) for m in factor]

    def born(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Measured values of columns (n, D), shape (n, K)."""
        measured = np.zeros((len(self._steps), len(columns)), columns.real.dtype)
        for squares, steps in zip(measured, self._steps, strict=True):
            scratch = np.empty((len(columns), steps[0][1].shape[1]), self._dtype)
            for start, weights in steps:
                product = scratch[:, : weights.shape[1]]
                np.matmul(columns[:, start:], weights, out=product)
                squares += np.vecdot(product, product).real
        return measured.T


def _steps(weights: NDArray[Any], triangular: bool) -> list[tuple[int, NDArray[Any]]]:
    """Cut weights (D, r) into the steps in which columns are multiplied.

    Of a lower triangle, the output columns from ``start`` on read the columns from
    ``start`` on only.
    """
    if not triangular:
        return [(0, np.ascontiguousarray(weights))]
    return [
        (start, np.ascontiguousarray(weights[start:, start : start + _STEP]))
        for start in range(0, weights.shape[1], _STEP)
    ]


def _upper_triangle(matrix: NDArray[Any]) -> NDArray[Any]:
    """R of ``QR = A``: ``‖Rc‖ = ‖Ac‖`` for every c; rows of zeros fill it up."""
    if np.array_equal(matrix, np.triu(matrix)):
        return matrix
    triangle = qr(matrix, mode="r", check_finite=False)[0]
    rank, dim = triangle.shape
    return triangle[:dim] if rank >= dim else triangle
