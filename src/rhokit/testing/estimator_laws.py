"""What every estimator keeps to."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from rhokit.io import dumps, loads
from rhokit.testing.cases import EstimatorCase, joined, other_columns, take
from rhokit.testing.category_laws import CATEGORY_LAWS
from rhokit.testing.comparisons import (
    answers_of,
    assert_same_answers,
    assert_same_model,
    assert_same_state,
)
from rhokit.testing.mass_laws import MASS_LAWS
from rhokit.testing.refusals import assert_refused, bad_rows
from rhokit.testing.thread_laws import THREAD_LAWS
from rhokit.testing.unit_laws import UNIT_LAWS

EstimatorLaw = Callable[[EstimatorCase], None]
ESTIMATOR_LAWS: dict[str, EstimatorLaw] = (
    UNIT_LAWS | THREAD_LAWS | MASS_LAWS | CATEGORY_LAWS
)


def _law(*needs: str) -> Callable[[EstimatorLaw], EstimatorLaw]:
    """Register a law of estimators that have some methods; others pass it."""

    def register(law: EstimatorLaw) -> EstimatorLaw:
        def run(case: EstimatorCase) -> None:
            if case.has(*needs):
                law(case)

        run.__name__, run.__doc__ = law.__name__, law.__doc__
        ESTIMATOR_LAWS[law.__name__] = run
        return run

    return register


def _assert_same(case: EstimatorCase, actual: Any, expected: Any) -> None:
    """Equal models, whose rows were added up in another way."""
    assert_same_model(actual, expected, case.state_tolerance)
    queries = case.queries()
    found, wanted = (answers_of(each, queries) for each in (actual, expected))
    assert_same_answers(found, wanted, case.tolerance)


def _part(data: tuple[Any, Any], which: Any) -> tuple[Any, Any]:
    return take(data[0], which), take(data[1], which)


# ---- learning ------------------------------------------------------------------------


@_law("prepare", "blank", "merge")
def split(case: EstimatorCase) -> None:
    """Rows in any split and order give the model of all at once."""
    empty, data = case.prepared(), case.data(45, 2)
    whole = empty.blank().partial_fit(*data)
    rng = np.random.default_rng(0)
    for cuts in ([1, 7, 30], [20], [44]):
        parts = np.split(rng.permutation(45), cuts)
        batches = [_part(data, parts[i]) for i in rng.permutation(len(parts))]
        streamed = empty.blank()
        for batch in batches:
            streamed.partial_fit(*batch)
        _assert_same(case, streamed, whole)
        alone = [empty.blank().partial_fit(*batch) for batch in batches]
        _assert_same(case, empty.blank().merge(*alone), whole)


@_law("prepare", "blank")
def order(case: EstimatorCase) -> None:
    """The order of rows does not matter."""
    empty, data = case.prepared(), case.data(45, 2)
    shuffled = _part(data, np.random.default_rng(0).permutation(45))
    actual = empty.blank().partial_fit(*shuffled)
    _assert_same(case, actual, empty.blank().partial_fit(*data))


@_law("prepare", "blank")
def weights(case: EstimatorCase) -> None:
    """A weight of k is k copies of the row, and of zero none."""
    empty, data = case.prepared(), case.data(45, 2)
    counts = np.arange(45) % 3
    weighted = empty.blank().partial_fit(*data, sample_weight=counts)
    copies = _part(data, np.repeat(np.arange(45), counts))
    _assert_same(case, weighted, empty.blank().partial_fit(*copies))


@_law("prepare", "blank", "unlearn")
def unlearn(case: EstimatorCase) -> None:
    """A model that has forgotten rows has never seen them."""
    empty, kept, gone = case.prepared(), case.data(45, 2), case.data(20, 3)
    model = empty.blank().partial_fit(*kept).partial_fit(*gone).unlearn(*gone)
    _assert_unlearned(case, model, empty.blank().partial_fit(*kept))
    _assert_unlearned(
        case,
        empty.blank().partial_fit(*gone, sample_weight=np.full(20, 3)).unlearn(*gone),
        empty.blank().partial_fit(*gone, sample_weight=np.full(20, 2)),
    )


def _assert_unlearned(case: EstimatorCase, actual: Any, expected: Any) -> None:
    assert actual.fingerprint() == expected.fingerprint()
    assert_same_state(actual.state_, expected.state_, 100 * case.state_tolerance)
    queries = case.queries()
    found, wanted = (answers_of(each, queries) for each in (actual, expected))
    sample, whole = actual.sample_, expected.sample_
    if whole is not None and len(sample.keys) < len(whole.keys):
        # Rows that had to make room for those forgotten do not come back, and no
        # others have their place.
        np.testing.assert_array_equal(sample.keys, whole.keys[: len(sample.keys)])
        found, wanted = ({"score_samples": a["score_samples"]} for a in (found, wanted))
    assert_same_answers(found, wanted, case.unlearned_tolerance)


@_law("prepare", "blank", "merge", "unmerge")
def merge(case: EstimatorCase) -> None:
    """Merged models hold both models' rows, and unmerged ones their own again."""
    empty, first, second = case.prepared(), case.data(45, 2), case.data(20, 3)
    one, two = (empty.blank().partial_fit(*each) for each in (first, second))
    both = [
        None if a is None else joined([a, b])
        for a, b in zip(first, second, strict=True)
    ]
    merged = empty.blank().merge(one, two)
    _assert_same(case, merged, empty.blank().partial_fit(*both))
    _assert_unlearned(case, merged.unmerge(two), one)
    assert_same_model(empty.blank().merge(one, empty.blank()), one, 0)


