"""Categories as orthogonal unit vectors."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rhokit.core import onehot_states
from rhokit.features.base import Columns, FeatureMap
from rhokit.features.registry import register
from rhokit.records import (
    CategoryField,
    Fields,
    Reader,
    Values,
    hashable_key,
    require,
)
from rhokit.validation import is_missing


@register
class OneHotFeatures(FeatureMap):
    r"""One unit vector per category (eq. phi_ohe).

    .. math:: \phi(i) = E_i, \qquad \langle\phi(i), \phi(j)\rangle = \delta_{ij}

    A density matrix over these states has the relative frequencies on its diagonal.
    With several columns a category is the whole row: each distinct combination of
    values that was seen has its own vector. A row that was not seen has the zero
    vector as its state, and probability zero. A missing value (None, NaN) is a value
    like any other.

    Attributes
    ----------
    categories_ : list of tuples
        The categories, in order of first column, second column and so on.
    n_components_ : int
        Their number.

    Examples
    --------
    >>> from rhokit.features import OneHotFeatures
    >>> onehot = OneHotFeatures().fit([["red"], ["blue"], ["red"]])
    >>> onehot.get_feature_names_out()
    array(['blue', 'red'], dtype=object)
    >>> onehot.transform([["red"], ["green"]])
    array([[0., 1.],
           [0., 0.]])
    """

    name = "onehot"
    has_outsiders = True
    numeric_rows = False
    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        "categories": CategoryField("d", "D"),
    }

    categories_: list[tuple[Any, ...]]

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        if weights is not None:
            rows = rows[weights > 0]
        self.categories_ = sorted({_key(row) for row in rows}, key=_sort_key)
        self.dtype_ = np.dtype(np.float64)
        self.restore()

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """States are the columns, in double precision."""
        super().check_file(parameters, fitted, reader)
        reader.bind("m", reader.sizes["D"], "categories")
        require(fitted["dtype"] == np.float64, "dtype must be float64")

    def restore(self) -> None:
        self._codes = {
            hashable_key(key): code for code, key in enumerate(self.categories_)
        }
        self.n_columns_ = self.n_components_ = len(self.categories_)

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Unit vectors of checked rows; they are the states themselves."""
        unknown = self.n_components_
        codes = [self._codes.get(hashable_key(row.tolist()), unknown) for row in rows]
        # The vector of one category more is cut off again: rows that were not seen.
        states = onehot_states(np.asarray(codes), unknown + 1)[:, :unknown]
        if row_scale is not None:
            states *= row_scale[:, None]
        return np.ascontiguousarray(states), None

    def refuse_outsiders(self, rows: NDArray[Any]) -> None:
        """Raise for categories that have no vector: their mass would be lost."""
        for index, row in enumerate(rows):
            if hashable_key(row.tolist()) not in self._codes:
                raise ValueError(
                    f"row {index} of X is the category {_key(row)!r}, which this "
                    f"model's OneHotFeatures has not seen; it knows "
                    f"{len(self.categories_)} categories"
                )

    def atoms(self) -> list[tuple[Any, ...]]:
        """The categories."""
        return self.categories_

    def mass_matrix(self) -> NDArray[np.float64]:
        """The sum over all categories: the identity."""
        return np.eye(self.n_components_)

    def mass_vector(self) -> NDArray[np.float64]:
        """One for every category."""
        return np.ones(self.n_components_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the categories, the values of a row joined by commas."""
        check_is_fitted(self)
        names = [",".join(map(str, key)) for key in self.categories_]
        return np.asarray(names, dtype=object)

    def _drawn(self) -> list[Any]:
        return [self.categories_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _key(row: NDArray[Any]) -> tuple[Any, ...]:
    """A row as a tuple of plain Python values, None for whatever marks a gap."""
    return tuple(None if is_missing(value) else value for value in row.tolist())


def _sort_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((isinstance(value, str), str(type(value)), value) for value in key)
