"""Streams lose no row: a bad one is refused alone, and all others are learned."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import rhokit
from rhokit import DMKDE, OneHotFeatures, QMRegressor, Stream, fit_batches
from rhokit.errors import DataError, RefusedRows
from tests.one_pass import PLAN, assert_same_model, one_pass_models

MODELS = one_pass_models(bounds=(-9, 9))
N_ROWS, BAD = 60, 7
X = np.random.default_rng(0).normal(size=(N_ROWS, 2))
VALUES, LABELS = X[:, 0] * 2, np.arange(N_ROWS) % 3
GOOD = np.delete(np.arange(N_ROWS), BAD)
TARGETS = {"DMKDE": None, "QMRegressor": VALUES, "DMKDClassifier": LABELS}


def part_of(values, which):
    return None if values is None else values[which]


def new_stream(name, options, planned):
    model = clone(MODELS[name])
    if planned:
        model.prepare(X[GOOD], part_of(TARGETS[name], GOOD))
    return Stream(model, **options)


# ---- bad rows ----------------------------------------------------------------------

BAD_WEIGHTS = [np.nan, np.inf, -1.0, "x", None, [1.0], np.array([1.0]), 10**400]
BAD_TARGETS = {
    "QMRegressor": [np.nan, np.inf, None, "x", [1.0, 2.0], [[1.0]], 10**400],
    "DMKDClassifier": [np.nan, None, "x", [1, 2], 0.5],
}
CASES = [
    *(("DMKDE", None, weight) for weight in BAD_WEIGHTS),
    *((name, bad, 1.0) for name, many in BAD_TARGETS.items() for bad in many),
]


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize(("name", "target", "weight"), CASES)
def test_a_bad_row_is_refused_when_it_comes(name, target, weight, planned):
    y = TARGETS[name]
    stream = new_stream(name, {"warm_up": 30, "buffer_rows": 10}, planned)
    for index, row in enumerate(X):
        if index == BAD:
            with pytest.raises((ValueError, OverflowError)) as refused:
                stream.learn_one(row, target, weight)
            if isinstance(refused.value, DataError):
                assert refused.value.row == BAD
        else:
            stream.learn_one(row, part_of(y, index))
    assert stream.n_seen == N_ROWS - 1
    model = stream.model
    expected = model.blank().partial_fit(X[GOOD], part_of(y, GOOD))
    assert_same_model(model, expected)


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("bad", [[np.nan], ["x"], [[1.0, 2.0]]])
def test_bad_targets_of_many_are_refused_when_they_come(bad, planned):
    stream = new_stream("QMRegressor", {"buffer_rows": 1000}, planned)
    stream.learn_many(X[:30], VALUES[:30])
    with pytest.raises(ValueError, match=r"y (contains|must)|convert"):
        stream.learn_many(X[30:31], bad)
    stream.learn_many(X[30:], VALUES[30:, None])  # a column is one target as well
    model = stream.model
    assert_same_model(model, model.blank().partial_fit(X, VALUES))


def test_text_does_not_make_text_of_numbers():
    stream = new_stream("DMKDClassifier", {}, planned=False)
    stream.learn_many(X, LABELS)
    with pytest.raises(ValueError, match="y must be numbers, as before, got text"):
        stream.learn_many(X[:2], ["0", "1"])
    assert_array_equal(stream.model.classes_, [0, 1, 2])
    batches = [(X, LABELS), (X[:2], np.array(["0", "1"]))]
    with pytest.raises(ValueError, match="y must be numbers, as before, got text"):
        fit_batches(clone(MODELS["DMKDClassifier"]), batches)


def test_categories_that_are_numbers_stay_numbers():
    rows = [("red", 1), ("blue", 2), ("red", 2), ("blue", 1)] * 5
    model = DMKDE(feature_map=OneHotFeatures(), random_state=0)
    stream = Stream(clone(model))
    for row in rows:
        stream.learn_one(row)
    expected = clone(model).partial_fit(np.array(rows, dtype=object))
    assert_same_model(stream.model, expected)


def test_a_target_may_be_filled_with_the_next_one():
    y = np.stack([VALUES, X[:, 1]], axis=1)
    stream = Stream(QMRegressor(**PLAN, n_levels=5, beta=4.0))
    target = [0.0, 0.0]
    for row, values in zip(X, y.tolist(), strict=True):
        target[:] = values
        stream.learn_one(row, target)
    assert_same_model(stream.model, stream.model.blank().partial_fit(X, y))


def test_a_number_too_large_for_single_precision_is_refused_alone():
    stream = Stream(DMKDE(**PLAN, dtype="float32"), warm_up=30, buffer_rows=20)
    large = X.copy()
    large[[3, BAD]] = 1e300
    refused = []
    for row in large:
        try:
            with np.errstate(over="ignore"):
                stream.learn_one(row)
        except RefusedRows as error:
            refused += [each.row for each in error.errors]
    assert refused == [3, BAD]
    assert stream.n_seen == stream.model.state_.weight[0] == N_ROWS - 2


class TestValuesThatNoPlanHolds:
    """What only the model can judge, before it has a plan: bounds of the targets."""

    def feed(self, one_by_one, y, **options):
        stream = Stream(clone(MODELS["QMRegressor"]), **options)
        refused = []
        for start in range(0, N_ROWS, 1 if one_by_one else 6):
            which = slice(start, start + 6)
            try:
                if one_by_one:
                    stream.learn_one(X[start], y[start])
                else:
                    stream.learn_many(X[which], y[which])
            except RefusedRows as error:
                refused += error.errors
        return stream, refused

    @pytest.mark.parametrize("one_by_one", [True, False])
    def test_are_refused_alone_by_position(self, one_by_one):
        y = VALUES.copy()
        y[[BAD, 20, 41]] = 100, -100, 50
        stream, refused = self.feed(one_by_one, y, warm_up=30, buffer_rows=10)
        model = stream.model
        assert [(each.row, each.value) for each in refused] == [
            (BAD, 100.0),
            (20, -100.0),
            (41, 50.0),
        ]
        assert stream.n_seen == N_ROWS - 3
        good = np.delete(np.arange(N_ROWS), [BAD, 20, 41])
        first = good[good < 30]
        expected = clone(MODELS["QMRegressor"]).prepare(X[first], y[first])
        assert_same_model(model, expected.partial_fit(X[good], y[good]))

    def test_all_of_them_wait_for_others(self):
        stream, refused = self.feed(True, np.full(N_ROWS, 100.0), warm_up=30)
        with pytest.raises(DataError, match="outside the range"):
            _ = stream.model
        assert refused == []
        stream.learn_many(X, VALUES)
        with pytest.raises(RefusedRows) as error:
            _ = stream.model
        assert [each.row for each in error.value.errors] == list(range(N_ROWS))
        expected = clone(MODELS["QMRegressor"]).prepare(X, VALUES)
        assert_same_model(stream.model, expected.partial_fit(X, VALUES))

    def test_the_error_goes_to_other_processes(self):
        error = RefusedRows((DataError("is bad", row=3),), 8)
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert (again.n_rows, again.errors[0].row) == (8, 3)


def test_rows_wait_until_there_is_a_second_label():
    """An error that is no row's fault leaves all rows where they are."""
    stream = Stream(clone(MODELS["DMKDClassifier"]), warm_up=20, buffer_rows=20)
    memory = np.empty((20, 2))
    for start in (0, 20):
        memory[:] = X[start : start + 20]
        with pytest.raises(ValueError, match="at least two classes"):
            stream.learn_many(memory, np.zeros(20, int))
    stream.learn_many(X[40:], np.ones(20, int))
    labels = np.repeat([0, 0, 1], 20)
    assert_same_model(stream.model, stream.model.blank().partial_fit(X, labels))


