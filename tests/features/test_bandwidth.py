"""Bandwidth rules, against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.stats import gaussian_kde

from rhokit.features import gamma_by_rule
from rhokit.features.bandwidth import BANDWIDTH_RULES

# The plug-in rule is for one column, and has tests of its own.
every_rule = pytest.mark.parametrize(
    "rule", sorted({*BANDWIDTH_RULES} - {"sheather-jones"})
)


def bandwidth(rule, rows, weights=None, **options):
    """h of ``γ = 1/(2h²)``."""
    return (2 * gamma_by_rule(rule, rows, weights, **options)) ** -0.5


@st.composite
def weighted_rows(draw):
    """Rows on a small lattice with whole weights; at least two differ and count."""
    shape = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    rows = draw(hnp.arrays(np.int64, shape, elements=st.integers(-3, 3))).astype(float)
    weights = draw(hnp.arrays(np.int64, shape[:1], elements=st.integers(0, 3)))
    rows[0], rows[1], weights[:2] = 0.0, 9.0, 1
    return rows, weights.astype(float)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
@pytest.mark.parametrize(("n", "d"), [(10, 1), (200, 2), (50, 7)])
def test_factors_of_scipy(rule, n, d):
    rows = np.random.default_rng(0).normal(3, 5, size=(n, d))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    factor = gaussian_kde(rows.T, bw_method=rule).factor
    assert_allclose(bandwidth(rule, rows), factor, rtol=1e-12)
    assert_allclose(bandwidth(rule, 10 * rows - 5), 10 * factor, rtol=1e-12)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_sigma_is_the_mean_variance(rule):
    rows = np.random.default_rng(0).normal(size=(40, 2)) * [1, 30]
    shared = np.sqrt(rows.var(axis=0).mean())
    assert_allclose(bandwidth(rule, rows), shared * bandwidth(rule, rows / shared))


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_number_of_rows_may_be_given(rule):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    many = bandwidth(rule, rows, n_rows=40 * 64)
    assert_allclose(many, bandwidth(rule, rows) / 2, rtol=1e-12)


@given(weighted_rows())
def test_median_of_brute_force(case):
    rows, weights = case
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    distances = sorted(
        np.linalg.norm(x - y)
        for index, x in enumerate(repeated)
        for y in repeated[:index]
        if (x != y).any()
    )
    lower_median = distances[(len(distances) - 1) // 2]
    assert_allclose(bandwidth("median", repeated), lower_median)


@every_rule
@given(case=weighted_rows(), data=st.data())
def test_a_weight_is_so_many_copies_in_any_order(rule, case, data):
    rows, weights = case
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    expected = gamma_by_rule(rule, repeated)
    assert_allclose(gamma_by_rule(rule, rows[order], weights[order]), expected)


@every_rule
def test_scale_and_shift(rule):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    assert_allclose(bandwidth(rule, 7 * rows + 100), 7 * bandwidth(rule, rows))


@every_rule
def test_single_precision(rule):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    single = gamma_by_rule(rule, rows.astype("float32"))
    assert isinstance(single, float)
    assert_allclose(single, gamma_by_rule(rule, rows), rtol=1e-5)


def test_median_of_many_rows_is_that_of_a_sample():
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    sampled = bandwidth("median", rows, rng=np.random.default_rng(1))
    assert_allclose(sampled, bandwidth("median", rows[:1000]), rtol=0.05)
    assert sampled == bandwidth("median", rows, rng=np.random.default_rng(1))


@every_rule
@pytest.mark.parametrize(
    ("rows", "weights"),
    [([[0.1, 0.7]], None), ([[0.1, 0.7]] * 6, None), ([[1.0, 2], [3, 4]], [1.0, 0.0])],
)
def test_rows_that_are_all_equal(rule, rows, weights):
    weights = None if weights is None else np.array(weights)
    with pytest.raises(ValueError, match=rf"gamma='{rule}'.*n_samples={len(rows)}"):
        gamma_by_rule(rule, np.array(rows), weights)


def test_unknown_rule():
    with pytest.raises(ValueError, match=r"one of .*'median'.* got 'best'"):
        gamma_by_rule("best", np.eye(3))
