"""Maps whose columns are cosines of projections, in the fused loops' units."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import HadamardFrequencies, cosine_columns
from rhokit.features.base import Columns
from rhokit.features.gaussian import GaussianFeatures

_TWO_PI = 2 * np.pi
# A phase of t turns carries an error of eps·t; above this it would be seen in the
# features, and the projection is done in double precision.
_PHASE_ERROR = 1e-5


class CosineFeatures(GaussianFeatures):
    r"""Common part of Fourier and quadrature features.

    .. math:: \phi_j(x) = a_j \cos(w_j^\top x + b_j)

    Attributes
    ----------
    frequencies_ : array of shape (d, F), in radians per unit
    phases_ : array of shape (D,), in radians, or None for complex features
    amplitudes_ : array of shape (D,)
    """

    frequencies_: NDArray[np.float64]
    phases_: NDArray[np.float64] | None
    amplitudes_: NDArray[np.float64]
    _turns: NDArray[Any] | HadamardFrequencies

    def _set_cosines(
        self,
        rows: NDArray[Any],
        phases: NDArray[np.float64],
        amplitudes: NDArray[np.float64],
    ) -> None:
        """Store what was drawn, and its copy in turns and in the rows' precision."""
        self.phases_, self.amplitudes_ = phases, amplitudes
        self.n_columns_ = self.n_components_ = len(amplitudes)
        longest = np.abs(self.frequencies_).max(initial=0) / _TWO_PI
        reach = longest * np.abs(rows).max(initial=0) * rows.shape[1]
        exact = reach * np.finfo(self.dtype_).eps <= _PHASE_ERROR
        self._projection_dtype = self.dtype_ if exact else np.dtype(np.float64)
        self._turns = self._contiguous(self.frequencies_ / _TWO_PI, exact)
        self._phase_turns = self._contiguous(phases / _TWO_PI)
        self._amplitudes = self._contiguous(amplitudes)

    def _contiguous(
        self, values: NDArray[np.float64], narrow: bool = True
    ) -> NDArray[Any]:
        return np.ascontiguousarray(values, self.dtype_ if narrow else np.float64)

    def _cosine_columns(
        self,
        rows: NDArray[Any],
        normalize: bool,
        row_scale: NDArray[Any] | None,
        out: NDArray[Any] | None,
    ) -> Columns:
        columns = cosine_columns(
            rows.astype(self._projection_dtype, copy=False),
            self._turns,
            self._phase_turns,
            self._amplitudes,
            normalize=normalize,
            row_scale=row_scale,
            out=out,
        )
        return columns, None

    def _drawn(self) -> list[Any]:
        return [self.frequencies_, self.phases_, self.amplitudes_]
