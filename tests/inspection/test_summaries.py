"""Summaries of parts add up to the summary of all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.inspection import LabelSummary, ScoreSummary, ValueSummary

SCORES = st.lists(st.floats(-100, 100) | st.just(-math.inf), max_size=20)


@given(SCORES, st.integers(0, 20))
def test_scores(scores, cut):
    logs = np.array(scores)
    parts = ScoreSummary.of(logs[:cut]) + ScoreSummary.of(logs[cut:])
    seen = [each for each in scores if math.isfinite(each)]
    assert (parts.n_rows, parts.n_zero) == (len(scores), len(scores) - len(seen))
    assert parts.minimum == min(scores, default=math.inf)
    assert parts.maximum == max(scores, default=-math.inf)
    if seen:
        assert_allclose(parts.mean, np.mean(seen), atol=1e-9)
    else:
        assert math.isnan(parts.mean)


def test_finite_scores_below_the_floor_count_as_that():
    found = ScoreSummary.of(np.array([-9.0, -1.0, -math.inf]), floor=-5.0)
    assert (found.mean, found.n_zero, found.minimum) == (-3.0, 1, -math.inf)


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 2)), st.integers(0, 9))
def test_labels(pairs, cut):
    predicted, truth = (np.array([p[k] for p in pairs], dtype=str) for k in range(2))
    halves = slice(None, cut), slice(cut, None)
    first, second = (LabelSummary.of(predicted[h], truth[h]) for h in halves)
    found = first + second
    assert found == LabelSummary.of(predicted, truth) or not pairs
    assert sum(found.counts.values()) == found.n_compared == len(pairs)
    assert found.n_right == sum(a == b for a, b in pairs)
    assert_allclose(found.accuracy, found.n_right / len(pairs) if pairs else math.nan)


def test_labels_of_different_types_are_compared_as_they_are():
    found = LabelSummary.of(np.array([1, 2]), np.array([1.0, "2"], dtype=object))
    assert (found.n_right, found.n_compared) == (1, 2)
    assert LabelSummary.of(np.array([1, 1])).n_compared == 0


@pytest.mark.parametrize("cut", [0, 3, 10])
def test_values(cut):
    rng = np.random.default_rng(0)
    predicted, truth = rng.normal(size=(2, 10))
    interval = np.column_stack([predicted - 1, predicted + 1])
    parts = [
        ValueSummary.of(predicted[part], interval[part], truth[part])
        for part in (slice(None, cut), slice(cut, None))
    ]
    found = parts[0] + parts[1]
    assert_allclose(found.absolute_error, np.abs(predicted - truth).mean())
    assert_allclose(found.achieved, (np.abs(predicted - truth) <= 1).mean())
    assert math.isnan(ValueSummary().absolute_error)
    assert math.isnan(ValueSummary().achieved)
