"""Rows at the border of an estimator: checked once, whatever they came as."""

import warnings
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.frames import check_table
from rhokit.models import Model
from rhokit.plans.request import numeric_rows
from rhokit.readouts import ReadOut
from rhokit.validation import check_float_dtype, check_weights, level_of_the_user


class Border:
    """Checks what an estimator is given against what it knows.

    Parameters
    ----------
    estimator : OnePassEstimator
        Whose parameters count; it is left as it is.
    model : Model, optional
        That knows the columns already; without one they are learned.
    columns : Columns, optional
        Columns to compare with, where no model knows them; arrays, which have no names
        of their own, are taken to have these.
    """

    def __init__(
        self, estimator: Any, model: Model | None, columns: Columns | None = None
    ) -> None:
        self._estimator = copy(estimator)
        self._owner = type(estimator).__name__
        self._may_miss = estimator.may_miss
        self._learns = model is None and columns is None
        self._columns = columns
        if columns is not None:
            columns.give_to(self._estimator)
        if model is None:
            self._dtype = check_float_dtype(self._owner, estimator.dtype)
            self._numeric = numeric_rows(estimator.feature_map)
        else:
            self._dtype = model.plan.feature_map.dtype_
            self._numeric = model.plan.feature_map.numeric_rows

    def rows(self, X: Any) -> NDArray[Any]:
        """Rows as they are worked on, shape (n, w)."""
        names = None if self._columns is None else self._columns.names
        if names is not None and isinstance(X, np.ndarray):
            vars(self._estimator).pop("feature_names_in_", None)
        return check_table(
            self._estimator,
            X,
            reset=self._learns,
            dtype=self._dtype,
            numeric=self._numeric,
            may_miss=self._may_miss,
            names=names,
        )

    def batch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        readout: ReadOut,
        *,
        may_vanish: bool = False,
    ) -> Batch:
        """Rows, targets and weights, of those rows that can be learned from."""
        rows = self.rows(X)
        weights = check_weights(sample_weight, len(rows), may_vanish=may_vanish)
        target = readout.check(y, len(rows), self._owner)
        columns = self._columns or Columns.of(self._estimator)
        return self._whole(Batch(rows, columns, target, weights))

    def _whole(self, batch: Batch) -> Batch:
        """The rows that lack nothing."""
        if not self._may_miss:
            return batch
        whole = ~np.isnan(batch.rows).any(axis=1)
        if whole.all():
            return batch
        if not whole.any():
            raise ValueError(
                f"{self._owner} learns from rows without gaps, but each of the "
                f"{len(batch)} rows lacks a value: fill some"
            )
        warnings.warn(
            f"{int((~whole).sum())} of {len(batch)} rows lack a value and were left "
            f"out: {self._owner} integrates over what is missing when it "
            "predicts, and learns from whole rows",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
        return batch.take(whole)
