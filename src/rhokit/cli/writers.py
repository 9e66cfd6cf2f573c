"""Rows that commands give out: files written whole or not at all, or a pipe."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rhokit.cli.failures import UserError
from rhokit.io.atomic import errors_of, replacing

TEXT_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET_ENDINGS, _ARROW_ENDINGS = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
ENDINGS = (*TEXT_ENDINGS, *_PARQUET_ENDINGS, *_ARROW_ENDINGS)

TakeTable = Callable[[pa.Table], None]


class _Writer(Protocol):
    """Takes tables, and is closed in the end."""

    def add(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


def is_text(path: Path | None) -> bool:
    """Whether a file of this name holds values written out."""
    return path is None or path.name.lower().endswith(TEXT_ENDINGS)


@contextmanager
def written(path: Path) -> Iterator[TakeTable]:
    """A function that takes tables, whose rows then stand in a file.

    They go to a file beside it, which takes its place when all went well: see
    :func:`rhokit.io.atomic.replacing`.
    """
    try:
        with replacing(path) as file:
            writer = _writer(path, file)
            try:
                yield partial(_add, writer, path)
            finally:
                with errors_of(path):
                    writer.close()
    except OSError as error:
        if error.filename != os.fspath(path):
            raise
        reason = error.strerror
        raise UserError(f"{path}: could not be written: {reason}") from error


def _add(writer: _Writer, path: Path, table: pa.Table) -> None:
    with errors_of(path):
        writer.add(table)


@contextmanager
def piped() -> Iterator[TakeTable]:
    """A function that takes tables, whose rows go to standard output as CSV."""
    writer = _TextWriter(sys.stdout.write, ",")
    yield writer.add
    sys.stdout.flush()


def _writer(path: Path, file: BinaryIO) -> _Writer:
    name = path.name.lower()
    if not name.endswith(TEXT_ENDINGS):
        return _BinaryWriter(file, is_parquet=name.endswith(_PARQUET_ENDINGS))
    delimiter = "\t" if ".tsv" in name else ","
    if name.endswith(".gz"):
        zipped = gzip.GzipFile(path.stem, "wb", fileobj=file)
        return _TextWriter(_encoded(zipped), delimiter, zipped.close)
    return _TextWriter(_encoded(file), delimiter)


def _encoded(file: Any) -> Callable[[str], object]:
    """A function that writes text to a binary file."""
    return lambda text: file.write(text.encode("utf-8"))


class _TextWriter:
    """Rows as lines. Numbers keep all their digits."""

    def __init__(
        self,
        write: Callable[[str], object],
        delimiter: str,
        close: Callable[[], object] = bool,
    ) -> None:
        self._write, self._delimiter, self._close = write, delimiter, close
        self._started = False

    def add(self, table: pa.Table) -> None:
        lines = StringIO(newline="")
        rows = csv.writer(lines, delimiter=self._delimiter, lineterminator="\n")
        if not self._started:
            rows.writerow(table.column_names)
            self._started = True
        columns = [column.to_pylist() for column in table.columns]
        rows.writerows(zip(*columns, strict=True))
        self._write(lines.getvalue())

    def close(self) -> None:
        self._close()


class _BinaryWriter:
    """Rows as Parquet or Arrow; the first table tells the columns."""

    def __init__(self, file: BinaryIO, *, is_parquet: bool) -> None:
        self._file = file
        self._is_parquet = is_parquet
        self._writer: Any = None

    def add(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table)

    def _opened(self, schema: pa.Schema) -> Any:
        if self._is_parquet:
            return pq.ParquetWriter(self._file, schema)
        return pa.ipc.new_file(self._file, schema)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
