"""QMRegressor against the joint state written out, and against its promises."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDE,
    FourierFeatures,
    LandmarkFeatures,
    QMRegressor,
    QuadratureFeatures,
)
from tests.estimators.support import with_sample_of
from tests.reference import regression_oracles as oracle

# Nothing is left to choose, so that models of the same rows are the same.
FIXED = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "n_levels": 6,
    "beta": 40.0,
    "random_state": 0,
}
MAPS = [
    "fourier",
    "landmarks",
    FourierFeatures(n_components=16, form="pair"),
    FourierFeatures(n_components=12, form="complex"),
    FourierFeatures(n_components=16, normalize=False),
    LandmarkFeatures(n_components=16),
    LandmarkFeatures(n_components=16, normalize=True),
    QuadratureFeatures(tol=0.1),
]
every_map = pytest.mark.parametrize("feature_map", MAPS, ids=str)
METHODS = ["predict", "predict_distribution", "predict_quantiles", "predict_interval"]
COVERAGES = [0.5, 0.8, 0.9, 0.95]


def left_out(estimator):
    """Probabilities and levels of sampled rows left out, for every target."""
    model = estimator.fitted_model()
    return model.readout.read(model, model.log_left_out(model.sample))


def some_data(seed=0, n=60, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    signs = 1.0 if targets is None else rng.normal(size=(2, targets))
    y = (np.sin(X[:, 0]) if targets is None else np.sin(X @ signs)) + 0.0
    return X, y + 0.2 * rng.normal(size=y.shape)


def model_of(**changed):
    return QMRegressor(**{**FIXED, **changed})


@pytest.fixture
def data():
    return some_data()


@pytest.fixture
def queries():
    return np.random.default_rng(1).uniform(-2.5, 2.5, (20, 2))


def distributions(model, X, y, queries, weights=None):
    """The oracle's distributions, with the states and levels of a model."""
    states, measured = (
        model.feature_map_.transform(model.scaling_.apply(rows))
        for rows in (X, queries)
    )
    shape = (*model.levels_[[0, -1]], len(model.levels_), model.beta_)
    return oracle.qmr_distributions(states, y, measured, *shape, weights)


def answers(model, queries):
    return [getattr(model, method)(queries) for method in METHODS]


def assert_same_answers(left, right, queries, **tolerance):
    pairs = zip(answers(left, queries), answers(right, queries), strict=True)
    for one, other in pairs:
        assert_allclose(one, other, **tolerance)


class TestDefinition:
    @every_map
    def test_is_the_joint_state_measured(self, data, queries, feature_map):
        model = model_of(feature_map=feature_map).fit(*data)
        expected = distributions(model, *data, queries)
        found = model.predict_distribution(queries)
        assert_allclose(found, expected, atol=1e-10)
        assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        moments = [oracle.mean_and_std(row, model.levels_) for row in expected]
        mean, std = model.predict(queries, return_std=True)
        assert_allclose(np.column_stack([mean, std]), moments, atol=1e-10)
        assert_allclose(model.predict(queries), mean, atol=1e-10)

    @pytest.mark.parametrize(("n_levels", "beta"), [(2, 0.5), (3, 1e4), (9, 64.0)])
    def test_any_levels(self, data, queries, n_levels, beta):
        model = model_of(n_levels=n_levels, beta=beta, n_components=12).fit(*data)
        assert (model.n_levels_, model.beta_) == (n_levels, beta)
        expected = distributions(model, *data, queries)
        assert_allclose(model.predict_distribution(queries), expected, atol=1e-10)

    @pytest.mark.parametrize("scale", ["std", "whiten", "within", [0.5, 3.0]], ids=str)
    def test_rows_are_scaled_first(self, data, queries, scale):
        model = model_of(scale=scale).fit(*data)
        assert not model.scaling_.is_identity
        expected = distributions(model, *data, queries)
        assert_allclose(model.predict_distribution(queries), expected, atol=1e-10)

    def test_weights(self, data, queries):
        weights = np.random.default_rng(0).uniform(0, 3, 60)
        model = model_of().fit(*data, sample_weight=weights)
        expected = distributions(model, *data, queries, weights)
        assert_allclose(model.predict_distribution(queries), expected, atol=1e-10)

    def test_every_target_has_a_joint_state(self, queries):
        X, y = some_data(targets=3)
        model = model_of().fit(X, y)
        states, measured = (model.feature_map_.transform(rows) for rows in (X, queries))
        for t in range(3):
            shape = (y[:, t].min(), y[:, t].max(), 6, 40.0)
            expected = oracle.qmr_distributions(states, y[:, t], measured, *shape)
            found = model.predict_distribution(queries)[:, t]
            assert_allclose(found, expected, atol=1e-10)

    def test_quantiles_of_the_distribution(self, data, queries):
        model = model_of(calibration=None).fit(*data)
        shares = np.array([0.03, 0.25, 0.5, 0.9])
        expected = [
            oracle.linear_quantiles(chances, model.levels_, shares)
            for chances in model.predict_distribution(queries)
        ]
        assert_allclose(model.predict_quantiles(queries, shares), expected, atol=1e-12)
        tails = model.predict_quantiles(queries, [0.1, 0.9])
        assert_allclose(model.predict_interval(queries, 0.8), tails, atol=1e-12)

    def test_levels_span_the_range(self, data):
        X, y = data
        levels = model_of().fit(X, y).levels_
        assert_allclose(levels, np.linspace(y.min(), y.max(), 6))

    @pytest.mark.parametrize("rank", [4, 0.25, "elbow"])
    def test_rank_cuts_each_levels_matrix(self, data, queries, rank):
        model = model_of(rank=rank).fit(*data)
        low = model.state_.factorize(rank)
        states = model.feature_map_.transform(queries)
        expected = low.born(states) * model.state_.weight
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_distribution(queries), expected, atol=1e-10)


