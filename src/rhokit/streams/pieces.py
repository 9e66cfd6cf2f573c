"""Parts of a table that can be read by themselves, in a fixed order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq

from rhokit.streams.contents import content_digests
from rhokit.streams.mistakes import READING_ERRORS, reading_error

# Rows that are decoded at once, and bytes that are read at once: small, so that what
# pyarrow holds stays small beside a batch.
_RECORD_ROWS = 65_536
_BUFFER_BYTES = 2**20


class ReadPosition(NamedTuple):
    """A place between two rows: a piece of the table, and rows of it that are past."""

    piece: int
    offset: int


BEGINNING = ReadPosition(0, 0)


@dataclass(frozen=True)
class TablePiece:
    """A part of a table that can be read by itself: a row group, or a file.

    Parameters
    ----------
    file : str or None
        Path of the file, None of what is in memory.
    read : function
        From names of columns to records of them.
    n_rows : int, optional
        None where only reading it would tell.
    first_row : int
        Rows of the file that come before.
    schema : pyarrow.Schema, optional
        Of the file itself, where it declares one.
    """

    file: str | None
    read: Callable[[list[str]], Iterator[pa.RecordBatch]]
    n_rows: int | None = None
    first_row: int = 0
    schema: Any = None

    def records(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Records of some columns, never many of them at once."""
        try:
            yield from self.read(columns)
        except READING_ERRORS as error:
            raise reading_error(error, self.file) from error


@dataclass(frozen=True)
class DeclaredTable:
    """The rows of a pyarrow Dataset, which declares its types.

    Parameters
    ----------
    dataset : pyarrow Dataset
    """

    dataset: Any
    is_guessed = False

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.dataset.schema

    @property
    def paths(self) -> list[str]:
        """Names of all files; none of what is in memory."""
        return list(getattr(self.dataset, "files", ()))

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return int(self.dataset.count_rows())

    def digests(self) -> Iterator[tuple[str, int, str]]:
        """Digests of all that files hold."""
        yield from content_digests(self.dataset.filesystem, sorted(self.paths))

    def typed(self, types: Any) -> "DeclaredTable":
        """This table: types that are declared stay."""
        return self

    def holds(self, column: str) -> bool:
        """Whether files hold a column, as far as anybody asks."""
        return True

    def notes(self, name_of: Callable[[str], str] = str) -> Iterator[str]:
        """Nothing is guessed."""
        yield from ()

    def pieces(
        self, columns: list[str], check: Callable[[pa.Schema, str], None]
    ) -> list[TablePiece]:
        """Row groups of Parquet files that hold all columns, and other files whole.

        ``check`` is called with the schema and the path of each Parquet file.
        """
        fragments = self.dataset.get_fragments()
        pieces: list[TablePiece] = []
        for fragment in sorted(fragments, key=lambda f: getattr(f, "path", "")):
            try:
                pieces += self._pieces(fragment, columns, check)
            except (pa.ArrowException, OSError) as error:
                raise reading_error(error, fragment.path) from error
        return pieces

    def _pieces(
        self,
        fragment: Any,
        columns: list[str],
        check: Callable[[pa.Schema, str], None],
    ) -> Iterator[TablePiece]:
        path, first_row = getattr(fragment, "path", None), 0
        whole = partial(_scanned, fragment, self.dataset.schema)
        if not isinstance(fragment, pa_dataset.ParquetFileFragment):
            yield TablePiece(path, whole)
            return
        schema = fragment.physical_schema
        check(schema, fragment.path)
        if not _holds_all(fragment, columns):
            yield TablePiece(path, whole, schema=schema)
            return
        for group in fragment.row_groups:
            read = partial(_row_group, fragment, group.id)
            yield TablePiece(path, read, group.num_rows, first_row, schema)
            first_row += group.num_rows


def _scanned(
    fragment: Any, schema: pa.Schema, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    yield from fragment.to_batches(
        schema=schema,
        columns=columns,
        batch_size=_RECORD_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )


def _row_group(
    fragment: Any, group: int, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    # The dataset's own reader holds whole row groups; this one streams.
    with fragment.open() as file:
        reader = pq.ParquetFile(
            file,
            metadata=fragment.metadata,
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
        )
        yield from reader.iter_batches(
            _RECORD_ROWS, row_groups=[group], columns=columns
        )


def _holds_all(fragment: Any, columns: list[str]) -> bool:
    """Whether a Parquet file holds all columns itself.

    Columns that stand in the names of folders it does not; pyarrow adds those.
    """
    missing = set(columns) - set(fragment.physical_schema.names)
    folders = [part.split("=")[0] for part in Path(fragment.path).parts]
    in_path = [name for name in missing if name in folders]
    if len(in_path) < len(missing):
        raise ValueError(
            f"{fragment.path} lacks the columns {sorted(missing)}, which other "
            "files of the table have"
        )
    return not missing
