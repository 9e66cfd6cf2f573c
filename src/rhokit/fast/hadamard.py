"""Random frequencies as products of Hadamard matrices and random signs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast.numba_loops import loops_for


class HadamardFrequencies:
    r"""A matrix of frequencies (d, F) that is never formed: ``rows @ frequencies``.

    .. math:: W = \big[H D_3 H D_2 H D_1\big]_{\text{blocks}}\, \mathrm{diag}(l)
              \,/\, p^{3/2}

    Each block is a rotation of the rows, padded to a power of two ``p ≥ d``, and is
    applied in ``O(p log p)`` instead of ``O(p d)``.

    Parameters
    ----------
    signs : array of shape (n_blocks, 3, p), of ±1
    lengths : array of shape (F,)
        Lengths of the frequencies; F is at most ``n_blocks·p``.
    """

    __array_ufunc__ = None  # so that an array on the left lets us multiply

    def __init__(self, signs: NDArray[np.int8], lengths: NDArray[np.float64]) -> None:
        self.signs = signs
        self.lengths = lengths
        self.shape = (signs.shape[2], len(lengths))

    def __rmatmul__(self, rows: NDArray[Any]) -> NDArray[Any]:
        width, count = self.shape
        padded = np.zeros((len(rows), width), rows.dtype)
        padded[:, : rows.shape[1]] = rows
        blocks = [self._rotate(padded, signs) for signs in self.signs]
        projected = np.concatenate(blocks, axis=1)[:, :count]
        return projected * (self.lengths / width**1.5).astype(rows.dtype)

    @staticmethod
    def _rotate(block: NDArray[Any], signs: NDArray[np.int8]) -> NDArray[Any]:
        for diagonal in signs:
            block = hadamard_transform(block * diagonal.astype(block.dtype))
        return block


def hadamard_transform(values: NDArray[Any]) -> NDArray[Any]:
    """Walsh-Hadamard transform of each row, length a power of two."""
    loops = loops_for(values.size)
    if loops is not None:
        loops.hadamard_rows(values)
        return values
    n, width = values.shape
    half = 1
    while half < width:
        pairs = values.reshape(n, width // (2 * half), 2, half)
        left, right = pairs[:, :, :1], pairs[:, :, 1:]
        values = np.concatenate([left + right, left - right], axis=2)
        half *= 2
    return values.reshape(n, width)
