"""Tables of a report: cells with a text to read and a value to sort by."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.frame_times import time_writer
from rhokit.inspection import (
    ColumnDescription,
    Confusion,
    InspectedRows,
    PredictedLabels,
    PredictedValues,
    least_likely,
)
from rhokit.inspection.rows import is_number
from rhokit.inspection.subjects import NUMBER
from rhokit.report.columns import ColumnRange
from rhokit.report.words import MISSING, column_writer, fixed, number, percent
from rhokit.validation import is_missing

MOST_ROWS, MOST_COLUMNS = 20, 40
_HEATS = 9
# Values beyond these quantiles of their column are marked.
_USUAL = (0.005, 0.995)


@dataclass(frozen=True)
class Cell:
    """A text, what it is sorted by (None: nothing, always last), and how it looks."""

    text: str
    value: float | str | None
    is_marked: bool = False
    heat: int | None = None


@dataclass(frozen=True)
class Header:
    """The name of a column, and whether it holds numbers."""

    text: str
    is_number: bool


@dataclass(frozen=True)
class HtmlTable:
    """Rows of cells under headers, which readers can sort."""

    caption: str
    headers: tuple[Header, ...]
    rows: tuple[tuple[Cell, ...], ...]


def number_cell(value: float | None, write: Callable[[Any], str] = number) -> Cell:
    """A number, or a dash where there is none."""
    if value is None:
        return Cell("–", None)
    return Cell(write(value), None if math.isnan(value) else float(value))


def columns_table(
    columns: Sequence[ColumnDescription], ranges: Sequence[ColumnRange]
) -> HtmlTable:
    """The columns of the rows, and how wide the kernel is in each."""
    ends = {
        "minimum": [each.minimum for each in ranges],
        "median": [each.median for each in ranges],
        "maximum": [each.maximum for each in ranges],
    }
    numbers: dict[str, list[Any]] = {
        **ends,
        "categories": [each.n_categories for each in ranges],
        "missing": [each.n_missing or None for each in ranges],
        "bandwidth": [column.bandwidth for column in columns],
    }
    shown = {name: v for name, v in numbers.items() if any(x is not None for x in v)}
    headers = [Header("column", False), Header("kind", False)]
    headers += [Header(word, True) for word in shown]
    rows = []
    for place, column in enumerate(columns):
        in_units = [values[place] for values in ends.values()]
        write = column_writer(value for value in in_units if value is not None)
        cells = [Cell(column.name, column.name), Cell(column.kind, column.kind)]
        for name, values in shown.items():
            cells.append(number_cell(values[place], write if name in ends else number))
        rows.append(tuple(cells))
    return HtmlTable("Columns of the rows", tuple(headers), tuple(rows))


def unlikely_table(
    logs: np.ndarray,
    rows: InspectedRows,
    kinds: Sequence[str],
    reasons: Mapping[int, str] | None = None,
    name: str = "log-density",
) -> HtmlTable:
    """The least likely rows first, with their values.

    Parameters
    ----------
    logs : array of shape (n,)
        Scores of the rows, the lower the less likely.
    rows : InspectedRows
    kinds : sequence of str
        Of the columns.
    reasons : mapping of int to str, optional
        Why rows are unlikely, by their places.
    name : str
        Of the scores.
    """
    places = least_likely(logs, MOST_ROWS).tolist()
    scores = [Cell(_log(logs[place]), float(logs[place])) for place in places]
    lead = [(Header(name, True), scores)]
    if reasons:
        texts = [reasons.get(place, MISSING) for place in places]
        lead.append((Header("why", False), [Cell(text, text) for text in texts]))
    return rows_table("The least likely rows", places, lead, rows, kinds)


def wrong_table(
    classes: PredictedLabels, rows: InspectedRows, kinds: Sequence[str]
) -> HtmlTable:
    """Wrong answers that were given with the highest probability."""
    places = np.asarray(classes.wrong)[:MOST_ROWS].tolist()
    truth, answers = np.asarray(rows.y), classes.predicted
    lead = [
        (Header("label", False), [_word(truth[place]) for place in places]),
        (Header("answer", False), [_word(answers[place]) for place in places]),
        (
            Header("probability", True),
            [
                Cell(percent(classes.confidence[p]), float(classes.confidence[p]))
                for p in places
            ],
        ),
    ]
    return rows_table("The surest wrong answers", places, lead, rows, kinds)


def missed_table(
    value: PredictedValues, rows: InspectedRows, kinds: Sequence[str]
) -> HtmlTable:
    """Predictions that are farthest off."""
    truth = np.asarray(value.truth)
    errors = value.predicted - truth
    places = np.argsort(-np.abs(errors), kind="stable")[:MOST_ROWS].tolist()
    parts = ("true", truth), ("predicted", value.predicted), ("error", errors)
    lead = []
    for name, values in parts:
        shown = [float(values[place]) for place in places]
        write = column_writer(shown)
        lead.append((Header(name, True), [Cell(write(v), v) for v in shown]))
    return rows_table(f"Farthest off: {value.name}", places, lead, rows, kinds)


def rows_table(
    caption: str,
    places: Sequence[int],
    lead: Sequence[tuple[Header, list[Cell]]],
    rows: InspectedRows,
    kinds: Sequence[str],
) -> HtmlTable:
    """Some rows: their labels, a few leading columns, and their values."""
    labels = [rows.labels[place] for place in places]
    numeric = all(is_number(label) for label in labels)
    columns = [(Header("row", numeric), [_label(label) for label in labels]), *lead]
    for place, kind in list(enumerate(kinds))[:MOST_COLUMNS]:
        cells = _value_cells(rows, place, kind, places)
        heading, _ = time_writer(str(rows.names[place])) or (rows.names[place], None)
        columns.append((Header(heading, kind == NUMBER), cells))
    headers = tuple(header for header, _ in columns)
    body = tuple(zip(*(cells for _, cells in columns), strict=True))
    return HtmlTable(caption, headers, body)


def confusion_table(confusion: Confusion) -> HtmlTable:
    """Labels down, answers across, darker for a larger share of the label's rows."""
    headers = [Header("label", False)]
    headers += [Header(word, True) for word in (*confusion.predicted, "right")]
    rows = []
    for k, (truth, counts) in enumerate(
        zip(confusion.truths, confusion.counts.tolist(), strict=True)
    ):
        total = sum(counts)
        cells = [
            Cell(number(n, 9), n, heat=math.ceil(_HEATS * n / total) if total else 0)
            for n in counts
        ]
        known = k < len(counts) and confusion.predicted[k] == truth
        right = counts[k] / total if known and total else math.nan
        rows.append((Cell(truth, truth), *cells, number_cell(right, percent)))
    return HtmlTable("Labels (down) and answers (across)", tuple(headers), tuple(rows))


