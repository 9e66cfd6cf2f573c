"""The Born rule at the speed of matrix multiplication."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr

from rhokit.core.spectrum import square_root_factor

# A factor of more than this share of full rank is made triangular, which halves
# the work; below it the plain product is cheaper already.
_TRIANGULAR_FROM = 0.6
# Width of the steps in which a triangular factor is multiplied. Steps of gemm come
# closer to the peak than trmm does.
_STEP = 128
# What a thin factor may leave out, in units of rounding.
_RANK_TOL = 64.0
# Thin factors of several outcomes share one product of at most this many columns.
_PANEL = 512


class FactorMeasurement:
    r"""Measures columns with factored states: :math:`\|A_k c\|^2`.

    Twin of :meth:`rhokit.core.LowRankDensityMatrix.born`. A factor close to full
    rank is replaced by the triangle of its QR decomposition, which measures the same
    with half the multiplications; thin factors of several outcomes are multiplied
    together.

    Parameters
    ----------
    factors : arrays of shape (r_k, D), one per outcome
        Taken one after the other, so that they need not all be in memory.
    dtype : dtype
        Of the columns that will be measured.
    """

    def __init__(self, factors: Iterable[NDArray[Any]], dtype: Any) -> None:
        self._parts = list(_parts(factors, np.dtype(dtype)))
        self._n_outcomes = sum(part.n_outcomes for part in self._parts)

    @property
    def nbytes(self) -> int:
        """Memory that the factors take."""
        return sum(part.nbytes for part in self._parts)

    def born(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Measured values of columns (n, D), shape (n, K)."""
        measured = np.zeros((self._n_outcomes, len(columns)), columns.real.dtype)
        start = 0
        for part in self._parts:
            part.add_to(measured[start : start + part.n_outcomes], columns)
            start += part.n_outcomes
        return measured.T


class _Triangle:
    """One outcome's triangular factor, cut into the steps it is multiplied in."""

    n_outcomes = 1

    def __init__(self, factor: NDArray[Any], dtype: np.dtype[Any]) -> None:
        # Of a lower triangle, the output columns from `start` on read the columns
        # from `start` on only.
        weights = _upper_triangle(factor).T.astype(dtype)
        self._steps = [
            (start, np.ascontiguousarray(weights[start:, start : start + _STEP]))
            for start in range(0, weights.shape[1], _STEP)
        ]

    @property
    def nbytes(self) -> int:
        return sum(weights.nbytes for _, weights in self._steps)

    def add_to(self, measured: NDArray[Any], columns: NDArray[Any]) -> None:
        first = self._steps[0][1]
        scratch = np.empty((len(columns), first.shape[1]), first.dtype)
        for start, weights in self._steps:
            product = scratch[:, : weights.shape[1]]
            np.matmul(columns[:, start:], weights, out=product)
            measured[0] += np.vecdot(product, product).real


class _Panel:
    """Thin factors of neighbouring outcomes, multiplied at once."""

    def __init__(self, factors: list[NDArray[Any]], dtype: np.dtype[Any]) -> None:
        self.n_outcomes = len(factors)
        self._stops = np.cumsum([len(factor) for factor in factors]).tolist()
        self._weights = np.ascontiguousarray(np.concatenate(factors).T)

    @property
    def nbytes(self) -> int:
        return self._weights.nbytes

    def add_to(self, measured: NDArray[Any], columns: NDArray[Any]) -> None:
        product = columns @ self._weights
        start = 0
        for squares, stop in zip(measured, self._stops, strict=True):
            part = product[:, start:stop]
            squares += np.vecdot(part, part).real
            start = stop


def thin_factor(matrix: NDArray[Any]) -> NDArray[Any]:
    r"""``A`` (r, D) with :math:`A^\dagger A = \rho`, of as few rows as may be.

    Twin of the factor that :meth:`rhokit.core.DensityMatrix.factorize` keeps at full
    rank. A pivoted Cholesky decomposition finds the rank as it goes, which for the
    state of fewer rows than dimensions is the number of rows.
    """
    factor = pivoted_factor(matrix, _RANK_TOL)
    return np.asarray(square_root_factor(matrix)) if factor is None else factor


def pivoted_factor(matrix: NDArray[Any], tol: float) -> NDArray[Any] | None:
    """A thin factor by a pivoted Cholesky decomposition; None where it is not thin.

    What is left out is at most ``tol`` of the largest entry, in units of rounding.
    """
    dim = len(matrix)
    largest = float(np.abs(matrix.diagonal()).max(initial=0.0))
    pivoted = lapack.zpstrf if np.iscomplexobj(matrix) else lapack.dpstrf
    tol = tol * np.finfo(np.float64).eps * largest
    upper, pivots, rank, _ = pivoted(matrix, tol=tol, lower=0)
    if rank > _TRIANGULAR_FROM * dim:
        return None
    factor = np.zeros((max(rank, 1), dim), matrix.dtype)
    factor[:rank, pivots - 1] = np.triu(upper[:rank])
    return factor if largest > 0 else np.zeros((1, dim), matrix.dtype)


def may_be_thin(n_rows: float, dim: int) -> bool:
    """Whether a state of so many rows has a factor that is worth keeping thin."""
    return n_rows <= _TRIANGULAR_FROM * dim


def _parts(
    factors: Iterable[NDArray[Any]], dtype: np.dtype[Any]
) -> Iterator[_Triangle | _Panel]:
    """Factors in order: near full rank each by itself, thin ones in panels."""
    thin: list[NDArray[Any]] = []
    for factor in factors:
        is_thin = _is_thin(factor)
        full = sum(map(len, thin)) + len(factor) > _PANEL
        if thin and (full or not is_thin):
            yield _Panel(thin, dtype)
            thin = []
        if is_thin:
            thin.append(factor.astype(dtype))
        else:
            yield _Triangle(factor, dtype)
    if thin:
        yield _Panel(thin, dtype)


def _is_thin(factor: NDArray[Any]) -> bool:
    rank, dim = factor.shape
    return rank <= _TRIANGULAR_FROM * dim


def _upper_triangle(matrix: NDArray[Any]) -> NDArray[Any]:
    """R of ``QR = A``: ``‖Rc‖ = ‖Ac‖`` for every c; rows of zeros fill it up."""
    if np.array_equal(matrix, np.triu(matrix)):
        return matrix
    triangle = qr(matrix, mode="r", check_finite=False)[0]
    rank, dim = triangle.shape
    return triangle[:dim] if rank >= dim else triangle
