"""Arrow columns: what they hold, and values in place of missing ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def checked_missing(missing: Any) -> Any:
    """Refuse what says nothing about missing values."""
    if missing in ("raise", "drop") or isinstance(missing, Mapping):
        return missing
    raise ValueError(
        "missing must be 'raise', 'drop', or values to fill in by column, got "
        f"{missing!r}"
    )


def distinct_values(values: Any) -> list[Any]:
    """Distinct values, of an ordered dictionary all that it lists, in their order."""
    if getattr(values.type, "ordered", False):
        return list(values.dictionary.to_pylist())
    return list(pc.unique(values).to_pylist())


def filled(values: Any, value: Any, name: str) -> Any:
    """A column with a value in place of those that are missing."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        gaps = pc.is_null(values, nan_is_null=True)
        if isinstance(value, float) and pa.types.is_integer(values.type):
            values = pc.cast(values, pa.float64())
        return pc.if_else(gaps, pa.scalar(value, values.type), values)
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(
            f"column {name!r} of {values.type} cannot be filled with {value!r}: {error}"
        ) from error


def whole_rows(record: pa.RecordBatch, names: list[str]) -> NDArray[np.bool_]:
    """Which rows of a record lack none of these columns, shape (n,)."""
    whole = np.ones(record.num_rows, bool)
    for name in names:
        gaps = pc.is_null(record.column(name), nan_is_null=True)
        whole &= ~gaps.to_numpy(zero_copy_only=False)
    return whole


def first_gap(values: Any) -> int | None:
    """Place of the first missing value of a column; None where there is none."""
    if not values.null_count:
        return None
    return int(pc.index(pc.is_null(values), True).as_py())


def skip_rows(
    records: Iterable[pa.RecordBatch], n_rows: int
) -> Iterator[pa.RecordBatch]:
    """Records without their first rows."""
    for record in records:
        passed = min(n_rows, record.num_rows)
        n_rows -= passed
        if passed < record.num_rows:
            yield record.slice(passed)


def plain_values(values: Any) -> NDArray[Any]:
    """A column as an array, without dictionaries and decimals."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, also of a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type can be read as numbers."""
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def is_category(kind: pa.DataType) -> bool:
    """Whether values of a type are categories unless somebody says otherwise."""
    tests = (
        pa.types.is_dictionary,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
    )
    return any(test(kind) for test in tests)


def numbers_of(frame: pa.Table, names: list[str]) -> NDArray[np.float64]:
    """Columns of numbers as rows (n, d), NaN where a value is missing."""
    columns = [pc.cast(frame.column(name), pa.float64()) for name in names]
    values = [column.to_numpy() for column in columns]
    return np.column_stack(values) if values else np.empty((frame.num_rows, 0))


def first_refused(cells: Any, wanted: pa.DataType) -> int:
    """Place of the first cell that is no value of a type, by halves."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if casts(cells[low:middle], wanted) else (low, middle)
        )
    return low


def casts(cells: Any, kind: pa.DataType) -> bool:
    """Whether all cells are values of a type."""
    try:
        pc.cast(cells, kind)
    except pa.ArrowInvalid:
        return False
    return True
