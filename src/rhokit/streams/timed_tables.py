"""Tables whose dates and times are numbers and parts that come round."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rhokit.frame_times import (
    TimeSpan,
    column_of,
    cycle_of,
    made_of,
    part_array,
)
from rhokit.progress import counted
from rhokit.streams.files import OpenTable
from rhokit.streams.pieces import TablePiece


@dataclass(frozen=True)
class TimedTable:
    """A table with numbers and parts in place of dates and times.

    Parameters
    ----------
    inner : OpenTable
    made : dict of lists of str
        Names of what is made of each column of times.
    """

    inner: OpenTable
    made: Mapping[str, list[str]]

    @property
    def is_guessed(self) -> bool:
        """Whether types are guesses."""
        return self.inner.is_guessed

    @property
    def paths(self) -> list[str]:
        """Names of all files."""
        return self.inner.paths

    @property
    def n_rows(self) -> int | None:
        """Rows of all files, None where only reading tells."""
        return self.inner.n_rows

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, of those that are made, too."""
        fields: list[pa.Field] = []
        for field in self.inner.schema:
            names = self.made.get(field.name)
            fields += (
                [field] if names is None else [pa.field(n, _type_of(n)) for n in names]
            )
        return pa.schema(fields)

    def digests(self) -> Iterator[tuple[str, int, str]]:
        """Digests of all that files hold."""
        return self.inner.digests()

    def notes(self, name_of: Callable[[str], str] = str) -> Iterator[str]:
        """What is unusual about files."""
        return self.inner.notes(name_of)

    def holds(self, column: str) -> bool:
        """Whether files hold a column as it is."""
        return not self._is_made(column) and self.inner.holds(column)

    def typed(self, types: Mapping[str, pa.DataType]) -> "TimedTable":
        """The same table, some of whose columns shall have other types."""
        own = {name: kind for name, kind in types.items() if not self._is_made(name)}
        return replace(self, inner=self.inner.typed(own))

    def pieces(
        self, columns: list[str], check: Callable[[pa.Schema, str], None]
    ) -> list[TablePiece]:
        """Parts of the table that can be read by themselves."""
        own = list(dict.fromkeys(self._source_of(name) for name in columns))
        return [
            replace(
                piece,
                read=partial(self._records, piece),
                schema=piece.schema and self.schema,
            )
            for piece in self.inner.pieces(own, check)
        ]

    def _records(
        self, piece: TablePiece, columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        own = list(dict.fromkeys(self._source_of(name) for name in columns))
        for record in piece.read(own):
            arrays = [
                _made(record.column(self._source_of(name)), name)
                if self._is_made(name)
                else record.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, columns)

    def _is_made(self, name: str) -> bool:
        return name in self.made.get(column_of(name) or "", ())

    def _source_of(self, name: str) -> str:
        return str(column_of(name)) if self._is_made(name) else name


AnyTable = OpenTable | TimedTable


def timed(table: OpenTable, wanted: Iterable[str] | None = None) -> AnyTable:
    """A table with numbers and parts in place of dates and times, if it has some.

    Parameters
    ----------
    table : OpenTable
    wanted : iterable of str, optional
        Names of columns; what they do not tell is told by what the values span, which
        takes a pass over them.
    """
    columns = [field.name for field in table.schema if _is_time(field.type)]
    names = None if wanted is None else list(wanted)
    made = {}
    for column in columns:
        told = [name for name in names or () if column_of(name) == column]
        if not told and (names is None or column in names):
            told = _spanned(table, column)
        if told:
            made[column] = told
    return TimedTable(table, made) if made else table


def with_made(table: AnyTable, names: list[str]) -> list[str]:
    """Names of columns, those of times by what is made of them."""
    made = getattr(table, "made", {})
    return [each for name in names for each in made.get(name, [name])]


def _spanned(table: OpenTable, column: str) -> list[str]:
    span: TimeSpan | None = None
    for piece in table.pieces([column], lambda *_: None):
        records = counted(f"Looking at {column}", piece.records([column]))
        for record in records:
            found = TimeSpan.of(_times_of(record.column(column)))
            if found is not None:
                span = found if span is None else span + found
    return [f"{column} (days since 2000)"] if span is None else span.names(column)


def _times_of(values: Any) -> Any:
    if getattr(values.type, "tz", None):
        values = pc.local_timestamp(values)
    return values.to_numpy(zero_copy_only=False).astype("datetime64[us]")


def _made(values: Any, name: str) -> Any:
    found, cycle = made_of(_times_of(values), name), cycle_of(name)
    if cycle is not None:
        return part_array(found, cycle)
    return pa.array(found, mask=np.isnan(found))


def _type_of(name: str) -> pa.DataType:
    if cycle_of(name) is None:
        return pa.float64()
    return pa.dictionary(pa.int32(), pa.string(), ordered=True)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