class TestMeans:
    """Means have a way of their own, which sums over levels before it measures."""

    @every_map
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_with_or_without_their_spread(self, data, feature_map, dtype):
        """Among the rows, in gaps, and where nothing was seen."""
        X, y = data
        model = model_of(feature_map=feature_map, dtype=dtype).fit(X, y)
        near = np.random.default_rng(0).uniform(-3, 3, (300, 2))
        mean, _ = model.predict(near, return_std=True)
        tolerance = 1e-3 if dtype == "float32" else 1e-8
        assert_allclose(model.predict(near), mean, atol=tolerance)

    @pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_stay_in_range_also_in_gaps(self, feature_map, dtype):
        """Far from both heaps what is measured is little more than rounding."""
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal(c, 0.1, (60, 1)) for c in (-5, 5)])
        y = np.repeat([1.0, 2.0], 60) + rng.uniform(-0.1, 0.1, 120)
        model = model_of(feature_map=feature_map, n_components=200, dtype=dtype)
        model.fit(X, y)
        gap = np.linspace(-12, 12, 2001)[:, None]
        mean = model.predict(gap)
        assert mean.min() > y.min() - 1e-3
        assert mean.max() < y.max() + 1e-3

    def test_several_targets_and_weights(self, queries):
        X, y = some_data(targets=3)
        weights = np.random.default_rng(0).uniform(0, 3, 60)
        model = model_of().fit(X, y, sample_weight=weights)
        mean, _ = model.predict(queries, return_std=True)
        assert_allclose(model.predict(queries), mean, atol=1e-10)
        model.partial_fit(X[:30], y[:30])
        moved, _ = model.predict(queries, return_std=True)
        assert_allclose(model.predict(queries), moved, atol=1e-10)
        assert np.abs(moved - mean).max() > 1e-3


class TestChoice:
    def test_rank_by_leave_one_out_is_one_that_could_be_given(self, data, queries):
        model = model_of(rank="loo", n_components=32).fit(*data)
        assert model.rank_ in (None, 1, 2, 4, 8, 16)
        given = model_of(rank=model.rank_, n_components=32).fit(*data)
        assert_same_answers(model, given, queries, atol=1e-12)
        stream = clone(model).prepare(*data).partial_fit(*data)
        assert_same_answers(stream, given, queries, atol=1e-9)

    def test_levels_and_sharpness_are_the_best_for_rows_left_out(self, data):
        X, y = data
        shared = {"n_levels": "loo", "beta": "loo"}
        model = model_of(**shared).fit(X, y)
        shares = np.arange(1, 20) / 20

        def loss(n_levels, beta):
            left = model_of(n_levels=n_levels, beta=beta).fit(X, y)
            chances, levels = left_out(left)[0]
            found = [oracle.linear_quantiles(row, levels, shares) for row in chances]
            error = left.sample_.target - np.array(found)
            return np.maximum(shares * error, (shares - 1) * error).mean()

        losses = {
            (m, sharp * (m - 1) ** 2): loss(m, sharp * (m - 1) ** 2)
            for m in (16, 32, 64)
            for sharp in (0.5, 1.0, 2.0, 4.0)
        }
        found = losses[model.n_levels_, model.beta_]
        assert_allclose(found, min(losses.values()), rtol=1e-9)
        assert found < max(losses.values())

    @pytest.mark.parametrize("n", [60, 250])
    def test_everything_chosen_follows_a_sine(self, n):
        X, y = some_data(n=n)
        held_out = some_data(1, 200)
        assert QMRegressor(n_components=64, random_state=0).fit(X, y).score(
            *held_out
        ) > (0.8 if n < 100 else 0.88)


