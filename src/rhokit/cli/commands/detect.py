"""``rhokit detect``: the rows of a table that are unlike the others, and why."""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any

import typer

from rhokit.cli.commands.anomalies import anomalies
from rhokit.cli.console import Output
from rhokit.cli.failures import UsageError
from rhokit.cli.options import (
    DataPaths,
    EscapeFormulas,
    KeepAll,
    QueryGaps,
    RowsOutput,
)
from rhokit.cli.reading_options import Reading

_NAMES: dict[str, Any] = {"metavar": "A,B", "show_default": False}


def detect(
    out: Output,
    data: DataPaths,
    output: RowsOutput = None,
    count: Annotated[
        int, typer.Option("--count", "-k", min=1, help="How many rows to show.")
    ] = 10,
    usual: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="Compare with the rows of this file, which holds no outliers, instead "
            "of with each other.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to look at; without it all.", **_NAMES),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out.", **_NAMES)
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(help="Columns of numbers that are codes.", **_NAMES),
    ] = None,
    keep_all: KeepAll = False,
    fail_below: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="End with code 3 if some row's p-value is below this."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the model of outliers in this file."),
    ] = None,
    escape_formulas: EscapeFormulas = False,
    seed: int = 0,
    reading: Reading = MappingProxyType({}),
) -> int:
    """The oddest rows of a table, and which columns make them odd.

    Fits a model of outliers to the rows and asks it for them, each left out in turn.
    Rows that lack a value take no part in the fit; they are compared with the others in
    the columns that they have.
    """
    from rhokit.cli.fit_request import FitRequest, fit_and_save
    from rhokit.cli.sources import STANDARD_INPUT

    if STANDARD_INPUT in data:
        raise UsageError(
            "detect reads its data twice: save standard input to a file first"
        )
    limit = _log_of(fail_below)
    request = FitRequest(
        kind="outliers",
        columns=columns or [],
        drop=drop or [],
        categories=categories or [],
        missing="drop",
        keep_all=keep_all,
        seed=seed,
        reading=reading,
        parameters={} if usual is None else {"training": "clean"},
    )
    learned = data if usual is None else [str(usual)]
    with TemporaryDirectory(prefix="rhokit-") as folder:
        path = model or Path(folder) / "outliers.rho"
        fit_and_save(Output(quiet=True), learned, path, request)
        return anomalies(
            out,
            model=path,
            data=data,
            output=output,
            count=count,
            why=True,
            fail_below=limit,
            missing=QueryGaps.integrate,
            escape_formulas=escape_formulas,
            reading=reading,
        )


def _log_of(level: float | None) -> float | None:
    """The limit of the scores, which are logarithms of p-values."""
    import math

    if level is None:
        return None
    if not 0 < level < 1:
        raise UsageError(f"--fail-below must be a p-value in (0, 1), got {level}")
    return math.log(level)
