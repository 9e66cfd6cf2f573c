"""Dask collections: fitted by adding up, predicted block by block.

Everything runs on whatever scheduler Dask has: threads of this process, or the workers
of a ``distributed`` cluster. Each task works in one thread, so that they do not get in
each other's way.
"""

import warnings
from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

try:
    import dask
    import dask.array as da
except ImportError as error:
    raise ImportError(
        "rhokit.parallel.dask needs Dask: pip install 'rhokit[dask]'"
    ) from error

from rhokit.fast import one_worker
from rhokit.features import GridFeatures
from rhokit.parallel.partitions import Partitions, by_rows, is_frame
from rhokit.parallel.reduce import tree
from rhokit.streams.budget import rows_per_batch
from rhokit.streams.buffer import joined
from rhokit.streams.columns import (
    become,
    check_one_pass,
    fresh,
    learn,
    takes_categories,
    without_names,
)
from rhokit.streams.fitting import sample_size
from rhokit.validation import check_count, generator

# Partitions that a sample is drawn from, spread over the whole.
_SAMPLE_PARTITIONS = 64
# Attributes that every worker has already; only what was summed up travels, and the
# box of a grid, which may have grown.
_PLAN = ("feature_map_", "scaling_", "_proposal")


def fit(
    estimator,
    X,
    y=None,
    sample_weight=None,
    *,
    sample_rows=None,
    batch_rows=None,
    memory_limit=None,
):
    """Fit a one-pass model to a Dask array or dataframe.

    Scaling, γ and map are chosen here, from a sample of up to 64 partitions spread over
    the whole; workers add up their partitions; the sums are added as a tree, neighbours
    first, so the answer does not depend on who was ready first. Partitions that a lost
    worker had are computed again by Dask.

    Parameters
    ----------
    estimator : one-pass model
        It is fitted anew, from nothing; but what was prepared and holds no rows keeps
        its scaling, γ and map.
    X : Dask array of shape (n, d), or Dask dataframe
    y : Dask array or series, or the name or names of columns of X, optional
    sample_weight : Dask array or series, or the name of a column of X, optional
    sample_rows : int, optional
        How many rows to choose from: 20,000, or 10 for every component.
    batch_rows : int, optional
        Rows that a task learns at once.
    memory_limit : int or str, optional
        Such as ``"600 MB"``: take smaller batches, or refuse to start with a
        MemoryError, if a task needs more than that beside its partition.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.parallel.dask import fit, score_samples
    >>> X = da.random.default_rng(0).normal(size=(20_000, 3), chunks=(5000, 3))
    >>> model = fit(DMKDE(n_components=128, random_state=0), X)
    >>> model.state_.weight
    array([20000.])
    >>> score_samples(model, X)
    dask.array<_answer, shape=(20000,), dtype=float64, chunksize=(5000,), \
chunktype=numpy.ndarray>
    """
    check_one_pass(estimator)
    check_count("sample_rows", sample_rows)
    check_count("batch_rows", batch_rows)
    mixed = takes_categories(estimator)
    data = Partitions(X, y, sample_weight, estimator._numeric_rows(), mixed)
    budget = {"batch_rows": batch_rows, "memory_limit": memory_limit}
    rows_per_batch(fresh(estimator)[0], n_features=data.n_columns, **budget)
    plan = _plan(estimator, data, sample_rows)
    rows = rows_per_batch(plan, **budget)
    sent = _constant(plan)
    parts = [_LEARN(sent, part, rows) for part in data.delayed()]
    total = _compute(tree(parts, _ADD_UP))
    learned = plan.blank()
    if total.state_ is not None:
        learned._take_up(total)
    return become(estimator, learned, data.names)


def predict(model, X):
    """What ``model.predict`` says of each row, as a Dask collection like X."""
    return _ask(model, "predict", X)


def predict_proba(model, X):
    """What ``model.predict_proba`` says of each row, as a Dask collection like X."""
    return _ask(model, "predict_proba", X)


def predict_log_proba(model, X):
    """What ``model.predict_log_proba`` says of each row, as a collection like X."""
    return _ask(model, "predict_log_proba", X)


def score_samples(model, X):
    """What ``model.score_samples`` says of each row, as a Dask collection like X."""
    return _ask(model, "score_samples", X)


# ---- the reduction -----------------------------------------------------------------


