"""The section of grids on a few rows."""

import pytest
from numpy.testing import assert_allclose

from benchmarks.goals import grid
from tests.benchmarks.test_sections import goals, values


def test_errors_are_below_their_goals():
    results = list(grid.exactness(sizes=(10, 100), n_queries=20))
    assert goals(results) == 8
    assert all(r.goal.is_met(r.value) for r in results)
    assert all(r.goal.is_met(r.value) for r in grid.against_dense(n=100))


@pytest.mark.parametrize("d", [1, 2])
def test_the_bare_rival_computes_the_same(d):
    (result,) = values(grid.against_bare(1, 1, d, n=500, n_queries=300)).values()
    assert result.details["error_over_peak"] < 1e-8
    assert result.details["bare_error_over_peak"] < 1e-7


def test_rivals_for_plots_and_trees():
    results = values(grid.against_kdepy(1, 1, n=500, n_points=64))
    assert goals(results.values()) == 2
    assert goals(grid.against_trees(1, n=500, n_queries=300, n_timed=20)) == 2


def test_bandwidths():
    results = list(grid.bandwidths(1, n=2_000))
    assert len(results) == 3
    found = results[0].details["bandwidths"]
    assert_allclose(found["sheather_jones"], found["scott"], rtol=0.3)
