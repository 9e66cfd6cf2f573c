"""The sections on gradient training run on a few rows, and test rows enter once."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from benchmarks import real_data
from benchmarks.goals import gradient, ordinal

pytestmark = pytest.mark.filterwarnings(
    "ignore::rhokit.nn.TrainingWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


@pytest.fixture(scope="module")
def digits():
    rows, labels = load_digits(return_X_y=True)
    rows = (rows / 16).astype(np.float32)
    return real_data.Split(rows[:300], labels[:300], rows[300:400], labels[300:400])


@pytest.fixture(scope="module")
def partitions():
    """Three ordinal partitions of the same rows, by one column and noise."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 3))
    codes = np.digitize(rows[:, 0] + 0.1 * rng.normal(size=90), [-1, -0.3, 0.3, 1])
    orders = [rng.permutation(90) for _ in range(3)]
    return [
        real_data.Split(rows[o[:50]], codes[o[:50]], rows[o[50:]], codes[o[50:]])
        for o in orders
    ]


@pytest.fixture
def few_choices(monkeypatch):
    monkeypatch.setattr(gradient, "_WIDTHS", (2.0,))
    monkeypatch.setattr(gradient, "_PENALTIES", (4.0, 16.0))
    monkeypatch.setattr(gradient, "_SMOOTHINGS", (0.1,))
    monkeypatch.setattr(ordinal, "GAMMAS", (1.0,))
    monkeypatch.setattr(ordinal, "ESTIMATE_GAMMAS", (1.0, 10.0))
    monkeypatch.setattr(ordinal, "STEPS", (0, 5, 20))


class TestGradient:
    def test_classes(self, digits, few_choices):
        svm, drawn, trained = gradient.fourier_classes("digits", digits, 64, 1)
        assert "LinearSVC" in svm.case
        assert drawn.goal.at_least >= svm.value
        assert trained.goal is None
        assert min(svm.value, drawn.value, trained.value) > 0.7

    def test_choices_do_not_see_test_rows(self, digits):
        other = replace(digits, test_rows=-digits.test_rows)
        inner, same = (gradient.tuning_split(each, 0) for each in (digits, other))
        assert_array_equal(inner.test_rows, same.test_rows)
        known = {row.tobytes() for row in digits.train_rows}
        assert {row.tobytes() for row in inner.test_rows} <= known
        judges = {row.tobytes() for row in inner.test_rows}
        assert not judges & {row.tobytes() for row in inner.train_rows}

    def test_own_choice(self, digits):
        accuracy, loss = gradient.own_choice("digits", digits, 64)
        assert accuracy.value > 0.8
        assert 0 < loss.value < 1

    def test_time_to_accuracy_needs_the_accuracy(self, digits, monkeypatch):
        monkeypatch.setattr(gradient, "_REACHED", 1.1)
        result = gradient.time_to_accuracy(digits, gradient.Settings(1.0), 9.0, 32, 0)
        assert result.value == 0

    def test_densities_keep_their_mass(self, monkeypatch):
        monkeypatch.setattr(gradient, "_GRID", 120)
        results = list(gradient.densities(400))
        assert len(results) == 3
        for result in results:
            assert np.isfinite(result.value)
            assert_allclose(result.details["trained_mass"], 1, atol=0.02)

    def test_epochs(self):
        result = gradient.epoch_time(1, 1, steps=2)
        assert result.value > 0
        assert result.goal.at_most == 1.15


class TestOrdinal:
    def test_learns(self, partitions, few_choices):
        weights, inner = ordinal.weigh(partitions)
        assert_allclose(weights.sum(axis=0), 1)
        assert inner < 0.6
        assert ordinal.final_errors(partitions, weights).mean() < 0.6

    def test_weights_do_not_see_test_rows(self, partitions, few_choices):
        blank = [
            replace(
                split,
                test_rows=np.full_like(split.test_rows, np.nan),
                test_target=np.full_like(split.test_target, -1),
            )
            for split in partitions
        ]
        weights, _ = ordinal.weigh(partitions)
        others, _ = ordinal.weigh(blank)
        assert_array_equal(others, weights)

    def test_beside_known(self):
        ratio, process, paper = ordinal.beside_known({"stocks": 0.09, "abalone": 0.3})
        assert_allclose(ratio.value, (0.09 / 0.12 + 0.3 / 0.232) / 2)
        assert process.value == paper.value == 1
        assert process.details == {"sets": ["stocks"]}
