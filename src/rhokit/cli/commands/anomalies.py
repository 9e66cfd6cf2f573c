"""``rhokit anomalies``: the least likely rows of a table."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rhokit.cli.console import Output, number, preview, properties
from rhokit.cli.failures import FINE, LIMIT_PASSED
from rhokit.cli.options import (
    DataPaths,
    EscapeFormulas,
    Missing,
    ModelPath,
    QueryGaps,
    RowsOutput,
    Target,
)
from rhokit.cli.reading_options import Reading

if TYPE_CHECKING:
    from rhokit.cli.unlikely import Unlikely


def anomalies(
    out: Output,
    model: ModelPath,
    data: DataPaths,
    output: RowsOutput = None,
    count: Annotated[
        int, typer.Option("--count", "-k", min=1, help="How many rows to show.")
    ] = 20,
    why: Annotated[
        bool, typer.Option("--why", help="Say which columns make them unlikely.")
    ] = False,
    fail_below: Annotated[
        float | None,
        typer.Option(
            metavar="LOG_DENSITY",
            help="End with code 3 if some row's score is below this.",
        ),
    ] = None,
    missing: Missing = QueryGaps.refuse,
    target: Target = None,
    escape_formulas: EscapeFormulas = False,
    reading: Reading = MappingProxyType({}),
) -> int:
    """The least likely rows, with their values and their numbers in the file.

    Rows that the model was fitted to are left out of it one by one, so that no row
    vouches for itself.
    """
    from rhokit.cli.responses import Question
    from rhokit.cli.sources import opened
    from rhokit.cli.stored_models import load_model
    from rhokit.cli.unlikely import unlikely_rows
    from rhokit.cli.writers import written

    stored = load_model(model)
    with opened(data, reading) as source:
        question = Question(
            stored, source, output, ["all"], missing.value, target, escape_formulas
        )
        found = unlikely_rows(question, count, fail_below, why=why)
        passed = found.n_below > 0
        if output is not None:
            with written(output, escape=escape_formulas) as give:
                give(found.table)
    told = {
        "rows": found.n_rows,
        "unanswered": found.n_unanswered,
        "leave_one_out": found.left_out,
        "fail_below": fail_below,
        "below": None if fail_below is None else found.n_below,
        "failed": passed,
        "output": None if output is None else str(output),
        "anomalies": found.table.to_pylist(),
    }
    out.result(told, *_shown(found, fail_below, output))
    return LIMIT_PASSED if passed else FINE


def _shown(
    found: "Unlikely", fail_below: float | None, output: Path | None
) -> Iterator[Any]:
    remark = "-o FILE writes all" if output is None else None
    table, texts = found.table, []
    if "why" in table.column_names:
        texts = table.column("why").to_pylist()
        table = table.drop_columns(["why"])
    yield preview(_for_people(table), remark)
    if texts:
        places = [f"row {place}" for place in table.column("row").to_pylist()]
        yield properties(zip(places, texts, strict=True))
    how = "left out of the model one by one" if found.left_out else "as new rows"
    below = None
    if fail_below is not None:
        below = f"{number(found.n_below)} below {number(fail_below)}"
    lacking = found.n_unanswered
    yield properties(
        [
            ("rows", f"{number(found.n_rows)}, scored {how}"),
            ("without a score", number(lacking) if lacking else None),
            ("limit", below),
            ("written to", None if output is None else str(output)),
        ]
    )


def _for_people(table: Any) -> Any:
    """Rows with short names of their files, if there are several."""
    import pyarrow as pa

    files = [Path(file).name for file in table.column("file").to_pylist()]
    place = table.column_names.index("file")
    table = table.drop_columns(["file"])
    if len(set(files)) == 1:
        return table
    return table.add_column(place, "file", pa.array(files))
