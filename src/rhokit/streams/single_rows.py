"""Rows as they come to a stream: one by one or many, checked when they come."""

import math
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.border import checked_rows
from rhokit.plans.request import numeric_rows
from rhokit.streams.target_form import TargetForm
from rhokit.validation import check_rows, check_weights

_LARGEST = sys.float_info.max
# In tuples, which are looked through faster than unions.
_REALS = (float, int)
_NUMBERS = (*_REALS, np.floating, np.integer)
_LABELS = (int, str, np.integer)


class SingleRow(NamedTuple):
    """A row that came by itself."""

    values: tuple[Any, ...]
    target: Any
    weight: float
    time: float | None = None


class RowChecker:
    """Checks rows against columns that the first of them set.

    Parameters
    ----------
    estimator : one-pass model
        That will learn from the rows.
    columns : Columns, optional
        Where they are known from the start.
    """

    def __init__(self, estimator: OnePassEstimator, columns: Columns | None) -> None:
        self._estimator = estimator
        self._numeric = numeric_rows(estimator.feature_map)
        self._readout = estimator.make_readout()
        self._has_target = self._readout.has_target
        self._is_plain = _PLAIN_TARGETS[self._readout.kind]
        known = estimator.readout_.known_target() if estimator.is_prepared else None
        self._form = None if known is None else TargetForm.of(known)
        self.columns = columns

    def batch(
        self,
        work: OnePassEstimator,
        X: Any,
        y: Any,
        sample_weight: Any,
        encoded: bool = False,
    ) -> Batch:
        """Many rows, to be learned by a model that may know columns meanwhile."""
        batch = work.check_batch(
            X,
            y,
            sample_weight,
            columns=self.columns,
            one_of_many=True,
            encoded=encoded,
        )
        if batch.target is not None:
            batch = replace(batch, target=self._fitted(batch.target))
        if self.columns is None:
            self.columns = batch.columns
        return batch

    def gathered(self, work: OnePassEstimator, single: list[SingleRow]) -> Batch:
        """Single rows as a batch."""
        rows, targets, weights, times = zip(*single, strict=True)
        target = None if targets[0] is None else np.array(targets)
        weighted = set(weights) != {1.0}
        batch = self.batch(
            work,
            self._array(rows),
            target,
            np.array(weights, float) if weighted else None,
            encoded=True,
        )
        return batch if times[0] is None else replace(batch, times=np.array(times))

    def _array(self, rows: tuple[tuple[Any, ...], ...]) -> NDArray[Any]:
        if self._numeric:
            return np.array(rows)
        # Values as they are: NumPy would make text of numbers beside text.
        values = np.fromiter(chain.from_iterable(rows), object)
        return values.reshape(len(rows), -1)

    def single(self, x: Any, y: Any, weight: float) -> SingleRow:
        """One row: values by name, or in the order of the columns."""
        target = self._target(y) if self._has_target else None
        if type(weight) is not float or weight != 1.0:
            weight = _checked_weight(weight)
        columns, x = self._placed(x)
        values = self._values(columns, x)
        self.columns = columns  # a bad first row leaves no trace
        if target is not None and self._form is None:
            self._form = TargetForm.of(np.array([target]))
        return SingleRow(values, target, weight)

    def question(self, work: OnePassEstimator, x: Any) -> Batch:
        """One row that a model is to be asked for, which it does not learn."""
        columns, values = self._placed(x)
        if columns.schema is not None:
            values = columns.schema.encode_row(
                values,
                may_miss=work.missing == "integrate",
                is_closed=work.unseen == "raise",
            )
        rows = self._array((tuple(values),))
        return Batch(*checked_rows(work, rows, work.model_, columns, encoded=True))

    def _placed(self, x: Any) -> tuple[Columns, Any]:
        """Columns that a row fits, and its values in their order."""
        columns = self.columns
        if isinstance(x, Mapping):
            columns = _named(columns, list(x))
            x = [x[name] for name in columns.names or ()]
        columns = columns or Columns(len(x))
        if len(x) != columns.n_features:
            raise ValueError(
                f"a row must have {columns.n_features} values, got {len(x)}"
            )
        return columns, x

    def _target(self, y: Any) -> Any:
        """A target that can be learned beside those that came before."""
        if self._is_plain(y) and (self._form is None or self._form.holds(y)):
            return y
        owner = type(self._estimator).__name__
        checked = self._readout.check(None if y is None else [y], 1, owner)
        form = self._form or TargetForm.of(np.asarray(checked))
        return form.fitted(np.asarray(checked))[0]

    def _fitted(self, targets: NDArray[Any]) -> NDArray[Any]:
        if self._form is None:
            self._form = TargetForm.of(targets)
        return self._form.fitted(targets)

    def _values(self, columns: Columns, x: Any) -> tuple[Any, ...]:
        """Values as they are worked on; a list may be filled with the next row."""
        if columns.schema is not None:
            is_closed = self._estimator.unseen == "raise"
            return tuple(columns.schema.encode_row(x, is_closed=is_closed))
        if self._numeric and not _are_finite(x):
            owner, names = copy(self._estimator), columns.names
            x = check_rows(owner, [list(x)], reset=True, names=names)[0].tolist()
        return tuple(x)


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
        total = sum(values)
        return isinstance(total, _NUMBERS) and math.isfinite(total)
    except (TypeError, OverflowError):
        return False


def _checked_weight(weight: Any) -> float:
    if isinstance(weight, _REALS) and 0 <= weight <= _LARGEST:
        return float(weight)
    weights = check_weights([weight], 1, may_vanish=True)
    assert weights is not None
    return float(weights[0])


def _is_anything(target: Any) -> bool:
    """Whether a target will do where none is learned."""
    return True


def _is_label(target: Any) -> bool:
    """Whether a target is a label, at a quick look."""
    return isinstance(target, _LABELS)


def _is_finite(target: Any) -> bool:
    """Whether a target is a finite number, at a quick look."""
    return isinstance(target, _REALS) and abs(target) <= _LARGEST


# What a quick look takes for a target, by the kind of the read-out.
_PLAIN_TARGETS: dict[str, Callable[[Any], bool]] = {
    "outliers": _is_anything,
    "density": _is_anything,
    "classes": _is_label,
    "ordered": _is_label,
    "values": _is_finite,
}
