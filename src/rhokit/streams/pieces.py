"""Parts of a table that can be read by themselves, in a fixed order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq

from rhokit.streams.files import is_text
from rhokit.streams.mistakes import reading_error

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
    dataset : pyarrow Dataset
    fragment : pyarrow Fragment
    row_group : int, optional
        None for the whole fragment.
    n_rows : int, optional
        None where only reading it would tell.
    first_row : int
        Rows of the file that come before.
    """

    dataset: Any
    fragment: Any
    row_group: int | None = None
    n_rows: int | None = None
    first_row: int = 0

    @property
    def file(self) -> str | None:
        """Path of the file, None of what is in memory."""
        path = getattr(self.fragment, "path", None)
        return None if path is None else str(path)

    def records(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Records of some columns, never many of them at once."""
        try:
            yield from self._read(columns)
        except (pa.ArrowException, OSError) as error:
            names = self.fragment.physical_schema.names if self._is_text else ()
            raise reading_error(error, self.file, names) from error

    @property
    def _is_text(self) -> bool:
        return is_text(self.dataset)

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if self.row_group is None:
            yield from self.fragment.to_batches(
                schema=self.dataset.schema,
                columns=columns,
                batch_size=_RECORD_ROWS,
                batch_readahead=2,
                fragment_readahead=1,
            )
            return
        # The dataset's own reader holds whole row groups; this one streams.
        with self.fragment.open() as file:
            reader = pq.ParquetFile(
                file,
                metadata=self.fragment.metadata,
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
            )
            yield from reader.iter_batches(
                _RECORD_ROWS, row_groups=[self.row_group], columns=columns
            )


def pieces_of(
    dataset: Any, columns: list[str], check: Callable[[pa.Schema, str], None]
) -> list[TablePiece]:
    """Row groups of Parquet files that hold all columns, and other files whole.

    ``check`` is called with the schema and the path of each Parquet file.
    """
    fragments = sorted(dataset.get_fragments(), key=lambda f: getattr(f, "path", ""))
    pieces: list[TablePiece] = []
    for fragment in fragments:
        try:
            pieces += _pieces(dataset, fragment, columns, check)
        except (pa.ArrowException, OSError) as error:
            raise reading_error(error, fragment.path) from error
    return pieces


def _pieces(
    dataset: Any,
    fragment: Any,
    columns: list[str],
    check: Callable[[pa.Schema, str], None],
) -> Iterator[TablePiece]:
    if not isinstance(fragment, pa_dataset.ParquetFileFragment):
        yield TablePiece(dataset, fragment)
        return
    check(fragment.physical_schema, fragment.path)
    if not _holds_all(fragment, columns):
        yield TablePiece(dataset, fragment)
        return
    first_row = 0
    for group in fragment.row_groups:
        yield TablePiece(dataset, fragment, group.id, group.num_rows, first_row)
        first_row += group.num_rows


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
