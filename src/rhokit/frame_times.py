"""Dates and times in frames: as a number since a start, and parts that come round.

What is made of a column is said by the names of what is made, and by nothing else: a
column ``sold`` becomes ``sold (days since 2000)`` and, where its values span enough for
it, ``sold (hour)``, ``sold (weekday)`` and ``sold (month)``. So a model that knows the
names knows what to make of other rows.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

HOURS = tuple(f"{hour:02d}" for hour in range(24))
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
CYCLES = {"hour": HOURS, "weekday": WEEKDAYS, "month": MONTHS}
"""Parts of times that come round, by their names."""
# How fast the overlap falls with the steps between two places.
_SHARPNESS = 2.8
_START = np.datetime64("2000-01-01", "us")
_SECOND, _HOUR, _DAY = 10**6, 3600 * 10**6, 86_400 * 10**6
_UNITS = {"days": _DAY, "hours": _HOUR, "seconds": _SECOND}
_NUMBER = re.compile(r"(?P<name>.*) \((?P<unit>days|hours|seconds) since 2000\)")
_PART = re.compile(r"(?P<name>.*) \((?P<part>hour|weekday|month)\)")
# Microseconds from 2000 to times that are no longer shown as such.
_FARTHEST = 2e17
# Microseconds that values span, from which on a unit or a part is told apart.
_SPAN_OF_DAYS, _SPAN_OF_HOURS = 3 * _DAY, 3 * _HOUR
_SPAN = {"hour": 2 * _DAY, "weekday": 14 * _DAY, "month": 730 * _DAY}

Times = NDArray[Any]
"""Times as ``datetime64[us]``, of shape (n,), NaT where they are missing."""


@dataclass(frozen=True)
class TimeSpan:
    """What times span, which adds up over batches.

    Parameters
    ----------
    first, last : int
        Microseconds since 2000.
    seen : dict of frozenset
        Which hours, weekdays and months were seen.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.frame_times import TimeSpan
    >>> days = np.datetime64("2024-01-01") + np.arange(30)
    >>> TimeSpan.of(days).names("sold")
    ['sold (days since 2000)', 'sold (weekday)']
    """

    first: int
    last: int
    seen: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, times: Times) -> "TimeSpan | None":
        """What some times span; None if all are missing."""
        known = times[~np.isnat(times)].astype("datetime64[us]")
        if not len(known):
            return None
        ends = (known.min() - _START, known.max() - _START)
        first, last = (int(end / np.timedelta64(1, "us")) for end in ends)
        seen = {part: frozenset(np.unique(_codes(known, part))) for part in CYCLES}
        return cls(first, last, seen)

    def __add__(self, other: "TimeSpan") -> "TimeSpan":
        seen = {part: self.seen[part] | other.seen[part] for part in CYCLES}
        ends = min(self.first, other.first), max(self.last, other.last)
        return TimeSpan(*ends, seen)

    def names(self, column: str) -> list[str]:
        """Names of what is made of a column of such times."""
        span = self.last - self.first
        unit = "days" if span >= _SPAN_OF_DAYS else "hours"
        unit = unit if span >= _SPAN_OF_HOURS else "seconds"
        parts = [
            f"{column} ({part})"
            for part, least in _SPAN.items()
            if span >= least and len(self.seen[part]) > 1
        ]
        return [f"{column} ({unit} since 2000)", *parts]


def column_of(name: str) -> str | None:
    """The column of times that something of this name is made of, None if it is none.

    Examples
    --------
    >>> from rhokit.frame_times import column_of
    >>> column_of("sold (weekday)"), column_of("sold")
    ('sold', None)
    """
    found = _NUMBER.fullmatch(name) or _PART.fullmatch(name)
    return None if found is None else found["name"]


def cycle_of(name: str) -> tuple[str, ...] | None:
    """The categories of a part of times that has this name, None of other columns."""
    found = _PART.fullmatch(name)
    return None if found is None else CYCLES[found["part"]]


def made_of(times: Times, name: str) -> NDArray[Any]:
    """Numbers, NaN for gaps, or codes of categories, -1 for gaps, by their name."""
    found, missing = _NUMBER.fullmatch(name), np.isnat(times)
    if found is not None:
        passed = (times.astype("datetime64[us]") - _START) / np.timedelta64(1, "us")
        return np.where(missing, np.nan, passed / _UNITS[found["unit"]])
    part = _PART.fullmatch(name)
    assert part is not None
    codes = np.full(len(times), -1, np.int32)
    codes[~missing] = _codes(times[~missing], part["part"])
    return codes


def cycle_states(count: int) -> NDArray[np.float64]:
    """States of places on a circle, (C, C): those of neighbours overlap by half."""
    places = np.arange(count)
    steps = np.abs(places[:, None] - places)
    nearness = np.exp(-_SHARPNESS * np.minimum(steps, count - steps) ** 2.0)
    return np.sqrt(nearness / nearness.sum(axis=1, keepdims=True))


def _codes(times: Times, part: str) -> NDArray[Any]:
    """Hours, weekdays or months of times without gaps."""
    if part == "hour":
        return (times.astype("datetime64[h]").astype(np.int64) % 24).astype(int)
    if part == "weekday":  # 1970 began on a Thursday
        return (times.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return times.astype("datetime64[M]").astype(np.int64) % 12


# ---- frames -----------------------------------------------------------------------


def has_times(X: Any) -> bool:
    """Whether rows are a frame some of whose columns are dates or times."""
    schema = getattr(X, "schema", None) or getattr(X, "dtypes", None)
    if schema is None:
        return False
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    return any(dtype in (nw.Datetime, nw.Date) for dtype in frame.schema.values())


def with_parts(X: Any, known: Iterable[str] | None = None) -> Any:
    """A frame with numbers and parts in place of dates and times.

    Parameters
    ----------
    X : frame
    known : iterable of str, optional
        Names that are wanted; without them they are chosen by what the column spans.
    """
    frame = nw.from_native(X, eager_only=True)
    make = _MAKERS[str(frame.implementation.value)]
    kept: list[Any] = []
    for column in frame.iter_columns():
        if column.dtype not in (nw.Datetime, nw.Date):
            kept.append(column)
            continue
        name, times = str(column.name), _times_of(column)
        span = TimeSpan.of(times)
        if known is not None:
            names = [each for each in known if column_of(each) == name]
            if not names:  # a column that nobody knows stays what it is
                kept.append(column)
        else:
            names = [f"{name} (days since 2000)"] if span is None else span.names(name)
        for each in names:
            native = make(each, made_of(times, each), cycle_of(each), column)
            kept.append(nw.from_native(native, series_only=True).alias(each))
    return frame.select(*kept).to_native()


def _times_of(column: Any) -> Times:
    """A column as times of the clock on the wall, whatever its zone."""
    if column.dtype == nw.Datetime and getattr(column.dtype, "time_zone", None):
        column = column.dt.replace_time_zone(None)
    return np.asarray(column.to_numpy()).astype("datetime64[us]")


def with_times(
    columns: Mapping[Any, NDArray[Any]],
) -> dict[Any, NDArray[Any]]:
    """Columns by name, with times in place of what was made of them.

    Parts move a time to the nearest one that has them.
    """
    made: dict[Any, NDArray[Any]] = {}
    for name, values in columns.items():
        number, part = _NUMBER.fullmatch(str(name)), _PART.fullmatch(str(name))
        if number is not None:
            own = number["name"]
            parts = {p: columns.get(f"{own} ({p})") for p in ("hour", "weekday")}
            made[own] = _time_of(values, number["unit"], parts)
        elif part is None or made.get(part["name"]) is None:
            made[name] = values
    return made


def _time_of(numbers: NDArray[Any], unit: str, parts: Mapping[str, Any]) -> Times:
    missing = np.isnan(numbers)
    passed = np.rint(np.where(missing, 0, numbers) * _UNITS[unit]).astype(np.int64)
    times = _START + passed.astype("timedelta64[us]")
    for part, step in (("hour", _HOUR), ("weekday", _DAY)):
        texts = parts[part]
        if texts is None:
            continue
        count = len(CYCLES[part])
        lookup = {text: code for code, text in enumerate(CYCLES[part])}
        now = _codes(times, part)
        codes = np.array(
            [lookup.get(t, n) for t, n in zip(texts, now.tolist(), strict=True)]
        )
        steps = (codes - now + count // 2) % count - count // 2
        times = times + (steps * step).astype("timedelta64[us]")
    return np.where(missing, np.datetime64("NaT"), times)


def time_writer(name: str) -> tuple[str, Callable[[float], str]] | None:
    """How people are shown numbers since 2000: a heading, and a function of numbers.

    None for other columns.

    Examples
    --------
    >>> from rhokit.frame_times import time_writer
    >>> heading, write = time_writer("sold (days since 2000)")
    >>> heading, write(8771.0), write(8771.75)
    ('sold', '2024-01-06', '2024-01-06 18:00')
    """
    found = _NUMBER.fullmatch(name)
    if found is None:
        return None
    unit = found["unit"]

    def write(value: float) -> str:
        if not abs(value) * _UNITS[unit] < _FARTHEST:
            return f"{value:g}"
        time = _time_of(np.array([value]), unit, dict.fromkeys(CYCLES))[0]
        if unit == "days" and float(value).is_integer():
            return str(time.astype("datetime64[D]"))
        steps = "datetime64[s]" if unit == "seconds" else "datetime64[m]"
        return str(time.astype(steps)).replace("T", " ")

    return found["name"], write


def _pandas(name: str, values: NDArray[Any], cycle: Any, like: Any) -> Any:
    import pandas as pd

    if cycle is not None:
        values = pd.Categorical.from_codes(values, list(cycle), ordered=True)
    return pd.Series(values, index=like.to_native().index, name=name)


def _polars(name: str, values: NDArray[Any], cycle: Any, like: Any) -> Any:
    import polars as pl

    if cycle is None:
        return pl.Series(name, values)
    texts = [None if code < 0 else cycle[code] for code in values.tolist()]
    return pl.Series(name, texts, pl.Enum(list(cycle)))


def _arrow(name: str, values: NDArray[Any], cycle: Any, like: Any) -> Any:
    import pyarrow as pa

    if cycle is None:
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    return pa.chunked_array([part_array(values, cycle)])


def part_array(codes: NDArray[Any], cycle: tuple[str, ...]) -> Any:
    """Codes of a part of times as an Arrow dictionary that has an order."""
    import pyarrow as pa

    indices = pa.array(codes, pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(cycle), ordered=True)


_MAKERS: dict[str, Callable[..., Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
}
