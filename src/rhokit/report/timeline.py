"""A page about when rows changed, and in which columns."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np

import rhokit
from rhokit.drift import ChangePoint, Comparison, Timeline, Track
from rhokit.io.atomic import write_atomically
from rhokit.report.change_charts import change_chart
from rhokit.report.comparison import PageFacts
from rhokit.report.page import page_template, with_assets
from rhokit.report.sections import Entry, Figure, Section
from rhokit.report.svg import Frame, Mark, chart, tag
from rhokit.report.tables import Cell, Header, HtmlTable
from rhokit.report.words import fixed, number, percent

_MOST_TRACKS, _MOST_PICTURES, _ROOM = 12, 6, 0.06
_ABOUT = (
    "A change is named where bets that ranks of rows among all before them are not "
    "even have turned 1 into so much that chance would do it less often than the rate "
    "of false alarms says, if rows are independent. It began about where these bets "
    "began to pay. Evidence is the logarithm, to base ten, of what they made of 1."
)


def write_timeline(
    timeline: Timeline,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
) -> Path:
    """Write one HTML page about a time line, for a colleague to open.

    Parameters
    ----------
    timeline : Timeline
        Of :func:`rhokit.find_changes`, or of a stream's history.
    path : str or path
        The file, written whole or not at all.
    title, source : str, optional
        The heading, and where the rows come from.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import rhokit
    >>> from rhokit.report import write_timeline
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> X[600:, 1] += 2
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "history.html"
    >>> page = write_timeline(rhokit.find_changes(X), path)
    >>> "The data have changed once" in page.read_text()
    True
    """
    text = page_template().render(
        with_assets(
            title=title or timeline.verdict.capitalize(),
            lede=_lede(timeline),
            facts=PageFacts(
                source, datetime.date.today().isoformat(), rhokit.__version__
            ),
            tiles=_tiles(timeline),
            sections=_sections(timeline),
        )
    )
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error
    return Path(path)


def _tiles(found: Timeline) -> list[Entry]:
    columns = {name for change in found.changes for name in change.columns}
    return [
        Entry("changes", str(len(found.changes))),
        Entry("changed columns", f"{len(columns)} of {len(found.tracks)}"),
        Entry("rows", number(found.n_rows, 9)),
    ]


def _lede(found: Timeline) -> str:
    if not found.edge_times:
        return f"{found.rows_text}."
    return f"{found.rows_text}. {found.edge_times[0]} to {found.edge_times[-1]}."


def _sections(found: Timeline) -> list[Section]:
    sections = []
    if found.changes:
        tables = (_changes(found.changes),)
        sections.append(Section("changes", "Changes", tables=tables, about=_ABOUT))
    tracks = found.tracks_by_change[:_MOST_TRACKS]
    sections.append(
        Section(
            "tracks",
            "Over time",
            intro="Median and middle half of numbers, frequencies of categories; "
            "upright lines where a change began.",
            figures=tuple(
                Figure(track_chart(each, found), each.name) for each in tracks
            ),
        )
    )
    pairs = zip(found.changes, found.comparisons, strict=False)
    for place, (change, comparison) in enumerate(pairs, start=1):
        if comparison is not None:
            sections.append(_before_and_after(place, change, comparison))
    if found.remarks():
        entries = tuple(Entry("note", text) for text in found.remarks())
        sections.append(Section("notes", "Notes", entries=entries))
    return sections


def _changes(changes: tuple[ChangePoint, ...]) -> HtmlTable:
    headers = (
        Header("began", False),
        Header("noticed", False),
        Header("changed", False),
        Header("evidence", True),
    )
    rows = []
    for change in changes:
        names = ", ".join(change.names)
        evidence = max(change.evidence.values(), default=0.0)
        rows.append(
            (
                Cell(_when(change.began, change.began_time), change.began),
                Cell(_when(change.noticed, change.noticed_time), change.noticed),
                Cell(names, names),
                Cell(fixed(evidence, 1), evidence),
            )
        )
    return HtmlTable("Changes in order of time", headers, tuple(rows))


def _when(row: int, time: Any) -> str:
    return f"row {row:,}" if time is None else f"{time} (row {row:,})"


def _before_and_after(
    place: int, change: ChangePoint, comparison: Comparison
) -> Section:
    named = [c for c in comparison.columns if c.name in change.columns]
    named = named or list(comparison.changed_columns)
    figures = [
        Figure(change_chart(each), f"{each.name}: {each.text}")
        for each in named[:_MOST_PICTURES]
    ]
    pairs = [pair.text for pair in comparison.changed_pairs[:_MOST_PICTURES]]
    intro = (
        f"It began about {_when(change.began, change.began_time)} and was noticed at "
        f"{_when(change.noticed, change.noticed_time)}. {comparison.rows_text}: filled "
        "bars are before, lines after."
    )
    entries = tuple(Entry("pair", text) for text in pairs)
    return Section(
        f"change-{place}",
        f"Before and after change {place}",
        intro=intro,
        figures=tuple(figures),
        entries=entries,
    )


def track_chart(track: Track, found: Timeline) -> str:
    """A column over the rows, with lines where changes began."""
    lines = {name: np.asarray(values) for name, values in track.values.items()}
    heights = np.concatenate(list(lines.values()))
    heights = heights[np.isfinite(heights)]
    low, high = (heights.min(), heights.max()) if len(heights) else (0.0, 1.0)
    room = _ROOM * (high - low) or 0.5
    edges = np.asarray(found.edges, dtype=np.float64)
    frame = Frame((edges[0], edges[-1]), (low - room, high + room))
    body = [frame.axes("row", track.name)]
    if track.kind == "number":
        body.append(_band(frame, edges, lines["low"], lines["high"]))
        shown = {"median": lines["median"]}
    else:
        shown = lines
    body += [
        tag("path", d=_steps(frame, edges, values), class_="line")
        for values in shown.values()
    ]
    top, bottom = frame.up(high + room), frame.bottom
    body += [
        tag(
            "path",
            d=f"M{frame.across(change.began):.1f} {bottom}V{top:.1f}",
            class_="limit",
        )
        for change in found.changes
    ]
    names = ("time" if found.edge_times else "row", *lines)
    label = f"{track.name} over the rows"
    return chart(
        "".join(body), label=label, names=names, marks=_marks(track, found, frame)
    )


def _steps(frame: Frame, edges: np.ndarray, heights: np.ndarray) -> str:
    """A line of steps, as the ``d`` of a path; gaps where nothing is known."""
    parts = []
    for start, stop, height in zip(edges[:-1], edges[1:], heights, strict=True):
        if np.isfinite(height):
            parts.append(
                f"M{frame.across(start):.1f} {frame.up(height):.1f}"
                f"H{frame.across(stop):.1f}"
            )
    return "".join(parts) or "M0 0"


def _band(frame: Frame, edges: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    parts = []
    for start, stop, a, b in zip(edges[:-1], edges[1:], low, high, strict=True):
        if np.isfinite(a) and np.isfinite(b):
            parts.append(
                f"M{frame.across(start):.1f} {frame.up(a):.1f}H{frame.across(stop):.1f}"
                f"V{frame.up(b):.1f}H{frame.across(start):.1f}Z"
            )
    return tag("path", d="".join(parts) or "M0 0", class_="area")


def _marks(track: Track, found: Timeline, frame: Frame) -> list[Mark]:
    """A mark for each period, at the height of its median or first category."""
    first = "median" if track.kind == "number" else next(iter(track.values))
    write = number if track.kind == "number" else percent
    times = found.edge_times or [f"{edge:,}" for edge in found.edges]
    marks = []
    for k, height in enumerate(track.values[first]):
        middle = (found.edges[k] + found.edges[k + 1]) / 2
        words = [
            write(each[k]) if np.isfinite(each[k]) else "–"
            for each in track.values.values()
        ]
        place = frame.up(height) if np.isfinite(height) else frame.bottom
        marks.append(Mark(frame.across(middle), place, (str(times[k]), *words)))
    return marks
