"""From numbers to words: the sections of a report."""

from rhokit.report.facts import Facts
from rhokit.report.sections.fitted import fitted_section
from rhokit.report.sections.parts import Entry, Figure, Section
from rhokit.report.sections.shape import (
    density_section,
    row_sections,
    spectrum_section,
)
from rhokit.report.sections.sure import sure_sections

__all__ = ["Entry", "Figure", "Section", "all_sections"]


def all_sections(facts: Facts) -> list[Section]:
    """The sections of a report in their order, without those that do not apply."""
    sections = [
        *sure_sections(facts),
        density_section(facts),
        *row_sections(facts),
        spectrum_section(facts),
        fitted_section(facts),
    ]
    return [section for section in sections if section is not None]
