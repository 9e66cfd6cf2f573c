"""A fit over files: a sample to plan from, then one pass over everything."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.estimators.base import OnePassEstimator
from rhokit.plans.request import numeric_rows
from rhokit.progress import ProgressBar, counted
from rhokit.streams.budget import RowBudget
from rhokit.streams.buffer import Reservoir
from rhokit.streams.checkpoint import Checkpoint, Note
from rhokit.streams.learning import (
    become,
    compare_columns,
    fresh,
    learn,
    sample_size,
    takes_categories,
)
from rhokit.streams.raw_batches import RawBatch
from rhokit.streams.tables import ReadPosition, TableReader
from rhokit.validation import check_float_dtype, generator

# Parts of a table that a sample is drawn from, spread over the whole.
_SAMPLE_PIECES = 64
_READ_ROWS = 65_536


def reader_for(
    estimator: OnePassEstimator, source: Any, *, keep_all: bool = True, **roles: Any
) -> TableReader:
    """A reader of what an estimator learns from, whose columns it knows or may have."""
    blank = fresh(estimator)
    owner, prepared = type(estimator).__name__, blank.is_prepared
    reader = TableReader(
        source,
        numeric=numeric_rows(blank.feature_map),
        numeric_target=blank.make_readout().kind == "values",
        dtype=blank.feature_map_.dtype_
        if prepared
        else check_float_dtype(owner, blank.dtype),
        mixed=takes_categories(blank),
        schema=blank.plan_.columns.schema if prepared else None,
        unseen=blank.unseen,
        keep_all=keep_all or prepared,
        **roles,
    )
    compare_columns(blank, reader.columns)
    return reader


@dataclass(frozen=True, eq=False)
class FileFit:
    """Fits a model to a table.

    Parameters
    ----------
    estimator : one-pass model
        It is left as it is until all went well.
    reader : TableReader
    budget : RowBudget
    checkpoint : Checkpoint
    sample_rows : int, optional
    """

    estimator: OnePassEstimator
    reader: TableReader
    budget: RowBudget
    checkpoint: Checkpoint
    sample_rows: int | None = None

    def run(self) -> OnePassEstimator:
        """The estimator, fitted."""
        with ProgressBar(f"Fitting {type(self.estimator).__name__}") as bar:
            work, note = self.checkpoint.read() or self._start(bar)
            note = self._learn(work, note, bar)
            if not note["seen"]:
                raise ValueError("the table holds no rows: nothing to learn from")
            self.checkpoint.write(work, note | {"position": self.reader.end})
        return become(self.estimator, work, self.reader.columns)

    def _start(self, bar: ProgressBar) -> tuple[OnePassEstimator, Note]:
        work, total = plan_from(self.reader, self.estimator, self.sample_rows, bar)
        rows = self.budget.rows(work)
        note = {"batch_rows": rows, "n_rows": total, "position": (0, 0), "seen": 0}
        self.checkpoint.write(work, note)
        return work, note

    def _learn(self, work: OnePassEstimator, note: Note, bar: ProgressBar) -> Note:
        """Learn all batches from where a note says on; the note of the last one."""
        start, columns = ReadPosition(*note["position"]), self.reader.columns
        for raw, position in ahead(self.reader.batches(note["batch_rows"], start)):
            if len(raw):  # rows that lack a value may have been all of them
                learn(work, raw.checked(work, columns))
            note = note | {"position": position, "seen": note["seen"] + len(raw)}
            self.checkpoint.write_if_due(work, note)
            bar.count(note["seen"], note["n_rows"])
        return note


def plan_from(
    reader: TableReader,
    estimator: OnePassEstimator,
    sample_rows: int | None,
    bar: ProgressBar,
) -> tuple[OnePassEstimator, int | None]:
    """A prepared model, and the number of rows of the table if it is known."""
    work = fresh(estimator)
    if work.is_prepared:
        return work, reader.n_rows
    rng = generator(estimator.random_state)
    reservoir = Reservoir(sample_rows or sample_size(estimator), rng)
    for raw, _ in reader.some_pieces(_SAMPLE_PIECES).batches(_READ_ROWS):
        _add_some(reservoir, raw, work, reader.columns)
        bar.update(None, f"looked at {reservoir.n_passed:,} rows")
    if not reservoir.n_passed:
        raise ValueError("the table holds no rows: nothing to learn from")
    targets = essential_targets(work, reader) if reader.roles.targets else None
    work.prepare(reservoir.sample(), targets=targets)
    return work, reader.n_rows or reservoir.n_passed


def _add_some(
    reservoir: Reservoir, raw: RawBatch, work: OnePassEstimator, columns: Columns
) -> None:
    """Let a batch pass by a reservoir; what cannot stay is not even checked."""
    if work.missing == "integrate" and len(
        raw
    ):  # rows that lack a value are left out first
        reservoir.add(raw.checked(work, columns))
        return
    chosen = reservoir.draw(len(raw), raw.weights)
    if len(chosen):
        reservoir.keep(raw.checked(work, columns, chosen))


def essential_targets(
    work: OnePassEstimator, reader: TableReader
) -> NDArray[Any] | None:
    """All labels, or the lowest and highest values, of a pass over the targets."""
    readout = work.make_readout()
    if not readout.has_target:
        return None
    known: NDArray[Any] | None = None
    batches = (raw for raw, _ in reader.only_targets().batches(_READ_ROWS))
    for raw in counted("Looking at the target", batches):
        if not len(raw):
            continue
        few = readout.essential(np.asarray(raw.target))
        both = few if known is None else np.concatenate([known, np.asarray(few)])
        known = readout.essential(np.asarray(both))
    return known


def ahead(items: Iterable[Any]) -> Iterator[Any]:
    """The same items, the next one being made while one is used."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield item
