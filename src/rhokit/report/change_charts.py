"""Pictures of a column before and now."""

import numpy as np

from rhokit.drift import ColumnChange
from rhokit.report.charts import ROOM, bar_chart, bars
from rhokit.report.svg import Frame, Mark, chart, polyline, tag
from rhokit.report.words import number, percent

_SIDES = ("before", "now")


def change_chart(column: ColumnChange, sides: tuple[str, str] = _SIDES) -> str:
    """Old rows as bars, new ones as a line over them or across them.

    ``sides`` are the words for both.
    """
    if column.kind == "category":
        return _categories(column, sides)
    return _numbers(column, sides)


def _categories(column: ColumnChange, sides: tuple[str, str]) -> str:
    pairs = tuple(zip(column.bins, column.old_counts, strict=True))
    after = tuple(column.new[name] for name in column.bins)
    return bar_chart(column.name, pairs, after, of_line=sides[1])


def _numbers(column: ColumnChange, names: tuple[str, str]) -> str:
    edges = np.asarray(column.bins)
    sides = [
        np.asarray(counts) / max(sum(counts), 1)
        for counts in (column.old_counts, column.new_counts)
    ]
    top = max(float(side.max()) for side in sides) * ROOM
    frame = Frame((edges[0], edges[-1]), (0.0, top))
    old, new = sides
    body = [
        frame.axes(column.name, "share of the rows"),
        bars(frame, edges, old, "bar faint"),
        tag("path", d=_steps(frame, edges, new), class_="line"),
    ]
    marks = [
        Mark(
            frame.across((low + high) / 2),
            frame.up(now),
            (f"{number(low)} to {number(high)}", percent(before), percent(now)),
        )
        for low, high, before, now in zip(
            edges[:-1], edges[1:], old.tolist(), new.tolist(), strict=True
        )
    ]
    label = f"Values of {column.name}: {' and '.join(names)}"
    heads = (column.name, *names)
    return chart("".join(body), label=label, names=heads, marks=marks)


def _steps(frame: Frame, edges: np.ndarray, heights: np.ndarray) -> str:
    """The outline of bars, as the ``d`` of a path."""
    x, y = np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)
    places = zip(x.tolist(), y.tolist(), strict=True)
    return polyline((frame.across(a), frame.up(b)) for a, b in places)
