"""Intervals of real values: they hold what they say."""

import pytest

from benchmarks import real_data
from benchmarks.goals import values


@pytest.mark.slow
@pytest.mark.parametrize("name", values.COVERAGE_SETS)
def test_intervals_hold_the_share_that_they_say(name):
    reason = real_data.missing(name)
    if reason is not None:
        pytest.skip(reason)
    results = list(values.intervals(name, values.coverage_partitions(name)))
    asked = [result for result in results if result.goal is not None]
    assert len(asked) == len(values.COVERAGES)
    missed = [result for result in asked if not result.goal.is_met(result.value)]
    assert not missed
