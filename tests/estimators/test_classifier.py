"""DMKDClassifier against its definition, and the laws that every state obeys."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDClassifier,
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QMClassifier,
    QuadratureFeatures,
)
from rhokit.testing.refusals import assert_refused
from tests.estimators.support import with_sample_of
from tests.reference.outcome_oracles import (
    dmkdc_joint,
    dmkdc_posterior,
    left_out_densities,
)

NAMES = np.array(["ant", "bee", "cat"])
CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
QUERIES = np.random.default_rng(9).normal(size=(42, 2)) + np.tile(CENTRES, (14, 1))
FAR = np.outer(10.0 ** np.arange(1, 7), [1.0, -2.0])


def blobs(n, seed=0, shares=(0.5, 0.3, 0.2)):
    """Three classes of unit width around their centres, named in letters."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, n, p=shares)
    codes[:3] = [0, 1, 2]
    return CENTRES[codes] + rng.normal(size=(n, 2)), NAMES[codes]


def small(**parameters):
    """A classifier with the paper's map that is quick to fit."""
    shared = {
        "gamma": 0.7,
        "scale": None,
        "feature_map": "fourier",
        "n_components": 24,
        "random_state": 0,
    }
    return DMKDClassifier(**{**shared, **parameters})


@pytest.fixture
def rows():
    return blobs(80)[0]


@pytest.fixture
def labels():
    return blobs(80)[1]


def states_of(model, rows):
    """States of rows in the user's units."""
    return model.feature_map_.transform(model.scaling_.apply(rows))


