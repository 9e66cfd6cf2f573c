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
    """

    def __init__(self, dim: int, dtype: Any) -> None:
        dtype = np.dtype(dtype)
        self._wide = np.zeros((dim, dim), np.result_type(dtype, np.float64))
        self._narrow = (
            self._wide if dtype == self._wide.dtype else np.zeros((dim, dim), dtype)
        )
        self._pending = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Add a block of rows (n, D), of the dtype that was announced."""
        if rows.ndim != 2 or rows.shape[1] != len(self._wide):
            raise ValueError(
                f"rows must have shape (n, {len(self._wide)}), got {rows.shape}"
            )
        _add_outer_products(self._narrow, rows)
        self._pending += len(rows)
        if self._pending >= _FLUSH_ROWS:
            self._flush()

    def total(self) -> NDArray[Any]:
        """The full Hermitian sum, shape (D, D)."""
        self._flush()
        upper = np.triu(self._wide, 1)
        return upper + upper.conj().T + np.diag(self._wide.diagonal().real)

    def _flush(self) -> None:
        """Move the narrow sums on; only strips that hold the upper triangle."""
        self._pending = 0
        if self._narrow is self._wide:
            return
        for start in range(0, len(self._wide), _STRIP):
            strip = np.s_[start : start + _STRIP, start:]
            self._wide[strip] += self._narrow[strip]
            self._narrow[strip] = 0


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