def coverage_table(values: Iterable[PredictedValues]) -> HtmlTable:
    """Coverage that was asked for, what was achieved, and how wide intervals are."""
    headers = [Header("target", False), Header("asked for", True)]
    headers += [Header("inside", True), Header("mean width", True)]
    rows = []
    for value in values:
        achieved = value.achieved or (None,) * len(value.nominal)
        for asked, got, width in zip(
            value.nominal, achieved, value.widths, strict=True
        ):
            cells = [
                Cell(value.name, value.name),
                number_cell(asked, _whole_percent),
            ]
            cells.append(number_cell(got, percent))
            rows.append((*cells, number_cell(width)))
    return HtmlTable("Intervals", tuple(headers), tuple(rows))


def _whole_percent(fraction: float) -> str:
    return percent(fraction, 0)


def _log(value: float) -> str:
    return "zero density" if value == -math.inf else fixed(value, 2)


def _label(label: Any) -> Cell:
    if is_number(label):
        return Cell(str(label), float(label))
    return _word(label)


def _word(value: Any) -> Cell:
    if is_missing(value):
        return Cell(MISSING, None)
    return Cell(str(value), str(value))


def _value_cells(
    rows: InspectedRows, place: int, kind: str, places: Sequence[int]
) -> list[Cell]:
    if kind != NUMBER:
        return [_word(rows.columns[place][k]) for k in places]
    values = rows.numbers(place)
    low, high = np.nanquantile(values, _USUAL) if not np.isnan(values).all() else (0, 0)
    as_time = time_writer(str(rows.names[place]))
    write = as_time[1] if as_time else column_writer(values[list(places)])
    return [
        Cell(
            MISSING if np.isnan(values[k]) else write(values[k]),
            None if np.isnan(values[k]) else float(values[k]),
            bool(values[k] < low or values[k] > high),
        )
        for k in places
    ]
