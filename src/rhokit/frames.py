"""Frames with columns of categories: what the columns are, as rows of numbers.

A category is a state like any other: a one-hot vector, or, where categories have an
order, the softmax state of its place. Rows of numbers and such states side by side
have a Gaussian kernel that is the product of the kernels of the columns,

    exp(-γ‖x - y‖²) · ∏_c exp(-γ‖ψ(a_c) - ψ(b_c)‖²),

so every map of the Gaussian kernel is a map of mixed columns too, and whatever sums,
measures, merges or trains rows of numbers does so with categories.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import GaussianKernel, softmax_states
from rhokit.errors import DataError
from rhokit.frame_columns import (
    CATEGORY_TYPES,
    MOST_CATEGORIES,
    categories_of,
    columns_of,
    dictionary_of,
    is_ordered,
    numbers_of_column,
)
from rhokit.validation import check_rows, is_missing, refuse_non_finite

__all__ = ["MOST_CATEGORIES", "Schema", "check_table"]

# How fast the overlap of ordered categories falls with the places between them: that
# of neighbours is about one half.
_SHARPNESS = 2.8


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the columns of a frame.

    A row of d columns is encoded as a *wide* row of numbers: a column of numbers is one
    of its entries, a column of C categories is C of them, the state of the category.

    Parameters
    ----------
    names : tuple of str, of length d
    categories : tuple of length d
        The values of a column of categories, None for a column of numbers.
    ordered : tuple of bool, of length d
        Whether the categories of a column have an order.

    Examples
    --------
    >>> import pandas as pd
    >>> from rhokit.frames import Schema
    >>> size = pd.Categorical(["S", "M"], categories=["S", "M", "L"], ordered=True)
    >>> frame = pd.DataFrame({"price": [1.5, 2.0], "size": size, "new": [True, False]})
    >>> schema = Schema.of(frame)
    >>> schema.kinds
    ('number', 'ordered', 'category')
    >>> schema.encode(frame).round(2)
    array([[1.5 , 0.97, 0.24, 0.  , 0.  , 1.  ],
           [2.  , 0.23, 0.94, 0.23, 1.  , 0.  ]])
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    ordered: tuple[bool, ...]

    @classmethod
    def of(cls, X: Any) -> "Schema | None":
        """The schema of a frame; None of what is no frame or has numbers only."""
        columns = columns_of(X)
        if not any(isinstance(each.dtype, CATEGORY_TYPES) for each in columns.values()):
            return None
        return cls(
            tuple(columns),
            tuple(categories_of(column) for column in columns.values()),
            tuple(is_ordered(column) for column in columns.values()),
        )

    # ---- what the columns are ------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """``"number"``, ``"category"`` or ``"ordered"`` for each column."""
        return tuple(
            "number" if known is None else "ordered" if ordered else "category"
            for known, ordered in zip(self.categories, self.ordered, strict=True)
        )

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Where each column stands in a wide row."""
        widths = [1 if known is None else len(known) for known in self.categories]
        stops = np.cumsum(widths).tolist()
        starts = [0, *stops[:-1]]
        return tuple(slice(a, b) for a, b in zip(starts, stops, strict=True))

    @property
    def width(self) -> int:
        """Numbers of a wide row."""
        return self.blocks[-1].stop

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Which entries of a wide row are numbers, shape (width,)."""
        mask = np.zeros(self.width, bool)
        for block, known in zip(self.blocks, self.categories, strict=True):
            mask[block] = known is None
        return mask

    def states(self, column: int) -> NDArray[np.float64]:
        """States of a column's categories, shape (C, C)."""
        known = self.categories[column]
        assert known is not None
        count = len(known)
        if not self.ordered[column] or count == 1:
            return np.eye(count)
        places = np.linspace(0, 1, count)
        return np.asarray(softmax_states(places, count, _SHARPNESS * (count - 1) ** 2))

    def category_columns(self) -> list[int]:
        """Which of the columns hold categories."""
        return [i for i, known in enumerate(self.categories) if known is not None]

    @property
    def has_order(self) -> bool:
        """Whether some column's categories have an order."""
        return any(self.ordered)

    def part(self, columns: list[int]) -> "Schema":
        """The schema of some of the columns."""
        return Schema(
            tuple(self.names[i] for i in columns),
            tuple(self.categories[i] for i in columns),
            tuple(self.ordered[i] for i in columns),
        )

    def log_mass(self, gamma: float) -> float:
        r"""Logarithm of :math:`\int e^{-\gamma\|x-y\|^2}dx` over wide rows.

        Over numbers an integral, over categories a sum; where these have an order, it
        depends on the place, and this is its mean over the places.
        """
        mass = GaussianKernel(gamma).log_mass(int(self.is_number.sum()))
        for column in self.category_columns():
            overlaps = self.category_kernel(column, gamma)
            mass += math.log(overlaps.sum(axis=0).mean())
        return mass

    def category_kernel(self, column: int, gamma: float) -> NDArray[np.float64]:
        """Kernel of any two categories of a column, shape (C, C)."""
        states = self.states(column)
        squares = ((states[:, None] - states) ** 2).sum(axis=2)
        return np.asarray(GaussianKernel(gamma)(squares))

    # ---- rows -----------------------------------------------------------------------

    def encode(self, X: Any, dtype: Any = np.float64) -> NDArray[Any]:
        """A frame as wide rows of numbers (n, width), NaN for what is missing."""
        columns = columns_of(X)
        if not columns:
            raise TypeError(
                "a frame with columns of categories was learned from, so rows must "
                f"come as a frame too, got {type(X).__name__}"
            )
        self._compare(list(columns))
        rows = np.empty((len(columns[self.names[0]]), self.width), dtype)
        for index, block in enumerate(self.blocks):
            column = columns[self.names[index]]
            if self.categories[index] is None:
                rows[:, block.start] = numbers_of_column(column)
                continue
            codes = self._codes(index, column)
            states = np.vstack(
                [self.states(index), np.full(block.stop - block.start, np.nan)]
            )
            rows[:, block] = states[codes]  # code -1 is the last: a gap
        return rows

    def encode_row(
        self, values: list[Any], *, may_miss: bool = False
    ) -> NDArray[np.float64]:
        """The values of a single row, in the order of the columns, as a wide one."""
        row = np.empty(self.width)
        for index, (value, block) in enumerate(zip(values, self.blocks, strict=True)):
            known = self.categories[index]
            if is_missing(value):
                row[block] = np.nan
            elif known is None:
                row[block] = self._number(index, value)
            else:
                row[block] = self.states(index)[self._code(index, value)]
        if not may_miss:
            refuse_non_finite(row[None], "a row", _name_of(self))
        return row

    def decode(self, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Wide rows as columns by name, each category the nearest one."""
        columns = {}
        for index, (name, block) in enumerate(
            zip(self.names, self.blocks, strict=True)
        ):
            known = self.categories[index]
            if known is None:
                columns[name] = rows[:, block.start]
                continue
            codes = self.nearest(index, rows)
            values = np.empty(len(known), object)
            values[:] = known
            columns[name] = values[codes]
        return columns

    def nearest(self, column: int, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Codes of the categories nearest to what stands in wide rows, shape (n,)."""
        states = self.states(column)
        overlaps = rows[:, self.blocks[column]] @ states.T - (states**2).sum(axis=1) / 2
        return np.asarray(overlaps.argmax(axis=1))

    def _codes(self, index: int, column: Any) -> NDArray[np.intp]:
        """Place of each value among the column's categories, -1 for a gap."""
        known = self.categories[index] or ()
        lookup = {value: code for code, value in enumerate(known)}
        values, places = dictionary_of(column)
        # A last place stands for gaps.
        codes_of = np.array([lookup.get(value, -1) for value in values] + [-1])
        codes = codes_of[places]
        for row in np.flatnonzero(codes < 0):
            if places[row] >= 0 and not is_missing(values[places[row]]):
                raise self._unknown(index, values[places[row]], int(row))
        return np.asarray(codes)

    def _code(self, index: int, value: Any) -> int:
        known = self.categories[index] or ()
        if value in known:
            return known.index(value)
        raise self._unknown(index, value)

    def _unknown(self, index: int, value: Any, row: int | None = None) -> DataError:
        known = self.categories[index] or ()
        return DataError(
            f"holds {value!r}, which is not among the categories that were learned: "
            f"{_some(known)}",
            row=row,
            column=self.names[index],
            value=value,
        )

    def _number(self, index: int, value: Any) -> float:
        if isinstance(value, int | float | np.number):
            return float(value)
        name = self.names[index]
        raise DataError(f"must be a number, got {value!r}", column=name, value=value)

    def _compare(self, names: list[str]) -> None:
        """Refuse other columns than those that were learned, by name."""
        if names == list(self.names):
            return
        missing = [name for name in self.names if name not in names]
        unknown = [name for name in names if name not in self.names]
        problem = " and ".join(
            text
            for text in (
                f"lacks {missing}" if missing else "",
                f"also has {unknown}" if unknown else "",
            )
            if text
        )
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{list(self.names)}; the frame {problem or 'has them in another order'}"
        )


