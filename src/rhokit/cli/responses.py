"""Questions to a model about the rows of a table, answered batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rhokit.cli.answer_columns import PROBABILITY, Answers, Ask
from rhokit.cli.answer_summaries import AnswerSummary
from rhokit.cli.console import Output, number, preview, properties
from rhokit.cli.failures import UserError
from rhokit.cli.model_rows import ModelRows
from rhokit.cli.options import names_of
from rhokit.cli.sources import Source, check_output, refuse_inside
from rhokit.cli.stored_models import StoredModel
from rhokit.cli.table_files import FileBatch
from rhokit.cli.writers import ENDINGS, TakeTable, is_text, piped, written
from rhokit.inspection import can_leave_out
from rhokit.progress import ProgressBar

_PREVIEW_ROWS = 10
_FEW_CLASSES = 3
_FLATTERING = "rows that the model was fitted to, which flatters it"


class Question:
    """A question to a model about rows, and the place for its answers.

    Parameters
    ----------
    stored : StoredModel
    source : Source
    output : Path, optional
    keep : list of str, optional
        Columns to carry over, or ``["all"]``.
    missing : {"raise", "empty", "integrate", "impute"}
    target : str, optional
    escape : bool, default=False
        Whether no cell of a text file may be a formula.
    """

    def __init__(
        self,
        stored: StoredModel,
        source: Source,
        output: Path | None,
        keep: Iterable[str] | None,
        missing: str,
        target: str | None,
        escape: bool = False,
    ) -> None:
        if output is not None:
            check_output(output, [*source.files, stored.path], ENDINGS)
            refuse_inside(output, source.paths)
        self.stored, self.source, self.output = stored, source, output
        self.leaves_out, self.escape = False, escape
        self.rows = ModelRows(stored, source, target, missing)
        names = self.rows.table.names
        every = list(keep or []) == ["all"] and "all" not in names
        self.keep = names if every else names_of(keep, names)
        self.rows.table.require(self.keep)

    def batches(self) -> Iterator[FileBatch]:
        """Batches with what is kept and, if it is there, the target."""
        others = list(self.keep)
        if self.rows.has_target:
            others += [name for name in self.rows.target if name not in others]
        return self.rows.batches(others, as_text=is_text(self.output))

    @property
    def is_training(self) -> bool:
        """Whether these are the files that the model was fitted to."""
        return self.stored.note.has_seen(self.source.files)

    @property
    def recognises_rows(self) -> bool:
        """Whether rows that the model was fitted to are left out in any case."""
        return bool(self.stored.estimator.readout_.recognises_rows)

    @property
    def can_leave_out(self) -> bool:
        """Whether training rows can be left out of what the model says about them."""
        exact = self.stored.estimator.state_.takes_rows
        return exact and can_leave_out(self.stored.model, self.rows.has_target)

    def scored(self, X: Any, batch: FileBatch, whole: NDArray[np.bool_]) -> Answers:
        """The log-density of rows, or of what else the model's scores are."""
        return {self.stored.score_name: self.rows.model.score_samples(X)}

    def left_out(self) -> Ask:
        """Asks for the log-density of training rows, each left out in turn."""
        self._refuse_to_leave_out()
        self.leaves_out = True
        rows = self.rows

        def ask(X: Any, batch: FileBatch, whole: NDArray[np.bool_]) -> Answers:
            y = rows.targets(batch)[whole] if rows.has_target else None
            return {"log_density": rows.model.score_samples(X, y, leave_one_out=True)}

        return ask

    def _refuse_to_leave_out(self) -> None:
        weight = self.stored.note.weight
        if weight is not None:
            raise UserError(
                f"{self.stored.path}: rows had weights (column {weight!r}), and "
                "cannot be left out one by one"
            )
        if self.rows.integrates:
            raise UserError(
                "rows that lack values are no rows of the model: they cannot be left "
                "out of it (--missing empty leaves them unanswered)"
            )
        if not self.can_leave_out:
            raise UserError(
                f"{self.stored.path}: leaving rows out needs a model with exact sums "
                "and, if it has a target, the target's column (--target)"
            )