class TestDefinition:
    MAPS: ClassVar = [
        "fourier",
        "landmarks",
        FourierFeatures(n_components=32),
        FourierFeatures(n_components=32, form="complex"),
        FourierFeatures(n_components=32, form="pair", sampling="orthogonal"),
        LandmarkFeatures(n_components=24, normalize=True),
        LandmarkFeatures(n_components=24),
        QuadratureFeatures(tol=1e-3),
    ]

    @pytest.mark.parametrize("priors", ["empirical", "uniform", [1.0, 2.0, 5.0]])
    @pytest.mark.parametrize("feature_map", MAPS, ids=repr)
    def test_probabilities_are_the_definition(self, rows, labels, feature_map, priors):
        model = small(gamma=1.5, feature_map=feature_map, priors=priors)
        model.fit(rows, labels)
        expected = dmkdc_posterior(
            states_of(model, rows), labels, states_of(model, QUERIES), priors=priors
        )
        assert_array_equal(model.classes_, NAMES)
        assert_allclose(model.predict_proba(QUERIES), expected, rtol=0, atol=1e-10)
        assert_array_equal(model.predict(QUERIES), NAMES[expected.argmax(axis=1)])

    @pytest.mark.parametrize("feature_map", MAPS, ids=repr)
    def test_single_precision(self, rows, labels, feature_map):
        model = small(gamma=1.5, feature_map=feature_map, dtype="float32")
        model.fit(rows, labels)
        expected = dmkdc_posterior(
            states_of(model, rows).astype(complex),
            labels,
            states_of(model, QUERIES).astype(complex),
        )
        assert_allclose(model.predict_proba(QUERIES), expected, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("scale", ["std", "common", "within", "whiten", "robust"])
    def test_scaling_is_part_of_the_model(self, rows, labels, scale):
        model = small(scale=scale).fit(rows * [1.0, 100.0], labels)
        expected = dmkdc_posterior(
            states_of(model, rows * [1.0, 100.0]),
            labels,
            states_of(model, QUERIES * [1.0, 100.0]),
        )
        assert_allclose(
            model.predict_proba(QUERIES * [1.0, 100.0]), expected, atol=1e-10
        )

    def test_rank_truncates_each_class(self, rows, labels):
        model = small(rank=5).fit(rows, labels)
        expected = dmkdc_posterior(
            states_of(model, rows), labels, states_of(model, QUERIES), rank=5
        )
        assert_allclose(model.predict_proba(QUERIES), expected, atol=1e-10)

    def test_weights_are_those_of_the_definition(self, rows, labels):
        weights = np.random.default_rng(3).random(80)
        model = small().fit(rows, labels, sample_weight=weights)
        expected = dmkdc_posterior(
            states_of(model, rows), labels, states_of(model, QUERIES), weights=weights
        )
        assert_allclose(model.predict_proba(QUERIES), expected, atol=1e-10)
        assert_allclose(model.class_count_, [weights[labels == k].sum() for k in NAMES])

    @pytest.mark.parametrize("scale", [None, np.array([0.5, 3.0])], ids=str)
    @pytest.mark.parametrize("priors", ["empirical", "uniform"])
    def test_density_is_that_of_the_mixture(self, rows, labels, priors, scale):
        model = small(priors=priors, scale=scale).fit(rows, labels)
        joint = dmkdc_joint(
            states_of(model, rows), labels, states_of(model, QUERIES), priors=priors
        )
        volume = 1.0 if scale is None else scale.prod()
        expected = np.log(joint.sum(axis=1) / (np.pi / 0.7) / volume)
        assert_allclose(model.score_samples(QUERIES), expected, rtol=1e-10)

    def test_density_falls_with_what_landmarks_cover(self, rows, labels):
        """States are normalised to be summed up, but not to be measured."""
        model = small(feature_map="landmarks").fit(rows, labels)
        bare = LandmarkFeatures(gamma=0.7, landmarks=model.feature_map_.landmarks_)
        joint = dmkdc_joint(
            states_of(model, rows), labels, bare.fit(rows).transform(QUERIES)
        )
        own = states_of(model, rows)
        mass = np.vecdot(own @ bare.mass_matrix(), own).mean()
        expected = joint.sum(axis=1) / (np.pi / 0.7) / mass
        assert_allclose(np.exp(model.score_samples(QUERIES)), expected, atol=1e-10)
        assert np.all(np.diff(model.score_samples(FAR)) < 0)

    def test_categories_give_relative_frequencies(self):
        colours = np.array([["red"], ["red"], ["blue"], ["red"], ["blue"]])
        sizes = ["big", "big", "big", "small", "small"]
        model = DMKDClassifier(feature_map=OneHotFeatures()).fit(colours, sizes)
        assert_allclose(
            model.predict_proba([["red"], ["blue"], ["green"]]),
            [[2 / 3, 1 / 3], [1 / 2, 1 / 2], [3 / 5, 2 / 5]],
            atol=1e-12,
        )

    @pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
    def test_default_choices_tell_blobs_apart(self, feature_map):
        model = DMKDClassifier(
            feature_map=feature_map, n_components=64, random_state=0
        ).fit(*blobs(200))
        assert model.score(*blobs(200, seed=1)) > 0.85


class TestOutputs:
    def test_binary_decisions_are_log_odds(self, rows, labels):
        model = small().fit(rows, labels == "ant")
        odds = model.decision_function(QUERIES)
        chances = model.predict_proba(QUERIES)
        assert odds.shape == (42,)
        assert_allclose(odds, np.log(chances[:, 1] / chances[:, 0]), rtol=1e-8)
        assert_array_equal(model.predict(QUERIES), odds > 0)

    def test_decisions_of_several_classes_are_log_probabilities(self, rows, labels):
        model = small().fit(rows, labels)
        logs = model.decision_function(QUERIES)
        assert logs.shape == (42, 3)
        assert_array_equal(logs, model.predict_log_proba(QUERIES))
        assert_array_equal(model.predict(QUERIES), NAMES[logs.argmax(axis=1)])

    def test_log_probabilities_are_their_logarithms(self, rows, labels):
        model = small().fit(rows, labels)
        chances = model.predict_proba(QUERIES)
        assert_allclose(model.predict_log_proba(QUERIES), np.log(chances))
        assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier", "quadrature"])
    def test_far_rows_have_sensible_probabilities(
        self, rows, labels, feature_map, dtype
    ):
        if feature_map == "quadrature":
            feature_map = QuadratureFeatures(tol=1e-3)
        model = small(feature_map=feature_map, dtype=dtype).fit(rows, labels)
        chances = model.predict_proba(FAR)
        assert np.isfinite(chances).all()
        assert (chances >= 0).all()
        assert_allclose(chances.sum(axis=1), 1, rtol=1e-6)
        assert_array_equal(model.predict(FAR), NAMES[chances.argmax(axis=1)])

    def test_far_rows_belong_to_the_nearest_class(self, rows, labels):
        model = small(feature_map="landmarks", n_components=128).fit(rows, labels)
        directions = np.array([[-1.0, -1.0], [1.0, -0.3], [-0.3, 1.0]])
        assert_array_equal(model.predict(50 * directions), NAMES)

    def test_where_nothing_is_measured_the_priors_remain(self, rows, labels):
        grid = QuadratureFeatures(tol=1e-3)
        model = small(feature_map=grid, priors=[0.1, 0.7, 0.2]).fit(rows, labels)
        outside = [[1e3, 1e3]]
        assert_allclose(model.predict_proba(outside), [[0.1, 0.7, 0.2]])
        assert_array_equal(model.predict(outside), ["bee"])
        assert_array_equal(model.score_samples(outside), [-np.inf])

    @pytest.mark.parametrize(
        "names",
        [
            np.array([3, 5, 9]),
            np.array([-1.0, 0.0, 2.0]),
            np.array(["x", "longer", "y"], dtype=object),
        ],
        ids=lambda names: str(names.dtype),
    )
    def test_any_labels(self, rows, labels, names):
        codes = np.searchsorted(NAMES, labels)
        plain, other = small().fit(rows, codes), small().fit(rows, names[codes])
        assert_array_equal(other.classes_, np.sort(names))
        assert_array_equal(other.predict(rows), names[plain.predict(rows)])
        assert_allclose(
            other.predict_proba(rows)[:, np.searchsorted(other.classes_, names)],
            plain.predict_proba(rows),
            atol=1e-12,
        )

    def test_truth_values_as_labels(self, rows, labels):
        model = small().fit(rows, labels == "bee")
        assert model.classes_.dtype == bool
        assert model.score(rows, labels == "bee") > 0.8


# ---- laws ----------------------------------------------------------------------------

MODELS = {
    "fourier": small(),
    "complex": small(feature_map=FourierFeatures(n_components=16, form="complex")),
    "landmarks": small(feature_map="landmarks", n_components=12),
    "scaled": small(gamma="scott", feature_map="landmarks", scale="within"),
    "uniform": small(priors="uniform", rank=6),
    "rejecting": small(reject=0.1),
    "joint": QMClassifier(
        gamma=0.7,
        scale=None,
        feature_map="fourier",
        n_components=16,
        output_map="softmax",
    ).set_params(random_state=0),
}

splits = st.lists(st.integers(1, 12), min_size=1, max_size=5)
seeds = st.integers(0, 2**31)


def assert_same_model(left, right, rtol=1e-12):
    """Equal labels, and sums equal relative to their largest entry."""
    assert_array_equal(left.classes_, right.classes_)
    scale = np.abs(right.state_.total).max()
    assert_allclose(left.state_.total, right.state_.total, rtol=0, atol=rtol * scale)
    assert_allclose(left.state_.weight, right.state_.weight, rtol=rtol)


def assert_same_sample(left, right):
    """Equal rows to learn a threshold from, with equal labels and weights."""
    assert_array_equal(left.keys, right.keys)
    assert_array_equal(left.rows, right.rows)
    assert_array_equal(left.target, right.target)
    assert_allclose(left.weight, right.weight, rtol=1e-12)


def prepared(name):
    return clone(MODELS[name]).prepare(*blobs(60, seed=1))


@pytest.mark.parametrize("name", MODELS)
class TestLaws:
    def test_streamed_fit_is_fit(self, name):
        rows, labels = blobs(60)
        fitted = clone(MODELS[name]).fit(rows, labels)
        streamed = clone(MODELS[name]).partial_fit(rows, labels)
        assert fitted.fingerprint() == streamed.fingerprint()
        assert_same_model(streamed, fitted)

    def test_copies_go_their_own_ways(self, name):
        """Adding to a blank copy, or to a merged one, leaves the first as it was."""
        model = clone(MODELS[name]).fit(*blobs(60))
        before = pickle.dumps(model)
        other = model.blank().partial_fit(*blobs(30, seed=2))
        other.merge(model).unlearn(*blobs(60))
        assert pickle.dumps(model) == before
        assert_same_model(other, model.blank().partial_fit(*blobs(30, seed=2)), 1e-10)


@pytest.mark.parametrize("gamma", ["loo", "scott", "silverman", "median", 0.7])
@pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
def test_whole_fit_depends_on_the_weighted_set_of_rows_alone(gamma, feature_map):
    """Scaling, γ and landmarks too: copies, weights and order must not matter."""
    rng = np.random.default_rng(0)
    rows, labels = blobs(50)
    counts = rng.integers(0, 4, 50)
    counts[:3] = 1
    copies = rng.permutation(np.repeat(np.arange(50), counts))
    model = small(gamma=gamma, feature_map=feature_map, n_components=16)
    weighted = clone(model).fit(rows, labels, sample_weight=counts)
    copied = clone(model).fit(rows[copies], labels[copies])
    assert_allclose(weighted.gamma_, copied.gamma_, rtol=1e-6)
    assert_allclose(
        weighted.predict_proba(QUERIES), copied.predict_proba(QUERIES), atol=1e-5
    )


@pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
def test_whole_fit_of_three_columns_depends_on_the_weighted_set_alone(feature_map):
    rng = np.random.default_rng(0)
    rows, labels = blobs(80)
    rows = np.column_stack([rows, rng.normal(size=80)])
    counts = rng.integers(1, 4, 80)
    copies = rng.permutation(np.repeat(np.arange(80), counts))
    model = small(gamma="loo", feature_map=feature_map, n_components=32)
    weighted = clone(model).fit(rows, labels, sample_weight=counts)
    copied = clone(model).fit(rows[copies], labels[copies])
    assert_allclose(weighted.gamma_, copied.gamma_, rtol=1e-6)
    assert_allclose(weighted.predict_proba(rows), copied.predict_proba(rows), atol=1e-5)


class TestLabelsThatComeLater:
    """Classes need not be known from the start, nor be the same everywhere."""

    def split(self):
        rows, labels = blobs(90)
        late = labels == "ant"  # its place is before the others
        return (rows[~late], labels[~late]), (rows[late], labels[late]), (rows, labels)

    def test_a_new_label_gets_a_place(self):
        early, late, everything = self.split()
        plan = small().prepare(*early)
        assert_array_equal(plan.classes_, ["bee", "cat"])
        streamed = plan.blank().partial_fit(*early).partial_fit(*late)
        reverse = plan.blank().partial_fit(*late).partial_fit(*early)
        whole = plan.blank().partial_fit(*everything)
        for model in (streamed, reverse):
            assert_same_model(model, whole)
            assert_allclose(
                model.predict_proba(QUERIES), whole.predict_proba(QUERIES), atol=1e-10
            )

    def test_merging_unites_the_labels(self):
        early, late, everything = self.split()
        plan = small().prepare(*early)
        parts = [plan.blank().partial_fit(*part) for part in (early, late)]
        before = [pickle.dumps(part) for part in parts]
        whole = plan.blank().partial_fit(*everything)
        for order in (parts, parts[::-1]):
            merged = plan.blank().merge(*order)
            assert_array_equal(merged.classes_, NAMES)
            assert_same_model(merged, whole)
        assert [pickle.dumps(part) for part in parts] == before

    def test_merging_labels_that_are_all_different(self):
        early, late, _ = self.split()
        plan = small().prepare(*early)
        bees, cats = (
            plan.blank().partial_fit(early[0][own], early[1][own])
            for own in (early[1] == "bee", early[1] == "cat")
        )
        ants = plan.blank().partial_fit(*late)
        counts = [(self.split()[2][1] == name).sum() for name in NAMES]
        assert_array_equal(cats.merge(ants, bees).class_count_, counts)

    def test_announced_labels_have_a_place_from_the_start(self):
        early, late, everything = self.split()
        model = small().partial_fit(*late, classes=NAMES)
        assert_array_equal(model.classes_, NAMES)
        assert_array_equal(model.class_count_, [len(late[0]), 0, 0])
        assert_array_equal(
            model.predict_proba(QUERIES), np.tile([1.0, 0.0, 0.0], (42, 1))
        )
        model.partial_fit(*early)
        assert_same_model(model, model.blank().partial_fit(*everything))

    @pytest.mark.parametrize("priors", ["empirical", "uniform", [1.0, 1.0, 1.0]])
    def test_a_label_without_rows_is_never_predicted(self, priors):
        early, _, _ = self.split()
        model = small(priors=priors).partial_fit(*early, classes=NAMES)
        assert_array_equal(model.predict_proba(QUERIES)[:, 0], 0)
        assert_array_equal(model.predict_log_proba(QUERIES)[:, 0], -np.inf)
        alone = small(priors="uniform" if priors != "empirical" else priors)
        alone.fit(*early)
        assert_allclose(
            model.predict_proba(QUERIES)[:, 1:],
            alone.predict_proba(QUERIES),
            atol=1e-10,
        )

    def test_rows_of_weight_zero_add_nothing(self):
        early, late, _ = self.split()
        model = small().fit(*early)
        before = model.predict_proba(QUERIES)
        weights = np.zeros(len(late[0]) + 1)
        weights[-1] = 1e-12  # not all may be zero
        model.partial_fit(
            np.concatenate([late[0], early[0][:1]]),
            np.concatenate([late[1], early[1][:1]]),
            sample_weight=weights,
        )
        assert_array_equal(model.predict_proba(QUERIES)[:, 0], 0)
        assert_allclose(model.predict_proba(QUERIES)[:, 1:], before, atol=1e-10)

    def test_forgetting_a_whole_class(self):
        early, late, everything = self.split()
        model = small().fit(*everything).unlearn(*late)
        never = model.blank().partial_fit(*early)
        assert model.class_count_[0] == 0
        assert_allclose(
            model.predict_proba(QUERIES), never.predict_proba(QUERIES), atol=1e-10
        )

    def test_classes_may_be_announced_again(self, rows, labels):
        model = small().partial_fit(rows, labels, classes=NAMES)
        model.partial_fit(rows, labels, classes=["cat", "bee", "ant", "dog"])
        assert_array_equal(model.classes_, [*NAMES, "dog"])
        assert model.class_count_.sum() == 160


def in_sample(model, rows):
    """Which rows the threshold is learned from."""
    kept = set(map(tuple, model.sample_.rows))
    return np.array([tuple(row) in kept for row in rows])


class TestReject:
    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    def test_about_the_wanted_share_is_rejected(self, feature_map):
        model = small(feature_map=feature_map, n_components=64, reject=0.1)
        rejected = [
            model.fit(*blobs(300, seed)).predict(blobs(300, seed + 50)[0]) == "unknown"
            for seed in range(6)
        ]
        assert 0.05 < np.mean(rejected) < 0.16

    def test_rows_far_from_every_class_are_unknown(self):
        model = small(feature_map="landmarks", n_components=64, reject=0.01)
        model.fit(*blobs(200))
        assert_array_equal(model.predict(FAR), "unknown")
        assert_array_equal(model.predict(CENTRES), NAMES)

    @pytest.mark.parametrize("priors", ["empirical", "uniform", [1.0, 2.0, 5.0]])
    def test_threshold_is_the_quantile_of_rows_left_out(self, priors):
        """Each row is really left out here: a model is made of all the others."""
        rows, labels = blobs(45)
        model = small(reject=0.1, priors=priors).fit(rows, labels)
        left = left_out_densities(states_of(model, rows), labels, priors)
        logs = np.log(left / (np.pi / 0.7))[in_sample(model, rows)]
        expected = np.quantile(logs, 0.1, method="inverted_cdf")
        assert_allclose(model.threshold_, expected, rtol=1e-9)

    def test_threshold_of_landmarks_is_that_of_rows_left_out(self):
        rows, labels = blobs(45)
        model = small(feature_map="landmarks", gamma=1.5, reject=0.1).fit(rows, labels)
        bare = LandmarkFeatures(gamma=1.5, landmarks=model.feature_map_.landmarks_)
        queries = bare.fit(rows).transform(rows)
        left = [
            dmkdc_joint(
                np.delete(states_of(model, rows), i, axis=0),
                np.delete(labels, i),
                queries[i : i + 1],
            ).sum()
            for i in range(45)
        ]
        own = states_of(model, rows)
        masses = np.vecdot(own @ bare.mass_matrix(), own)
        left = np.array(left) / ((masses.sum() - masses) / 44)  # without each row
        logs = np.log(left / (np.pi / 1.5))[in_sample(model, rows)]
        expected = np.quantile(logs, 0.1, method="inverted_cdf")
        assert_allclose(model.threshold_, expected, rtol=1e-7)

    def test_rejected_are_those_below_the_threshold(self, rows, labels):
        model = small(reject=0.2).fit(rows, labels)
        low = model.score_samples(QUERIES) < model.threshold_
        assert 0 < low.sum() < len(QUERIES)
        plain = small().fit(rows, labels).predict(QUERIES)
        assert_array_equal(model.predict(QUERIES), np.where(low, "unknown", plain))

    def test_probabilities_do_not_know_about_it(self, rows, labels):
        plain, rejecting = small(), small(reject=0.2)
        assert_array_equal(
            rejecting.fit(rows, labels).predict_proba(QUERIES),
            plain.fit(rows, labels).predict_proba(QUERIES),
        )
        assert plain.threshold_ is None

    def test_a_threshold_of_your_own(self, rows, labels):
        model = small(min_log_density=-4.0).fit(rows, labels)
        low = model.score_samples(QUERIES) < -4
        assert 0 < low.sum() < len(QUERIES)
        assert model.threshold_ == -4.0
        assert_array_equal(model.predict(QUERIES) == "unknown", low)
        assert model.set_params(min_log_density=None).threshold_ is None

    def test_numbers_as_labels_become_objects(self, rows, labels):
        codes = np.searchsorted(NAMES, labels)
        model = small(min_log_density=-4.0).fit(rows, codes)
        answers = model.predict(QUERIES)
        assert answers.dtype == object
        assert set(answers.tolist()) == {0, 1, 2, "unknown"}

    def test_a_number_as_the_label_of_the_rejected(self, rows, labels):
        codes = np.searchsorted(NAMES, labels)
        model = small(min_log_density=-4.0, reject_label=-1).fit(rows, codes)
        answers = model.predict(QUERIES)
        assert answers.dtype.kind == "i"
        assert set(answers.tolist()) == {-1, 0, 1, 2}

    def test_nothing_as_the_label_of_the_rejected(self, rows, labels):
        model = small(min_log_density=-4.0, reject_label=None).fit(rows, labels)
        assert set(model.predict(QUERIES).tolist()) == {None, *NAMES.tolist()}

    def test_it_must_be_set_before_the_rows_are_seen(self, rows, labels):
        model = small().fit(rows, labels).set_params(reject=0.1)
        with pytest.raises(ValueError, match=r"'reject' parameter was set after"):
            model.predict(QUERIES)

    def test_the_share_may_change_later(self, rows, labels):
        model = small(reject=0.3).fit(rows, labels)
        high = model.threshold_
        assert model.set_params(reject=0.05).threshold_ < high
        assert_allclose(
            model.threshold_, small(reject=0.05).fit(rows, labels).threshold_
        )

    @pytest.mark.parametrize("size", [20, 2000])
    def test_its_sample_does_not_depend_on_the_split(self, size):
        rows, labels = blobs(120)
        late = labels == "ant"
        plan = small(reject=0.1).prepare(rows[~late], labels[~late])
        plan = with_sample_of(size, plan)
        whole = plan.blank().partial_fit(rows, labels)
        assert 0 < len(whole.sample_.rows) <= size
        parts = [np.flatnonzero(~late), np.flatnonzero(late)[::-1]]
        streamed = plan.blank()
        for part in parts:
            streamed.partial_fit(rows[part], labels[part])
        merged = plan.blank().merge(
            *[plan.blank().partial_fit(rows[part], labels[part]) for part in parts]
        )
        for model in (streamed, merged):
            assert_same_sample(model.sample_, whole.sample_)
            assert_allclose(model.threshold_, whole.threshold_, rtol=1e-9)

    def test_its_sample_counts_copies_as_weights(self, rows, labels):
        counts = np.random.default_rng(0).integers(0, 4, 80)
        plan = small(reject=0.1).prepare(rows, labels)
        weighted = plan.blank().partial_fit(rows, labels, sample_weight=counts)
        copied = plan.blank().partial_fit(
            np.repeat(rows, counts, axis=0), np.repeat(labels, counts)
        )
        assert_same_sample(weighted.sample_, copied.sample_)
        assert_allclose(weighted.threshold_, copied.threshold_, rtol=1e-9)

    def test_forgotten_rows_leave_the_sample(self, rows, labels):
        plan = small(reject=0.1).prepare(rows, labels)
        model = plan.blank().partial_fit(rows, labels).unlearn(rows[:30], labels[:30])
        never = plan.blank().partial_fit(rows[30:], labels[30:])
        assert_same_sample(model.sample_, never.sample_)
        assert_allclose(model.threshold_, never.threshold_, rtol=1e-9)

    def test_a_blank_copy_of_a_full_model_has_an_empty_sample(self, rows, labels):
        model = small(reject=0.1).fit(rows, labels)
        fresh = small(reject=0.1).prepare(rows, labels).partial_fit(*blobs(40, seed=3))
        reused = model.blank().partial_fit(*blobs(40, seed=3))
        assert_same_sample(reused.sample_, fresh.sample_)
        assert_allclose(reused.threshold_, fresh.threshold_, rtol=1e-9)
        assert_same_sample(model.blank().merge(model).sample_, model.sample_)

    def test_threshold_follows_new_rows(self, rows, labels):
        model = small(reject=0.1).fit(rows, labels)
        first = model.threshold_
        model.partial_fit(rows[:40] + 20, labels[:40])
        assert model.threshold_ != first


class TestErrors:
    """Whatever is wrong is said clearly, and leaves the model as it was."""

    BAD: ClassVar = {
        "nan": (
            lambda X, y: (np.where(np.arange(2) == 1, np.nan, X), y),
            "column 1: .*NaN",
        ),
        "no target": (lambda X, y: (X, None), "requires y to be passed"),
        "length": (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        "values": (lambda X, y: (X, X[:, 0]), "Unknown label type"),
        "gaps": (lambda X, y: (X, np.full(len(X), np.nan)), "NaN"),
        "table": (lambda X, y: (X, np.column_stack([y, y])), "1d array"),
        "empty": (lambda X, y: (X[:0], y[:0]), "0 sample"),
        "other type": (lambda X, y: (X, np.arange(len(X)) % 2), "Mix of label input"),
    }

    @pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
    @pytest.mark.parametrize("case", BAD)
    def test_bad_data_change_nothing(self, rows, labels, method, case):
        if (method, case) == ("fit", "other type"):
            return  # a new start may have new labels
        spoil, message = self.BAD[case]
        model = small(reject=0.1).fit(rows, labels)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(*spoil(rows, labels))
        assert pickle.dumps(model) == before

    def test_one_class(self, rows, labels):
        model = small().fit(rows, labels)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"at least two classes.*'ant'"):
            model.fit(rows, np.full(80, "ant"))
        assert pickle.dumps(model) == before
        with pytest.raises(ValueError, match="at least two classes"):
            small().partial_fit(rows, np.full(80, "ant"))
        assert model.partial_fit(rows, np.full(80, "ant")).class_count_.sum() == 160

    def test_bad_weights_change_nothing(self, rows, labels):
        model = small().fit(rows, labels)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="negative"):
            model.partial_fit(rows, labels, sample_weight=np.full(80, -1.0))
        assert pickle.dumps(model) == before

    @pytest.mark.parametrize(
        "priors",
        [[0.5, 0.5], [0.5, 0.6, -0.1], [0, 0, 0], [np.nan, 1, 1], [[1, 1, 1]]],
        ids=str,
    )
    def test_bad_priors(self, rows, labels, priors):
        with pytest.raises(ValueError, match=r"'priors' parameter.*3 non-negative"):
            small(priors=priors).fit(rows, labels).predict_proba(rows)

    def test_priors_of_classes_without_rows_alone(self, rows, labels):
        seen = labels != "ant"
        model = small(priors=[1, 0, 0])
        model.partial_fit(rows[seen], labels[seen], classes=NAMES)
        with pytest.raises(ValueError, match="'priors' parameter"):
            model.predict_proba(rows)

    def test_rank_by_leave_one_out_must_be_set_before_fit(self, rows, labels):
        model = small().fit(rows, labels).set_params(rank="loo")
        with pytest.raises(ValueError, match="'rank' parameter"):
            model.predict_proba(rows)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"gamma": 0},
            {"gamma": "best"},
            {"n_components": 0},
            {"rank": 1.5},
            {"feature_map": "wavelets"},
            {"scale": "unit"},
            {"priors": "equal"},
            {"reject": 0},
            {"reject": 1.0},
            {"min_log_density": "low"},
            {"dtype": "int8"},
        ],
        ids=str,
    )
    def test_bad_parameters_are_named(self, rows, labels, parameters):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            small(**parameters).fit(rows, labels)

    def test_forgetting_labels_that_were_never_seen(self, rows, labels):
        model = small(reject=0.1).fit(rows, labels)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            model.unlearn(rows[:2], ["dog", "dog"])
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            model.unlearn(rows, np.full(80, "cat"))
        assert pickle.dumps(model) == before

    def test_merging_other_plans_and_other_models(self, rows, labels):
        model = small().fit(rows, labels)
        before = pickle.dumps(model)
        good = model.blank().partial_fit(rows, np.where(labels == "ant", "dog", labels))
        with pytest.raises(ValueError, match="differ in scaling"):
            model.merge(good, small(gamma=2.0).fit(rows, labels))
        with pytest.raises(TypeError, match="of its own class, got QMClassifier"):
            model.merge(QMClassifier(gamma=0.7, scale=None).fit(rows, labels))
        assert pickle.dumps(model) == before

    def test_equal_rows_need_a_number(self):
        rows, labels = np.ones((10, 2)), np.arange(10) % 2
        with pytest.raises(ValueError, match=r"all equal.*give gamma as a number"):
            DMKDClassifier().fit(rows, labels)
        model = DMKDClassifier(gamma=1.0, scale=None).fit(rows, labels)
        assert_allclose(model.predict_proba(rows[:1]), [[0.5, 0.5]])

    def test_not_fitted(self, rows, labels):
        for call in (
            lambda: small().predict(rows),
            lambda: small().predict_proba(rows),
            lambda: small().decision_function(rows),
            lambda: small().score_samples(rows),
            lambda: small().unlearn(rows, labels),
            lambda: small().blank(),
            lambda: small().threshold_,
            lambda: small().class_count_,
            lambda: small().prepare(rows, labels).predict(rows),
            lambda: small().fit(rows, labels).unlearn(rows, labels).predict(rows),
        ):
            with pytest.raises(NotFittedError):
                call()


