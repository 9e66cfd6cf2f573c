"""Sections of a report, and what they are made of."""

from dataclasses import dataclass

from rhokit.report.tables import HtmlTable


@dataclass(frozen=True)
class Entry:
    """A figure in words: what it is called, what it is, and what it means."""

    term: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture (SVG, escaped) and the words under it.

    Beside a tall one there is room for two others, one above the other.
    """

    svg: str
    caption: str
    is_tall: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading."""

    key: str
    heading: str
    intro: str = ""
    entries: tuple[Entry, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[HtmlTable, ...] = ()
    about: str = ""
