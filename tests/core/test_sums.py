"""What all exact states share: parts of them, mixtures, weights that cancel."""

import numpy as np
import pytest

from rhokit.core import DensityMatrix, FeatureMean, ToeplitzDensityMatrix
from rhokit.core.sums import inverse_weight, remaining_weight
from tests.support import assert_close, assert_same_state, to_numpy

SPECTRUM = np.array([[0.5, 0.3], [1.0, 0.7], [0.4, 0.2]])


def make(kind, xp, rows, outcomes):
    """The state of rows (n, 2): features, or angles of a series."""
    rows, outcomes = xp.asarray(rows), xp.asarray(outcomes)
    if kind is ToeplitzDensityMatrix:
        return kind.from_angles(rows, xp.asarray(SPECTRUM), outcomes)
    return kind.from_states(rows, outcomes)


def doubles(xp, *values):
    return xp.asarray(np.array(values))


@pytest.fixture(params=[DensityMatrix, FeatureMean, ToeplitzDensityMatrix])
def kind(request):
    return request.param


@pytest.fixture
def rows():
    return np.random.default_rng(3).normal(size=(7, 2))


@pytest.fixture
def outcomes():
    weights = np.random.default_rng(4).uniform(size=(7, 3))
    weights[::2, 1] = 0
    return weights


class TestOutcomes:
    @pytest.mark.parametrize("k", range(3))
    def test_one_of_them(self, kind, xp, rows, outcomes, k):
        alone = make(kind, xp, rows, outcomes).outcome(k)
        assert type(alone) is kind
        assert_same_state(alone, make(kind, xp, rows, outcomes[:, k : k + 1]))

    @pytest.mark.parametrize(
        "shares",
        [np.eye(3), [[1, 1, 1]], [[0, 2.5, 0], [0.1, 0.2, 0.7]], [[0, 0, 0]]],
        ids=["each", "all", "parts", "nothing"],
    )
    def test_mixed_are_those_of_rows_with_mixed_weights(
        self, kind, xp, rows, outcomes, shares
    ):
        shares = np.array(shares, float)
        mixed = make(kind, xp, rows, outcomes).mix(xp.asarray(shares))
        assert type(mixed) is kind
        assert_same_state(mixed, make(kind, xp, rows, outcomes @ shares.T))

    def test_no_row_is_spread_elsewhere(self, kind, xp, rows, outcomes):
        moved = np.zeros((7, 5))
        moved[:, [4, 0, 1]] = outcomes
        spread = make(kind, xp, rows, outcomes).spread([4, 0, 1], 5)
        assert type(spread) is kind
        assert_same_state(spread, make(kind, xp, rows, moved))

    def test_means(self, kind, xp, rows, outcomes):
        outcomes[:, 2] = 0
        state = make(kind, xp, rows, outcomes)
        total, weight = to_numpy(state.total), outcomes.sum(axis=0)
        means = to_numpy(state.normalized())
        for k in range(2):
            assert_close(means[k], total[k] / weight[k])
        assert not means[2].any()


class TestWeights:
    def test_inverse(self, xp):
        inverse = inverse_weight(doubles(xp, 4.0, 0.0, 0.1))
        assert_close(inverse, np.array([0.25, 0, 10]))

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
    def test_what_rounding_leaves_is_nothing(self, kind, xp, rows, scale):
        """Tenths forgotten one by one: ten of them are not quite one."""
        tenth = make(kind, xp, rows[:1], np.full((1, 1), 0.1 * scale))
        left = make(kind, xp, rows[:1], np.full((1, 1), 1.0 * scale))
        for _ in range(10):
            left = left - tenth
        assert to_numpy(left.weight).tolist() == [0]

    @pytest.mark.parametrize("share", [1e-6, 0.5, 1.0])
    def test_small_weights_stay(self, xp, share):
        left = remaining_weight(doubles(xp, 3.0, 1.0), doubles(xp, 3 - share, 0.0))
        np.testing.assert_allclose(to_numpy(left), [share, 1.0], rtol=1e-9)

    @pytest.mark.parametrize(
        ("weight", "forgotten"), [(1.0, 1.0 + 1e-12), (1e9, 1e9 + 0.1), (0.0, 1e-10)]
    )
    def test_a_shortfall_of_rounding_is_forgiven(self, xp, weight, forgotten):
        left = remaining_weight(doubles(xp, weight), doubles(xp, forgotten))
        assert to_numpy(left).tolist() == [0]

    @pytest.mark.parametrize(
        ("weight", "forgotten"), [(1.0, 1.0 + 1e-8), (1e9, 1e9 + 10.0), (0.0, 1e-8)]
    )
    def test_a_larger_one_is_refused(self, xp, weight, forgotten):
        seen, gone = (doubles(xp, 5.0, w) for w in (weight, forgotten))
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            remaining_weight(seen, gone)


class TestErrors:
    def test_kinds_do_not_mix(self, xp, rows, outcomes):
        kinds = [DensityMatrix, FeatureMean, ToeplitzDensityMatrix]
        for left in kinds:
            for right in set(kinds) - {left}:
                states = [make(kind, xp, rows, outcomes) for kind in (left, right)]
                with pytest.raises(TypeError, match="unsupported operand"):
                    states[0] + states[1]
                with pytest.raises(TypeError, match="unsupported operand"):
                    states[0] - states[1]

    def test_sum_starts_from_nothing_but_zero(self, kind, xp, rows, outcomes):
        state = make(kind, xp, rows, outcomes)
        assert_same_state(sum([state]), state)
        with pytest.raises(TypeError, match="unsupported operand"):
            sum([state], 1)
        with pytest.raises(TypeError, match="unsupported operand"):
            state - 0

    def test_outcomes_of_different_numbers(self, kind, xp, rows, outcomes):
        left, right = (make(kind, xp, rows, outcomes[:, :k]) for k in (3, 1))
        with pytest.raises(ValueError, match=r"totals are \(3, .*\) and \(1, "):
            left + right
        with pytest.raises(ValueError, match=r"totals are \(3, .*\) and \(1, "):
            left - right
