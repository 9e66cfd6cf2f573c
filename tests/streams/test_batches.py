"""Fitting from batches: the same model as from all rows at once, or a clear error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import (
    DMKDE,
    OneHotFeatures,
    fit_batches,
)
from rhokit.errors import DataError
from tests.one_pass import PLAN, assert_same_model, one_pass_models

MODELS = one_pass_models()
SUPERVISED = [name for name in MODELS if "KDE" not in name]
N_ROWS = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 2))
WEIGHTS = RNG.integers(1, 4, N_ROWS).astype(float)
LABELS = np.arange(N_ROWS) % 3


def target_of(name):
    """What the model learns for the rows, None where that is nothing."""
    if name not in SUPERVISED:
        return None
    return X[:, 0] * 2 if name == "QMRegressor" else LABELS


def cut(sizes, *parts):
    """Rows, targets and weights in batches of these sizes; the last has the rest."""
    places = np.cumsum(sizes)
    places = places[places < N_ROWS]
    pieces = [
        [None] * (len(places) + 1) if part is None else np.split(part, places)
        for part in parts
    ]
    return list(zip(*pieces, strict=True))


def learned_at_once(name, weights=None, rows=X):
    """A model prepared on the rows, which then adds them."""
    model, y = clone(MODELS[name]), target_of(name)
    model.prepare(rows, y, weights)
    return model.partial_fit(rows, y, sample_weight=weights)


def remembered(model):
    """What a model holds, to see later whether it still does."""
    return dict(vars(model))


splits = st.lists(st.integers(1, 25), min_size=1, max_size=12)


@pytest.mark.parametrize("name", MODELS)
class TestAllModels:
    @given(sizes=splits, weighted=st.booleans(), together=st.integers(1, 80))
    @settings(max_examples=10)
    def test_any_split_is_all_at_once(self, name, sizes, weighted, together):
        weights = WEIGHTS if weighted else None
        batches = cut(sizes, X, target_of(name), weights)
        # The plan comes from the first rows; these are all of them.
        model = fit_batches(
            clone(MODELS[name]), batches, sample_rows=N_ROWS, batch_rows=together
        )
        assert_same_model(model, learned_at_once(name, weights))

    @given(sizes=splits, together=st.integers(1, 80))
    @settings(max_examples=10)
    def test_a_prepared_model_keeps_its_plan(self, name, sizes, together):
        y = target_of(name)
        model = clone(MODELS[name]).prepare(X * 2, None if y is None else y * 2)
        expected = model.blank().partial_fit(X, y)
        plan = model.fingerprint()
        fit_batches(model, cut(sizes, X, y), batch_rows=together)
        assert model.fingerprint() == plan
        assert_same_model(model, expected)

    def test_a_fitted_model_is_fitted_anew(self, name):
        y = target_of(name)
        model = clone(MODELS[name]).fit(X * 5, y)
        fit_batches(model, cut([20, 20], X, y))
        assert_same_model(model, learned_at_once(name))

    def test_the_model_itself_comes_back(self, name):
        model = clone(MODELS[name])
        parameters = model.get_params()
        assert fit_batches(model, cut([30], X, target_of(name))) is model
        assert model.get_params() == parameters

    def test_first_rows_choose_the_plan(self, name):
        y = target_of(name)
        model = fit_batches(
            clone(MODELS[name]).set_params(scale="std"),
            cut([10] * 5, X, None if y is None else np.sign(y)),
            sample_rows=25,
        )
        assert_allclose(model.scaling_.centre, X[:30].mean(axis=0), rtol=1e-12)
        assert_allclose(model.state_.weight.sum(), N_ROWS, rtol=1e-12)


@pytest.mark.parametrize("name", ["DMKDE", "QMClassifier"])
class TestKindsOfBatches:
    @pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars"])
    def test_rows_of_any_kind(self, name, kind):
        def as_kind(rows):
            names = ["a", "b"]
            makers = {
                "array": np.asarray,
                "list": np.ndarray.tolist,
                "pandas": lambda rows: pd.DataFrame(rows, columns=names),
                "polars": lambda rows: pl.DataFrame(rows, schema=names),
            }
            return makers[kind](rows)

        batches = (
            (as_kind(rows), y, weights)
            for rows, y, weights in cut([7, 30, 1], X, target_of(name), WEIGHTS)
        )
        model = fit_batches(clone(MODELS[name]), batches)
        assert_same_model(model, learned_at_once(name, WEIGHTS))
        if kind in ("pandas", "polars"):
            assert model.feature_names_in_.tolist() == ["a", "b"]
        else:
            assert not hasattr(model, "feature_names_in_")

    def test_targets_and_weights_of_any_kind(self, name):
        y = target_of(name)
        parts = cut([20, 20], X, y, WEIGHTS)
        as_series = [
            (rows, None if part is None else pd.Series(part), pd.Series(weights))
            for rows, part, weights in parts
        ]
        as_lists = [
            (rows, None if part is None else part.tolist(), weights.tolist())
            for rows, part, weights in parts
        ]
        for batches in (as_series, as_lists):
            model = fit_batches(clone(MODELS[name]), batches)
            assert_same_model(model, learned_at_once(name, WEIGHTS))

    def test_weights_in_some_batches_only(self, name):
        weights = WEIGHTS.copy()
        weights[20:40] = 1
        batches = cut([20, 20], X, target_of(name), weights)
        batches[1] = batches[1][:2]
        model = fit_batches(clone(MODELS[name]), batches)
        assert_same_model(model, learned_at_once(name, weights))


class TestTuples:
    def test_rows_alone(self):
        model = fit_batches(clone(MODELS["DMKDE"]), [X[:20], (X[20:40],), X[40:]])
        assert_same_model(model, learned_at_once("DMKDE"))

    def test_a_list_is_rows(self):
        # A list of two rows must not be taken for a pair of rows and targets.
        rows = [X[i : i + 2].tolist() for i in range(0, N_ROWS, 2)]
        model = fit_batches(clone(MODELS["DMKDE"]), rows)
        assert_same_model(model, learned_at_once("DMKDE"))

    @pytest.mark.parametrize("batch", [(), (X, LABELS, WEIGHTS, WEIGHTS)])
    def test_others_are_refused(self, batch):
        with pytest.raises(ValueError, match=rf"X, \(X, y\) or.*tuple of {len(batch)}"):
            fit_batches(clone(MODELS["DMKDE"]), [batch])


class TestPrecision:
    def test_single_stays_single(self):
        model = fit_batches(clone(MODELS["DMKDE"]), [X[:30].astype("f4")] * 3)
        assert model.feature_map_.dtype_ == np.float32

    def test_of_an_earlier_fit_is_forgotten(self):
        model = clone(MODELS["DMKDE"]).fit(X.astype("f4"))
        fit_batches(model, [X[:30], X[30:]])
        assert model.feature_map_.dtype_ == np.float64
        assert_same_model(model, learned_at_once("DMKDE"))


def test_categories():
    rows = np.array([["red", "up"], ["blue", "up"], ["red", "down"]] * 10, dtype=object)
    model = DMKDE(feature_map=OneHotFeatures(), random_state=0)
    fit_batches(model, [rows[:7], rows[7:]])
    expected = clone(model).prepare(rows).partial_fit(rows)
    assert_same_model(model, expected)


def test_labels_that_come_late_get_a_place():
    y = np.array(["a", "b"] * 20 + ["c"] * 20)
    model = fit_batches(clone(MODELS["DMKDClassifier"]), cut([20, 20], X, y))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert_array_equal(model.class_count_, [20, 20, 20])


def test_small_batches_are_learned_together(learned_sizes):
    model = clone(MODELS["DMKDE"]).prepare(X)
    fit_batches(model, (X[i : i + 1] for i in range(N_ROWS)), batch_rows=25)
    assert learned_sizes == [25, 25, 10]


def test_batches_are_asked_for_one_by_one(monkeypatch):
    """Each is learned and dropped before the next but one is made."""
    learned = []
    learn = DMKDE.partial_fit

    def spy(self, X, y=None, **options):
        learned.append(len(X))
        return learn(self, X, y, **options)

    def batches():
        for number in range(6):
            assert sum(learned) >= (number - 1) * 10
            yield X[number * 10 : number * 10 + 10]

    monkeypatch.setattr(DMKDE, "partial_fit", spy)
    fit_batches(clone(MODELS["DMKDE"]).prepare(X), batches(), batch_rows=10)
    assert sum(learned) == N_ROWS


class TestNames:
    def frames(self, *names):
        return [pd.DataFrame(X, columns=list(pair)) for pair in names]

    def test_of_the_first_batch_hold_for_all(self):
        with pytest.raises(ValueError, match="feature names should match"):
            fit_batches(clone(MODELS["DMKDE"]), self.frames("ab", "ab", "ac"))

    def test_order_matters(self):
        with pytest.raises(ValueError, match="in the same order"):
            fit_batches(clone(MODELS["DMKDE"]), self.frames("ab", "ba"))

    def test_of_the_preparation_hold(self):
        model = clone(MODELS["DMKDE"]).prepare(*self.frames("ab"))
        with pytest.raises(ValueError, match="feature names should match"):
            fit_batches(model, self.frames("ac"))
        assert model.state_ is None
        assert fit_batches(model, self.frames("ab")).state_.weight[0] == N_ROWS
        assert model.feature_names_in_.tolist() == ["a", "b"]

    def test_of_an_earlier_fit_are_forgotten(self):
        model = clone(MODELS["DMKDE"]).fit(*self.frames("ab"))
        fit_batches(model, self.frames("cd", "cd"))
        assert model.feature_names_in_.tolist() == ["c", "d"]
        fit_batches(model, [X, X])
        assert not hasattr(model, "feature_names_in_")

    def test_predictions_ask_for_them(self):
        model = fit_batches(clone(MODELS["DMKDE"]), self.frames("ab", "ab"))
        model.score_samples(*self.frames("ab"))
        with pytest.raises(ValueError, match="feature names should match"):
            model.score_samples(*self.frames("ba"))


class TestErrors:
    """Each says what is wrong, and leaves the model as it was."""

    @pytest.fixture(params=["new", "prepared", "fitted"])
    def model(self, request):
        model = clone(MODELS["QMClassifier"])
        if request.param != "new":
            getattr(model, {"prepared": "prepare"}.get(request.param, "fit"))(X, LABELS)
        before = remembered(model)
        yield model
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is value for key, value in before.items())

    @pytest.mark.parametrize("empty", [[], [(X[:0], LABELS[:0])]], ids=["no", "empty"])
    def test_no_rows(self, model, empty):
        with pytest.raises(ValueError, match="no rows"):
            fit_batches(model, empty)

    def test_nan_in_a_later_batch(self, model):
        bad = X.copy()
        bad[50, 1] = np.nan
        with pytest.raises(DataError, match=r"row 10: column 1: .*NaN"):
            fit_batches(model, cut([20, 20], bad, LABELS), batch_rows=20)

    def test_other_number_of_columns(self, model):
        with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
            fit_batches(model, [(X, LABELS), (np.ones((4, 3)), LABELS[:4])])

    def test_text(self, model):
        with pytest.raises(DataError, match=r"column 1: .* needs numbers"):
            fit_batches(model, [(X, LABELS), ([[1.0, "red"]], [0])])

    @pytest.mark.parametrize("together", [1, 30, 60])
    def test_target_missing_in_one_batch(self, model, together):
        batches = [(X[:20], LABELS[:20]), X[20:40], (X[40:], LABELS[40:])]
        with pytest.raises(ValueError, match=r"target y"):
            fit_batches(model, batches, batch_rows=together)

    def test_target_missing_in_all(self, model):
        with pytest.raises(ValueError, match="requires y"):
            fit_batches(model, [X[:20], X[20:]])

    @pytest.mark.parametrize("part", [1, 2], ids=["target", "weights"])
    def test_lengths_that_differ_within_a_batch(self, model, part):
        # Together they have the right length: rows would get their neighbours'.
        first, second = [X[:30], LABELS[:30], WEIGHTS[:30]], [X[30:], *[None] * 2]
        values = (LABELS, WEIGHTS)[part - 1]
        second[1], second[2] = LABELS[30:], WEIGHTS[30:]
        first[part], second[part] = values[:29], values[29:]
        with pytest.raises(ValueError, match=r"inconsistent|length|shape"):
            fit_batches(model, [tuple(first), tuple(second)])

    def test_bad_parameters(self, model):
        model.gamma = before = -1.0
        with pytest.raises(ValueError, match="'gamma' parameter"):
            fit_batches(model.set_params(gamma=before), [(X, LABELS)])
        model.gamma = PLAN["gamma"]


def test_nan_in_a_named_column():
    bad = pd.DataFrame(X, columns=["speed", "load"])
    bad.loc[50, "load"] = np.nan
    with pytest.raises(DataError, match="NaN") as refused:
        fit_batches(clone(MODELS["DMKDE"]), [bad[:20], bad[20:40], bad[40:]])
    assert (refused.value.row, refused.value.column) == (10, "load")


@pytest.mark.parametrize("option", ["batch_rows", "sample_rows"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "all"])
def test_bad_numbers_of_rows(option, value):
    with pytest.raises((TypeError, ValueError), match=option):
        fit_batches(clone(MODELS["DMKDE"]), [X], **{option: value})


def test_batches_without_rows_are_passed_over():
    """A filter that let nothing through is no reason to lose a long fit."""
    batches = [X[:0], X[:20], X[:0], X[20:], X[:0]]
    model = fit_batches(clone(MODELS["DMKDE"]), batches)
    assert_same_model(model, learned_at_once("DMKDE"))


def test_a_batch_may_weigh_nothing():
    """Rows that do not count are no error, as long as others do."""
    weights = np.repeat([1.0, 0.0, 2.0], 20)
    batches = cut([20, 20], X, None, weights)
    model = fit_batches(clone(MODELS["DMKDE"]).prepare(X), batches, batch_rows=20)
    expected = clone(MODELS["DMKDE"]).prepare(X).partial_fit(X, sample_weight=weights)
    assert_same_model(model, expected)


@pytest.mark.parametrize("batch_rows", [4, 1000])
def test_a_batch_may_be_filled_with_the_next_rows(batch_rows):
    def batches():
        rows = np.empty((5, 2))
        for start in range(0, N_ROWS, 5):
            rows[:] = X[start : start + 5]
            yield rows

    plan = learned_at_once("DMKDE").blank()
    model = fit_batches(plan.blank(), batches(), batch_rows=batch_rows)
    assert_same_model(model, plan.partial_fit(X))
