"""A mosaic: rows sent to layers of cells, each with a density matrix of its own."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from rhokit.core import GaussianKernel
from rhokit.errors import DataError
from rhokit.fast import block_rows, small_algebra
from rhokit.features.base import Columns, FeatureMap
from rhokit.features.category_shares import CategoryShares
from rhokit.features.cell_rows import CellRows, n_quadratic
from rhokit.features.cells import CellMixture, mixed, softmax_by_layer
from rhokit.features.mixtures import CellPrior
from rhokit.features.mosaic_choice import MosaicChoice, TriedLayer, onehot_of
from rhokit.features.reading import Reading
from rhokit.features.registry import register
from rhokit.features.shape_fields import SHAPE_FIELDS, check_shapes, shape_arrays
from rhokit.features.shapes import ColumnShapes
from rhokit.frames import Schema
from rhokit.records import ArrayField, Fields, Number, Reader, Values, require

Floats = NDArray[np.float64]

# Variance that every cell has in every direction, of columns of variance one, where no
# kernel is asked for: columns of few values must not have an infinite density.
_LEAST_VARIANCE = 1e-6


@register
class MosaicFeatures(FeatureMap):
    r"""Layers of cells, in each of which rows are ``[1, z]``.

    Columns are bent where that makes them closer to normal
    (:class:`~rhokit.features.shapes.ColumnShapes`), and rows belong to cells by

    .. math:: r_c(x) = \frac{\pi_c\,\mathcal N(z; \mu_c, \Sigma_c)}
              {\sum_{c'} \pi_{c'}\,\mathcal N(z; \mu_{c'}, \Sigma_{c'})},

    where the sum goes over the cells of a layer; all this is fixed when the map is
    fitted. A state is one small density matrix per cell, :math:`\sum_i r_c(x_i)
    [1, z_i][1, z_i]^\top`, from which a cell has its weight, its mean and its metric.
    The density is a mixture of layers of different fineness, each of which integrates
    to one. Cells, layers and their weights are chosen by the log-density of rows that
    were held out.

    Parameters
    ----------
    gamma : float, optional
        γ of a kernel about every row, for a density that follows the kernel density
        estimate of this γ: rows are then cut into ``n_cells`` cells by k-means. Without
        it, the likeliest mosaic is taken.
    n_cells : int, optional
        Of one layer beside a background of one cell, which is quick; without it, layers
        of 1 to 300 cells are tried and mixed. With a γ, 1,024.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    shapes_ : ColumnShapes
    stops_ : array of shape (L,)
        Where the cells of each layer end.
    layer_weights_ : array of shape (L,)
    router_ : array of shape (q + w, C)
        Coefficients of the logarithms by which rows belong to cells.
    n_cells_ : int
        C, of all layers.
    tried_ : list of TriedLayer
        What was compared, with the log-density of held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.features import MosaicFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 4))
    >>> model = DMKDE(feature_map=MosaicFeatures(n_cells=10), random_state=0).fit(X)
    >>> model.feature_map_.n_cells_ >= 1
    True
    """

    name = "mosaic"
    representation = "mosaic"
    settings = ("gamma", "random_state")
    mixes = True
    from_data = True
    resolves = True
    has_outsiders = True
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "n_cells": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
    }
    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        **SHAPE_FIELDS,
        "stops": ArrayField(("L",), dtypes=("int64",), low=1),
        "layer_weights": ArrayField(("L",), low=0),
        "strengths": ArrayField(("L",), low=0),
        "prior_shapes": ArrayField(("L", "b", "b")),
        "sizes": ArrayField(("C",), low=0),
        "shares": ArrayField(("w",), low=0),
        "router": ArrayField(("q", "C")),
        "floor": Number(0.0),
        "smoothing": Number(0.0),
    }

    kinds_: NDArray[np.int64]
    bends_: Floats
    ends_: Floats
    reading_: Floats
    knots_: Floats
    stops_: NDArray[np.int64]
    layer_weights_: Floats
    strengths_: Floats
    prior_shapes_: Floats
    sizes_: Floats
    shares_: Floats
    router_: Floats
    floor_: float
    smoothing_: float
    tried_: list[TriedLayer]

    def __init__(
        self,
        *,
        gamma: float | None = None,
        n_cells: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_cells = n_cells
        self.random_state = random_state

    # ---- fitting --------------------------------------------------------------------

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        self.choose(rows, weights, np.full(rows.shape[1], -np.inf))

    def choose(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        zeros: Floats,
    ) -> Self:
        """Choose shapes, layers and cells for checked rows.

        Parameters
        ----------
        rows : array of shape (n, width)
        weights : array of shape (n,), optional
        zeros : array of shape (width,)
            What the user's zero is in these rows: a column above it may have none
            below. ``-inf`` where that is not known.
        """
        self.dtype_ = np.dtype(rows.dtype if rows.dtype == np.float32 else np.float64)
        floor = _LEAST_VARIANCE
        if self.gamma is not None:
            floor = GaussianKernel(self.gamma).bandwidth ** 2
        choice = MosaicChoice(
            rows, weights, zeros, self.schema_, floor, self.n_cells, self.random_state
        )
        with small_algebra(self.n_features_in_):
            found = choice.run(as_kernel=self.gamma is not None)
        shapes, layers, layer_weights = found
        self.tried_ = choice.tried
        for name, value in shape_arrays(shapes, choice.ends).items():
            setattr(self, f"{name}_", value)
        self.stops_ = np.cumsum([len(layer.moments) for layer in layers])
        self.layer_weights_ = layer_weights
        self.strengths_ = np.array([layer.prior.strength for layer in layers])
        self.prior_shapes_ = np.stack([layer.prior.shape for layer in layers])
        self.sizes_ = np.concatenate([layer.prior.size for layer in layers])
        self.shares_ = choice.shares.values
        self.router_ = np.concatenate(
            [layer.router(choice.shares) for layer in layers], axis=1
        )
        self.floor_ = float(floor)
        self.smoothing_ = float(layers[0].prior.smoothing)
        self.restore()
        return self

    def restore(self) -> None:
        self.shapes_ = ColumnShapes.of_arrays(
            self.kinds_, self.bends_, self.ends_, self.reading_[4:], self.knots_
        )
        self.reading = Reading.of(self.reading_, self.ends_)
        self.n_columns_ = self.n_components_ = 1 + len(self.kinds_) + len(self.shares_)
        self.n_cells_ = self.router_.shape[1]
        if not hasattr(self, "tried_"):
            self.tried_ = []

    @property
    def n_numbers(self) -> int:
        """How many columns are numbers."""
        return len(self.kinds_)

    # ---- rows -----------------------------------------------------------------------

    @property
    def column_dtype_(self) -> np.dtype[Any]:
        """Double, since polynomials of narrow cells cancel."""
        return np.dtype(np.float64)

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """``[1, z, categories]`` of rows, and half the logarithm of their volume.

        It is half of it, since densities are squares of what columns are scaled by.
        """
        if out is None:
            out = np.empty((len(rows), self.n_columns_))
        numbers = rows if self.schema_ is None else rows[:, self.schema_.is_number]
        z, log_volume = self.shapes_.apply(numbers, with_volume=relative)
        d = z.shape[1]
        out[:, 0], out[:, 1 : d + 1] = 1, z
        out[:, d + 1 :] = onehot_of(self.schema_, rows)
        if row_scale is not None:
            out *= row_scale[:, None]
        return out, 0.5 * log_volume if relative else None

    def cell_rows(self, columns: Floats) -> CellRows:
        """Rows as cells see them."""
        return CellRows(columns, self.n_numbers)

    def memberships(self, rows: CellRows) -> Floats:
        """How much rows belong to cells, shape (n, C)."""
        return softmax_by_layer(rows.values(self.router_), self.stops_)

    def rows_per_block(
        self, n_rows: int, n_outcomes: int, batch_size: int | None, stretch: int
    ) -> int:
        """Of so many rows, how many are worked on at once."""
        return block_rows(max(len(self.router_), self.n_cells_), batch_size)

    def reach(self, X: Any) -> NDArray[Any]:
        """One: cells are wherever rows are."""
        return np.ones(len(X))

    def lengths_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """One: cells are wherever rows are."""
        return np.ones(len(columns))

    def outside(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Where numbers of rows have no density whatever the state is, shape (n, b)."""
        numbers = rows if self.schema_ is None else rows[:, self.schema_.is_number]
        return self.shapes_.outside(numbers)

    def refuse_outsiders(self, rows: NDArray[Any]) -> None:
        """Raise for rows beyond the user's zero, where no row has been."""
        numbers = rows if self.schema_ is None else rows[:, self.schema_.is_number]
        outside = self.shapes_.outside(numbers)
        if not outside.any():
            return
        row, place = (int(each) for each in np.argwhere(outside)[0])
        raise DataError(
            "no value of the rows that this mosaic was fitted to is below zero in this "
            f"column, so that it has no density there, and row {row} of X has one that "
            "is: fit a model to rows like these",
            row=row,
            column=self._column_of(place),
        )

    def _column_of(self, place: int) -> Any:
        """Name or place of a column of numbers."""
        schema = self.schema_
        if schema is not None:
            return schema.name_of(int(np.flatnonzero(schema.is_number)[place]))
        names = getattr(self, "feature_names_in_", None)
        return place if names is None else names[place]

    # ---- cells ----------------------------------------------------------------------

    @property
    def layers(self) -> list[slice]:
        """The cells of each layer."""
        starts = [0, *self.stops_[:-1]]
        return [slice(int(a), int(b)) for a, b in zip(starts, self.stops_, strict=True)]

    def priors(self) -> list[CellPrior]:
        """What cells of each layer are taken to be like before they have rows."""
        parts = zip(self.strengths_, self.prior_shapes_, self.layers, strict=True)
        return [
            CellPrior(
                float(strength), self.smoothing_, shape, self.sizes_[own], self.floor_
            )
            for strength, shape, own in parts
        ]

    def mixture(self, moments: Floats) -> CellMixture:
        """The mixture of all layers that sums of features (C, q + w) are."""
        parts = [
            prior.mixture(moments[own], self.shares)
            for prior, own in zip(self.priors(), self.layers, strict=True)
        ]
        return mixed(parts, self.layer_weights_)

    @property
    def shares(self) -> CategoryShares:
        """Of categories among all rows."""
        schema = self.schema_
        known = () if schema is None else schema.categories
        sizes = tuple(len(each) for each in known if each is not None)
        return CategoryShares(self.shares_, sizes)

    def restricted(self, kept: list[int], schema: Schema | None) -> "MosaicFeatures":
        """The map of some columns, as far as rows are asked for and not learned.

        Parameters
        ----------
        kept : list of int
            Columns as the user counts them.
        schema : Schema, optional
            Of these columns.
        """
        numbers, shares = self.places(kept)
        features = n_quadratic(len(numbers)) + len(shares)
        other = MosaicFeatures(**self.get_params())
        other.dtype_, other.schema_ = self.dtype_, schema
        other.n_features_in_ = len(kept)
        other.kinds_, other.bends_ = self.kinds_[numbers], self.bends_[:, numbers]
        other.ends_, other.reading_ = self.ends_[:, numbers], self.reading_[:, numbers]
        other.knots_ = self.knots_[:, :, numbers]
        other.prior_shapes_ = self.prior_shapes_[:, numbers][:, :, numbers]
        other.stops_, other.layer_weights_ = self.stops_, self.layer_weights_
        other.strengths_, other.sizes_ = self.strengths_, self.sizes_
        other.shares_, other.floor_ = self.shares_[shares], self.floor_
        other.smoothing_ = self.smoothing_
        other.router_ = np.zeros((features, self.n_cells_))
        other.restore()
        return other

    def places(self, kept: list[int]) -> tuple[list[int], list[int]]:
        """Places among numbers, and among all categories, of some columns."""
        schema = self.schema_
        if schema is None:
            return list(kept), []
        numbers: list[int] = []
        shares: list[int] = []
        n_numbers = n_shares = 0
        for column, known in enumerate(schema.categories):
            if known is None:
                numbers += [n_numbers] if column in kept else []
                n_numbers += 1
            else:
                own = range(n_shares, n_shares + len(known))
                shares += own if column in kept else []
                n_shares += len(known)
        return numbers, shares

    # ---- the rest -------------------------------------------------------------------

    def with_gamma(
        self, gamma: float, rows: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> Self:
        """A mosaic that follows the kernel of this γ."""
        other = type(self)(**self.get_params() | {"gamma": gamma})
        other.schema_, other.n_features_in_ = self.schema_, self.n_features_in_
        return other.choose(rows, weights, np.full(rows.shape[1], -np.inf))

    def _drawn(self) -> list[Any]:
        return [getattr(self, f"{name}_") for name in self.file_fields]

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Cells, layers and features must fit together."""
        super().check_file(parameters, fitted, reader)
        stops, cells = fitted["stops"], fitted["router"].shape[1]
        ascending = (np.diff(stops) > 0).all() and stops[-1] == cells
        require(ascending, "stops must ascend to the number of cells")
        d, w = len(fitted["kinds"]), len(fitted["shares"])
        if not w:  # all columns are numbers, whose scaling must be as wide
            reader.bind("d", d, "kinds")
        require(
            len(fitted["router"]) == n_quadratic(d) + w,
            "router must have the features of its columns",
        )
        check_shapes(fitted)
        require(fitted["floor"] > 0, "floor must be positive")
        total = fitted["layer_weights"].sum()
        require(abs(total - 1) < 1e-6, "the weights of layers must sum to one")
        diagonals = np.diagonal(fitted["prior_shapes"], axis1=1, axis2=2)
        require((diagonals > 0).all(), "prior_shapes must be positive")
        widths = np.sqrt(diagonals) * (1 + 1e-6)
        ends = widths[:, :, None] * widths[:, None, :]
        is_shape = (np.abs(fitted["prior_shapes"]) <= ends).all()
        require(is_shape, "prior_shapes must be covariances")
        reader.bind("m", len(fitted["router"]), "router")
        reader.claim(32 * cells * max(d, 1) ** 2 * max(d, 8), f"{cells} cells")