# ---- interruptions -----------------------------------------------------------------

STREAMS = str(Path(rhokit.__file__).parent / "streams")


class Interruption:
    """Ctrl-C at the n-th line of the package of streams that is run."""

    def __init__(self, line):
        self._left = line

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._look)

    def __exit__(self, kind, error, traceback):
        sys.settrace(self._before)
        return kind is KeyboardInterrupt

    def _look(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(STREAMS):
            return None
        if event == "line":
            self._left -= 1
            if self._left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._look

    @property
    def came(self):
        return self._left < 0


@pytest.mark.parametrize(
    ("options", "rtol"),
    [({}, 1e-12), ({"window": 25}, 1e-10), ({"half_life": 9.0}, 1e-12)],
)
def test_an_interruption_anywhere_loses_nothing(options, rtol):
    def waiting():
        stream = Stream(clone(MODELS["DMKDE"]), buffer_rows=8, warm_up=99, **options)
        stream.learn_many(X[:20])
        stream.learn_many(X[20:53], sample_weight=np.full(33, 2.0))
        for row in X[53:]:
            stream.learn_one(row)
        return stream

    expected, line = waiting().model, 0
    while True:
        stream, interruption = waiting(), Interruption(line)
        with interruption:
            _ = stream.model
        if not interruption.came:
            break
        assert stream.n_seen == N_ROWS
        assert_same_model(stream.model, expected, rtol)
        line += 4
    assert line > 100
