"""Rows that a model keeps to be compared with others: a sample that adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rhokit.batch import Batch, Columns
from rhokit.models.row_sample import RowSample

if TYPE_CHECKING:
    from rhokit.models.model import Model

Kept = RowSample | None
# Numbers that these rows may be, and how many rows are kept.
_MOST_NUMBERS, _FEWEST, _MOST = 2**16, 100, 2000


def rows_to_keep(width: int) -> int:
    """How many rows of so many numbers are kept."""
    return min(max(_MOST_NUMBERS // width, _FEWEST), _MOST)


def samples_enough(model: Model) -> bool:
    """Whether the sample of the read-out serves for comparing, too."""
    plan, readout = model.plan, model.readout
    if not (readout.may_sample and readout.needs_sample):
        return False
    return plan.sample_rows >= rows_to_keep(plan.columns.width)


def rows_kept(model: Model) -> Kept:
    """Rows to compare with those of other models; None where none are kept."""
    sample = model.sample if samples_enough(model) else model.kept
    return sample if isinstance(sample, RowSample) else None


def kept_with(model: Model, batch: Batch, target: Any) -> Kept:
    """What a model keeps once it has learned a batch."""
    begins = model.kept is None and not model.has_rows
    if samples_enough(model) or (model.kept is None and not begins):
        return model.kept
    fresh = model.sampled(batch, target, rows_to_keep(batch.columns.width))
    return fresh if model.kept is None else model.kept + fresh


def kept_of_both(mine: Model, yours: Model) -> Kept:
    """What is kept of two models' rows: nothing, if one of them has kept none."""
    if mine.state is None or mine.kept is None or yours.kept is None:
        return yours.kept if mine.state is None else None
    return mine.kept + yours.kept


def kept_without(kept: Kept, gone: Kept, total: float) -> Kept:
    """What is left without rows that are forgotten, of so much weight in all."""
    if kept is None or gone is None:
        return kept
    left = (kept - gone).whole(total)
    return left if len(left.keys) else None


def columns_of_drawn(model: Model) -> Columns:
    """Columns with the values that drawn rows take, as far as is known.

    What a model fitted at once has noted; of one that saw its rows in parts, what the
    rows that it keeps tell: the values of columns that take few, and that numbers are
    whole, but not where they end.
    """
    columns, kept = model.plan.columns, rows_kept(model)
    has_numbers = model.plan.feature_map.numeric_rows
    if columns.supports is not None or kept is None or not has_numbers:
        return columns
    if not len(kept.keys) or kept.rows.shape[1] != columns.width:
        return columns
    batch = Batch(kept.rows, columns, weights=kept.weight)
    supports = tuple(
        support
        if support is None or support.is_complete
        else replace(support, values=(-np.inf, np.inf))
        for support in batch.supports()
    )
    return replace(columns, supports=supports)
