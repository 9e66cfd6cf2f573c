"""The base of feature maps: columns, a whitening, and a fingerprint."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from rhokit.fast import block_rows, map_blocks
from rhokit.frame_rows import check_table
from rhokit.frames import Schema
from rhokit.records import FLOATS, Fields, Reader, Values, Word
from rhokit.validation import (
    all_or_nothing,
    check_parameters,
    check_values,
    check_weights,
)

Columns = tuple[NDArray[Any], NDArray[Any] | None]
# Numbers that ends of columns are taken of at once.
_LONG_ROW = 1024


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    r"""Sends a row ``x`` to a state ``φ(x)`` of about unit length.

    A map computes *columns* ``c(x)``, and its states are

    .. math:: \phi(x) = e^{s(x)}\, B^\top c(x)

    with a *whitening* ``B`` (``None``: the identity) that does not depend on the row
    and a scale ``s`` that keeps ``c`` from underflowing. Estimators sum and measure
    columns, and apply ``B`` to the sums once; this is what makes landmarks cheap, and
    it composes: columns, whitening and scale of a product of maps are the (row-wise)
    Kronecker products and the sum of theirs.

    Attributes
    ----------
    n_columns_ : int
        Number of columns.
    n_components_ : int
        D, the dimension of the states.
    whitening_ : array of shape (``n_columns_``, ``n_components_``), or None
    log_floor_ : float
        Logarithm of the smallest squared overlap that the map can tell from zero.
    dtype_ : dtype
        Of the rows that the map works on, float32 or float64.
    column_dtype_ : dtype
        Of the columns: ``dtype_``, or its complex counterpart.
    """

    _parameter_table: ClassVar[Mapping[str, Any]] = {}
    name: ClassVar[str] = ""
    """Name by which :mod:`rhokit.features.registry` knows the map."""
    settings: ClassVar[tuple[str, ...]] = ()
    """Parameters that a plan gives the map, made by its name."""
    representation: ClassVar[str] = "matrix"
    """Name of what estimators sum the states up to: a matrix, or a series."""
    max_columns: ClassVar[int | None] = None
    """Most columns that rows may have."""
    numeric_rows: ClassVar[bool] = True
    """Whether rows must be numbers."""
    mixes: ClassVar[bool] = False
    """Whether columns of categories may stand beside numbers."""
    has_outsiders: ClassVar[bool] = False
    """Whether there are rows that the map sends to zero and a state must not take."""
    resolves: ClassVar[bool] = False
    """Whether the map resolves any bandwidth, however many rows there are."""
    from_data: ClassVar[bool] = False
    """Whether the map is made of rows, which it then represents better than others."""
    file_fields: ClassVar[Fields] = {"dtype": Word(FLOATS, np.dtype)}
    """Attributes that a model file holds, by their names without the underscore."""

    n_columns_: int
    n_components_: int
    n_features_in_: int
    schema_: Schema | None = None
    whitening_: NDArray[Any] | None = None
    log_floor_: float = -np.inf
    dtype_: np.dtype[Any]

    def copy_for(self, *, gamma: float, random_state: Any) -> Self:
        """An unfitted copy for this γ, and with this seed if it has none of its own.

        Maps that have no γ or no seed stay as they are.
        """
        copy = clone(self)
        parameters = copy.get_params(deep=False)
        if "gamma" in parameters:
            copy.set_params(gamma=gamma)
        if parameters.get("random_state", 0) is None:
            copy.set_params(random_state=random_state)
        return copy

    @property
    def can_integrate(self) -> bool:
        """Whether columns of the rows can be integrated out in closed form."""
        return False

    def most_components(self, rows: NDArray[Any]) -> int:
        """The most components that a map fitted to these rows (n, d) may have."""
        return int(self.get_params(deep=False).get("n_components", len(rows)))

    def series_rows(self) -> NDArray[np.float64] | None:
        """Rows that a box must hold to hold a density of this map, shape (n, d).

        None where a density does not fall to zero outside of any box.
        """
        return None

    @property
    def column_dtype_(self) -> np.dtype[Any]:
        """Dtype of the columns."""
        return self.dtype_

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Draw the map for rows like these.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            A row of weight zero is not there; weight k is k copies of the row.
        """
        check_parameters(self, self._parameter_table)
        rows = check_table(self, X, reset=True, numeric=self.numeric_rows)
        if self.schema_ is not None and not self.mixes:
            raise ValueError(
                f"{type(self).__name__} takes numbers alone, but X has columns of "
                f"categories: {self.schema_.kinds} are {self.schema_.names}"
            )
        weights = check_weights(sample_weight, len(rows))
        self.dtype_ = np.dtype(rows.dtype if rows.dtype == np.float32 else np.float64)
        self._draw(rows, weights)

    def draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> Self:
        """Draw the map for rows (n, d) and weights (n,) that have been checked."""
        check_parameters(self, self._parameter_table)
        self.n_features_in_ = rows.shape[1]
        self.dtype_ = np.dtype(rows.dtype if rows.dtype == np.float32 else np.float64)
        self._draw(rows, weights)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """States of the rows, shape (n, ``n_components_``)."""
        return self._by_blocks(X, self.states)

    def _by_blocks(
        self, X: Any, compute: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Results of a computation on checked rows, made block by block."""
        check_is_fitted(self)
        rows = check_table(
            self, X, reset=False, dtype=self.dtype_, numeric=self.numeric_rows
        )

        def work(worker: int, block: slice) -> NDArray[Any]:
            return compute(rows[block])

        size = block_rows(self.n_components_)
        return np.concatenate(map_blocks(work, len(rows), size))

    def states(self, rows: NDArray[Any]) -> NDArray[Any]:
        """States of checked rows."""
        columns, _ = self.columns(rows)
        return columns if self.whitening_ is None else columns @ self.whitening_

    @abstractmethod
    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Columns (n, ``n_columns_``) of checked rows (n, d), and their log scale.

        Parameters
        ----------
        rows : array of shape (n, d), of ``dtype_``
        relative : bool
            Whether a scale may be taken out of each row's columns; it is returned as
            its logarithm, of shape (n,), or as None where there is none.
        row_scale : array of shape (n,), optional
            Factor for each row, such as the square root of its weight.
        out : array of shape (n, ``n_columns_``), optional
            Memory for the result.
        """

    def reach(self, X: Any) -> NDArray[Any]:
        r"""How well the map represents each row: :math:`\|\phi(x)\|^2`, in [0, 1].

        What is missing to 1 is the squared error of the row's state. Maps of unit
        states reach everything; landmarks reach what is near them.
        """
        return np.minimum(self.lengths(X), 1)

    def lengths(self, X: Any) -> NDArray[Any]:
        r"""Squared lengths of the rows' states, :math:`\|\phi(x)\|^2`, shape (n,)."""

        def work(rows: NDArray[Any]) -> NDArray[Any]:
            return self.lengths_of(self.columns(rows)[0])

        return self._by_blocks(X, work)

    def lengths_of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Squared lengths of the states of columns (n, ``n_columns_``), shape (n,)."""
        whitening = self.whitening_
        states = columns if whitening is None else columns @ whitening
        return np.asarray(np.vecdot(states, states).real)

    def rows_per_block(
        self, n_rows: int, n_outcomes: int, batch_size: int | None, stretch: int
    ) -> int:
        """Of so many rows, how many are worked on at once; ``stretch`` times more."""
        return stretch * block_rows(self.n_columns_, batch_size)

    def log_mass(self, power: int = 2) -> float:
        r"""``log ∫ |⟨φ(x), φ(y)⟩|^power dy``, by which a density is normalised.

        ``log M_γ`` for maps of the Gaussian kernel, 0 for discrete values.
        """
        return 0.0

    def mass_matrix(self) -> NDArray[np.float64] | None:
        r""":math:`\int \phi(x)\phi(x)^\top dx`, in units of ``exp(log_mass())``.

        Its overlap with a density matrix is the integral of the density that it
        stands for: 1, if the matrix is a mean over rows. None where the integral is
        not known, or not finite, as for random features.
        """
        return None

    def mass_vector(self) -> NDArray[np.float64] | None:
        r""":math:`\int c(x)\,dx` of columns (m,), in units of ``exp(log_mass(1))``.

        For means of features, whose integral is that of their overlap with the map's.
        None where it is not known.
        """
        return None

    def with_gamma(
        self, gamma: float, rows: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> Self:
        """A map like this one, fitted to the same rows, for another γ."""
        return clone(self).set_params(gamma=gamma).fit(rows, sample_weight=weights)

    def unnormalized(self) -> "FeatureMap":
        """A map whose states differ from this one's by a factor per row at most.

        Where normalising costs, and a factor per row does not matter, as for the
        probabilities of classes, this one is cheaper and knows its own lengths.
        """
        return self

    def linear(self) -> "FeatureMap":
        """The map, not fitted, that a mean of features is made with.

        Overlaps themselves then follow the kernel, and what makes their squares
        better may make them worse.
        """
        return self

    def atoms(self) -> list[tuple[Any, ...]] | None:
        """All rows that have a probability, for maps of discrete values."""
        return None

    def refuse_outsiders(self, rows: NDArray[Any]) -> None:
        """Raise if one of these rows cannot be added to a state of this map."""

    def fingerprint(self) -> str:
        """Digest of everything that was drawn: equal maps give equal states."""
        check_is_fitted(self)
        digest = hashlib.sha256(type(self).__name__.encode())
        for part in self._drawn():
            if isinstance(part, np.ndarray) and part.dtype != object:
                digest.update(repr((part.dtype.str, part.shape)).encode())
                digest.update(np.ascontiguousarray(part).tobytes())
            else:
                digest.update(repr((part,)).encode())  # brackets keep parts apart
        return digest.hexdigest()

    @abstractmethod
    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        """Set the fitted attributes from checked rows."""

    def _width(self) -> int:
        """Numbers of a row as it is worked on."""
        return self.n_features_in_ if self.schema_ is None else self.schema_.width

    # ---- model files ----------------------------------------------------------------

    @classmethod
    def check_constructor(cls, parameters: Values) -> None:
        """Refuse values that parameters of the constructor cannot have."""
        check_values(cls.__name__, parameters, cls._parameter_table)

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Refuse fields of a file that do not fit together; nothing is built yet."""
        reader.agree("whether columns are complex", False, cls.name)

    @classmethod
    def from_file(cls, parameters: Values, columns: Any, fitted: Values) -> Self:
        """A fitted map from what a file holds, all of it checked.

        Parameters
        ----------
        parameters : mapping
            Of the constructor.
        columns : rhokit.batch.Columns
        fitted : mapping
            Values of :attr:`file_fields`.
        """
        made = cls(**parameters)
        columns.give_to(made)
        for name, value in fitted.items():
            setattr(made, f"{name}_", value)
        made.restore()
        return made

    def restore(self) -> None:
        """Set what follows from the attributes that a model file holds."""

    @abstractmethod
    def _drawn(self) -> list[Any]:
        """Everything that the columns and the whitening depend on."""

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def bounding_box(
    owner: FeatureMap,
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    bounds: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value of each column: ``bounds`` if given, else the rows'."""
    if bounds is None:
        seen = rows if weights is None else rows[weights > 0]
        return column_ends(seen, np.min), column_ends(seen, np.max)
    try:
        box = np.asarray(bounds, dtype=float)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (2, rows.shape[1]) or not (
        np.isfinite(box).all() and (box[0] <= box[1]).all()
    ):
        raise ValueError(
            f"The 'bounds' parameter of {type(owner).__name__} must be finite numbers "
            f"of shape (2, {rows.shape[1]}), lowest values first. Got {bounds!r} "
            "instead."
        )
    return box[0], box[1]


def column_ends(rows: NDArray[Any], end: Callable[..., Any]) -> NDArray[np.float64]:
    """Least or largest value of each column, (d,).

    Of many rows side by side first: NumPy takes ten times as long over short rows.
    """
    n, d = rows.shape
    beside = max(1, _LONG_ROW // d) if d else 1
    whole = n // beside * beside
    if beside > 1 and whole:
        long = end(rows[:whole].reshape(-1, beside * d), axis=0)
        rows = np.concatenate([long.reshape(beside, d), rows[whole:]])
    return np.asarray(end(rows, axis=0), dtype=float)
