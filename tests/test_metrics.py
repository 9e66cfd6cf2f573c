"""Maximum mean discrepancy: the double sum over pairs, and what chance makes of it."""

import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from rhokit import (
    DMKDE,
    DMKDESGD,
    DMKDClassifier,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    QMRegressor,
)
from rhokit.core.information import hilbert_schmidt_distance
from rhokit.metrics import Discrepancy, class_discrepancies, maximum_mean_discrepancy
from rhokit.models import Model
from rhokit.readouts import DensityReadOut

GAMMA = 0.6


def by_pairs(x, y, gamma=GAMMA, x_weight=None, y_weight=None):
    """The definition, written out over all pairs of rows."""
    p = np.full(len(x), 1 / len(x)) if x_weight is None else x_weight / x_weight.sum()
    q = np.full(len(y), 1 / len(y)) if y_weight is None else y_weight / y_weight.sum()

    def mean(rows, others, left, right):
        return left @ np.exp(-gamma * cdist(rows, others, "sqeuclidean")) @ right

    return math.sqrt(mean(x, x, p, p) - 2 * mean(x, y, p, q) + mean(y, y, q, q))


def two_samples(d, seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, d)), rng.normal(shift, 1, size=(40, d))


def fitted_pair(model, x, y, **options):
    """Models of two data sets with one plan, whose landmarks may be all rows."""
    plan = model.prepare(np.concatenate([x, y]))
    return plan.blank().partial_fit(x, **options), plan.blank().partial_fit(y)


