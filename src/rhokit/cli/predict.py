"""``rhokit predict``: classes with their probabilities, values with intervals."""

from typing import Annotated

import typer

from rhokit.cli.errors import UsageError, UserError
from rhokit.cli.options import DataPaths, ModelPath, RowsOutput, Target
from rhokit.cli.score import Gaps, Keep, Missing


def predict(
    out,
    model: ModelPath,
    data: DataPaths,
    output: RowsOutput = None,
    coverage: Annotated[
        float,
        typer.Option(help="Of values: the interval holds so large a share of them."),
    ] = 0.9,
    keep: Keep = None,
    missing: Gaps = Missing.refuse,
    target: Target = None,
):
    """The class of every row with probabilities, or its value with an interval.

    Rows keep their order. Where the table has the target's column, it is left out of
    the rows, and what was predicted is compared with it.
    """
    from rhokit.cli.answers import predictions
    from rhokit.cli.models import load_model
    from rhokit.cli.responses import Question, answer
    from rhokit.cli.sources import opened

    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}")
    loaded = load_model(model)
    if loaded.kind == "density":
        raise UserError(
            f"{model}: was fitted without a target and predicts nothing: take score, "
            "or fit a model with --target"
        )
    with opened(data) as source:
        question = Question(loaded, source, output, keep, missing.value, target)

        def ask(X, batch, whole):
            rows = question.rows
            return predictions(rows.model, X, coverage, rows.target)

        answer(out, question, ask, "Predicting", "prediction")
