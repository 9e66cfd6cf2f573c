"""Values: moments, intervals and quantiles, with the corrections of the model."""

import numpy as np
import pytest

from rhokit import QMRegressor
from tests.export.support import assert_same_values, real, run, single, wine

SMALL = {"n_components": 32, "random_state": 0}
GIVEN = SMALL | {"gamma": 0.3, "scale": "std", "n_levels": 12, "beta": 100.0}
LEVELS = (0.9, 0.05, 0.5, 0.5)


def target():
    return wine()[0][:, 12]


def compare(model, X, y, folder, tolerance=1e-9, **options):
    found = run(model, X, folder, **options)
    assert_same_values(found, model, X, y.std(axis=0), tolerance, **options)
    return found


class TestRealRows:
    @pytest.mark.parametrize("name", ["stocks", "auto_mpg", "boston_housing"])
    @pytest.mark.parametrize("rank", [None, 4])
    def test_ordinal_sets(self, name, rank, tmp_path):
        data = real(f"ordinal_{name}")
        X, y = single(data["X"]), data["y_continuous"]
        train, test = data["train_index"][0], data["test_index"][0]
        model = QMRegressor(**SMALL, rank=rank).fit(X[train], y[train])
        found = compare(model, X[test], y, tmp_path, quantiles=LEVELS)
        # With all of the state, predict takes another way to the same mean.
        error = (found["mean"] - model.predict(X[test])) / y.std()
        np.testing.assert_allclose(error, 0, atol=1e-9)


class TestTargets:
    @pytest.mark.parametrize("columns", [slice(0, 1), slice(0, 2), slice(3, 6)])
    def test_in_several_columns(self, columns, tmp_path):
        X, y = wine()[0][:, 6:], wine()[0][:, columns]
        model = QMRegressor(**GIVEN).fit(X[::2], y[::2])
        found = compare(model, X, y, tmp_path, quantiles=LEVELS)
        assert found["interval"].shape == (len(X), y.shape[1], 2)

    @pytest.mark.parametrize("offset", [1e6, -1e12])
    def test_far_from_zero_keep_their_digits(self, offset, tmp_path):
        X, y = wine()[0][:, :12], target() + offset
        model = QMRegressor(**GIVEN).fit(X[::2], y[::2])
        compare(model, X, y, tmp_path, tolerance=1e-5, quantiles=LEVELS)

    def test_outside_a_box_get_what_is_known_beforehand(self, tmp_path):
        X, y = wine()[0][:, :1], target()
        for feature_map in ("grid", "quadrature"):
            model = QMRegressor(**GIVEN, feature_map=feature_map).fit(X, y)
            far = single(X[:3] * 1e9)
            found = compare(model, far, y, tmp_path, quantiles=LEVELS)
            np.testing.assert_allclose(found["mean"], y.mean(), rtol=0.02)


class TestCorrections:
    @pytest.mark.parametrize("coverage", [0.001, 0.2, 0.5, 0.9, 0.999])
    @pytest.mark.parametrize("calibration", ["loo", None])
    def test_of_intervals(self, coverage, calibration, tmp_path):
        X, y = wine()[0][:, :12], target()
        model = QMRegressor(**GIVEN, calibration=calibration).fit(X[::2], y[::2])
        found = compare(model, X, y, tmp_path, coverage=coverage)
        low, high = found["interval"].T
        assert (low <= high).all()

    def test_narrow_intervals_become_points(self, tmp_path):
        X = single(np.random.default_rng(0).uniform(size=(200, 1)))
        y = np.where(X[:, 0] < 0.5, 0.1, X[:, 0])
        options = GIVEN | {"gamma": 30.0, "scale": None}
        found = compare(QMRegressor(**options).fit(X, y), X, y, tmp_path, coverage=0.2)
        low, high = found["interval"].T
        assert 0.1 < (low == high).mean() < 0.9

    @pytest.mark.parametrize("levels", [0.5, [0.01, 0.99], LEVELS, [0.5, 0.4, 0.6]])
    @pytest.mark.parametrize("calibration", ["loo", None])
    def test_of_quantiles(self, levels, calibration, tmp_path):
        X, y = wine()[0][:, :12], target()
        model = QMRegressor(**GIVEN, calibration=calibration).fit(X[::2], y[::2])
        found = compare(model, X, y, tmp_path, quantiles=levels)["quantiles"]
        order = np.argsort(np.atleast_1d(levels), kind="stable")
        assert (np.diff(found[:, order], axis=1) >= 0).all()

    def test_of_factors_alone(self, tmp_path):
        X, y = wine()[0][:, :12], target()
        model = QMRegressor(**GIVEN, rank=5).fit(X[::2], y[::2]).compact()
        compare(model, X, y, tmp_path, quantiles=LEVELS)

    def test_changed_after_fit(self, tmp_path):
        X, y = wine()[0][:, :12], target()
        model = QMRegressor(**GIVEN).fit(X[::2], y[::2]).set_params(rank=3)
        compare(model, X, y, tmp_path, quantiles=LEVELS)
        model.set_params(calibration=None)
        compare(model, X, y, tmp_path, quantiles=LEVELS)


class TestGaps:
    def test_are_no_numbers(self, tmp_path):
        X, y = wine()[0][:, :12], target()
        model = QMRegressor(**GIVEN).fit(X, y)
        X = X[:3].copy()
        X[1, 0] = np.nan
        for name, values in run(model, X, tmp_path, quantiles=LEVELS).items():
            assert np.isnan(values[1]).all(), name
            assert np.isfinite(values[[0, 2]]).all(), name
