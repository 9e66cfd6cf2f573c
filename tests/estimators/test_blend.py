"""What users see of blends: when they are taken, and that their answers are honest."""

import io
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from sklearn.datasets import load_breast_cancer, load_digits

from rhokit import DMKDClassifier, QMRegressor, progress
from rhokit.features.prototypes import Prototypes
from rhokit.readouts.residuals import Residuals


def table(n, d=4, seed=0):
    """Smooth in one column, a step in another, and noise that a third one tells of."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, size=(n, d))
    noise = np.where(rows[:, -1] > 0, 0.3, 0.05)
    mean = np.sin(2 * rows[:, 0]) + (rows[:, 1] > 0.5)
    return rows, mean + noise * rng.normal(size=n), mean


@pytest.fixture(scope="module")
def values():
    rows, target, _ = table(1200)
    return QMRegressor(random_state=0).fit(rows, target)


class TestWhenItIsTaken:
    def name(self, model, rows, target):
        return model.fit(rows, target).feature_map_.name

    def test_of_tables(self, values):
        rows, target, _ = table(300)
        labels = target > 0.5
        assert values.feature_map_.name == "blend"
        assert self.name(DMKDClassifier(random_state=0), rows, labels) == "blend"

    @pytest.mark.parametrize(
        "settings",
        [
            {"gamma": 0.5},
            {"scale": "std"},
            {"rank": 8},
            {"missing": "integrate"},
            {"feature_map": "landmarks"},
        ],
    )
    def test_not_where_something_else_is_asked_for(self, settings):
        rows, target, _ = table(300)
        model = QMRegressor(n_components=16, random_state=0, **settings)
        assert self.name(model, rows, target) == "landmarks"

    def test_not_of_few_columns_or_rows(self):
        rows, target, _ = table(300)
        model = QMRegressor(n_components=16, random_state=0)
        assert self.name(model, rows[:, :2], target) != "blend"
        assert self.name(model, rows[:200], target[:200]) != "blend"

    def test_by_name_whatever_the_rows_are(self):
        rows, target, _ = table(40)
        model = QMRegressor(feature_map="blend", random_state=0)
        assert self.name(model, rows[:, :1], target) == "blend"

    def test_refused_where_it_has_no_answers(self):
        rows, target, _ = table(60)
        with pytest.raises(ValueError, match="must not be 'blend'"):
            QMRegressor(feature_map="blend", rank=4).fit(rows, target)
        with pytest.raises(ValueError, match="'gamma' parameter"):
            QMRegressor(feature_map="blend", gamma="scott").fit(rows, target)
        blend = QMRegressor(feature_map="blend").fit(rows, target)
        with pytest.raises(ValueError, match="blend"):
            blend.marginal(0)


def test_what_is_like_no_class_is_noticed_by_default():
    """Where rows are to be rejected, densities are of matrices, not of blends."""
    rows, digits = load_digits(return_X_y=True)
    known = digits < 8
    model = DMKDClassifier(reject=0.05, random_state=0)
    model.fit(rows[known][:1000], digits[known][:1000])
    assert model.feature_map_.name == "landmarks"
    held_out, unknown = model.predict(rows[known][1000:]), model.predict(rows[~known])
    assert (held_out == "unknown").mean() < 0.2
    assert (unknown == "unknown").mean() > 0.7


class TestPrototypes:
    """Classes of many shapes: boards of squares, which neither lines nor waves tell."""

    @staticmethod
    def letters(n, seed):
        rng = np.random.default_rng(seed)
        labels = rng.integers(5, size=n)
        shapes = np.random.default_rng(9).normal(size=(5, 8, 6)) * 2
        rows = shapes[labels, rng.integers(8, size=n)]
        return rows + 0.5 * rng.normal(size=rows.shape), labels

    def test_are_taken_where_they_help(self):
        rows, labels = self.letters(600, 0)
        model = DMKDClassifier(random_state=0).fit(rows, labels)
        assert model.feature_map_.n_prototypes == 600
        assert model.feature_map_.link.coefficients[0, 2] > 0.1

    def test_and_left_out_where_they_do_not(self):
        model = DMKDClassifier(random_state=0).fit(*load_breast_cancer(return_X_y=True))
        assert model.feature_map_.name == "blend"
        assert model.feature_map_.n_prototypes == 0

    def test_are_no_more_than_eight_for_a_landmark(self):
        rows, labels = self.letters(600, 0)
        model = DMKDClassifier(n_components=16, random_state=0).fit(rows, labels)
        assert model.feature_map_.n_prototypes == 8 * 16
        asked, truth = self.letters(600, 1)
        assert model.score(asked, truth) > 0.9

    def test_know_nothing_of_a_class_that_is_to_come(self):
        rows, labels = self.letters(600, 0)
        model = DMKDClassifier(random_state=0)
        model.partial_fit(rows, labels, classes=range(6))
        found = model.predict_proba(rows[:3])
        assert_allclose(found.sum(axis=1), 1)
        assert_array_equal(found[:, 5], 0)

    def test_ties_are_broken_alike_whatever_the_rounding(self):
        """Rows of whole numbers are often as near to two prototypes."""
        rng = np.random.default_rng(0)
        rows = rng.integers(4, size=(400, 3)).astype(float)
        matrix = np.array([0.7, 1.1, 1.3])
        prototypes = Prototypes(matrix, rows[:30] * matrix, 0.0)
        nudged = rows * (1 + 1e-13 * rng.normal(size=rows.shape))
        assert_array_equal(prototypes.nearest(nudged), prototypes.nearest(rows))


def test_progress_is_shown_on_a_terminal(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(progress, "_PATIENCE", 0.001)
    monkeypatch.setattr(sys, "stderr", stream)
    rows, target, _ = table(300)
    DMKDClassifier(random_state=0).fit(rows, target > 0.5)
    assert "Choosing a blend for 300 rows" in stream.getvalue()


class TestDistributions:
    def test_densities_of_targets_integrate_to_one(self, values):
        rows = table(3, seed=1)[0]
        grid = np.linspace(-12, 12, 40_001)
        for row in rows:
            logs = values.log_density(np.tile(row, (len(grid), 1)), grid)
            assert_allclose(trapezoid(np.exp(logs), grid), 1, atol=2e-3)

    def test_densities_over_levels_are_slopes_of_the_distribution(self):
        rows, target, _ = table(200)
        model = QMRegressor(n_components=32, feature_map="landmarks", random_state=0)
        model.fit(rows, target)
        grid = np.linspace(*model.levels_[[0, -1]], 20_001)[1:-1]
        logs = model.log_density(np.tile(rows[:1], (len(grid), 1)), grid)
        assert_allclose(trapezoid(np.exp(logs), grid), 1, atol=1e-3)
        quantiles = model.readout_.distributions(model.model_, rows[:1])
        mean = trapezoid(np.exp(logs) * grid, grid)
        assert_allclose(mean, quantiles[0][0] @ model.levels_, atol=0.02)
        beyond = model.log_density(rows[:1], [model.levels_[-1] + 1])
        assert beyond == -np.inf

    def test_levels_have_the_mean(self, values):
        rows = table(50, seed=1)[0]
        probabilities = values.predict_distribution(rows)
        assert_allclose(probabilities.sum(axis=1), 1)
        step = np.diff(values.levels_)[0]
        means = probabilities @ values.levels_
        assert_allclose(means, values.predict(rows), atol=0.6 * step)

    def test_quantiles_rise_and_hold_their_share(self, values):
        rows, target, _ = table(4000, seed=2)
        levels = np.array([0.9, 0.05, 0.5])
        found = values.predict_quantiles(rows, levels)
        assert (np.diff(found[:, np.argsort(levels)], axis=1) >= 0).all()
        assert_allclose((target[:, None] < found).mean(axis=0), levels, atol=0.03)

    def test_intervals_hold_their_share_where_noise_is_small_and_large(self, values):
        rows, target, _ = table(4000, seed=2)
        low, high = values.predict_interval(rows, coverage=0.9).T
        inside = (low <= target) & (target <= high)
        loud = rows[:, -1] > 0
        assert abs(inside.mean() - 0.9) < 0.02
        assert abs(inside[loud].mean() - 0.9) < 0.07
        assert abs(inside[~loud].mean() - 0.9) < 0.07
        assert (high - low)[loud].mean() > 2 * (high - low)[~loud].mean()

    def test_rows_left_out_have_spreads_like_new_ones(self, values):
        model, readout = values.model_, values.readout_
        known = readout.located(model.log_left_out(model.sample))[1]
        new = readout.located(model.log_measured(table(1000, seed=2)[0]))[1]
        levels = [0.05, 0.5, 0.95]
        assert_allclose(np.quantile(known, levels), np.quantile(new, levels), rtol=0.4)

    def test_standard_deviations_are_as_large_as_errors(self, values):
        rows, target, _ = table(4000, seed=2)
        mean, std = values.predict(rows, return_std=True)
        assert 0.85 < np.sqrt(np.mean(((target - mean) / std) ** 2)) < 1.15

    def test_several_targets_are_told_by_one_model(self):
        rows, target, _ = table(400)
        both = np.column_stack([target, 5 - 3 * target])
        model = QMRegressor(random_state=0).fit(rows, both)
        mean, std = model.predict(rows[:5], return_std=True)
        assert mean.shape == std.shape == model.log_density(rows[:5], both[:5]).shape
        assert model.predict_interval(rows[:5]).shape == (5, 2, 2)
        assert_allclose(mean[:, 1], 5 - 3 * mean[:, 0], atol=0.5)
        with pytest.raises(ValueError, match="2 targets"):
            model.log_density(rows[:5], target[:5])


class TestResiduals:
    def test_the_density_is_that_of_the_sample(self):
        rng = np.random.default_rng(0)
        values = np.where(rng.random(3000) < 0.5, -1, 1) + 0.2 * rng.normal(size=3000)
        found = Residuals.of(values, np.ones(3000))
        grid = np.linspace(-60, 60, 60_001)
        density = np.exp(found.log_density(grid))
        assert_allclose(trapezoid(density, grid), 1, atol=2e-3)
        normals = [np.exp(-(((grid - c) / 0.2) ** 2) / 2) for c in (-1, 1)]
        truth = sum(normals) / (0.4 * np.sqrt(2 * np.pi))
        assert trapezoid(np.abs(density - truth), grid) < 0.15

    def test_a_weight_is_so_many_copies(self):
        values = np.random.default_rng(0).normal(size=60)
        weights = 1.0 + np.arange(60) % 3
        levels = np.array([0.1, 0.3, 0.8])
        weighted = Residuals.of(values, weights)
        copied = Residuals.of(np.repeat(values, weights.astype(int)), np.ones(120))
        assert_allclose(weighted.quantiles(levels), copied.quantiles(levels), atol=0.25)
        assert_allclose(weighted.std, copied.std)

    def test_without_a_sample_they_are_normal(self):
        normal = Residuals.normal()
        assert_allclose(normal.quantiles(np.array([0.5, 0.8413447])), [0, 1], atol=1e-6)
        assert_allclose(normal.cdf(np.array([0.0])), 0.5)
        assert_allclose(normal.log_density(np.zeros(1)), -np.log(2 * np.pi) / 2)


class TestLearning:
    def test_fading_leaves_answers_as_they_are(self, values):
        rows, target, _ = table(400)
        model = QMRegressor(random_state=0).fit(rows, target)
        before = model.predict(rows[:9])
        assert_allclose(model.fade(0.1).predict(rows[:9]), before, rtol=1e-7)

    def test_a_class_that_comes_later_has_a_place(self):
        rows, target, _ = table(400)
        labels = np.digitize(target, [0, 1])
        known = labels < 2
        model = DMKDClassifier(feature_map="blend", random_state=0)
        model.partial_fit(rows[known], labels[known])
        model.partial_fit(rows[~known], labels[~known])
        assert model.predict_proba(rows).shape == (400, 3)
        assert model.score(rows[~known], labels[~known]) > 0.5

    def test_priors_of_choice_are_used(self):
        rows, target, _ = table(400)
        labels = target > 1.2
        model = DMKDClassifier(random_state=0).fit(rows, labels)
        even = DMKDClassifier(priors="uniform", random_state=0).fit(rows, labels)
        odds = [m.predict_proba(rows[:5])[:, 1] for m in (model, even)]
        odds = [p / (1 - p) for p in odds]
        assert_allclose(odds[1] / odds[0], (~labels).sum() / labels.sum(), rtol=1e-6)
