"""Waves on a regular grid, for states that are Fourier series."""

import math
from collections.abc import Callable, Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from rhokit.core import DensityMatrix, ToeplitzDensityMatrix
from rhokit.fast import Series, SeriesSums, blas_threads
from rhokit.features.base import Columns, FeatureMap, column_ends
from rhokit.features.box import BOX_FIELDS, BoxFeatures, FrequencyGrid, check_grid
from rhokit.features.quadrature import QuadratureFeatures
from rhokit.features.registry import register
from rhokit.records import POSITIVE, ArrayField, Fields, Reader, Values
from rhokit.validation import Interval, StrOptions

# Error of sums and values, as a share of the grid's own.
_SERIES_SHARE = 1e-3
_LEAST_SERIES_TOL = 1e-14
_TURN = 2 * math.pi
_MOST_STATES = 8192
# Of a model file: bytes for each mode, while rows are added.
_MODE_COST = 512
# Rows per block: FFTs of a whole grid are made for each.
_MOST_ROWS, _LEAST_ROWS = 2**19, 2**14


@register
class GridFeatures(BoxFeatures):
    r"""Waves on a regular grid, for one to three columns and states without a matrix.

    The states are those of :class:`QuadratureFeatures`,

    .. math:: \phi_j(x) = a_j e^{i j\cdot\theta(x)}, \qquad
              \theta(x) = \frac{2\pi}{L}\,(x - x_0), \quad j \in \mathbb{Z}^d,

    of which :class:`DMKDE`, :class:`DMKDClassifier` and :class:`QMRegressor` keep the
    Fourier series that they add up to (:class:`ToeplitzDensityMatrix`) instead of a
    matrix. Sums and densities cost an FFT and a few operations per row, and equal
    those of the kernel itself up to ``tol``. The columns of this map are the angles.

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel of squared overlaps, in the units of the rows.
    tol : float, default=1e-8
        Error of a density, as a share of its peak.
    bounds : array-like of shape (2, d), optional
        Lowest and highest values of the rows that will be seen; learned from the rows
        without it.
    margin : float, default=0.0
        Part of its width by which the learned box is widened on every side, for
        streams.
    outside : {"widen", "refuse"}, default="widen"
        What models do with rows outside the box: widen it, which costs about ``tol``
        in exactness each time, or refuse them.
    max_modes : int, default=2**22
        Refuse grids with more differences of frequencies than this; 16 bytes each.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
        The box that holds the rows.
    tail_ : float
        How far outside that box the density is above its error; beyond, it is zero.
    middle_, period_ : arrays of shape (d,)
        x_0 and L, of the waves.
    cut_ : float
        Length beyond which frequencies are left out.
    shape_ : array of shape (d,)
        Of a series: ``(2 M_1 + 1, ..., M_d + 1)``.
    spectrum_ : array of shape ``shape_``
        Fourier coefficients of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.features import GridFeatures
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model = DMKDE(gamma=2.0, scale=None, feature_map=GridFeatures()).fit(X)
    >>> model.state_.total.shape
    (1, 67, 35)
    >>> exact = np.exp(-2.0 * ((X[0] - X) ** 2).sum(axis=1)).mean() * 2.0 / np.pi
    >>> bool(abs(model.density(X[:1])[0] - exact) < 1e-9)
    True
    """

    name = "grid"
    settings = ("gamma", "margin")
    representation = "series"
    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        **BOX_FIELDS,
        "period": ArrayField(("d",), low=POSITIVE.low),
        "cut": POSITIVE,
        "shape": ArrayField(("d",), dtypes=("int64",), low=1),
    }
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "bounds": ["array-like", None],
        "margin": [Interval(Real, 0, None, closed="left")],
        "outside": [StrOptions({"widen", "refuse"})],
        "max_modes": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        tol: float = 1e-8,
        bounds: Any = None,
        margin: float = 0.0,
        outside: str = "widen",
        max_modes: int = 2**22,
    ) -> None:
        self.gamma = gamma
        self.tol = tol
        self.bounds = bounds
        self.margin = margin
        self.outside = outside
        self.max_modes = max_modes

    @property
    def column_dtype_(self) -> np.dtype[Any]:
        """Dtype of the angles: always double precision."""
        return np.dtype(np.float64)

    @property
    def can_integrate(self) -> bool:
        """Always: a series without waves along a column is its integral."""
        return True

    # ---- the box -------------------------------------------------------------------

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        self._draw_box(rows, weights)
        if self.bounds is None:
            spare = self.margin * (self.high_ - self.low_)
            self.low_, self.high_ = self.low_ - spare, self.high_ + spare
        self._set_grid()

    def _set_grid(self) -> None:
        """Take the grid that the box needs, unless it is too large."""
        grid = self._new_grid()
        if grid.n_modes > self.max_modes:
            raise ValueError(
                f"GridFeatures needs {grid.n_modes:,} modes for gamma={self.gamma} "
                f"over a box from {self.low_} to {self.high_}, more than max_modes="
                f"{self.max_modes:,}: take LandmarkFeatures, a larger max_modes or "
                "a larger tol"
            )
        self.period_, self.tail_, self.cut_ = grid.period, grid.tail, grid.cut
        self.shape_ = np.array(grid.shape)
        self.restore()

    @property
    def grid_(self) -> FrequencyGrid:
        """The frequencies."""
        shape = tuple(self.shape_.tolist())
        return FrequencyGrid(self.gamma, self.period_, self.tail_, self.cut_, shape)

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """The modes must be those of the box."""
        super().check_file(parameters, fitted, reader)
        check_grid(parameters["gamma"], parameters["max_modes"], fitted)
        modes = math.prod(fitted["shape"].tolist())
        reader.claim(_MODE_COST * modes, f"shape, which makes {modes} modes,")
        reader.bind("modes", modes, "shape")
        reader.agree("the modes of a series", fitted["shape"].tolist(), "shape")

    def restore(self) -> None:
        self._restore_box()
        self._large: dict[str, Any] = {}
        self.n_columns_ = len(self.period_)
        self.middle_ = self.low_ / 2 + self.high_ / 2
        self.series_tol_ = max(_LEAST_SERIES_TOL, _SERIES_SHARE * self.tol)

    @property
    def spectrum_(self) -> NDArray[np.float64]:
        """Fourier coefficients of the kernel, computed when first needed."""
        if "spectrum" not in self._large:
            self._large["spectrum"] = self.grid_.spectrum()
        spectrum: NDArray[np.float64] = self._large["spectrum"]
        return spectrum

    @property
    def n_components_(self) -> int:  # type: ignore[override]
        """D, the number of frequencies."""
        if "n_points" not in self._large:
            self._large["n_points"] = self.grid_.n_points
        return int(self._large["n_points"])

    def widened(self, low: NDArray[Any], high: NDArray[Any]) -> Self:
        """This map over a box that also holds ``low`` and ``high`` (d,)."""
        other = copy(self)
        other.low_ = np.minimum(self.low_, low)
        other.high_ = np.maximum(self.high_, high)
        other._set_grid()
        return other

    def widened_for(self, rows: NDArray[Any]) -> Self:
        """This map over a box that holds these rows, with room for more if it may."""
        low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
        widths = np.maximum(high, self.high_) - np.minimum(low, self.low_)
        spare = np.maximum(widths, 4 * self.tail_) / 2
        roomy = (
            np.where(low < self.low_, low - spare, self.low_),
            np.where(high > self.high_, high + spare, self.high_),
        )
        try:
            return self.widened(*roomy)
        except ValueError:
            pass  # too large: try without room
        return self.widened(low, high)

    # ---- rows ----------------------------------------------------------------------

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Angles of checked rows (n, d); infinite for rows outside the box."""
        # Column by column, as the transforms read them.
        if out is None:
            out = np.empty(rows.shape)
        angles = out.reshape(rows.shape[::-1]).T
        for column, row, middle, period in zip(
            angles.T, rows.T, self.middle_, self.period_, strict=True
        ):
            with np.errstate(over="ignore"):
                np.subtract(row, middle, out=column)
                column *= _TURN / period
        # Half a period less the part of it that keeps images apart.
        ends = (math.pi * (self.high_ - self.low_ + 2 * self.tail_)) / self.period_
        if not len(rows):
            return angles, None
        reached = np.maximum(-column_ends(angles, np.min), column_ends(angles, np.max))
        if (reached > ends).any():
            turned = (np.abs(angles) > math.pi).any(axis=1)
            angles[~self._inside(rows, self.tail_) | turned] = np.inf
        return angles, None

    def states(self, rows: NDArray[Any]) -> NDArray[Any]:
        """States of checked rows, as :class:`QuadratureFeatures` has them."""
        return self.dense().states(rows)

    def lengths_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """One inside the box, zero outside."""
        return np.isfinite(columns).all(axis=1).astype(self.dtype_)

    def dense(self) -> QuadratureFeatures:
        """The map over the same grid whose columns are the states."""
        if self.n_components_ > _MOST_STATES:
            raise ValueError(
                f"GridFeatures has states of {self.n_components_:,} components here, "
                f"too many to be computed one by one (more than {_MOST_STATES:,}): "
                "estimators sum and measure them without"
            )
        box = np.stack([self.low_, self.high_])
        dense = QuadratureFeatures(gamma=self.gamma, tol=self.tol, bounds=box)
        dense.dtype_, dense.n_features_in_ = self.dtype_, self.n_features_in_
        dense.low_, dense.high_ = self.low_, self.high_
        dense.set_waves(self.grid_)
        return dense

    def rows_per_block(
        self, n_rows: int, n_outcomes: int, batch_size: int | None, stretch: int
    ) -> int:
        """Of so many rows, how many are worked on at once: a large share per core."""
        if batch_size is not None:
            return batch_size
        share = -(-n_rows // max(blas_threads(), 1))
        most = max(_MOST_ROWS, self.grid_.n_modes) // n_outcomes
        return max(_LEAST_ROWS, min(most, share))

    # ---- states --------------------------------------------------------------------

    def sums(self, n_outcomes: int) -> SeriesSums:
        """Sums that add up angles to the series of so many outcomes."""
        return SeriesSums(self.spectrum_, n_outcomes, self.series_tol_)

    def series(self, coefficients: NDArray[Any], least: float = 0.0) -> Series:
        """Evaluator of series (K, ...) at angles: see :class:`rhokit.fast.Series`."""
        return Series(coefficients, self.series_tol_, least)

    def state_from(
        self, state: ToeplitzDensityMatrix, other: "GridFeatures"
    ) -> ToeplitzDensityMatrix:
        """A density over this map's box, given its state over another's.

        The density is evaluated on this box's own nodes, where the other's box does
        not reach it is zero, and an FFT gives its coefficients.
        """
        weights = state.weight.reshape(-1, 1)
        series = other.series(state.normalized())

        def evaluate(rows: NDArray[Any]) -> NDArray[Any]:
            return series.values(other.columns(rows)[0]).T * weights

        return ToeplitzDensityMatrix(self.coefficients(evaluate), state.weight)

    def coefficients(
        self, evaluate: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[np.complex128]:
        """Series (K, ...) of what is evaluated at rows (n, d) as values (K, n)."""
        grid = self.grid_
        counts = grid.node_counts()
        nodes = self._nodes(counts)
        values = evaluate(nodes) * self._inside(nodes, self.tail_)
        return _series_of(values.reshape(-1, *counts), grid.shape)

    def restricted(self, axes: list[int]) -> Self:
        """This map for some of the columns."""
        other = copy(self)
        other.bounds = None if self.bounds is None else np.asarray(self.bounds)[:, axes]
        other.low_, other.high_ = self.low_[axes], self.high_[axes]
        other.n_features_in_ = len(axes)
        other._set_grid()
        return other

    def to_dense(self, state: ToeplitzDensityMatrix) -> DensityMatrix:
        """The matrices of a state, over the states of :meth:`dense`."""
        dense = self.dense()
        matrix = state.to_dense(self.grid_.amplitudes(), self.spectrum_)
        matrix = matrix.change_basis(_cosines_of_waves(dense, self.middle_))
        return DensityMatrix(matrix.total.real.copy(), matrix.weight)

    def _nodes(self, counts: tuple[int, ...]) -> NDArray[np.float64]:
        """Rows on a regular grid over one period, from its middle on, shape (n, d)."""
        axes = [
            middle + period * scipy.fft.fftfreq(count)
            for middle, period, count in zip(
                self.middle_, self.period_, counts, strict=True
            )
        ]
        rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        return rows.reshape(-1, len(axes))

    def _drawn(self) -> list[Any]:
        # Models widen their boxes to add up; what is fixed by the user stays as it is.
        fixed = [self.low_, self.high_] if self.outside == "refuse" else []
        return [self.gamma, self.tol, self.dtype_.str, *fixed]


def _series_of(
    values: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.complex128]:
    """Coefficients (K, *shape) of series with values (K, n_1, ...) at the nodes."""
    axes = tuple(range(1, values.ndim))
    waves = scipy.fft.rfftn(values, axes=axes, norm="forward").conj()
    for axis, size in enumerate(shape[:-1], start=1):
        steps = np.arange(-(size // 2), size // 2 + 1)
        waves = np.take(waves, steps, axis=axis)  # negative ones stand at the end
    return waves[..., : shape[-1]]


def _cosines_of_waves(
    dense: QuadratureFeatures, middle: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Basis (D, D) that makes cosines and sines of waves about the middle of a box.

    Waves stand in the order of their frequencies: the middle one is constant, and
    mirror images have the same distance from it.
    """
    dim = dense.n_components_
    half = dim // 2
    basis = np.zeros((dim, dim), complex)
    basis[half, 0] = 1
    cosines, sines = np.arange(1, half + 1), np.arange(half + 1, dim)
    turns = np.exp(1j * (middle @ dense.frequencies_[:, cosines])) / math.sqrt(2)
    basis[half + cosines, cosines] = turns
    basis[half - cosines, cosines] = turns.conj()
    basis[half + cosines, sines] = -1j * turns
    basis[half - cosines, sines] = 1j * turns.conj()
    return basis
