"""Sums of outer products at the speed of matrix multiplication."""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast.blocks import map_blocks

# Single precision sums are moved to double precision after this many rows.
_FLUSH_ROWS = 8192
_STRIP = 128
# Of the C interface to BLAS: row-major, upper triangle, transposed.
_UPPER_TRIANGLE = (101, 121, 112)


class GramSum:
    """Running sum ``Σ_i φ_i φ_i†`` over blocks of rows, good to double precision.

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
        self._narrow = np.zeros((dim, dim), dtype)
        self._wide: NDArray[Any] | None = None
        self._pending = 0

    def add(self, rows: NDArray[Any], overflow: NDArray[Any] | None = None) -> bool:
        """Add a block of rows (n, D), of the dtype that was announced.

        Parameters
        ----------
        rows : array of shape (n, D)
        overflow : array of shape (D, D), optional
            Where the upper triangle goes when so much has been summed in single
            precision that it must move on; without it, to memory of its own.

        Returns
        -------
        overflowed : bool
            Whether ``overflow`` was added to.
        """
        if rows.ndim != 2 or rows.shape[1] != len(self._narrow):
            raise ValueError(
                f"rows must have shape (n, {len(self._narrow)}), got {rows.shape}"
            )
        syrk = _syrk(rows.dtype.char) if rows.flags.c_contiguous else None
        if syrk is None or rows.dtype != self._narrow.dtype:
            self._narrow += rows.T @ rows.conj()
        else:
            n, dim = rows.shape
            data, sums = rows.ctypes.data, self._narrow.ctypes.data
            syrk(*_UPPER_TRIANGLE, dim, n, 1.0, data, dim, 1.0, sums, dim)
        self._pending += len(rows)
        wide = np.result_type(self._narrow, np.float64)
        if self._pending < _FLUSH_ROWS or self._narrow.dtype == wide:
            return False
        self._pending = 0
        if overflow is not None:
            _move_triangle(self._narrow, overflow)
            return True
        if self._wide is None:
            self._wide = np.zeros(self._narrow.shape, wide)
        _move_triangle(self._narrow, self._wide)
        return False

    def total(self) -> NDArray[Any]:
        """The full Hermitian sum so far, shape (D, D)."""
        total = self._narrow.astype(np.result_type(self._narrow, np.float64))
        if self._wide is not None:
            total += self._wide
        mirror_triangle(total)
        return total

    def move_to(self, total: NDArray[Any], *, first: bool) -> None:
        """Add the full sum to ``total`` (D, D), or write it; the sum starts anew.

        Each strip of the triangle is mirrored while it is at hand: memory is slower
        than arithmetic.
        """
        self._pending = 0
        for start in range(0, len(total), _STRIP):
            stop = start + _STRIP
            strip = self._narrow[start:stop, start:]
            if self._wide is not None:
                strip = self._wide[start:stop, start:] + strip
            if not first:
                strip = total[start:stop, start:] + strip
            total[start:stop, start:] = strip
            mirror_corner(total[start:stop, start:stop])
            total[stop:, start:stop] = strip[:, _STRIP:].conj().T
            self._narrow[start:stop, start:] = 0
            if self._wide is not None:
                self._wide[start:stop, start:] = 0


class OutcomeSums:
    """Sums ``Σ_i t_ik φ_i φ_i†`` for every outcome k, filled by several workers.

    Made for rows that come sorted by outcome, each worker having a run of them: each
    block then touches few outcomes and costs as much as those few, and an outcome that
    a worker has left behind goes to the result, its memory to the next one. Outcomes of
    a worker's first block may be shared with the worker before; they are kept and added
    at the end, in a fixed order.

    Parameters
    ----------
    n_outcomes, dim : int
    dtype : dtype
        Of the blocks.
    """

    def __init__(self, n_outcomes: int, dim: int, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._total = np.zeros((n_outcomes, dim, dim), np.result_type(dtype, float))
        self._owner: dict[int, int] = {}
        self._written: set[int] = set()
        self._open: dict[int, dict[int, GramSum]] = {}
        self._kept: dict[int, dict[int, GramSum]] = {}
        self._spare: dict[int, list[GramSum]] = {}

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
        if roots is None:
            roots = np.ones((len(rows), 1), rows.real.dtype)
        is_first = worker not in self._open
        opened = self._open.setdefault(worker, {})
        touched = np.flatnonzero(roots.any(axis=0)).tolist()
        for outcome in opened.keys() - set(touched):
            self._spare[worker].append(self._finish(outcome, opened.pop(outcome)))
        for outcome in touched:
            own = np.flatnonzero(roots[:, outcome])
            which = slice(own[0], own[-1] + 1)
            scale = roots[which, outcome]
            block = rows[which]
            if not (scale == 1).all():
                block = block * scale.astype(rows.real.dtype)[:, None]
            part = self._sum_of(outcome, worker, is_first)
            mine = outcome in opened
            if part.add(block, self._total[outcome] if mine else None):
                self._written.add(outcome)

    def total(self) -> NDArray[Any]:
        """All sums, shape (K, D, D). To be called once, when every row is in."""

        map_blocks(self._finish_all, len(self._total), 1)
        for parts in (self._open, self._kept, self._spare):
            parts.clear()
        return self._total

    def _sum_of(self, outcome: int, worker: int, is_first: bool) -> GramSum:
        """The worker's own sum of an outcome."""
        opened = self._open[worker]
        kept = self._kept.setdefault(worker, {})
        spare = self._spare.setdefault(worker, [])
        for sums in (opened, kept):
            if outcome in sums:
                return sums[outcome]
        fresh = spare.pop() if spare else GramSum(self._total.shape[1], self._dtype)
        # Only one worker may write an outcome's result while others still add.
        shared = worker > 0 and is_first
        mine = not shared and self._owner.setdefault(outcome, worker) == worker
        (opened if mine else kept)[outcome] = fresh
        return fresh

    def _finish_all(self, worker: int, outcomes: slice) -> None:
        """Move all parts of some outcomes on, in the order of the workers."""
        for outcome in range(outcomes.start, outcomes.stop):
            for parts in (self._open, self._kept):
                for _, sums in sorted(parts.items()):
                    if outcome in sums:
                        self._finish(outcome, sums[outcome])

    def _finish(self, outcome: int, part: GramSum) -> GramSum:
        """Move a part on to the result."""
        part.move_to(self._total[outcome], first=outcome not in self._written)
        self._written.add(outcome)
        return part


def mirror_triangle(matrix: NDArray[Any]) -> None:
    """Make a matrix (D, D) Hermitian, in place, from its upper triangle."""
    for start in range(0, len(matrix), _STRIP):
        stop = start + _STRIP
        mirror_corner(matrix[start:stop, start:stop])
        matrix[stop:, start:stop] = matrix[start:stop, stop:].conj().T


def mirror_corner(matrix: NDArray[Any]) -> None:
    """Factor of a small matrix, at once."""
    upper = np.triu(matrix, 1)
    matrix[...] = upper + upper.conj().T + np.diag(matrix.diagonal().real)


def _move_triangle(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Add an upper triangle to another and clear it, in strips that hold it."""
    for start in range(0, len(source), _STRIP):
        strip = np.s_[start : start + _STRIP, start:]
        target[strip] += source[strip]
        source[strip] = 0


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
