"""``rhokit export``: a model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rhokit.cli.console import Output, byte_size, properties
from rhokit.cli.options import Coverage, ModelPath, Precision, check_coverage


class Database(StrEnum):
    """Whose SQL a query is written in."""

    duckdb = "duckdb"
    postgresql = "postgresql"
    sqlite = "sqlite"


def export(
    out: Output,
    model: ModelPath,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="An .onnx file, or an .sql file.",
            show_default=False,
        ),
    ],
    sql: Annotated[
        bool,
        typer.Option("--sql", help="Write a query that scores rows inside a database."),
    ] = False,
    dialect: Annotated[
        Database, typer.Option(help="Whose SQL the query is written in.")
    ] = Database.duckdb,
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE", help="What the query selects from, as behind FROM."
        ),
    ] = "data",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Columns of the table that go beside the answers."
        ),
    ] = None,
    coverage: Coverage = 0.9,
    dtype: Annotated[
        Precision, typer.Option(help="Precision of what an ONNX graph gives.")
    ] = Precision.float32,
) -> None:
    """Write a model as an ONNX graph, or with --sql as a query, for other programs."""
    from rhokit.cli.sources import check_output
    from rhokit.cli.stored_models import load_model

    check_coverage(coverage)
    stored = load_model(model)
    check_output(output, [model], (".sql",) if sql else (".onnx",))
    if sql:
        kept = [name.strip() for name in keep.split(",")] if keep else []
        _write_query(stored.model, output, dialect, table, kept, coverage)
    else:
        from rhokit.export import export_onnx

        export_onnx(stored.model, output, coverage=coverage, output_dtype=dtype.value)
    size = output.stat().st_size
    told = {"model": str(model), "output": str(output), "bytes": size}
    pairs = [
        ("model", f"{model} ({type(stored.model).__name__})"),
        ("written to", f"{output} ({byte_size(size)})"),
    ]
    out.result(told, properties(pairs))


def _write_query(
    model: Any,
    output: Path,
    dialect: Database,
    table: str,
    keep: list[str],
    coverage: float,
) -> None:
    from rhokit.export import export_sql
    from rhokit.io.atomic import write_atomically

    query = export_sql(model, dialect.value, table=table, keep=keep, coverage=coverage)
    write_atomically(output, query.encode())
