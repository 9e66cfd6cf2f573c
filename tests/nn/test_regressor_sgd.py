"""QMRegressorSGD: values, and intervals that hold what they promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes

from rhokit import QMRegressor, QMRegressorSGD

SMALL = {
    "n_components": 32,
    "rank": 6,
    "n_levels": 16,
    "max_epochs": 5,
    "random_state": 0,
}


def waves(n, seed):
    """A sine whose noise grows away from the middle."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-3, 3, (n, 1))
    noise = rng.normal(0, 0.1 + 0.1 * np.abs(rows[:, 0]))
    return rows, np.sin(2 * rows[:, 0]) + noise


@pytest.fixture(scope="module")
def model():
    settings = {"n_components": 128, "rank": 8, "validation_fraction": 0.3}
    return QMRegressorSGD(**settings, random_state=0).fit(*waves(3000, 0))


@pytest.fixture(scope="module")
def new():
    return waves(6000, 1)


class TestSkill:
    def test_better_than_the_start_of_the_same_map_and_rank(self):
        rows = np.random.default_rng(0).uniform(-3, 3, (1500, 1))
        target = np.sin(2 * rows[:, 0])
        settings = {"n_components": 64, "rank": 2, "random_state": 0}
        model = QMRegressorSGD(**settings).fit(rows[:1000], target[:1000])
        start = model.estimator_.blank().partial_fit(rows[:1000], target[:1000])
        start.set_params(rank=2)
        errors = [
            np.mean((each.predict(rows[1000:]) - target[1000:]) ** 2)
            for each in (model, start)
        ]
        assert errors[0] < 0.7 * errors[1]

    def test_as_good_as_one_pass(self, model, new):
        one_pass = QMRegressor(random_state=0).fit(*waves(3000, 0))
        assert model.score(*new) > one_pass.score(*new) - 0.02

    def test_real_data(self):
        rows, target = load_diabetes(return_X_y=True)
        gained = []
        for seed in range(3):
            train, test = np.split(np.random.default_rng(seed).permutation(442), 2)
            trained, one_pass = (
                each(random_state=0)
                .fit(rows[train], target[train])
                .score(rows[test], target[test])
                for each in (QMRegressorSGD, QMRegressor)
            )
            gained.append(trained - one_pass)
        assert np.mean(gained) > -0.02

    def test_alpha_narrows_distributions(self):
        rows, target = waves(400, 0)
        spread = [
            QMRegressorSGD(**SMALL | {"max_epochs": 40}, alpha=alpha)
            .fit(rows, target)
            .predict(rows, return_std=True)[1]
            .mean()
            for alpha in (0.0, 3.0)
        ]
        assert spread[1] < spread[0]


class TestIntervals:
    @pytest.mark.parametrize("coverage", [0.5, 0.9])
    def test_rows_held_out_make_them_honest(self, model, new, coverage):
        low, high = model.predict_interval(new[0], coverage).T
        inside = (new[1] >= low) & (new[1] <= high)
        assert abs(inside.mean() - coverage) < 0.04

    def test_raw_ones_are_not(self, model, new):
        """So it is the rows held out that do it."""
        low, high = model.to_estimator().predict_interval(new[0]).T
        inside = (new[1] >= low) & (new[1] <= high)
        assert abs(inside.mean() - 0.9) > 0.04

    def test_validation_data_correct_them_too(self, new):
        rows, target = waves(600, 2)
        judges = waves(2000, 3)
        keep = np.abs(judges[1]) < np.abs(target).max() * 0.98
        judges = judges[0][keep], judges[1][keep]
        settings = SMALL | {"bounds": (-3.0, 3.0)}
        model = QMRegressorSGD(**settings, early_stopping=False)
        model.fit(rows, target, validation_data=judges)
        low, high = model.predict_interval(new[0]).T
        assert abs(((new[1] >= low) & (new[1] <= high)).mean() - 0.9) < 0.04

    def test_without_rows_held_out_they_are_raw(self):
        rows, target = waves(300, 0)
        model = QMRegressorSGD(**SMALL, early_stopping=False).fit(rows, target)
        assert model.estimator_.sample_ is None
        raw = model.to_estimator()
        assert_allclose(
            model.predict_interval(rows), raw.predict_interval(rows), atol=1e-6
        )

    def test_quantiles_never_cross(self, model, new):
        shares = np.linspace(0.02, 0.98, 25)
        values = model.predict_quantiles(new[0], shares)
        assert values.shape == (6000, 25)
        assert (np.diff(values, axis=1) >= 0).all()
        below = (new[1][:, None] < values).mean(axis=0)
        assert np.abs(below - shares).max() < 0.06

    def test_intervals_have_two_ends_in_order(self, model, new):
        for coverage in (0.01, 0.5, 0.99):
            low, high = model.predict_interval(new[0], coverage).T
            assert (low <= high).all()