class TestLeaveOneOut:
    """What intervals are calibrated with: each row left out, in closed form."""

    @pytest.mark.parametrize("feature_map", MAPS[:4], ids=str)
    def test_is_the_joint_state_of_all_other_rows(self, data, feature_map):
        model = model_of(feature_map=feature_map).fit(*data)
        sample, ((chances, levels),) = model.sample_, left_out(model)
        assert len(sample.rows) == 60
        assert_array_equal(levels, model.levels_)
        states = model.feature_map_.transform(sample.rows)
        shape = (*levels[[0, -1]], 6, 40.0)
        expected = oracle.qmr_left_out(states, sample.target[:, 0], *shape)
        assert_allclose(chances, expected, atol=1e-8)

    def test_is_a_model_fitted_without_the_row(self, data):
        X, y = data
        model = model_of(bounds=(-2, 2)).fit(X, y)
        ((chances, _),) = left_out(model)
        for row, target, found in zip(
            model.sample_.rows[:12], model.sample_.target[:12], chances, strict=False
        ):
            others = (row != X).any(axis=1) | (target != y)
            assert others.sum() == 59
            without = model_of(bounds=(-2, 2)).fit(X[others], y[others])
            expected = without.predict_distribution(row[None])[0]
            assert_allclose(found, expected, atol=1e-8)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    def test_copies_go_together(self, data, feature_map):
        X, y = data
        model = model_of(feature_map=feature_map).prepare(X, y)
        counts = np.random.default_rng(0).integers(1, 4, 60)
        copied = model.blank().partial_fit(
            np.repeat(X, counts, 0), np.repeat(y, counts)
        )
        ((chances, _),) = left_out(copied)
        for row, found in list(zip(copied.sample_.rows, chances, strict=True))[:8]:
            others = (row != X).any(axis=1)
            without = model.blank().partial_fit(X, y, sample_weight=counts * others)
            expected = without.predict_distribution(row[None])[0]
            assert_allclose(found, expected, atol=1e-8)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    @pytest.mark.parametrize("rank", [1, 5, 16])
    def test_with_a_rank_the_subspace_stays(self, data, feature_map, rank):
        model = model_of(feature_map=feature_map, rank=rank).fit(*data)
        ((chances, levels),) = left_out(model)
        states = model.feature_map_.transform(model.sample_.rows)
        shape = (*levels[[0, -1]], 6, 40.0, rank)
        target = model.sample_.target[:, 0]
        expected = oracle.truncated_left_out(states, target, *shape)
        assert_allclose(chances, expected, atol=1e-7)

    def test_every_target(self):
        X, y = some_data(targets=2)
        model = model_of().fit(X, y)
        for t, (chances, _) in enumerate(left_out(model)):
            alone = model_of().fit(X, y[:, t])
            ((expected, _),) = left_out(alone)
            # Keys depend on all targets, so the rows come in another order.
            order, other = (np.lexsort(m.sample_.rows.T) for m in (model, alone))
            assert_allclose(chances[order], expected[other], atol=1e-10)

    def test_a_row_that_is_all_there_is_says_nothing(self):
        model = model_of(bounds=(0, 1)).fit([[0.0, 1.0]], [0.5])
        assert_allclose(model.predict([[0.0, 1.0]]), [0.5], atol=1e-12)
        assert np.isfinite(model.predict_interval([[0.0, 1.0]])).all()


