"""``rhokit score``: how likely rows are."""

from enum import StrEnum
from typing import Annotated

import typer

from rhokit.cli.options import DataPaths, ModelPath, RowsOutput, Target


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    refuse = "raise"
    empty = "empty"
    integrate = "integrate"
    impute = "impute"


Gaps = Annotated[
    Missing,
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


def score(
    out,
    model: ModelPath,
    data: DataPaths,
    output: RowsOutput = None,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out",
            help="The rows are those the model was fitted to: leave each out in turn.",
        ),
    ] = False,
    keep: Keep = None,
    missing: Gaps = Missing.refuse,
    target: Target = None,
):
    """Log-density of every row: how likely it is under the model.

    Without --output, a summary on a terminal and CSV in a pipe.
    """
    from rhokit.cli.answers import log_density
    from rhokit.cli.models import load_model
    from rhokit.cli.responses import Question, answer
    from rhokit.cli.sources import opened

    loaded = load_model(model)
    with opened(data) as source:
        question = Question(loaded, source, output, keep, missing.value, target)
        if leave_one_out:
            ask = question.left_out()
        else:

            def ask(X, batch, whole):
                return {"log_density": log_density(question.rows.model, X)}

        answer(out, question, ask, "Scoring", "log_density")