class TestAnswers:
    def test_fit_together(self, model, new):
        probabilities = model.predict_distribution(new[0])
        assert probabilities.shape == (6000, len(model.levels_))
        assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
        mean, std = model.predict(new[0], return_std=True)
        assert_allclose(mean, probabilities @ model.levels_, atol=1e-6)
        assert_allclose(mean, model.predict(new[0]), atol=1e-6)
        variance = (
            probabilities @ model.levels_**2 - (probabilities @ model.levels_) ** 2
        )
        assert_allclose(std**2, variance, atol=1e-6)

    def test_column_of_targets_is_one_target(self):
        rows, target = waves(100, 0)
        flat = QMRegressorSGD(**SMALL).fit(rows, target)
        with pytest.warns(UserWarning, match="column-vector"):
            column = QMRegressorSGD(**SMALL).fit(rows, target[:, None])
        assert column.predict(rows).shape == (100,)
        assert_array_equal(column.predict(rows), flat.predict(rows))

    def test_units_of_the_target(self):
        rows, target = waves(200, 0)
        model, scaled = (
            QMRegressorSGD(**SMALL).fit(rows, each)
            for each in (target, 1000 * target + 5e4)
        )
        assert_allclose(
            scaled.predict(rows), 1000 * model.predict(rows) + 5e4, rtol=1e-6
        )
        assert_allclose(scaled.history_["loss"], model.history_["loss"], rtol=1e-6)


class TestEdges:
    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    def test_constant_target(self):
        rows, _ = waves(50, 0)
        model = QMRegressorSGD(**SMALL).fit(rows, np.full(50, 3.0))
        assert_allclose(model.predict(rows), 3.0)
        assert_allclose(model.predict_interval(rows), 3.0)

    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    def test_one_row(self):
        model = QMRegressorSGD(**SMALL, gamma=1.0, scale=None).fit([[1.0]], [2.0])
        assert_allclose(model.predict([[1.0], [3.0]]), 2.0)

    def test_two_targets(self):
        rows, target = waves(50, 0)
        with pytest.raises(ValueError, match=r"1d array|1 target|one target"):
            QMRegressorSGD(**SMALL).fit(rows, np.column_stack([target, target]))

    def test_converted_model_of_two_targets(self):
        rows, target = waves(50, 0)
        estimator = QMRegressor(n_components=32, random_state=0)
        estimator.fit(rows, np.column_stack([target, target]))
        with pytest.raises(ValueError, match="target"):
            QMRegressorSGD.from_estimator(estimator).to_module()

    def test_target_missing_or_not_finite(self):
        rows, target = waves(50, 0)
        with pytest.raises(ValueError, match="requires y"):
            QMRegressorSGD(**SMALL).fit(rows)
        with pytest.raises(ValueError, match="y contains NaN"):
            QMRegressorSGD(**SMALL).fit(rows, np.where(target > 0.5, np.nan, target))

    def test_targets_outside_the_levels(self):
        rows, target = waves(50, 0)
        model = QMRegressorSGD(**SMALL, warm_start=True).fit(rows, target)
        with pytest.raises(ValueError, match=r"outside the range.*bounds"):
            model.fit(rows, target * 2)
        with pytest.raises(ValueError, match=r"outside the range.*bounds"):
            QMRegressorSGD(**SMALL).fit(
                rows, target, validation_data=(rows, target * 2)
            )
        wide = QMRegressorSGD(**SMALL, bounds=(-9.0, 9.0)).fit(rows, target)
        assert (wide.levels_[0], wide.levels_[-1]) == (-9.0, 9.0)
