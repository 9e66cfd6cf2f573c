"""The strongest rivals: exact kernel sums, and intervals around a random forest.

Exact kernel densities come in single precision, two ways. ``"loop"`` is one compiled
loop without BLAS: exponents, powers of two and their sum for a strip of rows at a time.
``"product"`` takes tiles of exponents from a matrix product, and a compiled loop raises
and sums each while it is in the cache; this is the faster one in many dimensions. In
both, squared norms ride along as two more columns, nothing of size n×N is ever stored,
and several threads share the queries out.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.exact import log_mass
from rhokit.features import gamma_by_rule

# Queries and rows of a tile: one megabyte of exponents.
_TILE_QUERIES = 256
_TILE_ROWS = 1000
_LOG2_E = float(np.log2(np.e))
# γ over the median rule, and queries of a block, of the exact kernel classifier.
_GAMMA_STEPS = 2.0 ** np.arange(-3, 11.5, 0.5)
_BLOCK_QUERIES = 500
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


_compiled = numba.njit(nogil=True, fastmath=_FASTMATH, error_model="numpy", cache=True)


@numba.njit(nogil=True, fastmath=_FASTMATH, error_model="numpy", inline="always")
def _power_of_two(exponent):  # pragma: no cover (compiled)
    e = max(exponent, _LOWEST)
    k = np.rint(e)
    f = e - k
    high = _C4 + f * (_C5 + f * _C6)
    power = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * high)))
    return power * _two_to_the(k)


@_compiled
def _add_powers(exponents, sums):  # pragma: no cover (compiled)
    """Add ``Σ_j 2**exponents[i, j]`` to ``sums[i]``."""
    n, m = exponents.shape
    for i in range(n):
        total = _ZERO
        for j in range(m):
            total += _power_of_two(exponents[i, j])
        sums[i] += total


@_compiled
def _add_kernels(queries, columns, sums):  # pragma: no cover (compiled)
    """Add ``Σ_j 2**(queries @ columns)[i, j]`` to ``sums[i]``, all in one loop.

    Four columns at a time, so that the strip of exponents is stored a quarter as often.
    """
    n, d = queries.shape
    m = columns.shape[1]
    strip = np.empty(m, np.float32)
    for i in range(n):
        for j in range(m):
            strip[j] = _ZERO
        for a in range(0, d - 3, 4):
            q0, q1 = queries[i, a], queries[i, a + 1]
            q2, q3 = queries[i, a + 2], queries[i, a + 3]
            for j in range(m):
                strip[j] += (q0 * columns[a, j] + q1 * columns[a + 1, j]) + (
                    q2 * columns[a + 2, j] + q3 * columns[a + 3, j]
                )
        for a in range(d - d % 4, d):
            for j in range(m):
                strip[j] += queries[i, a] * columns[a, j]
        total = _ZERO
        for j in range(m):
            total += _power_of_two(strip[j])
        sums[i] += total


class FusedExactKDE:
    """Exact kernel density in float32, as fast as this hardware allows.

    Parameters
    ----------
    rows : array of shape (N, d)
    gamma : float
        Of the kernel ``exp(-γ‖x-y‖²)``.
    way : {"loop", "product"}
    """

    def __init__(self, rows, gamma, way):
        self._way = way
        self._rate = gamma * _LOG2_E
        self._centre = rows.mean(axis=0, dtype=np.float64)
        centred = rows.astype(np.float64) - self._centre
        norms = -self._rate * np.vecdot(centred, centred)
        ones = np.ones(len(rows))
        columns = np.vstack([2 * self._rate * centred.T, norms, ones])
        self._tiles = [  # of shape (d + 2, _TILE_ROWS)
            np.ascontiguousarray(columns[:, start : start + _TILE_ROWS], np.float32)
            for start in range(0, len(rows), _TILE_ROWS)
        ]
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
        for columns in self._tiles:
            width = columns.shape[1]
            sums = np.zeros(n, np.float32)
            if self._way == "loop":
                _add_kernels(queries, columns, sums)
            else:
                exponents = scratch.tile[: n * width].reshape(n, width)
                np.matmul(queries, columns, out=exponents)
                _add_powers(exponents, sums)
            total += sums
        return total


class ExactKernelClassifier:
    """Classes by exact kernel sums: the largest ``Σ_{i: y_i = k} exp(-γ‖x - x_i‖²)``.

    γ is the one around the median rule that classifies most rows correctly when each
    of them is left out.

    Parameters
    ----------
    seed : int
        Of the pairs that the median rule draws.
    """

    def __init__(self, seed=0):
        self._seed = seed

    def fit(self, rows, labels):
        """Keep all rows; choose γ."""
        self._centre = rows.mean(axis=0)
        self._rows = (rows - self._centre).astype(np.float32)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self._onehot = np.eye(len(self.classes_), dtype=np.float32)[codes]
        rng = np.random.default_rng(self._seed)
        gammas = gamma_by_rule("median", self._rows, rng=rng) * _GAMMA_STEPS
        found = self._codes(self._rows, gammas, leave_one_out=True)
        right = (found == codes).mean(axis=1)
        self.gamma_ = float(gammas[right.argmax()])
        return self

    def predict(self, queries):
        """The class with the largest sum for each query."""
        centred = (queries - self._centre).astype(np.float32)
        return self.classes_[self._codes(centred, [self.gamma_])[0]]

    def _codes(self, queries, gammas, *, leave_one_out=False):
        """Codes of the classes for every γ, shape (G, n)."""
        blocks = []
        for start in range(0, len(queries), _BLOCK_QUERIES):
            squares = self._squares(queries[start : start + _BLOCK_QUERIES])
            if leave_one_out:
                own = np.arange(len(squares))
                squares[own, start + own] = np.inf
            squares -= squares.min(axis=1, keepdims=True)  # nothing underflows
            kernels = (np.exp(np.float32(-gamma) * squares) for gamma in gammas)
            blocks.append([(k @ self._onehot).argmax(axis=1) for k in kernels])
        return np.concatenate(blocks, axis=1)

    def _squares(self, queries):
        """Squared distances of queries to all rows, shape (n, N)."""
        lengths = np.vecdot(queries, queries)[:, None]
        return lengths + np.vecdot(self._rows, self._rows) - 2 * queries @ self._rows.T


class SplitConformalForest:
    """A random forest on half of the rows; the other half says how far it is off.

    Parameters
    ----------
    seed : int
    n_trees : int
    """

    def __init__(self, seed=0, n_trees=200):
        self._seed = seed
        self._forest = RandomForestRegressor(n_trees, random_state=seed)

    def fit(self, rows, target):
        """Grow the forest, and keep the absolute residuals of the other half."""
        learned, kept, truth, kept_truth = train_test_split(
            rows, target, test_size=0.5, random_state=self._seed
        )
        self._forest.fit(learned, truth)
        self._residuals = np.sort(np.abs(kept_truth - self.predict(kept)))
        return self

    def predict(self, rows):
        """Mean of each row, shape (n,)."""
        return self._forest.predict(rows)

    def predict_interval(self, rows, coverage):
        """Interval of each row, all of the same width, shape (n, 2)."""
        n = len(self._residuals)
        place = min(n, int(np.ceil(coverage * (n + 1)))) - 1
        reach = self._residuals[place]
        return self.predict(rows)[:, None] + np.array([-reach, reach])
