"""A page about synthetic rows: how like real ones they are."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import rhokit
from rhokit.inspection import Fidelity
from rhokit.io.atomic import write_atomically
from rhokit.report.change_charts import change_chart
from rhokit.report.comparison import PageFacts
from rhokit.report.page import page_template, with_assets
from rhokit.report.sections import Entry, Figure, Section
from rhokit.report.tables import Cell, Header, HtmlTable
from rhokit.report.words import fixed, percent

_MOST_PICTURES, _MOST_PAIRS = 12, 100
_ABOUT_PRIVACY = (
    "Distances are those of positions among the real values of each column; of "
    "categories that differ they are one. Rows that a model draws are made of what "
    "many rows have in common, but nothing here proves that no row can be guessed: "
    "where that must not be, ask for differential privacy."
)


def write_fidelity(
    found: Fidelity,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
) -> Path:
    """Write one HTML page about synthetic rows, for a colleague to open.

    Parameters
    ----------
    found : Fidelity
        Of :func:`rhokit.inspection.fidelity`.
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
    >>> from rhokit.inspection import fidelity
    >>> from rhokit.report import write_fidelity
    >>> rng = np.random.default_rng(0)
    >>> found = fidelity(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "synthetic.html"
    >>> "Synthetic rows" in write_fidelity(found, path).read_text()
    True
    """
    rows = found.comparison
    text = page_template().render(
        with_assets(
            title=title or "Synthetic rows",
            lede=f"{rows.n_new:,} synthetic rows beside {rows.n_old:,} real ones.",
            facts=PageFacts(
                source, datetime.date.today().isoformat(), rhokit.__version__
            ),
            tiles=_tiles(found),
            sections=_sections(found),
        )
    )
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error
    return Path(path)


def _tiles(found: Fidelity) -> list[Entry]:
    return [
        Entry("told apart, AUC", fixed(found.auc, 2)),
        Entry("columns apart, of 1", fixed(found.distance, 3)),
        Entry("very near a real row", percent(found.nearness.near_share)),
        Entry("copies", percent(found.nearness.synthetic_copies)),
    ]


def _sections(found: Fidelity) -> list[Section]:
    columns = found.comparison.columns
    names = ("real", "synthetic")
    pictures = tuple(
        Figure(change_chart(each, names), f"{each.name}: {each.text}")
        for each in columns[:_MOST_PICTURES]
    )
    entries = tuple(Entry(*(_upper(word) for word in each)) for each in found.entries())
    sections = [
        Section("figures", "In figures", entries=entries, about=_ABOUT_PRIVACY),
        Section(
            "columns",
            "Columns",
            intro="Real rows are filled bars, synthetic ones a line; the column that "
            "differs most comes first.",
            figures=pictures,
            tables=(_columns(found),),
        ),
    ]
    if found.pairs:
        intro = "Rank correlations, and Cramér's V where one holds categories."
        table = _pairs(found)
        sections.append(Section("pairs", "Pairs of columns", intro, tables=(table,)))
    if found.comparison.skipped:
        left_out = tuple(Entry(*each) for each in found.comparison.skipped.items())
        sections.append(Section("skipped", "Not compared", entries=left_out))
    return sections


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _columns(found: Fidelity) -> HtmlTable:
    headers = (
        Header("column", False),
        Header("real → synthetic", False),
        Header("distance", True),
    )
    rows = tuple(
        (
            Cell(each.name, each.name),
            Cell(each.text, each.text),
            Cell(fixed(each.distance, 3), each.distance),
        )
        for each in found.comparison.columns
    )
    return HtmlTable("Columns, the one that differs most first", headers, rows)


def _pairs(found: Fidelity) -> HtmlTable:
    headers = (
        Header("columns", False),
        Header("real", True),
        Header("synthetic", True),
        Header("difference", True),
    )
    rows = tuple(
        (
            Cell(" and ".join(pair.names), pair.names[0]),
            *(
                Cell(fixed(value, 2), value)
                for value in (pair.old, pair.new, pair.new - pair.old)
            ),
        )
        for pair in found.pairs[:_MOST_PAIRS]
    )
    return HtmlTable("Pairs, the one that differs most first", headers, rows)
