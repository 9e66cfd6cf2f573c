"""Fourier series of rows, and their values at rows, at the cost of an FFT.

Twins of :class:`rhokit.core.ToeplitzDensityMatrix`, whose sums cost one product per row
and coefficient. In one dimension, rows are gathered at the nearest of a few nodes,
together with the powers of their distances to it: FFTs of these moments are the terms
of a Taylor series in the frequency. The coefficients that follow a Gaussian fall so
fast that eight terms give twelve digits. In more dimensions finufft does the work, or,
where it is missing, products of matrices of waves.
"""

import math
from functools import cache
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from rhokit.core.toeplitz import ToeplitzDensityMatrix
from rhokit.fast.numba_loops import loops_for

Shape = tuple[int, ...]

# Terms of a Taylor series, which the loops write out, and nodes for each mode: so many,
# and more until the series are exact enough.
_TERMS = 8
_NODES_PER_MODE = 4
_GROWTH = 1.25
# Errors of the nodes' Taylor series have one sign, others average out.
_TAYLOR_SHARE = 0.1
# Larger tables of Taylor series than this many numbers are left to finufft.
_MOST_TABLE = 2**23
# Of larger grids, finufft's FFT costs more than its spreading: a finer grid does not
# pay any more.
_LARGE_GRID = 2**20
# The fine grids of smaller ones stay in the cache, however rows are ordered.
_SMALL_GRID = 2**17
_FINE = {"upsampfac": 2.0, "most": 1e-11, "least": 1e-14}
_COARSE = {"upsampfac": 1.25, "most": 1e-9, "least": 1e-9}
# Waves of so many numbers are multiplied at once.
_PRODUCT_NUMBERS = 2**21


class _Transform(Protocol):
    """The two transforms between rows and the series of one shape."""

    def sums(self, angles: NDArray[Any], mass: NDArray[Any]) -> NDArray[Any]:
        """``Σ_i mass_i exp(i l·θ_i)``, of the series' shape."""

    def prepare(self, coefficients: NDArray[Any]) -> Any:
        """Form in which :meth:`values` takes coefficients (K, ...)."""

    def values(self, prepared: Any, angles: NDArray[Any]) -> NDArray[np.float64]:
        """``Re Σ_l c_l exp(-i l·θ)`` at angles (n, d), shape (K, n)."""


class SeriesSums:
    """Sums of waves over rows, one series per outcome, made by several workers.

    Parameters
    ----------
    spectrum : array of shape (2 M_1 + 1, ..., M_d + 1)
        By which the sums are multiplied in the end. The transforms are as exact as
        its decay needs.
    n_outcomes : int
    tol : float
        Error of the values of the series of one row, whose peak is one.
    """

    def __init__(self, spectrum: NDArray[Any], n_outcomes: int, tol: float) -> None:
        self._spectrum = spectrum
        self._n_outcomes = n_outcomes
        self._transform = transform_for(spectrum, tol)
        self._parts: dict[int, NDArray[Any]] = {}

    def add(self, worker: int, angles: NDArray[Any], mass: NDArray[Any]) -> None:
        """Add rows at angles (n, d), with weights (n, K) for the outcomes."""
        if worker not in self._parts:
            shape = (self._n_outcomes, *self._spectrum.shape)
            self._parts[worker] = np.zeros(shape, np.complex128)
        part = self._parts[worker]
        if self._n_outcomes == 1 and len(mass) and mass.all():
            part[0] += self._transform.sums(angles, mass[:, 0])
            return
        for outcome in np.flatnonzero(mass.any(axis=0)):
            seen = np.flatnonzero(mass[:, outcome])
            part[outcome] += self._transform.sums(angles[seen], mass[seen, outcome])

    def total(self) -> NDArray[np.complex128]:
        """The coefficients of all outcomes, shape (K, ...)."""
        shape = (self._n_outcomes, *self._spectrum.shape)
        total = np.zeros(shape, np.complex128)
        for _, part in sorted(self._parts.items()):
            total += part
        return total * self._spectrum


