"""Regular grids of frequencies over a box, and what maps of such grids share."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.signal import fftconvolve
from scipy.stats import chi2, norm

from rhokit.features.base import bounding_box, column_ends
from rhokit.features.gaussian import GaussianFeatures

# Grids are counted up to here: the counts of absurd ones overflow.
_MOST_COUNTED = 10**18
# What is left out of a spectrum, as a share of the error that the grid makes.
_SPECTRUM_SHARE = 1e-3
_LEAST_TOL = 1e-200
# Boxes are no wider than numbers go.
_WIDEST = 1e300


@dataclass(frozen=True, eq=False)
class FrequencyGrid:
    r"""Frequencies that carry a Gaussian kernel between the rows of a box.

    Parameters
    ----------
    gamma : float
        γ of the kernel of squared overlaps.
    widths : array of shape (d,)
        Of the box that holds the rows.
    tol : float
        Error of a density over these rows, as a share of its peak. A density that
        integrates to one over the box is at least :math:`1/V` somewhere, so an error
        of :math:`\text{tol}\, M_\gamma/V` of the kernel's peak will do.
    """

    gamma: float
    widths: NDArray[np.float64]
    tol: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", np.minimum(self.widths, _WIDEST))

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.widths)

    @cached_property
    def kernel_tol(self) -> float:
        """Error of the kernel, as a share of its peak."""
        sides = self.widths + 2 * _distance(self.gamma, self.tol)
        with np.errstate(over="ignore", under="ignore"):
            least_peak = float(np.prod(math.sqrt(math.pi / self.gamma) / sides))
        return max(self.tol * min(least_peak, 1.0), _LEAST_TOL)

    @cached_property
    def reach(self) -> float:
        """Distance at which the kernel falls below its error."""
        return _distance(self.gamma, self.kernel_tol)

    @cached_property
    def period(self) -> NDArray[np.float64]:
        """Of the waves, in each column, shape (d,).

        A row up to ``reach`` outside the box is at least as far away from the image
        of every row in it.
        """
        return self.widths + 2 * _distance(self.gamma, self.kernel_tol / 4)

    @property
    def spacing(self) -> NDArray[np.float64]:
        """Of the frequencies, in each column, shape (d,)."""
        return 2 * math.pi / self.period

    @cached_property
    def cut(self) -> float:
        """Length beyond which frequencies carry less than the error."""
        return math.sqrt(self.gamma * float(chi2.isf(self.kernel_tol / 16, self.d)))

    @property
    def n_points(self) -> int:
        """Frequencies, D; large numbers are only bounded."""
        with np.errstate(over="ignore"):
            bound = _count(2 * np.floor(self.cut / self.spacing) + 1)
        return bound if bound > 2**20 else 2 * len(self.half_points()) + 1

    def half_points(self) -> NDArray[np.float64]:
        """One of each pair ``±w`` of frequencies, zero left out, shape (H, d)."""
        points = np.stack(np.meshgrid(*self._axes(), indexing="ij"), axis=-1)
        waves = points.reshape(-1, self.d) * self.spacing
        second_half = waves[len(waves) // 2 + 1 :]  # symmetric about the middle
        return second_half[(second_half**2).sum(axis=1) <= self.cut**2]

    # ---- differences of frequencies ------------------------------------------------

    @property
    def n_modes(self) -> int:
        """Distinct differences that matter, up to complex conjugation."""
        return _count(np.array(self.shape, float))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a series over the differences: ``(2 M_1 + 1, ..., M_d + 1)``."""
        # Differences follow a normal distribution of variance 2γ.
        tail = norm.isf(self.kernel_tol * _SPECTRUM_SHARE / (2 * self.d))
        with np.errstate(over="ignore"):
            ends = np.ceil(math.sqrt(2 * self.gamma) * float(tail) / self.spacing)
            ends = np.minimum(ends, 2 * np.floor(self.cut / self.spacing))
        ends = np.minimum(ends, float(_MOST_COUNTED)).astype(np.int64).tolist()
        return (*(2 * end + 1 for end in ends[:-1]), ends[-1] + 1)

    def amplitudes(self) -> NDArray[np.float64]:
        """Of all frequencies, zero beyond the cut, on the grid ``(2 J_1 + 1, ...)``."""
        axes = np.meshgrid(*self._axes(), indexing="ij", sparse=True)
        squares = sum((a * s) ** 2 for a, s in zip(axes, self.spacing, strict=True))
        power = np.exp(-squares / (2 * self.gamma)) * (squares <= self.cut**2)
        return np.sqrt(power / power.sum())

    def spectrum(self) -> NDArray[np.float64]:
        """Fourier coefficients of the kernel, of the series' :attr:`shape`."""
        power = self.amplitudes() ** 2
        full = fftconvolve(power, power)  # differences: the grid is symmetric
        middle = [size // 2 for size in full.shape]
        ends = [size // 2 for size in self.shape[:-1]]
        kept = [slice(m - e, m + e + 1) for m, e in zip(middle, ends, strict=False)]
        last = slice(middle[-1], middle[-1] + self.shape[-1])
        return np.maximum(full[(*kept, last)], np.finfo(float).tiny)

    def node_counts(self, density: int = 1) -> tuple[int, ...]:
        """Nodes per period that a series needs, times a density, good for FFTs."""
        full = (*self.shape[:-1], 2 * self.shape[-1] - 1)
        return tuple(next_fast_len(density * size, real=True) for size in full)

    def _axes(self) -> list[NDArray[np.int64]]:
        ends = [math.floor(self.cut / step) for step in self.spacing]
        return [np.arange(-end, end + 1) for end in ends]


def _distance(gamma: float, tol: float) -> float:
    """Where the kernel falls to ``tol``."""
    return math.sqrt(-math.log(tol) / gamma)


def _count(sizes: NDArray[np.float64]) -> int:
    with np.errstate(over="ignore"):
        return int(min(float(np.prod(sizes)), _MOST_COUNTED))


class BoxFeatures(GaussianFeatures):
    """Maps over a box, outside of which states are zero.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
        The box that holds the rows.
    reach_ : float
        How far outside that box the density is above its error; beyond, it is zero.
    """

    has_outsiders = True

    tol: float
    bounds: Any
    low_: NDArray[np.float64]
    high_: NDArray[np.float64]
    reach_: float

    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest values (d,) outside of which states are zero."""
        return self.low_ - self.reach_, self.high_ + self.reach_

    def refuse_outsiders(self, rows: NDArray[Any]) -> None:
        """Raise for rows outside the box: their mass would be lost."""
        if self.holds(rows):
            return
        outside = ~self._inside(rows, 0.0)
        row = int(np.argmax(outside))
        values = rows[row].astype(float)
        column = int(np.argmax((values < self.low_) | (values > self.high_)))
        name = type(self).__name__
        raise ValueError(
            f"{int(outside.sum())} of {len(rows)} rows lie outside the box of this "
            f"model's {name}, the first in row {row}: column {column} is "
            f"{values[column]:.6g} in the map's units, the box there is "
            f"[{self.low_[column]:.6g}, {self.high_[column]:.6g}]. For streams, give "
            f'{name}(bounds=...) or take feature_map="landmarks"'
        )

    def holds(self, rows: NDArray[Any]) -> bool:
        """Whether the box holds all of these rows."""
        return self._all_inside(rows, 0.0)

    def n_outside(self, rows: NDArray[Any]) -> int:
        """How many of these rows the box does not hold."""
        return int((~self._inside(rows, 0.0)).sum())

    def has_box_of(self, other: "BoxFeatures") -> bool:
        """Whether the two boxes are the same."""
        ends = [(self.low_, other.low_), (self.high_, other.high_)]
        return all(np.array_equal(mine, yours) for mine, yours in ends)

    def _draw_box(
        self, rows: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> FrequencyGrid:
        """Set the box, and return the grid over it."""
        d = rows.shape[1]
        if d > 3:
            raise ValueError(
                f"{type(self).__name__} works for 1 to 3 columns, got {d}: the grid "
                "grows with the power of their number; take LandmarkFeatures"
            )
        self.low_, self.high_ = bounding_box(self, rows, weights, self.bounds)
        return self._grid()

    def _grid(self) -> FrequencyGrid:
        with np.errstate(over="ignore"):
            return FrequencyGrid(self.gamma, self.high_ - self.low_, self.tol)

    def _restore_box(self) -> None:
        eps = float(np.finfo(self.dtype_).eps)
        self.log_floor_ = math.log(max(self._grid().kernel_tol, 4 * eps))

    def _all_inside(self, rows: NDArray[Any], margin: float) -> bool:
        """Whether no row is outside: two passes over memory instead of many."""
        if not len(rows):
            return True
        ends = np.stack([column_ends(rows, np.min), column_ends(rows, np.max)])
        return bool(self._inside(ends.astype(rows.dtype), margin).all())

    def _inside(self, rows: NDArray[Any], margin: float) -> NDArray[np.bool_]:
        # Rows in single precision may round to just outside the box they span.
        slack = (
            4
            * np.finfo(rows.dtype).eps
            * np.maximum(np.abs(self.low_), np.abs(self.high_))
        )
        low, high = self.low_ - margin - slack, self.high_ + margin + slack
        return ((rows >= low) & (rows <= high)).all(axis=1)
