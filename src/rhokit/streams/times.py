"""Dates and times that are written out."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.errors import DataError
from rhokit.streams.arrow import casts, first_refused

ISO = "ISO"
"""Dates, or times with or without fractions and zones, as ISO 8601 has them."""
TIME_FORMATS = (
    ISO,
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%d-%m-%Y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%Y-%m",
)
"""Formats that are tried, in this order."""
_ISO_DATE = (
    r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
)


def time_format_of(cells: Any, given: str = "") -> str:
    """The first format that all cells have; empty if there is none."""
    first = cells[0].as_py()
    if not any(letter.isdigit() for letter in first) or len(first) > 40:
        return ""
    formats = (given,) if given else TIME_FORMATS
    few = cells[:20]
    for each in formats:
        if _are(few, each) and _are(cells, each):
            return each
    return ""


def times_of(cells: Any, form: str) -> Any:
    """Cells as times; one that is none is refused by its row."""
    trimmed = pc.utf8_trim_whitespace(cells)
    if form == ISO:
        made = _iso_times(trimmed)
    else:
        made = pc.strptime(trimmed, format=form, unit="us", error_is_null=True)
        made = _without_overflow(trimmed, made, form)
    bad = pc.and_(pc.is_valid(trimmed), pc.is_null(made))
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        value = cells[row].as_py()
        name = "an ISO date" if form == ISO else f"a date such as {form}"
        raise DataError(f"must be {name}, but holds {value!r}", row=row, value=value)
    return made


def _iso_times(cells: Any) -> Any:
    fits = pc.match_substring_regex(cells, _ISO_DATE)
    kept = pc.if_else(fits, cells, pa.scalar(None, pa.string()))
    zoned = pc.match_substring_regex(kept, r"(Z|[+-]\d{2}:?\d{2})$")
    has_zones = pc.any(zoned).as_py()
    kind = pa.timestamp("us", "UTC" if has_zones else None)
    if not casts(kept, kind):  # a day that is none of its month
        good = kept[: first_refused(kept, kind)]
        kept = pa.concat_arrays([good, pa.nulls(len(kept) - len(good), kept.type)])
    return pc.cast(pc.cast(kept, kind), pa.timestamp("us"))


def _without_overflow(cells: Any, made: Any, form: str) -> Any:
    """Times, missing where the day is none of its month, such as February 31."""
    if "%d" not in form:
        return made
    pattern = re.sub(r"%.", ".+?", re.escape(form).replace("%d", r"(?P<day>\d+)"))
    day = pc.struct_field(pc.extract_regex(cells, f"^{pattern}$"), "day")
    same = pc.equal(pc.cast(day, pa.int64()), pc.day(made))
    return pc.if_else(same, made, pa.scalar(None, made.type))


def _are(cells: Any, form: str) -> bool:
    try:
        times_of(cells, form)
    except (DataError, pa.ArrowException):
        return False
    return True
