"""What every estimator keeps to when threads ask it while another one teaches it."""

import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from sklearn.base import clone

from rhokit.testing.cases import EstimatorCase, Law, take
from rhokit.testing.comparisons import answers_of, assert_same_answers

_THREADS = 8
_MOST_QUESTIONS = 25
# Seconds after which another thread has its turn: far more often than usual.
_TURN = 1e-5
Step = Callable[[Any], Any]


def threads(case: EstimatorCase) -> None:
    """Threads that ask while one learns get answers of a model that there was."""
    if not case.has("prepare", "blank"):
        return
    batches = [case.data(30, seed) for seed in range(3, 7)]
    model = case.prepared().partial_fit(*batches[0])
    steps = [partial(_learn, batch) for batch in batches[1:]]
    _assert_answers_of_one_model(model, steps, [case.queries()])


def threads_and_labels(case: EstimatorCase) -> None:
    """The same while labels come that were not there before."""
    if not case.has("prepare", "blank", "predict_proba"):
        return
    rows, target = case.data(90, 1)
    labels, codes = np.unique(target, return_inverse=True)
    few = np.flatnonzero(codes < 2)
    # All rows say where rows are, and two labels what they are.
    model = clone(case.estimator).prepare(rows, np.where(codes < 2, target, labels[0]))
    model.partial_fit(take(rows, few), target[few])
    steps = [partial(_learn, (rows, target))] * 2
    _assert_answers_of_one_model(model, steps, [case.queries()])


def threads_and_columns(case: EstimatorCase) -> None:
    """The same while the model is fitted anew, to rows of other columns.

    Rows of columns that are not the model's are refused, as without threads.
    """
    if not _takes_other_columns(case):
        return
    (rows, target), queries = case.data(40, 1), case.queries()
    first, second = (
        partial(_fit, (part, target)) for part in (rows, _other_columns(rows))
    )
    model = first(clone(case.estimator))
    steps = [second, first] * 2
    _assert_answers_of_one_model(model, steps, [queries, _other_columns(queries)])


def one_look(case: EstimatorCase) -> None:
    """An answer looks at the estimator once: what is learned meanwhile is not in it."""
    if not _takes_other_columns(case):
        return
    (rows, target), queries = case.data(40, 1), case.queries()
    before = clone(case.estimator).fit(rows, target)
    after = clone(case.estimator).fit(_other_columns(rows), target)
    for name in _methods(before):
        found = _answer(_taught_meanwhile(before, after), name, queries)
        assert _agree(found, _answer(before, name, queries)), name


def _taught_meanwhile(before: Any, after: Any) -> Any:
    """A model that becomes another one as soon as it was looked at."""

    def fitted_model(self: Any) -> Any:
        found = type(before).fitted_model(self)
        vars(self).update(vars(after))
        return found

    restless = copy(before)
    name, base = type(before).__name__, type(before)
    restless.__class__ = type(name, (base,), {"fitted_model": fitted_model})
    return restless


def threads_that_ask(case: EstimatorCase) -> None:
    """Many threads at once get what one gets."""
    fitted, queries = case.fitted(), case.queries()
    expected = answers_of(fitted, queries)
    fresh = pickle.loads(pickle.dumps(fitted))  # has nothing computed yet
    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(lambda _: answers_of(fresh, queries), range(_THREADS)):
            assert_same_answers(found, expected, 1e-12)


def _learn(batch: tuple[Any, Any], model: Any) -> Any:
    return model.partial_fit(*batch)


def _fit(batch: tuple[Any, Any], model: Any) -> Any:
    return model.fit(*batch)


def _other_columns(rows: Any) -> Any:
    """Rows without their last column, or with one more if they have no other."""
    if hasattr(rows, "iloc"):
        return rows.iloc[:, :-1]
    return rows[:, :-1] if rows.shape[1] > 1 else np.column_stack([rows, rows])


def _takes_other_columns(case: EstimatorCase) -> bool:
    """Whether this is a one-pass model that is not bound to some columns."""
    rows, target = case.data(40, 1)
    try:
        return case.has("prepare", "blank") and bool(
            clone(case.estimator).fit(_other_columns(rows), target)
        )
    except ValueError:
        return False


_METHODS = (
    "score_samples",
    "predict",
    "predict_proba",
    "predict_interval",
    "score",
    "density",
    "predict_state",
    "predict_distribution",
    "predict_quantiles",
    "reach",
)


def _methods(model: Any) -> list[str]:
    """What a model answers for rows alone."""
    names = [name for name in _METHODS if hasattr(model, name)]
    return [n for n in names if n != "score" or not hasattr(model, "predict")]


def _answer(model: Any, name: str, rows: Any) -> Any:
    """What a model answers for rows, or how it refuses."""
    try:
        return np.asarray(getattr(model, name)(rows))
    except ValueError as error:
        return str(error)


def _assert_answers_of_one_model(
    model: Any, steps: Sequence[Step], queries: Sequence[Any]
) -> None:
    """Ask from many threads while steps are taken: all answers are of some stage."""
    questions = list(product(_methods(model), range(len(queries))))
    stages, stage = [], pickle.loads(pickle.dumps(model))
    for step in [None, *steps]:
        stage = stage if step is None else step(stage)
        stages.append([_answer(stage, name, queries[q]) for name, q in questions])
    done = threading.Event()

    def ask(first: int) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        while not found or (not done.is_set() and len(found) < _MOST_QUESTIONS):
            which = (first + len(found)) % len(questions)
            name, q = questions[which]
            found.append((which, _answer(model, name, queries[q])))
        return found

    turn = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            asked = [pool.submit(ask, i) for i in range(_THREADS)]
            for step in steps:
                step(model)
            done.set()
    finally:
        done.set()
        sys.setswitchinterval(turn)
    for which, found in chain.from_iterable(each.result() for each in asked):
        name = questions[which][0]
        same = any(_agree(found, stage[which]) for stage in stages)
        assert same, f"{name} is of no model that there was: {found}"


def _agree(found: Any, expected: Any) -> bool:
    """Whether two answers, or two refusals, are the same."""
    if isinstance(found, str) or isinstance(expected, str):
        return bool(np.array_equal(found, expected))
    if found.shape != expected.shape or found.dtype.kind != "f":
        return bool(np.array_equal(found, expected))
    return bool(np.allclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True))


THREAD_LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        threads,
        threads_and_labels,
        threads_and_columns,
        threads_that_ask,
        one_look,
    )
}
