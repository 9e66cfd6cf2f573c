"""Rows that commands give out: files written whole or not at all, or a pipe."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from rhokit.cli.failures import UserError

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

    They go to a file beside it, which takes its place when all went well.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        writer = _writer(path, fresh)
        try:
            yield writer.add
        finally:
            writer.close()
        os.replace(fresh, path)
    except BaseException as error:
        fresh.unlink(missing_ok=True)
        if isinstance(error, OSError) and str(error.filename) == str(fresh):
            reason = error.strerror
            raise UserError(f"{path}: could not be written: {reason}") from error
        raise


@contextmanager
def piped() -> Iterator[TakeTable]:
    """A function that takes tables, whose rows go to standard output as CSV."""
    writer = _TextWriter(sys.stdout, ",")
    yield writer.add
    sys.stdout.flush()


def _writer(path: Path, fresh: Path) -> _Writer:
    name = path.name.lower()
    if name.endswith(TEXT_ENDINGS):
        opener: Any = gzip.open if name.endswith(".gz") else open
        file = cast(TextIO, opener(fresh, "wt", encoding="utf-8", newline=""))
        return _TextWriter(file, "\t" if ".tsv" in name else ",", own=True)
    return _BinaryWriter(fresh, is_parquet=name.endswith(_PARQUET_ENDINGS))


class _TextWriter:
    """Rows as lines. Numbers keep all their digits."""

    def __init__(self, file: TextIO, delimiter: str, own: bool = False) -> None:
        self._file, self._own = file, own
        self._rows = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._started = False

    def add(self, table: pa.Table) -> None:
        if not self._started:
            self._rows.writerow(table.column_names)
            self._started = True
        columns = [column.to_pylist() for column in table.columns]
        self._rows.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        if self._own:
            self._file.close()


class _BinaryWriter:
    """Rows as Parquet or Arrow; the first table tells the columns."""

    def __init__(self, path: Path, *, is_parquet: bool) -> None:
        self._sink = open(path, "wb")  # noqa: SIM115 (closed below, with the writer)
        self._is_parquet = is_parquet
        self._writer: Any = None

    def add(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table)

    def _opened(self, schema: pa.Schema) -> Any:
        if self._is_parquet:
            return pq.ParquetWriter(self._sink, schema)
        return pa.ipc.new_file(self._sink, schema)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._sink.close()
