"""DensityMatrix and LowRankDensityMatrix against their definitions."""

from dataclasses import FrozenInstanceError

import array_api_strict
import numpy as np
import pytest
import torch

from rhokit.core import DensityMatrix, FeatureMean, LowRankDensityMatrix
from tests.reference import core_oracles as oracle
from tests.support import (
    NAMESPACES,
    assert_close,
    assert_same_state,
    random_array,
    random_states,
    to_numpy,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def weighted_rows(rng, dtype, n=20, dim=5, n_outcomes=3):
    """States of any length with weights, a third of them zero."""
    outcomes = rng.uniform(size=(n, n_outcomes)) * rng.integers(0, 3, (n, n_outcomes))
    return random_array(rng, (n, dim), dtype), outcomes


def make(xp, states, outcomes=None):
    outcomes = None if outcomes is None else xp.asarray(outcomes)
    return DensityMatrix.from_states(xp.asarray(states), outcomes)


class TestAgainstDefinition:
    def test_sums(self, xp, dtype, rng):
        states, outcomes = weighted_rows(rng, dtype)
        state = make(xp, states, outcomes)
        assert_close(state.total, oracle.outer_sums(states, outcomes))
        assert_close(state.weight, outcomes.sum(axis=0))
        assert (state.n_outcomes, state.dim) == (3, 5)

    def test_one_outcome_of_weight_one_is_the_default(self, xp, dtype, rng):
        states, _ = weighted_rows(rng, dtype)
        assert_same_state(make(xp, states), make(xp, states, np.ones((20, 1))))

    def test_born(self, xp, dtype, rng):
        states, outcomes = weighted_rows(rng, dtype)
        probes = random_array(rng, (7, 5), dtype)
        rho = oracle.means(oracle.outer_sums(states, outcomes), outcomes)
        state = make(xp, states, outcomes)
        expected = oracle.born(rho, probes)
        assert_close(state.normalized(), rho)
        assert_close(state.born(xp.asarray(probes)), expected)
        assert_close(state.factorize().born(xp.asarray(probes)), expected, "solve")

    def test_a_pure_state_measures_squared_overlaps(self, xp, dtype, rng):
        phi, psi = random_states(rng, 2, 4, dtype)
        measured = make(xp, phi[None]).born(xp.asarray(psi[None]))
        assert_close(measured, np.abs(psi.conj() @ phi)[None, None] ** 2)

    def test_eigenvalues_descend(self, xp, dtype, rng):
        states, outcomes = weighted_rows(rng, dtype)
        state = make(xp, states, outcomes)
        values = np.linalg.eigvalsh(to_numpy(state.normalized()))[:, ::-1]
        assert_close(state.eigenvalues(), values, "solve")

    def test_eigenvalues_are_never_below_zero(self, xp, dtype, rng):
        state = make(xp, random_array(rng, (2, 6), dtype))
        assert (to_numpy(state.eigenvalues()) >= 0).all()

    def test_weights_of_whole_numbers_keep_their_digits(self, xp, dtype, rng):
        states, _ = weighted_rows(rng, dtype)
        weights = rng.integers(0, 4, (20, 2))
        # A square root of 8-bit numbers would be taken in half precision.
        small = make(xp, states, weights.astype(np.uint8))
        assert_same_state(small, make(xp, states, weights.astype(float)))


class TestFactors:
    @pytest.mark.parametrize(
        ("kwargs", "rank"),
        [({"rank": 2}, 2), ({"rank": 0.5}, 3), ({"rank": 99}, 5), ({}, 5)],
        ids=str,
    )
    def test_rank(self, xp, dtype, rng, kwargs, rank):
        state = make(xp, *weighted_rows(rng, dtype))
        factored = state.factorize(**kwargs)
        assert tuple(factored.factor.shape) == (3, rank, 5)
        assert (factored.n_outcomes, factored.rank, factored.dim) == (3, rank, 5)

    def test_eigenvalues_are_not_renormalised(self, xp, dtype):
        states = np.eye(4, dtype=dtype)
        state = make(xp, states, np.array([[4.0], [3.0], [2.0], [1.0]]))
        measured = state.factorize(2).born(xp.asarray(states))
        assert_close(measured, np.array([[0.4], [0.3], [0.0], [0.0]]))

    def test_outcomes_of_different_rank_are_filled_up_with_zeros(self, xp, dtype):
        states = np.eye(3, dtype=dtype)
        state = make(xp, states, np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]))
        factored = state.factorize(energy=0.9)
        assert tuple(factored.factor.shape) == (2, 3, 3)
        assert not to_numpy(factored.factor)[0, 1:].any()
        assert_close(factored.normalized(), state.normalized())

    def test_a_matrix_that_rounding_made_indefinite(self, xp, dtype, rng):
        rho = make(xp, random_states(rng, 2, 5, dtype)).normalized()
        shifted = rho - 1e-13 * xp.eye(5, dtype=rho.dtype)
        state = DensityMatrix(shifted, xp.ones(1, dtype=xp.float64))
        assert_close(state.factorize().normalized(), rho)

    def test_merge_weighs_both_sides(self, xp, dtype):
        up, down = np.eye(2, dtype=dtype)[:, None, :]
        left = make(xp, up).scale(3.0).factorize()
        merged = left.merge(make(xp, down).factorize(), rank=2)
        assert_close(merged.normalized(), np.diag([0.75, 0.25])[None].astype(dtype))
        assert_close(merged.weight, np.array([4.0]))
        assert left.merge(left, rank=1).rank == 1


