"""The least likely rows of a table of any size, kept while it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rhokit.cli.answer_columns import Ask
from rhokit.cli.failures import UserError
from rhokit.cli.responses import Question
from rhokit.cli.table_files import FileBatch
from rhokit.inspection import least_likely
from rhokit.progress import ProgressBar


@dataclass(frozen=True)
class Unlikely:
    """The rows with the lowest scores, the lowest first.

    Parameters
    ----------
    table : pyarrow.Table
        ``row`` (from 1), the score (``log_density``, or the ``log_p_value`` of
        outliers), ``why`` where that was asked for, ``file``, and the values.
    n_rows, n_unanswered : int
    n_below : int
        Rows of the whole table whose score is below the limit.
    left_out : bool
        Whether every row was left out of the model that scored it.
    """

    table: pa.Table
    n_rows: int
    n_unanswered: int
    n_below: int
    left_out: bool


def unlikely_rows(
    question: Question, count: int, limit: float | None = None, *, why: bool = False
) -> Unlikely:
    """Score the rows of a question, and keep the least likely ones."""
    ask, left_out = _scorer(question)
    name = question.stored.score_name
    kept: list[pa.Table] = []
    n_rows = n_scored = n_below = 0
    with ProgressBar("Looking for anomalies") as bar:
        for batch in question.batches():
            columns, whole = question.rows.asked(batch, ask)
            logs, places = columns[name], np.flatnonzero(whole)
            n_rows, n_scored = n_rows + len(whole), n_scored + len(logs)
            n_below += 0 if limit is None else int((logs < limit).sum())
            fresh = _lowest(_numbered(batch, logs, places, question), name, count)
            kept = [_lowest(pa.concat_tables([*kept, fresh]), name, count)]
            bar.count(n_rows, question.rows.table.n_rows)
    if not n_scored:
        what = "no rows that lack no value" if n_rows else "no rows"
        raise UserError(f"{question.source.name}: there are {what}")
    table = _explained(kept[0], question) if why else kept[0]
    return Unlikely(table, n_rows, n_rows - n_scored, n_below, left_out)


def _explained(table: pa.Table, question: Question) -> pa.Table:
    """The rows with a text each that says why they are unlikely."""
    rows = question.rows
    if not hasattr(rows.model, "explain"):
        raise UserError(
            f"{question.stored.path}: a {type(rows.model).__name__} says nothing of "
            "columns: leave out --why, or take a density or a model of outliers"
        )
    values = table.select(rows.columns)
    X, _ = rows.values(FileBatch(values, question.source.name, 0))
    try:
        texts = rows.model.explain(X).texts
    except ValueError as error:
        raise UserError(f"{question.stored.path}: --why: {error}") from None
    return table.add_column(2, "why", pa.array(texts))


def _scorer(question: Question) -> tuple[Ask, bool]:
    """A scorer of rows, without themselves if the model was fitted to these files."""
    stored, rows = question.stored, question.rows
    knows = stored.note.weight is None and not rows.integrates and question.is_training
    if knows and question.can_leave_out:
        return question.left_out(), True
    return question.scored, question.is_training and question.recognises_rows


def _numbered(
    batch: FileBatch,
    logs: NDArray[Any],
    places: NDArray[np.intp],
    question: Question,
) -> pa.Table:
    """The rows of a batch that were scored: number, score, file, target, values."""
    table = batch.table.take(pa.array(places))
    columns = {
        "row": pa.array(places + batch.start + 1),
        question.stored.score_name: pa.array(logs),
        "file": pa.array([batch.file] * len(places)),
    }
    first = [name for name in question.rows.target if name in table.column_names]
    rest = [name for name in table.column_names if name not in first]
    names = [name for name in first + rest if name not in columns]
    return pa.table(
        [*columns.values(), *(table.column(name) for name in names)],
        names=[*columns, *names],
    )


def _lowest(table: pa.Table, name: str, count: int) -> pa.Table:
    logs = table.column(name).to_numpy()
    return table.take(pa.array(least_likely(logs, count)))
