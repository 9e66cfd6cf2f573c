"""States of two parts: closed forms, laws, and what slow definitions say."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from rhokit.core import (
    entanglement_entropy,
    mutual_information,
    negativity,
    partial_transpose,
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

DIMS = [(2, 3), (3, 2), (1, 4), (4, 1), (3, 3)]


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def bell(dim):
    """The pure state of two parts of this dimension that are wholly entangled."""
    return np.eye(dim).ravel() / math.sqrt(dim)


def werner(share):
    """A share of a singlet of two qubits in noise."""
    singlet = np.array([0, 1, -1, 0]) / math.sqrt(2)
    return share * np.outer(singlet, singlet) + (1 - share) * np.eye(4) / 4


def separable(rng, dims, dtype, n=5):
    """A mixture of products."""
    pairs = [
        np.kron(
            random_density(rng, dims[0], dtype), random_density(rng, dims[1], dtype)
        )
        for _ in range(n)
    ]
    return np.tensordot(rng.dirichlet(np.ones(n)), pairs, axes=1)


class TestPartialTranspose:
    @pytest.mark.parametrize("dims", DIMS)
    @pytest.mark.parametrize("part", [0, 1])
    def test_is_the_loops(self, xp, dtype, rng, dims, part):
        side = dims[0] * dims[1]
        rho = random_array(rng, (2, side, side), dtype)
        found = partial_transpose(xp.asarray(rho), dims, part)
        expected = [oracle.partial_transpose_loops(each, dims, part) for each in rho]
        assert_close(found, np.array(expected))

    def test_part(self, xp):
        with pytest.raises(ValueError, match="part must be 0 or 1, got 2"):
            partial_transpose(xp.eye(4), (2, 2), 2)


class TestNegativity:
    @pytest.mark.parametrize("dims", DIMS)
    def test_is_the_trace_norm(self, xp, dtype, rng, dims):
        rho = random_density(rng, dims[0] * dims[1], dtype)
        turned = oracle.partial_transpose_loops(rho, dims, 1)
        expected = (scipy.linalg.svdvals(turned).sum() - 1) / 2
        assert_close(negativity(xp.asarray(rho), dims), np.array(expected), "solve")

    @pytest.mark.parametrize("dim", [2, 3, 5])
    def test_of_the_most_entangled(self, xp, dim):
        state = xp.asarray(np.outer(bell(dim), bell(dim)))
        assert_close(negativity(state, (dim, dim)), np.array((dim - 1) / 2), "solve")

    @pytest.mark.parametrize("share", [0.0, 0.2, 1 / 3, 0.5, 0.9, 1.0])
    def test_of_werner_states(self, xp, share):
        expected = max(0.0, (3 * share - 1) / 4)
        found = negativity(xp.asarray(werner(share)), (2, 2))
        assert_close(found, np.array(expected), "solve")

    @pytest.mark.parametrize("dims", DIMS)
    def test_of_mixtures_of_products_is_zero(self, xp, dtype, rng, dims):
        rho = separable(rng, dims, dtype)
        assert_close(negativity(xp.asarray(3 * rho), dims), np.array(0.0), "solve")

    def test_is_a_local_matter_of_neither_part(self, xp, dtype, rng):
        rho = random_density(rng, 6, dtype, rank=1)
        turn = np.kron(random_unitary(rng, 2, dtype), random_unitary(rng, 3, dtype))
        turned = turn @ rho @ turn.conj().T
        straight = negativity(xp.asarray(rho), (2, 3))
        assert_close(negativity(xp.asarray(turned), (2, 3)), straight, "solve")


class TestMutualInformation:
    def test_of_distributions(self, xp, rng):
        table = rng.dirichlet(np.ones(12)).reshape(3, 4)
        outer = np.outer(table.sum(axis=1), table.sum(axis=0))
        expected = np.sum(table * np.log(table / outer))
        found = mutual_information(xp.asarray(np.diag(table.ravel())), (3, 4))
        assert_close(found, np.array(expected), "solve")

    @pytest.mark.parametrize("dim", [2, 4])
    def test_of_the_most_entangled_is_twice_the_logarithm(self, xp, dim):
        state = xp.asarray(np.outer(bell(dim), bell(dim)))
        found = mutual_information(state, (dim, dim))
        assert_close(found, np.array(2 * math.log(dim)), "solve")

    @given(pair=density_pairs(max_dim=3))
    def test_of_products_is_zero(self, xp, pair):
        dims = (len(pair[0]), len(pair[1]))
        found = mutual_information(xp.asarray(np.kron(*pair)), dims)
        assert_close(found, np.array(0.0), "root")

    @given(seed=st.integers(0, 99))
    def test_bounds(self, xp, seed):
        rng = np.random.default_rng(seed)
        rho = xp.asarray(random_density(rng, 6))
        assert at_most(0, mutual_information(rho, (2, 3)))
        assert at_most(mutual_information(rho, (2, 3)), 2 * math.log(2))
        mixed = xp.asarray(separable(rng, (2, 3), "float64"))
        assert at_most(mutual_information(mixed, (2, 3)), math.log(2))


class TestEntanglementEntropy:
    @pytest.mark.parametrize("dims", DIMS)
    def test_is_the_entropy_of_either_part(self, xp, dtype, rng, dims):
        vectors = random_states(rng, 4, dims[0] * dims[1], dtype)
        found = entanglement_entropy(xp.asarray(2 * vectors), dims)
        for vector, entropy in zip(vectors, to_numpy(found), strict=True):
            rho = np.outer(vector, vector.conj())
            for keep in (0, 1):
                part = oracle.partial_trace_loops(rho, dims, keep)
                expected = von_neumann_entropy(part)
                assert_close(entropy, np.asarray(expected), "root")

    def test_of_products_is_zero(self, xp, dtype, rng):
        a, b = random_states(rng, 1, 3, dtype), random_states(rng, 1, 2, dtype)
        found = entanglement_entropy(xp.asarray(np.kron(a, b)), (3, 2))
        assert_close(found, np.zeros(1), "root")

    def test_length(self, xp):
        with pytest.raises(ValueError, match="ask for vectors of length 6"):
            entanglement_entropy(xp.ones((2, 4)), (2, 3))
