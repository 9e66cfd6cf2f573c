"""Rows that commands give out: files written whole or not at all, or a pipe."""

import csv
import gzip
import os
import sys
from contextlib import contextmanager

from rhokit.cli.errors import UserError

TEXT_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET_ENDINGS, _ARROW_ENDINGS = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
ENDINGS = (*TEXT_ENDINGS, *_PARQUET_ENDINGS, *_ARROW_ENDINGS)


def is_text(path):
    """Whether a file of this name holds values written out."""
    return path is None or path.name.lower().endswith(TEXT_ENDINGS)


@contextmanager
def written(path):
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
def piped():
    """The same on standard output, as CSV, batch by batch."""
    writer = _TextWriter(sys.stdout, ",")
    yield writer.add
    sys.stdout.flush()


def _writer(path, fresh):
    name = path.name.lower()
    if name.endswith(TEXT_ENDINGS):
        opener = gzip.open if name.endswith(".gz") else open
        file = opener(fresh, "wt", encoding="utf-8", newline="")
        return _TextWriter(file, "\t" if ".tsv" in name else ",", own=True)
    return _BinaryWriter(fresh, is_parquet=name.endswith(_PARQUET_ENDINGS))


class _TextWriter:
    """Rows as lines. Numbers keep all their digits."""

    def __init__(self, file, delimiter, own=False):
        self._file, self._own = file, own
        self._rows = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self._started = False

    def add(self, table):
        if not self._started:
            self._rows.writerow(table.column_names)
            self._started = True
        columns = [column.to_pylist() for column in table.columns]
        self._rows.writerows(zip(*columns, strict=True))

    def close(self):
        if self._own:
            self._file.close()


class _BinaryWriter:
    """Rows as Parquet or Arrow; the first table tells the columns."""

    def __init__(self, path, *, is_parquet):
        self._sink = open(path, "wb")  # noqa: SIM115 (closed below, with the writer)
        self._is_parquet = is_parquet
        self._writer = None

    def add(self, table):
        if self._writer is None:
            self._writer = self._opened(table.schema)
        self._writer.write_table(table)

    def _opened(self, schema):
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._is_parquet:
            return pq.ParquetWriter(self._sink, schema)
        return pa.ipc.new_file(self._sink, schema)

    def close(self):
        if self._writer is not None:
            self._writer.close()
        self._sink.close()
