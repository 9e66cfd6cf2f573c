"""Frequencies on a regular grid: nearly exact in one to three dimensions."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.core import GaussianKernel
from rhokit.features.base import Columns
from rhokit.features.box import BOX_FIELDS, BoxFeatures, FrequencyGrid
from rhokit.features.cosine import CosineFeatures
from rhokit.features.registry import register
from rhokit.records import Fields
from rhokit.validation import Interval


@register
class QuadratureFeatures(BoxFeatures, CosineFeatures):
    r"""Fourier features on a regular grid of frequencies, for one to three columns.

    The trapezoidal rule for the kernel's Fourier integral,

    .. math:: \phi(x) = \big(a_j\cos(w_j^\top x),\; a_j\sin(w_j^\top x)\big)_j, \qquad
              w_j \in h\mathbb{Z}^d, \quad a_j^2 \propto e^{-\|w_j\|^2/(2\gamma)},

    converges faster than any power of the grid: squared overlaps equal
    :math:`e^{-\gamma\|x-y\|^2}` up to less than ``tol`` between rows of the box. The
    states are periodic, so the box is chosen wide enough that a row never meets the
    image of another one; outside the box states are zero, and so is the density.
    :class:`GridFeatures` are the same waves for states that are summed and measured
    by FFTs.

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel of squared overlaps, in the units of the rows.
    tol : float, default=1e-8
        Error of a density, as a share of its peak.
    bounds : array-like of shape (2, d), optional
        Lowest and highest values of the rows that will be seen, for streams; learned
        from the rows without it.
    max_components : int, default=8192
        Refuse grids that are larger than this.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
        The box that the rows of ``fit`` (or ``bounds``) span.
    tail_ : float
        How far outside that box the density is above ``tol``; beyond, it is zero.
    frequencies_, phases_, amplitudes_ : see :class:`FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.features import QuadratureFeatures
    >>> rows = np.array([[0.0], [0.5], [3.0]])
    >>> quadrature = QuadratureFeatures(gamma=1.0).fit(rows)
    >>> phi = quadrature.transform(rows)
    >>> phi.shape
    (3, 25)
    >>> error = (phi @ phi.T) ** 2 - np.exp(-((rows - rows.T) ** 2))
    >>> bool(np.abs(error).max() < 1e-8)
    True
    """

    name = "quadrature"
    settings = ("gamma",)
    file_fields: ClassVar[Fields] = {**CosineFeatures.file_fields, **BOX_FIELDS}
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "bounds": ["array-like", None],
        "max_components": [Interval(Integral, 1, None, closed="left")],
    }

    def series_rows(self) -> NDArray[np.float64]:
        """Both ends of the box, outside of which states are zero."""
        return np.stack([self.low_, self.high_])

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        tol: float = 1e-8,
        bounds: Any = None,
        max_components: int = 8192,
    ) -> None:
        self.gamma = gamma
        self.tol = tol
        self.bounds = bounds
        self.max_components = max_components

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        grid = self._draw_box(rows, weights)
        size = grid.n_points
        if size > self.max_components:
            raise ValueError(
                f"QuadratureFeatures needs {size:,} components for gamma={self.gamma} "
                f"over a box of {self.high_ - self.low_}, more than max_components="
                f"{self.max_components:,}: take LandmarkFeatures, or a larger tol"
            )
        self.set_waves(grid)

    def set_waves(self, grid: FrequencyGrid) -> None:
        """Take the frequencies of a grid over the map's box."""
        self.tail_ = grid.tail
        half = grid.half_points()  # (H, d)
        squares = (half**2).sum(axis=1)
        power = 2 * GaussianKernel(self.gamma).of_overlaps().spectral_weight(squares)
        amplitude = np.sqrt(power / (1 + power.sum()))
        constant = np.sqrt([1 / (1 + power.sum())])
        # Frequency zero, then the cosines and the sines of one half of the others;
        # each of these stands for its mirror image too.
        self.frequencies_ = np.concatenate([np.zeros((1, grid.d)), half, half]).T.copy()
        phases = np.repeat([0.0, -np.pi / 2], [1 + len(half), len(half)])
        amplitudes = np.concatenate([constant, amplitude, amplitude])
        self._set_cosines(phases, amplitudes)

    def restore(self) -> None:
        super().restore()
        self._restore_box()
        # Rows far from zero keep their digits when the middle of the box is taken out
        # of them, and put back into the phases.
        assert self.phases_ is not None
        self._middle = (self.low_ / 2 + self.high_ / 2).astype(self.dtype_)
        turns = self._middle @ self.frequencies_ / (2 * math.pi)
        self._phase_turns = (
            self.phases_ / (2 * math.pi) + turns - np.rint(turns)
        ).astype(self.dtype_)

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Columns of checked rows, zero outside the box; they are the states."""
        if row_scale is None:
            row_scale = np.ones(len(rows), dtype=self.dtype_)
        inside = self._inside(rows, self.tail_)
        row_scale = np.where(inside, row_scale, self.dtype_.type(0))
        with np.errstate(over="ignore"):
            centred = np.where(inside[:, None], rows - self._middle, 0)
        return self._cosine_columns(centred, False, row_scale, out)

    def mass_matrix(self) -> NDArray[np.float64]:
        r""":math:`\int \phi(x)\phi(x)^\top dx / M_\gamma` over the box."""
        assert self.phases_ is not None
        waves = self.frequencies_, self.phases_, self.amplitudes_
        return cosine_mass(*waves, self.box()) * math.exp(-self.log_mass())

    def mass_vector(self) -> NDArray[np.float64]:
        r""":math:`\int \phi(x)\,dx / M_{\gamma/2}` over the box."""
        assert self.phases_ is not None
        low, high = self.box()
        part = self.amplitudes_ * np.cos(
            self.phases_ + (low + high) / 2 @ self.frequencies_
        )
        for wave, length in zip(self.frequencies_, high - low, strict=True):
            part *= length * np.sinc(wave * length / (2 * np.pi))
        return np.asarray(part * math.exp(-self.log_mass(1)))

    def _drawn(self) -> list[Any]:
        return [*super()._drawn(), self.low_, self.high_, self.tail_]


def cosine_mass(
    frequencies: NDArray[Any],
    phases: NDArray[Any],
    amplitudes: NDArray[Any],
    box: tuple[NDArray[Any], NDArray[Any]],
) -> NDArray[np.float64]:
    r""":math:`\int \phi\phi^\top dx` of cosines over a box, shape (D, D).

    Products of cosines are sums of cosines, whose integrals over a box are products of
    one factor per column.
    """
    middle, width = (box[0] + box[1]) / 2, box[1] - box[0]
    angles = phases + middle @ frequencies
    total = np.zeros((len(amplitudes), len(amplitudes)))
    for sign in (1, -1):
        part = np.cos(angles[:, None] + sign * angles)
        for wave, length in zip(frequencies, width, strict=True):
            pairs = wave[:, None] + sign * wave
            part *= length * np.sinc(pairs * length / (2 * np.pi))
        total += part
    return amplitudes[:, None] * amplitudes * total / 2
