"""What commands have in common: options, and what runs around each of them."""

import functools
import inspect
from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.console import Output
from rhokit.cli.errors import debugging, report, warnings_as_lines

ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
]
DataPaths = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files or folders: CSV, TSV, Parquet, Arrow; - is standard input.",
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
ModelOutput = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The model file.", show_default=False
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The target's column, where the model does not know it.",
    ),
]

_SHARED = {
    "as_json": Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")
    ],
    "quiet": Annotated[
        bool, typer.Option("--quiet", "-q", help="No tables, progress or warnings.")
    ],
    "debug": Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; also RHOKIT_DEBUG=1.")
    ],
}


def command(function):
    """A function that takes an Output as a command: shared options, errors as lines.

    The function's first parameter is ``out``; what it returns is the exit code, 0
    where it returns None.
    """
    name = function.__name__.rstrip("_")

    @functools.wraps(function)
    def run(*, as_json, quiet, debug, **options):
        out = Output(json=as_json, quiet=quiet)
        try:
            with out.progress(), warnings_as_lines(name):
                return function(out, **options) or 0
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError):
                raise
            return report(name, error, debug=debugging(debug))

    own = list(inspect.signature(function).parameters.values())[1:]
    shared = [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind
        )
        for key, kind in _SHARED.items()
    ]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    del run.__wrapped__
    run.__signature__ = inspect.Signature([*own, *shared])
    run.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
    return run


def names_of(given, known):
    """Column names from ``a,b`` and repeated options; a known name may have commas."""
    names = []
    for text in given or []:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    return names