MAPS = {
    "grid": GridFeatures(tol=1e-12),
    "landmarks that are all rows": LandmarkFeatures(n_components=100),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_is_the_double_sum_over_pairs(name, d):
    x, y = two_samples(d)
    a, b = fitted_pair(
        DMKDE(gamma=GAMMA, scale=None, feature_map=MAPS[name], random_state=0), x, y
    )
    assert_allclose(maximum_mean_discrepancy(a, b).value, by_pairs(x, y), rtol=1e-5)


def test_the_mean_of_features_has_the_same_discrepancy():
    x, y = two_samples(3)
    model = MeanEmbeddingKDE(gamma=GAMMA, scale=None, n_components=100, random_state=0)
    a, b = fitted_pair(model, x, y)
    assert_allclose(maximum_mean_discrepancy(a, b).value, by_pairs(x, y), rtol=1e-5)


def test_weights_count_as_copies():
    x, y = two_samples(2)
    weight = np.random.default_rng(1).integers(1, 5, len(x)).astype(float)
    model = DMKDE(gamma=GAMMA, scale=None, feature_map=GridFeatures(tol=1e-12))
    a, b = fitted_pair(model, x, y, sample_weight=weight)
    expected = by_pairs(x, y, x_weight=weight)
    assert_allclose(maximum_mean_discrepancy(a, b).value, expected, rtol=1e-6)


def test_scaled_columns_are_compared_in_scaled_units():
    x, y = two_samples(2)
    unit = np.array([1000.0, 0.01])
    model = DMKDE(gamma=GAMMA, scale=unit)
    a, b = fitted_pair(model, x * unit, y * unit)
    assert_allclose(maximum_mean_discrepancy(a, b).value, by_pairs(x, y), rtol=1e-4)


@pytest.mark.parametrize("d", [1, 2])
def test_a_grid_needs_no_matrix(d):
    x, y = two_samples(d)
    a, b = fitted_pair(DMKDE(gamma=GAMMA, scale=None), x, y)
    distance = hilbert_schmidt_distance(a.density_matrix_, b.density_matrix_)
    assert_allclose(maximum_mean_discrepancy(a, b).value, distance[0], rtol=1e-6)


def test_boxes_of_grids_need_not_be_the_same():
    x, y = two_samples(1, shift=8.0)
    a = DMKDE(gamma=GAMMA, scale=None).fit(x)
    with pytest.warns(UserWarning, match="outside the box"):
        b = a.blank().partial_fit(y)
    before = a.feature_map_, a.state_
    for one, other in [(a, b), (b, a)]:
        found = maximum_mean_discrepancy(one, other)
        assert_allclose(found.value, by_pairs(x, y), rtol=1e-5)
    assert (a.feature_map_, a.state_) == before  # comparing changes no model


MODELS = {
    "grid": DMKDE(gamma=GAMMA, scale=None),
    "landmarks": DMKDE(
        gamma=GAMMA, scale=None, n_components=32, feature_map="landmarks"
    ),
    "random features": DMKDE(
        gamma=GAMMA, scale=None, n_components=32, feature_map="fourier"
    ),
    "mean": MeanEmbeddingKDE(gamma=GAMMA, scale=None, n_components=32),
}


@pytest.mark.parametrize("name", MODELS)
@given(seeds=st.lists(st.integers(0, 50), min_size=3, max_size=3, unique=True))
def test_it_is_a_distance(name, seeds):
    rng = np.random.default_rng(seeds[0])
    plan = copy(MODELS[name]).set_params(random_state=0)
    plan.prepare(np.array([[-4.0, -4.0], [4.0, 4.0], *rng.normal(size=(40, 2))]))
    a, b, c = (
        plan.blank().partial_fit(np.random.default_rng(s).uniform(-3, 3, (9, 2)))
        for s in seeds
    )
    ab, bc, ac = (
        maximum_mean_discrepancy(*pair).value for pair in [(a, b), (b, c), (a, c)]
    )
    assert maximum_mean_discrepancy(a, a).value == 0
    assert_allclose(maximum_mean_discrepancy(b, a).value, ab, rtol=1e-12)
    assert 0 < ac <= ab + bc + 1e-12


@pytest.mark.parametrize(
    ("model", "slack"),
    [
        pytest.param(DMKDE(gamma=GAMMA, scale=None), 0.05, id="grid"),
        # The mean of ‖φ‖⁴ is taken to be that of ‖φ‖²: too large, never too small.
        pytest.param(
            DMKDE(gamma=GAMMA, scale=None, n_components=64, feature_map="landmarks"),
            0.05,
            id="landmarks",
        ),
    ],
)
def test_chance_is_what_two_samples_of_one_distribution_give(model, slack):
    rng = np.random.default_rng(0)
    plan = model.set_params(random_state=0)
    plan.prepare(np.concatenate([rng.normal(size=(500, 2)), [[-6, -6], [6, 6]]]))
    found = [
        maximum_mean_discrepancy(
            *(plan.blank().partial_fit(rng.normal(size=(n, 2))) for n in (50, 120))
        )
        for _ in range(150)
    ]
    ratios = np.array([each.ratio for each in found])
    assert_allclose(np.mean(ratios**2), 1, atol=0.08)
    assert_allclose(
        [each.chance for each in found],
        np.mean([each.chance for each in found]),
        rtol=0.1,
    )
    # The bound on how likely a ratio is holds, beyond where it is one.
    for limit in (1.3, 1.5, 2.0):
        assert np.mean(ratios > limit) <= chi2(1).sf(limit**2) + slack
    assert np.mean(ratios > 2) == 0  # far from the worst case


def test_chance_is_not_too_small_where_landmarks_do_not_reach():
    rng = np.random.default_rng(0)
    model = DMKDE(
        gamma=20.0, scale=None, n_components=16, feature_map="landmarks", random_state=0
    )
    plan = model.fit(rng.normal(size=(500, 2)))
    assert plan.reach(rng.normal(size=(200, 2))).mean() < 0.5
    ratios = [
        maximum_mean_discrepancy(
            *(plan.blank().partial_fit(rng.normal(size=(80, 2))) for _ in range(2))
        ).ratio
        for _ in range(60)
    ]
    assert 0.3 < np.mean(np.square(ratios)) < 1


def test_a_change_is_far_above_chance():
    x, y = two_samples(2, shift=1.5)
    a, b = fitted_pair(DMKDE(gamma=GAMMA, scale=None), x, y)
    found = maximum_mean_discrepancy(a, b)
    assert found.ratio > 2
    assert_allclose(found.ratio, found.value / found.chance)
    assert_allclose(found.p_value, chi2(1).sf(found.ratio**2))


def autoregressive(n, rho, rng):
    """Normal numbers (n, 1), each of which has this correlation with the last one."""
    noise = math.sqrt(1 - rho**2) * rng.normal(size=n + 500)
    return lfilter([1.0], [1.0, -rho], noise)[500:, None]


class TestDependentRows:
    """Chance is that of independent rows: docs/promises.md says what others do."""

    @staticmethod
    def alarms(rho, every=1, runs=60):
        """How often p is below .05 though nothing has changed."""
        rng = np.random.default_rng(0)
        plan = DMKDE(gamma=1.0, scale=None).prepare([[-6.0], [6.0]])
        found = 0
        for _ in range(runs):
            rows = [autoregressive(500, rho, rng)[::every] for _ in range(2)]
            pair = [plan.blank().partial_fit(each) for each in rows]
            found += maximum_mean_discrepancy(*pair).p_value < 0.05
        return found / runs

    def test_raise_false_alarms(self):
        assert self.alarms(0.0) <= 0.05
        assert 0.05 < self.alarms(0.5) < 0.3
        assert 0.4 < self.alarms(0.9) < 0.9
        assert self.alarms(0.99) > 0.9

    @pytest.mark.parametrize(("rho", "every"), [(0.5, 6), (0.9, 30)])
    def test_raise_none_once_thinned(self, rho, every):
        assert self.alarms(rho, every) <= 0.05


def classes_of(x, y):
    """Rows of two classes: left ones and right ones."""
    return [np.where(rows[:, 0] < 0, "left", "right") for rows in (x, y)]


@pytest.mark.parametrize("feature_map", ["landmarks", "grid", "fourier"])
def test_classifiers_compare_all_rows_and_each_class(feature_map):
    x, y = two_samples(2)
    options = {
        "gamma": GAMMA,
        "scale": None,
        "feature_map": feature_map,
        "random_state": 0,
    }
    plan = DMKDClassifier(**options, n_components=100)
    both = np.concatenate([x, y])
    plan.prepare(both, np.concatenate(classes_of(x, y)))
    labels = classes_of(x, y)
    a, b = (
        plan.blank().partial_fit(x, labels[0]),
        plan.blank().partial_fit(y, labels[1]),
    )
    alone = replace(plan.plan_, compares_outcomes=False)
    rows = DMKDE().with_model(Model(alone, DensityReadOut()))
    whole = [rows.blank().partial_fit(part) for part in (x, y)]
    found, expected = maximum_mean_discrepancy(a, b), maximum_mean_discrepancy(*whole)
    assert_allclose(found.value, expected.value, rtol=1e-8)
    assert_allclose(found.chance, expected.chance, rtol=1e-8)
    for label, each in class_discrepancies(a, b).items():
        left, right = (
            rows.blank().partial_fit(part[names == label])
            for part, names in zip((x, y), labels, strict=True)
        )
        assert_allclose(
            each.value, maximum_mean_discrepancy(left, right).value, rtol=1e-8
        )


def test_classes_that_one_model_lacks_are_left_out():
    x, y = two_samples(2)
    left, right = classes_of(x, y)
    plan = DMKDClassifier(
        gamma=GAMMA, scale=None, n_components=32, random_state=0
    ).prepare(x, left)
    a = plan.blank().partial_fit(x, left)
    other = np.where(right == "left", "new", right)
    b = plan.blank().partial_fit(y, other)
    assert list(class_discrepancies(a, b)) == ["right"]
    assert maximum_mean_discrepancy(a, b).value > 0


@pytest.mark.parametrize("n_targets", [1, 2])
def test_regressors_compare_all_rows_whatever_their_targets(n_targets):
    x, y = two_samples(2)
    both = np.concatenate([x, y])
    targets = both[:, :n_targets] if n_targets > 1 else both[:, 0]
    plan = QMRegressor(
        gamma=GAMMA,
        scale=None,
        feature_map=GridFeatures(tol=1e-12),
        n_levels=6,
        beta=20.0,
        calibration=None,
    ).prepare(both, targets)
    a = plan.blank().partial_fit(x, targets[:60])
    b = plan.blank().partial_fit(y, targets[60:])
    found = maximum_mean_discrepancy(a, b)
    assert_allclose(found.value, by_pairs(x, y), rtol=1e-5)
    rows = fitted_pair(
        DMKDE(gamma=GAMMA, scale=None, feature_map=GridFeatures(tol=1e-12)), x, y
    )
    assert_allclose(found.chance, maximum_mean_discrepancy(*rows).chance, rtol=1e-5)


def test_factors_are_compared_like_the_sums_they_stand_for():
    x, y = two_samples(2)
    plan = DMKDClassifier(
        gamma=GAMMA, scale=None, feature_map="landmarks", n_components=32
    )
    both = np.concatenate([x, y])
    plan.set_params(random_state=0).prepare(both, np.concatenate(classes_of(x, y)))
    labels = classes_of(x, y)
    a, b = (
        plan.blank().partial_fit(x, labels[0]),
        plan.blank().partial_fit(y, labels[1]),
    )
    small = a.compact(), b.compact()
    expected = maximum_mean_discrepancy(a, b)
    assert_allclose(maximum_mean_discrepancy(*small).value, expected.value, rtol=1e-6)
    for label, each in class_discrepancies(*small).items():
        assert_allclose(each.value, class_discrepancies(a, b)[label].value, rtol=1e-6)


def test_models_of_other_plans_are_refused_with_a_way_out():
    x, y = two_samples(3)
    a, b = (DMKDE(n_components=32, random_state=0).fit(rows) for rows in (x, y))
    with pytest.raises(ValueError, match=r"a\.blank\(\)\.partial_fit.*fit --like"):
        maximum_mean_discrepancy(a, b)
    labels = classes_of(x, y)[0]
    classifier = DMKDClassifier(n_components=32, random_state=0).fit(x, labels)
    with pytest.raises(TypeError, match="a DMKDE and a DMKDClassifier"):
        maximum_mean_discrepancy(a, classifier)
    with pytest.raises(TypeError, match="compares classifiers, got a DMKDE"):
        class_discrepancies(a, a)
    with pytest.raises(ValueError, match="not fitted"):
        maximum_mean_discrepancy(a, a.blank())
    with pytest.raises(TypeError, match="b must be a fitted one-pass model"):
        maximum_mean_discrepancy(a, x)
    with pytest.raises(TypeError, match="one-pass"):
        maximum_mean_discrepancy(DMKDESGD(), DMKDESGD())


def test_words():
    assert str(Discrepancy(0.5, 0.25, 2.0)) == (
        "0.5, 2 times as large as by chance (0.25; p < 0.046)"
    )
    assert "p < 1e-99" in str(Discrepancy(1.0, 0.01, 100.0))
    assert str(Discrepancy(0.2, 0.2, 1.0)) == "0.2, 1 times as large as by chance (0.2)"


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_the_p_value_bounds_every_even_mixture(n):
    for ratio in np.linspace(0.1, 4, 40):
        bound = Discrepancy(ratio, 1.0, ratio).p_value
        assert chi2(n).sf(n * ratio**2) <= bound * (1 + 1e-9)
    # And no more than it must: two numbers reach it where it begins to hold.
    assert_allclose(
        Discrepancy(1.24, 1.0, 1.24).p_value, chi2(2).sf(2 * 1.24**2), rtol=0.01
    )
