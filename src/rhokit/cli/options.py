"""Options that commands share, and the code that runs around each of them."""

import functools
import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rhokit.cli.console import Output
from rhokit.cli.failures import (
    UsageError,
    debugging,
    report_failure,
    warnings_as_lines,
)
from rhokit.cli.reading_options import GROUP, reading_of

ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
]
DataPaths = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files, patterns or folders: CSV, JSON lines, Parquet, Arrow, Excel, "
        "packed or not; - is standard input.",
        show_default=False,
    ),
]
RowsOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write all rows here: .csv, .tsv, .parquet, .arrow or .feather.",
    ),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In CSV and TSV, put ' before text that starts with =, +, - or @, which "
        "spreadsheets would run.",
    ),
]
ModelOutput = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The model file.", show_default=False
    ),
]
KeepAll = Annotated[
    bool,
    typer.Option(
        "--keep-all",
        help="Keep columns that say nothing about a row: names and numbers of rows, "
        "and what is the same in all.",
    ),
]
BlockRows = Annotated[
    str | None,
    typer.Option(
        metavar="ROWS",
        help="So many rows in a row may depend on each other, as in a time series; "
        "auto estimates it.",
    ),
]
PageOutput = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page, an .html file."),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The target's column, where the model does not know it.",
    ),
]


class Precision(StrEnum):
    """Precision of numbers."""

    float32 = "float32"
    float64 = "float64"


class QueryGaps(StrEnum):
    """Ways to answer for rows that lack a value."""

    refuse = "raise"
    empty = "empty"
    integrate = "integrate"
    impute = "impute"


Missing = Annotated[
    QueryGaps,
    typer.Option(
        metavar="HOW",
        help="Rows that lack values: raise (an error), empty (no answer), integrate "
        "(answered from the other columns), impute (filled in as by fit).",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B|all",
        help="Columns to carry over to the output.",
        show_default=False,
    ),
]
Coverage = Annotated[
    float,
    typer.Option(help="Of values: the interval holds so large a share of them."),
]

# The parameter of commands that read tables: see rhokit.cli.reading_options.
_READING = "reading"
# Of those that draw something at random.
_SEED = "seed"
_SHARED: dict[str, Any] = {
    "as_json": Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")
    ],
    "quiet": Annotated[
        bool, typer.Option("--quiet", "-q", help="No tables, progress or warnings.")
    ],
    "seed": Annotated[int, typer.Option(help="Of everything random.")],
    "debug": Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; also RHOKIT_DEBUG=1.")
    ],
}


def command(function: Callable[..., int | None]) -> Callable[..., int]:
    """A function that takes an Output as a command: shared options, errors as lines.

    The function's first parameter is ``out``, and one called ``reading`` stands for the
    options of how text is read; what it returns is the exit code, 0
    where it returns None.
    """
    name = function.__name__.rstrip("_")

    @functools.wraps(function)
    def run(
        *, as_json: bool, quiet: bool, debug: bool, seed: int, **options: Any
    ) -> int:
        out = Output(json=as_json, quiet=quiet)
        try:
            with out.progress(), warnings_as_lines(name):
                if draws:
                    options[_SEED] = seed
                if reads:
                    options[_READING] = reading_of(options)
                return function(out, **options) or 0
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError):
                raise
            return report_failure(name, error, debug=debugging(debug))

    own = list(inspect.signature(function).parameters.values())[1:]
    reads, draws = (any(p.name == n for p in own) for n in (_READING, _SEED))
    own = [p for p in own if p.name not in (_READING, _SEED)]
    shared = [
        _option(key, kind, 0 if key == _SEED else False)
        for key, kind in _SHARED.items()
    ]
    shared += [_option(key, kind, None) for key, kind in GROUP.items() if reads]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    del vars(run)["__wrapped__"]
    run.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
    vars(run)["__signature__"] = inspect.Signature([*own, *shared])
    return run


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def check_coverage(coverage: float) -> None:
    """Refuse what is no share of the values."""
    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}")


def names_of(given: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """Column names from ``a,b`` and repeated options; a known name may have commas."""
    names: list[str] = []
    known = set(known)
    for text in given or []:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    return names
