"""What models of frames keep to when a category comes that they have not learned."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from rhokit.errors import DataError
from rhokit.io import dumps, loads
from rhokit.testing.cases import EstimatorCase, take
from rhokit.testing.comparisons import answers_of, assert_same_answers
from rhokit.testing.mass_laws import assert_integrates

_NEW = "a category that nobody has seen"


def unseen_categories(case: EstimatorCase) -> None:
    """Rows of new categories add up, weigh, are forgotten and saved as others are."""
    rows, target = case.data(45, 2)
    columns = _open_columns(rows)
    if not columns or not case.has("prepare", "blank", "merge"):
        return
    rows, empty = with_new(rows, columns), case.prepared()
    whole = empty.blank().partial_fit(rows, target)
    halves = [np.arange(20), np.arange(20, 45)]
    first, last = (
        empty.blank().partial_fit(take(rows, half), take(target, half))
        for half in halves
    )
    _assert_same(case, clone_of(first).merge(last), whole)
    _assert_same(case, loads(dumps(whole)), whole)
    counts = np.arange(45) % 3
    copies = np.repeat(np.arange(45), counts)
    _assert_same(
        case,
        empty.blank().partial_fit(rows, target, sample_weight=counts),
        empty.blank().partial_fit(take(rows, copies), take(target, copies)),
    )
    if case.has("unlearn"):
        gone = take(rows, halves[1]), take(target, halves[1])
        _assert_same(case, clone_of(whole).unlearn(*gone), first)
    if case.has("score_samples"):
        assert_integrates(whole, rows)


def unseen_may_be_refused(case: EstimatorCase) -> None:
    """With ``unseen="raise"`` a new category is an error that names its place."""
    rows, target = case.data(60, 1)
    columns = _open_columns(rows)
    if not columns:
        return
    model = clone(case.estimator).set_params(unseen="raise").fit(rows, target)
    asked = with_new(rows, columns[:1])
    refused = None
    try:
        answers_of(model, asked)
    except DataError as error:
        refused = error
    assert refused is not None, "a new category was not refused"
    assert (refused.row, refused.column, refused.value) == (0, columns[0], _NEW)


def with_new(rows: Any, columns: list[str]) -> Any:
    """A pandas frame whose every third row has new categories in some columns."""
    is_new = np.arange(len(rows)) % 3 == 0
    return rows.assign(
        **{name: rows[name].astype(object).mask(is_new, _NEW) for name in columns}
    )


def clone_of(model: Any) -> Any:
    """A model that may learn on beside this one."""
    return loads(dumps(model))


def _open_columns(rows: Any) -> list[str]:
    """Columns of a pandas frame whose categories are marked as such."""
    dtypes = dict(getattr(rows, "dtypes", {}))
    return [name for name, kind in dtypes.items() if str(kind) == "category"]


def _assert_same(case: EstimatorCase, actual: Any, expected: Any) -> None:
    """Equal answers to rows of known and of new categories."""
    asked = case.queries()
    for rows in (asked, with_new(asked, _open_columns(asked))):
        found, wanted = (answers_of(each, rows) for each in (actual, expected))
        assert all(np.isfinite(each).all() for each in _numbers(wanted))
        assert_same_answers(found, wanted, case.unlearned_tolerance)


def _numbers(answers: Any) -> list[Any]:
    arrays = [np.asarray(each) for each in answers.values()]
    return [each for each in arrays if each.dtype.kind == "f"]


CATEGORY_LAWS: dict[str, Callable[[EstimatorCase], None]] = {
    "unseen_categories": unseen_categories,
    "unseen_may_be_refused": unseen_may_be_refused,
}
