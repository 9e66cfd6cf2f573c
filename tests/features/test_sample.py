"""A sample of distinct rows with their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.features import distinct_rows


def sample(rows, weights=None, most=1000, seed=0):
    return distinct_rows(rows, weights, most, np.random.default_rng(seed))


@st.composite
def weighted_rows(draw):
    """Rows of a small lattice, with -0.0 among them, and whole weights."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    entries = st.sampled_from([-1.0, -0.0, 0.0, 2.5])
    rows = draw(hnp.arrays(np.float64, shape, elements=entries))
    weights = draw(hnp.arrays(np.int64, shape[:1], elements=st.integers(0, 3)))
    return rows, weights.astype(float)


@given(weighted_rows())
def test_each_row_once_with_its_weight(case):
    rows, weights = case
    distinct, mass = sample(rows, weights)
    counted = {}
    for row, weight in zip(rows + 0, weights, strict=True):
        if weight:
            counted[tuple(row)] = counted.get(tuple(row), 0) + weight
    assert dict(zip(map(tuple, distinct), mass, strict=True)) == counted
    assert len(distinct) == len(counted)
    assert not np.signbit(distinct[distinct == 0]).any()


@given(weighted_rows(), st.data())
def test_only_the_weighted_set_matters(case, data):
    rows, weights = case
    expected = sample(rows, weights)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    copies = np.repeat(rows, weights.astype(int), axis=0)
    for given_rows, given_weights in ((rows[order], weights[order]), (copies, None)):
        for actual, part in zip(
            sample(given_rows, given_weights), expected, strict=True
        ):
            assert_array_equal(actual, part)


@given(weighted_rows())
def test_no_weights_are_ones(case):
    rows, _ = case
    for actual, part in zip(
        sample(rows), sample(rows, np.ones(len(rows))), strict=True
    ):
        assert_array_equal(actual, part)


@given(weighted_rows(), st.integers(1, 12), st.integers(0, 9))
def test_at_most_so_many(case, most, seed):
    rows, weights = case
    distinct, mass = sample(rows, weights, most, seed)
    whole, whole_mass = sample(rows, weights)
    assert len(distinct) == len(mass) <= most
    limit = dict(zip(map(tuple, whole), whole_mass, strict=True))
    for row, weight in zip(distinct, mass, strict=True):
        assert 0 < weight <= limit[tuple(row)]


def test_the_rows_stay_as_they_are():
    rows = np.array([[1.0], [-0.0], [1.0]])
    copy = rows.copy()
    sample(rows)
    assert_array_equal(rows, copy)


def test_every_row_has_the_same_chance():
    rows = np.arange(20.0)[:, None]
    counts = np.zeros(20)
    for seed in range(400):
        chosen, _ = sample(rows, most=5, seed=seed)
        counts[chosen[:, 0].astype(int)] += 1
    assert_allclose(counts, 100, atol=5 * np.sqrt(75))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision_stays(dtype):
    distinct, mass = sample(np.ones((3, 2), dtype))
    assert distinct.dtype == dtype
    assert mass.dtype == np.float64