def check_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    dtype: Any = None,
    numeric: bool = True,
    may_miss: bool = False,
    names: Sequence[Any] | None = None,
    encoded: bool = False,
) -> NDArray[Any]:
    """Rows as a C-ordered array, wide where there are columns of categories.

    What :func:`~rhokit.validation.check_rows` does for numbers, and the same for
    frames with categories. Sets or uses ``schema_`` of the estimator, which is None
    where all columns are numbers. ``may_miss`` lets NaN pass; ``names`` are those of
    rows of numbers that come without them, for errors; ``encoded`` says that rows
    beside a schema are wide ones already, which nobody but this library makes.
    """
    if reset and numeric:
        estimator.schema_ = Schema.of(X)
    schema = getattr(estimator, "schema_", None)
    if schema is None or not numeric:
        return check_rows(
            estimator,
            X,
            reset=reset,
            dtype=dtype,
            numeric=numeric,
            may_miss=may_miss,
            names=names,
        )
    if reset:
        estimator.n_features_in_ = len(schema.names)
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    if encoded and isinstance(X, np.ndarray):
        wanted = np.promote_types(X.dtype, np.float32) if dtype is None else dtype
        rows = np.ascontiguousarray(X, dtype=wanted)
    else:
        rows = schema.encode(X, np.float64 if dtype is None else dtype)
    if not len(rows):
        raise ValueError(
            f"Found array with 0 sample(s) (shape={(0, len(schema.names))}) while a "
            f"minimum of 1 is required by {type(estimator).__name__}."
        )
    refuse_non_finite(rows, type(estimator).__name__, _name_of(schema), may_miss)
    return rows


def _name_of(schema: Schema) -> Callable[[int], str]:
    """From an entry of a wide row to the name of its column."""
    stops = [block.stop for block in schema.blocks]
    return lambda entry: schema.names[int(np.searchsorted(stops, entry, side="right"))]


def _some(values: tuple[Any, ...], most: int = 8) -> str:
    shown = ", ".join(map(repr, values[:most]))
    more = len(values) - most
    return f"{shown}, and {more} more" if more > 0 else shown
