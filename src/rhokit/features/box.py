"""Regular grids of frequencies over a box, and what maps of such grids share."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.signal import fftconvolve
from scipy.stats import chi2, norm

from rhokit.core import GaussianKernel
from rhokit.features.base import bounding_box, column_ends
from rhokit.features.kernel_features import KernelFeatures
from rhokit.records import POSITIVE, ArrayField, Fields, Reader, Values, require

# Grids are counted up to here: the counts of absurd ones overflow.
_MOST_COUNTED = 10**18
# What is left out of a spectrum, as a share of the error that the grid makes.
_SPECTRUM_SHARE = 1e-3
_LEAST_TOL = 1e-200
# Boxes are no wider than numbers go.
_WIDEST = 1e300
_FARTHEST = 1e154

BOX_FIELDS: Fields = {
    "low": ArrayField(("d",)),
    "high": ArrayField(("d",)),
    "tail": POSITIVE,
}


@dataclass(frozen=True, eq=False)
class FrequencyGrid:
    r"""Frequencies that carry a Gaussian kernel between the rows of a box.

    Parameters
    ----------
    gamma : float
        γ of the kernel of squared overlaps.
    period : array of shape (d,)
        Of the waves, in each column.
    tail : float
        Distance at which the kernel falls below its error.
    cut : float
        Length beyond which frequencies carry less than that.
    shape : tuple
        Of a series over the differences of frequencies that matter:
        ``(2 M_1 + 1, ..., M_d + 1)``.
    """

    gamma: float
    period: NDArray[np.float64]
    tail: float
    cut: float
    shape: tuple[int, ...]

    @classmethod
    def for_box(
        cls, gamma: float, widths: NDArray[np.float64], tol: float
    ) -> "FrequencyGrid":
        r"""The grid for rows of a box with these widths (d,).

        ``tol`` is the error of a density over these rows, as a share of its peak. A
        density that integrates to one over the box is at least :math:`1/V` somewhere,
        so an error of :math:`\text{tol}\, M_\gamma/V` of the kernel's peak will do.
        """
        kernel, d = GaussianKernel(gamma), len(widths)
        widths = np.minimum(widths, _WIDEST)
        with np.errstate(over="ignore", under="ignore"):
            sides = widths + 2 * kernel.distance(tol)
            least_peak = float(np.prod(math.exp(kernel.log_mass(1)) / sides))
            kernel_tol = max(tol * min(least_peak, 1.0), _LEAST_TOL)
            # A row up to `tail` outside the box is at least as far away from the
            # image of every row in it.
            period = widths + 2 * kernel.distance(kernel_tol / 4)
            tail = kernel.distance(kernel_tol)
            cut = cls.cut_for(gamma, tail, d)
            # Differences of frequencies follow the measure of the kernel itself.
            widest = float(norm.isf(kernel_tol * _SPECTRUM_SHARE / (2 * d)))
            ends = np.ceil(kernel.spectral_width * widest * period / (2 * math.pi))
            ends = np.minimum(ends, 2 * np.floor(cut * period / (2 * math.pi)))
        steps = np.minimum(ends, float(_MOST_COUNTED)).astype(np.int64).tolist()
        shape = (*(2 * end + 1 for end in steps[:-1]), steps[-1] + 1)
        return cls(gamma, period, tail, cut, shape)

    @staticmethod
    def cut_for(gamma: float, tail: float, d: int) -> float:
        """Length beyond which frequencies carry less than the kernel at its tail."""
        kernel_tol = math.exp(max(_log_kernel(gamma, tail), math.log(_LEAST_TOL)))
        width = GaussianKernel(gamma).of_overlaps().spectral_width
        return width * math.sqrt(float(chi2.isf(kernel_tol / 16, d)))

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.period)

    @property
    def log_tol(self) -> float:
        """Logarithm of the kernel's error, as a share of its peak."""
        return _log_kernel(self.gamma, self.tail)

    @property
    def spacing(self) -> NDArray[np.float64]:
        """Of the frequencies, in each column, shape (d,)."""
        return 2 * math.pi / self.period

    @property
    def ends(self) -> NDArray[np.float64]:
        """Number of frequencies to either side of zero, in each column, shape (d,)."""
        with np.errstate(over="ignore"):
            return np.floor(self.cut / self.spacing)

    @property
    def n_points(self) -> int:
        """Frequencies, D; large numbers are only bounded."""
        bound = _count(2 * self.ends + 1)
        return bound if bound > 2**20 else 2 * len(self.half_points()) + 1

    def half_points(self) -> NDArray[np.float64]:
        """One of each pair ``±w`` of frequencies, zero left out, shape (H, d)."""
        points = np.stack(np.meshgrid(*self._axes(), indexing="ij"), axis=-1)
        waves = points.reshape(-1, self.d) * self.spacing
        second_half = waves[len(waves) // 2 + 1 :]  # symmetric about the middle
        return second_half[(second_half**2).sum(axis=1) <= self.cut**2]

    @property
    def n_modes(self) -> int:
        """Distinct differences that matter, up to complex conjugation."""
        return _count(np.array(self.shape, float))

    def amplitudes(self) -> NDArray[np.float64]:
        """Of all frequencies, zero beyond the cut, on the grid ``(2 J_1 + 1, ...)``."""
        axes = np.meshgrid(*self._axes(), indexing="ij", sparse=True)
        squares = sum((a * s) ** 2 for a, s in zip(axes, self.spacing, strict=True))
        kernel = GaussianKernel(self.gamma).of_overlaps()
        power = kernel.spectral_weight(squares) * (squares <= self.cut**2)
        return np.sqrt(power / power.sum())

    def spectrum(self) -> NDArray[np.float64]:
        """Fourier coefficients of the kernel, of the series' shape."""
        power = self.amplitudes() ** 2
        full = fftconvolve(power, power)  # differences: the grid is symmetric
        middle = [size // 2 for size in full.shape]
        ends = [size // 2 for size in self.shape[:-1]]
        kept = [slice(m - e, m + e + 1) for m, e in zip(middle, ends, strict=False)]
        last = slice(middle[-1], middle[-1] + self.shape[-1])
        return np.maximum(full[(*kept, last)], np.finfo(float).tiny)

    def node_counts(self) -> tuple[int, ...]:
        """Nodes per period that a series needs, good for FFTs."""
        full = (*self.shape[:-1], 2 * self.shape[-1] - 1)
        return tuple(next_fast_len(size, real=True) for size in full)

    def _axes(self) -> list[NDArray[np.int64]]:
        return [np.arange(-end, end + 1) for end in self.ends.astype(np.int64)]


def _log_kernel(gamma: float, distance: float) -> float:
    """Logarithm of the kernel at a distance."""
    return float(GaussianKernel(gamma).log(min(distance, _FARTHEST) ** 2))


def _count(sizes: NDArray[np.float64]) -> int:
    with np.errstate(over="ignore"):
        return int(min(float(np.prod(sizes)), _MOST_COUNTED))


class BoxFeatures(KernelFeatures):
    """Maps over a box, outside of which states are zero.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
        The box that holds the rows.
    tail_ : float
        How far outside that box the density is above its error; beyond, it is zero.
    """

    has_outsiders = True
    resolves = True
    max_columns: ClassVar[int] = 3

    tol: float
    bounds: Any
    low_: NDArray[np.float64]
    high_: NDArray[np.float64]
    tail_: float

    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest values (d,) outside of which states are zero."""
        return self.low_ - self.tail_, self.high_ + self.tail_

    def most_components(self, rows: NDArray[Any]) -> int:
        """The frequencies of a grid for these rows (n, d)."""
        low, high = bounding_box(self, rows.astype(float), None, self.bounds)
        return FrequencyGrid.for_box(self.gamma, high - low, self.tol).n_points

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
        if d > self.max_columns:
            raise ValueError(
                f"{type(self).__name__} works for 1 to {self.max_columns} columns, got "
                f"{d}: the grid grows with the power of their number; take "
                "LandmarkFeatures"
            )
        self.low_, self.high_ = bounding_box(self, rows, weights, self.bounds)
        return self._new_grid()

    def _new_grid(self) -> FrequencyGrid:
        """The grid that the box needs."""
        with np.errstate(over="ignore"):
            widths = self.high_ - self.low_
        return FrequencyGrid.for_box(self.gamma, widths, self.tol)

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """A box has few columns, and no end before its start."""
        super().check_file(parameters, fitted, reader)
        most = cls.max_columns
        require(
            most is None or reader.sizes["d"] <= most,
            f"{cls.__name__} has at most {most} columns",
        )
        require((fitted["low"] <= fitted["high"]).all(), "low must not exceed high")

    def _restore_box(self) -> None:
        eps = float(np.finfo(self.dtype_).eps)
        log_tol = _log_kernel(self.gamma, self.tail_)
        self.log_floor_ = max(log_tol, math.log(4 * eps))

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


def check_grid(gamma: float, max_modes: int, fitted: Values) -> None:
    """Refuse the grid of a file that is not the one of its box."""
    period, shape, tail = fitted["period"], fitted["shape"], fitted["tail"]
    with np.errstate(all="ignore"):
        widths = fitted["high"] - fitted["low"]
        room = period * (1 + 1e-9) >= widths + 2 * tail
        ends = np.floor(fitted["cut"] * period / (2 * math.pi))
        sides = np.array([*shape[:-1] // 2, shape[-1] - 1])
        fits = (ends <= sides) & (sides <= 2 * ends)
        cut = FrequencyGrid.cut_for(gamma, tail, len(period))
        ratio = cut / float(fitted["cut"])
    require(0.99 < ratio < 1.01, "cut and tail do not go with gamma")
    require(room.all(), "period must be longer than the box and its tails")
    require(fits.all(), "shape does not go with cut and period")
    odd = (shape[:-1] % 2 == 1).all()
    require(odd, "shape must be odd but for the last column")
    few = math.prod(shape.tolist()) <= max_modes
    require(few, "shape has more than max_modes modes")
