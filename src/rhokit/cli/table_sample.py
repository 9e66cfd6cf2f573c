"""An even sample of the rows of a table of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rhokit.cli.failures import UserError
from rhokit.cli.responses import Question
from rhokit.cli.table_files import FileBatch
from rhokit.errors import DataError
from rhokit.progress import counted

# Of larger tables a sample is read, so that memory is enough.
MOST_SAMPLED_ROWS = 100_000


@dataclass(frozen=True)
class TableSample:
    """Rows, their targets if the table has them, and where they stand.

    Parameters
    ----------
    table : pyarrow.Table
        The model's columns.
    target : array of shape (n,) or (n, t), or None
    files, rows : arrays of shape (n,)
        Name of the file, and place in it.
    n_rows : int
        Rows of the whole table.
    """

    table: pa.Table
    target: NDArray[Any] | None
    files: NDArray[Any]
    rows: NDArray[np.intp]
    n_rows: int

    @property
    def labels(self) -> list[Any]:
        """What rows are called: their numbers from one, of several files with these."""
        numbers = (self.rows + 1).tolist()
        if len(set(self.files)) < 2:
            return numbers
        pairs = zip(self.files, numbers, strict=True)
        return [f"{file}, {number}" for file, number in pairs]

    @contextmanager
    def placed_errors(self) -> Iterator[None]:
        """Let errors that name a row of the sample name its place in the files."""
        try:
            yield
        except DataError as error:
            if error.row is None:
                raise
            file, row = str(self.files[error.row]), int(self.rows[error.row])
            raise error.at(file=file, row=row) from error


def sampled(question: Question, most: int, seed: int = 0) -> TableSample:
    """Rows of a question that lack no value: all, or ``most`` of them at random.

    Every row gets a random number, and those with the lowest are kept, in their order.
    """
    rng = np.random.default_rng(seed)
    parts: list[TableSample] = []
    drawn, n_rows = np.empty(0), 0
    for batch in counted("Reading", question.batches()):
        part = _whole_rows(question, batch)
        n_rows += part.n_rows
        parts.append(part)
        drawn = np.concatenate([drawn, rng.random(len(part.rows))])
        if len(drawn) > 2 * most:
            kept = _lowest(drawn, most)
            parts, drawn = [_taken(parts, kept, n_rows)], drawn[kept]
    if not len(drawn):
        what = "are no rows that lack no value" if n_rows else "are no rows"
        raise UserError(f"{question.source.name}: there {what}")
    return _taken(parts, _lowest(drawn, most), n_rows)


def _whole_rows(question: Question, batch: FileBatch) -> TableSample:
    """The rows of a batch that lack no value, nor a target where others have one."""
    _, whole = question.rows.values(batch)
    if question.rows.has_target:
        whole = whole & question.rows.knows_target(batch)
    rows = np.flatnonzero(whole)
    table = batch.table.select(question.rows.columns).take(pa.array(rows))
    target = question.rows.targets(batch)[rows] if question.rows.has_target else None
    files = np.full(len(rows), batch.file, object)
    return TableSample(table, target, files, batch.start + rows, len(whole))


def _lowest(drawn: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Places of the lowest numbers, in their order."""
    return np.sort(np.argsort(drawn, kind="stable")[:most])


def _taken(
    parts: list[TableSample], kept: NDArray[np.intp], n_rows: int
) -> TableSample:
    """Some rows of several samples, which are one then."""
    targets = [part.target for part in parts if part.target is not None]
    return TableSample(
        pa.concat_tables([part.table for part in parts]).take(pa.array(kept)),
        np.concatenate(targets)[kept] if targets else None,
        np.concatenate([part.files for part in parts])[kept],
        np.concatenate([part.rows for part in parts])[kept],
        n_rows,
    )
