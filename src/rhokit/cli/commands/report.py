"""``rhokit report``: a page about a model and a table, for a colleague to open."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from rhokit.cli.console import Output, byte_size, number, properties
from rhokit.cli.options import DataPaths, ModelPath, Target
from rhokit.cli.reading_options import Reading

if TYPE_CHECKING:
    from rhokit.cli.sources import Source
    from rhokit.cli.table_sample import TableSample


def report(
    out: Output,
    model: ModelPath,
    data: DataPaths,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="An .html file.", show_default=False
        ),
    ],
    title: Annotated[str | None, typer.Option(help="The page's heading.")] = None,
    target: Target = None,
    seed: int = 0,
    reading: Reading = MappingProxyType({}),
) -> None:
    """A page about a model and a table, for a colleague to open.

    What was fitted, how sure it is, what is odd. The page needs no network.
    """
    from rhokit.cli.responses import Question
    from rhokit.cli.sources import check_output, opened
    from rhokit.cli.stored_models import load_model
    from rhokit.cli.table_sample import MOST_SAMPLED_ROWS, sampled
    from rhokit.report import write_report

    stored = load_model(model)
    with opened(data, reading) as source:
        check_output(output, [*source.files, model], (".html", ".htm"))
        question = Question(stored, source, None, None, "empty", target)
        known = question.is_training or None
        training = known if stored.note.weight is None else False
        sample = sampled(question, MOST_SAMPLED_ROWS, seed)
        with source.named_errors(), sample.placed_errors():
            write_report(
                stored.model,
                sample.table,
                output,
                y=sample.target,
                title=title,
                source=_described(source, sample),
                training=training,
                labels=sample.labels,
                targets=question.rows.target,
            )
    size = output.stat().st_size
    told = {
        "model": str(model),
        "rows": sample.n_rows,
        "training_rows": training,
        "output": str(output),
        "bytes": size,
    }
    pairs = [
        ("rows", number(sample.n_rows)),
        ("these are", "the rows it was fitted to" if training else "new rows"),
        ("written to", f"{output} ({byte_size(size)})"),
    ]
    out.result(told, properties(pairs))


def _described(source: "Source", sample: "TableSample") -> str:
    if sample.table.num_rows == sample.n_rows:
        return source.name
    taken = f"{number(sample.table.num_rows)} of {number(sample.n_rows)} rows"
    return f"{source.name}, {taken}"
