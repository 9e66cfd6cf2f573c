"""Tables as the commands read them: batch by batch, each knowing where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq

from rhokit.cli.console import short_list
from rhokit.cli.failures import UserError
from rhokit.cli.sources import Source
from rhokit.streams.files import is_text, open_dataset

_BATCH_ROWS = 65_536


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
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise UserError(f"{source.name}: column {twice[0]!r} is there twice")

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
        schema = self._read_schema(types or {})
        fragments = list(self._dataset.get_fragments())
        for fragment in sorted(fragments, key=lambda each: each.path):
            file, row = self._source.name_of(fragment.path), 0
            try:
                for record in _records(fragment, schema, columns):
                    yield FileBatch(pa.Table.from_batches([record]), file, row)
                    row += record.num_rows
            except (pa.ArrowException, OSError) as error:
                raise UserError(f"{file}: {error}") from error

    def _read_schema(self, types: dict[str, pa.DataType]) -> pa.Schema:
        if not self.is_text:
            return self.schema
        fields = [
            pa.field(each.name, types.get(each.name, each.type)) for each in self.schema
        ]
        return pa.schema(fields)


def _records(
    fragment: Any, schema: pa.Schema, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Record batches of a file, never many of them at once."""
    is_parquet = isinstance(fragment, pa_dataset.ParquetFileFragment)
    if is_parquet and set(columns) <= set(fragment.physical_schema.names):
        # The data set's own reader holds whole row groups; this one streams.
        with fragment.open() as file:
            reader = pq.ParquetFile(file, pre_buffer=False)
            for record in reader.iter_batches(_BATCH_ROWS, columns=columns):
                yield record.select(columns)
        return
    records = fragment.to_batches(
        schema=schema,
        columns=columns,
        batch_size=_BATCH_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )
    for record in records:
        if record.num_rows:
            yield record
