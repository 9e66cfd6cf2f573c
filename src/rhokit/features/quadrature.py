"""Frequencies on a regular grid: nearly exact in one to three dimensions."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rhokit.features.base import Columns, bounding_box
from rhokit.features.cosine import CosineFeatures
from rhokit.validation import Interval

# Grids are counted up to here: the counts of absurd ones overflow.
_MOST_COUNTED = 10**18


class QuadratureFeatures(CosineFeatures):
    r"""Fourier features on a regular grid of frequencies, for one to three columns.

    The trapezoidal rule for the kernel's Fourier integral,

    .. math:: \phi(x) = \big(a_j\cos(w_j^\top x),\; a_j\sin(w_j^\top x)\big)_j, \qquad
              w_j \in h\mathbb{Z}^d, \quad a_j^2 \propto e^{-\|w_j\|^2/(2\gamma)},

    converges faster than any power of the grid: squared overlaps equal
    :math:`e^{-\gamma\|x-y\|^2}` up to about ``tol`` between rows of the box. The states
    are periodic, so the box is chosen wide enough that a row never meets the image
    of another one; outside the box states are zero, and so is the density.

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel of squared overlaps, in the units of the rows.
    tol : float, default=1e-8
        Error of a squared overlap.
    bounds : array-like of shape (2, d), optional
        Lowest and highest values of the rows that will be seen, for streams; learned
        from the rows without it.
    max_components : int, default=8192
        Refuse grids that are larger than this.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
        The box that the rows of ``fit`` (or ``bounds``) span.
    reach_ : float
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
    (3, 23)
    >>> error = (phi @ phi.T) ** 2 - np.exp(-((rows - rows.T) ** 2))
    >>> bool(np.abs(error).max() < 1e-8)
    True
    """

    has_outsiders = True
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "bounds": ["array-like", None],
        "max_components": [Interval(Integral, 1, None, closed="left")],
    }

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
        d = rows.shape[1]
        if d > 3:
            raise ValueError(
                f"QuadratureFeatures works for 1 to 3 columns, got {d}: the grid grows "
                "with the power of their number; take LandmarkFeatures"
            )
        self.low_, self.high_ = bounding_box(self, rows, weights, self.bounds)
        widths = self.high_ - self.low_
        size = grid_size(self.gamma, widths, self.tol)
        if size > self.max_components:
            raise ValueError(
                f"QuadratureFeatures needs {size:,} components for gamma={self.gamma} "
                f"over a box of {widths}, more than max_components="
                f"{self.max_components:,}: take LandmarkFeatures, or a larger tol"
            )
        self.reach_ = _reach(self.gamma, self.tol)
        half = _half_grid(self.gamma, widths, self.tol)  # (H, d)
        power = 2 * np.exp(-(half**2).sum(axis=1) / (2 * self.gamma))
        amplitude = np.sqrt(power / (1 + power.sum()))
        constant = np.sqrt([1 / (1 + power.sum())])
        # Frequency zero, then the cosines and the sines of one half of the others;
        # each of these stands for its mirror image too.
        self.frequencies_ = np.concatenate([np.zeros((1, d)), half, half]).T.copy()
        phases = np.repeat([0.0, -np.pi / 2], [1 + len(half), len(half)])
        amplitudes = np.concatenate([constant, amplitude, amplitude])
        self._set_cosines(phases, amplitudes)

    def _restore(self) -> None:
        super()._restore()
        eps = float(np.finfo(self.dtype_).eps)
        self.log_floor_ = math.log(max(self.tol, 4 * eps))

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
        inside = self._inside(rows, self.reach_)
        row_scale = np.where(inside, row_scale, self.dtype_.type(0))
        return self._cosine_columns(rows, False, row_scale, out)

    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest values (d,) outside of which states are zero."""
        return self.low_ - self.reach_, self.high_ + self.reach_

    def mass_matrix(self) -> NDArray[np.float64]:
        r""":math:`\int \phi(x)\phi(x)^\top dx / M_\gamma` over the box."""
        assert self.phases_ is not None
        waves = self.frequencies_, self.phases_, self.amplitudes_
        return cosine_mass(*waves, self.box()) * math.exp(-self.log_mass())

    def refuse_outsiders(self, rows: NDArray[Any]) -> None:
        """Raise for rows outside the box: their mass would be lost."""
        outside = ~self._inside(rows, 0.0)
        if not outside.any():
            return
        row = int(np.argmax(outside))
        values = rows[row].astype(float)
        column = int(np.argmax((values < self.low_) | (values > self.high_)))
        raise ValueError(
            f"{int(outside.sum())} of {len(rows)} rows lie outside the box of this "
            f"model's QuadratureFeatures, the first in row {row}: column {column} is "
            f"{values[column]:.6g} in the map's units, the box there is "
            f"[{self.low_[column]:.6g}, {self.high_[column]:.6g}]. For streams, give "
            'QuadratureFeatures(bounds=...) or take feature_map="landmarks"'
        )

    def _inside(self, rows: NDArray[Any], margin: float) -> NDArray[np.bool_]:
        # Rows in single precision may round to just outside the box they span.
        slack = (
            4
            * np.finfo(rows.dtype).eps
            * np.maximum(np.abs(self.low_), np.abs(self.high_))
        )
        low, high = self.low_ - margin - slack, self.high_ + margin + slack
        return ((rows >= low) & (rows <= high)).all(axis=1)

    def _drawn(self) -> list[Any]:
        return [*super()._drawn(), self.low_, self.high_, self.reach_]


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


def grid_size(gamma: float, widths: NDArray[np.float64], tol: float) -> int:
    """Number of components that a box needs; large ones are only bounded."""
    spacing, cut = _grid_shape(gamma, widths, tol)
    with np.errstate(over="ignore"):
        bound = min(float(np.prod(2 * np.floor(cut / spacing) + 1)), _MOST_COUNTED)
    return int(bound) if bound > 2**20 else 2 * len(_half_grid(gamma, widths, tol)) + 1


def _reach(gamma: float, tol: float) -> float:
    """Distance at which the kernel falls to ``tol``."""
    return math.sqrt(-math.log(tol) / gamma)


def _grid_shape(
    gamma: float, widths: NDArray[np.float64], tol: float
) -> tuple[NDArray[np.float64], float]:
    """Spacing of the grid in each dimension, and the length where it is cut off.

    The spacing makes the period so long that a row up to ``reach`` outside the box
    is at least ``reach`` away from the image of every row in it; the cut leaves out
    a share of the spectrum below ``tol``.
    """
    spacing = 2 * math.pi / (widths + 2 * _reach(gamma, tol / 4))
    cut = math.sqrt(gamma * float(chi2.isf(tol / 16, len(widths))))
    return spacing, cut


def _half_grid(
    gamma: float, widths: NDArray[np.float64], tol: float
) -> NDArray[np.float64]:
    """One of each pair ``±w`` of grid points within the cut, zero left out."""
    spacing, cut = _grid_shape(gamma, widths, tol)
    counts = [math.floor(cut / step) for step in spacing]
    axes = [np.arange(-count, count + 1) for count in counts]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    grid = points.reshape(-1, len(axes)) * spacing
    second_half = grid[len(grid) // 2 + 1 :]  # the grid is symmetric about its middle
    return second_half[(second_half**2).sum(axis=1) <= cut**2]
