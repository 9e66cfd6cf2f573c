"""Quantum-information read-outs: known values, laws and loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhokit.core import (
    DensityMatrix,
    effective_rank,
    fidelity,
    hilbert_schmidt_distance,
    holevo_bound,
    mutual_information,
    partial_trace,
    purity,
    relative_entropies,
    relative_entropy,
    trace_distance,
    von_neumann_entropy,
)
from tests.reference import core_oracles as oracle
from tests.support import (
    assert_close,
    at_most,
    density_pairs,
    random_array,
    random_density,
    random_states,
    random_unitary,
    to_numpy,
)

OF_ONE = [purity, von_neumann_entropy, effective_rank]
OF_TWO = [fidelity, trace_distance, hilbert_schmidt_distance]


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def pure(state):
    return np.outer(state, state.conj())


def arrays(xp, pair):
    return [xp.asarray(matrix) for matrix in pair]


class TestKnownValues:
    @pytest.mark.parametrize("dim", [1, 2, 5])
    def test_pure_and_fully_mixed(self, xp, dtype, rng, dim):
        state = xp.asarray(pure(random_states(rng, 1, dim, dtype)[0]))
        assert_close(purity(state), np.array(1.0))
        assert_close(von_neumann_entropy(state), np.array(0.0), "solve")
        assert_close(effective_rank(state), np.array(1.0), "solve")
        mixed = xp.asarray(np.eye(dim, dtype=dtype) / dim)
        assert_close(purity(mixed), np.array(1 / dim))
        assert_close(von_neumann_entropy(mixed), np.array(math.log(dim)))
        assert_close(effective_rank(mixed), np.array(float(dim)))

    def test_diagonal_matrices_are_probabilities(self, xp, dtype):
        p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.8])
        rho, sigma = arrays(xp, (np.diag(p).astype(dtype), np.diag(q).astype(dtype)))
        assert_close(purity(rho), np.sum(p**2))
        assert_close(von_neumann_entropy(rho), np.array(oracle.entropy(p)))
        assert_close(fidelity(rho, sigma), np.sum(np.sqrt(p * q)) ** 2)
        assert_close(trace_distance(rho, sigma), np.abs(p - q).sum() / 2)
        assert_close(hilbert_schmidt_distance(rho, sigma), np.linalg.norm(p - q))

    def test_pure_states_overlap(self, xp, dtype, rng):
        a, b = random_states(rng, 2, 4, dtype)
        pair = arrays(xp, (pure(a), pure(b)))
        overlap = np.abs(a.conj() @ b) ** 2
        assert_close(fidelity(*pair), overlap, "root")
        assert_close(trace_distance(*pair), np.sqrt(1 - overlap), "solve")

    def test_orthogonal_states_are_farthest(self, xp, dtype):
        pair = arrays(xp, [pure(row) for row in np.eye(2, dtype=dtype)])
        assert_close(fidelity(*pair), np.array(0.0))
        assert_close(trace_distance(*pair), np.array(1.0))
        assert_close(hilbert_schmidt_distance(*pair), np.sqrt(2.0))

    def test_fidelity_is_the_definition(self, xp, dtype, rng):
        pair = [random_density(rng, 4, dtype) for _ in range(2)]
        expected = np.array(oracle.fidelity(*pair))
        assert_close(fidelity(*arrays(xp, pair)), expected, "solve")


class TestLaws:
    @given(pair=density_pairs())
    def test_ranges(self, xp, pair):
        dim = len(pair[0])
        rho, sigma = arrays(xp, pair)
        for low, value, high in (
            (1 / dim, purity(rho), 1),
            (0, von_neumann_entropy(rho), math.log(dim)),
            (1, effective_rank(rho), dim),
            (0, fidelity(rho, sigma), 1),
            (0, trace_distance(rho, sigma), 1),
        ):
            assert at_most(low, value, "root")
            assert at_most(value, float(high), "root")

    @given(pair=density_pairs())
    def test_fuchs_van_de_graaf(self, xp, pair):
        rho, sigma = arrays(xp, pair)
        near = np.clip(to_numpy(fidelity(rho, sigma)), 0, 1)
        far = to_numpy(trace_distance(rho, sigma))
        assert at_most(1 - np.sqrt(near), far, "root")
        assert at_most(far**2, 1 - near, "root")

    @given(pair=density_pairs())
    @pytest.mark.parametrize("function", OF_TWO)
    def test_symmetric(self, xp, function, pair):
        rho, sigma = arrays(xp, pair)
        assert_close(function(rho, sigma), function(sigma, rho), "root")

    @given(pair=density_pairs())
    def test_of_a_state_with_itself(self, xp, pair):
        rho = xp.asarray(pair[0])
        assert_close(fidelity(rho, rho), np.array(1.0), "root")
        assert_close(trace_distance(rho, rho), np.array(0.0))
        assert_close(hilbert_schmidt_distance(rho, rho), np.array(0.0))

    @given(pair=density_pairs(), seed=st.integers(0, 99))
    def test_unitary_invariance(self, xp, pair, seed):
        rng = np.random.default_rng(seed)
        unitary = random_unitary(rng, len(pair[0]), pair[0].dtype.name)
        turned = arrays(xp, [unitary @ rho @ unitary.conj().T for rho in pair])
        straight = arrays(xp, pair)
        for function in OF_ONE:
            assert_close(function(turned[0]), function(straight[0]), "root")
        for function in OF_TWO:
            assert_close(function(*turned), function(*straight), "root")

    @given(pair=density_pairs(), factor=st.floats(0.1, 10))
    def test_brought_to_trace_one_where_promised(self, xp, pair, factor):
        rho, sigma = arrays(xp, pair)
        for function in OF_ONE:
            assert_close(function(factor * rho), function(rho), "root")
        assert_close(fidelity(factor * rho, sigma), fidelity(rho, sigma), "root")

    @given(pair=density_pairs(max_dim=3))
    def test_products_multiply_and_add(self, xp, pair):
        rho, sigma = arrays(xp, pair)
        both = xp.asarray(np.kron(*pair))
        entropies = von_neumann_entropy(rho) + von_neumann_entropy(sigma)
        assert_close(purity(both), purity(rho) * purity(sigma))
        assert_close(von_neumann_entropy(both), entropies, "solve")
        dims = (len(pair[0]), len(pair[1]))
        assert_close(partial_trace(both, dims, keep=0), rho)
        assert_close(partial_trace(both, dims, keep=1), sigma)


class TestRelativeEntropy:
    @pytest.mark.parametrize("dim", [1, 3, 5])
    def test_is_the_definition(self, xp, dtype, rng, dim):
        pair = [random_density(rng, dim, dtype) for _ in range(2)]
        expected = np.array(oracle.relative_entropy(*pair))
        found = relative_entropy(*arrays(xp, (2 * pair[0], pair[1])))
        assert_close(found, expected, "solve")

    def test_of_distributions(self, xp):
        p, q = np.array([0.5, 0.5, 0]), np.array([0.2, 0.3, 0.5])
        found = relative_entropy(*arrays(xp, (np.diag(p), np.diag(q))))
        assert_close(found, np.array(np.sum(p[:2] * np.log(p[:2] / q[:2]))), "solve")
        back = relative_entropy(*arrays(xp, (np.diag(q), np.diag(p))))
        assert float(back) == math.inf

    def test_inside_a_smaller_support(self, xp, dtype, rng):
        basis = random_unitary(rng, 6, dtype)[:, :3]
        small = [random_density(rng, 3, dtype) for _ in range(2)]
        pair = [basis @ rho @ basis.conj().T for rho in small]
        expected = np.array(oracle.relative_entropy(*small))
        assert_close(relative_entropy(*arrays(xp, pair)), expected, "solve")
        outside = random_density(rng, 6, dtype)
        assert float(relative_entropy(*arrays(xp, (outside, pair[1])))) == math.inf

    @given(pair=density_pairs())
    def test_is_positive_and_above_the_distance(self, xp, pair):
        rho, sigma = arrays(xp, pair)
        found = relative_entropy(rho, sigma)
        assert at_most(2 * trace_distance(rho, sigma) ** 2, found, "root")  # Pinsker
        assert_close(relative_entropy(rho, rho), np.array(0.0), "root")

    def test_stacks(self, xp, dtype, rng):
        rho = np.stack([random_density(rng, 3, dtype) for _ in range(4)])
        table = relative_entropy(*arrays(xp, (rho[:, None], rho[None])))
        assert table.shape == (4, 4)
        expected = np.array(oracle.relative_entropy(rho[1], rho[3]))
        assert_close(table[1, 3], expected, "solve")
        assert_close(relative_entropies(xp.asarray(2 * rho)), table, "root")


class TestHolevoBound:
    def test_is_the_mean_relative_entropy_to_the_mixture(self, xp, dtype, rng):
        rho = np.stack([random_density(rng, 4, dtype) for _ in range(3)])
        p = rng.dirichlet(np.ones(3))
        mixture = np.tensordot(p, rho, axes=1)
        expected = p @ [oracle.relative_entropy(each, mixture) for each in rho]
        found = holevo_bound(xp.asarray(5 * rho), xp.asarray(2 * p))
        assert_close(found, np.array(expected), "solve")

    def test_is_the_mutual_information_with_an_orthogonal_label(self, xp, dtype, rng):
        rho = np.stack([random_density(rng, 4, dtype) for _ in range(3)])
        p = rng.dirichlet(np.ones(3))
        joint = sum(
            np.kron(p[k] * rho[k], np.diag(np.eye(3)[k])).astype(dtype)
            for k in range(3)
        )
        expected = mutual_information(xp.asarray(joint), (4, 3))
        found = holevo_bound(xp.asarray(rho), xp.asarray(p))
        assert_close(found, expected, "solve")

    def test_of_a_state_its_weights_count(self, xp, dtype, rng):
        states = random_states(rng, 9, 4, dtype)
        outcomes = rng.uniform(size=(9, 3))
        state = DensityMatrix.from_states(xp.asarray(states), xp.asarray(outcomes))
        expected = holevo_bound(state.normalized(), state.weight)
        assert_close(holevo_bound(state), expected)
        assert float(holevo_bound(state.normalized())) != float(expected)

    def test_of_equal_and_of_orthogonal_ones(self, xp, rng):
        rho = random_density(rng, 3)
        found = holevo_bound(xp.asarray(np.stack([rho, rho])))
        assert_close(found, np.array(0.0), "root")
        apart = np.stack([np.outer(row, row) for row in np.eye(3)])
        assert_close(holevo_bound(xp.asarray(apart)), np.array(math.log(3)), "solve")

    def test_shapes(self, xp):
        with pytest.raises(ValueError, match=r"shape \(..., K, D, D\)"):
            holevo_bound(xp.eye(3))
        with pytest.raises(ValueError, match="one for each of 2 matrices"):
            holevo_bound(xp.stack([xp.eye(3), xp.eye(3)]), xp.ones(3))


class TestPartialTrace:
    @pytest.mark.parametrize("dims", [(2, 3), (3, 2), (1, 4), (4, 1)])
    @pytest.mark.parametrize("keep", [0, 1])
    def test_loops_and_kron(self, xp, dtype, rng, dims, keep):
        side = dims[0] * dims[1]
        # Any matrix: symmetry could hide a transposed index.
        rho = random_array(rng, (side, side), dtype)
        traced = partial_trace(xp.asarray(rho), dims, keep)
        assert_close(traced, oracle.partial_trace_loops(rho, dims, keep))
        assert_close(traced, oracle.partial_trace_kron(rho, dims, keep))

    def test_stacks(self, xp, dtype, rng):
        rho = random_array(rng, (2, 5, 6, 6), dtype)
        traced = to_numpy(partial_trace(xp.asarray(rho), (2, 3), keep=1))
        assert traced.shape == (2, 5, 3, 3)
        for index in np.ndindex(2, 5):
            expected = oracle.partial_trace_loops(rho[index], (2, 3), 1)
            assert_close(traced[index], expected)


class TestStates:
    """Given a state, one number for each outcome."""

    @pytest.mark.parametrize("factorize", [False, True])
    def test_states_are_their_matrices(self, xp, dtype, rng, factorize):
        left, right = (
            DensityMatrix.from_states(
                xp.asarray(random_states(rng, 9, 4, dtype)),
                xp.asarray(rng.uniform(size=(9, 3))),
            )
            for _ in range(2)
        )
        if factorize:
            left, right = left.factorize(), right.factorize()
        rho, sigma = to_numpy(left.normalized()), to_numpy(right.normalized())
        for function in OF_ONE:
            expected = np.array([float(function(matrix)) for matrix in rho])
            assert_close(function(left), expected, "solve")
        for function in OF_TWO:
            pairs = zip(rho, sigma, strict=True)
            expected = np.array([float(function(*pair)) for pair in pairs])
            assert_close(function(left, right), expected, "solve")
        expected = [oracle.partial_trace_loops(matrix, (2, 2), 0) for matrix in rho]
        assert_close(partial_trace(left, (2, 2), keep=0), np.array(expected))

    def test_distance_is_the_maximum_mean_discrepancy(self, xp, dtype, rng):
        rows = random_array(rng, (7, 3), dtype), random_array(rng, (5, 3), dtype)
        states = [DensityMatrix.from_states(xp.asarray(part)) for part in rows]
        squared = hilbert_schmidt_distance(*states) ** 2
        assert_close(squared, np.array([oracle.squared_mmd(*rows)]))


class TestErrors:
    @pytest.mark.parametrize("shape", [(3,), (2, 3)])
    @pytest.mark.parametrize("function", OF_ONE)
    def test_shape(self, xp, function, shape):
        with pytest.raises(ValueError, match=r"density matrix has shape \(..., D, D\)"):
            function(xp.ones(shape))

    @pytest.mark.parametrize("function", OF_TWO)
    def test_shape_of_either(self, xp, function):
        for pair in ((xp.ones((2, 3)), xp.eye(2)), (xp.eye(2), xp.ones((2, 3)))):
            with pytest.raises(ValueError, match="density matrix has shape"):
                function(*pair)

    def test_dims(self, xp):
        with pytest.raises(ValueError, match=r"dims \(2, 2\) ask for .* side 4"):
            partial_trace(xp.eye(6), (2, 2), keep=0)

    @pytest.mark.parametrize("keep", [2, -1, "both"])
    def test_keep(self, xp, keep):
        with pytest.raises(ValueError, match="keep must be 0 or 1"):
            partial_trace(xp.eye(4), (2, 2), keep=keep)
