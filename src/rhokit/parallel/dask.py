"""Dask collections: fitted by adding up, predicted block by block.

Everything runs on whatever scheduler Dask has: threads of this process, or the workers
of a ``distributed`` cluster. Each task works in one thread, so that they do not get in
each other's way.
"""

import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

try:
    import dask.base
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError(
        "rhokit.parallel.dask needs Dask: pip install 'rhokit[dask]'"
    ) from error

from rhokit.estimators.base import OnePassEstimator
from rhokit.fast import one_worker
from rhokit.parallel import worker_tasks
from rhokit.parallel.lazy_answers import ask, constant
from rhokit.parallel.partitions import Partitions
from rhokit.parallel.reduce import tree
from rhokit.plans.request import numeric_rows
from rhokit.streams.budget import RowBudget
from rhokit.streams.learning import (
    become,
    check_one_pass,
    compare_columns,
    fresh,
    sample_size,
    takes_categories,
)
from rhokit.validation import check_count, generator

E = TypeVar("E", bound=OnePassEstimator)
_dask_compute: Any = dask.base.compute  # which has no types
# Partitions that a sample is drawn from, spread over the whole.
_SAMPLE_PARTITIONS = 64
_PICK, _ESSENTIAL, _LEARN, _ADD_UP = (
    delayed(function, pure=False)
    for function in (
        worker_tasks.pick,
        worker_tasks.essential,
        worker_tasks.learn,
        worker_tasks.add_up,
    )
)


def fit(
    estimator: E,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    sample_rows: int | None = None,
    batch_rows: int | None = None,
    memory_limit: int | str | None = None,
) -> E:
    """Fit a one-pass model to a Dask array or dataframe.

    Scaling, γ and map are chosen here, from a sample of up to 64 partitions spread over
    the whole; workers add up their partitions; the sums are added as a tree, neighbours
    first, so the answer does not depend on who was ready first. Partitions that a lost
    worker had are computed again by Dask. States of workers that have another version
    of rhokit, or another plan, are refused.

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
    work, numeric = fresh(estimator), numeric_rows(estimator.feature_map)
    data = Partitions(X, y, sample_weight, numeric, takes_categories(estimator))
    compare_columns(work, data.columns)
    budget = RowBudget(batch_rows, memory_limit)
    budget.rows(work, data.columns.width)
    if not work.is_prepared:
        _prepare(work, data, sample_rows or sample_size(estimator))
    become(estimator, _add_up(work, data, budget.rows(work)), data.columns)
    return estimator


def predict(model: Any, X: Any) -> Any:
    """What ``model.predict`` says of each row, as a Dask collection like X."""
    return ask(model, "predict", X)


def predict_proba(model: Any, X: Any) -> Any:
    """What ``model.predict_proba`` says of each row, as a Dask collection like X."""
    return ask(model, "predict_proba", X)


def predict_log_proba(model: Any, X: Any) -> Any:
    """What ``model.predict_log_proba`` says of each row, as a collection like X."""
    return ask(model, "predict_log_proba", X)


def score_samples(model: Any, X: Any) -> Any:
    """What ``model.score_samples`` says of each row, as a Dask collection like X."""
    return ask(model, "score_samples", X)


# ---- the reduction -----------------------------------------------------------------


def _prepare(work: OnePassEstimator, data: Partitions, size: int) -> None:
    """Choose scaling, γ and map from a sample of all partitions."""
    parts = data.delayed()
    spread = np.linspace(0, len(parts) - 1, min(len(parts), _SAMPLE_PARTITIONS))
    chosen = [parts[i] for i in np.unique(spread.round().astype(int))]
    count = -(-2 * size // len(chosen))
    sent, rng = constant(work), generator(work.random_state)
    seeds = [int(rng.integers(2**31 - 1)) for _ in chosen]
    picks = _compute(
        [
            _PICK(sent, part, data.columns, count, seed)
            for part, seed in zip(chosen, seeds, strict=True)
        ]
    )
    sample = worker_tasks.even_sample(picks, size)
    work.prepare(sample, targets=_essential_targets(work, data))


def _essential_targets(work: OnePassEstimator, data: Partitions) -> NDArray[Any] | None:
    """All labels, or the lowest and highest values, of all partitions."""
    readout, targets = work.make_readout(), data.targets()
    if targets is None or not readout.has_target:
        return None
    found = _compute([_ESSENTIAL(readout, part) for part in targets])
    return readout.essential(np.concatenate([few for few in found if few is not None]))


def _add_up(plan: OnePassEstimator, data: Partitions, rows: int) -> OnePassEstimator:
    """The plan's model of all partitions."""
    sent = constant(plan)
    parts = [_LEARN(sent, part, data.columns, rows) for part in data.delayed()]
    total = _compute(tree(parts, lambda group: _ADD_UP(sent, group)))
    return worker_tasks.summed_up(plan, total)


def _compute(what: Any) -> Any:
    # In threads of this process, one that holds BLAS at one thread for all of them.
    with one_worker(), warnings.catch_warnings():
        # The model is in the graph, so that it can be had again if a worker is lost.
        warnings.filterwarnings("ignore", "Sending large graph")
        return _dask_compute(what)[0]
