"""The metric of a Gaussian process, against scikit-learn's and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)

from rhokit.plans.evidence import _Likelihood, process_metric


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    truth = np.sin(2 * rows[:, :1]) + 0.1 * rng.normal(size=(60, 1))
    return rows, truth - truth.mean()


def test_the_slope_is_that_of_differences(data):
    rows, truth = data
    noise = np.random.default_rng(1).random(60) + 0.5
    likelihood = _Likelihood(rows, np.hstack([truth, truth**2]), noise, None)
    point = np.array([0.3, -1.0, -0.5, -2.0, -3.0])
    error = check_grad(
        lambda x: likelihood.loss(x)[0], lambda x: likelihood.loss(x)[1], point
    )
    assert error < 1e-6


def test_it_is_the_marginal_likelihood_of_scikit_learn(data):
    rows, truth = data
    logs = np.array([0.3, -1.0, -0.5, -2.0, -3.0])
    weights, (noise, lines) = np.exp(logs[:3]), np.exp(logs[3:])
    shape = (
        RBF(1 / np.sqrt(2 * weights))
        + ConstantKernel(lines)
        + ConstantKernel(lines / 3) * DotProduct(1e-6)
        + WhiteKernel(noise)
    )
    covariance = shape(rows)
    y = truth / np.sqrt((truth**2).mean())
    size = (y.T @ np.linalg.solve(covariance, y)).item() / 60  # the likeliest one
    process = GaussianProcessRegressor(ConstantKernel(size) * shape, optimizer=None)
    expected = process.fit(rows, y[:, 0]).log_marginal_likelihood_value_
    value = _Likelihood(rows, truth, np.ones(60), None).loss(logs)[0]
    apart = logs[:3] + np.log(3)
    value -= apart @ apart / (2 * 4 * 60)  # what is expected of weights
    constant = (1 + np.log(2 * np.pi)) / 2
    assert_allclose(-60 * (value + constant), expected, rtol=1e-6)


def test_columns_that_tell_nothing_weigh_little(data):
    metric = process_metric(*data, np.ones(60))
    assert metric.logs[0] > metric.logs[1:].max() + 3


def test_tied_columns_share_one_weight(data):
    tied = np.array([True, True, False])
    metric = process_metric(*data, np.ones(60), tied)
    assert metric.logs[0] == metric.logs[1]


def test_rounding_of_rows_does_not_show(data):
    rows, truth = data
    metric = process_metric(rows, truth, np.ones(60))
    shaken = process_metric(rows * (1 + 1e-15), truth, np.ones(60))
    assert_allclose(shaken.logs, metric.logs, rtol=0, atol=0)
