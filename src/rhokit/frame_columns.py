"""Single columns of pandas, polars and Arrow frames: kinds, categories, numbers."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rhokit.errors import DataError
from rhokit.validation import is_missing

# More different values than this are names or texts, not categories.
MOST_CATEGORIES = 1000
CATEGORY_TYPES = (nw.Categorical, nw.Enum, nw.Boolean)
"""Types of columns of categories."""


def columns_of(X: Any) -> dict[str, Any]:
    """Columns of a pandas, polars or Arrow frame by name; none of anything else."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return {}
        columns = list(frame.iter_columns())
        named = {str(column.name): column for column in columns}
        if len(named) < len(columns):
            _refuse_equal_names([column.name for column in columns])
        return named
    except nw.exceptions.DuplicateError:  # which names no category by its column
        return {}


def _refuse_equal_names(names: list[Any]) -> None:
    """Refuse names that differ, but are the same as text."""
    first: dict[str, Any] = {}
    for name in names:
        other = first.setdefault(str(name), name)
        if other is not name:
            raise ValueError(
                f"columns {other!r} and {name!r} are both called {str(name)!r}: rename "
                "one of them"
            )


def is_ordered(column: Any) -> bool:
    """Whether categories have an order: pandas' and Arrow's say so, Enum is one."""
    if isinstance(column.dtype, nw.Enum):
        return True
    return bool(getattr(getattr(column.to_native(), "type", None), "ordered", False))


def categories_of(column: Any) -> tuple[Any, ...] | None:
    """The categories of a column: those that it declares, or else those it holds."""
    if not isinstance(column.dtype, CATEGORY_TYPES):
        return None
    if isinstance(column.dtype, nw.Boolean):
        return (False, True)
    values = _declared(column)
    if values is None:
        seen = {v for v in column.to_list() if not is_missing(v)}
        values = sorted(seen, key=lambda value: (str(type(value)), value))
    if not values:
        raise DataError("holds no category: all are missing", column=column.name)
    if len(values) > MOST_CATEGORIES:
        raise DataError(
            f"has {len(values):,} categories, more than {MOST_CATEGORIES:,}: names or "
            "texts are no categories, leave it out",
            column=column.name,
        )
    return tuple(values)


def _declared(column: Any) -> list[Any] | None:
    """Categories that a column lists itself, in their order; polars' do not."""
    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    native = column.to_native()
    listed = getattr(getattr(native, "dtype", None), "categories", None)
    if listed is not None and hasattr(listed, "tolist"):  # pandas
        return list(listed.tolist())
    if is_ordered(column) and native.num_chunks:  # Arrow
        return list(native.chunk(0).dictionary.to_pylist())
    return None


def dictionary_of(column: Any) -> tuple[list[Any], NDArray[Any]]:
    """The values of a column without repetition, and each row's place, -1 for gaps.

    Categories of pandas and Arrow have both at hand; others are gone through.
    """
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        return native.cat.categories.tolist(), native.cat.codes.to_numpy()
    if hasattr(native, "dictionary_encode"):  # Arrow
        encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        # DuckDB counts without a sign.
        indices = encoded.indices.cast("int64").fill_null(-1)
        places = indices.to_numpy(zero_copy_only=False)
        return encoded.dictionary.to_pylist(), places
    places_of: dict[Any, int] = {}
    values = column.to_list()
    places = [places_of.setdefault(value, len(places_of)) for value in values]
    return list(places_of), np.array(places, dtype=np.intp)


def numbers_of_column(column: Any) -> NDArray[Any]:
    """A column of numbers; what is missing is NaN."""
    values = column.to_numpy()
    try:
        if values.dtype.kind in "mM":
            raise TypeError("dates and durations are no numbers")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        row, value = _first_non_number(column)
        raise DataError(
            f"must be numbers, but holds {value!r}: if these are categories, make them "
            "so, as pandas' astype('category'), polars' cast(pl.Categorical) and "
            "Arrow's dictionary_encode() do; rhokit.read_table reads them so",
            row=row,
            column=column.name,
            value=value,
        ) from error


def _first_non_number(column: Any) -> tuple[int | None, Any]:
    """Row and value of the first that is neither a number nor a gap."""
    found = ((i, v) for i, v in enumerate(column.to_list()) if not _is_number(v))
    return next(found, (None, None))


def _is_number(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, int | float | np.number))
