"""Laws of the one-pass estimators, over a list of models and random data."""

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from rhokit import (
    DMKDE,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    QuadratureFeatures,
)
from rhokit.fast import blas_threads
from tests.one_pass import assert_same_model, one_pass_models

MODELS = {
    "fourier": DMKDE(
        gamma=0.7, scale=None, feature_map="fourier", n_components=24, random_state=0
    ),
    "complex": DMKDE(
        gamma=0.7,
        scale=None,
        feature_map=FourierFeatures(n_components=24, form="complex"),
    ).set_params(random_state=0),
    "landmarks": DMKDE(gamma=0.7, scale=None, feature_map="landmarks", n_components=12),
    "normalised": DMKDE(
        gamma=0.7,
        scale=None,
        feature_map=LandmarkFeatures(n_components=12, normalize=True),
    ),
    "scaled": DMKDE(gamma="scott", feature_map="landmarks", scale="whiten"),
    "truncated": DMKDE(
        gamma=0.7, scale=None, feature_map="fourier", n_components=24, rank=6
    ),
    "mean": MeanEmbeddingKDE(
        gamma=0.7, scale=None, feature_map="landmarks", n_components=12
    ),
}
QUERIES = np.random.default_rng(9).normal(size=(20, 2))


def prepared(name):
    sample = np.random.default_rng(1).normal(size=(60, 2))
    model = MODELS[name]
    return type(model)(**{**model.get_params(deep=False), "random_state": 0}).prepare(
        sample
    )


def rows_of(seed, n):
    return np.random.default_rng(seed).normal(size=(n, 2))


def assert_same_state(left, right, rtol=1e-12):
    scale = np.abs(right.state_.total).max()
    assert_allclose(left.state_.total, right.state_.total, atol=rtol * scale)
    assert_allclose(left.state_.weight, right.state_.weight, rtol=rtol)


splits = st.lists(st.integers(1, 12), min_size=1, max_size=6)
seeds = st.integers(0, 2**31)


@pytest.mark.parametrize("name", MODELS)
class TestLaws:
    def test_partial_fit_of_everything_is_fit(self, name):
        rows = rows_of(0, 50)
        model = MODELS[name]
        clone = type(model)(**{**model.get_params(deep=False), "random_state": 0})
        fitted = clone.fit(rows)
        streamed = type(model)(**clone.get_params(deep=False)).partial_fit(rows)
        assert fitted.fingerprint() == streamed.fingerprint()
        assert_same_state(streamed, fitted)

    def test_state_is_positive_with_the_trace_of_its_rows(self, name):
        model = prepared(name).partial_fit(rows_of(3, 40))
        if isinstance(model, MeanEmbeddingKDE):
            return
        rho = model.density_matrix_
        assert rho.eigenvalues().min() >= 0
        states = model.feature_map_.transform(model.scaling_.apply(rows_of(3, 40)))
        lengths = np.vecdot(states, states).real
        assert_allclose(np.trace(rho.normalized()[0]).real, lengths.mean(), rtol=1e-8)


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("name", one_pass_models())
def test_any_number_of_workers_learns_and_answers_the_same(name, workers):
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(700, 2)), rng.integers(0, 4, 700)
    fitted, answers = [], []
    for limit in (1, workers):
        model = clone(one_pass_models()[name]).set_params(batch_size=64)
        with threadpool_limits(limits=limit, user_api="blas"):
            assert blas_threads() == limit
            fitted.append(model.fit(rows, target))
            answers.append(model.score_samples(rows))
    assert_same_model(*fitted)
    assert_allclose(*answers, rtol=1e-9)


@pytest.mark.parametrize("gamma", ["loo", "scott", "median", 0.7])
@pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
def test_whole_fit_depends_on_the_weighted_set_of_rows_alone(gamma, feature_map):
    """Scaling, γ and landmarks too: copies, weights and order must not matter."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    counts = rng.integers(0, 4, 40)
    shared = {
        "gamma": gamma,
        "scale": None,
        "feature_map": feature_map,
        "n_components": 16,
    }
    copies = np.repeat(rows, counts, axis=0)
    weighted = DMKDE(**shared, random_state=0).fit(rows, sample_weight=counts)
    copied = DMKDE(**shared, random_state=0).fit(rng.permutation(copies))
    assert_allclose(weighted.gamma_, copied.gamma_, rtol=1e-8)
    assert_allclose(
        weighted.score_samples(QUERIES), copied.score_samples(QUERIES), atol=1e-5
    )


class TestMergeRefuses:
    def test_other_maps(self):
        rows = rows_of(0, 30)
        model = DMKDE(gamma=1.0, scale=None, feature_map="fourier", random_state=0).fit(
            rows
        )
        for other in (
            DMKDE(gamma=2.0, scale=None, feature_map="fourier", random_state=0),
            DMKDE(gamma=1.0, scale=None, feature_map="fourier", random_state=1),
            DMKDE(gamma=1.0, scale=None, feature_map="landmarks"),
            DMKDE(gamma=1.0, feature_map="fourier", scale="std", random_state=0),
        ):
            with pytest.raises(ValueError, match=r"differ in scaling.*blank\(\)"):
                model.merge(other.fit(rows))

    def test_other_classes(self):
        rows = rows_of(0, 30)
        with pytest.raises(TypeError, match="of its own class, got MeanEmbeddingKDE"):
            DMKDE(gamma=1.0, scale=None).fit(rows).merge(
                MeanEmbeddingKDE(gamma=1.0, scale=None).fit(rows)
            )

    def test_all_or_none_of_several(self):
        model = DMKDE(gamma=1.0, scale=None, feature_map="fourier", random_state=0).fit(
            rows_of(0, 9)
        )
        good = model.blank().partial_fit(rows_of(1, 5))
        bad = DMKDE(gamma=2.0, scale=None).fit(rows_of(0, 9))
        with pytest.raises(ValueError, match="differ"):
            model.merge(good, bad)
        assert model.state_.weight[0] == 9


def test_forgetting_more_than_was_seen_is_refused():
    model = DMKDE(gamma=1.0, scale=None, feature_map="landmarks").fit(rows_of(0, 10))
    with pytest.raises(ValueError, match="cannot forget more than was seen"):
        model.unlearn(rows_of(0, 11))
    assert model.state_.weight[0] == 10


def test_a_stream_that_leaves_the_grid_is_refused():
    model = DMKDE(gamma=1.0, scale=None, feature_map="quadrature").fit(rows_of(0, 50))
    with pytest.raises(ValueError, match=r"outside the box.*column 0 is"):
        model.partial_fit([[50.0, 0.0]])
    assert model.state_.weight[0] == 50


def test_rows_outside_given_bounds_are_refused_from_the_start():
    grid = QuadratureFeatures(bounds=[[-1, -1], [1, 1]], tol=1e-2)
    rows = rows_of(0, 50)
    with pytest.raises(ValueError, match="outside the box"):
        DMKDE(gamma=1.0, scale=None, feature_map=grid).fit(rows)
    inside = (np.abs(rows) <= 1).all(axis=1)
    model = DMKDE(gamma=1.0, scale=None, feature_map=grid).fit(
        rows, sample_weight=inside
    )
    assert model.state_.weight[0] == inside.sum()


def test_a_stream_starts_with_a_grid_only_if_that_may_grow():
    rows = rows_of(0, 50)
    for rank, kind in ((None, GridFeatures), (5, LandmarkFeatures)):
        model = DMKDE(gamma=1.0, scale=None, rank=rank).partial_fit(rows)
        assert isinstance(model.feature_map_, kind)
