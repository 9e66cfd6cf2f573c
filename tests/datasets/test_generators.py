"""Seeds, shapes, and that rows come from the density that is claimed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest, norm

from rhokit.datasets import bimodal, bimodal_pdf, clusters, spirals

GENERATORS = {
    "bimodal": lambda n, seed: bimodal(n, seed),
    "spirals": lambda n, seed: spirals(n, random_state=seed)[0],
    "clusters": lambda n, seed: clusters(n, 3, random_state=seed)[0],
}


@pytest.mark.parametrize("draw", GENERATORS.values(), ids=GENERATORS.keys())
class TestEveryGenerator:
    def test_float64_rows(self, draw):
        X = draw(50, 0)
        assert X.dtype == np.float64
        assert X.ndim == 2
        assert len(X) == 50

    def test_no_rows(self, draw):
        assert draw(0, 0).shape == (0, draw(1, 0).shape[1])

    def test_seed_decides(self, draw):
        assert_array_equal(draw(50, 3), draw(50, 3))
        assert_array_equal(draw(50, 3), draw(50, np.random.default_rng(3)))
        assert (draw(50, 3) != draw(50, 4)).all()

    def test_random_state_of_scikit_learn(self, draw):
        state = np.random.RandomState
        assert_array_equal(draw(50, state(3)), draw(50, state(3)))


def test_bimodal_pdf_is_the_mixture():
    x = np.linspace(-3, 9, 7)
    assert_allclose(bimodal_pdf(x), 0.3 * norm.pdf(x) + 0.7 * norm.pdf(x, 5))
    assert_allclose(quad(bimodal_pdf, -10, 15)[0], 1.0, atol=1e-8)


def test_bimodal_pdf_keeps_the_shape():
    assert bimodal_pdf(0).shape == ()
    assert bimodal_pdf(np.zeros((4, 1))).shape == (4, 1)


def test_bimodal_rows_follow_their_pdf():
    def cdf(x):
        return 0.3 * norm.cdf(x) + 0.7 * norm.cdf(x, 5)

    rows = bimodal(20_000, random_state=0)[:, 0]
    assert kstest(rows, cdf).pvalue > 0.01


def test_spirals_fill_the_unit_square():
    X, arm = spirals(10_000, random_state=0)
    assert X.min() > 0
    assert X.max() < 1
    assert np.ptp(X, axis=0).min() > 0.8
    assert_allclose(np.bincount(arm) / len(arm), 1 / 3, atol=0.02)


def test_spirals_without_noise_are_the_curves():
    X, arm = spirals(300, noise=0.0, random_state=0)
    radius = np.hypot(*(X - 0.5).T)
    angle = np.arctan2(*(X - 0.5).T[::-1])
    turn = (radius - 0.1) / 0.35
    wound = np.exp(2j * np.pi * (turn + arm / 3))
    assert_allclose(np.exp(1j * angle), wound, atol=1e-12)


def test_spirals_are_apart_for_gamma_256():
    """Between two arms a kernel density has a valley."""
    X, arm = spirals(20_000, random_state=0)
    radius = np.hypot(*(X - 0.5).T)
    on_first = X[(arm == 0) & (np.abs(radius - 0.3) < 0.01)].mean(axis=0)
    outwards = (on_first - 0.5) / np.linalg.norm(on_first - 0.5)
    probes = on_first + outwards * np.array([[0.0], [0.35 / 6]])
    squares = ((probes[:, None] - X) ** 2).sum(axis=2)
    ridge, valley = np.exp(-256 * squares).mean(axis=1)
    assert valley < 0.75 * ridge


def test_clusters_are_a_mixture_about_their_centres():
    X, centres = clusters(20_000, 5, n_clusters=3, width=0.01, random_state=0)
    assert centres.shape == (3, 5)
    assert centres.min() >= 0
    assert centres.max() <= 1
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert_allclose(np.bincount(nearest) / len(X), 1 / 3, atol=0.02)
    assert_allclose((X - centres[nearest]).std(axis=0), 0.01, rtol=0.03)


def test_clusters_continue_from_centres():
    first, centres = clusters(10, 4, random_state=0)
    more, same = clusters(10, 4, centres=centres, random_state=1)
    assert_array_equal(same, centres)
    assert (first != more).all()
    assert_array_equal(clusters(99, 4, width=1.0, random_state=0)[1], centres)


def test_clusters_leave_the_given_centres_alone():
    given = np.zeros((2, 3))
    _, centres = clusters(10, 3, centres=given, random_state=0)
    centres += 1
    assert not given.any()


@pytest.mark.parametrize("shape", [(4,), (8, 3)])
def test_clusters_refuse_centres_of_another_width(shape):
    with pytest.raises(ValueError, match=r"centres must have shape \(n_clusters, 4\)"):
        clusters(10, 4, centres=np.zeros(shape))
