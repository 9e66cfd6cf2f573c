"""Sums of outer products at the speed of matrix multiplication."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas

# Single precision sums are moved to double precision after this many rows.
_FLUSH_ROWS = 8192
_SYRK = {"f": ("ssyrk", ctypes.c_float), "d": ("dsyrk", ctypes.c_double)}


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
        """Add a block of rows (n, D)."""
        _add_outer_products(self._narrow, rows)
        self._pending += len(rows)
        if self._pending >= _FLUSH_ROWS:
            self._flush()

    def total(self) -> NDArray[Any]:
        """The full Hermitian sum, shape (D, D)."""
        self._flush()
        return np.triu(self._wide) + np.triu(self._wide, 1).conj().T

    def _flush(self) -> None:
        self._pending = 0
        if self._narrow is not self._wide:
            self._wide += self._narrow
            self._narrow[:] = 0


def _add_outer_products(total: NDArray[Any], rows: NDArray[Any]) -> None:
    """Add to the upper triangle of ``total`` in place."""
    if rows.dtype.char not in _SYRK or not rows.flags.c_contiguous:
        total += rows.T @ rows.conj()
        return
    n, dim = rows.shape
    syrk, real = _syrk(rows.dtype.char)
    # In BLAS's column-major eyes the rows are their transpose, and the upper
    # triangle of the sum is the lower one.
    size, count, one = ctypes.c_int64(dim), ctypes.c_int64(n), real(1)
    syrk(
        b"L",
        b"N",
        ctypes.byref(size),
        ctypes.byref(count),
        ctypes.byref(one),
        rows.ctypes.data,
        ctypes.byref(size),
        ctypes.byref(one),
        total.ctypes.data,
        ctypes.byref(size),
    )


@cache
def _syrk(char: str) -> tuple[Callable[..., None], Any]:
    """SciPy's BLAS routine, called without holding the interpreter's lock.

    ``scipy.linalg.blas`` offers it too, but keeps the lock, so that worker threads
    would wait for each other; ``cython_blas`` is SciPy's public table of pointers.
    """
    name, real = _SYRK[char]
    capsule = cython_blas.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    pointer = ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.c_char_p, *([pointer] * 8)
    )
    return prototype(address), real
