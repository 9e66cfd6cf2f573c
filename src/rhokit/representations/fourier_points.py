"""Fourier series and their derivatives at a few points, summed term by term."""

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Numbers of a block of partial sums.
_BLOCK_NUMBERS = 2**21
# The value, first and second derivatives.
_ORDERS = 3


def derivative_orders(d: int) -> list[tuple[int, ...]]:
    """How often each angle is derived by: for the value, its slopes and its bends.

    Examples
    --------
    >>> from rhokit.representations.fourier_points import derivative_orders
    >>> derivative_orders(2)
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    chosen = [
        axes
        for order in range(_ORDERS)
        for axes in combinations_with_replacement(range(d), order)
    ]
    return [tuple(axes.count(axis) for axis in range(d)) for axes in chosen]


def pays(n_points: int, shape: tuple[int, ...]) -> bool:
    """Whether so few points are better summed directly than by transforms.

    A transform of each derivative takes some operations per coefficient, its grid
    being twice as fine along every axis.
    """
    d, size = len(shape), math.prod(shape)
    transforms = len(derivative_orders(d)) * 2 ** (d + 1) * math.log2(size + 1)
    return n_points * _ORDERS < transforms


def derivatives(coefficients: NDArray[np.complex128], angles: Floats) -> Floats:
    """Value, slopes and bends (n, 1 + d + d(d + 1) / 2) of a series at angles (n, d).

    ``coefficients`` are those of :class:`~rhokit.representations.FourierDensity`; the
    columns are in the order of :func:`derivative_orders`.
    """
    most = _ORDERS * coefficients[0].size
    rows = max(1, _BLOCK_NUMBERS // most)
    blocks = [angles[start : start + rows] for start in range(0, len(angles), rows)]
    orders = derivative_orders(coefficients.ndim)
    if not blocks:
        return np.empty((0, len(orders)))
    return np.concatenate([_block(coefficients, each, orders) for each in blocks])


def _block(
    coefficients: NDArray[np.complex128], angles: Floats, orders: list[tuple[int, ...]]
) -> Floats:
    """All derivatives at a few angles, one axis summed after the other."""
    n, d = angles.shape
    # The first axis for all points at once, in one product of matrices.
    size = len(coefficients)
    first = _waves(angles[:, 0], size, d == 1).reshape(-1, size)
    partial: NDArray[Any] = first @ coefficients.reshape(size, -1)
    partial = partial.reshape(n, _ORDERS, -1)
    for axis, size in enumerate(coefficients.shape[1:], start=1):
        terms = _waves(angles[:, axis], size, axis == d - 1)
        partial = partial.reshape(n, partial.shape[1], size, -1)
        partial = (terms[:, None] @ partial).reshape(n, -1, partial.shape[-1])
    found: Any = partial.real.reshape(n, *[_ORDERS] * d)
    return np.stack([found[(slice(None), *order)] for order in orders], axis=1)


def _waves(angles: Floats, size: int, is_last: bool) -> NDArray[np.complex128]:
    """Waves of one axis and their derivatives, shape (n, 3, size).

    Along the last axis, those that are conjugates of others are left out.
    """
    half = 0 if is_last else size // 2
    steps = np.arange(-half, size - half)
    waves = np.exp(-1j * angles[:, None] * steps)
    if is_last:
        waves[:, 1:] *= 2
    return np.asarray(waves[:, None] * (-1j * steps) ** np.arange(_ORDERS)[:, None])
