"""Tables as the commands read them: batch by batch, each knowing where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from rhokit.cli.console import short_list
from rhokit.cli.failures import UserError
from rhokit.cli.options import names_of
from rhokit.cli.sources import Source
from rhokit.streams.files import open_table, tell
from rhokit.streams.idle_columns import without_idle
from rhokit.streams.timed_tables import timed, with_made


@dataclass(frozen=True)
class FileBatch:
    """Rows of one file.

    Parameters
    ----------
    table : pyarrow.Table
    file : str
        What people call the file.
    start : int
        How many rows of the file come before.
    """

    table: pa.Table
    file: str
    start: int

    def __len__(self) -> int:
        return int(self.table.num_rows)


class TableFiles:
    """The rows of a source, which may be several files.

    Parameters
    ----------
    source : Source
    wanted : iterable of str, optional
        Columns, where they are known: they tell what to make of dates.
    keep_dates : bool, default=False
        Whether dates stay dates.

    Attributes
    ----------
    schema : pyarrow.Schema
    names : list of str
        All columns.
    """

    def __init__(
        self,
        source: Source,
        wanted: Iterable[str] | None = None,
        *,
        keep_dates: bool = False,
    ) -> None:
        self._source = source
        with source.named_errors():
            opened = open_table(source.argument, source.reading)
            tell(opened, source.name_of)
            self._table = opened if keep_dates else timed(opened, wanted)
            self.schema = self._table.schema
        self.names = [str(name) for name in self.schema.names]

    @property
    def is_text(self) -> bool:
        """Whether values are written out, and their types are guesses."""
        return self._table.is_guessed

    @cached_property
    def n_rows(self) -> int | None:
        """Rows of all files, None where only reading them would tell."""
        return self._table.n_rows

    def without_idle(self, names: list[str]) -> list[str]:
        """Columns that say something about rows; a note tells which do not."""
        with self._source.named_errors():
            return without_idle(self._table, names)

    def named(self, given: Iterable[str]) -> list[str]:
        """Names of columns as options give them; dates by what is made of them."""
        dates = getattr(self._table, "made", {})
        return with_made(self._table, names_of(given, [*self.names, *dates]))

    def require(self, columns: Iterable[str]) -> None:
        """Refuse a table that lacks one of these columns."""
        missing = [name for name in columns if name not in self.names]
        if missing:
            raise UserError(
                f"{self._source.name}: there is no column {missing[0]!r}, only "
                f"{short_list(self.names)}"
            )

    def batches(
        self, columns: list[str], types: dict[str, pa.DataType] | None = None
    ) -> Iterator[FileBatch]:
        """Batches of some columns, in the order of the files.

        Parameters
        ----------
        columns : list of str
        types : dict, optional
            From names to pyarrow types that values of text files are read as.
        """
        self.require(columns)
        with self._source.named_errors():
            table = self._table.typed(types or {})
            for piece in table.pieces(columns, lambda schema, path: None):
                file, row = self._source.name_of(piece.file or ""), piece.first_row
                for record in piece.records(columns):
                    rows = pa.Table.from_batches([record]).select(columns)
                    if record.num_rows:
                        yield FileBatch(rows, file, row)
                    row += record.num_rows
