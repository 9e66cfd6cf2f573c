"""Streams: rows that come one by one, and a past that fades or is forgotten."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDE,
    OneHotFeatures,
    QMRegressor,
    QuadratureFeatures,
    Stream,
)
from rhokit.errors import DataError
from tests.one_pass import PLAN, assert_same_model, one_pass_models

MODELS = one_pass_models(bounds=(-9, 9))
N_ROWS = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 2))
WEIGHTS = RNG.integers(1, 4, N_ROWS) / 2
LABELS = np.arange(N_ROWS) % 3
ROW = {"speed": 1.0, "load": 2.0}


def target_of(name):
    if "KDE" in name:
        return None
    return X[:, 0] * 2 if name == "QMRegressor" else LABELS


def part_of(values, which):
    return None if values is None else values[which]


def prepared(name):
    return clone(MODELS[name]).prepare(X, target_of(name))


def feed(stream, sizes, y=None, weights=None):
    """All rows, in steps of these sizes; rows of a step of one come alone."""
    start = 0
    for size in [*sizes, N_ROWS]:
        stop = min(start + size, N_ROWS)
        if stop == start:
            break
        if stop - start == 1:
            weight = 1.0 if weights is None else weights[start]
            stream.learn_one(X[start], part_of(y, start), weight)
        else:
            which = slice(start, stop)
            stream.learn_many(X[which], part_of(y, which), part_of(weights, which))
        start = stop
    return stream


mixes = st.lists(st.sampled_from([1, 1, 1, 2, 5, 17]), max_size=40)
buffers = st.integers(1, 80)


@pytest.mark.parametrize("name", MODELS)
class TestAllModels:
    @given(sizes=mixes, rows=buffers, weighted=st.booleans())
    @settings(max_examples=8)
    def test_any_mix_is_one_fit(self, name, sizes, rows, weighted):
        y, weights = target_of(name), WEIGHTS if weighted else None
        stream = Stream(prepared(name), buffer_rows=rows)
        feed(stream, sizes, y, weights)
        expected = prepared(name).partial_fit(X, y, sample_weight=weights)
        assert stream.n_seen == N_ROWS
        assert_same_model(stream.model, expected)

    @given(
        sizes=mixes, rows=buffers, half_life=st.floats(0.5, 500), weighted=st.booleans()
    )
    @settings(max_examples=8)
    def test_a_fading_past_is_a_weighted_one(
        self, name, sizes, rows, half_life, weighted
    ):
        y, weights = target_of(name), WEIGHTS if weighted else None
        stream = Stream(prepared(name), half_life=half_life, buffer_rows=rows)
        model = feed(stream, sizes, y, weights).model
        ages = np.arange(N_ROWS)[::-1]
        fading = 2 ** (-ages / half_life) * (1 if weights is None else weights)
        expected = prepared(name).partial_fit(X, y, sample_weight=fading)
        assert_same_model(model, expected)

    @given(sizes=mixes, rows=buffers, window=st.integers(1, 80), weighted=st.booleans())
    @settings(max_examples=8)
    def test_a_window_holds_the_last_rows(self, name, sizes, rows, window, weighted):
        y, weights = target_of(name), WEIGHTS if weighted else None
        stream = Stream(prepared(name), window=window, buffer_rows=rows)
        model = feed(stream, sizes, y, weights).model
        last = slice(max(N_ROWS - window, 0), None)
        expected = prepared(name).partial_fit(
            X[last], part_of(y, last), sample_weight=part_of(weights, last)
        )
        # What was taken out again leaves rounding of its own size.
        assert stream.n_seen == N_ROWS
        assert_same_model(model, expected, rtol=1e-10)

    def test_the_first_rows_choose_the_plan(self, name):
        y = target_of(name)
        stream = Stream(clone(MODELS[name]), warm_up=40, buffer_rows=10)
        model = feed(stream, [1] * N_ROWS, y).model
        expected = clone(MODELS[name]).prepare(X[:40], part_of(y, slice(40)))
        assert model.fingerprint() == expected.fingerprint()
        assert_same_model(model, expected.partial_fit(X, y))


class TestModel:
    def test_is_the_estimator_itself(self):
        model = clone(MODELS["DMKDE"])
        stream = Stream(model)
        stream.learn_many(X)
        assert stream.model is model
        assert model.state_.weight[0] == N_ROWS

    def test_twice_is_the_same(self):
        stream = feed(Stream(clone(MODELS["DMKDE"])), [1, 1, 20])
        first = stream.model.state_
        assert_array_equal(stream.model.state_.total, first.total)
        assert stream.model.state_.weight[0] == N_ROWS

    def test_can_be_looked_at_in_between(self):
        stream = Stream(prepared("DMKDE"), window=20)
        for start in range(0, N_ROWS, 7):
            stream.learn_many(X[start : start + 7])
            seen = min(start + 7, N_ROWS)
            assert stream.model.state_.weight[0] == min(seen, 20)
        assert_same_model(
            stream.model, prepared("DMKDE").partial_fit(X[-20:]), rtol=1e-10
        )

    def test_of_few_rows_is_planned_from_these(self):
        stream = Stream(clone(MODELS["DMKDE"]))  # warms up for 1,000
        stream.learn_many(X)
        assert_same_model(stream.model, clone(MODELS["DMKDE"]).partial_fit(X))

    def test_without_rows_is_not_fitted(self):
        assert not hasattr(Stream(clone(MODELS["DMKDE"])).model, "state_")

    def test_goes_on_from_what_it_was(self):
        stream = Stream(clone(MODELS["DMKDE"]).partial_fit(X))
        stream.learn_many(X)
        assert stream.n_seen == N_ROWS
        assert stream.model.state_.weight[0] == 2 * N_ROWS

    def test_parameters_stay(self):
        model = clone(MODELS["QMClassifier"])
        before = model.get_params()
        assert feed(Stream(model), [], LABELS).model.get_params() == before


class TestNames:
    def test_of_the_first_row_are_kept(self):
        stream = Stream(clone(MODELS["DMKDE"]))
        for row in X:
            stream.learn_one({"speed": row[0], "load": row[1]})
        assert stream.model.feature_names_in_.tolist() == ["speed", "load"]
        stream.model.score_samples(pd.DataFrame(X, columns=["speed", "load"]))

    def test_in_any_order(self):
        stream = Stream(prepared("DMKDE"))
        for number, row in enumerate(X):
            pairs = [("speed", row[0]), ("load", row[1])]
            stream.learn_one(dict(pairs if number % 2 == 0 else pairs[::-1]))
        assert_same_model(stream.model, prepared("DMKDE").partial_fit(X))

    def test_frames_and_rows_together(self):
        stream = Stream(prepared_with_names("speed", "load"))
        stream.learn_many(pd.DataFrame(X[:30], columns=["speed", "load"]))
        for row in X[30:]:
            stream.learn_one({"load": row[1], "speed": row[0]})
        assert_same_model(stream.model, prepared("DMKDE").partial_fit(X))
        with pytest.raises(ValueError, match="feature names should match"):
            stream.learn_many(pd.DataFrame(X, columns=["load", "speed"]))

    @pytest.mark.parametrize(
        "row",
        [
            {"speed": 1.0},
            {"speed": 1.0, "weight": 2.0},
            {"speed": 1.0, "load": 2.0, "more": 3.0},
            {},
        ],
    )
    def test_others_are_refused_at_once(self, row):
        stream = Stream(clone(MODELS["DMKDE"]))
        stream.learn_one(ROW)
        with pytest.raises(ValueError, match=r"the columns \['speed', 'load'\], got"):
            stream.learn_one(row)
        assert stream.n_seen == 1

    def test_of_the_preparation_hold(self):
        stream = Stream(prepared_with_names("a", "b"))
        with pytest.raises(ValueError, match=r"the columns \['a', 'b'\], got"):
            stream.learn_one(ROW)

    def test_must_be_as_many_as_were_prepared(self):
        stream = Stream(prepared("DMKDE"))
        with pytest.raises(ValueError, match="a row must have 2 values, got 1"):
            stream.learn_one({"speed": 1.0})

    def test_of_a_refused_row_are_not_kept(self):
        stream = Stream(clone(MODELS["DMKDE"]))
        with pytest.raises(ValueError, match="NaN"):
            stream.learn_one({"wrong": np.nan})
        stream.learn_one(ROW)
        assert stream.n_seen == 1

    def test_of_refused_rows_are_not_kept(self):
        stream = Stream(clone(MODELS["DMKDE"]))
        with pytest.raises(ValueError, match="NaN"):
            stream.learn_many(pd.DataFrame({"wrong": [np.nan, 1.0]}))
        stream.learn_many(pd.DataFrame(X, columns=["speed", "load"]))
        assert stream.n_seen == N_ROWS


def prepared_with_names(*names):
    frame = pd.DataFrame(X, columns=list(names))
    return clone(MODELS["DMKDE"]).prepare(frame)


class TestRefusedAtOnce:
    """A bad row says so when it comes, not when it is learned."""

    @pytest.fixture(params=["new", "prepared"])
    def stream(self, request):
        model = prepared_with_names("a", "b")
        stream = Stream(clone(model) if request.param == "new" else model)
        stream.learn_one({"a": 1.0, "b": 2.0})
        yield stream
        assert stream.n_seen == 1
        stream.learn_many(pd.DataFrame(X, columns=["a", "b"]))
        assert stream.model.state_.weight[0] == N_ROWS + 1

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_numbers_that_are_none(self, stream, bad):
        for row in ({"a": 0.0, "b": bad}, [0.0, bad], np.array([0.0, bad])):
            with pytest.raises(DataError, match=r"column 'b': .*(NaN|infinity)"):
                stream.learn_one(row)

    def test_text(self, stream):
        with pytest.raises(DataError, match=r"column 'b': .* X holds 'red'"):
            stream.learn_one({"a": 0.0, "b": "red"})

    def test_missing(self, stream):
        with pytest.raises((TypeError, ValueError), match=r"NaN|None"):
            stream.learn_one({"a": 0.0, "b": None})

    @pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], []])
    def test_other_lengths(self, stream, row):
        with pytest.raises(ValueError, match=f"must have 2 values, got {len(row)}"):
            stream.learn_one(row)

    def test_nan_among_many(self, stream):
        bad = pd.DataFrame(X, columns=["a", "b"])
        bad.loc[7, "b"] = np.nan
        with pytest.raises(DataError, match="NaN") as refused:
            stream.learn_many(bad)
        assert (refused.value.row, refused.value.column) == (7, "b")

    @pytest.mark.parametrize("weights", [np.ones(3), -np.ones(N_ROWS)])
    def test_bad_weights_among_many(self, stream, weights):
        rows = pd.DataFrame(X, columns=["a", "b"])
        with pytest.raises(ValueError, match="sample_weight must"):
            stream.learn_many(rows, sample_weight=weights)


def test_lengths_of_targets_are_compared_at_once():
    # Together they have the right length: rows would get their neighbours' labels.
    stream = Stream(clone(MODELS["DMKDClassifier"]))
    with pytest.raises(ValueError, match=r"inconsistent|length|shape"):
        stream.learn_many(X[:30], LABELS[:29])
    assert stream.n_seen == 0


def test_large_numbers_are_numbers():
    stream = Stream(prepared("DMKDE"))
    stream.learn_one([1e308, 1e308])  # their sum is not
    assert stream.n_seen == 1


class TestRefusedWhenLearned:
    """Rows that only the model can judge: the others are learned."""

    def test_values_out_of_bounds(self):
        y = X[:, 0] * 2
        y[[5, 41]] = 100, -100
        stream = Stream(prepared("QMRegressor"), buffer_rows=1000)
        feed(stream, [1] * 10, y)
        with pytest.raises(ValueError, match=r"2 of 60 rows were refused.*outside"):
            _ = stream.model
        assert stream.n_seen == N_ROWS - 2
        good = np.delete(np.arange(N_ROWS), [5, 41])
        expected = prepared("QMRegressor").partial_fit(X[good], y[good])
        assert_same_model(stream.model, expected)

    def test_rows_outside_the_grid(self):
        grid = QuadratureFeatures(bounds=[[-5, -5], [5, 5]], tol=1e-2)
        model = DMKDE(gamma=1.0, scale=None, feature_map=grid).prepare(X)
        stream = Stream(model, buffer_rows=10)
        stream.learn_many(X[:25])
        stream.learn_one([50.0, 0.0])
        with pytest.raises(ValueError, match=r"1 of 1 rows were refused.*the box"):
            _ = stream.model
        stream.learn_many(X[25:])
        assert stream.model.state_.weight[0] == N_ROWS

    def test_in_a_window(self):
        y = X[:, 0] * 2
        y[[45, 50]] = 100
        stream = Stream(prepared("QMRegressor"), window=20, buffer_rows=1000)
        stream.learn_many(X, y)
        with pytest.raises(ValueError, match="2 of 60 rows were refused"):
            _ = stream.model
        last = np.delete(np.arange(N_ROWS), [45, 50])[-20:]
        expected = prepared("QMRegressor").partial_fit(X[last], y[last])
        assert_same_model(stream.model, expected, rtol=1e-10)

    def test_while_fading(self):
        """A row that was refused does not age the others."""
        y = X[:, 0] * 2
        y[[5, 50]] = 100
        stream = Stream(prepared("QMRegressor"), half_life=9.0, buffer_rows=1000)
        stream.learn_many(X, y)
        with pytest.raises(ValueError, match="2 of 60 rows were refused"):
            _ = stream.model
        good = np.delete(np.arange(N_ROWS), [5, 50])
        fading = 2 ** (-np.arange(len(good))[::-1] / 9.0)
        expected = prepared("QMRegressor").partial_fit(
            X[good], y[good], sample_weight=fading
        )
        assert_same_model(stream.model, expected)

    @pytest.mark.parametrize("warm_up", [30, 1000])
    def test_a_target_that_is_missing(self, warm_up):
        stream = Stream(clone(MODELS["DMKDClassifier"]), warm_up=warm_up)
        with pytest.raises(ValueError, match="requires y"):
            stream.learn_one(X[0])
        with pytest.raises(ValueError, match="requires y"):
            stream.learn_many(X[:3])
        # It must not be in the way of all others for ever.
        feed(stream, [1] * N_ROWS, LABELS)
        assert stream.model.class_count_.sum() == N_ROWS
        assert stream.n_seen == N_ROWS


class TestMemoryThatIsUsedAgain:
    """A caller may fill the same array or list with the next rows."""

    def test_one_by_one(self):
        stream, row = Stream(prepared("DMKDE")), np.empty(2)
        for values in X:
            row[:] = values
            stream.learn_one(row)
        assert_same_model(stream.model, prepared("DMKDE").partial_fit(X))

    @pytest.mark.parametrize("buffer_rows", [7, 1000])
    @pytest.mark.parametrize("window", [None, 25])
    @pytest.mark.parametrize("size", [5, 20])
    def test_in_batches(self, buffer_rows, window, size):
        name = "DMKDClassifier"
        stream = Stream(prepared(name), buffer_rows=buffer_rows, window=window)
        rows, weights = np.empty((size, 2)), np.empty(size)
        labels = np.empty(size, int)
        for start in range(0, N_ROWS, size):
            which = slice(start, start + size)
            rows[:], labels[:], weights[:] = X[which], LABELS[which], WEIGHTS[which]
            stream.learn_many(rows, labels, weights)
        last = slice(None) if window is None else slice(-window, None)
        expected = prepared(name).partial_fit(
            X[last], LABELS[last], sample_weight=WEIGHTS[last]
        )
        assert_same_model(stream.model, expected, 1e-10)


class TestWeights:
    def test_in_some_steps_only(self):
        stream = Stream(prepared("DMKDE"))
        stream.learn_many(X[:20])
        stream.learn_many(X[20:40], sample_weight=WEIGHTS[20:40])
        stream.learn_one(X[40], weight=3.0)
        stream.learn_many(X[41:])
        weights = np.ones(N_ROWS)
        weights[20:40] = WEIGHTS[20:40]
        weights[40] = 3
        expected = prepared("DMKDE").partial_fit(X, sample_weight=weights)
        assert_same_model(stream.model, expected)

    @pytest.mark.parametrize("options", [{}, {"window": 20}, {"half_life": 10.0}])
    @pytest.mark.parametrize("rows", [1, 7, 100])
    def test_zero_is_a_row_that_says_nothing(self, options, rows):
        weights = np.ones(N_ROWS)
        weights[[0, 1, 2, 38, 39, 40, 41, 42, 43, 44, 45, 46, 59]] = 0
        stream = Stream(prepared("DMKDE"), buffer_rows=rows, **options)
        for row, weight in zip(X, weights, strict=True):
            stream.learn_one(row, weight=weight)
        if "window" in options:
            weights[:-20] = 0
        if "half_life" in options:
            weights *= 2 ** (-np.arange(N_ROWS)[::-1] / 10)
        expected = prepared("DMKDE").partial_fit(X, sample_weight=weights)
        assert_same_model(stream.model, expected, rtol=1e-10)

    def test_zero_at_the_edge_of_a_window(self):
        """What falls out weighs nothing; what came in must come in once."""
        weights = np.repeat([0.0, 1.0], [5, 55])
        stream = Stream(prepared("DMKDE"), window=10, buffer_rows=10)
        stream.learn_many(X[:10], sample_weight=weights[:10])
        stream.learn_many(X[10:15])
        assert_allclose(stream.model.state_.weight, [10], rtol=1e-12)


class TestLabels:
    def test_new_ones_get_a_place(self):
        labels = np.array(["b", "c"] * 20 + ["a"] * 20)
        stream = Stream(clone(MODELS["DMKDClassifier"]), warm_up=20, buffer_rows=8)
        feed(stream, [1] * N_ROWS, labels)
        assert stream.model.classes_.tolist() == ["a", "b", "c"]
        assert_array_equal(stream.model.class_count_, [20, 20, 20])

    def test_old_ones_leave_the_window(self):
        labels = np.array(["b", "c"] * 20 + ["a"] * 20)
        stream = Stream(
            clone(MODELS["DMKDClassifier"]), warm_up=20, buffer_rows=8, window=15
        )
        feed(stream, [1] * N_ROWS, labels)
        assert_allclose(stream.model.class_count_, [15, 0, 0], atol=1e-9)
        assert set(stream.model.predict(X)) == {"a"}

    def test_text_and_numbers_one_by_one(self):
        for labels in (LABELS.tolist(), ["u", "v", "w"] * 20):
            stream = Stream(clone(MODELS["QMClassifier"]))
            for row, label in zip(X, labels, strict=True):
                stream.learn_one(row.tolist(), label)
            assert stream.model.classes_.tolist() == sorted(set(labels))


def test_several_targets():
    y = np.stack([X[:, 0], X[:, 1] * 3], axis=1)
    model = QMRegressor(**PLAN, n_levels=5, beta=4.0, bounds=(-12, 12))
    stream = Stream(clone(model).prepare(X, y))
    feed(stream, [1] * 20, y)
    assert_same_model(stream.model, clone(model).prepare(X, y).partial_fit(X, y))


def test_categories():
    rows = np.array([["red", "up"], ["blue", "up"], ["red", "down"]] * 10, dtype=object)
    model = DMKDE(feature_map=OneHotFeatures(), random_state=0)
    stream = Stream(clone(model))
    for colour, way in rows:
        stream.learn_one({"way": way, "colour": colour})
    expected = clone(model).partial_fit(rows[:, ::-1])
    assert_same_model(stream.model, expected)
    assert stream.model.feature_names_in_.tolist() == ["way", "colour"]


def test_rows_are_learned_together(learned_sizes):
    """One by one would be a hundred times slower."""
    stream = Stream(prepared("DMKDE"), buffer_rows=25)
    for row in X:
        stream.learn_one(row)
    assert learned_sizes == [25, 25]
    assert stream.model.state_.weight[0] == N_ROWS
    assert learned_sizes == [25, 25, 10]


def test_a_window_holds_no_more_rows_than_it_must():
    stream = Stream(prepared("DMKDE"), window=20, buffer_rows=7)
    for row in X:
        stream.learn_one(row)
    _ = stream.model
    assert stream.n_held == 20


def test_a_very_short_memory_keeps_the_last_row():
    stream = Stream(prepared("DMKDE"), half_life=1e-3, buffer_rows=7)
    stream.learn_many(X)
    assert_same_model(stream.model, prepared("DMKDE").partial_fit(X[-1:]))


def test_a_long_fade_stays_a_density():
    stream = Stream(prepared("DMKDE"), half_life=5.0, buffer_rows=64)
    for _ in range(100):
        stream.learn_many(X)
    assert_allclose(stream.model.state_.weight, 1 / (1 - 2 ** (-1 / 5)), rtol=1e-9)
    assert np.isfinite(stream.model.score_samples(X)).all()


class TestArguments:
    def test_one_pass_models_only(self):
        with pytest.raises(TypeError, match=r"one-pass model.*got StandardScaler"):
            Stream(StandardScaler())

    def test_fade_or_window(self):
        with pytest.raises(ValueError, match="either half_life or window"):
            Stream(clone(MODELS["DMKDE"]), half_life=3.0, window=5)

    @pytest.mark.parametrize("value", [0, -1.0, np.nan, "short", True])
    def test_half_life(self, value):
        with pytest.raises(ValueError, match="half_life must be a positive number"):
            Stream(clone(MODELS["DMKDE"]), half_life=value)

    @pytest.mark.parametrize("name", ["window", "warm_up", "buffer_rows"])
    @pytest.mark.parametrize("value", [0, -1, 2.5, "all", True])
    def test_counts(self, name, value):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= 1"):
            Stream(clone(MODELS["DMKDE"]), **{name: value})

    @pytest.mark.parametrize("name", ["warm_up", "buffer_rows"])
    def test_counts_are_needed(self, name):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= 1"):
            Stream(clone(MODELS["DMKDE"]), **{name: None})

    def test_numpy_numbers(self):
        stream = Stream(prepared("DMKDE"), window=np.int64(20), buffer_rows=np.int32(7))
        stream.learn_many(X)
        assert_allclose(stream.model.state_.weight, [20], rtol=1e-12)
