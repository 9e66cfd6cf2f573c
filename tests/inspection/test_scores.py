"""Log-densities of rows, against the models' own answers and scipy's."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity

from rhokit import DMKDE
from rhokit.inspection import (
    RowScores,
    can_leave_out,
    landmark_reach,
    least_likely,
    normal_score,
    score_rows,
)
from tests.inspection.models import case, tumours


@pytest.mark.parametrize("name", ["two columns", "landmarks", "mean", "fourier"])
def test_training_rows_are_left_out_in_turn(name):
    model, X, *_ = case(name)
    found = score_rows(model, X, leave_one_out=True)
    expected = model.score_samples(X, leave_one_out=True)
    assert_allclose(found.log_densities, expected)
    seen = np.isfinite(expected)
    assert found.left_out
    assert found.n_zero == (~seen).sum()
    assert_allclose(found.mean, np.maximum(expected[seen], model.floor_).mean())
    assert_allclose(found.median, np.median(np.maximum(expected, model.floor_)))
    assert found.n_below_floor == (expected[seen] < model.floor_).sum()


def test_new_rows_are_scored_as_the_model_does():
    model, X, *_ = case("two columns")
    found = score_rows(model, X)
    assert_allclose(found.mean, model.score(X))
    assert found.floor == model.floor_
    assert not found.left_out


def test_targets_are_left_out_with_their_rows():
    model, X, y, _ = case("classes")
    found = score_rows(model, X, y, leave_one_out=True)
    expected = model.score_samples(X, y, leave_one_out=True)
    assert_array_equal(found.log_densities, expected)
    assert found.floor is None


@pytest.mark.parametrize(
    ("name", "with_target", "without"),
    [
        ("landmarks", True, True),
        ("mean", True, True),
        ("classes", True, False),
        ("values", True, False),
        ("trained density", False, False),
        ("trained classes", False, False),
    ],
)
def test_who_can_leave_rows_out(name, with_target, without):
    model = case(name).model
    assert can_leave_out(model) == with_target
    assert can_leave_out(model, has_target=False) == without


def test_sums_are_needed_to_leave_out_a_row_with_a_target():
    assert can_leave_out(case("landmarks").model.compact())
    assert not can_leave_out(case("classes").model.compact())


def test_rows_that_cannot_be_left_out():
    model, X, *_ = case("trained density")
    with pytest.raises(ValueError, match="cannot be left out of this DMKDESGD"):
        score_rows(model, X, leave_one_out=True)


def test_densities_of_other_libraries():
    X = tumours(2).to_numpy()
    model = KernelDensity().fit(X)
    assert_array_equal(score_rows(model, X).log_densities, model.score_samples(X))
    assert not can_leave_out(model)


def test_models_without_densities_are_refused():
    with pytest.raises(TypeError, match=r"log-densities .* must be given, got str"):
        score_rows("DMKDE", [[0.0]])
    with pytest.raises(NotFittedError):
        score_rows(DMKDE(), [[0.0]])


def test_rows_of_zero_density_are_counted_not_averaged():
    X = np.random.default_rng(0).normal(size=(200, 1))
    model = DMKDE(random_state=0).fit(X)
    found = score_rows(model, np.concatenate([X, [[1e9]]]))
    assert found.n_zero == 1
    assert found.log_densities[-1] == -math.inf
    assert_allclose(found.mean, model.score(X))
    assert math.isnan(RowScores(np.array([-math.inf])).mean)


def test_the_least_likely_come_first_and_ties_in_their_order():
    logs = np.array([-1.0, -3.0, -math.inf, -3.0])
    assert least_likely(logs, 3).tolist() == [2, 1, 3]
    assert least_likely(logs, 9).tolist() == [2, 1, 3, 0]


def test_normal_comparison_is_the_likelihood_of_the_moments():
    table = tumours(4).to_numpy()
    normal = multivariate_normal(table.mean(axis=0), np.cov(table.T, bias=True))
    assert_allclose(normal_score(table), normal.logpdf(table).mean(), rtol=1e-8)


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((50, 4)),
        np.eye(3),
        np.full((9, 1), np.nan),
        np.outer(np.arange(20.0), [1, 2]),
    ],
    ids=["constant", "few", "gaps", "dependent"],
)
def test_rows_without_a_normal_distribution(rows):
    assert math.isnan(normal_score(rows))


def test_reach_is_the_models_where_there_are_landmarks():
    model, X, *_ = case("landmarks")
    assert_allclose(landmark_reach(model, X), model.reach(X))
    trained, X, *_ = case("trained density")
    assert_allclose(landmark_reach(trained, X), trained.estimator_.reach(X))
    for name in ("two columns", "classes"):
        assert landmark_reach(case(name).model, case(name).X) is None
