"""Exact kernel sums against sums written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from rhokit.features import KernelSum


def slow_log_mean(rows, weights, gamma, queries):
    exponents = -gamma * cdist(queries.astype(float), rows.astype(float), "sqeuclidean")
    return logsumexp(exponents, b=weights / weights.sum(), axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 3, 6, 40])
@pytest.mark.parametrize("n", [1, 7, 1024, 2500])
def test_sums_are_those_written_out(n, d, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(3, 1, size=(n, d)).astype(dtype)
    queries = rng.normal(3, 1, size=(300, d)).astype(dtype)
    weights = rng.uniform(0.5, 2, size=n)
    found = KernelSum(rows, weights, 0.3).log_mean(queries)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    expected = slow_log_mean(rows, weights, 0.3, queries)
    assert_allclose(found, expected, atol=tolerance)


def test_without_weights_all_rows_count_alike():
    rng = np.random.default_rng(1)
    rows, queries = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    found = KernelSum(rows, None, 2.0).log_mean(queries)
    assert_allclose(found, slow_log_mean(rows, np.ones(50), 2.0, queries), atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_are_finite_at_any_distance(dtype):
    rows = np.random.default_rng(2).normal(size=(1500, 5)).astype(dtype)
    queries = np.full((2, 5), [[1e3], [1e6]], dtype)
    found = KernelSum(rows, None, 4.0).log_mean(queries)
    expected = slow_log_mean(rows, np.ones(1500), 4.0, queries)
    assert_allclose(found, expected, rtol=1e-4)
