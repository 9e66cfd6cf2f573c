"""The strongest exact rival: a fused kernel density in single precision.

Tiles of exponents come from a matrix product (squared norms ride along as two more
columns), and one compiled loop turns each tile into powers of two and sums them while
it is in the cache. Nothing of size n×N is ever stored, and several threads share the
queries out.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from threadpoolctl import threadpool_limits

from benchmarks.exact import log_mass

# Queries and rows of a tile: one megabyte of exponents.
_TILE_QUERIES = 256
_TILE_ROWS = 1000
_LOG2_E = float(np.log2(np.e))
_FASTMATH = {"contract", "reassoc", "nsz", "arcp", "nnan"}

# 2**f for |f| <= 1/2, interpolated at Chebyshev nodes.
_C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(c)
    for c in (
        0.693147206702832596,
        0.240226509222887581,
        0.0555032722667030206,
        0.00961805667852463808,
        0.00134004281776158379,
        0.000154614446985691291,
    )
)
_ONE, _ZERO, _LOWEST = np.float32(1), np.float32(0), np.float32(-126)


@intrinsic
def _two_to_the(typingctx, k):  # pragma: no cover (compiled)
    """``2**k`` of a whole number held as a float32, through its exponent bits."""

    def codegen(context, builder, signature, args):
        integer = ir.IntType(32)
        whole = builder.fptosi(args[0], integer)
        biased = builder.add(whole, ir.Constant(integer, 127))
        bits = builder.shl(biased, ir.Constant(integer, 23))
        return builder.bitcast(bits, ir.FloatType())

    return k(k), codegen


@numba.njit(nogil=True, fastmath=_FASTMATH, error_model="numpy", cache=True)
def _add_powers(exponents, sums):  # pragma: no cover (compiled)
    """Add ``Σ_j 2**exponents[i, j]`` to ``sums[i]``."""
    n, m = exponents.shape
    for i in range(n):
        total = _ZERO
        for j in range(m):
            e = max(exponents[i, j], _LOWEST)
            k = np.rint(e)
            f = e - k
            high = _C4 + f * (_C5 + f * _C6)
            power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * high)))
            total += power * _two_to_the(k)
        sums[i] += total


class FusedExactKDE:
    """Exact kernel density in float32, as fast as this hardware allows.

    Parameters
    ----------
    rows : array of shape (N, d)
    gamma : float
        Of the kernel ``exp(-γ‖x-y‖²)``.
    """

    def __init__(self, rows, gamma):
        self._rate = gamma * _LOG2_E
        self._centre = rows.mean(axis=0, dtype=np.float64)
        centred = rows.astype(np.float64) - self._centre
        norms = -self._rate * np.vecdot(centred, centred)
        ones = np.ones(len(rows))
        columns = np.vstack([2 * self._rate * centred.T, norms, ones])
        self._columns = columns.astype(np.float32)  # (d + 2, N)
        self._log_norm = -log_mass(gamma, rows.shape[1]) - np.log(len(rows))

    def score_samples(self, queries, threads=1):
        """Log-density at each query, float64."""
        augmented = self._augmented(queries)
        sums = np.zeros(len(queries))
        starts = range(0, len(queries), _TILE_QUERIES)
        scratch = threading.local()

        def work(start):
            tile = slice(start, start + _TILE_QUERIES)
            sums[tile] = self._kernel_sums(augmented[tile], scratch)

        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, starts))
        with np.errstate(divide="ignore"):
            return np.log(sums) + self._log_norm

    def _augmented(self, queries):
        centred = queries.astype(np.float64) - self._centre
        norms = -self._rate * np.vecdot(centred, centred)
        columns = np.column_stack([centred, np.ones(len(queries)), norms])
        return columns.astype(np.float32)

    def _kernel_sums(self, queries, scratch):
        """Sums over all rows; single precision inside a tile, double across tiles."""
        if not hasattr(scratch, "tile"):
            scratch.tile = np.empty(_TILE_QUERIES * _TILE_ROWS, np.float32)
        n, total = len(queries), np.zeros(len(queries))
        for start in range(0, self._columns.shape[1], _TILE_ROWS):
            columns = self._columns[:, start : start + _TILE_ROWS]
            width = columns.shape[1]
            exponents = scratch.tile[: n * width].reshape(n, width)
            np.matmul(queries, columns, out=exponents)
            sums = np.zeros(n, np.float32)
            _add_powers(exponents, sums)
            total += sums
        return total