@_law("prepare", "blank", "fade")
def decay(case: EstimatorCase) -> None:
    """A past that fades is a past of smaller weights."""
    empty, past, now = case.prepared(), case.data(45, 2), case.data(20, 3)
    faded = empty.blank().partial_fit(*past).partial_fit(*now, decay=0.5)
    light = empty.blank().partial_fit(*past, sample_weight=np.full(45, 0.5))
    _assert_same(case, faded, light.partial_fit(*now))
    whole = empty.blank().partial_fit(*past)
    halved = empty.blank().partial_fit(*past).fade(0.5)
    if halved.sample_ is None:  # rows that are left out take more of less with them
        found, wanted = (answers_of(each, case.queries()) for each in (halved, whole))
        assert_same_answers(found, wanted, case.tolerance)


@_law("prepare", "blank")
def blocks(case: EstimatorCase) -> None:
    """How many rows are worked on at once does not matter."""
    empty, data = case.prepared(), case.data(45, 2)
    whole = empty.blank().partial_fit(*data)
    small = empty.blank().set_params(batch_size=7).partial_fit(*data)
    _assert_same(case, small, whole)


@_law("prepare", "blank")
def blank(case: EstimatorCase) -> None:
    """A blank copy knows the plan and no rows."""
    fitted = case.fitted()
    empty = fitted.blank()
    assert empty.fingerprint() == fitted.fingerprint()
    assert empty.state_ is None
    assert empty.sample_ is None
    assert fitted.state_ is not None
    assert_refused(empty, lambda: empty.score_samples(case.queries()), "no rows")


@_law("compact")
def compact(case: EstimatorCase) -> None:
    """The smallest model that predicts the same does."""
    fitted, queries = case.fitted(), case.queries()
    found = answers_of(fitted.compact(), queries)
    assert_same_answers(found, answers_of(fitted, queries), case.unlearned_tolerance)


# ---- copies --------------------------------------------------------------------------


@_law()
def pickles(case: EstimatorCase) -> None:
    """A model that was pickled answers, and goes on learning, as before."""
    fitted, queries = case.fitted(), case.queries()
    again = pickle.loads(pickle.dumps(fitted))
    assert_same_answers(answers_of(again, queries), answers_of(fitted, queries))
    _assert_same_copy(case, again, fitted)


@_law()
def files(case: EstimatorCase) -> None:
    """A model from a file answers, and goes on learning, as before."""
    fitted = case.fitted()
    again = loads(dumps(fitted))
    assert repr(again) == repr(fitted)
    _assert_same_copy(case, again, fitted)


@_law()
def refits(case: EstimatorCase) -> None:
    """A model fitted anew is that of the new rows alone, however many columns."""
    rows, target = case.data(60, 1)
    pair = [(rows, target), (other_columns(rows), target)]
    for before, now in (pair, pair[::-1]):
        model = clone(case.estimator).fit(*before).fit(*now)
        expected = clone(case.estimator).fit(*now)
        assert vars(model).keys() == vars(expected).keys()
        data = dumps(model)
        assert data == dumps(expected)
        found, wanted = (answers_of(each, now[0]) for each in (loads(data), expected))
        assert_same_answers(found, wanted, case.tolerance)


@_law("fingerprint")
def gamma_given_back(case: EstimatorCase) -> None:
    """A γ that was chosen gives the same model when it is given."""
    estimator, (rows, target) = clone(case.estimator), case.data(60, 1)
    if estimator.get_params().get("gamma") is None:
        return
    chosen = estimator.set_params(gamma="loo").fit(rows, target)
    if chosen.gamma_ is None:
        return
    given = clone(chosen).set_params(gamma=chosen.gamma_).fit(rows, target)
    assert given.fingerprint() == chosen.fingerprint()
    queries = case.queries()
    found, wanted = (answers_of(each, queries) for each in (given, chosen))
    assert_same_answers(found, wanted)