def _plan(estimator, data, sample_rows):
    """A prepared model without rows."""
    plan, planned = fresh(estimator, data.names, data.schema)
    if planned:
        return plan
    parts = data.delayed()
    spread = np.linspace(0, len(parts) - 1, min(len(parts), _SAMPLE_PARTITIONS))
    chosen = [parts[i] for i in np.unique(spread.round().astype(int))]
    size = sample_rows or sample_size(estimator)
    rng = generator(estimator.random_state)
    picks = _compute(
        [_PICK(part, -(-2 * size // len(chosen)), _seed(rng)) for part in chosen]
    )
    sample, options = _even_sample(picks, size), {}
    targets = data.targets()
    if targets is not None and hasattr(estimator, "_essential_targets"):
        found = _compute([_ESSENTIAL(plan, part) for part in targets])
        found = [part for part in found if part is not None]
        options["targets"] = plan._essential_targets(np.concatenate(found))
    return plan.prepare(*sample, **options)


def _seed(rng):
    return int(rng.integers(2**31 - 1))


def _pick(part, count, seed):
    """Some rows of a partition at random, and how many it has."""
    if part[2] is not None:  # rows of weight zero are not there
        seen = np.flatnonzero(part[2])
        part = tuple(None if p is None else p[seen] for p in part)
    n_rows = len(part[0])
    rng = np.random.default_rng(seed)
    which = rng.permutation(n_rows)[:count]
    return tuple(None if p is None else p[which] for p in part), n_rows


def _even_sample(picks, size):
    """Rows of all picks, of each as many as its share of all rows."""
    picks = [(rows, total) for rows, total in picks if total]
    if not picks:
        raise ValueError(
            "X holds no rows of a weight above zero: nothing to learn from"
        )
    rate = min(len(rows[0]) / total for rows, total in picks)
    rate = min(rate, size / sum(total for _, total in picks))
    kept = []
    for rows, total in picks:
        count = min(len(rows[0]), max(1, round(rate * total)))
        kept.append(tuple(None if part is None else part[:count] for part in rows))
    return joined(kept)


def _essential(estimator, part):
    """The few targets of a partition that must be known beforehand."""
    y = part[1]
    return estimator._essential_targets(y) if len(y) else None


def _learn(plan, part, batch_rows):
    """What a partition adds to the state."""
    model = plan.blank()
    X, y, weight = part
    with one_worker():
        for start in range(0, len(X), batch_rows):
            which = slice(start, start + batch_rows)
            rows = X[which], None if y is None else y[which]
            own = None if weight is None else weight[which]
            learn(model, *rows, own)
    for name in _PLAN:
        if not isinstance(vars(model).get(name), GridFeatures):
            vars(model).pop(name, None)
    return model


def _add_up(models):
    """What several partitions add, from the first to the last."""
    total = copy(models[0])
    for other in models[1:]:
        if other.state_ is not None:
            total._take_up(other)
    return total


# ---- predicting --------------------------------------------------------------------


def _ask(model, method, X):
    """A lazy answer for every row."""
    check_is_fitted(model)
    getattr(model, method)  # what it cannot answer, it says now
    shape, dtype = _answers(model, method)
    if is_frame(X):
        meta = _frame_meta(model, method, shape, dtype)
        return X.map_partitions(_answer_frame, _constant(model), method, meta=meta)
    if not isinstance(X, da.Array):
        raise TypeError(f"X must be a Dask array or dataframe, got {type(X).__name__}")
    X = by_rows(X)
    chunks = (X.chunks[0], *((size,) for size in shape))
    return da.map_blocks(
        _answer,
        X,
        _constant(without_names(model)),
        method,
        shape,
        dtype,
        chunks=chunks,
        drop_axis=() if shape else 1,
        dtype=dtype,
        meta=np.empty((0,) * (1 + len(shape)), dtype),
    )


def _answers(model, method):
    """Shape of the answer for one row, and its dtype."""
    if method in ("predict_proba", "predict_log_proba"):
        return (len(model.classes_),), np.dtype(np.float64)
    if method == "score_samples":
        return (), np.dtype(np.float64)
    if hasattr(model, "classes_"):
        rejects = getattr(model, "reject", None) is not None
        rejects |= getattr(model, "min_log_density", None) is not None
        return (), np.dtype(object) if rejects else model.classes_.dtype
    levels = model.levels_
    return levels.shape[1:], np.dtype(np.float64)


def _answer(rows, model, method, shape, dtype):
    if not len(rows):
        return np.empty((0, *shape), dtype)
    with one_worker():
        return np.asarray(getattr(model, method)(rows)).astype(dtype, copy=False)


def _answer_frame(frame, model, method):
    import pandas as pd

    shape, dtype = _answers(model, method)
    values = _answer(frame, model, method, shape, dtype)
    if not shape:
        kind = dtype if dtype.kind == "O" else None  # pandas would make it text
        return pd.Series(values, index=frame.index, name=method, dtype=kind)
    names = _column_names(model, method, shape)
    return pd.DataFrame(values, index=frame.index, columns=names)


def _frame_meta(model, method, shape, dtype):
    import pandas as pd

    if not shape:
        return pd.Series(np.empty(0, dtype), name=method)
    names = _column_names(model, method, shape)
    return pd.DataFrame(np.empty((0, *shape), dtype), columns=names)


def _column_names(model, method, shape):
    return list(range(*shape)) if method == "predict" else list(model.classes_)


# ---- Dask --------------------------------------------------------------------------


def _constant(value):
    """A value that goes to each worker once, and can be had again if one is lost."""
    return dask.delayed(value, pure=False, traverse=False)


def _compute(what):
    # In threads of this process, one that holds BLAS at one thread for all of them.
    with one_worker(), warnings.catch_warnings():
        # The model is in the graph, so that it can be had again if a worker is lost.
        warnings.filterwarnings("ignore", "Sending large graph")
        return dask.compute(what)[0]


_PICK, _ESSENTIAL, _LEARN, _ADD_UP = (
    dask.delayed(function, pure=False)
    for function in (_pick, _essential, _learn, _add_up)
)
