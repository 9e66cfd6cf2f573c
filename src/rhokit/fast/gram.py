"""Sums of outer products at the speed of matrix multiplication."""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Single precision sums are moved to double precision after this many rows.
_FLUSH_ROWS = 8192
_STRIP = 128
_ROW_MAJOR, _UPPER, _TRANSPOSED = 101, 121, 112  # of the C interface to BLAS


class GramSum:
    """Running sum ``Σ_i φ_i φ_i†`` over blocks of rows, kept in double precision.

    BLAS adds each block to the upper triangle in place (``syrk``): half the work of a
    product, and no D×D temporary to add up. NumPy's own ``z.T @ z`` calls it too, but
    spends a fifth of the time on mirroring the triangle after every block.

    Parameters
    ----------
    dim : int
    dtype : dtype
        Of the blocks; float32 blocks are summed in float32 for a few thousand rows
        and then moved on to float64.
    wide : array of shape (dim, dim), optional
        Memory for the sum, in double precision, to whose upper triangle it is added.
    """

    def __init__(self, dim: int, dtype: Any, wide: NDArray[Any] | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._wide = np.zeros((dim, dim), _wide_dtype(dtype)) if wide is None else wide
        self._narrow: NDArray[Any] | None = None
        self._pending = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Add a block of rows (n, D), of the dtype that was announced."""
        if rows.ndim != 2 or rows.shape[1] != len(self._wide):
            raise ValueError(
                f"rows must have shape (n, {len(self._wide)}), got {rows.shape}"
            )
        if self._narrow is None:
            same = self._dtype == self._wide.dtype
            self._narrow = (
                self._wide if same else np.zeros(self._wide.shape, self._dtype)
            )
        _add_outer_products(self._narrow, rows)
        self._pending += len(rows)
        if self._pending >= _FLUSH_ROWS:
            self._flush()

    def upper(self) -> NDArray[Any]:
        """The sum's upper triangle, in the memory that it was summed in, (D, D)."""
        self._flush()
        self._narrow = None
        return self._wide

    def total(self) -> NDArray[Any]:
        """The full Hermitian sum, shape (D, D)."""
        total = self.upper().copy()
        mirror_triangle(total)
        return total

    def _flush(self) -> None:
        """Move the narrow sums on; only strips that hold the upper triangle."""
        self._pending = 0
        if self._narrow is None or self._narrow is self._wide:
            return
        for start in range(0, len(self._wide), _STRIP):
            strip = np.s_[start : start + _STRIP, start:]
            self._wide[strip] += self._narrow[strip]
            self._narrow[strip] = 0


class OutcomeSums:
    """Sums ``Σ_i t_ik φ_i φ_i†`` for every outcome k, filled by several workers.

    Made for rows that come sorted by outcome: each block then touches few outcomes,
    costs as much as those few, and an outcome that a worker has left behind holds no
    memory but its sum. Only where the shares of two workers meet is there a second
    sum of the same outcome, added at the end, in a fixed order.

    Parameters
    ----------
    n_outcomes, dim : int
    dtype : dtype
        Of the blocks.
    """

    def __init__(self, n_outcomes: int, dim: int, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._total = np.zeros((n_outcomes, dim, dim), _wide_dtype(dtype))
        self._sums: dict[int, dict[int, GramSum]] = {}

    def add(
        self, worker: int, rows: NDArray[Any], roots: NDArray[Any] | None = None
    ) -> None:
        """Add a block of rows (n, D).

        Parameters
        ----------
        worker : int
            Who adds; two workers may add at the same time.
        rows : array of shape (n, D)
        roots : array of shape (n, K), optional
            Square roots of the outcome weights; without them all rows have the
            outcome 0.
        """
        sums = self._sums.setdefault(worker, {})
        if roots is None:
            self._of(worker, 0).add(rows)
            return
        touched = np.flatnonzero(roots.any(axis=0)).tolist()
        for outcome in touched:
            own = np.flatnonzero(roots[:, outcome])
            part = slice(own[0], own[-1] + 1)
            scale = roots[part, outcome]
            block = rows[part]
            if not (scale == 1).all():
                block = block * scale.astype(rows.real.dtype)[:, None]
            self._of(worker, outcome).add(block)
        for outcome in sums.keys() - set(touched):
            sums[outcome].upper()

    def total(self) -> NDArray[Any]:
        """All sums, shape (K, D, D). To be called once, when every row is in."""
        for worker in sorted(self._sums):
            for outcome, gram in self._sums.pop(worker).items():
                upper = gram.upper()
                if worker:
                    self._total[outcome] += upper
        for matrix in self._total:
            mirror_triangle(matrix)
        return self._total

    def _of(self, worker: int, outcome: int) -> GramSum:
        sums = self._sums[worker]
        if outcome not in sums:
            # The first worker adds to the result itself, the others to their own.
            wide = None if worker else self._total[outcome]
            sums[outcome] = GramSum(self._total.shape[1], self._dtype, wide)
        return sums[outcome]


def mirror_triangle(matrix: NDArray[Any]) -> None:
    """Make a matrix (D, D) Hermitian, in place, from its upper triangle."""
    for start in range(0, len(matrix), _STRIP):
        stop = start + _STRIP
        corner = np.triu(matrix[start:stop, start:stop], 1)
        diagonal = np.diag(matrix[start:stop, start:stop].diagonal().real)
        matrix[start:stop, start:stop] = corner + corner.conj().T + diagonal
        matrix[stop:, start:stop] = matrix[start:stop, stop:].conj().T


def _wide_dtype(dtype: Any) -> np.dtype[Any]:
    return np.result_type(dtype, np.float64)


def _add_outer_products(total: NDArray[Any], rows: NDArray[Any]) -> None:
    """Add to the upper triangle of ``total`` in place."""
    plain = rows.dtype == total.dtype and rows.flags.c_contiguous
    syrk = _syrk(rows.dtype.char) if plain else None
    if syrk is None:
        total += rows.T @ rows.conj()
        return
    n, dim = rows.shape
    data, sums = rows.ctypes.data, total.ctypes.data
    syrk(_ROW_MAJOR, _UPPER, _TRANSPOSED, dim, n, 1.0, data, dim, 1.0, sums, dim)


@cache
def _syrk(char: str) -> Callable[..., None] | None:
    """``cblas_ssyrk`` or ``dsyrk`` of NumPy's own BLAS; None where it is not found.

    NumPy links a BLAS but does not offer this routine. SciPy does, from a BLAS of its
    own, which is often an older one, keeps threads of its own, and is called with the
    interpreter's lock held. Called through ctypes, the lock is released.
    """
    real = {"f": ctypes.c_float, "d": ctypes.c_double}.get(char)
    if real is None:
        return None
    try:
        numpy_core = import_module("numpy._core._multiarray_umath")
        library = ctypes.CDLL(numpy_core.__file__)  # finds the symbols it links to
    except (ImportError, OSError):
        return None
    letter = {"f": "s", "d": "d"}[char]
    for prefix, suffix in product(("scipy_", ""), ("64_", "")):
        name = f"{prefix}cblas_{letter}syrk{suffix}"
        if hasattr(library, name):
            index = ctypes.c_int64 if suffix else ctypes.c_int
            flag, pointer = ctypes.c_int, ctypes.c_void_p
            syrk = library[name]
            syrk.restype = None
            syrk.argtypes = [flag, flag, flag, index, index, real]
            syrk.argtypes += [pointer, index, real, pointer, index]
            return syrk
    return None
