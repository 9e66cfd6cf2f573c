"""Values of text files that are not what their column is: found by file and row."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.errors import DataError
from rhokit.streams.roles import TableRoles, text_error
from rhokit.streams.timed_tables import AnyTable


def refuse_text(roles: TableRoles, table: AnyTable) -> None:
    """Refuse columns of text where numbers belong; of text files by the value."""
    found = roles.first_text(table.schema)
    if found is None:
        return
    name, kind = found
    if table.is_guessed:
        for path, row, value in _where(table, name, _no_numbers):
            raise text_error(kind, name, path, row, value)
    raise text_error(kind, name, None)


def refuse_numbers(name: str, values: list[str], table: AnyTable) -> None:
    """Refuse a column of text whose values are mostly numbers: some must be wrong."""
    texts = [value for value in values if not is_written_number(value)]
    if 2 * len(texts) > len(values):
        return
    for path, row, value in _where(table, name, lambda column: _are_in(column, texts)):
        raise DataError(
            f"holds numbers, but {value!r} among them: mend it, say that it marks "
            f"what is missing (missing_marks=[{value!r}]), or that these are "
            f"categories (categories=[{name!r}])",
            file=path,
            row=row,
            column=name,
            value=value,
        )


def _where(
    table: AnyTable, name: str, test: Callable[[Any], Any]
) -> Iterator[tuple[str | None, int, str]]:
    """File, row and value of the first value in each record that passes a test."""
    if not table.holds(name):
        return
    for piece in table.typed({name: pa.string()}).pieces([name], lambda *_: None):
        start = 0
        for record in piece.read([name]):
            place = pc.index(test(record.column(name)), True).as_py()
            if place >= 0:
                yield piece.file, start + place, record.column(name)[place].as_py()
            start += record.num_rows


def _are_in(column: Any, texts: list[str]) -> Any:
    return pc.is_in(column, pa.array(texts, pa.string()))


def _no_numbers(column: Any) -> Any:
    values = column.to_pylist()
    return pa.array([v is not None and not is_written_number(v) for v in values])


def is_written_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
