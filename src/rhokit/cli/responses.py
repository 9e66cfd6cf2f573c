"""Questions to a model about the rows of a table, answered batch by batch."""

from contextlib import contextmanager

from rhokit.cli.answers import PROBABILITY
from rhokit.cli.console import number, preview, properties
from rhokit.cli.errors import UserError
from rhokit.cli.options import names_of
from rhokit.cli.rows import ModelRows
from rhokit.cli.sources import check_output, refuse_inside
from rhokit.cli.writers import ENDINGS, is_text, piped, written

_PREVIEW_ROWS = 10
_FEW_CLASSES = 3
_FLATTERING = "rows that the model was fitted to, which flatters it"


class Question:
    """What is asked of which rows, and where the answers go.

    Parameters
    ----------
    loaded : Loaded
    source : Source
    output : Path, optional
    keep : list of str, optional
        Columns to carry over, or ``["all"]``.
    missing : {"raise", "empty", "integrate", "impute"}
    target : str, optional
    """

    def __init__(self, loaded, source, output, keep, missing, target):
        if output is not None:
            check_output(output, [*source.files, loaded.path], ENDINGS)
            refuse_inside(output, source.paths)
        self.loaded, self.source, self.output = loaded, source, output
        self.leaves_out = False
        self.rows = ModelRows(loaded, source, target, missing)
        names = self.rows.rows.names
        every = list(keep or []) == ["all"] and "all" not in names
        self.keep = names if every else names_of(keep, names)
        self.rows.rows.require(self.keep)

    def batches(self):
        """Batches with what is kept and, if it is there, the target."""
        others = list(self.keep)
        if self.rows.has_target:
            others += [name for name in self.rows.target if name not in others]
        return self.rows.batches(others, as_text=is_text(self.output))

    @property
    def is_training(self):
        """Whether these are the files that the model was fitted to."""
        return self.loaded.note.has_seen(self.source.files)

    def left_out(self):
        """Asks for the log-density of training rows, each left out in turn."""
        from rhokit.cli.answers import can_leave_out, log_density_left_out

        model, note = self.rows.model, self.loaded.note
        if note.weight is not None:
            raise UserError(
                f"{self.loaded.path}: rows had weights (column {note.weight!r}), and "
                "cannot be left out one by one"
            )
        if self.rows.integrates:
            raise UserError(
                "rows that lack values are no rows of the model: they cannot be left "
                "out of it (--missing empty leaves them unanswered)"
            )
        if not can_leave_out(model, self.rows.has_target):
            raise UserError(
                f"{self.loaded.path}: leaving rows out needs a model with exact sums "
                "and, if it has a target, the target's column (--target)"
            )

        def ask(X, batch, whole):
            y = self.rows.targets(batch)[whole] if self.rows.has_target else None
            return {"log_density": log_density_left_out(model, X, y)}

        self.leaves_out = True
        return ask


def answer(out, question, ask, label, key):
    """Put a question to all rows, and hand on the answers.

    Parameters
    ----------
    out : Output
    question : Question
    ask : callable
        From rows, their batch and which rows of it they are, to columns by name.
    label : str
        For the progress bar.
    key : str
        The column that the summary is about.
    """
    from rhokit.cli.summaries import summary_for
    from rhokit.progress import ProgressBar

    rows, seen = question.rows, 0
    summary = summary_for(rows, key)
    with ProgressBar(label) as bar, _sink(out, question) as (give, kept):
        for batch in question.batches():
            columns, whole = rows.asked(batch, ask)
            summary.add(columns, batch, whole)
            give(_table(question, batch, columns, whole))
            seen += len(whole)
            bar.count(seen, rows.rows.n_rows)
        if not seen:
            raise UserError(f"{question.source.name}: the table holds no rows")
    _report(out, question, summary, kept)


def _table(question, batch, columns, whole):
    """What was kept and the answers side by side; nothing where rows lack values."""
    import numpy as np
    import pyarrow as pa

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
def _sink(out, question):
    """Where tables go, and those of them that are kept to be shown."""
    kept = []
    if question.output is not None:
        with written(question.output) as give:
            yield give, kept
    elif out.json:
        yield kept.append, kept
    elif out.shows_tables:
        left = [_PREVIEW_ROWS]

        def give_few(table):
            kept.append(table.slice(0, left[0]))
            left[0] -= kept[-1].num_rows

        yield give_few, kept
    else:
        with piped() as give:
            yield give, kept


def _report(out, question, summary, kept):
    """Say how many rows there were and what was found; show a few."""
    import pyarrow as pa

    training = question.is_training
    data = summary.to_json() | {"training_rows": training}
    pairs = [*summary.pairs()]
    if question.leaves_out:
        pairs.append(("these were", "left out of the model one by one"))
    elif training:
        pairs.append(("these are", _FLATTERING))
    if question.output is not None:
        data["output"] = str(question.output)
        out.result(data, properties([*pairs, ("written to", str(question.output))]))
        return
    if out.json:
        out.result(data | {"records": pa.concat_tables(kept).to_pylist()})
    elif out.shows_tables:
        few = pa.concat_tables(kept)
        rest = summary.n_rows - few.num_rows
        remark = f"{number(rest)} more rows: -o FILE writes all" if rest else None
        out.result(data, preview(_for_people(few), remark), properties(pairs))


def _for_people(table):
    """Rows with their numbers; of many probabilities the two largest."""
    import numpy as np
    import pyarrow as pa

    numbers = pa.array(np.arange(1, len(table) + 1))
    table = table.add_column(0, "row", numbers)
    names = [n for n in table.column_names if n.startswith(PROBABILITY)]
    if len(names) <= _FEW_CLASSES:
        return table
    chances = np.stack([table.column(name).to_numpy() for name in names], axis=1)
    first, second = np.argsort(-chances, axis=1, kind="stable")[:, :2].T
    labels = np.array([name.removeprefix(PROBABILITY) for name in names])
    every = np.arange(len(table))
    return (
        table.drop_columns(names)
        .append_column("probability", pa.array(chances[every, first]))
        .append_column("next", pa.array(labels[second]))
        .append_column("its probability", pa.array(chances[every, second]))
    )
