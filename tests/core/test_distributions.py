"""Distributions over levels: moments, cumulative shares, quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhokit.core.distributions import cell_edges, cumulative, mean_and_std, quantiles
from tests.reference import regression_oracles as oracle
from tests.support import assert_close, at_most, to_numpy

SHARES = np.array([0.01, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999])


def some(seed, n=12, m=7):
    """Distributions (n, m) and ascending, equally spaced levels (m,)."""
    rng = np.random.default_rng(seed)
    low, width = rng.normal(), rng.uniform(0.1, 10)
    return rng.dirichlet(np.full(m, 0.7), n), low + width * np.linspace(0, 1, m)


def on(xp, *arrays):
    return [xp.asarray(array) for array in arrays]


class TestMoments:
    def test_definition(self, xp):
        chances, levels = some(0)
        expected = [oracle.mean_and_std(row, levels) for row in chances]
        for found, wanted in zip(
            mean_and_std(*on(xp, chances, levels)), np.transpose(expected), strict=True
        ):
            assert_close(found, wanted)

    def test_certainty_has_no_spread(self, xp):
        mean, std = mean_and_std(*on(xp, np.eye(3), np.array([1e9, 1e9 + 1, 1e9 + 2])))
        assert_close(mean, np.array([1e9, 1e9 + 1, 1e9 + 2]))
        assert_close(std, np.zeros(3))

    def test_spread_does_not_cancel_far_from_zero(self, xp):
        """The mean of squares less the squared mean would give noise here."""
        _, std = mean_and_std(*on(xp, np.full((1, 2), 0.5), np.array([1e9, 1e9 + 2])))
        assert_close(std, np.ones(1))


class TestCells:
    def test_edges_lie_between_levels_and_end_with_them(self, xp):
        edges = cell_edges(xp.asarray(np.array([0.0, 1.0, 2.0, 3.0])))
        assert_close(edges, np.array([0.0, 0.5, 1.5, 2.5, 3.0]))

    def test_cumulative_runs_from_zero_to_one(self, xp):
        chances = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 5.0]])  # of any sum
        expected = np.array([[0, 0.25, 0.75, 1], [0, 0, 0, 1]])
        assert_close(cumulative(xp.asarray(chances)), expected)


class TestQuantiles:
    @pytest.mark.parametrize("m", [2, 3, 32])
    def test_invert_the_piecewise_linear_cdf(self, xp, m):
        chances, levels = some(1, m=m)
        expected = [oracle.linear_quantiles(row, levels, SHARES) for row in chances]
        assert_close(quantiles(*on(xp, chances, levels, SHARES)), np.array(expected))

    def test_known_values(self, xp):
        chances = np.array([[0.5, 0.0, 0.5]])  # nothing between 0.5 and 1.5
        shares = np.array([0.25, 0.5, 0.5 + 1e-9, 0.75])
        found = quantiles(*on(xp, chances, np.array([0.0, 1.0, 2.0]), shares))
        assert_close(found, np.array([[0.25, 0.5, 1.5, 1.75]]), "root")

    def test_scale_of_the_chances_does_not_matter(self, xp):
        chances, levels = some(2)
        plain = quantiles(*on(xp, chances, levels, SHARES))
        assert_close(quantiles(*on(xp, 1e-200 * chances, levels, SHARES)), plain)

    def test_levels_that_are_all_equal(self, xp):
        found = quantiles(*on(xp, np.full((2, 4), 0.25), np.full(4, 3.0), SHARES))
        assert_close(found, np.full((2, len(SHARES)), 3.0))

    @given(seed=st.integers(0, 2**31), m=st.integers(2, 9))
    def test_rise_with_the_share_inside_the_range(self, xp, seed, m):
        chances, levels = some(seed, n=4, m=m)
        chances[0] = np.eye(m)[seed % m]  # all in one cell
        found = to_numpy(quantiles(*on(xp, chances, levels, SHARES)))
        assert at_most(found[:, :-1], found[:, 1:])
        assert at_most(levels[0], found.min())
        assert at_most(found.max(), levels[-1])
