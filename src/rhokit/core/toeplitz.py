"""The state over a regular grid of frequencies: a Fourier series per outcome."""

import math
from dataclasses import dataclass
from functools import reduce

from array_api_compat import array_namespace, device

from rhokit.core.arrays import Array, conj, real
from rhokit.core.density_matrix import DensityMatrix
from rhokit.core.sums import Sums, checked_outcomes

# Share of its largest value below which a spectrum is rounding.
_LEAST_POWER = 1e-13


@dataclass(frozen=True, eq=False)
class ToeplitzDensityMatrix(Sums):
    r"""Density matrices of waves on a regular grid, held by their distinct numbers.

    States of a grid are :math:`\phi_j(x) = a_j e^{i j\cdot\theta(x)}` for whole
    numbers j, with angles θ. Their density matrix depends on differences alone,

    .. math:: \rho_{jk} = a_j a_k\, C_{j-k}, \qquad
              C_l = \frac1N \sum_i e^{i l\cdot\theta_i},

    and measuring it is summing a Fourier series,

    .. math:: \phi(x)^\dagger\rho\,\phi(x) = \sum_l P_l C_l\, e^{-i l\cdot\theta(x)},
              \qquad P_l = \sum_{j-k=l} a_j^2 a_k^2,

    of which ``total`` holds the coefficients: the characteristic function of the data,
    times the spectrum P of the kernel. They are as many as the grid has differences,
    not pairs of points.

    Parameters
    ----------
    total : complex array of shape (K, 2 M_1 + 1, ..., 2 M_{d-1} + 1, M_d + 1)
        For differences from -M to M, along the last axis from 0: the others are
        complex conjugates of these.
    weight : array of shape (K,)
        Total weight of the rows in each sum.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.array([[0.1], [0.2], [3.0]])
    >>> spectrum = np.exp(-np.arange(20.0) ** 2 / 20)
    >>> spectrum /= 2 * spectrum.sum() - 1  # a kernel that is one at zero
    >>> rho = ToeplitzDensityMatrix.from_angles(angles, spectrum)
    >>> rho.born(angles).round(3)[:, 0]
    array([0.65 , 0.65 , 0.333])
    """

    def __post_init__(self) -> None:
        shape = tuple(self.total.shape)
        if len(shape) < 2 or any(size % 2 == 0 for size in shape[1:-1]):
            raise ValueError(
                "total must have shape (K, 2 M_1 + 1, ..., 2 M_{d-1} + 1, M_d + 1), "
                f"got {shape}"
            )
        super().__post_init__()

    @classmethod
    def from_angles(
        cls, angles: Array, spectrum: Array, outcomes: Array | None = None
    ) -> "ToeplitzDensityMatrix":
        """Sum rows at ``angles`` (n, d), weighted by ``outcomes`` (n, K).

        Parameters
        ----------
        angles : array of shape (n, d)
        spectrum : array of shape (2 M_1 + 1, ..., M_d + 1)
            P, real.
        outcomes : array of shape (n, K), optional
        """
        xp = array_namespace(angles)
        outcomes = xp.astype(checked_outcomes(angles, outcomes), xp.float64)
        angles = xp.astype(angles, xp.float64)
        *others, last = waves(angles, tuple(spectrum.shape))
        left = _products(others, angles)  # (n, m_1 ... m_{d-1})
        sums = [
            xp.reshape((left * outcomes[:, k, None]).mT @ last, spectrum.shape)
            for k in range(outcomes.shape[1])
        ]
        return cls(xp.stack(sums) * spectrum, xp.sum(outcomes, axis=0))

    @property
    def n_columns(self) -> int:
        """d, the number of columns of the rows."""
        return int(self.total.ndim) - 1

    @property
    def nbytes(self) -> int:
        """Memory that the sums take."""
        return math.prod(self.total.shape) * 16

    def born(self, angles: Array) -> Array:
        """Born rule for rows at ``angles`` (n, d), shape (n, K).

        Infinite angles stand for rows outside the box, where the density is 0.
        """
        xp = array_namespace(angles)
        angles = xp.astype(angles, xp.float64)
        there = xp.all(xp.isfinite(angles), axis=1)
        angles = xp.where(there[:, None], angles, xp.zeros_like(angles))
        *others, last = waves(angles, tuple(self.total.shape[1:]))
        left = conj(_products(others, angles))
        right = conj(last) * _mirrored(last)
        measured = [
            real(xp.sum((left @ xp.reshape(part, (left.shape[1], -1))) * right, axis=1))
            for part in (self.normalized()[k, ...] for k in range(self.n_outcomes))
        ]
        values = xp.stack(measured, axis=1)
        return xp.where(there[:, None], values, xp.zeros_like(values))

    def to_dense(self, amplitudes: Array, spectrum: Array) -> DensityMatrix:
        """The matrices themselves, over the states ``a_j exp(i j·θ)``.

        Parameters
        ----------
        amplitudes : array of shape (2 J_1 + 1, ..., 2 J_d + 1)
            a; the matrix is over those that are not zero.
        spectrum : array of shape (2 M_1 + 1, ..., M_d + 1)
            P. Differences beyond it, or where it is lost in rounding, are taken to be
            zero: what the matrix measures does not change, its smallest entries do.
        """
        xp = array_namespace(self.total)
        points = xp.stack(xp.nonzero(amplitudes), axis=1)  # (D, d)
        a = xp.reshape(amplitudes, (-1,))
        a = a[a != 0]
        step = points[:, None, :] - points[None, :, :]  # (D, D, d)
        mirrored = step[..., -1] < 0
        step = xp.where(mirrored[..., None], -step, step)
        place = xp.zeros_like(step[..., 0])
        known = place == 0
        for axis, size in enumerate(spectrum.shape):
            index = step[..., axis] + (0 if axis == self.n_columns - 1 else size // 2)
            known = known & (index >= 0) & (index < size)
            place = place * size + index
        place = xp.reshape(xp.where(known, place, xp.zeros_like(place)), (-1,))
        power = xp.reshape(xp.take(xp.reshape(spectrum, (-1,)), place), known.shape)
        known = known & (power > _LEAST_POWER * xp.max(spectrum))
        outer = a[:, None] * a[None, :]
        safe = xp.where(known, power, xp.ones_like(power))
        ratio = xp.where(known, outer, xp.zeros_like(outer)) / safe
        totals = []
        for k in range(self.n_outcomes):
            numbers = xp.take(xp.reshape(self.total[k, ...], (-1,)), place)
            numbers = xp.reshape(numbers, outer.shape)
            totals.append(ratio * xp.where(mirrored, conj(numbers), numbers))
        return DensityMatrix(xp.stack(totals), self.weight)


def waves(angles: Array, shape: tuple[int, ...]) -> list[Array]:
    """``exp(i l θ)`` of each column of angles (n, d), for all l of a series."""
    xp = array_namespace(angles)
    if angles.shape[1] != len(shape):
        raise ValueError(
            f"angles must have shape (n, {len(shape)}) for a series of "
            f"{len(shape)} columns, got {tuple(angles.shape)}"
        )
    starts = [*(-(size // 2) for size in shape[:-1]), 0]
    parts = []
    for axis, (start, size) in enumerate(zip(starts, shape, strict=True)):
        steps = xp.arange(
            start, start + size, dtype=angles.dtype, device=device(angles)
        )
        parts.append(xp.exp(1j * (angles[:, axis, None] * steps)))
    return parts


def _products(parts: list[Array], angles: Array) -> Array:
    """Products of the waves of several columns, shape (n, m_1 m_2 ...)."""
    xp = array_namespace(angles)
    n = angles.shape[0]
    one = xp.exp(0j * angles[:, :1])

    def times(left: Array, right: Array) -> Array:
        return xp.reshape(
            left[:, :, None] * right[:, None, :], (n, left.shape[1] * right.shape[1])
        )

    return reduce(times, parts, one)


def _mirrored(last: Array) -> Array:
    """Ones for difference zero, two for others, which stand for their mirror images."""
    xp = array_namespace(last)
    counts = xp.full(
        (1, last.shape[1]), 2.0, dtype=real(last).dtype, device=device(last)
    )
    return xp.where(
        xp.arange(last.shape[1], device=device(last)) == 0, counts / 2, counts
    )
