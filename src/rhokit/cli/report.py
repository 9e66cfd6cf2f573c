"""``rhokit report``: a page about a model and a table, for a colleague to open."""

from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.errors import UserError
from rhokit.cli.options import DataPaths, ModelPath, Target

# Of larger tables a sample is read, so that memory is enough.
_MOST_ROWS = 100_000


def report(
    out,
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
):
    """A page about a model and a table, for a colleague to open.

    What was fitted, how sure it is, what is odd. The page needs no network.
    """
    from rhokit.cli.console import byte_size, number, properties
    from rhokit.cli.models import load_model
    from rhokit.cli.responses import Question
    from rhokit.cli.sources import check_output, opened
    from rhokit.report import write_report

    loaded = load_model(model)
    with opened(data) as source:
        check_output(output, [*source.files, model], (".html", ".htm"))
        question = Question(loaded, source, None, None, "empty", target)
        training = loaded.note.weight is None and loaded.note.has_seen(source.files)
        sample = _sample(question)
        try:
            write_report(
                loaded.model,
                sample.table,
                output,
                y=sample.target,
                title=title,
                source=_described(source, sample),
                training=training,
            )
        except ValueError as error:
            raise UserError(f"{source.name}: {error}") from error
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


def _sample(question):
    """The whole rows of a table, or an even sample of many."""
    from rhokit.cli.sampling import sampled

    return sampled(question, _MOST_ROWS)


def _described(source, sample):
    from rhokit.cli.console import number

    if sample.table.num_rows == sample.n_rows:
        return source.name
    taken = f"{number(sample.table.num_rows)} of {number(sample.n_rows)} rows"
    return f"{source.name}, {taken}"