def noisy(seed, n, d):
    """Noise that grows away from zero in the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, d))
    return X, np.sin(X[:, 0]) + rng.normal(0, 0.1 + 0.3 * np.abs(X[:, 0]))


CALIBRATED = {
    "grid": (1, {}),
    "landmarks": (3, {"feature_map": "landmarks", "n_components": 64}),
    "fourier": (2, {"feature_map": "fourier", "n_components": 64, "n_levels": 16}),
    "rank": (2, {"feature_map": "landmarks", "n_components": 64, "rank": 8}),
}


@pytest.fixture(scope="module", params=CALIBRATED)
def fitted(request):
    """A model of 1,500 rows, and 4,000 more of the same kind."""
    d, parameters = CALIBRATED[request.param]
    model = QMRegressor(random_state=0, **parameters).fit(*noisy(0, 1500, d))
    return model, *noisy(1, 4000, d)


class TestCalibration:
    @pytest.mark.parametrize("coverage", COVERAGES)
    def test_intervals_hold_their_share(self, fitted, coverage):
        model, X, y = fitted
        low, high = model.predict_interval(X, coverage).T
        assert abs(np.mean((low <= y) & (y <= high)) - coverage) < 0.03

    def test_quantiles_have_their_share_below(self, fitted):
        model, X, y = fitted
        shares = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
        found = np.mean(y[:, None] <= model.predict_quantiles(X, shares), axis=0)
        assert_allclose(found, shares, atol=0.04)

    def test_wider_for_more_coverage_and_where_noise_is(self, fitted):
        model, X, _ = fitted
        widths = [np.ptp(model.predict_interval(X, c), axis=1) for c in COVERAGES]
        assert np.min(widths) >= 0
        assert np.all(np.diff(np.mean(widths, axis=1)) > 0)
        calm, wild = np.abs(X[:, 0]) < 0.5, np.abs(X[:, 0]) > 2.5
        assert widths[2][wild].mean() > 1.25 * widths[2][calm].mean()

    def test_quantiles_never_fall(self, fitted):
        model, X, _ = fitted
        shares = np.random.default_rng(0).permutation(np.arange(1, 40) / 40)
        found = model.predict_quantiles(X[:500], shares)
        assert np.diff(found[:, np.argsort(shares)], axis=1).min() >= 0

    @pytest.mark.parametrize("coverage", COVERAGES)
    def test_offsets_are_those_of_the_rows_left_out(self, data, queries, coverage):
        model = model_of().fit(*data)
        tails = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
        ((chances, levels),) = left_out(model)
        left = np.array([oracle.linear_quantiles(p, levels, tails) for p in chances])
        truth = model.sample_.target[:, 0]
        missed = np.maximum(left[:, 0] - truth, truth - left[:, 1])
        offset = oracle.conformal_offset(missed, np.ones(60, int), coverage)
        raw = model_of(calibration=None).fit(*data).predict_interval(queries, coverage)
        expected = raw + np.array([-offset, offset])
        expected = np.where(
            expected[:, :1] > expected[:, 1:], expected.mean(1, keepdims=True), expected
        )
        assert abs(offset) > 1e-3
        found = model.predict_interval(queries, coverage)
        assert_allclose(found, expected, atol=1e-9)

    def test_quantiles_move_by_the_errors_of_rows_left_out(self, data, queries):
        model, shares = model_of().fit(*data), np.array([0.1, 0.5, 0.8])
        ((chances, levels),) = left_out(model)
        left = np.array([oracle.linear_quantiles(p, levels, shares) for p in chances])
        errors = (model.sample_.target - left).T
        one = np.ones(60, int)
        moves = [-oracle.conformal_offset(-errors[0], one, 0.9)]
        moves += [oracle.conformal_offset(errors[i], one, shares[i]) for i in (1, 2)]
        raw = model_of(calibration=None).fit(*data).predict_quantiles(queries, shares)
        found = model.predict_quantiles(queries, shares)
        assert_allclose(found, np.sort(raw + moves, axis=1), atol=1e-9)

    def test_none_keeps_no_rows_and_gives_the_raw_interval(self, data, queries):
        plain, model = model_of(calibration=None).fit(*data), model_of().fit(*data)
        assert plain.sample_ is None
        raw = plain.predict_interval(queries)
        assert_array_equal(
            model.set_params(calibration=None).predict_interval(queries), raw
        )
        with pytest.raises(ValueError, match=r"'calibration'.*before fit"):
            plain.set_params(calibration="loo").predict_interval(queries)

    def test_what_is_narrowed_away_becomes_a_point(self, queries):
        """Rows that are known exactly leave intervals far too wide."""
        X = np.repeat(np.linspace(-2, 2, 30), 4)[:, None] + np.tile(
            np.linspace(0, 1e-3, 4), 30
        ).reshape(-1, 1)
        y = np.round(X[:, 0])
        model = QMRegressor(
            gamma=20.0, scale=None, n_levels=5, beta=2.0, random_state=0
        ).fit(X, y)
        interval = model.predict_interval(np.linspace(-2, 2, 50)[:, None], 0.1)
        assert np.ptp(interval, axis=1).min() >= 0
        assert_allclose(np.diff(interval, axis=1).min(), 0, atol=1e-12)

    def test_no_more_than_2000_rows_are_kept(self):
        X, y = some_data(n=2500)
        model = model_of(n_components=8).fit(X, y)
        assert len(model.sample_.rows) == 2000


class TestRange:
    def test_learned_from_the_rows_of_fit(self, data):
        X, y = data
        model = model_of().fit(X, y)
        assert_allclose(model.levels_[[0, -1]], [y.min(), y.max()])

    def test_learned_from_rows_with_weight(self, data):
        X, y = data
        weights = (np.abs(y) < 0.5).astype(float)
        levels = model_of().fit(X, y, sample_weight=weights).levels_
        inside = y[weights > 0]
        assert_allclose(levels[[0, -1]], [inside.min(), inside.max()])

    @pytest.mark.parametrize("bounds", [(-5, 7), [-5.0, 7.0], np.array([[-5], [7]])])
    def test_given_for_streams(self, data, bounds):
        X, y = data
        model = model_of(bounds=bounds).partial_fit(X[:30], y[:30] / 10)
        assert_allclose(model.levels_, np.linspace(-5, 7, 6))
        assert np.isfinite(model.partial_fit(X[30:], 3 * y[30:]).predict(X)).all()

    @pytest.mark.parametrize("bounds", [(-9, 9), [[-9, -8], [9, 8]]], ids=str)
    def test_given_for_all_targets_or_each(self, bounds):
        X, y = some_data(targets=2)
        levels = model_of(bounds=bounds).fit(X, y).levels_
        assert levels.shape == (6, 2)
        expected = np.broadcast_to(np.reshape(bounds, (2, -1)), (2, 2))
        assert_allclose(levels[[0, -1]], expected)

    @pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
    def test_a_value_outside_is_named_and_changes_nothing(self, data, method):
        X, y = data
        model = model_of(bounds=(-2, 2)).fit(X, y)
        before = pickle.dumps(model)
        spoiled = y.copy()
        spoiled[[7, 9]] = 4.5, -3.0
        message = r"row 7: y is 4\.5, outside the range \[-2\.0, 2\.0\].*2 such rows"
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(X, spoiled)
        assert pickle.dumps(model) == before

    def test_a_value_outside_names_its_target(self):
        X, y = some_data(targets=2)
        model = model_of(bounds=(-2, 2)).fit(X, y)
        y[3, 1] = 2.5
        with pytest.raises(ValueError, match=r"row 3: target 1 of y is 2\.5"):
            model.partial_fit(X, y)

    def test_dates_are_no_values(self, data):
        days = np.arange(len(data[1])).astype("M8[D]")
        with pytest.raises(TypeError, match=r"y must be numbers, got datetime64\[D\]"):
            model_of().fit(data[0], days)

    def test_a_value_outside_the_given_range_is_refused_from_the_start(self, data):
        model = model_of(bounds=(0, 1))
        with pytest.raises(ValueError, match=r"outside the range \[0\.0, 1\.0\]"):
            model.fit(*data)
        assert not hasattr(model, "feature_map_")

    def test_rows_of_no_weight_may_lie_outside(self, data, queries):
        X, y = data
        weights = np.ones(60)
        spoiled = y.copy()
        spoiled[5], weights[5] = 99.0, 0.0
        model = model_of(bounds=(-2, 2)).fit(X, spoiled, sample_weight=weights)
        others = np.arange(60) != 5
        without = model_of(bounds=(-2, 2)).fit(X[others], y[others])
        assert_same_answers(model, without, queries, atol=1e-10)

    @pytest.mark.parametrize(
        "bounds",
        [
            (1, 0),
            (0, 0),
            (-2, np.nan),
            (-np.inf, 2),
            (-2, 0, 2),
            ("low", "high"),
            [[-2, -2], [2, 2]],
            [],
            3.0,
            "wide",
        ],
        ids=str,
    )
    def test_bad_bounds_are_named(self, data, bounds):
        with pytest.raises(ValueError, match="'bounds' parameter of QMRegressor"):
            model_of(bounds=bounds).fit(*data)

    def test_bounds_the_wrong_way_round_are_not_read_as_others(self):
        """Three pairs (low, high) are no three lows and three highs."""
        X, y = some_data(targets=3)
        pairs = [[-9, -7], [-8, 9], [8, 9]]
        with pytest.raises(ValueError, match="'bounds' parameter of QMRegressor"):
            model_of(bounds=pairs).fit(X, y)

    @pytest.mark.parametrize("beta", [40.0, "loo"])
    @pytest.mark.parametrize("value", [0.0, -7.25, 1e12])
    def test_a_constant_target(self, data, value, beta):
        X, _ = data
        model = model_of(beta=beta).fit(X, np.full(60, value))
        mean, std = model.predict(X, return_std=True)
        assert_allclose(mean, value, rtol=1e-12)
        assert_allclose(std, 0, atol=1e-3 * np.spacing(value) + 1e-12 * abs(value))
        assert_allclose(model.predict_interval(X), value, rtol=1e-12)
        assert_allclose(model.predict_quantiles(X), value, rtol=1e-12)

    def test_one_constant_target_of_two(self, data, queries):
        X, y = data
        both = model_of(beta="loo").fit(X, np.column_stack([y, np.ones(60)]))
        assert_allclose(both.predict(queries)[:, 1], 1)
        assert both.predict(queries)[:, 0].std() > 0.1

    def test_units_of_the_target_do_not_matter(self, data, queries):
        X, y = data
        plain = QMRegressor(n_components=32, random_state=0).fit(X, y)
        other = QMRegressor(n_components=32, random_state=0).fit(X, 1e6 * y - 3e6)
        assert_allclose(other.beta_, plain.beta_)
        for method in ("predict", "predict_quantiles", "predict_interval"):
            expected = 1e6 * getattr(plain, method)(queries) - 3e6
            found = getattr(other, method)(queries)
            assert_allclose(found, expected, rtol=1e-6, atol=1)


class TestSeveralTargets:
    def test_shapes(self, queries):
        X, y = some_data(targets=3)
        model = model_of().fit(X, y)
        assert model.levels_.shape == (6, 3)
        mean, std = model.predict(queries, return_std=True)
        assert mean.shape == std.shape == (20, 3)
        assert model.predict_distribution(queries).shape == (20, 3, 6)
        assert model.predict_quantiles(queries, [0.1, 0.9]).shape == (20, 3, 2)
        assert model.predict_quantiles(queries).shape == (20, 3, 3)
        assert model.predict_interval(queries).shape == (20, 3, 2)

    def test_shapes_of_one_target(self, data, queries):
        X, y = data
        model = model_of().fit(X, y)
        assert model.levels_.shape == (6,)
        shapes = [answer.shape for answer in answers(model, queries)]
        assert shapes == [(20,), (20, 6), (20, 3), (20, 2)]
        column = model_of().fit(X, y[:, None])
        shapes = [answer.shape for answer in answers(column, queries)]
        assert shapes == [(20, 1), (20, 1, 6), (20, 1, 3), (20, 1, 2)]
        for flat, one in zip(
            answers(model, queries), answers(column, queries), strict=True
        ):
            assert_allclose(one[:, 0], flat, rtol=1e-12)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    @pytest.mark.parametrize("rank", [None, 6])
    def test_each_is_the_model_of_its_own(self, queries, feature_map, rank):
        X, y = some_data(targets=3)
        y *= [1.0, 100.0, 1e-3]
        fixed = {"feature_map": feature_map, "rank": rank}
        together = answers(model_of(**fixed).fit(X, y), queries)
        for t in range(3):
            alone = answers(model_of(**fixed).fit(X, y[:, t]), queries)
            for one, all_of_them in zip(alone, together, strict=True):
                scale = max(np.abs(one).max(), 1e-300)
                assert_allclose(all_of_them[:, t] / scale, one / scale, atol=1e-10)

    def test_their_number_stays(self, data):
        X, y = data
        model = model_of(bounds=(-2, 2)).fit(X, y)
        with pytest.raises(ValueError, match="1 targets, as before, got 2"):
            model.partial_fit(X, np.column_stack([y, y]))


def parts_of(X, y, lengths):
    cuts = np.cumsum(lengths)[:-1]
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def assert_same_sample(left, right):
    assert_array_equal(left.sample_.keys, right.sample_.keys)
    assert_array_equal(left.sample_.rows, right.sample_.rows)
    assert_array_equal(left.sample_.target, right.sample_.target)
    assert_allclose(left.sample_.weight, right.sample_.weight, rtol=1e-12)


QUERIES = np.random.default_rng(1).uniform(-2.5, 2.5, (20, 2))
seeds = st.integers(0, 2**31)
splits = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
class TestLaws:
    def prepared(self, feature_map, X, y):
        """Landmarks fewer than rows, so that whitening keeps all of its digits."""
        return model_of(feature_map=feature_map, n_components=16).prepare(X, y)

    @given(seed=seeds, lengths=splits, order=st.randoms(use_true_random=False))
    @settings(max_examples=8)
    def test_also_when_not_all_rows_are_kept(self, feature_map, seed, lengths, order):
        X, y = some_data(seed, sum(lengths) + 12)
        lengths[-1] += 12
        empty = with_sample_of(10, self.prepared(feature_map, X, y))
        whole = empty.blank().partial_fit(X, y)
        parts = [empty.blank().partial_fit(*p) for p in parts_of(X, y, lengths)]
        order.shuffle(parts)
        merged = empty.blank().merge(*parts)
        assert len(whole.sample_.rows) == 10
        assert_same_sample(merged, whole)
        assert_same_answers(merged, whole, QUERIES, atol=1e-7)

    def test_partial_fit_of_everything_is_fit(self, feature_map, data):
        fitted = model_of(feature_map=feature_map).fit(*data)
        streamed = model_of(feature_map=feature_map).partial_fit(*data)
        assert_same_answers(streamed, fitted, QUERIES, atol=1e-12)

    def test_a_blank_of_a_fitted_model_knows_no_rows(self, feature_map, data):
        """Neither in its state nor among those that calibrate it."""
        X, y = data
        model = model_of(feature_map=feature_map, bounds=(-2, 2)).fit(X, y)
        other = some_data(5, 30)
        blank = model.blank()
        assert blank.sample_ is None
        assert_same_answers(
            blank.partial_fit(*other),
            clone(model).prepare(X, y).partial_fit(*other),
            QUERIES,
            atol=1e-9,
        )

    def test_a_second_machine_starts_from_a_blank(self, feature_map, data):
        """Merged back, every row counts once."""
        X, y = data
        first = model_of(feature_map=feature_map, bounds=(-2, 2)).fit(X[:40], y[:40])
        second = first.blank().partial_fit(X[40:], y[40:])
        whole = first.blank().partial_fit(X, y)
        first.merge(second)
        assert_array_equal(first.sample_.weight, np.ones(60))
        assert_same_answers(first, whole, QUERIES, atol=1e-9)


@pytest.mark.parametrize("scale", ["auto", "std", "within"])
@pytest.mark.parametrize("gamma", ["loo", "median", "scott", "silverman"])
def test_whole_fit_depends_on_the_weighted_set_of_rows_alone(gamma, scale):
    """Scaling, γ and levels too: copies, weights and order must not matter."""
    X, y = some_data()
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 60)
    order = rng.permutation(np.repeat(np.arange(60), counts))
    shared = {"gamma": gamma, "scale": scale, "n_components": 16, "n_levels": 8}
    shared["feature_map"] = "fourier"
    weighted = QMRegressor(**shared, random_state=0).fit(X, y, sample_weight=counts)
    copied = QMRegressor(**shared, random_state=0).fit(X[order], y[order])
    assert_allclose(weighted.gamma_, copied.gamma_, rtol=1e-8)
    assert_allclose(weighted.beta_, copied.beta_)
    assert_same_answers(weighted, copied, QUERIES, atol=1e-6)


class TestMergeAndUnlearn:
    @pytest.mark.parametrize(
        "changed",
        [
            {"bounds": (-3, 3)},
            {"beta": 10.0},
            {"n_levels": 7},
            {"gamma": 1.0},
            {"random_state": 1},
        ],
        ids=str,
    )
    def test_other_levels_or_maps_are_refused(self, data, changed):
        model = model_of(bounds=(-2, 2)).fit(*data)
        other = model_of(**{"bounds": (-2, 2), **changed}).fit(*data)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"differ|combine"):
            model.merge(other)
        assert pickle.dumps(model) == before

    def test_other_numbers_of_targets_are_refused(self, data):
        X, y = data
        model = model_of(bounds=(-2, 2)).fit(X, y)
        other = model_of(bounds=(-2, 2)).fit(X, np.column_stack([y, y]))
        with pytest.raises(ValueError, match=r"differ|combine"):
            model.merge(other)

    def test_other_classes_are_refused(self, data):
        X, y = data
        with pytest.raises(TypeError, match="of its own class, got DMKDE"):
            model_of().fit(X, y).merge(DMKDE(gamma=0.7, scale=None).fit(X))

    def test_unlearning_everything(self, data):
        X, y = data
        model = model_of().fit(X, y).unlearn(X, y)
        for method in METHODS:
            with pytest.raises(NotFittedError, match="no rows any more"):
                getattr(model, method)(X)
        assert np.isfinite(model.partial_fit(X, y).predict_interval(X)).all()

    def test_unlearning_more_than_was_seen_is_refused(self, data):
        X, y = data
        model = model_of().fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            model.unlearn(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        assert pickle.dumps(model) == before

    def test_unlearning_all_rows_of_a_sample_leaves_a_model(self, data):
        """Its intervals have nothing to be calibrated with, which they say."""
        model = with_sample_of(10, model_of().prepare(*data)).partial_fit(*data)
        rest = some_data(7, 5)
        model.unlearn(model.sample_.rows, model.sample_.target[:, 0])
        assert np.isfinite(model.predict(QUERIES)).all()
        with pytest.raises(ValueError, match="calibrat"):
            model.predict_interval(QUERIES)
        model.partial_fit(rest[0], rest[1].clip(*model.levels_[[0, -1]]))
        assert np.isfinite(model.predict_interval(QUERIES)).all()

    def test_unlearning_goes_on_after_the_sample_is_used_up(self, data):
        X, y = data
        model = with_sample_of(10, model_of().prepare(X, y)).partial_fit(X, y)
        gone = model.sample_.rows.copy(), model.sample_.target[:, 0].copy()
        left = (X[:, None] != gone[0]).any(axis=2).all(axis=1)
        model.unlearn(*gone).unlearn(X[left][:10], y[left][:10])
        assert_allclose(model.state_.weight.sum(), 40)


class TestInput:
    CONTAINERS: ClassVar = {
        "fortran": (np.asfortranarray, np.asarray),
        "pandas": (lambda X: pd.DataFrame(X, columns=["a", "b"]), pd.Series),
        "polars": (lambda X: pl.DataFrame(X, schema=["a", "b"]), pl.Series),
        "list": (np.ndarray.tolist, np.ndarray.tolist),
        "strided": (lambda X: np.repeat(X, 2, 0)[::2], lambda y: np.repeat(y, 2)[::2]),
    }

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_containers(self, data, queries, container):
        X, y = data
        rows, values = self.CONTAINERS[container]
        plain = model_of().fit(X, y)
        other = model_of().fit(rows(X), values(y))
        pairs = zip(answers(other, rows(queries)), answers(plain, queries), strict=True)
        for found, expected in pairs:
            assert_allclose(found, expected, atol=1e-12)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_of_targets(self, queries, frame):
        X, y = some_data(targets=2)
        model = model_of().fit(X, frame(y))
        assert_same_answers(model, model_of().fit(X, y), queries, atol=1e-12)

    @pytest.mark.parametrize("dtype", ["int64", "int8", "float32", ">f8", "bool"])
    def test_targets_of_any_dtype(self, data, queries, dtype):
        X, y = data
        values = np.rint(2 * y).astype(dtype)
        model = model_of().fit(X, values)
        same = model_of().fit(X, values.astype(float))
        assert_same_answers(model, same, queries, atol=1e-12)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks", "auto"])
    def test_single_precision(self, data, queries, feature_map):
        X, y = data
        shared = {"feature_map": feature_map, "n_components": 64}
        wide = model_of(**shared).fit(X, y)
        narrow = model_of(**shared).fit(X.astype(np.float32), y)
        asked = model_of(**shared, dtype="float32").fit(X, y)
        for model in (narrow, asked):
            assert model.feature_map_.dtype_ == np.float32
            assert model.state_.total.dtype == np.float64
            assert model.predict(queries).dtype == np.float64
            # Landmarks that are all rows are whitened up to the cut of the precision.
            assert_same_answers(model, wide, queries, atol=0.02)
        assert_same_answers(narrow, asked, queries, atol=1e-4)

    def test_single_precision_streams(self, data, queries):
        X, y = data
        model = model_of(dtype="float32").prepare(X, y)
        whole = model.blank().partial_fit(X, y)
        parts = [model.blank().partial_fit(X[i::3], y[i::3]) for i in range(3)]
        merged = model.blank().merge(*parts)
        assert_same_sample(merged, whole)
        assert_same_answers(merged, whole, queries, atol=1e-4)

    BAD: ClassVar = {
        "nan": (lambda y: np.where(y > 0, np.nan, y), "Input y contains NaN"),
        "inf": (lambda y: np.where(y > 0, np.inf, y), "Input y contains infinity"),
        "none": (lambda y: None, "requires y to be passed"),
        "short": (lambda y: y[:5], r"inconsistent numbers of samples: \[60, 5\]"),
        "three dimensions": (lambda y: np.ones((60, 2, 2)), "dim 3"),
        "text": (lambda y: ["high"] * 60, "high"),
        "complex": (lambda y: y + 1j, "Complex data not supported"),
    }

    @pytest.mark.parametrize("method", ["fit", "prepare", "partial_fit", "unlearn"])
    @pytest.mark.parametrize("case", BAD)
    def test_bad_targets_change_nothing(self, data, method, case):
        (X, y), (spoil, message) = data, self.BAD[case]
        model = model_of().fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(X, spoil(y))
        assert pickle.dumps(model) == before

    @pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (lambda X: np.where(np.arange(2) == 1, np.nan, X), "column 1: .*NaN"),
            (lambda X: X[:, :1], "1 features.*expecting 2 features"),
        ],
        ids=["nan", "width"],
    )
    def test_bad_rows_change_nothing(self, data, method, rows, message):
        X, y = data
        model = model_of().fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(rows(X), y)
        for answer in METHODS:
            with pytest.raises(ValueError, match=message):
                getattr(model, answer)(rows(X))
        assert pickle.dumps(model) == before

    @pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, np.nan, np.inf])
    def test_shares_outside_zero_and_one(self, data, share):
        X, y = data
        model = model_of().fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            model.predict_interval(X, coverage=share)
        with pytest.raises(ValueError, match="quantiles must lie between 0 and 1"):
            model.predict_quantiles(X, [0.5, share])
        assert pickle.dumps(model) == before

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"gamma": 0}, "'gamma' parameter of QMRegressor.*Got 0"),
            ({"n_levels": 1}, "'n_levels' parameter of QMRegressor.*Got 1"),
            ({"n_levels": "many"}, "'n_levels' parameter of QMRegressor"),
            ({"beta": 0.0}, r"'beta' parameter of QMRegressor.*Got 0\.0"),
            ({"beta": "sharp"}, "'beta' parameter of QMRegressor"),
            ({"calibration": "cv"}, "'calibration' parameter of QMRegressor"),
            ({"rank": 0}, "'rank' parameter of QMRegressor"),
            ({"scale": "unit"}, "'scale' parameter of QMRegressor"),
            ({"feature_map": "wavelets"}, "'feature_map' parameter.*'wavelets'"),
        ],
        ids=str,
    )
    def test_bad_parameters_are_named(self, data, parameters, message):
        with pytest.raises(ValueError, match=message):
            model_of(**parameters).fit(*data)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("rank", [None, 3, "loo"])
    def test_not_fitted(self, data, method, rank):
        for model in (model_of(rank=rank), model_of(rank=rank).prepare(*data)):
            with pytest.raises(NotFittedError):
                getattr(model, method)(data[0])
            with pytest.raises(NotFittedError):
                model.unlearn(*data)


class TestPrediction:
    # Warnings are errors here, so that this also says: nothing warns.
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks", "auto"])
    @pytest.mark.parametrize("rank", [None, 3])
    def test_far_rows_get_finite_answers_in_range(self, data, feature_map, dtype, rank):
        X, y = data
        model = model_of(feature_map=feature_map, dtype=dtype, rank=rank)
        model.set_params(n_components=64, calibration=None).fit(X, y)
        far = np.outer(10.0 ** np.arange(1, 9), [1.0, -1.0])
        for answer in answers(model, far):
            assert np.isfinite(answer).all()
        mean, std = model.predict(far, return_std=True)
        slack = 1e-6
        assert mean.min() >= y.min() - slack
        assert mean.max() <= y.max() + slack
        assert np.isfinite(std).all()
        chances = model.predict_distribution(far)
        assert_allclose(chances.sum(axis=1), 1, rtol=1e-6)
        calibrated = model.set_params(calibration="loo").fit(X, y)
        assert np.isfinite(calibrated.predict_interval(far)).all()


class TestScikitLearn:
    def test_clone_and_parameters(self, data, queries):
        model = model_of(bounds=(-2, 2), rank=5).fit(*data)
        again = clone(model)
        assert again.get_params() == model.get_params()
        assert not hasattr(again, "feature_map_")
        assert_same_answers(again.fit(*data), model, queries, atol=1e-12)

    def test_pipeline(self, data, queries):
        X, y = data
        pipeline = make_pipeline(StandardScaler(), model_of()).fit(X, y)
        scaler = StandardScaler().fit(X)
        alone = model_of().fit(scaler.transform(X), y)
        expected = alone.predict(scaler.transform(queries))
        assert_allclose(pipeline.predict(queries), expected, rtol=1e-12)
        mean, std = pipeline.predict(queries, return_std=True)
        assert mean.shape == std.shape

    def test_model_selection(self):
        X, y = some_data(n=120)
        model = model_of(feature_map="landmarks", n_components=32)
        search = GridSearchCV(model, {"gamma": [1e-3, 2.0, 1e4]}, cv=3).fit(X, y)
        assert search.best_params_ == {"gamma": 2.0}
        assert search.best_score_ > 0.7
        assert cross_val_score(model.set_params(gamma=2.0), X, y, cv=3).min() > 0.6

    def test_targets_transformed_or_one_by_one(self, data, queries):
        X, y = data
        logs = TransformedTargetRegressor(model_of(), func=np.exp, inverse_func=np.log)
        expected = np.log(model_of().fit(X, np.exp(y)).predict(queries))
        assert_allclose(logs.fit(X, y).predict(queries), expected, rtol=1e-10)
        both = np.column_stack([y, -y])
        apart = MultiOutputRegressor(model_of()).fit(X, both).predict(queries)
        assert_allclose(apart, model_of().fit(X, both).predict(queries), atol=1e-10)

    def test_score_is_the_share_of_variance(self, data):
        X, y = data
        model = model_of().fit(X, y)
        expected = 1 - ((y - model.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert_allclose(model.score(X, y), expected)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_several_coverages_together(n_targets):
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = X[:, 0] if n_targets == 1 else X[:, :2]
    model = QMRegressor(n_components=32, random_state=0).fit(X, y)
    shares = (0.5, 0.8, 0.95)
    together = model.predict_interval(X[:9], shares)
    assert together.shape == (9, *[2][: n_targets - 1], 3, 2)
    for place, share in enumerate(shares):
        expected = model.predict_interval(X[:9], share)
        np.testing.assert_array_equal(together[..., place, :], expected)
