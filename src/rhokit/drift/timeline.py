"""When and in what rows changed, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.drift.comparison import Comparison
from rhokit.drift.tables import Column, Table
from rhokit.drift.times import Times
from rhokit.drift.watch import ChangePoint

Floats = NDArray[np.float64]
# Periods that a time line is drawn of, rows of one at least, and labels of categories.
_MOST_PERIODS, _FEWEST_ROWS, _MOST_LABELS = 60, 20, 6
# Columns that a text names of a change.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Track:
    """What a column was like, period by period.

    Parameters
    ----------
    name : str
    kind : {"number", "category"}
    values : dict
        From ``"low"``, ``"median"`` and ``"high"`` (quartiles), or from the most
        frequent categories, to a number for each period.
    """

    name: str
    kind: str
    values: dict[str, tuple[float, ...]]

    @classmethod
    def of(cls, columns: list[Column]) -> Track:
        """The track of a column's parts, a part for each period."""
        first = columns[0]
        if first.labels is None:
            quartiles = np.stack([_quartiles(c.values) for c in columns])
            names = ("low", "median", "high")
            pairs = zip(names, quartiles.T.tolist(), strict=True)
        else:
            shares = np.stack([_shares(c) for c in columns])
            order = np.argsort(-shares.mean(axis=0), kind="stable")[:_MOST_LABELS]
            labels = [str(first.labels[k]) for k in order.tolist()]
            pairs = zip(labels, shares[:, order].T.tolist(), strict=True)
        values = {name: tuple(each) for name, each in pairs}
        return cls(first.name, first.kind, values)


def _quartiles(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.full(3, np.nan)
    return np.asarray(np.quantile(known, [0.25, 0.5, 0.75]))


def _shares(column: Column) -> Floats:
    known = column.values[~np.isnan(column.values)].astype(np.intp)
    counts = np.bincount(known, minlength=len(column.labels or ()))
    return np.asarray(counts / max(len(known), 1))


@dataclass(frozen=True)
class Timeline:
    """Rows in order of time: when they changed, and in which columns.

    Parameters
    ----------
    changes : tuple of ChangePoint
        In order of time.
    n_rows : int
    false_alarms : float
        How many there may be per row.
    block_rows : int
        Rows that were averaged, because they may depend on each other.
    watches_from : int
        Number of the row from which on a further change can be found.
    edges : tuple of int
        Numbers of the rows at which periods begin, and of the end.
    edge_times : tuple, optional
        When these rows came.
    tracks : tuple of Track
        What the columns were like in these periods.
    comparisons : tuple of Comparison
        Of the rows before and after each change, where there are enough.
    notes : tuple of str
        What else is to be said.
    """

    changes: tuple[ChangePoint, ...]
    n_rows: int
    false_alarms: float
    block_rows: int
    watches_from: int
    edges: tuple[int, ...] = ()
    edge_times: tuple[Any, ...] | None = None
    tracks: tuple[Track, ...] = ()
    comparisons: tuple[Comparison | None, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a change was found."""
        return bool(self.changes)

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if not self.changes:
            return "no change was found"
        many = len(self.changes)
        times = {1: "once", 2: "twice"}.get(many, f"{many:,} times")
        return f"the data have changed {times}"

    @property
    def rows_text(self) -> str:
        """How many rows were watched, and how surely."""
        blocks = f", in blocks of {self.block_rows:,}" if self.block_rows > 1 else ""
        rate = f"{1 / self.false_alarms:,.0f}"
        return f"{self.n_rows:,} rows{blocks}; at most one false alarm in {rate} rows"

    def lines(self) -> list[tuple[str, str, str]]:
        """Where each change began, where it was noticed, and in what it is."""
        return [
            (
                _place(change.began, change.began_time),
                _place(change.noticed, change.noticed_time),
                _listed(change.names),
            )
            for change in self.changes
        ]

    def remarks(self) -> list[str]:
        """What else is to be said."""
        waits = self.watches_from - self.n_rows
        found = list(self.notes)
        if waits > 0:
            found.append(
                f"a change after the last one can be found from row "
                f"{self.watches_from:,} on"
            )
        return found

    @property
    def tracks_by_change(self) -> tuple[Track, ...]:
        """Tracks of columns, those that changed first."""
        named = [name for change in self.changes for name in change.columns]
        named += [n for change in self.changes for pair in change.pairs for n in pair]
        places = {name: k for k, name in enumerate(dict.fromkeys(named))}
        return tuple(
            sorted(self.tracks, key=lambda track: places.get(track.name, len(places)))
        )

    def to_frame(self) -> Any:
        """Changes as a pandas frame."""
        import pandas as pd

        rows = [
            {
                "began": change.began,
                "noticed": change.noticed,
                "began_time": change.began_time,
                "noticed_time": change.noticed_time,
                "changed": ", ".join(change.names),
            }
            for change in self.changes
        ]
        names = ["began", "noticed", "began_time", "noticed_time", "changed"]
        return pd.DataFrame(rows, columns=names)

    def plot(self, **kwargs: Any) -> Any:
        """Draw it: see :class:`rhokit.plots.TimelineDisplay`."""
        from importlib import import_module

        return import_module("rhokit.plots").TimelineDisplay.from_timeline(
            self, **kwargs
        )

    def __str__(self) -> str:
        rows = [("began", "noticed", "changed"), *self.lines()]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        table = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            for row in (rows if self.changes else [])
        ]
        head = [self.verdict, self.rows_text, *([""] if table else [])]
        return "\n".join(line.rstrip() for line in [*head, *table, *self.remarks()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{x}</th>" for x in ("began", "noticed", "changed"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        table = f"<table><tr>{head}</tr>{rows}</table>" if rows else ""
        rest = "".join(f"<p>{escape(text)}</p>" for text in self.remarks())
        return (
            f"<p><strong>{escape(self.verdict)}</strong><br>{escape(self.rows_text)}"
            f"</p>{table}{rest}"
        )


def _place(row: int, time: Any) -> str:
    return f"row {row:,}" if time is None else f"{time} (row {row:,})"


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def periods_of(n_rows: int, block_rows: int) -> tuple[int, ...]:
    """Where periods of a time line begin, and where the last one ends."""
    least = max(_FEWEST_ROWS, block_rows)
    many = max(min(_MOST_PERIODS, n_rows // least), 1)
    return tuple(np.linspace(0, n_rows, many + 1).astype(int).tolist())


def tracks_of(table: Table, edges: tuple[int, ...]) -> tuple[Track, ...]:
    """What the columns of a table were like between these rows."""
    spans = list(pairwise(edges))
    return tuple(
        Track.of([column.take(slice(*span)) for span in spans])
        for column in table.columns
    )


def edge_times(edges: tuple[int, ...], times: Times | None) -> tuple[Any, ...] | None:
    """When the rows of edges came; of the end, the last row."""
    if times is None:
        return None
    last = len(times.values) - 1
    return tuple(times.shown(min(edge, last)) for edge in edges)
