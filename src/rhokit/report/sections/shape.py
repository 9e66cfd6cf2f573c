"""The sections on densities, single rows, and the spectrum."""

import math

from rhokit.inspection import Spectrum
from rhokit.report import charts
from rhokit.report.column_charts import column_chart
from rhokit.report.columns import PROBABILITIES, ColumnShape, Pair
from rhokit.report.facts import Facts
from rhokit.report.sections.parts import Entry, Figure, Section
from rhokit.report.tables import (
    MOST_COLUMNS,
    HtmlTable,
    missed_table,
    unlikely_table,
    wrong_table,
)
from rhokit.report.words import count, fixed, percent


def density_section(facts: Facts) -> Section | None:
    """A curve per column, and a map of a pair."""
    figures = [] if facts.pair is None else [_pair_figure(facts.pair)]
    for shape in facts.columns:
        svg = column_chart(shape)
        if svg is not None:
            figures.append(Figure(svg, _column_words(shape)))
    if not figures:
        return None
    shown, total = len(facts.columns), facts.fitted.n_columns
    is_density = facts.fitted.kind == "density"
    has_curves = any(
        shape.curve is not None or any(map(math.isfinite, shape.probabilities))
        for shape in facts.columns
    )
    return Section(
        "columns",
        "Densities" if is_density else "Columns",
        intro="" if shown == total else f"The first {shown} of {total} columns.",
        figures=tuple(figures),
        about=_about_columns(is_density, has_curves),
    )


def _pair_figure(pair: Pair) -> Figure:
    inner, outer = percent(PROBABILITIES[-1], 0), percent(PROBABILITIES[0], 0)
    words = (
        f"{pair.names[0]} and {pair.names[1]} together. The shades hold from {outer} "
        f"(faintest) to {inner} (strongest) of the density; dots are rows. "
        f"Correlation {fixed(pair.correlation, 2)}."
    )
    return Figure(charts.pair_chart(pair), words, is_tall=True)


def _column_words(shape: ColumnShape) -> str:
    if shape.categories:
        return shape.name
    if shape.stretched is not None:
        return f"{shape.name}: bars are rows, the line is the model."
    if shape.histogram is None or not shape.histogram.n_outside:
        return ""
    outside = count(shape.histogram.n_outside, "row lies", "rows lie")
    return f"{outside} outside the picture."


def _about_columns(is_density: bool, has_curves: bool) -> str:
    if has_curves:
        return (
            "Curves, and lines across bars, are the model's own density of a column, "
            "whatever the others are; bars are the rows of this report. Curves that "
            "stay below their bars say that the map represents the rows poorly."
        )
    if is_density:
        return (
            "Bars are the rows of this report. This model has no density of single "
            "columns."
        )
    return "Bars are the rows of this report."


def row_sections(facts: Facts) -> list[Section]:
    """Rows that deserve a look: unlikely, wrongly answered, or far off."""
    kinds, rows = facts.kinds, facts.rows
    logs, name = facts.density.scores.log_densities, facts.score_words
    table = unlikely_table(logs, rows, kinds, facts.reasons, name)
    found = [_row_section(facts, "unlikely", "Least likely rows", table)]
    classes = facts.classes
    if classes is not None and classes.wrong is not None and len(classes.wrong):
        table = wrong_table(classes, rows, kinds)
        found.append(_row_section(facts, "wrong", "Surest wrong answers", table))
    known = [value for value in facts.values if value.truth is not None]
    if known:
        tables = tuple(missed_table(value, rows, kinds) for value in known)
        found.append(_row_section(facts, "missed", "Farthest off", *tables))
    return found


def _row_section(facts: Facts, key: str, heading: str, *tables: HtmlTable) -> Section:
    about = "Values outside the middle 99\u00a0% of their column are underlined. "
    about += "Click a heading to sort."
    if facts.rows.is_sample:
        about += f" Of a sample of {len(facts.rows):,} rows."
    hidden = facts.fitted.n_columns - MOST_COLUMNS
    if hidden > 0:
        about += f" {count(hidden, 'more column is', 'more columns are')} not shown."
    return Section(key, heading, tables=tables, about=about)


def spectrum_section(facts: Facts) -> Section | None:
    """Eigenvalues, and how many of them count."""
    spectrum = facts.spectrum
    if spectrum is None:
        return None
    rank = spectrum.ranks[0] if spectrum.ranks else facts.fitted.rank
    return Section(
        "spectrum",
        "Spectrum",
        entries=tuple(_spectrum_entries(spectrum, rank)),
        figures=(
            Figure(
                charts.spectrum_chart(spectrum, rank),
                "Eigenvalues of the density matrix of all rows, largest first.",
            ),
        ),
        about="An eigenvalue is the share of the rows' total that lies along its "
        "eigenvector. Where they fall steeply, few directions say nearly everything "
        "and a smaller rank would do.",
    )


def _spectrum_entries(spectrum: Spectrum, rank: int | None) -> list[Entry]:
    total = f"{spectrum.dim:,}"
    entries = [
        Entry(
            "Effective rank",
            fixed(spectrum.effective_rank[0], 1),
            f"Of {total} directions, the state uses about as many as this.",
        )
    ]
    if rank is None:
        words = "Nothing is cut off."
        return [*entries, Entry("Rank kept", "all", words)]
    words = "Of each matrix."
    if spectrum.kept is not None and rank < spectrum.eigenvalues.shape[1]:
        words = f"They hold {percent(spectrum.kept[0])} of the total."
    return [*entries, Entry("Rank kept", f"{rank:,}", words)]