def _assert_same_copy(case: EstimatorCase, again: Any, fitted: Any) -> None:
    queries, more = case.queries(), case.data(20, 3)
    found, wanted = (answers_of(each, queries) for each in (again, fitted))
    assert_same_answers(found, wanted, 1e-12)
    if case.has("unlearn", "blank"):
        assert_same_model(again, fitted, 0)
        again.partial_fit(*more).unlearn(*more)
        _assert_unlearned(case, again, fitted)


@_law()
def clones(case: EstimatorCase) -> None:
    """A clone has the parameters and nothing that was learned."""
    copy = clone(case.fitted())
    assert repr(copy) == repr(case.estimator)
    assert not [name for name in vars(copy) if name.endswith("_")]


@_law()
def answers(case: EstimatorCase) -> None:
    """Nothing about rows that are asked for is kept."""
    fitted, queries = case.fitted(), case.queries()
    before = pickle.dumps(fitted)
    answers_of(fitted, queries)
    assert pickle.dumps(fitted) == before


# ---- rows ----------------------------------------------------------------------------


@_law()
def frames(case: EstimatorCase) -> None:
    """Frames of pandas, polars and Arrow give the model of the array."""
    (rows, target), queries = case.data(60, 1), case.queries()
    expected = answers_of(case.fitted(), queries)
    for name, as_frame in _frames().items():
        model = clone(case.estimator).fit(as_frame(rows), target)
        assert model.feature_names_in_.tolist() == _named(rows).columns.tolist(), name
        found = answers_of(model, as_frame(queries))
        assert_same_answers(found, expected, case.tolerance)


def _named(rows: Any) -> Any:
    """Rows as a pandas frame."""
    import pandas as pd

    if hasattr(rows, "iloc"):
        return rows
    return pd.DataFrame(rows, columns=[f"column {i}" for i in range(rows.shape[1])])


def _as_polars(frame: Any) -> Any:
    """A polars frame, in which categories with an order are an ``Enum``."""
    import polars as pl

    made = pl.from_pandas(frame)
    for name, kind in frame.dtypes.items():
        if getattr(kind, "ordered", False):
            categories = pl.Enum(kind.categories.tolist())
            made = made.with_columns(pl.Series(name, frame[name].tolist(), categories))
    return made


def _frames() -> dict[str, Callable[[Any], Any]]:
    import pyarrow as pa

    return {
        "pandas": _named,
        "polars": lambda rows: _as_polars(_named(rows)),
        "Arrow": lambda rows: pa.Table.from_pandas(_named(rows), preserve_index=False),
    }


@_law()
def bad_input(case: EstimatorCase) -> None:
    """Rows, targets and weights that are refused leave the model as it was."""
    fitted, (rows, target) = case.fitted(), case.data(60, 1)
    methods = [name for name in ("partial_fit", "unlearn") if case.has(name)]
    if getattr(rows, "dtype", np.dtype(object)).kind == "f":
        may_miss = get_tags(case.estimator).input_tags.allow_nan
        for name, bad in bad_rows(rows, may_miss).items():
            some = None if target is None else target[: len(bad)]
            _assert_all_refused(fitted, methods, bad, some, name)
            if name != "width":
                _assert_all_refused(fitted, ["fit"], bad, some, name)
            assert_refused(fitted, partial(fitted.score_samples, bad), name)
    for name, bad in _bad_targets(target).items():
        _assert_all_refused(fitted, ["fit", *methods], rows, bad, name)
    for name, bad in _bad_weights(len(rows)).items():
        _assert_all_refused(fitted, ["fit", *methods], rows, target, name, bad)


def _assert_all_refused(
    fitted: Any,
    methods: list[str],
    rows: Any,
    target: Any,
    what: str,
    weight: Any = None,
) -> None:
    for method in methods:
        refused = partial(getattr(fitted, method), rows, target, sample_weight=weight)
        assert_refused(fitted, refused, f"{method}: {what}")


def _bad_targets(target: Any) -> dict[str, Any]:
    if target is None:
        return {}
    return {
        "no target": None,
        "too few targets": target[:-1],
        "targets that are not finite": np.full(len(target), np.nan),
    }


def _bad_weights(n: int) -> dict[str, Any]:
    ones = np.ones(n)
    return {
        "negative weight": np.where(np.arange(n) == 3, -1, ones),
        "no weight at all": 0 * ones,
        "too few weights": ones[:-1],
        "weights that are not finite": np.where(np.arange(n) == 3, np.nan, ones),
        "weights of text": np.full(n, "heavy"),
    }
