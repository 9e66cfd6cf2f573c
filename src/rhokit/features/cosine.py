"""Maps whose columns are cosines of projections, in the fused loops' units."""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import HadamardFrequencies, cosine_columns
from rhokit.features.base import Columns, FeatureMap
from rhokit.features.kernel_features import KernelFeatures
from rhokit.records import ArrayField, Fields, Maybe, Reader, Values, require

_TWO_PI = 2 * np.pi
# A phase of t turns carries an error of eps·t; above this it would be seen in the
# features, and the projection is done in double precision.
_PHASE_ERROR = 1e-5
# From here on no digit of a phase is left; up to here a quarter turn is exact.
_MOST_TURNS = 2.0**50
_LEAST_TURNS = 1e-200


class CosineFeatures(KernelFeatures):
    r"""Common part of Fourier and quadrature features.

    .. math:: \phi_j(x) = a_j \cos(w_j^\top x + b_j)

    Attributes
    ----------
    frequencies_ : array of shape (d, F), in radians per unit
    phases_ : array of shape (D,), in radians, or None for complex features
    amplitudes_ : array of shape (D,)
    """

    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        "frequencies": ArrayField(("d", "F")),
        "phases": Maybe(ArrayField(("D",))),
        "amplitudes": ArrayField(("D",), low=0),
    }

    frequencies_: NDArray[np.float64]
    phases_: NDArray[np.float64] | None
    amplitudes_: NDArray[np.float64]
    _turns: NDArray[Any] | HadamardFrequencies
    _wide_turns: NDArray[np.float64] | HadamardFrequencies

    def _set_cosines(
        self, phases: NDArray[np.float64] | None, amplitudes: NDArray[np.float64]
    ) -> None:
        """Store what was drawn, and its copy in turns and in the rows' precision."""
        self.phases_, self.amplitudes_ = phases, amplitudes
        self.restore()

    def restore(self) -> None:
        # One order in memory, so that the same numbers give the same bits.
        self.frequencies_ = np.ascontiguousarray(self.frequencies_)
        amplitudes = self.amplitudes_
        phases = np.zeros(len(amplitudes)) if self.phases_ is None else self.phases_
        self.n_columns_ = self.n_components_ = len(amplitudes)
        self._wide_turns = self.frequencies_ / _TWO_PI
        self._turns = self._wide_turns.astype(self.dtype_, copy=False)
        self._turns_per_unit = float(np.abs(self._wide_turns).sum(axis=0).max())
        self._phase_turns = (phases / _TWO_PI).astype(self.dtype_)
        self._amplitudes = amplitudes.astype(self.dtype_)

    def with_frequencies(
        self, frequencies: NDArray[Any], phases: NDArray[Any] | None
    ) -> Self:
        """This map with other frequencies (d, F) and phases (D,), as trained."""
        other = copy(self)
        other.frequencies_ = np.asarray(frequencies, dtype=np.float64)
        wanted = None if phases is None else np.asarray(phases, dtype=np.float64)
        other._set_cosines(wanted, self.amplitudes_)
        return other

    def _projection(
        self, rows: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | HadamardFrequencies]:
        """Rows and frequencies to be multiplied, precise enough for the phases."""
        largest = float(max(rows.max(initial=0), -rows.min(initial=0)))
        error = self._turns_per_unit * largest * float(np.finfo(self.dtype_).eps)
        if error <= _PHASE_ERROR:
            return rows, self._turns
        # A file may hold frequencies that are all zero, and rows may be infinite.
        farthest = _MOST_TURNS / max(self._turns_per_unit, _LEAST_TURNS)
        wide = rows.astype(np.float64)
        return np.clip(wide, -farthest, farthest, out=wide), self._wide_turns

    def _cosine_columns(
        self,
        rows: NDArray[Any],
        normalize: bool,
        row_scale: NDArray[Any] | None,
        out: NDArray[Any] | None,
    ) -> Columns:
        columns = cosine_columns(
            *self._projection(rows),
            self._phase_turns,
            self._amplitudes,
            normalize=normalize,
            row_scale=row_scale,
            out=out,
        )
        return columns, None

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Phases and frequencies must go with the form."""
        form, sizes = parameters.get("form"), reader.sizes
        per_frequency = 2 if form == "pair" else 1
        reader.bind("D", per_frequency * sizes["F"], "frequencies")
        reader.bind("m", sizes["D"], "frequencies")
        require(
            (fitted["phases"] is None) == (form == "complex"),
            "phases must be there unless the form is complex",
        )
        reader.agree("whether columns are complex", form == "complex", "form")

    def _drawn(self) -> list[Any]:
        return [self.frequencies_, self.phases_, self.amplitudes_]