class TestNothingSeen:
    """An outcome without weight measures zero; nothing warns."""

    @pytest.mark.parametrize(
        "kwargs",
        [{}, {"rank": 2}, {"rank": 0.5}, {"rank": "elbow"}, {"energy": 0.9}],
        ids=str,
    )
    def test_an_unseen_outcome_measures_zero(self, xp, dtype, rng, kwargs):
        states, outcomes = weighted_rows(rng, dtype)
        outcomes[:, 1] = 0
        state = make(xp, states, outcomes)
        assert not to_numpy(state.born(xp.asarray(states)))[:, 1].any()
        factored = state.factorize(**kwargs)
        assert not to_numpy(factored.born(xp.asarray(states)))[:, 1].any()
        assert not to_numpy(factored.merge(factored, 2).normalized())[1].any()

    def test_no_rows(self, xp, dtype):
        state = make(xp, np.zeros((0, 3), dtype))
        assert_close(state.weight, np.zeros(1))
        assert_close(state.normalized(), np.zeros((1, 3, 3), dtype))


class TestTypes:
    @pytest.mark.parametrize("single", ["float32", "complex64"])
    def test_single_precision_states_sum_in_double(self, xp, single, rng):
        states = random_states(rng, 50, 6, single)
        double = np.result_type(single, "float64")
        state = make(xp, states)
        assert to_numpy(state.total).dtype == double
        assert to_numpy(state.weight).dtype == np.float64
        measured = state.born(xp.asarray(states))
        assert to_numpy(measured).dtype == np.float32
        exact = make(np, states.astype(double)).born(states.astype(double))
        assert_close(measured, exact, precision="single")
        assert_close(
            state.factorize().born(xp.asarray(states)), exact, precision="single"
        )

    @pytest.mark.parametrize(
        ("precision", "name"),
        [
            ("double", "float64"),
            ("double", "complex128"),
            ("single", "float32"),
            ("single", "complex64"),
        ],
    )
    def test_numpy_equals_torch(self, precision, name, rng):
        states = random_states(rng, 40, 6, name)
        outcomes = rng.uniform(size=(40, 2)).astype(states.real.dtype)
        basis = random_array(rng, (6, 4), name) / 4

        def results(xp):
            state = make(xp, states, outcomes)
            smaller = state.change_basis(xp.asarray(basis))
            probes = xp.asarray(states)
            yield state.born(probes)
            yield (state - make(xp, states[:9], outcomes[:9])).born(probes)
            yield state.factorize(3).born(probes)
            yield smaller.factorize().fold(xp.asarray(basis)).born(probes)

        numpy, torch_ = (list(results(NAMESPACES[n])) for n in ("numpy", "torch"))
        for left, right in zip(numpy, torch_, strict=True):
            assert_close(right, left, "solve", precision)

    def test_basis_of_another_type(self, xp, dtype, rng):
        states, outcomes = weighted_rows(rng, dtype)
        state = make(xp, states, outcomes)
        for other in ("float32", "float64", "complex128"):
            basis = random_array(rng, (5, 2), other)
            changed = state.change_basis(xp.asarray(basis))
            assert_same_state(changed, make(xp, states @ basis, outcomes))
            folded = state.factorize().fold(xp.asarray(basis.T.copy()))
            expected = to_numpy(state.factorize().factor) @ basis
            assert_close(folded.factor, expected)

    def test_results_stay_on_the_device_of_the_states(self, dtype):
        xp, device = array_api_strict, array_api_strict.Device("device1")
        states = xp.asarray(np.eye(3, dtype=dtype), device=device)
        # The outcomes differ in rank, so that factors are filled up.
        outcomes = xp.asarray(np.array([[1.0, 1], [0, 1], [0, 1]]), device=device)
        for state in (
            DensityMatrix.from_states(states),
            DensityMatrix.from_states(states, outcomes),
        ):
            assert (state - state).born(states).device == device
            for kwargs in ({}, {"rank": 2}, {"rank": "elbow"}, {"energy": 0.9}):
                factored = state.factorize(**kwargs)
                assert factored.born(states).device == device
                assert factored.merge(factored, rank=2).born(states).device == device

    def test_gradients_flow_through_the_factor(self, dtype, rng):
        factor = torch.asarray(random_array(rng, (2, 3, 4), dtype), requires_grad=True)
        states = torch.asarray(random_array(rng, (5, 4), dtype), requires_grad=True)
        weight = torch.ones(2, dtype=torch.float64)

        def born(factor, states):
            return LowRankDensityMatrix(factor, weight).born(states)

        assert torch.autograd.gradcheck(born, (factor, states))


