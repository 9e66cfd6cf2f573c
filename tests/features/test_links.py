"""Links: the answers of ridge regressions and cells brought together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import softmax

from rhokit.features.links import LINKS, ClassLink, Told, ValueLink


def told_classes(n=500, k=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    truth = np.eye(k)[labels]
    ridge = 0.4 * truth + 0.2 * rng.normal(size=(n, k))
    cells = softmax(2 * truth + rng.normal(size=(n, k)), axis=1)
    return Told(ridge, cells), truth


def told_values(n=4000, seed=0):
    """Means that miss by noise of a known, changing size."""
    rng = np.random.default_rng(seed)
    noise = np.exp(rng.uniform(-4, -2, n))
    mean = rng.uniform(0.3, 0.7, n)
    truth = mean + noise * rng.normal(size=n)
    ridge, cells = mean + 0.02 * rng.normal(size=n), mean + 0.04 * rng.normal(size=n)
    moments = np.stack([np.ones(n), cells, cells**2 + noise**2], axis=1)
    told = Told(np.stack([np.ones(n), ridge, ridge**2], axis=1), moments)
    return told, np.stack([np.ones(n), truth, truth**2], axis=1), noise


class TestClasses:
    def test_logarithms_and_priors_make_probabilities(self):
        told, truth = told_classes()
        prior = truth.mean(axis=0)
        link = ClassLink.fitted(told, truth, np.ones(len(truth)), prior)
        probabilities = np.exp(link.logs(told, prior) + np.log(prior))
        assert_allclose(probabilities.sum(axis=1), 1)

    def test_no_other_coefficients_have_a_smaller_loss(self):
        told, truth = told_classes()
        prior = truth.mean(axis=0)
        link = ClassLink.fitted(told, truth, np.ones(len(truth)), prior)

        def loss(coefficients):
            logs = ClassLink(coefficients[None]).logs(told, prior) + np.log(prior)
            return -(truth * logs).sum(axis=1).mean()

        found = minimize(loss, [1.0, 1.0], method="Nelder-Mead")
        assert_allclose(link.coefficients[0, :2], found.x, rtol=0.02)
        assert link.coefficients[0, 2] == 0  # of prototypes, of which there are none

    def test_a_class_that_no_cell_has_seen_is_possible(self):
        told = Told(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
        logs = ClassLink(np.array([[1.0, 1.0]])).logs(told, np.array([0.5, 0.5]))
        assert np.isfinite(logs).all()
        assert logs[0, 0] > logs[0, 1]


class TestValues:
    def test_the_mean_weighs_both_by_how_well_they_do(self):
        told, truth, _ = told_values()
        link = ValueLink.fitted(told, truth, np.ones(len(truth)), np.ones(3))
        # The error of the cells has four times the variance.
        assert_allclose(link.coefficients[0, 0], 0.8, atol=0.06)

    def test_spreads_are_as_large_as_the_errors_are(self):
        told, truth, noise = told_values()
        link = ValueLink.fitted(told, truth, np.ones(len(truth)), np.ones(3))
        _, mean, square = np.exp(link.logs(told, np.ones(3))).T
        spread = np.sqrt(square - mean**2)
        error = truth[:, 1] - mean
        for part in np.array_split(np.argsort(spread), 4):
            assert 0.7 < np.sqrt((error[part] ** 2).mean()) / spread[part].mean() < 1.4
        assert np.corrcoef(np.log(spread), np.log(noise))[0, 1] > 0.75

    def test_means_stay_inside_the_range(self):
        told = Told(np.array([[1.0, 1.7, 2.0]]), np.array([[1.0, 0.9, 0.82]]))
        link = ValueLink(np.array([[1.0, -4.0, 1.0, 0.0, 1e-4]]))
        assert np.exp(link.logs(told, np.ones(3)))[0, 1] == pytest.approx(1.0)


def test_links_say_how_many_coefficients_a_target_has():
    for name, cls in LINKS.items():
        told, truth = told_classes() if name == "classes" else told_values()[:2]
        link = cls.fitted(told, truth, np.ones(len(truth)), truth.mean(axis=0))
        assert link.coefficients.shape == (1, cls.n_coefficients)
