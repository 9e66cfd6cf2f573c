"""``rhokit score``: how likely rows are."""

from types import MappingProxyType
from typing import Annotated

import typer

from rhokit.cli.console import Output
from rhokit.cli.options import (
    DataPaths,
    EscapeFormulas,
    Keep,
    Missing,
    ModelPath,
    QueryGaps,
    RowsOutput,
    Target,
)
from rhokit.cli.reading_options import Reading


def score(
    out: Output,
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
    missing: Missing = QueryGaps.refuse,
    target: Target = None,
    escape_formulas: EscapeFormulas = False,
    reading: Reading = MappingProxyType({}),
) -> None:
    """Log-density of every row: how likely it is under the model.

    Without --output, a summary on a terminal and CSV in a pipe.
    """
    from rhokit.cli.answer_summaries import ScoreAnswers
    from rhokit.cli.responses import Question, answer
    from rhokit.cli.sources import opened
    from rhokit.cli.stored_models import load_model

    stored = load_model(model)
    with opened(data, reading) as source:
        question = Question(
            stored, source, output, keep, missing.value, target, escape_formulas
        )
        ask = question.left_out() if leave_one_out else question.scored
        answer(out, question, ask, ScoreAnswers(stored.score_name), "Scoring")
