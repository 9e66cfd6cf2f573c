"""Rows that commands give out: files written whole or not at all, or a pipe."""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rhokit.cli.failures import UserError
from rhokit.io.atomic import errors_of, replacing

TEXT_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET_ENDINGS, _ARROW_ENDINGS = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
ENDINGS = (*TEXT_ENDINGS, *_PARQUET_ENDINGS, *_ARROW_ENDINGS)

# Spreadsheets compute what follows these, unless it is a number.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]inf")

TakeTable = Callable[[pa.Table], None]


class _Writer(Protocol):
    """Takes tables, and is closed in the end."""

    def add(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


def is_text(path: Path | None) -> bool:
    """Whether a file of this name holds values written out."""
    return path is None or path.name.lower().endswith(TEXT_ENDINGS)


@contextmanager
def written(path: Path, *, escape: bool = False) -> Iterator[TakeTable]:
    """A function that takes tables, whose rows then stand in a file.

    They go to a file beside it, which takes its place when all went well: see
    :func:`rhokit.io.atomic.replacing`. ``escape`` keeps spreadsheets that open a text
    file from running what its cells hold.
    """
    try:
        with replacing(path) as file:
            writer = _writer(path, file, escape)
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
def piped(*, escape: bool = False) -> Iterator[TakeTable]:
    """A function that takes tables, whose rows go to standard output as CSV."""
    writer = _TextWriter(sys.stdout.write, ",", escape)
    yield writer.add
    sys.stdout.flush()


def _writer(path: Path, file: BinaryIO, escape: bool) -> _Writer:
    name = path.name.lower()
    if not name.endswith(TEXT_ENDINGS):
        return _BinaryWriter(file, is_parquet=name.endswith(_PARQUET_ENDINGS))
    delimiter = "\t" if ".tsv" in name else ","
    if name.endswith(".gz"):
        zipped = gzip.GzipFile(path.stem, "wb", fileobj=file)
        return _TextWriter(_encoded(zipped), delimiter, escape, zipped.close)
    return _TextWriter(_encoded(file), delimiter, escape)


def _encoded(file: Any) -> Callable[[str], object]:
    """A function that writes text to a binary file."""
    return lambda text: file.write(text.encode("utf-8"))


class _TextWriter:
    """Rows as lines. Numbers keep all their digits."""

    def __init__(
        self,
        write: Callable[[str], object],
        delimiter: str,
        escape: bool,
        close: Callable[[], object] = bool,
    ) -> None:
        self._write, self._delimiter, self._close = write, delimiter, close
        self._escape = escape
        self._started = False

    def add(self, table: pa.Table) -> None:
        lines: list[str] = []
        sink = SimpleNamespace(write=lambda line: lines.append(line[:-2]))
        # The end of a line is what csv puts into quotes within a cell: both kinds.
        rows = csv.writer(sink, delimiter=self._delimiter, lineterminator="\r\n")
        if not self._started:
            rows.writerow(self._cells(table.column_names))
            self._started = True
        columns = [self._cells(column.to_pylist()) for column in table.columns]
        rows.writerows(zip(*columns, strict=True))
        self._write("\n".join([*lines, ""]))

    def _cells(self, values: list[Any]) -> list[Any]:
        return [without_formula(each) for each in values] if self._escape else values

    def close(self) -> None:
        self._close()


def without_formula(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> from rhokit.cli.writers import without_formula
    >>> [without_formula(each) for each in ("=1+1", "-1.5", -1.5, "a=1")]
    ["'=1+1", '-1.5', -1.5, 'a=1']
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS):
        return value
    return value if _NUMBER.fullmatch(value) else f"'{value}"


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
