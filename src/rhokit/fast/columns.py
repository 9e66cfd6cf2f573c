"""Feature columns of a block of rows: a matrix product, then one fused loop.

Each function writes into the product's own memory.
"""

import math
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rhokit.fast.hadamard import HadamardFrequencies
from rhokit.fast.numba_loops import loops_for

Floats = NDArray[np.floating[Any]]

# Products over at most so many columns are faster in a loop than in BLAS, which
# spends more on arranging them than on computing them.
_SHORT = 4
_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2.0)
# Coordinates beyond this have squares beyond float64; their columns are taken here.
_FARTHEST = 1e150
# Columns of a tile that is summed up while it is in the cache.
_TILE = 1024


def cosine_columns(
    rows: Floats,
    frequencies: Floats | HadamardFrequencies,
    phases: Floats,
    amplitudes: Floats,
    *,
    normalize: bool,
    row_scale: Floats | None = None,
    out: Floats | None = None,
) -> Floats:
    r"""Fourier columns :math:`s_i\, a_j \cos(2\pi(w_j^\top x_i + b_j))`, shape (n, D).

    Twin of :func:`rhokit.core.cosine_states`, with frequencies and phases in turns
    (divided by 2π), which makes the reduction to one period a subtraction.

    Parameters
    ----------
    rows : array of shape (n, d)
    frequencies : array of shape (d, F)
        ``F`` divides ``D``; the projections are repeated ``D/F`` times.
    phases, amplitudes : arrays of shape (D,)
    normalize : bool
        Whether to scale each row of the result to length one, times ``row_scale``.
    row_scale : array of shape (n,), optional
    out : array of shape (n, D), optional
        Its dtype is that of the result; rows and frequencies may be wider, where a
        phase of many turns needs the digits.
    """
    n, dim = len(rows), len(phases)
    if out is None:
        out = np.empty((n, dim), dtype=amplitudes.dtype)
    if row_scale is None:
        row_scale = np.ones(n, dtype=out.dtype)
    short = _short_loops(rows, frequencies, out)
    if short is not None:
        loops, left, right = short
        loops.short_cosine_rows(
            left, right, phases, amplitudes, row_scale, normalize, out
        )
        return out
    _project(rows, frequencies, out)
    _cosine_rows(out, phases, amplitudes, normalize, row_scale)
    return out


def _short_loops(
    left: Floats, right: Floats | HadamardFrequencies, out: Floats
) -> tuple[ModuleType, Floats, Floats] | None:
    """The compiled loops, and both sides padded, if they beat BLAS at ``left @ right``.

    They do for few columns on the left, and work on exactly four.
    """
    missing = _SHORT - left.shape[1]
    if missing < 0 or left.dtype != out.dtype or not out.flags.c_contiguous:
        return None
    if not isinstance(right, np.ndarray) or right.shape[1] != out.shape[1]:
        return None
    loops = loops_for(out.size)
    if loops is None:
        return None
    left = np.pad(left, ((0, 0), (0, missing)))
    return loops, left, np.pad(right, ((0, missing), (0, 0)))


def _project(
    rows: Floats, frequencies: Floats | HadamardFrequencies, out: Floats
) -> None:
    """Projections in turns, repeated over the width of ``out``."""
    width = frequencies.shape[1]
    if rows.dtype == out.dtype and isinstance(frequencies, np.ndarray):
        np.matmul(rows, frequencies, out=out[:, :width])
    else:
        turns = rows @ frequencies
        out[:, :width] = turns - np.rint(turns)
    for start in range(width, out.shape[1], width):
        out[:, start : start + width] = out[:, :width]


def _multiply(left: Floats, right: Floats, out: Floats) -> None:
    """``left @ right``, by the faster of BLAS and a loop."""
    short = _short_loops(left, right, out)
    if short is None:
        np.matmul(left, right, out=out)
    else:
        loops, left, right = short
        loops.short_product(left, right, out)


def _cosine_rows(
    turns: Floats,
    phases: Floats,
    amplitudes: Floats,
    normalize: bool,
    row_scale: Floats,
) -> None:
    """Turns become columns, in place."""
    real = turns.dtype.type
    loops = loops_for(turns.size)
    if loops is not None:
        loops.cosine_rows(turns, phases, amplitudes, row_scale, normalize)
        return
    turns += phases
    turns -= np.rint(turns)
    turns *= real(2 * np.pi)
    np.cos(turns, out=turns)
    turns *= amplitudes
    if normalize:
        length = np.sqrt(np.vecdot(turns, turns))
        row_scale = row_scale / np.where(length > 0, length, real(1))
    turns *= row_scale[:, None]


