"""Rows at the border of an estimator: checked once, whatever they came as."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.frame_form import FrameForm
from rhokit.frame_rows import check_table
from rhokit.frame_sources import read_in
from rhokit.frame_times import has_times, with_parts
from rhokit.models import Model
from rhokit.plans.request import numeric_rows
from rhokit.validation import check_float_dtype, level_of_the_user


def checked_rows(
    estimator: Any,
    X: Any,
    model: Model | None = None,
    columns: Columns | None = None,
    encoded: bool = False,
) -> tuple[NDArray[Any], Columns]:
    """Rows as they are worked on, shape (n, w), and their columns.

    Parameters
    ----------
    estimator : OnePassEstimator
        Whose parameters count; it is left as it is.
    X : array-like or frame of shape (n, d)
    model : Model, optional
        That knows the columns already; without one they are learned.
    columns : Columns, optional
        Columns to compare with, where no model knows them; arrays, which have no names
        of their own, are taken to have these.
    encoded : bool, default=False
        Whether an array holds wide rows, which the schema of the columns has made.
    """
    X = read_in(X)
    known, names = copy(estimator), None  # which learns the columns, or compares
    dtype, numeric, learned = estimator.dtype, True, columns
    if model is not None:
        feature_map = model.plan.feature_map
        dtype, numeric = feature_map.dtype_, feature_map.numeric_rows
        learned = columns or model.plan.columns
    if learned is not None:
        learned.give_to(known)
    if columns is not None:
        names = columns.names
        if names is not None and isinstance(X, np.ndarray):
            del known.feature_names_in_
    if model is None:
        numeric = numeric_rows(estimator.feature_map)
        if dtype is not None:
            dtype = check_float_dtype(type(estimator).__name__, dtype)
    rows = check_table(
        known,
        X,
        reset=learned is None,
        dtype=dtype,
        numeric=numeric,
        may_miss=estimator.missing == "integrate",
        names=names,
        encoded=encoded,
        is_closed=estimator.unseen == "raise",
    )
    if learned is not None:
        return rows, learned
    found = Columns.of(known)
    if numeric and has_times(X):
        X = with_parts(X, found.names)
    form = FrameForm.of(X, found.categories) if numeric else None
    return rows, replace(found, form=form)


def whole_rows(batch: Batch, owner: str) -> Batch:
    """The rows that lack nothing, which are those that can be learned from."""
    whole = ~np.isnan(batch.rows).any(axis=1)
    if whole.all():
        return batch
    if not whole.any():
        raise ValueError(
            f"{owner} learns from rows without gaps, but each of the "
            f"{len(batch)} rows lacks a value: fill some"
        )
    warnings.warn(
        f"{int((~whole).sum())} of {len(batch)} rows lack a value and were left "
        f"out: {owner} integrates over what is missing when it "
        "predicts, and learns from whole rows",
        UserWarning,
        stacklevel=level_of_the_user(),
    )
    return batch.take(whole)
