"""Rows as they come to a stream: one by one or many, checked when they come."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.estimators.base import OnePassEstimator
from rhokit.plans.request import numeric_rows
from rhokit.validation import check_rows


class SingleRow(NamedTuple):
    """A row that came by itself."""

    values: tuple[Any, ...]
    target: Any
    weight: float


class RowChecker:
    """Checks rows against columns that the first of them set.

    Parameters
    ----------
    estimator : one-pass model
        That learns from the rows, and may come to know columns meanwhile.
    columns : Columns, optional
        Where they are known from the start.
    """

    def __init__(self, estimator: OnePassEstimator, columns: Columns | None) -> None:
        self._estimator = estimator
        self._numeric = numeric_rows(estimator.feature_map)
        self._has_target = estimator.make_readout().has_target
        self.columns = columns

    def batch(self, X: Any, y: Any, sample_weight: Any, encoded: bool = False) -> Batch:
        """Many rows, which single ones are once they have been encoded."""
        batch = self._estimator.check_batch(
            X,
            y,
            sample_weight,
            columns=self.columns,
            may_vanish=True,
            encoded=encoded,
        )
        if self.columns is None:
            self.columns = batch.columns
        return batch

    def single(self, x: Any, y: Any, weight: float) -> SingleRow:
        """One row: values by name, or in the order of the columns."""
        if self._has_target and y is None:
            self._refuse_without_target()
        columns = self.columns
        if isinstance(x, Mapping):
            columns = _named(columns, list(x))
            x = [x[name] for name in columns.names or ()]
        columns = columns or Columns(len(x))
        if len(x) != columns.n_features:
            raise ValueError(
                f"a row must have {columns.n_features} values, got {len(x)}"
            )
        values = self._values(columns, x)
        self.columns = columns  # a bad first row leaves no trace
        return SingleRow(values, y if self._has_target else None, weight)

    def _values(self, columns: Columns, x: Any) -> tuple[Any, ...]:
        """Values as they are worked on; a list may be filled with the next row."""
        if columns.schema is not None:
            return tuple(columns.schema.encode_row(x))
        if self._numeric and not _are_finite(x):
            owner, names = copy(self._estimator), columns.names
            check_rows(owner, [list(x)], reset=True, names=names)
        return tuple(x)

    def _refuse_without_target(self) -> None:
        self._estimator.make_readout().check(None, 1, type(self._estimator).__name__)


def as_arrays(
    single: list[SingleRow],
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.float64] | None]:
    """Rows, targets and weights of single rows, None where there are none."""
    rows, targets, weights = zip(*single, strict=True)
    target = None if targets[0] is None else np.array(targets)
    weighted = set(weights) != {1.0}
    return np.array(rows), target, np.array(weights, float) if weighted else None


def _named(columns: Columns | None, names: list[Any]) -> Columns:
    """Columns that a row with these names fits, which have them from now on."""
    if columns is None:
        return Columns(len(names), tuple(names))
    if columns.names is None:
        if columns.n_features != len(names):
            raise ValueError(
                f"a row must have {columns.n_features} values, got {len(names)}"
            )
        return replace(columns, names=tuple(names))
    if len(names) != len(columns.names) or set(names) != set(columns.names):
        raise ValueError(
            f"a row must have the columns {list(columns.names)}, got {names}"
        )
    return columns


def _are_finite(values: Any) -> bool:
    """Whether values are finite numbers, at a quick look."""
    try:
        return math.isfinite(sum(values))
    except (TypeError, OverflowError):
        return False
