"""Tables of files that say nothing about types: text, JSON lines, spreadsheets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyarrow.fs import LocalFileSystem

from rhokit.errors import DataError
from rhokit.streams.contents import content_digests
from rhokit.streams.pieces import TablePiece
from rhokit.streams.text_columns import unified

# Files whose first rows tell the types of all.
_LOOKED_AT = 16


class RowFile(Protocol):
    """A file of rows whose types are told from its first ones."""

    @property
    def name(self) -> str:
        """The name that people know the file by."""

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Types of the columns, as the first rows have them."""

    def said(self) -> str:
        """What is unusual about the file, empty if nothing is."""

    def records(
        self, columns: list[str], types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Records of some columns, as values of these types."""


@dataclass(frozen=True)
class GuessedTable:
    """The rows of several files, whose types are guessed.

    Parameters
    ----------
    files : tuple of RowFile
    folder : Path, optional
        Names of folders within it, such as ``year=2024``, hold columns.
    stored : tuple of str
        Paths of the files, or of the archives that they are in.
    wanted : mapping
        Types that columns shall have.
    """

    files: tuple[RowFile, ...]
    folder: Path | None
    stored: tuple[str, ...]
    wanted: Mapping[str, pa.DataType]
    is_guessed = True

    @cached_property
    def schema(self) -> pa.Schema:
        """Names of the columns of the first file, and types that hold all values."""
        seen = [file.types for file in self.files[:_LOOKED_AT]]
        own = {n: unified([s[n] for s in seen if n in s]) for n in seen[0]}
        types = own | self._partition_types | dict(self.wanted)
        return pa.schema([(name, types[name]) for name in own | self._partition_types])

    @property
    def paths(self) -> list[str]:
        """Names of all files."""
        return [file.name for file in self.files]

    @property
    def n_rows(self) -> None:
        """Only reading tells."""
        return

    def digests(self) -> Iterator[tuple[str, int, str]]:
        """Digests of all that files hold."""
        yield from content_digests(LocalFileSystem(), list(self.stored))

    def typed(self, types: Mapping[str, pa.DataType]) -> "GuessedTable":
        """The same table, some of whose columns shall have other types."""
        return replace(self, wanted={**self.wanted, **types})

    def pieces(
        self, columns: list[str], check: Callable[[pa.Schema, str], None]
    ) -> list[TablePiece]:
        """The files, one by one."""
        return [
            TablePiece(file.name, partial(self._records, file)) for file in self.files
        ]

    def notes(self, name_of: Callable[[str], str] = str) -> Iterator[str]:
        """What is unusual about files, those alike together."""
        alike: dict[str, list[str]] = {}
        for file in self.files[:_LOOKED_AT]:
            alike.setdefault(file.said(), []).append(name_of(file.name))
        for said, names in alike.items():
            more = len(names) - 1
            if said:
                others = f" and {more} more" if more else ""
                yield f"{names[0]}{others}: read with {said}"

    def holds(self, column: str) -> bool:
        """Whether files hold a column, and not the names of their folders."""
        return column not in self._partition_types

    def _records(self, file: RowFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
        inside = self._partitions(file)
        own = [name for name in columns if name not in inside]
        lacking = [name for name in own if name not in file.types]
        if lacking:
            raise DataError(
                f"lacks the columns {lacking}, which other files of the table have",
                file=file.name,
                column=lacking[0],
            )
        types = {name: self.schema.field(name).type for name in columns}
        # Without a column of its own, a file still has a number of rows.
        for record in file.records(own or list(file.types)[:1], types):
            arrays = [
                record.column(name)
                if name in own
                else _repeated(inside[name], types[name], record.num_rows)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, columns)

    # ---- columns in the names of folders -------------------------------------------

    @cached_property
    def _partition_types(self) -> dict[str, pa.DataType]:
        if self.folder is None:
            return {}
        found = [self._partitions(file) for file in self.files]
        names = dict.fromkeys(name for each in found for name in each)
        return {
            name: pa.int64()
            if all(each.get(name, "x").lstrip("-").isdigit() for each in found)
            else pa.string()
            for name in names
        }

    def _partitions(self, file: RowFile) -> dict[str, str]:
        """Columns and values that stand in the names of a file's folders."""
        if self.folder is None:
            return {}
        parts = Path(file.name).relative_to(self.folder).parts[:-1]
        pairs = (part.partition("=") for part in parts)
        return {name: value for name, sign, value in pairs if sign}


def _repeated(value: str, kind: pa.DataType, count: int) -> Any:
    return pa.array([value] * count).cast(kind)
