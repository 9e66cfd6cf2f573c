"""Laws of models on a grid, boxes that widen, and what grids refuse."""

import pickle
import warnings
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import rhokit
from rhokit import DMKDE, DMKDClassifier, GridFeatures, QMRegressor, QuadratureFeatures
from rhokit.fast import series
from tests.one_pass import assert_same_model
from tests.reference.density_oracles import exact_log_kde

PLAN = {"gamma": 0.9, "scale": None, "feature_map": "grid", "random_state": 0}
LEVELS = {"n_levels": 5, "beta": 4.0, "bounds": (-12, 12)}
MODELS = {
    "1-D": (1, DMKDE(**PLAN)),
    "2-D": (2, DMKDE(**PLAN)),
    "scaled": (2, DMKDE(**PLAN | {"gamma": "scott", "scale": "whiten"})),
    "3-D": (3, DMKDE(**PLAN | {"feature_map": GridFeatures(tol=1e-4)})),
    "classes": (2, DMKDClassifier(**PLAN)),
    "rejecting": (1, DMKDClassifier(**PLAN, reject=0.1)),
    "values": (2, QMRegressor(**PLAN, **LEVELS)),
    "uncalibrated": (1, QMRegressor(**PLAN, **LEVELS, calibration=None)),
}
DENSITIES = [name for name, (_, model) in MODELS.items() if isinstance(model, DMKDE)]
BOXED = ["1-D", "2-D"]
NEED_A_MATRIX = ["MeanEmbeddingKDE", "QMClassifier", "QMOrdinalClassifier", "DMKDESGD"]
NEED_A_MATRIX += ["DMKDClassifierSGD", "QMClassifierSGD", "QMRegressorSGD"]
N_ROWS = 60
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 3))
LABELS = np.arange(N_ROWS) % 3
OLD, NEW, REST = slice(0, 30), slice(30, 45), slice(45, None)
WIDEN_TOL = 1e-7  # of the peak


def data(name, which=slice(None), shift=0.0):
    """Rows and targets (or None) of a model, moved along every column."""
    d, model = MODELS[name]
    X = ROWS[which, :d]
    if isinstance(model, DMKDE):
        return X + shift, None
    y = 2 * ROWS[which, 0] if isinstance(model, QMRegressor) else LABELS[which]
    return X + shift, y


def prepared(name):
    return clone(MODELS[name][1]).prepare(*data(name))


def learned(name, which=slice(None), model=None, **options):
    model = prepared(name) if model is None else model
    return model.partial_fit(*data(name, which), **options)


def answers(model, X):
    """All that a model says about rows."""
    names = ("density", "predict_proba", "predict_distribution", "predict")
    names += ("predict_quantiles", "predict_interval")
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    if getattr(model, "reject", None) is not None:
        found["threshold_"] = np.array(model.threshold_)
    return found


def assert_same_answers(actual, expected, X, tol):
    assert_same_values(answers(actual, X), answers(expected, X), tol)


def assert_same_values(left, right, tol):
    """Equal labels, and numbers within a share of the largest one."""
    assert left.keys() == right.keys()
    for key, value in right.items():
        if value.dtype.kind == "f":
            assert_allclose(left[key], value, rtol=0, atol=tol * np.abs(value).max())
        else:
            assert_array_equal(left[key], value)


def queries_about(X):
    rng = np.random.default_rng(1)
    return np.concatenate([X[::3], X[::3] + rng.normal(size=X[::3].shape)])


def assert_near_exact(model, X, weights=None, tol=WIDEN_TOL):
    """The density of these rows, in the user's units, with scaling or without."""
    scaling, queries = model.scaling_, queries_about(X)
    scaled = scaling.apply(X), scaling.apply(queries)
    logs = exact_log_kde(*scaled, model.gamma_, weights) + scaling.log_volume
    peak = np.exp(logs.max())
    assert_allclose(model.density(queries), np.exp(logs), rtol=0, atol=tol * peak)


@contextmanager
def unchanged(model):
    """The model holds the very same values afterwards."""
    before = dict(vars(model))
    numbers = pickle.dumps(before.get("state_"))
    yield
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())
    assert pickle.dumps(before.get("state_")) == numbers


def widened(model, *args, **options):
    with pytest.warns(UserWarning, match="which was widened"):
        return model.partial_fit(*args, **options)


