"""Fitting from what does not fit in memory: batches that come, files and folders."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import check_consistent_length

from rhokit.frames import check_table
from rhokit.progress import ProgressBar
from rhokit.streams.budget import rows_per_batch
from rhokit.streams.buffer import Reservoir, RowBuffer
from rhokit.streams.checkpoint import Checkpoint
from rhokit.streams.columns import (
    become,
    check_one_pass,
    fresh,
    learn,
    require_pyarrow,
    takes_categories,
)
from rhokit.validation import check_count, check_weights, generator

# Rows to choose scaling, γ and map from.
_SAMPLE_ROWS = 20_000
_SAMPLE_ROWS_PER_COMPONENT = 10
# Parts of a table that a sample is drawn from, spread over the whole.
_SAMPLE_PIECES = 64
_READ_ROWS = 65_536


def fit_batches(
    estimator, batches, *, sample_rows=None, batch_rows=None, memory_limit=None
):
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
    work, planned = fresh(estimator)
    # Remembers and compares the columns' names.
    columns = copy(estimator) if planned else clone(estimator)
    wanted = sample_rows or sample_size(estimator)
    budget = {"batch_rows": batch_rows, "memory_limit": memory_limit}
    waiting, seen = RowBuffer(), 0
    with ProgressBar(f"Fitting {type(estimator).__name__}") as bar:
        for batch in batches:
            is_first = not hasattr(columns, "n_features_in_")
            rows = _checked(columns, batch, reset=is_first)
            if is_first and len(rows[0]):  # before planning, which takes memory too
                rows_per_batch(work, n_features=rows[0].shape[1], **budget)
                work._row_schema = columns.schema_
            waiting.add(*rows)
            if not planned and waiting.n_rows >= wanted:
                work.prepare(*waiting.peek())
                planned = True
            if planned and seen == 0:
                batch_rows = rows_per_batch(work, **budget)
            if planned and waiting.n_rows >= batch_rows:
                seen += waiting.n_rows
                learn(work, *waiting.take())
                bar.count(seen)
            waiting.settle()
        if not waiting.n_rows and not seen:
            raise ValueError(
                "batches hold no rows of a weight above zero: nothing to learn from"
            )
        if not planned:
            work.prepare(*waiting.peek())
            rows_per_batch(work, **budget)
        if waiting.n_rows:
            learn(work, *waiting.take())
    return become(estimator, work, getattr(columns, "feature_names_in_", None))


def fit_files(
    estimator,
    source,
    *,
    columns=None,
    target=None,
    weight=None,
    categories=(),
    missing="raise",
    sample_rows=None,
    batch_rows=None,
    memory_limit=None,
    checkpoint=None,
    checkpoint_every=60.0,
):
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
        A file, a folder of files of one format, or several files: ``.parquet``,
        ``.csv`` or ``.tsv`` (also compressed), ``.arrow`` or ``.feather``.
    columns : list of str, optional
        The columns of X; without it all but target and weight.
    target : str or list of str, optional
        The column of y, or the columns of several targets.
    weight : str, optional
        The column of the rows' weights.
    categories : list of str
        Columns of X that are categories whatever they look like, as numbers that are
        codes.
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
        the same call then returns at once.
    checkpoint_every : float, default=60.0
        Seconds between two writes.

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
    from rhokit.streams.tables import Position, Table

    check_one_pass(estimator)
    check_count("sample_rows", sample_rows)
    check_count("batch_rows", batch_rows)
    blank, _ = fresh(estimator)
    table = Table(
        source,
        columns=columns,
        target=target,
        weight=weight,
        numeric=blank._numeric_rows(),
        numeric_target=is_regressor(estimator),
        dtype=blank._row_dtype(),
        mixed=takes_categories(blank),
        categories=categories,
        missing=missing,
        schema=blank.schema_,
    )
    budget = {"batch_rows": batch_rows, "memory_limit": memory_limit, "reading": True}
    rows_per_batch(blank, n_features=len(table.columns), **budget)
    table.learn_schema()
    options = f"{batch_rows} {sample_rows}"
    if categories or missing != "raise":
        options += f" {list(categories)} {missing}"
    notes = Checkpoint(checkpoint, checkpoint_every, estimator, table, options)
    with ProgressBar(f"Fitting {type(estimator).__name__}") as bar:
        known = notes.read()
        if known is not None:
            work, note = known
            total = note["n_rows"]
        else:
            work, total = _plan_from(table, estimator, sample_rows, bar)
            rows = rows_per_batch(work, **budget)
            note = {"batch_rows": rows, "n_rows": total, "position": (0, 0), "seen": 0}
            notes.write(work, note)
        seen, start = note["seen"], Position(*note["position"])
        for batch, position in _ahead(table.batches(note["batch_rows"], start)):
            if len(batch[0]):  # rows that lack a value may have been all of them
                learn(work, *batch)
            seen += len(batch[0])
            note = note | {"position": position, "seen": seen}
            notes.write_if_due(work, note)
            bar.count(seen, total)
        if not seen:
            raise ValueError(f"the table holds no rows: {source}")
        notes.write(work, note | {"position": table.end})
    return become(estimator, work, table.columns)


def _plan_from(table, estimator, sample_rows, bar):
    """A prepared model, and the number of rows of the table if it is known."""
    work, planned = fresh(estimator, table.columns, table.schema)
    if planned:
        return work, table.n_rows
    rng = generator(estimator.random_state)
    reservoir = Reservoir(sample_rows or sample_size(estimator), rng)
    part = table.some_pieces(_SAMPLE_PIECES)
    for batch, _ in part.batches(_READ_ROWS):
        reservoir.add(*batch)
        bar.update(None, f"looked at {reservoir.n_passed:,} rows")
    if not reservoir.n_passed:
        raise ValueError("the table holds no rows: nothing to learn from")
    options = {}
    if table.targets and hasattr(estimator, "_essential_targets"):
        options["targets"] = _essential(work, table)
    work.prepare(*reservoir.sample(), **options)
    return work, table.n_rows or reservoir.n_passed


def _essential(work, table):
    """All labels, or the lowest and highest values, of a pass over the targets."""
    known = None
    for (_, y, _), _ in table.only_targets().batches(_READ_ROWS):
        fresh = work._essential_targets(y)
        both = fresh if known is None else np.concatenate([known, fresh])
        known = work._essential_targets(both)
    return known


def sample_size(estimator):
    """How many rows to choose scaling, γ and map from."""
    return max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_COMPONENT * estimator.n_components)


def _checked(columns, batch, *, reset):
    """A batch as X, y and weights, its columns compared with those of the first."""
    X, y, weight = _unpacked(batch)
    numeric = columns._numeric_rows()
    if not len(X):
        return np.empty((0, 0)), None, None
    X = check_table(
        columns, X, reset=reset, dtype=columns._row_dtype(), numeric=numeric
    )
    y = None if y is None else np.asarray(y)
    check_consistent_length(X, y)
    weight = check_weights(weight, len(X), may_vanish=True)
    if weight is None or weight.all():
        return X, y, weight
    # Rows of weight zero are not there: they must not choose scaling, γ and map.
    seen = weight > 0
    return X[seen], None if y is None else y[seen], weight[seen]


def _unpacked(batch):
    if not isinstance(batch, tuple):
        return batch, None, None
    if not 1 <= len(batch) <= 3:
        raise ValueError(
            "a batch must be X, (X, y) or (X, y, sample_weight), got a tuple of "
            f"{len(batch)}"
        )
    return (*batch, *[None] * (3 - len(batch)))


def _ahead(items: Iterable):
    """The same items, the next one being made while one is used."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield item
