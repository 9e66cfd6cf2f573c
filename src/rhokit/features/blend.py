"""A blend: kernels in a learned metric, lines, boxes of trees, and prototypes."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import block_rows
from rhokit.features.base import Columns, FeatureMap
from rhokit.features.kernel_root import KernelRoot
from rhokit.features.landmarks import LandmarkFeatures
from rhokit.features.links import LINKS, Link
from rhokit.features.prototypes import PROTOTYPES, Prototypes
from rhokit.features.registry import register
from rhokit.features.ridge import triangle_size
from rhokit.features.tree_fields import CELL_MEANS, FOREST, n_cells_of
from rhokit.features.trees import CellMeans, Forest
from rhokit.records import (
    FLOATS,
    ArrayField,
    Fields,
    Maybe,
    Number,
    Reader,
    Values,
    Word,
    require,
)
from rhokit.validation import Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlendRows:
    """Rows as a blend sees them.

    Parameters
    ----------
    features : array of shape (n, F)
        Kernel columns over the landmarks, a constant, and lines.
    cells : array of shape (n, T)
    noise : array of shape (n, t), optional
        Logarithms of squared errors, where these are known.
    near : array of shape (n, P), optional
        Kernels of the rows and prototypes, where there are any.
    """

    features: NDArray[Any]
    cells: NDArray[np.int32]
    noise: Floats | None = None
    near: NDArray[Any] | None = None


@register
class BlendFeatures(FeatureMap):
    r"""Kernels in a metric of their own, lines, and cells of trees, for a target.

    Ridge regression on the states of landmarks, a constant and the columns themselves,

    .. math:: r(x) = C^\top [\phi(x), 1, x],

    is good where the target is smooth, and goes on in straight lines where rows are
    few; the mean over the cells of randomised trees that a row is in is good where it
    has steps; what the classes of the nearest prototypes weigh is good where a class
    has many shapes. Which of them is to be trusted how much, rows that were left out
    of all say. What is fixed when the map is made: a weight for every column, by the
    marginal likelihood of a Gaussian process; landmarks; trees, each grown on the rows
    of a bag; the ridge and the weights of both answers. What a state holds are sums
    over rows (:class:`rhokit.core.BlendSums`), so that models add up, forget and merge.

    Parameters
    ----------
    gamma : float, optional
        γ of the kernel of squared overlaps, in the units of the metric; it is learned
        together with it.
    n_components : int, default=1024
        The most landmarks.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    landmarks_ : array of shape (m, d)
    forest_ : Forest
    lines_ : array of shape (d,), or (0,)
        What columns are multiplied with to be features; none where these are many.
    strength_ : float
        λ, the ridge.
    noise_ : CellMeans, or None
        Of values: logarithms of squared errors, as other trees tell them.
    prototypes_ : Prototypes, or None
        Of classes, where they have a say: rows that others are counted to.
    link_, coefficients_ : str, array
        How the answers are brought together: see :attr:`link`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(600, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> model = QMRegressor(feature_map="blend", random_state=0).fit(X[:500], y[:500])
    >>> bool(np.abs(model.predict(X[500:]) - y[500:]).mean() < 0.05)
    True
    """

    name = "blend"
    representation = "blend"
    settings = ("gamma", "n_components", "random_state")
    mixes = True
    from_data = True
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }
    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        "landmarks": ArrayField(("m", "d"), dtypes=FLOATS),
        "lines": ArrayField(("lines",), low=0),
        "strength": Number(0.0),
        "link": Word(tuple(LINKS)),
        "coefficients": ArrayField(("t", "q")),
        "forest": FOREST,
        "noise": Maybe(CELL_MEANS),
        "prototypes": Maybe(PROTOTYPES),
    }

    constant: ClassVar[float] = 30.0
    """What the constant is beside the other features, so that it is hardly shrunk."""

    landmarks_: NDArray[Any]
    lines_: Floats
    strength_: float
    link_: str
    coefficients_: Floats
    forest_: Forest
    noise_: CellMeans | None
    prototypes_: Prototypes | None

    def __init__(
        self,
        *,
        gamma: float | None = None,
        n_components: int = 1024,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def _draw(self, rows: NDArray[Any], weights: Floats | None) -> None:
        raise ValueError(
            "BlendFeatures are made for a target: give feature_map='blend' to a "
            "classifier or regressor instead of fitting the map"
        )

    # ---- making ---------------------------------------------------------------------

    def made_of(
        self,
        landmarks: NDArray[Any],
        lines: Floats,
        forest: Forest,
        prototypes: Prototypes | None = None,
    ) -> Self:
        """The map over these parts, which neither shrinks nor brings together yet.

        Parameters
        ----------
        landmarks : array of shape (m, d)
        lines : array of shape (d,), or (0,)
        forest : Forest
        prototypes : Prototypes, optional
        """
        self.dtype_ = landmarks.dtype
        self.landmarks_, self.lines_ = landmarks, lines
        self.forest_, self.noise_ = forest, None
        self.prototypes_ = prototypes
        self.strength_, self.link_, self.coefficients_ = 0.0, "", np.zeros((0, 0))
        self.restore()
        return self

    def bring_together(
        self, strength: float, link: Link, noise: CellMeans | None
    ) -> Self:
        """Set the ridge, and how its answer and that of the cells become one."""
        self.strength_, self.noise_ = strength, noise
        self.link_, self.coefficients_ = link.name, link.coefficients
        if not link.needs_prototypes:
            self.prototypes_ = None
        return self

    def with_fewer_landmarks(self, most: int) -> Self:
        """A map over some of the landmarks, where they have no say."""
        step = max(1, len(self.landmarks_) // most)
        landmarks = np.ascontiguousarray(self.landmarks_[::step][:most])
        parts = self.lines_, self.forest_, self.prototypes_
        return copy(self).made_of(landmarks, *parts)

    def restore(self) -> None:
        landmarks = self.landmarks_
        self.__dict__.pop("kernel_", None)
        assert self.gamma is not None
        kernel = LandmarkFeatures(gamma=self.gamma, n_components=len(landmarks))
        self._columns = kernel.with_columns_of(landmarks, landmarks.dtype)
        self._columns.measure_distances(landmarks)
        self._root = KernelRoot.of(self._columns, landmarks)
        self.n_columns_, self.n_components_ = landmarks.shape[1], self.n_features

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "kernel_"}

    @cached_property
    def kernel_(self) -> LandmarkFeatures:
        """States over the landmarks, for the density of the rows."""
        assert self.gamma is not None
        kernel = LandmarkFeatures(
            gamma=self.gamma,
            n_components=len(self.landmarks_),
            landmarks=self.landmarks_,
        )
        return kernel.draw(self.landmarks_, None)

    @property
    def link(self) -> Link:
        """How the answers of the ridge regression and of the cells become one."""
        return LINKS[self.link_](self.coefficients_)

    @property
    def n_kernels(self) -> int:
        """How many of the features are kernel columns."""
        return len(self.landmarks_)

    @property
    def n_features(self) -> int:
        """F: kernel columns, a constant, and lines."""
        return self.n_kernels + 1 + len(self.lines_)

    @property
    def n_cells(self) -> int:
        """C: cells of all trees, and those of prototypes."""
        return self.forest_.n_cells + self.n_prototypes

    @property
    def n_prototypes(self) -> int:
        """P, none where they have no say."""
        return 0 if self.prototypes_ is None else len(self.prototypes_)

    # ---- rows -----------------------------------------------------------------------

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Rows in the units of the metric, as they are: see :meth:`read`."""
        if out is None:
            return rows, None
        out[...] = rows
        return out, None

    def read(self, columns: NDArray[Any]) -> BlendRows:
        """Rows as answers need them."""
        noise = None if self.noise_ is None else self.noise_.told(columns)
        near = None if self.prototypes_ is None else self.prototypes_.kernel(columns)
        return BlendRows(self.features(columns), self.cells(columns), noise, near)

    def features(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Kernel columns, a constant and lines, shape (n, F)."""
        features = np.empty((len(columns), self.n_features), self.dtype_)
        m = self.n_kernels
        features[:, :m] = self._columns.columns(columns)[0]
        features[:, m] = self.constant
        if len(self.lines_):
            features[:, m + 1 :] = columns * self.lines_.astype(self.dtype_)
        return features

    def cells(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """The cell of each tree that rows are in, shape (n, T)."""
        return self.forest_.cells(self.forest_.codes(columns))

    def counted(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """All cells that rows are counted in: trees', then their prototype's."""
        cells = self.cells(columns)
        if self.prototypes_ is None:
            return cells
        own = self.forest_.n_cells + self.prototypes_.nearest(columns)
        return np.column_stack([cells, own.astype(cells.dtype)])

    def whitened(self, features: NDArray[Any]) -> NDArray[Any]:
        """Features (n, F), the kernel columns of which become states."""
        m = self.n_kernels
        out = np.empty_like(features)
        np.matmul(features[:, :m], self._root.inverse_t, out=out[:, :m])
        out[:, m:] = features[:, m:]
        return out

    def unwhitened(self, coefficients: Floats) -> Floats:
        """Coefficients (F, K) of whitened features, as those of features."""
        m = self.n_kernels
        kernels = self._root.inverse_t.astype(np.float64) @ coefficients[:m]
        return np.concatenate([kernels, coefficients[m:]])

    def over_columns(self, products: Floats) -> Floats:
        """Sums (m, m) of products of kernel columns, from those of states."""
        lower = self._root.lower
        return np.asarray(lower @ products @ lower.T)

    def rows_per_block(
        self, n_rows: int, n_outcomes: int, batch_size: int | None, stretch: int
    ) -> int:
        """Of so many rows, how many are worked on at once."""
        return block_rows(self.n_features + self.n_prototypes, batch_size)

    def lengths_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Squared lengths of the landmarks' states."""
        return self.kernel_.lengths_of(self.kernel_.columns(columns)[0])

    def _drawn(self) -> list[Any]:
        drawn = [
            self.dtype_.str,
            self.landmarks_,
            self.lines_,
            self.strength_,
            self.link_,
            self.coefficients_,
            *vars(self.forest_).values(),
        ]
        if self.noise_ is not None:
            drawn += [*vars(self.noise_.forest).values(), self.noise_.values]
        if self.prototypes_ is not None:
            parts = self.prototypes_
            drawn += [parts.matrix, parts.points, parts.floor]
        return [self.gamma, *drawn]

    # ---- model files ----------------------------------------------------------------

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Landmarks, trees and coefficients must fit together."""
        super().check_file(parameters, fitted, reader)
        require(parameters["gamma"] is not None, "a blend must have a gamma")
        landmarks, lines = fitted["landmarks"], fitted["lines"]
        m, d = landmarks.shape
        require(landmarks.dtype == fitted["dtype"], "landmarks must be of the dtype")
        require(len(lines) in (0, d), "lines must be as many as columns, or none")
        n_features = m + 1 + len(lines)
        reader.bind("F", n_features, "landmarks")
        reader.bind("f", triangle_size(n_features), "landmarks")
        # Kernels between landmarks, and decompositions.
        cost = max(64 * n_features**2, n_features**3 / 32)
        reader.claim(cost, f"landmarks, {m} of them,")
        link = LINKS[fitted["link"]]
        reader.bind("q", link.n_coefficients, "coefficients")
        reader.agree("the link of a blend", link.name, "link")
        require(
            (fitted["noise"] is not None) == link.has_noise,
            f"a blend of {link.name} {'has' if link.has_noise else 'has no'} noise",
        )
        prototypes, cells = fitted["prototypes"], n_cells_of(fitted["forest"])
        if prototypes is not None:
            points = prototypes.parts["points"]
            require(points.dtype == fitted["dtype"], "prototypes must be of the dtype")
            require(link.may_have_prototypes, f"{link.name} have no prototypes")
            cells += len(points)
        reader.bind("C", cells, "forest and prototypes")
