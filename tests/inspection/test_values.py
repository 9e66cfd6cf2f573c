"""Predicted values and intervals, against scikit-learn's figures."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_absolute_error, r2_score

from rhokit.inspection import PredictedValues, inside, predict_values
from rhokit.inspection.values import select_target
from tests.inspection.models import case


def values_of(name):
    model, X, y, _ = case(name)
    return model, X, np.asarray(y), predict_values(model, X, y)


@pytest.mark.parametrize("name", ["values", "two targets", "trained values"])
def test_values_are_judged_as_scikit_learn_does(name):
    model, X, y, values = values_of(name)
    truth = y.reshape(len(X), -1)
    predicted = model.predict(X).reshape(len(X), -1)
    assert len(values) == truth.shape[1]
    for place, found in enumerate(values):
        pair = truth[:, place], predicted[:, place]
        assert_array_equal([found.truth, found.predicted], pair)
        assert_allclose(found.absolute_error, mean_absolute_error(*pair))
        assert_allclose(found.r2, r2_score(*pair))
        for asked, got, width in zip(
            found.nominal, found.achieved, found.widths, strict=True
        ):
            interval = model.predict_interval(X, coverage=asked)
            low, high = interval.reshape(len(X), -1, 2)[:, place].T
            assert_allclose(found.interval(asked), np.column_stack([low, high]))
            assert_allclose(got, np.mean((low <= pair[0]) & (pair[0] <= high)))
            assert_allclose(width, np.mean(high - low))


def test_the_median_is_the_baseline_of_values():
    _, X, y, (found,) = values_of("values")
    guess = np.full(len(X), np.median(y))
    assert_allclose(found.baseline, mean_absolute_error(y, guess))


def test_without_true_values_there_are_widths_alone():
    model, X, *_ = case("values")
    (found,) = predict_values(model, X)
    for name in ("achieved", "r2", "truth", "absolute_error", "baseline"):
        assert getattr(found, name) is None, name
    assert (np.diff(found.widths) > 0).all()


def test_one_value_explains_no_variance():
    model, X, y, _ = case("values")
    (found,) = predict_values(model, X[:1], y[:1])
    assert math.isnan(found.r2)


def test_ends_belong_to_an_interval():
    intervals = np.array([[0.0, 1.0]] * 4)
    held = inside(intervals, np.array([0.0, 1.0, 0.5, 1.1]))
    assert held.tolist() == [True, True, True, False]


def test_one_of_several_targets():
    *_, values = values_of("two targets")
    assert [value.name for value in values] == ["target 0", "target 1"]
    assert select_target(values, 1) is values[1]
    for target in (None, 2, -1, "y"):
        with pytest.raises(ValueError, match=r"target must be .* from 0 to 1, got"):
            select_target(values, target)
    one = PredictedValues(np.zeros(1), np.zeros((1, 1, 2)), (0.9,))
    assert select_target((one,), None) is select_target((one,), 0) is one


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["high"] * 142, "y must be numbers"),
        (np.zeros((142, 2)), r"y must have shape \(142,\), got \(142, 2\)"),
        (np.zeros(3), r"one entry per row of X, 142, got shape \(3,\)"),
        (5.0, r"one entry per row of X, 142, got shape \(\)"),
    ],
)
def test_targets_that_do_not_fit_are_refused(y, words):
    model, X, *_ = case("values")
    with pytest.raises(ValueError, match=words):
        predict_values(model, X, y)


def test_targets_in_a_column_of_their_own():
    model, X, y, _ = case("values")
    (found,) = predict_values(model, X, np.asarray(y)[:, None])
    assert_array_equal(found.truth, y)


def test_other_models_and_coverages_are_refused():
    model, X, *_ = case("values")
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        predict_values(model, X, coverage=[0.5, 1.0])
    with pytest.raises(TypeError, match=r"a regressor .* must be given, got DMKDE"):
        predict_values(case("landmarks").model, X)