@pytest.mark.parametrize("name", MODELS)
class TestLaws:
    def test_without_finufft(self, name, monkeypatch):
        expected, X = learned(name), data(name)[0]
        found = answers(expected, X)
        monkeypatch.setattr(series, "finufft", lambda: None)
        monkeypatch.setattr(series, "_PRODUCT_NUMBERS", 1)  # several blocks
        other = learned(name)
        assert_same_model(other, expected, rtol=1e-9)
        assert_same_values(answers(other, X), found, 1e-9)


class TestWidening:
    @pytest.mark.parametrize("shift", [2.0, -3.0, 40.0])
    @pytest.mark.parametrize("name", DENSITIES)
    def test_density_stays_exact(self, name, shift):
        model = clone(MODELS[name][1]).fit(*data(name, OLD))
        X = data(name, NEW)[0] + (1 if name == "3-D" else shift)
        widened(model, X)
        tol = 1e-3 if name == "3-D" else WIDEN_TOL
        assert model.state_.weight == 45
        assert_near_exact(model, np.concatenate([data(name, OLD)[0], X]), tol=tol)

    @pytest.mark.parametrize("d", [1, 2])
    def test_again_and_again(self, d):
        steps = [0, 6, -6, 25, -40, 60]
        parts = [ROWS[10 * k : 10 * k + 10, :d] + step for k, step in enumerate(steps)]
        model = DMKDE(**PLAN).fit(parts[0])
        boxes = [model.feature_map_]
        for part in parts[1:]:
            widened(model, part)
            boxes.append(model.feature_map_)
        for old, new in pairwise(boxes):
            assert (new.low_ <= old.low_).all()
            assert (new.high_ >= old.high_).all()
        assert_near_exact(model, np.concatenate(parts))

    @given(seed=st.integers(0, 2**31), step=st.sampled_from([0.3, 3.0, 30.0]))
    @settings(max_examples=10)
    def test_a_random_walk(self, seed, step):
        rng = np.random.default_rng(seed)
        X = np.cumsum(step * rng.normal(size=(120, 1)), axis=0)
        model = DMKDE(**PLAN)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for part in np.split(X, 12):
                model.partial_fit(part)
        assert_near_exact(model, X)

    def test_a_box_with_room_widens_seldom(self):
        model = DMKDE(**PLAN).fit(ROWS[:, :1])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for step in range(100):
                model.partial_fit(ROWS[:5, :1] + step)
        assert 1 <= len(seen) <= 8

    def test_the_warning_says_where(self):
        model = DMKDE(**PLAN).fit(ROWS[:, :2])
        old = model.feature_map_
        outside = np.where(np.arange(N_ROWS) < 7, 50.0, 0.0)[:, None] * [0, 1]
        with pytest.warns(UserWarning, match="widened") as seen:
            model.partial_fit(np.clip(ROWS[:, :2], -0.5, 0.5) + outside)
        assert len(seen) == 1
        new, text = model.feature_map_, str(seen[0].message)
        assert text.startswith("7 of 60 rows lie outside the box of this model's grid")
        before, after = (f"[{m.low_[1]:.4g}, {m.high_[1]:.4g}]" for m in (old, new))
        assert f"column 1 from {before} to {after}. " in text
        assert "column 0" not in text
        assert 'GridFeatures(bounds=..., outside="refuse")' in text

    def test_the_warning_names_columns_in_their_units(self):
        frame = pd.DataFrame(ROWS[:, :2], columns=["height", "age"])
        model = DMKDE(**PLAN | {"scale": "std"}).fit(frame)
        low, high = frame["age"].min(), frame["age"].max()
        before = rf"column 'age' from \[{low:.4g}, {high:.4g}\] to \[(?!.*scaled)"
        with pytest.warns(UserWarning, match=before):
            model.partial_fit(frame.add([0, 60]))
        both = np.concatenate([frame, frame.add([0, 60])])
        scaled = model.scaling_.apply(both)
        logs = exact_log_kde(scaled, scaled, model.gamma_) + model.scaling_.log_volume
        found = model.density(pd.DataFrame(both, columns=frame.columns))
        assert_allclose(found, np.exp(logs), rtol=0, atol=1e-7 * np.exp(logs.max()))

    def test_the_warning_says_that_columns_are_mixed(self):
        model = DMKDE(**PLAN | {"scale": "whiten"}).fit(ROWS[:, :2])
        with pytest.warns(UserWarning, match=r"in scaled units"):
            model.partial_fit([[99.0, 99.0]])

    def test_rows_of_no_weight_widen_nothing(self):
        model = DMKDE(**PLAN).fit(ROWS[:, :1])
        highest = model.feature_map_.high_
        model.partial_fit([[0.0], [3000.0]], sample_weight=[1, 0])
        assert_array_equal(model.feature_map_.high_, highest)
        assert model.state_.weight == 61

    def test_decay_and_weights_go_with_it(self):
        X = ROWS[:, :2]
        model = widened(DMKDE(**PLAN).fit(X), X + 20, sample_weight=LABELS, decay=0.5)
        weights = np.concatenate([np.full(N_ROWS, 0.5), LABELS])
        assert_near_exact(model, np.concatenate([X, X + 20]), weights)

    def test_what_came_before_can_still_be_unlearned(self):
        X = ROWS[:, :2]
        model = widened(DMKDE(**PLAN).fit(X), X + 20)
        assert_near_exact(model.unlearn(X), X + 20)

    @pytest.mark.parametrize("name", ["classes", "rejecting", "values"])
    def test_answers_are_those_of_one_large_box(self, name):
        X, y = data(name)
        bounds = np.stack([X.min(axis=0), X.max(axis=0) + 9])
        large = GridFeatures(bounds=bounds)
        expected = clone(MODELS[name][1]).set_params(feature_map=large).fit(X, y)
        expected.partial_fit(X + 9, y)
        model = widened(clone(MODELS[name][1]).fit(X, y), X + 9, y)
        assert_same_answers(model, expected, np.concatenate([X, X + 9]), WIDEN_TOL)

    def test_a_warning_that_is_an_error_leaves_the_model_whole(self):
        model = DMKDE(**PLAN).fit(ROWS[:, :1])
        with unchanged(model), pytest.raises(UserWarning, match="widened"):
            model.partial_fit(ROWS[:, :1] + 50)

    @pytest.mark.parametrize("decay", [None, 0.5])
    def test_too_large_a_grid(self, decay):
        model = DMKDE(**PLAN).fit(ROWS[:, :2])
        text = r"needs [\d,]+ modes for gamma=0.9.*max_modes=4,194,304.*LandmarkFeat"
        with unchanged(model), pytest.raises(ValueError, match=text):
            model.partial_fit(ROWS[:, :2] + 1e5, decay=decay)
        assert_near_exact(model, ROWS[:, :2])

    def test_no_room_to_spare_where_the_grid_would_be_too_large(self):
        X = np.append(ROWS[:, :1], [[50.0]], axis=0)
        most = GridFeatures(gamma=0.9).fit(X).spectrum_.size
        grid = GridFeatures(max_modes=most)
        model = widened(
            DMKDE(gamma=0.9, scale=None, feature_map=grid).fit(X[:-1]), X[-1:]
        )
        assert model.feature_map_.high_ == [50.0]
        assert_near_exact(model, X)


