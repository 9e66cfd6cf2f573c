"""FeatureMean against its definition."""

from dataclasses import FrozenInstanceError

import array_api_strict
import numpy as np
import pytest

from rhokit.core import DensityMatrix, FeatureMean
from tests.reference import core_oracles as oracle
from tests.support import (
    assert_close,
    assert_same_state,
    random_array,
    random_states,
    to_numpy,
)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def make(xp, states, outcomes=None):
    outcomes = None if outcomes is None else xp.asarray(outcomes)
    return FeatureMean.from_states(xp.asarray(states), outcomes)


def test_sums_and_overlaps(xp, dtype, rng):
    states, probes = random_array(rng, (12, 4), dtype), random_array(rng, (5, 4), dtype)
    outcomes = rng.uniform(size=(12, 3))
    state = make(xp, states, outcomes)
    assert (state.n_outcomes, state.dim) == (3, 4)
    total = oracle.feature_sums(states, outcomes)
    mean = oracle.means(total, outcomes)
    assert_close(state.total, total)
    assert_close(state.weight, outcomes.sum(axis=0))
    assert_close(state.normalized(), mean)
    assert_close(state.overlap(xp.asarray(probes)), oracle.overlaps(mean, probes))


def test_overlaps_may_be_negative(xp):
    assert_close(make(xp, np.eye(1)).overlap(xp.asarray(-np.eye(1))), -np.eye(1))


def test_an_unseen_outcome_measures_zero(xp, dtype, rng):
    states = random_array(rng, (3, 2), dtype)
    state = make(xp, states, np.array([[1.0, 0.0]] * 3))
    assert not to_numpy(state.overlap(xp.asarray(states)))[:, 1].any()


@pytest.mark.parametrize("single", ["float32", "complex64"])
def test_single_precision_states_sum_in_double(xp, single, rng):
    states = random_states(rng, 50, 6, single)
    state = make(xp, states)
    double = np.result_type(single, "float64")
    assert to_numpy(state.total).dtype == double
    exact = make(np, states.astype(double)).overlap(states.astype(double))
    overlap = state.overlap(xp.asarray(states))
    assert to_numpy(overlap).dtype == np.float32
    assert_close(overlap, exact, precision="single")


def test_weights_of_whole_numbers(xp, dtype, rng):
    states, weights = random_array(rng, (9, 2), dtype), rng.integers(0, 4, (9, 2))
    small = make(xp, states, weights.astype(np.uint8))
    assert_same_state(small, make(xp, states, weights.astype(float)))


def test_basis_of_another_type(xp, dtype, rng):
    states = random_array(rng, (6, 4), dtype)
    for other in ("float32", "float64", "complex128"):
        basis = random_array(rng, (4, 3), other)
        changed = make(xp, states).change_basis(xp.asarray(basis))
        assert_same_state(changed, make(xp, states @ basis))


def test_results_stay_on_the_device_of_the_states(dtype, rng):
    device = array_api_strict.Device("device1")
    states = array_api_strict.asarray(random_states(rng, 4, 3, dtype), device=device)
    assert FeatureMean.from_states(states).overlap(states).device == device


def test_states_are_frozen(xp):
    with pytest.raises(FrozenInstanceError):
        make(xp, np.eye(2)).total = None


class TestErrors:
    @pytest.mark.parametrize("shape", [(2,), (2, 3, 3)])
    def test_shape_of_total(self, xp, shape):
        with pytest.raises(ValueError, match=r"total must have shape \(K, D\)"):
            FeatureMean(xp.zeros(shape), xp.ones(2))

    @pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
    def test_shape_of_weight(self, xp, shape):
        with pytest.raises(ValueError, match=r"weight must have shape \(2,\)"):
            FeatureMean(xp.zeros((2, 3)), xp.ones(shape))

    def test_shape_of_states(self, xp):
        with pytest.raises(ValueError, match=r"states must have shape \(n, D\)"):
            FeatureMean.from_states(xp.ones(3))

    @pytest.mark.parametrize("shape", [(4,), (1, 2), (3, 2)])
    def test_shape_of_outcomes(self, xp, shape):
        with pytest.raises(ValueError, match=r"outcomes must have shape \(4, K\)"):
            FeatureMean.from_states(xp.ones((4, 3)), xp.ones(shape))

    def test_negative_weight(self, xp):
        with pytest.raises(ValueError, match="weights of rows must not be negative"):
            make(xp, np.eye(2), np.array([[1.0], [-0.5]]))

    # A single outcome, or a single dimension, would broadcast over the others.
    @pytest.mark.parametrize(("dim", "n_outcomes"), [(3, 1), (1, 2)])
    def test_states_of_different_shapes(self, xp, dim, n_outcomes):
        left = make(xp, np.ones((3, 3)), np.ones((3, 2)))
        right = make(xp, np.ones((3, dim)), np.ones((3, n_outcomes)))
        with pytest.raises(ValueError, match=r"\(2, 3\) and"):
            left + right
        with pytest.raises(ValueError, match=r"\(2, 3\) and"):
            left - right

    def test_forgetting_more_than_was_seen(self, xp):
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            make(xp, np.eye(2)) - make(xp, np.ones((3, 2)))

    @pytest.mark.parametrize("factor", [0, -1.0, np.inf, np.nan])
    def test_factor(self, xp, factor):
        with pytest.raises(ValueError, match="factor must be a positive number"):
            make(xp, np.eye(2)).scale(factor)

    def test_only_states_of_the_same_kind_add(self, xp):
        state = make(xp, np.eye(2))
        for other in (1, DensityMatrix.from_states(xp.asarray(np.eye(2)))):
            with pytest.raises(TypeError, match="unsupported operand"):
                state + other
            with pytest.raises(TypeError, match="unsupported operand"):
                state - other
