"""Figures of merit against slow computations, and against scikit-learn's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    r2_score,
)

from rhokit import DMKDE
from rhokit.report.class_quality import (
    calibration_error,
    confusion,
    judge_classes,
    reliability,
)
from rhokit.report.density_quality import judge_density
from rhokit.report.rows import take_rows
from rhokit.report.value_quality import judge_values
from tests.report.models import case


def rows_of(name, with_target=True):
    model, X, y, _ = case(name)
    return model, take_rows(X, y if with_target else None, model, 10_000)


# ---- densities -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two columns", "landmarks", "mean", "fourier"])
def test_training_rows_are_left_out_in_turn(name):
    model, rows = rows_of(name)
    found = judge_density(model, rows, training=True)
    expected = model.score_samples(rows.X, leave_one_out=True)
    assert_allclose(found.logs, expected)
    seen = np.isfinite(expected)
    assert found.leave_one_out
    assert found.n_zero == (~seen).sum()
    assert_allclose(found.mean, np.maximum(expected[seen], model.floor_).mean())
    assert found.n_below_floor == (expected[seen] < model.floor_).sum()


def test_new_rows_are_scored_as_the_model_does():
    model, rows = rows_of("two columns")
    found = judge_density(model, rows, training=False)
    assert_allclose(found.mean, model.score(rows.X))
    assert not found.leave_one_out


def test_trained_densities_leave_nothing_out():
    model, rows = rows_of("trained density")
    found = judge_density(model, rows, training=True)
    assert_allclose(found.logs, model.score_samples(rows.X))
    assert not found.leave_one_out


def test_rows_of_zero_density_are_counted_not_averaged():
    X = np.random.default_rng(0).normal(size=(200, 1))
    model = DMKDE(random_state=0).fit(X)
    rows = take_rows(np.concatenate([X, [[1e9]]]), None, model, 1000)
    found = judge_density(model, rows, training=False)
    assert found.n_zero == 1
    assert found.logs[-1] == -math.inf
    assert_allclose(found.mean, model.score(X))


def test_normal_comparison_is_the_likelihood_of_the_moments():
    model, rows = rows_of("landmarks")
    table = np.asarray(rows.X)
    normal = multivariate_normal(table.mean(axis=0), np.cov(table.T, bias=True))
    found = judge_density(model, rows, training=False)
    assert_allclose(found.normal_mean, normal.logpdf(table).mean(), rtol=1e-8)


@pytest.mark.parametrize("name", ["mixed"])
def test_normal_comparison_needs_numbers(name):
    model, rows = rows_of(name)
    assert math.isnan(judge_density(model, rows, training=False).normal_mean)


def test_a_constant_column_has_no_normal_distribution():
    model, _ = rows_of("landmarks")
    rows = take_rows(np.ones((50, 4)), None, None, 100)
    with pytest.warns(UserWarning, match="feature names"):
        assert math.isnan(judge_density(model, rows, training=False).normal_mean)


def test_coverage_is_the_models_where_there_are_landmarks():
    model, rows = rows_of("landmarks")
    found = judge_density(model, rows, training=False)
    assert_allclose(found.coverage, model.coverage(rows.X))
    model, rows = rows_of("two columns")
    assert judge_density(model, rows, training=False).coverage is None


def test_rows_with_gaps_are_scored_but_not_covered():
    X = np.random.default_rng(0).normal(size=(100, 4))
    model = DMKDE(n_components=32, missing="integrate", random_state=0).fit(X)
    X[::4, 2] = np.nan
    found = judge_density(model, take_rows(X, None, model, 100), training=False)
    assert np.isfinite(found.logs).all()
    assert_allclose(found.coverage, model.coverage(X[~np.isnan(X[:, 2])]))


# ---- classes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["classes", "joint classes", "ordered classes", "trained classes"],
)
def test_answers_are_judged_as_scikit_learn_does(name):
    model, rows = rows_of(name)
    found = judge_classes(model, rows)
    answers = model.predict(rows.X)
    assert_allclose(found.accuracy, accuracy_score(rows.y, answers))
    expected = confusion_matrix(rows.y, answers, labels=model.classes_)
    assert_array_equal(found.confusion.counts, expected)
    assert found.confusion.truths == tuple(str(label) for label in model.classes_)
    assert_array_equal(np.sort(found.wrong), np.flatnonzero(rows.y != answers))
    assert (np.diff(found.confidence[found.wrong]) <= 0).all()
    _, counts = np.unique(rows.y, return_counts=True)
    assert_allclose(found.baseline, counts.max() / len(rows))


def test_calibration_error_is_the_sum_over_ten_bins():
    model, rows = rows_of("classes")
    chances = model.predict_proba(rows.X)
    confidence = chances.max(axis=1)
    right = model.classes_[chances.argmax(axis=1)] == rows.y
    error = 0.0
    for low in np.arange(10) / 10:
        inside = (confidence >= low) & (confidence < low + 0.1 + (low > 0.85))
        if inside.any():
            error += (
                abs(confidence[inside].mean() - right[inside].mean()) * inside.mean()
            )
    assert_allclose(judge_classes(model, rows).calibration_error, error)


@given(
    hnp.arrays(float, st.integers(1, 30), elements=st.floats(0, 1)),
    st.integers(0, 2**30),
)
def test_bins_hold_every_row_once(confidence, seed):
    right = np.random.default_rng(seed).random(len(confidence)) < 0.5
    bins = reliability(confidence, right)
    assert sum(each.n_rows for each in bins) == len(confidence)
    for each in bins:
        assert each.low - 1e-9 <= each.confidence <= each.high + 1e-9
    total = sum(each.n_rows * each.right for each in bins)
    assert_allclose(total, right.sum())
    assert 0 <= calibration_error(bins) <= 1


def test_rejected_rows_are_neither_right_nor_wrong():
    model, rows = rows_of("rejecting")
    found = judge_classes(model, rows)
    answers = model.predict(rows.X)
    rejected = answers == "unknown"
    assert rejected.any()
    assert_allclose(found.rejected, rejected.mean())
    assert_allclose(found.accuracy, (answers == rows.y).mean())
    assert_allclose(found.accuracy_of_answered, (answers == rows.y)[~rejected].mean())
    assert not rejected[found.wrong].any()
    assert found.confusion.answers[-1] == "unknown"
    assert found.confusion.counts[:, -1].sum() == rejected.sum()


def test_ordered_labels_have_an_error_in_ranks():
    model, rows = rows_of("ordered classes")
    error = np.abs(model.predict(rows.X) - rows.y).mean()
    assert_allclose(judge_classes(model, rows).rank_error, error)
    model, rows = rows_of("classes")
    assert judge_classes(model, rows).rank_error is None


def test_labels_that_the_model_never_saw_have_a_row():
    classes = np.array([0, 1])
    table = confusion(classes, np.array([0, 1, 1]), np.array([0.0, 1.0, 7.0]))
    assert table.truths == ("0", "1", "7.0")
    assert table.answers == ("0", "1")
    assert_array_equal(table.counts, [[1, 0], [0, 1], [0, 1]])


def test_without_labels_nothing_is_said_of_right_and_wrong():
    model, rows = rows_of("classes", with_target=False)
    found = judge_classes(model, rows)
    assert found.accuracy is None
    assert found.confusion is None
    labels, counts = np.unique(model.predict(rows.X), return_counts=True)
    assert dict(found.answered) == dict(
        zip(labels.tolist(), counts.tolist(), strict=True)
    )


# ---- values ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["values", "two targets", "trained values"])
def test_values_are_judged_as_scikit_learn_does(name):
    model, rows = rows_of(name)
    truth = np.asarray(rows.y).reshape(len(rows), -1)
    predicted = model.predict(rows.X).reshape(len(rows), -1)
    for place, found in enumerate(judge_values(model, rows)):
        pair = truth[:, place], predicted[:, place]
        assert_allclose(found.absolute_error, mean_absolute_error(*pair))
        assert_allclose(found.r2, r2_score(*pair))
        for asked, got, width in zip(
            found.nominal, found.achieved, found.widths, strict=True
        ):
            interval = model.predict_interval(rows.X, coverage=asked)
            low, high = interval.reshape(len(rows), -1, 2)[:, place].T
            assert_allclose(got, np.mean((low <= pair[0]) & (pair[0] <= high)))
            assert_allclose(width, np.mean(high - low))
    assert place == truth.shape[1] - 1


def test_the_median_is_the_baseline_of_values():
    model, rows = rows_of("values")
    (found,) = judge_values(model, rows)
    guess = np.full(len(rows), np.median(rows.y))
    assert_allclose(found.baseline, mean_absolute_error(rows.y, guess))


def test_without_true_values_there_are_widths_alone():
    model, rows = rows_of("values", with_target=False)
    (found,) = judge_values(model, rows)
    assert found.achieved is found.r2 is found.truth is None
    assert (np.diff(found.widths) > 0).all()


def test_one_value_explains_no_variance():
    model, X, y, _ = case("values")
    (found,) = judge_values(model, take_rows(X[:1], y[:1], model, 10))
    assert math.isnan(found.r2)


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("values", ["high"] * 142, "y must be numbers"),
        ("values", np.zeros((142, 2)), r"y must have 1 targets, got shape \(142, 2\)"),
    ],
)
def test_targets_that_do_not_fit_are_refused(name, y, words):
    model, X, *_ = case(name)
    with pytest.raises(ValueError, match=words):
        judge_values(model, take_rows(X, y, model, 1000))


def test_labels_in_two_columns_are_refused():
    model, X, *_ = case("classes")
    with pytest.raises(ValueError, match=r"y must have shape \(89,\)"):
        judge_classes(model, take_rows(X, np.zeros((89, 2)), model, 1000))
