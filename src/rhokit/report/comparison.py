"""A page about what has changed between two data sets."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rhokit
from rhokit.drift import ColumnChange, Comparison
from rhokit.drift.comparison import p_text
from rhokit.io.atomic import write_atomically
from rhokit.report.change_charts import change_chart
from rhokit.report.page import page_template, with_assets
from rhokit.report.sections import Entry, Figure, Section
from rhokit.report.tables import Cell, Header, HtmlTable, number_cell
from rhokit.report.words import fixed, percent

_MOST_PICTURES, _MOST_PAIRS = 12, 100
_ABOUT_P = (
    "Rows of both sides are exchanged at random to learn what chance makes of all "
    "these figures; p-values of columns and pairs are corrected for there being "
    "several. The distance is the part of the rows that would have to be others for "
    "both sides to be the same."
)


@dataclass(frozen=True)
class PageFacts:
    """What the head of a page says besides its title."""

    source: str | None
    written: str
    version: str


def write_comparison(
    comparison: Comparison,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
) -> Path:
    """Write one HTML page about a comparison, for a colleague to open.

    Parameters
    ----------
    comparison : Comparison
        Of :func:`rhokit.compare`.
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
    >>> from rhokit.report import write_comparison
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(300, 2)), rng.normal([0, 1], 1, size=(300, 2))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "change.html"
    >>> page = write_comparison(rhokit.compare(old, new), path)
    >>> "The data have changed" in page.read_text()
    True
    """
    text = page_template().render(
        with_assets(
            title=title or comparison.verdict.partition(":")[0].capitalize(),
            lede=f"{comparison.rows_text}.",
            facts=PageFacts(
                source, datetime.date.today().isoformat(), rhokit.__version__
            ),
            tiles=_tiles(comparison),
            sections=_sections(comparison),
        )
    )
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error
    return Path(path)


def _tiles(found: Comparison) -> list[Entry]:
    return [
        Entry("p-value", _p(found.p_value)),
        Entry("effect, of 1", fixed(found.effect, 2)),
        Entry(
            "changed columns", f"{len(found.changed_columns)} of {len(found.columns)}"
        ),
        Entry("changed pairs", str(len(found.changed_pairs))),
    ]


def _p(p: float) -> str:
    return p_text(p).removeprefix("p ").removeprefix("= ")


def _sections(found: Comparison) -> list[Section]:
    shown = found.changed_columns or found.columns[:4]
    pictures = [_figure(each) for each in shown[:_MOST_PICTURES]]
    sections = [
        Section(
            "changes",
            "What it looks like",
            intro="Old rows are filled bars, new ones a line; the most changed column "
            "comes first.",
            figures=tuple(pictures),
        ),
        Section("columns", "Columns", tables=(_table(found.columns),), about=_ABOUT_P),
    ]
    if found.changed_pairs:
        sections.append(_pairs(found))
    if found.predictions:
        intro = "What the old model predicts for the old rows and for the new ones."
        figures = tuple(_figure(each) for each in found.predictions)
        tables = (_table(found.predictions),)
        sections.append(
            Section("predictions", "Predictions", intro, figures=figures, tables=tables)
        )
    if found.skipped:
        entries = tuple(Entry(name, why) for name, why in found.skipped.items())
        sections.append(Section("skipped", "Not compared", entries=entries))
    return sections


def _figure(column: ColumnChange) -> Figure:
    return Figure(change_chart(column), f"{column.name}: {column.text}")


def _table(columns: tuple[ColumnChange, ...]) -> HtmlTable:
    headers = (
        Header("column", False),
        Header("change", False),
        Header("distance", True),
        Header("p-value", True),
        Header("missing before", True),
        Header("missing now", True),
    )
    rows = [
        (
            Cell(c.name, c.name),
            Cell(c.text, c.text),
            Cell(fixed(c.distance, 3), c.distance if np.isfinite(c.distance) else None),
            Cell(_p(c.p_value), c.p_value),
            number_cell(_known(c.old_missing), percent),
            number_cell(_known(c.new_missing), percent),
        )
        for c in columns
    ]
    return HtmlTable("Columns, the most changed one first", headers, tuple(rows))


def _known(share: float) -> float | None:
    return None if np.isnan(share) else share


def _pairs(found: Comparison) -> Section:
    headers = (
        Header("columns", False),
        Header("before", True),
        Header("now", True),
        Header("p-value", True),
    )
    rows = tuple(
        (
            Cell(" and ".join(pair.names), pair.names[0]),
            Cell(fixed(pair.old, 2), pair.old),
            Cell(fixed(pair.new, 2), pair.new),
            Cell(_p(pair.p_value), pair.p_value),
        )
        for pair in found.changed_pairs[:_MOST_PAIRS]
    )
    intro = (
        "Columns that go together in another way than before, whatever became of each "
        "by itself: rank correlations, and Cramér's V where one holds categories."
    )
    table = HtmlTable("Pairs of columns, the most changed one first", headers, rows)
    return Section("pairs", "Pairs of columns", intro, tables=(table,))
