"""Values of text files that are not what their column is: found by file and row."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.errors import DataError
from rhokit.streams.files import as_text, is_text
from rhokit.streams.roles import TableRoles, text_error


def refuse_text(roles: TableRoles, dataset: Any) -> None:
    """Refuse columns of text where numbers belong; of text files by the value."""
    found = roles.first_text(dataset.schema)
    if found is None:
        return
    name, kind = found
    if is_text(dataset):
        for path in sorted(dataset.files):
            for row, value in _where(path, name, _no_numbers):
                raise text_error(kind, name, path, row, value)
    raise text_error(kind, name, None)


def refuse_numbers(name: str, values: list[str], paths: list[str]) -> None:
    """Refuse a column of text whose values are mostly numbers: some must be wrong."""
    texts = [value for value in values if not _is_number(value)]
    if 2 * len(texts) > len(values):
        return
    for path in paths:
        for row, value in _where(path, name, lambda column: _are_in(column, texts)):
            raise DataError(
                f"holds numbers, but {value!r} among them: mend it, or say that these "
                f"are categories (categories=[{name!r}])",
                file=path,
                row=row,
                column=name,
                value=value,
            )


def _where(
    path: str, name: str, test: Callable[[Any], Any]
) -> Iterator[tuple[int, str]]:
    """Row and value of the first value in each record that passes a test."""
    start = 0
    for record in as_text(path):
        if name not in record.schema.names:  # but in the names of folders
            return
        place = pc.index(test(record.column(name)), True).as_py()
        if place >= 0:
            yield start + place, record.column(name)[place].as_py()
        start += record.num_rows


def _are_in(column: Any, texts: list[str]) -> Any:
    return pc.is_in(column, pa.array(texts, pa.string()))


def _no_numbers(column: Any) -> Any:
    values = column.to_pylist()
    return pa.array([v is not None and not _is_number(v) for v in values])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
