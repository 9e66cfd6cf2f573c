"""Fitting from what does not fit in memory: batches that come, files and folders."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Unpack

from rhokit.batch import Batch, Columns
from rhokit.estimators.base import OnePassEstimator
from rhokit.progress import ProgressBar
from rhokit.streams.budget import RowBudget
from rhokit.streams.buffer import BatchBuffer
from rhokit.streams.checkpoint import Checkpoint
from rhokit.streams.learning import (
    become,
    check_one_pass,
    fresh,
    learn,
    require_pyarrow,
    sample_size,
)
from rhokit.streams.text_format import ReadingOptions
from rhokit.validation import check_count

E = TypeVar("E", bound=OnePassEstimator)


def fit_batches(
    estimator: E,
    batches: Iterable[Any],
    *,
    sample_rows: int | None = None,
    batch_rows: int | None = None,
    memory_limit: int | str | None = None,
) -> E:
    """Fit a one-pass model from batches of rows, such as a generator makes.

    Scaling, γ and map are chosen from the first rows; so that these stand for all,
    shuffle what has an order, or :meth:`~rhokit.DMKDE.prepare` the model on a sample
    of your own. Then each batch is added and dropped.

    Parameters
    ----------
    estimator : one-pass model
        It is fitted anew, from nothing; but what was prepared and holds no rows keeps
        its scaling, γ and map.
    batches : iterable
        Of ``X``, ``(X, y)`` or ``(X, y, sample_weight)``: arrays or frames of any
        number of rows. Small ones are learned together.
    sample_rows : int, optional
        How many of the first rows to choose from: 20,000, or 10 for every component.
    batch_rows : int, optional
        Rows to learn at once.
    memory_limit : int or str, optional
        Such as ``"600 MB"``: refuse to start, with a MemoryError, if learning needs
        more than that beyond what is loaded, and the batches themselves.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE, fit_batches
    >>> rng = np.random.default_rng(0)
    >>> batches = (rng.normal(size=(1000, 3)) for _ in range(50))
    >>> model = fit_batches(DMKDE(n_components=128, random_state=0), batches)
    >>> model.state_.weight
    array([50000.])
    """
    check_one_pass(estimator)
    check_count("sample_rows", sample_rows)
    check_count("batch_rows", batch_rows)
    budget = RowBudget(batch_rows, memory_limit)
    work = BatchFit(estimator, sample_rows or sample_size(estimator), budget)
    with ProgressBar(f"Fitting {type(estimator).__name__}") as bar:
        for batch in batches:
            work.add(*_unpacked(batch))
            if work.n_learned:
                bar.count(work.n_learned)
        model, columns = work.finish()
    become(estimator, model, columns)
    return estimator


def fit_files(
    estimator: E,
    source: Any,
    *,
    columns: list[str] | None = None,
    target: str | list[str] | None = None,
    weight: str | None = None,
    categories: Iterable[str] = (),
    keep_all: bool = False,
    missing: str | Mapping[str, Any] = "raise",
    sample_rows: int | None = None,
    batch_rows: int | None = None,
    memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    **reading: Unpack[ReadingOptions],
) -> E:
    """Fit a one-pass model from Parquet, CSV or Arrow files of any size.

    Scaling, γ and map are chosen from a sample of rows: of Parquet files from up to 64
    row groups, spread over the whole; of others in a pass of its own. Labels and the
    range of values are looked up in the target column first. Then the files are read
    once, in the order of their names, in batches. Columns of text, truth values and
    dictionaries are categories, looked up in a pass of their own. Needs
    ``rhokit[files]`` (pyarrow).

    Parameters
    ----------
    estimator : one-pass model
        It is fitted anew, from nothing; but what was prepared and holds no rows keeps
        its scaling, γ and map.
    source : path, list of paths or pyarrow Dataset
        A file, a pattern such as ``"2024-*.csv"``, a folder of files of one format, or
        several files: Parquet, Arrow, delimited text, JSON lines, Excel, compressed or
        in a zip archive. What a file is, it tells itself.
    columns : list of str, optional
        The columns of X; without it all but target and weight, and those that say
        nothing about a row.
    target : str or list of str, optional
        The column of y, or the columns of several targets.
    weight : str, optional
        The column of the rows' weights.
    categories : list of str
        Columns of X that are categories whatever they look like, as numbers that are
        codes.
    keep_all : bool, default=False
        Whether columns are kept that say nothing about a row: texts that all differ,
        numbers that count the rows, and what is the same in all of them. Those that
        ``columns`` names are kept in any case.
    missing : "raise", "drop" or mapping, default="raise"
        What to do with rows that lack a value: refuse them, leave them out, or fill in
        values given by column, such as :func:`rhokit.streams.typical_values` finds.
    sample_rows : int, optional
        How many rows to choose from: 20,000, or 10 for every component.
    batch_rows : int, optional
        Rows to learn at once; chosen for speed and memory without it.
    memory_limit : int or str, optional
        Such as ``"600 MB"``: take smaller batches, or refuse to start with a
        MemoryError, if learning needs more than that beyond what is loaded.
    checkpoint : path, optional
        A file that what was learned is written to every so often. If it is there
        already, the fit goes on from it, and ends with the same bits as without the
        interruption (given the same number of threads). It stays when the fit is done:
        the same call then returns at once. The files are read once more to tell whether
        they still hold the same.
    checkpoint_every : float, default=60.0
        Seconds between two writes.
    **reading
        How text is read, where it shall not be detected: ``delimiter=";"``,
        ``decimal=","``, ``thousands="."``, ``quote="'"``, ``encoding="latin-1"``,
        ``header=False``, ``missing_marks=["?"]``, ``date_format="%d.%m.%Y"``, and the
        ``sheet`` of a workbook. What was detected and is unusual is said in a warning.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from rhokit import DMKDE, fit_files
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in range(3):
    ...     X = np.random.default_rng(day).normal(size=(2, 1000))
    ...     pq.write_table(pa.table({"a": X[0], "b": X[1]}), folder / f"{day}.parquet")
    >>> model = fit_files(DMKDE(n_components=64, random_state=0), folder)
    >>> model.state_.weight, model.feature_names_in_
    (array([3000.]), array(['a', 'b'], dtype=object))
    """
    require_pyarrow()
    from rhokit.streams.file_fitting import FileFit, reader_for

    check_one_pass(estimator)
    check_count("sample_rows", sample_rows)
    check_count("batch_rows", batch_rows)
    budget = RowBudget(batch_rows, memory_limit, reading=True)

    def check_memory(n_columns: int) -> None:
        budget.rows(fresh(estimator), n_columns)

    reader = reader_for(
        estimator,
        source,
        before_reading=check_memory,
        columns=columns,
        target=target,
        weight=weight,
        categories=categories,
        missing=missing,
        reading=reading,
        keep_all=keep_all,
    )
    check_memory(len(reader.roles.columns))
    reader.learn_schema()
    options = f"{batch_rows} {sample_rows} {list(categories)} {missing} {reading}"
    notes = Checkpoint(checkpoint, checkpoint_every, estimator, reader, options)
    FileFit(estimator, reader, budget, notes, sample_rows).run()
    return estimator


class BatchFit:
    """A fit from batches: the first rows choose the plan, then all are learned.

    Parameters
    ----------
    estimator : one-pass model
        It is left as it is.
    sample_rows : int
        How many of the first rows to choose from.
    budget : RowBudget
    """

    def __init__(
        self, estimator: OnePassEstimator, sample_rows: int, budget: RowBudget
    ) -> None:
        self._work = fresh(estimator)
        self._sample_rows, self._budget = sample_rows, budget
        self._waiting = BatchBuffer()
        self._columns: Columns | None = None
        self._batch_rows: int | None = None
        self.n_learned = 0

    def add(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Take up a batch, whose memory may be used for other rows afterwards."""
        if not len(X):
            return
        # Rows of weight zero are not there: they must not choose the plan.
        self._waiting.add(self._checked(X, y, sample_weight).seen())
        if not self._work.is_prepared and self._waiting.n_rows >= self._sample_rows:
            self._work.prepare(self._waiting.peek())
        if self._work.is_prepared and self._waiting.n_rows >= self._rows_at_once():
            self._learn()
        self._waiting.settle()

    def finish(self) -> tuple[OnePassEstimator, Columns]:
        """The model of all batches, and their columns."""
        if self._columns is None or not (self._waiting.n_rows or self.n_learned):
            raise ValueError(
                "batches hold no rows of a weight above zero: nothing to learn from"
            )
        if not self._work.is_prepared:
            self._work.prepare(self._waiting.peek())
            self._rows_at_once()
        if self._waiting.n_rows:
            self._learn()
        return self._work, self._columns

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        """A batch, its columns compared with those of the first."""
        known = None if self._work.is_prepared else self._columns
        batch = self._work.check_batch(
            X, y, sample_weight, columns=known, one_of_many=True
        )
        if self._columns is None:
            self._columns = batch.columns
            if not self._work.is_prepared:  # before planning, which takes memory too
                self._budget.rows(self._work, batch.columns.width)
        return batch

    def _rows_at_once(self) -> int:
        if self._batch_rows is None:
            self._batch_rows = self._budget.rows(self._work)
        return self._batch_rows

    def _learn(self) -> None:
        self.n_learned += self._waiting.n_rows
        learn(self._work, self._waiting.take())


def _unpacked(batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(batch, tuple):
        return batch, None, None
    if not 1 <= len(batch) <= 3:
        raise ValueError(
            "a batch must be X, (X, y) or (X, y, sample_weight), got a tuple of "
            f"{len(batch)}"
        )
    X, y, sample_weight = [*batch, None, None][:3]
    return X, y, sample_weight
