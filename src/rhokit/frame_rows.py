"""Rows at the border: arrays and frames as checked rows of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.frame_sources import read_in
from rhokit.frame_times import has_times, with_parts
from rhokit.frames import Schema
from rhokit.validation import check_rows, refuse_non_finite


def check_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    dtype: Any = None,
    numeric: bool = True,
    may_miss: bool = False,
    names: Sequence[Any] | None = None,
    encoded: bool = False,
    is_closed: bool = False,
) -> NDArray[Any]:
    """Rows as a C-ordered array, wide where there are columns of categories.

    What :func:`~rhokit.validation.check_rows` does for numbers, and the same for
    frames with categories. Sets or uses ``schema_`` of the estimator, which is None
    where all columns are numbers. ``may_miss`` lets NaN pass; ``names`` are those of
    rows of numbers that come without them, for errors; ``encoded`` says that rows
    beside a schema are wide ones already, which nobody but this library makes;
    ``is_closed``, that categories that were not learned are errors.
    """
    X = read_in(X)
    if numeric and has_times(X):
        X = with_parts(
            X, None if reset else getattr(estimator, "feature_names_in_", ())
        )
    if reset and numeric:
        estimator.schema_ = Schema.of(X)
    schema = getattr(estimator, "schema_", None)
    if schema is None or not numeric:
        return check_rows(
            estimator,
            X,
            reset=reset,
            dtype=dtype,
            numeric=numeric,
            may_miss=may_miss,
            names=names,
        )
    if reset:
        estimator.n_features_in_ = len(schema.names)
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    if encoded and isinstance(X, np.ndarray):
        wanted = np.promote_types(X.dtype, np.float32) if dtype is None else dtype
        rows = np.ascontiguousarray(X, dtype=wanted)
        if is_closed:
            schema.refuse_unseen(rows)
    else:
        wanted = np.float64 if dtype is None else dtype
        rows = schema.encode(X, wanted, is_closed=is_closed)
    if not len(rows):
        raise ValueError(
            f"Found array with 0 sample(s) (shape={(0, len(schema.names))}) while a "
            f"minimum of 1 is required by {type(estimator).__name__}."
        )
    refuse_non_finite(rows, type(estimator).__name__, schema.name_of, may_miss)
    return rows
