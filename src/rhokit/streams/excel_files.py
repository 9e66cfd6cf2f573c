"""Sheets of Excel workbooks, as delimited text."""

import csv
import datetime
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from rhokit.errors import DataError


@dataclass(frozen=True)
class SheetSource:
    """A sheet of a workbook, as the bytes of a text file.

    So that names, units, gaps and dates are found in it as in any other.

    Parameters
    ----------
    path : Path
    sheet : str, optional
        The first one without it.
    """

    path: Path
    sheet: str | None = None
    is_plain = False

    @property
    def name(self) -> str:
        """The file's path."""
        return str(self.path)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A pyarrow file to read bytes from."""
        yield pa.BufferReader(self._text)

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return self._text[:size]

    @cached_property
    def _text(self) -> bytes:
        lines = io.StringIO()
        writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
        with _workbook(self.path) as book:
            names = list(book.sheetnames)
            if self.sheet is not None and self.sheet not in names:
                raise DataError(
                    f"has no sheet {self.sheet!r}, only {names}", file=str(self.path)
                )
            sheet = book[self.sheet or names[0]]
            sheet.reset_dimensions()
            rows = [list(map(_cell, row)) for row in sheet.iter_rows(values_only=True)]
        rows = [row for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        writer.writerows([*row, *[""] * (width - len(row))] for row in rows)
        return lines.getvalue().encode()


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(
            "reading Excel files needs openpyxl: pip install 'rhokit[excel]'"
        ) from error
    try:
        with open(path, "rb") as file:
            book = openpyxl.load_workbook(
                io.BytesIO(file.read()), read_only=True, data_only=True
            )
    except Exception as error:  # of many kinds, by what is damaged
        raise DataError(f"no readable Excel file: {error}", file=str(path)) from error
    try:
        yield book
    finally:
        book.close()


def _cell(value: Any) -> str:
    """A value as a cell of text."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        is_date = value.time() == datetime.time()
        return value.date().isoformat() if is_date else value.isoformat(sep=" ")
    return str(value)
