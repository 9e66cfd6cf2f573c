"""What pyarrow says of files that it cannot read, as errors that know the place.

The one place where messages of another library are taken apart.
"""

import lzma
import re
import zipfile
import zlib
from collections.abc import Sequence

import pyarrow as pa

from rhokit.errors import DataError

READING_ERRORS = (
    *(pa.ArrowException, OSError, EOFError, zlib.error, lzma.LZMAError),
    zipfile.BadZipFile,
)
"""Errors of reading a file that is damaged."""
_FORMAT_NAMES = {"csv": "CSV", "parquet": "Parquet", "ipc": "Arrow"}
# Rows are counted from 1 there, and lines that were skipped count.
_BAD_VALUE = re.compile(
    r"In CSV column #(?P<index>\d+): (?:Row #(?P<row>\d+): )?"
    r".*?invalid value '(?P<value>.*)'",
    re.S,
)
_BAD_ROW = re.compile(
    r"CSV parse error: (?:Row #(?P<row>\d+): )?(?P<reason>Expected .*? got \d+)"
)
_BAD_LETTERS = re.compile(
    r"In CSV column #(?P<index>\d+): (?:Row #(?P<row>\d+): )?.*invalid UTF8"
)
_OTHER_FORMAT = re.compile(
    r"(?:Could not read schema from '(?P<file>.*?)'. )?"
    r"Is this a '(?P<kind>\w+)' file\?: (?:Could not open .*? source '.*?': )?"
    r"(?:Invalid: )?(?P<reason>.*)",
    re.S,
)


def reading_error(
    error: Exception,
    file: str | None = None,
    names: Sequence[str] = (),
    skipped: int = 1,
) -> DataError | OSError:
    """What is wrong with a file that pyarrow cannot read.

    Parameters
    ----------
    error : Exception
        What pyarrow raised.
    file : str, optional
        Name of the file.
    names : sequence of str
        All columns of the file, in their order.
    skipped : int
        Lines of a text file before its first row.

    Returns
    -------
    error : DataError or OSError
        With row, column and value where a value is wrong; an OSError where something
        else is.
    """
    text = str(error)
    opening = _OTHER_FORMAT.search(text)
    if opening is not None:
        file = opening["file"] or file
    found = _value_error(text, names) or _row_error(text) or _text_error(text, names)
    if found is not None and found.row is not None:
        found = found.at(row=found.row - skipped - 1)
    if found is None and opening is not None:
        found = _format_error(opening["kind"], opening["reason"])
    if found is not None:
        return found.at(file=file)
    return OSError(f"{file or 'the table'} could not be read: {error}")


def _value_error(text: str, names: Sequence[str]) -> DataError | None:
    found = _BAD_VALUE.search(text)
    if found is None:
        return None
    index, value = int(found["index"]), found["value"]
    return DataError(
        f"must be numbers, but holds {value!r}",
        row=_row(found["row"]),
        column=names[index] if index < len(names) else index,
        value=value,
    )


def _row_error(text: str) -> DataError | None:
    found = _BAD_ROW.search(text)
    if found is None:
        return None
    return DataError(
        f"{found['reason'].lower()}: mend the row, or quote what holds a delimiter",
        row=_row(found["row"]),
    )


def _format_error(kind: str, reason: str) -> DataError:
    return DataError(f"no readable {_FORMAT_NAMES.get(kind, kind)} file: {reason}")


def _text_error(text: str, names: Sequence[str]) -> DataError | None:
    """What is wrong with letters and quotes."""
    found = _BAD_LETTERS.search(text)
    if found is not None:
        index = int(found["index"])
        return DataError(
            "is no UTF-8 text: give the encoding, such as encoding='latin-1'",
            row=_row(found["row"]),
            column=names[index] if index < len(names) else index,
        )
    if "out of sync" in text or "straddling" in text or "cut in the middle" in text:
        return DataError(
            "a quote is opened and never closed, or a row is longer than a megabyte: "
            "mend it, or read quotes as letters (quote='')"
        )
    return None


def _row(number: str | None) -> int | None:
    return None if number is None else int(number)
