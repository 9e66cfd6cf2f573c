"""Columns of text files: what their cells are, and cells as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.errors import DataError
from rhokit.streams.arrow import casts, first_refused, is_number
from rhokit.streams.text_format import TextFormat
from rhokit.streams.times import TIME_FORMATS, time_format_of, times_of

# What may stand before or after a number.
_DECORATION = r"^[\s$€£¥]*([+-]?[\s$€£¥]*[0-9.,' \x{00a0}\x{202f}+\-eE]*?)[\s$€£¥%]*$"


@dataclass(frozen=True)
class CellForm:
    """What the cells of a column of text are.

    Parameters
    ----------
    type : pyarrow.DataType
        Of the values: null where all are missing.
    decorated : bool
        Whether numbers stand with signs that pyarrow does not take.
    time_format : str
        Of dates, empty elsewhere.
    """

    type: pa.DataType
    decorated: bool = False
    time_format: str = ""

    @classmethod
    def of(cls, cells: pa.Array, text: TextFormat, date_format: str = "") -> "CellForm":
        """The form that all cells of a column have; text if they have none."""
        values = bare_cells(cells, text).drop_null()
        if not len(values):
            return cls(pa.null())
        for kind in (pa.int64(), pa.float64()):
            if casts(_with_points(values, text), kind):
                return cls(kind, decorated=text.padded)
        if _are_truths(values):
            return cls(pa.bool_())
        if casts(undecorated(values, text), pa.float64()):
            return cls(pa.float64(), decorated=True)
        found = time_format_of(values, date_format)
        if found:
            return cls(pa.timestamp("us"), time_format=found)
        return cls(pa.string())

    def raw_type(self, wanted: pa.DataType) -> pa.DataType:
        """The type that pyarrow reads the cells as, for values of a wanted type."""
        if self.decorated and is_number(wanted) and not pa.types.is_boolean(wanted):
            return pa.string()
        return pa.string() if pa.types.is_timestamp(wanted) else wanted

    def values(self, cells: pa.Array, wanted: pa.DataType, text: TextFormat) -> Any:
        """Cells as values of a wanted type.

        Raises
        ------
        DataError
            With the row and the cell that is none, and a column of None.
        """
        cells = bare_cells(cells, text)
        if cells.type == wanted:
            return cells
        if pa.types.is_timestamp(wanted):
            return times_of(cells, self.time_format or TIME_FORMATS[0])
        made = undecorated(cells, text)
        try:
            return pc.cast(made, wanted)
        except pa.ArrowInvalid:
            row = first_refused(made, wanted)
            raise DataError(
                f"must be numbers, but holds {cells[row].as_py()!r}",
                row=row,
                value=cells[row].as_py(),
            ) from None


def bare_cells(cells: Any, text: TextFormat) -> Any:
    """Cells without blanks around them; marks of gaps in blanks are gaps."""
    if not pa.types.is_string(cells.type):
        return cells
    if not text.padded:
        return cells
    bare = pc.utf8_trim_whitespace(cells)
    marks = pa.array(["", *text.missing_marks], pa.string())
    return pc.if_else(pc.is_in(bare, marks), pa.scalar(None, pa.string()), bare)


def unified(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The type that holds what several types hold."""
    known = list(dict.fromkeys(kind for kind in kinds if kind != pa.null()))
    if not known:
        return pa.null()
    if len(known) == 1:
        return known[0]
    if all(is_number(kind) and kind != pa.bool_() for kind in known):
        return pa.float64()
    return pa.string()


def undecorated(cells: Any, text: TextFormat) -> Any:
    """Numbers without signs of currencies, per cent and thousands."""
    bare = pc.replace_substring_regex(cells, _DECORATION, r"\1")
    bare = pc.replace_substring_regex(bare, r"[\s$€£¥\x{00a0}\x{202f}]", "")
    if text.thousands.strip():
        bare = pc.replace_substring(bare, text.thousands, "")
    return _with_points(bare, text)


def _with_points(cells: Any, text: TextFormat) -> Any:
    """Numbers with points, where they have commas."""
    if text.decimal == ".":
        return cells
    if not text.thousands or text.thousands != ".":
        has_point = pc.match_substring(cells, ".")
        if pc.any(has_point).as_py():  # no number, then
            return cells
    return pc.replace_substring(cells, text.decimal, ".")


def _are_truths(cells: Any) -> bool:
    known = pa.array(["true", "false", "True", "False", "TRUE", "FALSE"])
    return bool(pc.all(pc.is_in(cells, known)).as_py())
