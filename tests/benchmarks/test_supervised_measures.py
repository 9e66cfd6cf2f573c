"""What is measured of the answers to a split, against closed forms and scikit-learn."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import log_loss

from benchmarks.contestants.learners_answers import LEVELS, normal
from benchmarks.supervised_measures import judge
from benchmarks.supervised_sets import CLASSES, VALUES


def test_classes_are_measured_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(3, size=50), rng.dirichlet(np.ones(3), size=50)
    found[4] = np.eye(3)[(truth[4] + 1) % 3]  # certain, and wrong
    answers = np.column_stack([found.argmax(axis=1), found])
    value, others = judge(CLASSES, answers, truth)
    assert value == (found.argmax(axis=1) == truth).mean()
    assert_allclose(others["log_loss"], log_loss(truth, found, labels=[0, 1, 2]))


def test_normal_distributions_have_the_measures_that_are_known():
    rng = np.random.default_rng(1)
    mean, spread = rng.normal(size=20_000), rng.uniform(0.5, 2, size=20_000)
    truth = mean + spread * rng.normal(size=20_000)
    value, others = judge(VALUES, normal(mean, spread, truth), truth)
    z = (truth - mean) / spread
    closed = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
    assert_allclose(value, np.sqrt(np.mean((truth - mean) ** 2)))
    assert_allclose(others["nll"], -norm.logpdf(truth, mean, spread).mean())
    assert_allclose(others["crps"], np.mean(spread * closed), rtol=4e-3)
    assert_allclose(others["coverage"], 0.9, atol=0.01)
    assert_allclose(others["width"], 2 * norm.ppf(0.95) * spread.mean())
    assert_allclose(others["coverage_by_width"], 0.9, atol=0.02)


def test_values_alone_have_an_error_alone():
    truth = np.array([1.0, 2.0])
    assert judge(VALUES, np.array([[1.0], [4.0]]), truth) == (np.sqrt(2), {})


def test_models_without_a_density_have_no_likelihood():
    answers = normal(np.zeros(20), np.ones(20), np.zeros(20))
    answers[:, 1] = np.nan
    assert judge(VALUES, answers, np.zeros(20))[1]["nll"] is None
    assert_allclose(np.diff(LEVELS), 0.05)
