"""Exact kernel sums against sums written out."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from rhokit.fast import numba_loops
from rhokit.features import KernelSum


@pytest.fixture(params=[0, math.inf], ids=["numba", "numpy"], autouse=True)
def _loops(request, monkeypatch):
    """Both ways: blocks of any size take the compiled loops, or none does."""
    monkeypatch.setattr(numba_loops, "_FEW_NUMBERS", request.param)


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("d", [1, 2, 10, 40])
def test_from_near_to_far_and_from_wide_to_narrow(d, gamma, weighted, dtype):
    """Plain sums, and those of far queries that would lose digits or be zero."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1500, d)).astype(dtype)
    reach = np.geomspace(1e-3, 1e4, 400)[:, None]
    queries = (reach * rng.normal(size=(400, d))).astype(dtype)
    weights = rng.uniform(0.01, 2, size=1500) if weighted else None
    expected = slow_log_mean(
        rows, np.ones(1500) if weights is None else weights, gamma, queries
    )
    # Near queries by themselves: far ones have all distances taken by differences.
    for part in (slice(0, 150), slice(None)):
        found = KernelSum(rows, weights, gamma).log_mean(queries[part])
        single = dtype == "float32"
        tolerance = {"rtol": 2e-6, "atol": 2e-4} if single else {"rtol": 1e-11}
        assert_allclose(found, expected[part], **tolerance)


@pytest.mark.parametrize(("dtype", "least"), [("float32", -72), ("float64", -673)])
def test_no_seam_where_plain_sums_end(dtype, least):
    """Around the mean below which the largest kernel is taken out first."""
    rows = np.random.default_rng(4).normal(0, 0.1, size=(900, 6)).astype(dtype)
    direction = np.eye(6)[:1]
    queries = np.linspace(0.9, 1.1, 501)[:, None] * np.sqrt(-least) * direction
    queries = queries.astype(dtype)
    found = KernelSum(rows, None, 1.0).log_mean(queries)
    expected = slow_log_mean(rows, np.ones(900), 1.0, queries)
    assert expected.min() < least < expected.max()
    assert_allclose(found, expected, rtol=2e-6 if dtype == "float32" else 1e-12)
