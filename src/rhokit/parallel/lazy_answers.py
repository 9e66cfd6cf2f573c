"""Answers for Dask collections, computed block by block when they are asked for."""

from typing import Any

import dask.array
import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted

from rhokit.estimators.base import OnePassEstimator
from rhokit.fast import one_worker
from rhokit.parallel.partitions import by_rows, is_frame
from rhokit.streams.learning import with_names

da: Any = dask.array  # which has no types
Shape = tuple[int, ...]


def constant(value: Any) -> Any:
    """A value that goes to each worker once, and can be had again if one is lost."""
    return delayed(value, pure=False, traverse=False)


def ask(model: Any, method: str, X: Any) -> Any:
    """A lazy answer for every row."""
    check_is_fitted(model)
    getattr(model, method)  # what it cannot answer, it says now
    asked = getattr(model, "estimator_", model)  # that a trained model answers with
    if is_frame(X):
        meta = _frame(asked, method, np.empty((0, *_form(asked, method)[0])), None)
        return X.map_partitions(_answer_frame, constant(asked), method, meta=meta)
    if not isinstance(X, da.Array):
        raise TypeError(f"X must be a Dask array or dataframe, got {type(X).__name__}")
    X, (shape, dtype) = by_rows(X), _form(asked, method)
    return da.map_blocks(
        _answer,
        X,
        constant(with_names(asked, None)),
        method,
        chunks=(X.chunks[0], *((size,) for size in shape)),
        drop_axis=() if shape else 1,
        dtype=dtype,
        meta=np.empty((0,) * (1 + len(shape)), dtype),
    )


def _form(model: OnePassEstimator, method: str) -> tuple[Shape, np.dtype[Any]]:
    """Shape of the answer for one row, and its dtype."""
    readout: Any = model.prepared_model().readout
    if method in ("predict_proba", "predict_log_proba"):
        return (readout.n_outcomes,), np.dtype(np.float64)
    if method == "score_samples":
        return (), np.dtype(np.float64)
    if readout.kind == "values":
        return (() if readout.one_target else (len(readout.low),)), np.dtype(np.float64)
    rejects = getattr(readout, "reject", None) is not None
    rejects |= getattr(readout, "min_log_density", None) is not None
    return (), np.dtype(object) if rejects else readout.classes.dtype


def _answer(rows: Any, model: OnePassEstimator, method: str) -> Any:
    shape, dtype = _form(model, method)
    if not len(rows):
        return np.empty((0, *shape), dtype)
    with one_worker():
        return np.asarray(getattr(model, method)(rows)).astype(dtype, copy=False)


def _answer_frame(frame: Any, model: OnePassEstimator, method: str) -> Any:
    return _frame(model, method, _answer(frame, model, method), frame.index)


def _frame(model: OnePassEstimator, method: str, values: Any, index: Any) -> Any:
    """Answers as a series, or as a frame with a column for each class or target."""
    import pandas as pd

    shape, dtype = _form(model, method)
    if not shape:
        kind = dtype if dtype.kind == "O" else None  # pandas would make it text
        return pd.Series(values.astype(dtype), index=index, name=method, dtype=kind)
    names = range(*shape) if method == "predict" else model.readout_.classes
    return pd.DataFrame(values, index=index, columns=list(names))
