"""The root of the kernel matrix of landmarks, which makes states of kernel columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from rhokit.fast import small_algebra
from rhokit.features.landmarks import LandmarkFeatures

Floats = NDArray[np.float64]

# Of the landmarks' kernel matrix: the root of it is what rounding is multiplied with.
_NOISE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


@dataclass(frozen=True, eq=False)
class KernelRoot:
    """Cholesky factor L of the landmarks' kernel matrix, and its inverse, turned.

    With a little noise, so that all landmarks have a state of their own, whatever the
    precision.

    Parameters
    ----------
    lower : array of shape (m, m)
    inverse_t : array of shape (m, m)
        From kernel columns to states.
    """

    lower: Floats
    inverse_t: NDArray[Any]

    @classmethod
    def of(cls, kernel: LandmarkFeatures, landmarks: NDArray[Any]) -> "KernelRoot":
        """The root of the kernel between all landmarks."""
        wide = kernel.with_columns_of(landmarks, np.float64)
        matrix = wide.columns(landmarks.astype(np.float64))[0]
        matrix[np.diag_indices(len(matrix))] = 1 + _NOISE[landmarks.dtype]
        with small_algebra(len(matrix)):
            lower = np.linalg.cholesky(matrix)
            inverse = dtrtri(lower, lower=1)[0]
        return cls(lower, np.ascontiguousarray(inverse.T, dtype=landmarks.dtype))