def answer(
    out: Output, question: Question, ask: Ask, summary: AnswerSummary, label: str
) -> None:
    """Put a question to all rows, hand on the answers, and sum them up.

    ``label`` stands beside the progress bar.
    """
    rows, seen = question.rows, 0
    with ProgressBar(label) as bar, _sink(out, question) as (give, kept):
        for batch in question.batches():
            columns, whole = rows.asked(batch, ask)
            summary.add(columns, batch, whole)
            give(_table(question, batch, columns, whole))
            seen += len(whole)
            bar.count(seen, rows.table.n_rows)
        if not seen:
            raise UserError(f"{question.source.name}: the table holds no rows")
    _report(out, question, summary, kept)


def _table(
    question: Question, batch: FileBatch, columns: Answers, whole: NDArray[np.bool_]
) -> pa.Table:
    """Kept columns and answers side by side; nothing where rows lack values."""
    places = pa.array(np.cumsum(whole) - 1, mask=~whole)
    names = list(question.keep)
    arrays = [batch.table.column(name).combine_chunks() for name in names]
    for name, values in columns.items():
        if name in names:
            raise UserError(
                f"{question.source.name}: has a column {name!r}, as the output has: "
                "leave it out of --keep"
            )
        names.append(name)
        arrays.append(pa.array(values).take(places))
    return pa.table(arrays, names=names)


@contextmanager
def _sink(
    out: Output, question: Question
) -> Iterator[tuple[TakeTable, list[pa.Table]]]:
    """A function that takes tables, and those of them that are kept to be shown."""
    kept: list[pa.Table] = []
    if question.output is not None:
        with written(question.output, escape=question.escape) as give:
            yield give, kept
    elif out.json:
        yield kept.append, kept
    elif out.shows_tables:
        left = [_PREVIEW_ROWS]

        def give_few(table: pa.Table) -> None:
            kept.append(table.slice(0, left[0]))
            left[0] -= kept[-1].num_rows

        yield give_few, kept
    else:
        with piped(escape=question.escape) as give:
            yield give, kept


def _report(
    out: Output, question: Question, summary: AnswerSummary, kept: list[pa.Table]
) -> None:
    """Say how many rows there were and what was found; show a few."""
    training = question.is_training
    data = summary.to_json() | {"training_rows": training}
    pairs = [*summary.pairs()]
    if question.leaves_out or (training and question.recognises_rows):
        pairs.append(("these were", "left out of the model one by one"))
    elif training:
        pairs.append(("these are", _FLATTERING))
    if question.output is not None:
        data["output"] = str(question.output)
        out.result(data, properties([*pairs, ("written to", str(question.output))]))
    elif out.json:
        out.result(data | {"records": pa.concat_tables(kept).to_pylist()})
    elif out.shows_tables:
        few = pa.concat_tables(kept)
        rest = summary.n_rows - few.num_rows
        remark = f"{number(rest)} more rows: -o FILE writes all" if rest else None
        out.result(data, preview(_for_people(few), remark), properties(pairs))


def _for_people(table: pa.Table) -> pa.Table:
    """Rows with their numbers; of many probabilities the two largest."""
    numbers = pa.array(np.arange(1, len(table) + 1))
    table = table.add_column(0, "row", numbers)
    names = [n for n in table.column_names if n.startswith(PROBABILITY)]
    if len(names) <= _FEW_CLASSES:
        return table
    found = np.stack([table.column(name).to_numpy() for name in names], axis=1)
    first, second = np.argsort(-found, axis=1, kind="stable")[:, :2].T
    labels = np.array([name.removeprefix(PROBABILITY) for name in names])
    every = np.arange(len(table))
    return (
        table.drop_columns(names)
        .append_column("probability", pa.array(found[every, first]))
        .append_column("next", pa.array(labels[second]))
        .append_column("its probability", pa.array(found[every, second]))
    )