class TestSurroundings:
    """scikit-learn's tools, frames, threads and pickles."""

    @pytest.mark.parametrize(
        ("convert", "convert_labels"),
        [
            (np.asfortranarray, list),
            (lambda X: pd.DataFrame(X, columns=["a", "b"]), pd.Series),
            (lambda X: pd.DataFrame(X, columns=["a", "b"]), pd.Categorical),
            (lambda X: pl.DataFrame(X, schema=["a", "b"]), pl.Series),
            (lambda X: X.tolist(), tuple),
        ],
        ids=["fortran", "pandas", "categorical", "polars", "list"],
    )
    def test_containers(self, rows, labels, convert, convert_labels):
        plain = small(reject=0.1).fit(rows, labels)
        other = small(reject=0.1).fit(convert(rows), convert_labels(labels))
        assert_array_equal(other.predict(convert(QUERIES)), plain.predict(QUERIES))
        assert_allclose(
            other.predict_proba(convert(QUERIES)),
            plain.predict_proba(QUERIES),
            atol=1e-12,
        )

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_have_names(self, rows, labels, frame):
        def named(X, names=("height", "weight")):
            return frame(dict(zip(names, X.T, strict=True)))

        model = small().fit(named(rows), labels)
        assert model.feature_names_in_.tolist() == ["height", "weight"]
        model.partial_fit(named(rows), labels).unlearn(named(rows), labels)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(named(rows, ("height", "mass")))

    def test_pipeline_that_hands_on_frames(self, rows, labels):
        scaler = StandardScaler().set_output(transform="pandas")
        frame = pd.DataFrame(rows, columns=["height", "weight"])
        pipeline = make_pipeline(scaler, small()).fit(frame, labels)
        assert pipeline[-1].feature_names_in_.tolist() == ["height", "weight"]
        assert_array_equal(pipeline.classes_, NAMES)
        assert pipeline.score(frame, labels) > 0.8

    def test_grid_search(self, rows, labels):
        model = small(feature_map="landmarks")
        search = GridSearchCV(model, {"gamma": [1e-4, 1.0, 1e4]}, cv=3)
        assert search.fit(rows, labels).best_params_["gamma"] == 1.0

    def test_cross_validation(self, rows, labels):
        scores = cross_validate(
            small(), rows, labels, cv=3, scoring=["accuracy", "neg_log_loss"]
        )
        assert scores["test_accuracy"].mean() > 0.7
        assert np.isfinite(scores["test_neg_log_loss"]).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    def test_calibration(self, rows, labels, feature_map, n_classes):
        target = labels if n_classes == 3 else labels == "ant"
        model = CalibratedClassifierCV(small(feature_map=feature_map), cv=3)
        chances = model.fit(rows, target).predict_proba(QUERIES)
        assert_allclose(chances.sum(axis=1), 1)
        assert model.score(rows, target) > 0.7

    def test_clones_are_alike(self, rows, labels):
        model = small(priors=[1, 2, 3], reject=0.1, reject_label=None)
        other = clone(model)
        assert other.get_params() == model.get_params()
        assert_array_equal(
            other.fit(rows, labels).predict_proba(QUERIES),
            model.fit(rows, labels).predict_proba(QUERIES),
        )