def gaussian_columns(
    rows: Floats,
    landmarks: Floats,
    rate: float,
    *,
    relative: bool = False,
    row_scale: Floats | None = None,
    by_differences: bool = False,
    product: Floats | None = None,
    out: Floats | None = None,
) -> tuple[Floats, Floats | None]:
    r"""Kernel columns :math:`s_i e^{-\text{rate}\,\|x_i - l_j\|^2}`, shape (n, m).

    Twin of :func:`rhokit.core.gaussian_columns`. Distances come from a matrix product;
    ``by_differences`` takes the slower way that loses no digits to cancellation.
    ``product`` is what :func:`distance_product` says of the landmarks, for those who
    ask for many blocks.

    Returns
    -------
    columns : array of shape (n, m)
    log_scale : array of shape (n,), or None
        With ``relative``, the largest exponent of each row, which was taken out.
    """
    real = rows.dtype.type
    if out is None:
        out = np.empty((len(rows), len(landmarks)), dtype=real)
    if product is None and not by_differences:
        product = distance_product(landmarks, rate, rows.dtype)
    rate *= _LOG2_E
    loops = loops_for(out.size)
    row_shift: Floats | None = None
    with np.errstate(over="ignore", invalid="ignore"):  # mended just below
        if product is None:
            _exponents_by_differences(rows, landmarks, rate, out, loops)
        else:
            row_shift = _exponents_by_product(rows, product, rate, out)
    log_scale = None
    if relative:
        row_shift, log_scale = _take_out_largest(rows, landmarks, rate, out, row_shift)
    if row_scale is None:
        row_scale = np.ones(len(rows), dtype=real)
    shift = np.zeros(len(rows), real) if row_shift is None else _narrow(row_shift, out)
    # Columns whose products would leave the normal numbers are zero: they add nothing
    # that the sums could hold, and processors are up to twenty times slower at them.
    least = real(np.finfo(real).minexp // 2)
    if loops is not None:
        loops.exp_rows(out, shift, row_scale, least)
    else:
        out += shift[:, None]
        np.minimum(out, 0, out=out)
        out[out < least] = -np.inf
        np.exp2(out, out=out)
        out *= row_scale[:, None]
    return out, log_scale


def gaussian_sums(
    rows: Floats,
    landmarks: Floats,
    weights: Floats,
    rate: float,
    *,
    by_differences: bool = False,
    product: Floats | None = None,
) -> NDArray[np.float64]:
    r"""Kernel sums :math:`\sum_j w_j e^{-\text{rate}\,\|x_i - l_j\|^2}`, shape (n,).

    The columns of :func:`gaussian_columns` times weights (m,), summed up as they are
    computed, and never stored. Those below the smallest normal number count as zero.
    """
    if product is None and not by_differences:
        product = distance_product(landmarks, rate, rows.dtype)
    rate *= _LOG2_E
    n, m = len(rows), len(landmarks)
    loops = loops_for(n * m)
    memory = np.empty(n * min(m, _TILE), dtype=rows.dtype)
    sums = np.zeros(n)
    with np.errstate(over="ignore", invalid="ignore"):  # far rows count as zero
        left, row_shift = rows, np.zeros(n, rows.dtype)
        if product is not None:
            left, row_shift = _left_of_product(rows, rate)
        for start in range(0, m, _TILE):
            tile = slice(start, min(start + _TILE, m))
            out = memory[: n * (tile.stop - start)].reshape(n, -1)
            if product is None:
                _exponents_by_differences(rows, landmarks[tile], rate, out, loops)
            else:
                _multiply(left, product[:, tile], out)
            sums += _sum_powers(out, row_shift, weights[tile], loops)
    return sums


def _sum_powers(
    exponents: Floats, row_shift: Floats, weights: Floats, loops: ModuleType | None
) -> Floats:
    """``Σ_j w_j 2**(e_ij + s_i)``, shape (n,); the exponents' memory is used up."""
    if loops is not None:
        sums = np.empty(len(exponents), dtype=exponents.dtype)
        loops.sum_powers(exponents, row_shift, weights, sums)
        return sums
    exponents += row_shift[:, None]
    np.minimum(exponents, 0, out=exponents)
    exponents[exponents < np.finfo(exponents.dtype).minexp] = -np.inf
    summed: Floats = np.exp2(exponents, out=exponents) @ weights
    return summed


def _take_out_largest(
    rows: Floats, landmarks: Floats, rate: float, out: Floats, row_shift: Floats | None
) -> tuple[Floats, Floats]:
    """Shift of each row that makes its largest exponent 0, and what it was, in nats."""
    with np.errstate(invalid="ignore"):
        largest = out.max(axis=1).astype(np.float64)
        log_scale = largest + (0 if row_shift is None else row_shift)
    (far,) = np.nonzero(~np.isfinite(log_scale))
    if len(far):
        largest[far] = 0
        out[far], log_scale[far] = _far_exponents(rows[far], landmarks, rate, out.dtype)
    return -largest, log_scale * _LN_2


def _far_exponents(
    rows: Floats, landmarks: Floats, rate: float, dtype: np.dtype[Any]
) -> tuple[Floats, Floats]:
    """Exponents, largest taken out, of rows whose squares overflow, in double."""
    rows, landmarks = rows.astype(np.float64), landmarks.astype(np.float64)
    out = np.empty((len(rows), len(landmarks)))
    product = distance_product(landmarks, rate / _LOG2_E, out.dtype)
    _exponents_by_product(np.clip(rows, -_FARTHEST, _FARTHEST), product, rate, out)
    largest = out.max(axis=1)
    out = np.maximum(out - largest[:, None], np.finfo(dtype).min)
    return out.astype(dtype), largest - rate * _squares(rows)


def _narrow(row_shift: Floats, out: Floats) -> Floats:
    """The shift in the precision of ``out``; rows that it cannot hold become zero."""
    lowest = np.finfo(out.dtype).min
    far = row_shift < lowest
    if far.any():
        out[far] = lowest
        row_shift = np.where(far, 0, row_shift)
    return row_shift.astype(out.dtype)


def distance_product(landmarks: Floats, rate: float, dtype: np.dtype[Any]) -> Floats:
    """``rate(2l, -‖l‖²)`` in powers of two: what rows are multiplied by, (d + 1, m)."""
    rate *= _LOG2_E
    d = landmarks.shape[1]
    weights = np.empty((d + 1, len(landmarks)), dtype=np.float64)
    weights[:d] = 2 * rate * landmarks.T
    weights[d] = -rate * _squares(landmarks)
    return weights.astype(dtype)


def _exponents_by_product(
    rows: Floats, product: Floats, rate: float, out: Floats
) -> Floats:
    """Write ``rate(2x·l - ‖l‖²)`` to ``out``; return ``-rate‖x‖²`` per row."""
    _multiply(_with_ones(rows), product, out)
    return -rate * _squares(rows)


def _left_of_product(rows: Floats, rate: float) -> tuple[Floats, Floats]:
    """Factors for :func:`distance_product`, and the shift per row to add.

    Rows whose shift is beyond all numbers become zeros, and their shift the lowest.
    """
    row_shift, lowest = -rate * _squares(rows), np.finfo(rows.dtype).min
    left = _with_ones(rows)
    left[row_shift < lowest] = 0
    return left, np.maximum(row_shift, lowest).astype(rows.dtype)


def _with_ones(rows: Floats) -> Floats:
    """Rows with a last column of ones, (n, d + 1)."""
    n, d = rows.shape
    augmented = np.empty((n, d + 1), dtype=rows.dtype)
    augmented[:, :d] = rows
    augmented[:, d] = 1
    return augmented


def _squares(rows: Floats) -> Floats:
    """``‖x‖²`` per row in double precision, infinite where it overflows."""
    squares: Floats = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return squares


def _exponents_by_differences(
    rows: Floats,
    landmarks: Floats,
    rate: float,
    out: Floats,
    loops: ModuleType | None,
) -> None:
    """Write ``-rate‖x - l‖²`` to ``out``."""
    if loops is not None:
        real = rows.dtype.type
        loops.squared_distances(
            rows, np.ascontiguousarray(landmarks.T), real(-rate), out
        )
    else:
        np.multiply(cdist(rows, landmarks, "sqeuclidean"), -rate, out=out)
