"""Options of how text files are read: one group, the same in all commands."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rhokit.cli.failures import UsageError

_PANEL = "How text files are read, detected otherwise"

Reading = Mapping[str, Any]
"""Of a command's parameter: the options of the group that were given."""

GROUP: dict[str, Any] = {
    "delimiter": Annotated[
        str | None,
        typer.Option(
            metavar="CHAR", help="Between columns; tab works.", rich_help_panel=_PANEL
        ),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            metavar="CHAR", help="Decimal sign: . or ,", rich_help_panel=_PANEL
        ),
    ],
    "thousands": Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="Between thousands.", rich_help_panel=_PANEL),
    ],
    "quote": Annotated[
        str | None,
        typer.Option(
            metavar="CHAR",
            help='Around cells; "" for nothing.',
            rich_help_panel=_PANEL,
        ),
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Such as latin-1 or utf-16.", rich_help_panel=_PANEL
        ),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row holds names.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ],
    "missing_marks": Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Cells that stand for missing values.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ],
    "date_format": Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Such as %d.%m.%Y", rich_help_panel=_PANEL),
    ],
    "sheet": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of an Excel workbook.", rich_help_panel=_PANEL
        ),
    ],
}
"""Annotations of the options, by the names of their parameters."""


def reading_of(options: dict[str, Any]) -> Reading:
    """The options of the group that were given, taken out of all options."""
    from rhokit.streams.text_format import check_reading

    found = {name: options.pop(name) for name in GROUP}
    given = {name: value for name, value in found.items() if value not in (None, [])}
    if given.get("delimiter") in ("tab", "\\t"):
        given["delimiter"] = "\t"
    if "missing_marks" in given:
        marks = [mark for text in given["missing_marks"] for mark in text.split(",")]
        given["missing_marks"] = [mark for mark in marks if mark]
    try:
        return dict(check_reading(given))
    except ValueError as error:
        raise UsageError(f"--{error}") from None
