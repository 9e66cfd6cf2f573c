"""Tables as the commands read them: batch by batch, each knowing where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from rhokit.cli.console import short_list
from rhokit.cli.failures import UserError
from rhokit.cli.sources import Source
from rhokit.errors import DataError
from rhokit.streams.files import is_text, open_dataset
from rhokit.streams.pieces import TablePiece, pieces_of


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


class TableFiles:
    """The rows of a source, which may be several files.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    schema : pyarrow.Schema
    names : list of str
        All columns.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        with source.named_errors():
            self._dataset = open_dataset(source.argument)
        self.schema = self._dataset.schema
        self.names = [str(name) for name in self.schema.names]

    @property
    def is_text(self) -> bool:
        """Whether values are written out, and their types are guesses."""
        return is_text(self._dataset)

    @cached_property
    def n_rows(self) -> int | None:
        """Rows of all files, None where only reading them would tell."""
        return None if self.is_text else int(self._dataset.count_rows())

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
            for piece in self._pieces(columns, types or {}):
                file, row = self._source.name_of(piece.file or ""), piece.first_row
                for record in piece.records(columns):
                    table = pa.Table.from_batches([record]).select(columns)
                    if record.num_rows:
                        yield FileBatch(table, file, row)
                    row += record.num_rows

    def _pieces(
        self, columns: list[str], types: dict[str, pa.DataType]
    ) -> list[TablePiece]:
        dataset = self._dataset
        if self.is_text:  # whose types are guesses
            try:
                dataset = open_dataset(self._source.argument, types)
            except DataError as error:
                place = error.column
                column = self.names[place] if isinstance(place, int) else place
                raise error.at(column=column) from error
        return pieces_of(dataset, columns, lambda schema, path: None)