class TestRefusing:
    GRID = GridFeatures(outside="refuse")

    @pytest.mark.parametrize("d", [1, 2])
    def test_rows_outside(self, d):
        model = DMKDE(gamma=0.9, scale=None, feature_map=self.GRID).fit(ROWS[:, :d])
        text = r"^60 of 60 rows lie outside the box .* column 0 is .*bounds="
        with unchanged(model), pytest.raises(ValueError, match=text):
            model.partial_fit(ROWS[:, :d] + 50)

    def test_given_bounds(self):
        grid = GridFeatures(outside="refuse", bounds=[[-9.0], [9.0]])
        model = DMKDE(gamma=0.9, scale=None, feature_map=grid).fit(ROWS[:, :1])
        model.partial_fit([[9.0], [-9.0]])
        with unchanged(model), pytest.raises(ValueError, match=r"1 of 2 .* \[-9, 9\]"):
            model.partial_fit([[0.0], [9.001]])

    def test_models_with_other_boxes(self):
        model, other = (
            DMKDE(gamma=0.9, scale=None, feature_map=self.GRID).fit(ROWS[:, :1] + shift)
            for shift in (0, 1)
        )
        with unchanged(model), pytest.raises(ValueError, match="differ in scaling"):
            model.merge(other)

    @pytest.mark.parametrize("outside", ["widen", "refuse"])
    def test_unlearning_rows_outside(self, outside):
        grid = GridFeatures(outside=outside)
        model = DMKDE(gamma=0.9, scale=None, feature_map=grid).fit(ROWS[:, :2])
        with unchanged(model), pytest.raises(ValueError, match="outside the box"):
            model.unlearn(ROWS[:3, :2] + 50)