class Series:
    """Fourier series that can be evaluated anywhere.

    Parameters
    ----------
    coefficients : complex array of shape (K, 2 M_1 + 1, ..., M_d + 1)
        See :class:`rhokit.core.ToeplitzDensityMatrix`.
    tol : float
        Absolute error of the values.
    least : float
        Densities below this are taken for zero.
    """

    def __init__(
        self, coefficients: NDArray[Any], tol: float, least: float = 0.0
    ) -> None:
        self._least = least
        sizes = np.abs(coefficients).max(axis=0, initial=0)
        self._transform = transform_for(sizes, tol, len(coefficients))
        self._prepared = self._transform.prepare(coefficients)

    def values(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at angles (n, d), shape (n, K); zero where an angle is infinite."""
        return self._transform.values(self._prepared, angles).T

    def born(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of densities, whose negative values are rounding."""
        values = self.values(angles)
        values[values < self._least] = 0
        return values


def transform_for(sizes: NDArray[Any], tol: float, n_series: int = 1) -> _Transform:
    """The fastest transform for series whose coefficients are at most ``sizes``.

    Of so many series at once tables of values will be made.
    """
    if not np.isfinite(sizes).all() or not tol > 0:
        raise ValueError("coefficients must be finite, and tol above zero")
    if sizes.ndim == 1:
        taylor = _Taylor(sizes, tol)
        if n_series * taylor.n_numbers <= _MOST_TABLE or finufft() is None:
            return taylor
    return _Products(sizes.shape) if finufft() is None else _Nufft(sizes.shape, tol)


@cache
def finufft() -> ModuleType | None:
    """The package finufft, or None where it is missing."""
    try:
        import finufft
    except ImportError:
        return None
    return finufft


class _Taylor:
    """One dimension: Taylor series about the nodes of a regular grid.

    With nodes δ apart, a wave of frequency l needs terms ``(lδu)^p / p!`` of powers of
    the distance ``|u| ≤ 1/2`` to the nearest node, in units of δ.
    """

    def __init__(self, sizes: NDArray[Any], tol: float) -> None:
        n_modes = len(sizes)
        wanted = _NODES_PER_MODE * n_modes
        while True:
            n_nodes = scipy.fft.next_fast_len(wanted, real=True)
            steps = np.arange(n_modes) * (2 * np.pi / n_nodes)
            if _first_left_out(sizes, steps) <= _TAYLOR_SHARE * tol:
                break
            wanted = int(_GROWTH * n_nodes) + 1
        self._n_nodes = n_nodes
        powers = np.arange(_TERMS)[:, None]
        factorials = np.array([math.factorial(p) for p in range(_TERMS)])
        self._terms = (1j * steps) ** powers / factorials[:, None]  # (P, M + 1)

    @property
    def n_numbers(self) -> int:
        """Size of a table of moments."""
        return self._n_nodes * len(self._terms)

    def sums(self, angles: NDArray[Any], mass: NDArray[Any]) -> NDArray[Any]:
        table = np.zeros((self._n_nodes, _TERMS))
        loops = loops_for(_TERMS * len(angles))
        if loops is not None:
            loops.add_moments(angles[:, 0], mass, table)
        else:
            node, u = self._nearest(angles[:, 0])
            power = mass.astype(np.float64)
            for p in range(_TERMS):
                table[:, p] = np.bincount(node, power, self._n_nodes)
                power *= u
        n_modes = self._terms.shape[1]
        waves = scipy.fft.rfft(table, axis=0)[:n_modes]  # of exp(-i l θ)
        return np.vecdot(waves, self._terms.T)

    def prepare(self, coefficients: NDArray[Any]) -> NDArray[np.float64]:
        # Derivatives at the nodes, over p!: series of the same kind.
        parts = (coefficients[:, None] * self._terms.conj()).conj()  # (K, P, M + 1)
        table = scipy.fft.irfft(parts, self._n_nodes, axis=2, norm="forward")
        return np.ascontiguousarray(table.transpose(0, 2, 1))  # (K, N, P)

    def values(
        self, prepared: NDArray[np.float64], angles: NDArray[Any]
    ) -> NDArray[np.float64]:
        out = np.empty((len(prepared), len(angles)))
        loops = loops_for(_TERMS * out.size)
        if loops is not None:
            for table, values in zip(prepared, out, strict=True):
                loops.taylor_values(angles[:, 0], table, values)
            return out
        there = np.abs(angles[:, 0]) <= np.pi
        node, u = self._nearest(np.where(there, angles[:, 0], 0))
        for table, values in zip(prepared, out, strict=True):
            values[:] = table[node, -1]
            for p in range(_TERMS - 2, -1, -1):
                values *= u
                values += table[node, p]
        return np.where(there, out, 0)

    def _nearest(self, angles: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        place = angles * (self._n_nodes / (2 * np.pi))
        node = np.rint(place)
        return node.astype(np.int64) % self._n_nodes, place - node


def _first_left_out(sizes: NDArray[Any], steps: NDArray[Any]) -> float:
    """Bound of the first term that the Taylor series lack."""
    with np.errstate(under="ignore"):
        # Twice: every coefficient stands for its mirror image, too.
        left = 2 * sizes @ (steps / 2) ** _TERMS / math.factorial(_TERMS)
    return float(left)


class _Nufft:
    """Any dimension, by non-uniform FFTs."""

    def __init__(self, shape: Shape, tol: float) -> None:
        self._shape = shape
        self._full = (*shape[:-1], 2 * shape[-1] - 1)
        kind = _COARSE if math.prod(self._full) > _LARGE_GRID else _FINE
        self._options: dict[str, Any] = {
            "eps": max(kind["least"], min(tol, kind["most"])),
            "upsampfac": kind["upsampfac"],
            "nthreads": 1,  # the blocks of rows have threads of their own
            "spread_sort": int(math.prod(self._full) > _SMALL_GRID),
        }

    def sums(self, angles: NDArray[Any], mass: NDArray[Any]) -> NDArray[Any]:
        transform = getattr(finufft(), f"nufft{len(self._shape)}d1")
        points = np.ascontiguousarray(angles.T)
        strengths = mass.astype(np.complex128)
        full = transform(*points, strengths, self._full, isign=1, **self._options)
        return np.asarray(full[..., self._shape[-1] - 1 :])

    def prepare(self, coefficients: NDArray[Any]) -> tuple[int, NDArray[Any]]:
        """Pairs of outcomes: one as the real part of the values, one as the other."""
        axes = tuple(range(1, coefficients.ndim))
        mirrored = np.flip(coefficients[..., 1:], axis=axes).conj()
        full = np.concatenate([mirrored, coefficients], axis=-1)
        pairs = full[0::2].astype(complex)
        pairs[: len(full) // 2] += 1j * full[1::2]
        return len(full), pairs

    def values(
        self, prepared: tuple[int, NDArray[Any]], angles: NDArray[Any]
    ) -> NDArray[np.float64]:
        transform = getattr(finufft(), f"nufft{len(self._shape)}d2")
        n_outcomes, pairs = prepared
        there = np.isfinite(angles).all(axis=1)
        points = np.ascontiguousarray(np.where(there[:, None], angles, 0).T)
        out = np.empty((2 * len(pairs), len(angles)))
        for k, pair in enumerate(pairs):
            values = transform(*points, pair, isign=-1, **self._options)
            out[2 * k], out[2 * k + 1] = values.real, values.imag
        out[:, ~there] = 0
        return out[:n_outcomes]


class _Products:
    """Any dimension, by products of matrices of waves, block by block."""

    def __init__(self, shape: Shape) -> None:
        self._ones = np.ones(shape)
        waves = math.prod(shape[:-1]) + shape[-1]
        self._rows = max(16, _PRODUCT_NUMBERS // waves)

    def sums(self, angles: NDArray[Any], mass: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros(self._ones.shape, complex)
        for block in self._blocks(len(angles)):
            part = ToeplitzDensityMatrix.from_angles(
                angles[block], self._ones, mass[block, None]
            )
            total += part.total[0]
        return total

    def prepare(self, coefficients: NDArray[Any]) -> ToeplitzDensityMatrix:
        return ToeplitzDensityMatrix(coefficients, np.ones(len(coefficients)))

    def values(
        self, prepared: ToeplitzDensityMatrix, angles: NDArray[Any]
    ) -> NDArray[np.float64]:
        parts = [prepared.born(angles[block]).T for block in self._blocks(len(angles))]
        return np.concatenate(parts, axis=1)

    def _blocks(self, n_rows: int) -> list[slice]:
        starts = range(0, max(n_rows, 1), self._rows)
        return [slice(start, start + self._rows) for start in starts]
