"""When rows came: numbers, or dates and times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Times:
    """Times as numbers, and what they are.

    Parameters
    ----------
    values : array of shape (n,)
        Of dates, microseconds since 1970.
    are_dates : bool
    """

    values: Floats
    are_dates: bool

    def shown(self, row: int) -> Any:
        """The time of a row as users know it."""
        return shown_time(float(self.values[row]), self.are_dates)


def times_of(given: Any) -> Times:
    """Numbers, dates (of NumPy, pandas, polars, Python) or ISO texts as times.

    Examples
    --------
    >>> times_of(["2013-03-01", "2013-03-02T12:00"]).shown(1)
    np.datetime64('2013-03-02T12:00:00')
    >>> times_of([3, 4.5]).shown(0)
    3.0
    """
    values = np.asarray(given)
    are_dates = values.dtype.kind not in "iuf"
    if are_dates:
        dates = _dates(values)
        found = dates.astype(np.float64)
        found[np.isnat(dates)] = np.nan
    else:
        found = values.astype(np.float64)
    if found.ndim != 1:
        raise ValueError(f"times must have the shape (n,), got {found.shape}")
    unknown = np.flatnonzero(~np.isfinite(found))
    if len(unknown):
        raise DataError("has no time", row=int(unknown[0]))
    return Times(found, are_dates)


def _dates(values: NDArray[Any]) -> NDArray[np.datetime64]:
    """Dates, times or ISO texts as microseconds; those with a zone become UTC."""
    try:
        if values.dtype.kind != "M":
            values = np.array([_without_zone(each) for each in values.ravel()])
        return values.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "times must be numbers, dates or texts such as 2013-03-01T12:00, got "
            f"{values.ravel()[:1].tolist()}"
        ) from error


def _without_zone(given: Any) -> Any:
    if isinstance(given, str):
        given = datetime.fromisoformat(given)
    if isinstance(given, datetime) and given.tzinfo is not None:
        given = given.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(given, "us")


def shown_time(value: float, is_date: bool) -> Any:
    """A time as users know it: a number, or a date to the second."""
    if not is_date:
        return value
    date = np.datetime64(round(value), "us").astype("datetime64[s]")
    day = date.astype("datetime64[D]")
    return day if day == date else date
