"""How a text file is written: what stands between columns, decimal signs, and so on."""

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

USUAL_MARKS = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"),
)
"""Cells that stand for a missing value in any file, beside empty ones."""


class ReadingOptions(TypedDict, total=False):
    """How text files are read, where it shall not be detected.

    Parameters
    ----------
    delimiter : str
        Between columns: one character.
    decimal : {".", ","}
    thousands : str
        Between groups of three digits; ``""`` for nothing.
    quote : str
        Around cells that hold a delimiter; ``""`` for nothing.
    encoding : str
    header : bool
        Whether the first row holds the columns' names.
    missing_marks : list of str
        Cells that stand for a missing value, beside empty ones.
    date_format : str
        Of dates, such as ``"%d.%m.%Y"``.
    sheet : str
        Of a spreadsheet.
    """

    delimiter: str
    decimal: str
    thousands: str
    quote: str
    encoding: str
    header: bool
    missing_marks: list[str]
    date_format: str
    sheet: str


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written.

    Parameters
    ----------
    delimiter, decimal : str
    thousands, quote, escape : str
        Empty where there is none.
    encoding : str
    header : bool
        Whether there is a row of names.
    missing_marks : tuple of str
        Cells that stand for a missing value, beside empty ones.
    skipped_lines : int
        Lines before the row of names, or before the first row.
    units : bool
        Whether a row of units follows the names.
    padded : bool
        Whether blanks stand around cells.
    n_last : int
        Rows at the end that are no rows, but totals.

    Examples
    --------
    >>> from rhokit.streams.text_format import TextFormat
    >>> TextFormat(delimiter=";", decimal=",").said()
    "delimiter=';', decimal=','"
    """

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    quote: str = '"'
    escape: str = ""
    encoding: str = "utf-8"
    header: bool = True
    missing_marks: tuple[str, ...] = USUAL_MARKS
    skipped_lines: int = 0
    units: bool = False
    padded: bool = False
    n_last: int = 0

    def given(self, options: Mapping[str, Any]) -> "TextFormat":
        """This format, but for what somebody said."""
        known = {field.name for field in fields(self)}
        told = {name: value for name, value in options.items() if name in known}
        if "missing_marks" in told:
            told["missing_marks"] = tuple(told["missing_marks"])
        return replace(self, **told)

    def said(self, options: Iterable[str] = ()) -> str:
        """What differs from the usual, as arguments; empty if nothing does.

        ``options`` are those that somebody gave, and need not be told.
        """
        plain, told = TextFormat(), []
        for name in ("delimiter", "decimal", "thousands", "quote", "encoding"):
            value = getattr(self, name)
            if value != getattr(plain, name) and name not in options:
                told.append(f"{name}={value!r}")
        if not self.header and "header" not in options:
            told.append("header=False")
        marks = [mark for mark in self.missing_marks if mark not in USUAL_MARKS]
        if marks and "missing_marks" not in options:
            told.append(f"missing_marks={marks!r}")
        return ", ".join([*told, *self._left_out()])

    def _left_out(self) -> list[str]:
        """Lines that are neither names nor rows."""
        parts = []
        if self.skipped_lines:
            count = self.skipped_lines
            first = f"{count} first lines" if count > 1 else "first line"
            parts.append(f"its {first} left out")
        if self.units:
            parts.append("its row of units left out")
        if self.n_last:
            parts.append("its row of totals left out")
        return parts


def check_reading(options: Mapping[str, Any]) -> ReadingOptions:
    """Options of reading, refused where they cannot be.

    Those that are None are as good as not given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    unknown = sorted(given.keys() - ReadingOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(ReadingOptions.__annotations__)
        raise TypeError(f"{unknown[0]!r} is no option of reading files: {known} are")
    for name, value in given.items():
        if name in ("delimiter", "decimal", "thousands", "quote"):
            _check_character(name, value)
    if given.get("decimal", ".") not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {given['decimal']!r}")
    if given.get("delimiter") and given["delimiter"] == given.get("decimal"):
        raise ValueError("delimiter and decimal must differ")
    if "encoding" in given:
        _check_encoding(given["encoding"])
    if isinstance(given.get("missing_marks"), str):
        given["missing_marks"] = [given["missing_marks"]]
    return ReadingOptions(**given)  # type: ignore[typeddict-item]


def _check_character(name: str, value: Any) -> None:
    may_be_empty = name in ("thousands", "quote")
    if not isinstance(value, str) or len(value) != 1:
        if may_be_empty and value == "":
            return
        raise ValueError(f"{name} must be one character, got {value!r}")


def _check_encoding(name: Any) -> None:
    try:
        codecs.lookup(name)
    except (LookupError, TypeError) as error:
        raise ValueError(
            f"encoding must be one such as 'utf-8', 'latin-1' or 'utf-16', got {name!r}"
        ) from error
