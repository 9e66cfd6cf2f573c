"""When rows of a stream come: never before those that came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rhokit.batch import Batch
from rhokit.drift.times import Times, shown_time, times_of
from rhokit.errors import DataError
from rhokit.streams.history import History


class Clock:
    """The time of the last row, and whether times are dates.

    Parameters
    ----------
    history : History, optional
        That times are for.
    """

    def __init__(self, history: History | None) -> None:
        self._wanted = history is not None
        times = [p.stop_time for p in history.periods] if history else []
        self._last = times[-1] if times else None
        self.are_dates = history.are_dates if history and self._last else None
        self._counts_rows = bool(times) and self._last is None

    def of(self, given: Any) -> Times | None:
        """A time, checked; None where rows have none."""
        return self._checked(None if given is None else times_of([given]))

    def tick(self, now: Times | None) -> float | None:
        """Remember the time of a row that came."""
        self._remember(now)
        return None if now is None else float(now.values[-1])

    def stamped(self, batch: Batch, given: Any) -> Batch:
        """Rows with their times."""
        times = self._checked(None if given is None else times_of(given))
        if times is not None and len(times.values) != len(batch):
            raise ValueError(
                f"time must have a value for each of the {len(batch):,} rows, got "
                f"{len(times.values):,}"
            )
        if not len(batch):
            return batch
        self._remember(times)
        return batch if times is None else replace(batch, times=times.values)

    def _remember(self, times: Times | None) -> None:
        if times is None:
            self._counts_rows = True
        else:
            self._last, self.are_dates = float(times.values[-1]), times.are_dates

    def _checked(self, times: Times | None) -> Times | None:
        """Times that go on where the last ones ended."""
        if times is None:
            if self._last is not None:
                raise ValueError("time must be given: rows before had one")
            return None
        if not self._wanted:
            raise ValueError("time needs a stream with a history: Stream(history=1000)")
        if self._counts_rows:
            raise ValueError("time cannot be given: rows before had none")
        if self.are_dates not in (None, times.are_dates):
            wanted = "dates" if self.are_dates else "numbers"
            raise ValueError(f"times must be {wanted}, as of the rows before")
        start = times.values[:1] if self._last is None else [self._last]
        steps = np.diff(np.concatenate([start, times.values]))
        back = np.flatnonzero(steps < 0)
        if len(back):
            row = int(back[0])
            now = shown_time(float(times.values[row]), times.are_dates)
            raise DataError(f"came at {now}, before the row ahead of it", row=row)
        return times
