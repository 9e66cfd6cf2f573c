"""The oracles and the rival that errors and times are taken against."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KernelDensity, KNeighborsClassifier

from benchmarks import data, exact, rivals, timing
from benchmarks.goals import classes


@pytest.mark.parametrize("d", [1, 7])
def test_exact_density_is_that_of_scikit_learn(d):
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(300, d)), rng.normal(size=(50, d))
    theirs = KernelDensity(bandwidth=(2 * 3.0) ** -0.5).fit(rows).score_samples(queries)
    assert_allclose(exact.exact_log_density(rows, queries, 3.0), theirs, rtol=1e-9)


def test_errors_are_those_of_the_definition():
    truth, density = np.array([3.0, 4.0]), np.array([3.0, 5.0])
    assert_allclose(exact.relative_rmse(density, truth), 0.2)
    shift = 1e4  # far beyond what exp can hold
    logs, true_logs = np.log(density) + shift, np.log(truth) + shift
    assert_allclose(exact.log_relative_rmse(logs, true_logs), 0.2, rtol=1e-9)
    assert_allclose(exact.median_nats(logs, true_logs), np.log(5 / 4) / 2, rtol=1e-9)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [900, 2_345])
@pytest.mark.parametrize("way", ["loop", "product"])
def test_rival_is_exact_to_single_precision(n, threads, way):
    both = data.scaled_mixture(n + 700, seed=0, d=40)
    rows, queries = both[:n], both[n:]
    logs = rivals.FusedExactKDE(rows, 1.0, way).score_samples(queries, threads)
    assert_allclose(logs, exact.exact_log_density(rows, queries, 1.0), atol=2e-6)


@pytest.mark.parametrize("way", ["loop", "product"])
def test_rival_is_zero_far_away(way):
    logs = rivals.FusedExactKDE(np.zeros((10, 3)), 1.0, way).score_samples(
        np.full((1, 3), 9.0)
    )
    assert logs[0] < -80


def test_exact_kernel_classifier_leaves_each_row_out():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 2))
    labels = np.where(rows[:, 0] * rows[:, 1] > 0, "same", "other")
    model = rivals.ExactKernelClassifier().fit(rows[:600], labels[:600])
    assert np.mean(model.predict(rows[600:]) == labels[600:]) > 0.9
    # Labels that say nothing: nothing is found by remembering the rows.
    coins = rng.integers(2, size=700)
    model = rivals.ExactKernelClassifier().fit(rows[:600], coins[:600])
    nearest = KNeighborsClassifier(1).fit(rows[:600], coins[:600])
    assert np.mean(nearest.predict(rows[:600]) == coins[:600]) == 1
    assert np.mean(model.predict(rows[:600]) == coins[:600]) < 0.8


def test_exact_kernel_sums_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    labels = rng.integers(3, size=60)
    model = rivals.ExactKernelClassifier().fit(rows, labels)
    squares = ((queries[:, None] - rows) ** 2).sum(axis=2)
    kernel = np.exp(-model.gamma_ * squares)
    sums = np.stack([kernel[:, labels == k].sum(axis=1) for k in range(3)], axis=1)
    assert_array_equal(model.predict(queries), sums.argmax(axis=1))


def test_conformal_forest_covers_what_it_says():
    rng = np.random.default_rng(0)
    rows = rng.random((800, 2))
    target = rows[:, 0] + 0.1 * rng.normal(size=800)
    model = rivals.SplitConformalForest(n_trees=30).fit(rows[:400], target[:400])
    low, high = model.predict_interval(rows[400:], 0.8).T
    assert_allclose(high - low, (high - low)[0])
    inside = (low <= target[400:]) & (target[400:] <= high)
    assert inside.mean() == pytest.approx(0.8, abs=0.06)


def test_calibration_error_is_that_of_the_definition():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.0, 1.0]])
    codes = np.array([0, 1, 1, 1])
    expected = (2 * abs(0.5 - 0.9) + abs(1 - 0.7) + 0) / 4
    assert classes.calibration_error(probabilities, codes) == pytest.approx(expected)


def test_log_loss_is_clipped():
    probabilities = np.array([[1.0, 0.0], [0.5, 0.5]], np.float32)
    expected = (-np.log(1e-15) + np.log(2)) / 2
    assert classes.mean_log_loss(probabilities, np.array([1, 0])) == pytest.approx(
        expected
    )


def test_jobs_take_turns_after_a_round_that_does_not_count():
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "ab"}
    times = timing.interleaved(jobs, repeats=3)
    assert "".join(calls) == "abababab"
    assert [len(t.seconds) for t in times.values()] == [3, 3]


def test_times_compare_at_medians_and_at_best():
    slow, fast = (
        timing.Times(np.array([4.0, 6.0, 9.0])),
        timing.Times(np.array([1.0, 2.0, 3.0])),
    )
    assert timing.compare(lambda a, b: a / b, slow, fast) == (3.0, 4.0)


def test_mixture_fills_the_unit_box():
    rows = data.scaled_mixture(500, seed=1)
    assert rows.dtype == np.float32
    assert_allclose([rows.min(), rows.max()], [0, 1])
