"""Corrections by what was missed, against their definition and their promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.readouts.conformal import offset_for_coverage, offset_for_level
from tests.reference.regression_oracles import conformal_offset

values = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=25)
shares = st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99])


def whole_mean(counts):
    """Raise the last count so that the mean is a whole number."""
    counts = np.array(counts)
    counts[-1] += -counts.sum() % len(counts)
    return counts


class TestDefinition:
    @given(missed=values, coverage=shares)
    def test_rows_that_count_alike(self, missed, coverage):
        missed, one = np.array(missed), np.ones(len(missed), int)
        expected = conformal_offset(missed, one, coverage)
        assert offset_for_coverage(missed, one.astype(float), coverage) == expected

    @given(missed=values, coverage=shares, data=st.data())
    def test_weight_k_is_k_copies(self, missed, coverage, data):
        """The row to come counts as a row of mean weight."""
        n = len(missed)
        counts = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
        missed, counts = np.array(missed), whole_mean(counts)
        expected = conformal_offset(missed, counts, coverage)
        assert offset_for_coverage(missed, counts.astype(float), coverage) == expected

    @pytest.mark.parametrize("n", [9, 10, 19, 20, 99, 100])
    @pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
    def test_is_the_usual_order_statistic(self, n, coverage):
        """The ⌈(n+1)·coverage⌉-th of n, or the last."""
        missed = np.random.default_rng(n).permutation(n).astype(float)
        rank = min(n, int(np.ceil((n + 1) * coverage - 1e-9)))
        assert offset_for_coverage(missed, np.ones(n), coverage) == rank - 1

    @given(error=values, share=shares)
    def test_a_share_from_either_side(self, error, share):
        error, one = np.array(error), np.ones(len(error))
        found = offset_for_level(error, one, share)
        if share >= 0.5:
            assert found == offset_for_coverage(error, one, share)
        else:
            assert found == -offset_for_coverage(-error, one, 1 - share)

    @given(error=values, share=shares.filter(lambda share: share != 0.5))
    def test_mirrored_errors_give_mirrored_offsets(self, error, share):
        error, one = np.array(error), np.ones(len(error))
        mirrored = offset_for_level(-error, one, 1 - share)
        assert offset_for_level(error, one, share) == -mirrored


class TestProperties:
    @pytest.mark.parametrize("function", [offset_for_coverage, offset_for_level])
    @given(missed=values, share=shares, scale=st.sampled_from([1e-6, 0.3, 1e6]))
    def test_units_of_weights_do_not_matter(self, function, missed, share, scale):
        missed = np.array(missed)
        weight = np.random.default_rng(0).integers(1, 5, len(missed)).astype(float)
        assert function(missed, weight, share) == function(
            missed, scale * weight, share
        )

    @pytest.mark.parametrize("function", [offset_for_coverage, offset_for_level])
    @given(missed=values, share=shares, order=st.randoms(use_true_random=False))
    def test_order_of_rows_does_not_matter(self, function, missed, share, order):
        weight = np.random.default_rng(0).integers(1, 5, len(missed)).astype(float)
        places = list(range(len(missed)))
        order.shuffle(places)
        shuffled = np.array(missed)[places], weight[places]
        assert function(*shuffled, share) == function(np.array(missed), weight, share)

    @given(missed=values)
    def test_more_coverage_never_takes_less(self, missed):
        missed, one = np.array(missed), np.ones(len(missed))
        offsets = [offset_for_coverage(missed, one, c) for c in np.arange(1, 100) / 100]
        assert np.all(np.diff(offsets) >= 0)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_one_row(self, share):
        one = np.ones(1)
        assert offset_for_coverage(np.array([3.0]), one, share) == 3.0
        assert offset_for_level(np.array([3.0]), one, share) == 3.0


class TestPromise:
    """Simulated: calibrate on a few rows, then look at one more of the same kind."""

    N, TRIALS = 30, 4000

    def outcome(self, offset_of, level):
        """Share of rows to come that are at most the offset of the others."""
        rng = np.random.default_rng(0)
        draws = rng.standard_cauchy((self.TRIALS, self.N + 1))
        one = np.ones(self.N)
        held = [draw[-1] <= offset_of(draw[:-1], one, level) for draw in draws]
        return np.mean(held)

    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
    def test_coverage_holds_for_few_rows(self, coverage):
        found = self.outcome(offset_for_coverage, coverage)
        slack = 3 * np.sqrt(coverage * (1 - coverage) / self.TRIALS)
        assert found > coverage - slack
        assert found < coverage + 1 / (self.N + 1) + slack

    @pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8, 0.95])
    def test_quantiles_have_their_share(self, share):
        found = self.outcome(offset_for_level, share)
        slack = 1 / (self.N + 1) + 3 * np.sqrt(share * (1 - share) / self.TRIALS)
        assert_allclose(found, share, atol=slack)
        # Towards the middle they never err: extremes are as extreme as they say.
        if share >= 0.5:
            assert found > share - slack + 1 / (self.N + 1)
        else:
            assert found < share + slack - 1 / (self.N + 1)
