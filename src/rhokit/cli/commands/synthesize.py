"""``rhokit synthesize``: new rows that are like those of a table."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rhokit.cli.console import Output, listing, number, properties
from rhokit.cli.failures import UsageError, UserError
from rhokit.cli.options import EscapeFormulas, PageOutput

if TYPE_CHECKING:
    from rhokit.cli.fit_request import FitRequest
    from rhokit.cli.stored_models import StoredModel
    from rhokit.inspection import Fidelity

_NAMES: dict[str, Any] = {"metavar": "A,B", "show_default": False}


def synthesize(
    out: Output,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A model of a density, or a table to make one of.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where rows go: .csv, .tsv, .parquet, .arrow or .feather.",
            show_default=False,
        ),
    ],
    count: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", min=1, help="How many; without it as many as were learned."
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="A value that all rows have; may be given several times.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Of a table: columns to learn; without it all.", **_NAMES),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Of a table: columns to leave out.", **_NAMES),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(help="Of a table: columns of numbers that are codes.", **_NAMES),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of a table: keep the model in this file."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Compare the rows with those that were learned."
        ),
    ] = True,
    report: PageOutput = None,
    escape_formulas: EscapeFormulas = False,
) -> None:
    """New rows that are like those of a table, and how like them they are.

    Columns keep their types, and values their ends: whole numbers are whole, and only
    categories that were learned come up.
    """
    from rhokit.cli.fit_request import FitRequest
    from rhokit.cli.sources import check_output
    from rhokit.cli.synthesis import compared, conditions_of, write_rows
    from rhokit.cli.writers import ENDINGS

    check_output(output, [Path(source)], ENDINGS)
    if report is not None:
        check_output(report, [Path(source), output], (".html", ".htm"))
        if given or not check:
            raise UsageError("--report is for rows that are compared: without --given")
    request = FitRequest(
        kind="density",
        columns=columns or [],
        drop=drop or [],
        categories=categories or [],
        missing="drop",
        seed=seed,
    )
    stored = _density(source, model, request)
    conditions = conditions_of(stored, given or [])
    n_rows = count or max(round(stored.estimator.fitted_model().total_weight), 1)
    some = write_rows(stored, output, n_rows, conditions, seed, escape_formulas)
    found = compared(stored, some, seed) if check and not conditions else None
    if report is not None and found is not None:
        from rhokit.report import write_fidelity

        write_fidelity(found, report, source=source)
    told = {
        "source": source,
        "rows": n_rows,
        "conditions": conditions,
        "fidelity": None if found is None else found.to_json(),
        "report": None if report is None else str(report),
        "output": str(output),
    }
    pairs = [
        ("rows", number(n_rows)),
        *(("given", f"{name} = {value}") for name, value in conditions.items()),
        ("page", None if report is None else str(report)),
        ("written to", str(output)),
    ]
    out.result(told, properties(pairs), *_findings(found))


def _density(source: str, output: Path | None, request: "FitRequest") -> "StoredModel":
    """The model of a model file, or one that is fitted to a table."""
    from rhokit.cli.drift_sources import compared_side
    from rhokit.cli.fit_request import fit_and_save
    from rhokit.cli.sources import STANDARD_INPUT
    from rhokit.cli.stored_models import load_model

    if source == STANDARD_INPUT:
        raise UsageError("synthesize takes a file, not standard input")
    stored = compared_side(source).stored
    if stored is None:
        with TemporaryDirectory(prefix="rhokit-") as folder:
            path = output or Path(folder) / "density.rho"
            fit_and_save(Output(quiet=True), [source], path, request)
            return load_model(path)
    if request.columns or request.drop or request.categories or output:
        raise UsageError(
            "--columns, --drop, --categories and --model are for tables, and "
            f"{source} is a model"
        )
    if stored.kind != "density":
        raise UserError(
            f"{source}: is a model of {stored.kind}, and rows are drawn from a "
            "density: fit one without --target"
        )
    return stored


def _findings(found: "Fidelity | None") -> list[Any]:
    """A table of how like real rows the new ones are."""
    if found is None:
        return []
    headers = ["", "found", "meaning"]
    return [listing(headers, found.entries(), text=set(headers))]