class TestBoxesThatDiffer:
    """Models of the same plan, each with the box of its own rows."""

    def parts(self, name, shift):
        model = MODELS[name][1]
        pairs = [data(name), data(name, NEW, shift)]
        return [(clone(model).fit(*pair), *pair) for pair in pairs]

    @pytest.mark.parametrize("shift", [0.5, 8.0, -30.0])
    @pytest.mark.parametrize("name", BOXED)
    @pytest.mark.parametrize("turned", [False, True])
    def test_merged_is_the_density_of_both(self, name, shift, turned):
        (one, X, _), (two, Z, _) = self.parts(name, shift)[:: -1 if turned else 1]
        with unchanged(two):
            one.merge(two)
        low, high = one.feature_map_.low_, one.feature_map_.high_
        both = np.concatenate([X, Z])
        assert_array_equal([low, high], [both.min(axis=0), both.max(axis=0)])
        assert_near_exact(one, both)

    @pytest.mark.parametrize("name", ["classes", "rejecting", "values"])
    def test_merged_either_way_says_the_same(self, name):
        (one, X, y), (two, Z, t) = self.parts(name, 5.0)
        left, right = one.blank().merge(one, two), two.blank().merge(two, one)
        both = np.concatenate([X, Z])
        whole = clone(MODELS[name][1]).fit(both, np.concatenate([y, t]))
        assert_same_answers(left, right, both, 1e-8)
        assert_same_answers(left, whole, both, WIDEN_TOL)

    @pytest.mark.parametrize("name", BOXED)
    def test_unmerged_is_as_before(self, name):
        (one, X, _), (two, _, _) = self.parts(name, 8.0)
        one.merge(two)
        with unchanged(two):
            one.unmerge(two)
        assert one.state_.weight == N_ROWS
        assert_near_exact(one, X)

    def test_a_common_box_that_is_too_large(self):
        one, two = (DMKDE(**PLAN).fit(ROWS[:, :2] + shift) for shift in (0, 1e5))
        refused = pytest.raises(ValueError, match=r"needs [\d,]+ modes.*max_modes=")
        with unchanged(one), unchanged(two), refused:
            one.merge(two)


