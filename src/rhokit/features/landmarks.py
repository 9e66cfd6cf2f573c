"""Nyström features: kernel columns over landmarks taken from the data."""

from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack
from sklearn.utils import check_array

from rhokit.core import Kernel
from rhokit.fast import FactorMeasurement, small_algebra
from rhokit.features.base import Columns, FeatureMap
from rhokit.features.kernel_columns import kernel_columns
from rhokit.features.kernel_features import KernelFeatures
from rhokit.features.registry import register
from rhokit.features.selection import select_landmarks
from rhokit.kernels.registry import has_mass
from rhokit.records import FLOATS, ArrayField, Fields, Flag, Reader, Values, require
from rhokit.validation import Interval, StrOptions, generator

# Smaller eigenvalues of the landmarks' kernel matrix are left out: whitening would
# blow the rounding of the columns up by more than they add: see
# docs/decisions/three-families-of-maps.md.
_EIGENVALUE_CUT = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}
# The condition is estimated, mostly to a factor of three.
_SURELY_ABOVE = 10.0
# Distances by a matrix product lose digits to cancellation; an error above this in
# the exponent, or few columns, and differences are taken instead.
_EXPONENT_ERROR = 1e-4
_FEW_FEATURES = 4


@register
class LandmarkFeatures(KernelFeatures):
    r"""Nyström features over landmarks from the data.

    .. math:: \phi(x) = K_{mm}^{-1/2}\, k_m(x), \qquad
              k_m(x)_j = e^{-\frac\gamma2\|x - l_j\|^2}

    (up to a rotation), so that squared overlaps follow the kernel of the density,
    :math:`\langle\phi(x),\phi(y)\rangle^2 \approx e^{-\gamma\|x-y\|^2}`: exactly so
    where one of the rows is a landmark. States are not normalised by default: they
    fall to zero away from the data, and so does a density made of them, and
    :meth:`reach` says how well the landmarks represent a row. With another ``kernel``
    κ, columns are :math:`k_m(x)_j = \kappa(x, l_j)`, and squared overlaps follow κ².

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel of squared overlaps, in the units of the rows.
    n_components : int, default=1024
        m, the number of landmarks. With fewer distinct rows, each of them is one,
        and nothing is approximated.
    selection : {"kmeans", "kmeans++", "uniform"}, default="kmeans"
        Centres of k-means; its seeding alone; or rows at random.
    landmarks : array-like of shape (m, d), optional
        The landmarks themselves, instead of a selection.
    normalize : bool, default=False
        Scale states to length one: better for classes, worse for densities.
    kernel : str or Kernel, default="gaussian"
        What overlaps follow: a name of :mod:`rhokit.kernels`, or a kernel of it.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    landmarks_ : array of shape (m, d)
    whitening_ : array of shape (m, D)
        Columns to states; directions in which the landmarks' kernel matrix is
        singular to rounding are left out, so D may be smaller than m.
    own_whitening_ : bool
        Whether the whitening follows from the landmarks; that of trained ones does not.
    by_differences_ : bool
        Whether distances are taken from differences, and not from a matrix product.
    n_components_, log_floor_ :
        See :class:`rhokit.features.FeatureMap`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.features import LandmarkFeatures
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> landmarks = LandmarkFeatures(gamma=0.5, n_components=64, random_state=0)
    >>> phi = landmarks.fit_transform(rows)
    >>> kernel = np.exp(-0.5 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    >>> bool(np.abs((phi @ phi.T) ** 2 - kernel).mean() < 1e-4)
    True
    >>> landmarks.reach([[0.0, 0.0], [9.0, 9.0]]).round(3)
    array([1., 0.])
    """

    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        "landmarks": ArrayField(("m", "d"), dtypes=FLOATS),
        "whitening": ArrayField(("m", "D"), dtypes=FLOATS),
        "own_whitening": Flag(),
        "by_differences": Flag(),
    }
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "selection": [StrOptions({"kmeans", "kmeans++", "uniform"})],
        "landmarks": ["array-like", None],
        "normalize": ["boolean"],
        "kernel": [str, Kernel],
        "random_state": ["random_state", np.random.Generator],
    }

    name = "landmarks"
    settings = (
        *("gamma", "n_components", "normalize", "landmarks", "kernel", "random_state"),
    )
    mixes = True
    from_data = True

    landmarks_: NDArray[Any]
    own_whitening_: bool
    by_differences_: bool

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        n_components: int = 1024,
        selection: str = "kmeans",
        landmarks: Any = None,
        normalize: bool = False,
        kernel: Any = "gaussian",
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.selection = selection
        self.landmarks = landmarks
        self.normalize = normalize
        self.kernel = kernel
        self.random_state = random_state

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        if self.landmarks is None:
            rng = generator(self.random_state)
            landmarks = select_landmarks(
                rows, weights, self.n_components, self.selection, rng
            )
        else:
            landmarks = self._given_landmarks()
        self.landmarks_ = np.ascontiguousarray(landmarks, dtype=self.dtype_)
        self._whiten(rows)

    def _given_landmarks(self) -> NDArray[Any]:
        landmarks = check_array(
            self.landmarks, dtype=self.dtype_, input_name="landmarks"
        )
        if landmarks.shape[1] != self._width():
            raise ValueError(
                "The 'landmarks' parameter of LandmarkFeatures must have shape "
                f"(m, {self._width()}), as many columns as the rows. "
                f"Got {landmarks.shape} instead."
            )
        return np.asarray(landmarks)

    @property
    def distances_by_product(self) -> bool:
        """Whether distances come from a matrix product, and not from differences."""
        return not self.by_differences_

    def with_gamma(
        self, gamma: float, rows: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> Self:
        """A map over the same landmarks for another γ."""
        other = copy(self)
        other.gamma = gamma
        other._whiten(rows)
        return other

    def with_landmarks(self, landmarks: NDArray[Any], rows: NDArray[Any]) -> Self:
        """This map with its landmarks moved, and its whitening left as it is.

        Landmarks that were trained together with a state belong to the whitening
        that they were trained with.
        """
        other = copy(self)
        other.own_whitening_ = False
        other.landmarks_ = np.ascontiguousarray(landmarks, dtype=self.dtype_)
        other.restore()
        other.measure_distances(rows)
        return other

    def measure_distances(self, rows: NDArray[Any]) -> None:
        """Take distances to rows like these by a product, if that has the digits."""
        centred = rows - self._centre
        lost = product_loses_digits(centred, self.gamma, self.dtype_)
        self.by_differences_ = lost

    @property
    def can_integrate(self) -> bool:
        """Whether states are sums of Gaussian columns; normalised ones are not."""
        return not self.normalize and self.follows_gaussian

    def series_rows(self) -> NDArray[np.float64] | None:
        """The landmarks: a density over them is made of Gaussians about pairs."""
        if not self.can_integrate:
            return None
        return self.landmarks_.astype(np.float64)

    def with_columns_of(
        self, landmarks: NDArray[Any], dtype: Any = None
    ) -> "LandmarkFeatures":
        """A map whose states are kernel columns over landmarks (m, d) themselves."""
        other = copy(self).set_params(normalize=False, landmarks=None)
        other.own_whitening_ = False
        other.dtype_ = np.dtype(dtype or self.dtype_)
        other.n_features_in_ = landmarks.shape[1]
        other.landmarks_ = np.ascontiguousarray(landmarks, dtype=other.dtype_)
        other.whitening_ = np.eye(len(landmarks), dtype=other.dtype_)
        other.restore()
        other.by_differences_ = True
        return other

    def mass_matrix(self) -> NDArray[np.float64] | None:
        r""":math:`\int \phi(x)\phi(x)^\top dx / M_\gamma`; None for unit states."""
        kernel = self.kernel_
        if self.normalize or self.whitening_ is None or not has_mass(kernel):
            return None
        overlaps = kernel_columns(kernel).overlaps(self.landmarks_.astype(np.float64))
        whitening = self.whitening_.astype(np.float64)
        return np.asarray(whitening.T @ overlaps @ whitening)

    def mass_vector(self) -> NDArray[np.float64] | None:
        """One for every kernel column; None for unit states."""
        if self.normalize or not has_mass(self.kernel_):
            return None
        return np.ones(len(self.landmarks_))

    def _whiten(self, rows: NDArray[Any]) -> None:
        """Set what depends on the landmarks and γ.

        The whitening is ``W`` with ``W Wᵀ`` the inverse of the landmarks' kernel matrix
        without its noise: a triangle where there is none, which takes a fifth of the
        time of eigenvectors.
        """
        landmarks = self.landmarks_.astype(np.float64)
        matrix = kernel_columns(self.kernel_).matrix(landmarks)
        cut, norm = _EIGENVALUE_CUT[self.dtype_], np.abs(matrix).sum(axis=0).max()
        with small_algebra(len(matrix)):
            # From the last row on, so that the transpose, which measures, is an upper
            # triangle. The condition in this norm is below the ratio of eigenvalues.
            lower, failed = lapack.dpotrf(matrix[::-1, ::-1], lower=1)
            condition = lapack.dpocon(lower, norm, uplo="L")[0]
            if not failed and condition > _SURELY_ABOVE * cut:
                whitening = lapack.dtrtri(lower, lower=1)[0][::-1, ::-1].T
            else:
                whitening = _whitening_by_eigenvectors(matrix, cut)
        self.whitening_ = np.ascontiguousarray(whitening, dtype=self.dtype_)
        self.own_whitening_ = True
        self.restore()
        centred = rows - self._centre
        lost = product_loses_digits(centred, self.gamma, self.dtype_)
        self.by_differences_ = lost

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Landmarks and whitening must be of the map's precision."""
        super().check_file(parameters, fitted, reader)
        landmarks, whitening = fitted["landmarks"], fitted["whitening"]
        same = landmarks.dtype == whitening.dtype == fitted["dtype"]
        require(same, f"landmarks and whitening must be {fitted['dtype']}")
        m, dim = reader.sizes["m"], reader.sizes["D"]
        require(dim <= m, "whitening is no whitening")
        # Kernels between landmarks, and a decomposition of the whitening.
        reader.claim(max(16 * m**2, m * dim**2 / 32), f"landmarks, {m} of them,")

    def restore(self) -> None:
        assert self.whitening_ is not None
        self._centre = self.landmarks_.mean(axis=0)
        self._centred = self.landmarks_ - self._centre
        self._columns_of = kernel_columns(self.kernel_).of_rows
        self.n_columns_, self.n_components_ = self.whitening_.shape
        if self.normalize:
            whitening = self.whitening_.astype(np.float64)
            with small_algebra(self.n_columns_):
                self._squared_length = FactorMeasurement([whitening.T], self.dtype_)

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Kernel columns of checked rows over the landmarks.

        Normalised states do not depend on the columns' scale, so there it is always
        taken out and forgotten.
        """
        columns, log_scale = self._columns_of(
            rows - self._centre,
            self._centred,
            relative=relative or self.normalize,
            row_scale=None if self.normalize else row_scale,
            by_differences=self.by_differences_,
            out=out,
        )
        if not self.normalize:
            return columns, log_scale
        scale = 1 / np.sqrt(self._squared_length.born(columns)[:, 0])
        columns *= (scale if row_scale is None else scale * row_scale)[:, None]
        return columns, None

    def unnormalized(self) -> "LandmarkFeatures":
        """This map without its last step."""
        return copy(self).set_params(normalize=False) if self.normalize else self

    def reach(self, X: Any) -> NDArray[Any]:
        r"""How well the landmarks represent each row: :math:`\|\phi(x)\|^2`, in [0, 1].

        1 at a landmark, 0 far from all of them.
        """
        if self.normalize:
            raise ValueError(
                "reach is the length of states that are not normalised: "
                "fit LandmarkFeatures with normalize=False"
            )
        return super().reach(X)

    def _drawn(self) -> list[Any]:
        cut = _EIGENVALUE_CUT[self.dtype_]
        whitening = [] if self.own_whitening_ else [self.whitening_]
        return [
            self.landmarks_,
            float(self.gamma),
            bool(self.normalize),
            cut,
            *self._kernel_drawn(),
            *whitening,
        ]


def _whitening_by_eigenvectors(
    matrix: NDArray[np.float64], cut: float
) -> NDArray[np.float64]:
    """``V Λ^{-1/2}`` of the eigenvalues above ``cut`` of the largest, (m, D)."""
    values, vectors = eigh(matrix, overwrite_a=True, check_finite=False, driver="evd")
    kept = values > cut * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def product_loses_digits(centred: NDArray[Any], gamma: float, dtype: Any) -> bool:
    """Whether distances to rows like these must not come from a matrix product."""
    if centred.shape[1] <= _FEW_FEATURES:
        return True
    low, high = centred.min(axis=0), centred.max(axis=0)
    corner = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    return bool(gamma * (corner @ corner) * np.finfo(dtype).eps > _EXPONENT_ERROR)