@pytest.mark.parametrize("n_components", [40, 400])
def test_rejecting_on_a_plane(n_components):
    """Witnesses are kept from landmarks, never from the box of a grid."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    labels = (rows[:, 0] > 0).astype(int)
    model = DMKDClassifier(
        n_components=n_components, reject=0.1, reject_label=-1, random_state=0
    ).fit(rows, labels)
    shares = (model.predict(rng.normal(size=(2000, 2))) == -1).mean()
    assert 0.04 < shares < 0.18
    assert (model.predict([[30.0, 0.0]]) == -1).all()


class TestPriorsOfLabelsThatCome:
    """What a new label does not go with is refused at learning, not at answering."""

    X: ClassVar = np.random.default_rng(0).normal(size=(60, 2))
    Y: ClassVar = np.arange(60) % 2
    MODEL: ClassVar = DMKDClassifier(
        gamma=1.0,
        scale=None,
        feature_map="landmarks",
        priors=[0.3, 0.7],
        random_state=0,
    )

    def test_others_are_refused_and_leave_the_model_as_it_was(self):
        X, y, new = self.X, self.Y, 7 * self.Y
        model = clone(self.MODEL).fit(X, y)
        other = model.blank().set_params(priors="empirical").partial_fit(X, new)
        calls = {
            "partial_fit": lambda: model.partial_fit(X, new),
            "foreseen": lambda: model.partial_fit(X, y, classes=[0, 1, 7]),
            "prepare": lambda: model.prepare(X, y, targets=[0, 1, 7]),
            "fit": lambda: model.fit(X, np.arange(60) % 3),
            "unlearn": lambda: model.unlearn(X, new),
            "merge": lambda: model.merge(other),
            "unmerge": lambda: model.unmerge(other),
        }
        for name, call in calls.items():
            assert_refused(model, call, name)
        assert set(model.partial_fit(X, y).predict(X)) <= {0, 1}

    def test_may_be_set_before(self):
        X, new = self.X, 7 * self.Y
        model = clone(self.MODEL).fit(X, self.Y)
        with pytest.raises(ValueError, match=r"3 non-negative numbers.*\[0, 1, 7\]"):
            model.partial_fit(X, new)
        model.set_params(priors=[0.2, 0.3, 0.5]).partial_fit(X, new)
        assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("priors", ["empirical", "uniform"])
def test_a_single_row_that_is_left_rejects_nothing(priors):
    rows, labels = np.eye(3), np.array(["a", "b", "a"])
    model = DMKDClassifier(
        gamma=1.0, scale=None, reject=0.1, priors=priors, random_state=0
    )
    model.fit(rows, labels).unlearn(rows[1:], labels[1:])
    assert model.threshold_ == -np.inf  # without the row there is no density
    assert model.predict(rows + 9).tolist() == ["a"] * 3