class TestOutcomes:
    """Classes and values over a grid against those over the dense matrix."""

    def pair(self, model, X, y):
        dense = clone(model).set_params(feature_map="quadrature")
        return clone(model).set_params(feature_map="grid").fit(X, y), dense.fit(X, y)

    @pytest.mark.parametrize(
        "model",
        [
            DMKDClassifier(gamma=0.9, scale=None),
            DMKDClassifier(gamma=0.9, scale=None, priors="uniform", reject=0.1),
            DMKDClassifier(gamma="scott", scale="whiten"),
            QMRegressor(gamma=0.9, scale=None, n_levels=5, beta=4.0),
            QMRegressor(gamma=0.9, scale=None, n_levels=9, beta=20.0, calibration=None),
            QMRegressor(gamma="median"),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("d", [1, 2])
    def test_same_as_the_dense_matrix(self, model, d):
        X = ROWS[:, :d]
        y = LABELS if isinstance(model, DMKDClassifier) else X.sum(axis=1)
        grid, dense = self.pair(model.set_params(random_state=0), X, y)
        assert isinstance(grid.feature_map_, GridFeatures)
        assert isinstance(dense.feature_map_, QuadratureFeatures)
        assert grid.gamma_ == dense.gamma_
        assert_same_answers(grid, dense, X, 1e-8)

    @pytest.mark.parametrize("priors", ["empirical", "uniform", [0.7, 0.1, 0.2]])
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_far_from_all_rows_classes_have_their_priors(self, d, priors):
        y = np.repeat([0, 1, 2], [30, 20, 10])
        grid = GridFeatures(tol=1e-4)
        model = DMKDClassifier(gamma=0.9, scale=None, feature_map=grid, priors=priors)
        model.fit(ROWS[:, :d], y)
        shares = {"empirical": [3 / 6, 2 / 6, 1 / 6], "uniform": [1 / 3] * 3}
        expected = priors if isinstance(priors, list) else shares[priors]
        for far in (20.0, -1e3, 1e200):
            chances = model.predict_proba(np.full((1, d), far))
            assert_allclose(chances, [expected], rtol=1e-12)

    @pytest.mark.parametrize("calibration", ["loo", None])
    @pytest.mark.parametrize("d", [1, 2])
    def test_far_from_all_rows_values_are_within_their_range(self, d, calibration):
        model = QMRegressor(**PLAN, **LEVELS | {"bounds": None})
        model.set_params(calibration=calibration).fit(ROWS[:, :d], 2 * ROWS[:, 0])
        far = np.outer([7.0, 20.0, -1e3, 1e200], np.ones(d))
        mean, std = model.predict(far, return_std=True)
        low, high = 2 * ROWS[:, 0].min(), 2 * ROWS[:, 0].max()
        assert ((mean >= low) & (mean <= high)).all()
        assert np.isfinite(std).all()
        weight = model.state_.weight / model.state_.weight.sum()
        spread = model.predict_distribution(far[1:])
        assert_allclose(spread, np.tile(weight, (3, 1)), rtol=1e-9)
        assert_allclose(mean[1:], weight @ model.levels_, rtol=1e-9)
        assert np.isfinite(model.predict_interval(far)).all()
        assert (np.diff(model.predict_interval(far), axis=1) >= 0).all()

    @pytest.mark.parametrize("d", [1, 2])
    def test_between_groups_the_noise_is_no_knowledge(self, d):
        """Inside the box, where all that is measured is rounding."""
        X = np.concatenate([ROWS[:30, :d], ROWS[30:, :d] + 60])
        between = np.linspace(20, 40, 41)[:, None] * np.ones(d)
        classes = DMKDClassifier(**PLAN).fit(X, LABELS)
        chances = classes.predict_proba(between)
        assert_allclose(chances, np.full((41, 3), 1 / 3), rtol=1e-12)
        values = QMRegressor(**PLAN, **LEVELS).fit(X, 2 * ROWS[:, 0])
        weight = values.state_.weight / values.state_.weight.sum()
        expected = np.full(41, weight @ values.levels_)
        assert_allclose(values.predict(between), expected, rtol=1e-9)
        assert_array_equal(classes.score_samples(between), -np.inf)


class TestNames:
    @pytest.mark.parametrize("rank", [3, 0.5, "elbow"])
    @pytest.mark.parametrize("feature_map", ["grid", GridFeatures()], ids=str)
    def test_a_rank_needs_a_matrix(self, rank, feature_map):
        model = DMKDE(gamma=0.9, scale=None, feature_map=feature_map, rank=rank)
        text = r"'feature_map'.*rank.*'quadrature'.*Got .*[gG]rid"
        with pytest.raises(ValueError, match=text):
            model.fit(ROWS[:, :1])

    def test_a_rank_set_later(self):
        model = DMKDE(**PLAN).fit(ROWS[:, :1]).set_params(rank=3)
        with pytest.raises(ValueError, match=r"'rank' parameter of DMKDE .*Got 3"):
            model.density(ROWS[:, :1])
        assert_near_exact(model.set_params(rank=None), ROWS[:, :1])

    def test_auto_with_a_rank_takes_a_matrix(self):
        model = DMKDE(gamma=0.9, scale=None, rank=3).fit(ROWS[:, :1])
        assert isinstance(model.feature_map_, QuadratureFeatures)

    @pytest.mark.parametrize("feature_map", ["grid", GridFeatures()], ids=str)
    @pytest.mark.parametrize("name", NEED_A_MATRIX)
    def test_models_that_need_a_matrix(self, name, feature_map):
        model = getattr(rhokit, name)(gamma=0.9, feature_map=feature_map)
        text = r"'feature_map' parameter must not be a grid.*take 'quadrature'"
        with pytest.raises(ValueError, match=text):
            model.fit(ROWS[:, :1], LABELS)

    @pytest.mark.parametrize("name", ["1-D", "2-D"])
    def test_trained_models_start_from_a_grid(self, name):
        model, queries = learned(name), queries_about(data(name)[0])
        expected = model.density(queries)
        found = np.exp(rhokit.DMKDESGD.from_estimator(model).score_samples(queries))
        assert_allclose(found, expected, rtol=0, atol=1e-8 * expected.max())