class TestValue:
    def test_states_are_frozen(self, xp, rng):
        state = make(xp, random_states(rng, 3, 2))
        with pytest.raises(FrozenInstanceError):
            state.total = None
        with pytest.raises(FrozenInstanceError):
            state.factorize().factor = None

    def test_no_operation_changes_a_byte(self, xp, dtype, rng):
        states, outcomes = weighted_rows(rng, dtype)
        rows, weights = xp.asarray(states.copy()), xp.asarray(outcomes.copy())
        state = DensityMatrix.from_states(rows, weights)
        before = to_numpy(state.total).tobytes(), to_numpy(state.weight).tobytes()
        factored = state.factorize(2)
        factored.merge(factored, 2)
        for made in (state, state.scale(0.5), state + state, state - state):
            made.born(rows)
        after = to_numpy(state.total).tobytes(), to_numpy(state.weight).tobytes()
        assert before == after
        assert to_numpy(rows).tobytes() == states.tobytes()
        assert to_numpy(weights).tobytes() == outcomes.tobytes()

    def test_only_states_of_the_same_kind_add(self, xp, rng):
        rows = xp.asarray(random_states(rng, 3, 2))
        state, mean = DensityMatrix.from_states(rows), FeatureMean.from_states(rows)
        for other in (1, mean, state.factorize()):
            with pytest.raises(TypeError, match="unsupported operand"):
                state + other
            with pytest.raises(TypeError, match="unsupported operand"):
                state - other

    def test_truncated_states_have_no_operators(self, xp, rng):
        factored = make(xp, random_states(rng, 3, 2)).factorize()
        with pytest.raises(TypeError, match="unsupported operand"):
            factored + factored


