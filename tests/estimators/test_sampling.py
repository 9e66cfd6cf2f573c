"""Rows drawn from a model, against rows drawn from the exact density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import chisquare, ks_2samp

from rhokit import DMKDE, MeanEmbeddingKDE, OneHotFeatures
from rhokit.plans.proposal import Proposal

# A wrong sampler has p-values of 1e-10 and less; the seeds are fixed.
ALPHA = 1e-3


def draw_exact(X, gamma, n, rng):
    """Rows of Parzen's estimate: a row of the data plus the kernel's noise."""
    noise = rng.normal(size=(n, X.shape[1])) / np.sqrt(2 * gamma)
    return X[rng.integers(len(X), size=n)] + noise


def assert_same_distribution(left, right, rng):
    """Kolmogorov-Smirnov along the axes and random directions."""
    directions = np.vstack([np.eye(left.shape[1]), rng.normal(size=(4, left.shape[1]))])
    for direction in directions:
        assert ks_2samp(left @ direction, right @ direction).pvalue > ALPHA


def three_blobs(rng, n, d):
    centres = 4 * rng.normal(size=(3, d))
    return centres[rng.choice(3, n, p=[0.6, 0.3, 0.1])] + rng.normal(size=(n, d))


@pytest.mark.parametrize(
    ("d", "feature_map"),
    [(1, "quadrature"), (1, "landmarks"), (2, "auto"), (5, "landmarks")],
)
@pytest.mark.parametrize("model", [DMKDE, MeanEmbeddingKDE])
def test_same_distribution_as_exact_kde(model, d, feature_map):
    rng = np.random.default_rng(d)
    X = three_blobs(rng, 300, d)
    fitted = model(gamma=1.0, scale=None, feature_map=feature_map, n_components=300)
    fitted.set_params(random_state=0).fit(X)
    drawn = fitted.sample(1500, random_state=1)
    assert drawn.shape == (1500, d)
    assert_same_distribution(drawn, draw_exact(X, 1.0, 1500, rng), rng)


def test_the_paper_s_map_is_sampled_above_its_floor():
    rng = np.random.default_rng(0)
    X = three_blobs(rng, 2000, 2)
    model = DMKDE(
        gamma=1.0, scale=None, feature_map="fourier", n_components=512, random_state=0
    )
    drawn = model.fit(X).sample(1500, random_state=1)
    assert_same_distribution(drawn, draw_exact(X, 1.0, 1500, rng), rng)


def test_a_wrong_bandwidth_would_be_noticed():
    rng = np.random.default_rng(0)
    X = three_blobs(rng, 600, 1)
    drawn = DMKDE(gamma=0.1, scale=None).fit(X).sample(1500, random_state=1)
    assert ks_2samp(drawn[:, 0], draw_exact(X, 1.0, 1500, rng)[:, 0]).pvalue < ALPHA


def test_rows_come_in_the_users_units():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([100, -3], [[400, 5], [5, 0.1]], 800)
    for scale in ("std", "whiten"):
        model = DMKDE(scale=scale, n_components=64, random_state=0).fit(X)
        drawn = model.sample(2000, random_state=0)
        assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=0.05)
        assert_allclose(np.cov(drawn.T), np.cov(X.T), rtol=0.25)


def test_categories_are_drawn_by_frequency():
    values = np.array([["a"]] * 70 + [["b"]] * 20 + [["c"]] * 10)
    model = DMKDE(feature_map=OneHotFeatures()).fit(values)
    drawn = model.sample(2000, random_state=0)
    counts = [(drawn == value).sum() for value in "abc"]
    assert chisquare(counts, [1400, 400, 200]).pvalue > ALPHA


def test_same_seed_same_rows():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = DMKDE(gamma=1.0, scale=None, n_components=64).fit(X)
    first, again = (model.sample(5, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(model.sample(5, random_state=8) - first).max() > 0


def test_a_model_that_moved_away_says_so():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = DMKDE(gamma=50.0, scale=None, feature_map="fourier", n_components=128)
    model.set_params(random_state=0).prepare(X)
    model.partial_fit(X + 1000)
    with pytest.raises(ValueError, match="moved away"):
        model.sample(10, random_state=0)


@pytest.mark.parametrize("far", [1.0, 1e3, 1e160])
def test_the_density_of_proposals(far):
    """A mixture of normal distributions, written out, near its anchors and far away."""
    rng = np.random.default_rng(0)
    anchors, widths = rng.normal(size=(7, 3)), rng.uniform(0.1, 2, (7, 3))
    widths[0] = 3  # of weight zero, and the nearest from far away
    weights = rng.dirichlet(np.ones(7)) * (np.arange(7) > 0)
    proposal = Proposal(anchors, weights / weights.sum(), widths)
    rows = far * rng.normal(size=(50, 3))
    steps = (rows[:, None] - anchors) / widths
    with np.errstate(over="ignore"):
        parts = -(steps**2).sum(axis=2) / 2 - np.log(widths).sum(axis=1)
        expected = logsumexp(parts, b=proposal.weights, axis=1)
        found = proposal.log_density(rows)
    assert_allclose(found, expected, rtol=1e-12)
