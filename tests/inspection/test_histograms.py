"""Every value is in a bin or counted outside, and a few far ones squeeze nobody."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.inspection import (
    Histogram,
    histogram,
    score_histogram,
    tail_start,
    value_edges,
    view,
)


def test_bars_count_all_rows_and_those_outside():
    values = np.concatenate([np.random.default_rng(0).normal(size=1000), [50.0, -70.0]])
    low, high = view(values)
    assert -5 < low < -2.5
    assert 2.5 < high < 5
    found = histogram(values, low, high)
    assert found.n_outside == ((values < low) | (values > high)).sum() >= 2
    assert found.counts.sum() + found.n_outside == len(values)
    area = (found.density * np.diff(found.edges)).sum()
    assert_allclose(area, found.counts.sum() / len(values))
    assert_allclose(found.middles, (found.edges[1:] + found.edges[:-1]) / 2)


@pytest.mark.parametrize("value", [-2.2374709006412186, 1e9, 3.0])
def test_values_that_rounding_tells_apart_have_bars(value):
    values = np.array([value, np.nextafter(value, np.inf)])
    low, high = view(values)
    assert low < value < high
    assert histogram(values, low, high).counts.sum() == 2
    assert score_histogram(values).counts.sum() == 2


def test_an_empty_histogram_has_no_density():
    assert_array_equal(Histogram(np.arange(3.0), np.zeros(2, int)).density, [0, 0])
    found = score_histogram(np.full(4, -math.inf))
    assert (found.counts.sum(), found.n_outside) == (0, 0)


@given(
    st.lists(
        st.sampled_from([-math.inf, -1e300, -1e6, -3.0, 0.0, 2.5, 700.0])
        | st.floats(-50, 50),
        min_size=1,
        max_size=30,
    )
)
def test_every_finite_score_is_counted_once(scores):
    scores = np.array(scores)
    found = score_histogram(scores)
    seen = scores[np.isfinite(scores)]
    assert found.counts.sum() + found.n_outside == len(seen)
    if len(seen):
        start = tail_start(seen)
        assert found.n_outside == (seen < start).sum()
        assert start in seen


@pytest.mark.parametrize("lowest", [None, -10.5])
def test_a_few_scores_far_below_do_not_squeeze_the_others(lowest):
    logs = np.concatenate([np.linspace(-10, -1, 1000), [-500.0, -math.inf]])
    found = score_histogram(logs, lowest=lowest)
    assert found.n_outside == 1
    assert found.edges[0] == (lowest or -10)
    assert found.edges[-1] == -1
    assert found.counts.sum() == 1000


@pytest.mark.parametrize("bins", [12, [-4, -1, 0, 1, 4]])
def test_bins_of_choice(bins):
    scores = np.random.default_rng(0).normal(size=300)
    found = score_histogram(scores, bins=bins)
    counts, edges = np.histogram(scores, bins)
    assert_array_equal(found.counts, counts)
    assert_allclose(found.edges, edges)


def test_edges_by_the_rule_of_freedman_and_diaconis():
    values = np.random.default_rng(0).normal(size=500)
    expected = len(np.histogram_bin_edges(values, "fd"))
    assert abs(len(value_edges(values)) - expected) <= 1
    assert value_edges(values)[[0, -1]].tolist() == [values.min(), values.max()]
    assert len(value_edges(np.arange(2.0))) == 6  # at least five bins
    assert len(value_edges(np.r_[np.zeros(90), 1.0])) == 51  # no quartiles apart
    assert_allclose(value_edges(np.full(3, 7.0))[[0, -1]], [6.5, 7.5])
    assert_allclose(value_edges(np.empty(0))[[0, -1]], [0, 1])