class TestErrors:
    @pytest.mark.parametrize("shape", [(2, 2), (1, 2, 3), (1, 1, 2, 2)])
    def test_shape_of_total(self, xp, shape):
        with pytest.raises(ValueError, match=r"total must have shape \(K, D, D\)"):
            DensityMatrix(xp.zeros(shape), xp.ones(shape[0]))

    def test_shape_of_factor(self, xp):
        with pytest.raises(ValueError, match=r"factor must have shape \(K, r, D\)"):
            LowRankDensityMatrix(xp.zeros((2, 2)), xp.ones(2))

    @pytest.mark.parametrize("kind", [DensityMatrix, LowRankDensityMatrix])
    @pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
    def test_shape_of_weight(self, xp, kind, shape):
        with pytest.raises(ValueError, match=r"weight must have shape \(2,\)"):
            kind(xp.zeros((2, 3, 3)), xp.ones(shape))

    def test_shape_of_states(self, xp):
        with pytest.raises(ValueError, match=r"states must have shape \(n, D\)"):
            DensityMatrix.from_states(xp.ones(3))

    # One row of outcomes would broadcast over all states, and sum to a wrong weight.
    @pytest.mark.parametrize("shape", [(4,), (1, 2), (3, 2), (4, 1, 1)])
    def test_shape_of_outcomes(self, xp, shape):
        with pytest.raises(ValueError, match=r"outcomes must have shape \(4, K\)"):
            DensityMatrix.from_states(xp.ones((4, 3)), xp.ones(shape))

    def test_negative_weight(self, xp):
        with pytest.raises(ValueError, match="weights of rows must not be negative"):
            make(xp, np.eye(2), np.array([[1.0], [-0.5]]))

    @pytest.mark.parametrize("shape", [(3, 3, 1), (3, 2, 2)])
    def test_states_of_different_shapes(self, xp, shape):
        n, dim, n_outcomes = shape
        left = make(xp, np.ones((3, 3)), np.ones((3, 2)))
        right = make(xp, np.ones((n, dim)), np.ones((n, n_outcomes)))
        with pytest.raises(ValueError, match=r"\(2, 3, 3\) and"):
            left + right
        with pytest.raises(ValueError, match=r"\(2, 3, 3\) and"):
            left - right
        with pytest.raises(ValueError, match=r"\(K, D\) = \(2, 3\)"):
            left.factorize().merge(right.factorize(), rank=1)

    def test_forgetting_more_than_was_seen(self, xp):
        state = make(xp, np.eye(2), np.eye(2))
        more = make(xp, np.ones((2, 2)), np.array([[0.0, 1.0], [0.0, 1.0]]))
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            state - more

    @pytest.mark.parametrize("factor", [0, -1.0, np.inf, np.nan])
    def test_factor(self, xp, factor):
        state = make(xp, np.eye(2))
        for scaled in (state, state.factorize()):
            with pytest.raises(ValueError, match="factor must be a positive number"):
                scaled.scale(factor)

    @pytest.mark.parametrize("rank", [0, -1, 0.0, 1.5, "knee"])
    def test_rank(self, xp, rank):
        with pytest.raises(ValueError, match=r"rank must be .*got"):
            make(xp, np.eye(2)).factorize(rank)

    @pytest.mark.parametrize("energy", [0, -0.1, 1.1, np.nan])
    def test_energy(self, xp, energy):
        with pytest.raises(ValueError, match=r"energy must lie in \(0, 1\]"):
            make(xp, np.eye(2)).factorize(energy=energy)

    @pytest.mark.parametrize("rank", [0, -1])
    def test_rank_of_a_merge(self, xp, rank):
        factored = make(xp, np.eye(2)).factorize()
        with pytest.raises(ValueError, match=r"rank must be .*got"):
            factored.merge(factored, rank)
