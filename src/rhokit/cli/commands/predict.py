"""``rhokit predict``: classes with their probabilities, values with intervals."""

from types import MappingProxyType
from typing import Any

from rhokit.cli.console import Output
from rhokit.cli.failures import UserError
from rhokit.cli.options import (
    Coverage,
    DataPaths,
    EscapeFormulas,
    Keep,
    Missing,
    ModelPath,
    QueryGaps,
    RowsOutput,
    Target,
    check_coverage,
)
from rhokit.cli.reading_options import Reading


def predict(
    out: Output,
    model: ModelPath,
    data: DataPaths,
    output: RowsOutput = None,
    coverage: Coverage = 0.9,
    keep: Keep = None,
    missing: Missing = QueryGaps.refuse,
    target: Target = None,
    escape_formulas: EscapeFormulas = False,
    reading: Reading = MappingProxyType({}),
) -> None:
    """The class of every row with probabilities, or its value with an interval.

    Rows keep their order. Where the table has the target's column, it is left out of
    the rows, and what was predicted is compared with it.
    """
    from rhokit.cli.answer_columns import label_columns, value_columns
    from rhokit.cli.answer_summaries import LabelAnswers, ValueAnswers
    from rhokit.cli.responses import Question, answer
    from rhokit.cli.sources import opened
    from rhokit.cli.stored_models import WITHOUT_TARGET, load_model

    check_coverage(coverage)
    stored = load_model(model)
    if stored.kind in WITHOUT_TARGET:
        raise UserError(
            f"{model}: was fitted without a target and predicts nothing: take score, "
            "or fit a model with --target"
        )
    with opened(data, reading) as source:
        question = Question(
            stored, source, output, keep, missing.value, target, escape_formulas
        )
        rows = question.rows

        def ask(X: Any, batch: Any, whole: Any) -> Any:
            if rows.has_labels:
                return label_columns(rows.model, X)
            return value_columns(rows.model, X, coverage, rows.target)

        summary = (LabelAnswers if rows.has_labels else ValueAnswers)(rows)
        answer(out, question, ask, summary, "Predicting")
