"""Factors that are measured, and functions of many models at once, against loops."""

import numpy as np
import pytest

from rhokit.core import (
    amplitudes,
    factor_born,
    factor_trace,
    gaussian_columns,
    log_posterior,
    partial_trace,
    reduced_states,
    softmax_states,
)
from rhokit.core.distributions import mean_and_variance
from rhokit.core.states import squared_distances
from tests.reference import core_oracles as oracle
from tests.support import assert_close, random_array, random_states, to_numpy

N, D, K, R = 6, 4, 3, 2


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def matrices(factor):
    """``A_k†A_k`` of a factor (K, r, D)."""
    return np.array([a.conj().T @ a for a in factor])


def joint_matrix(factor):
    """The matrix of a joint state, the index of the outputs running fastest."""
    n_outputs, rank, dim = factor.shape
    a = np.zeros((rank, dim * n_outputs), factor.dtype)
    for y in range(n_outputs):
        for x in range(dim):
            a[:, x * n_outputs + y] = factor[y, :, x]
    return a.conj().T @ a


def measured_outputs(rho, state, n_outputs):
    """``Tr_X[π ρ π]`` with ``π = φφ† ⊗ I`` written out."""
    project = np.kron(np.outer(state, state.conj()), np.eye(n_outputs))
    return partial_trace(project @ rho @ project, (len(state), n_outputs), keep=1)


class TestFactors:
    def test_amplitudes(self, xp, dtype, rng):
        states, factor = (
            random_array(rng, (N, D), dtype),
            random_array(rng, (K, R, D), dtype),
        )
        expected = [[a @ phi for a in factor] for phi in states]
        found = amplitudes(xp.asarray(states), xp.asarray(factor))
        assert_close(found, np.array(expected))

    def test_born_rule(self, xp, dtype, rng):
        states, factor = (
            random_array(rng, (N, D), dtype),
            random_array(rng, (K, R, D), dtype),
        )
        found = factor_born(xp.asarray(states), xp.asarray(factor))
        assert to_numpy(found).dtype == np.float64
        assert_close(found, oracle.born(matrices(factor), states))

    def test_trace(self, xp, dtype, rng):
        factor = random_array(rng, (K, R, D), dtype)
        expected = np.trace(matrices(factor), axis1=1, axis2=2).real
        assert_close(factor_trace(xp.asarray(factor)), expected)

    def test_a_basis_measures_the_trace(self, xp, dtype, rng):
        factor = xp.asarray(random_array(rng, (K, R, D), dtype))
        basis = np.linalg.qr(random_array(rng, (D, D), dtype))[0]
        measured = factor_born(xp.asarray(basis.T.copy()), factor)
        assert_close(to_numpy(measured).sum(axis=0), factor_trace(factor))


class TestReducedStates:
    def test_the_kronecker_product(self, xp, dtype, rng):
        states = random_states(rng, N, D, dtype)
        factor = random_array(rng, (K, R, D), dtype)
        rho = joint_matrix(factor)
        expected = [measured_outputs(rho, phi, K) for phi in states]
        found = reduced_states(xp.asarray(states), xp.asarray(factor))
        assert_close(found, np.array(expected))

    def test_the_partial_trace_of_the_oracle(self, rng):
        """So that the expected values above do not rest on the library."""
        states = random_states(rng, N, D, "complex128")
        factor = random_array(rng, (K, R, D), "complex128")
        for phi, found in zip(states, reduced_states(states, factor), strict=True):
            project = np.kron(np.outer(phi, phi.conj()), np.eye(K))
            both = project @ joint_matrix(factor) @ project
            assert_close(found, oracle.partial_trace_loops(both, (D, K), 1))

    def test_the_diagonal_is_the_born_rule(self, xp, dtype, rng):
        states = xp.asarray(random_array(rng, (N, D), dtype))
        factor = xp.asarray(random_array(rng, (K, R, D), dtype))
        found = to_numpy(reduced_states(states, factor))
        diagonal = np.diagonal(found, axis1=-2, axis2=-1)
        assert_close(diagonal.real, factor_born(states, factor))

    def test_hermitian_and_positive(self, xp, dtype, rng):
        found = to_numpy(
            reduced_states(
                xp.asarray(random_array(rng, (N, D), dtype)),
                xp.asarray(random_array(rng, (K, 1, D), dtype)),
            )
        )
        assert_close(found, found.conj().swapaxes(1, 2))
        values = np.linalg.eigvalsh(found)
        assert_close(values[:, :-1], np.zeros((N, K - 1)), "solve")  # of rank one
        assert (values[:, -1] > 0).all()


class TestManyModels:
    """Leading axes are those of models: each by itself gives the same."""

    @pytest.mark.parametrize("measure", [amplitudes, factor_born, reduced_states])
    @pytest.mark.parametrize("shared", ["nothing", "rows", "factor"])
    def test_measuring(self, xp, dtype, rng, measure, shared):
        states = random_array(rng, (2, 5, N, D), dtype)
        factor = random_array(rng, (2, 5, K, R, D), dtype)
        if shared == "rows":
            states = states[0, 0]
        if shared == "factor":
            factor = factor[0, 0]
        found = to_numpy(measure(xp.asarray(states), xp.asarray(factor)))
        assert found.shape[:3] == (2, 5, N)
        for i, j in np.ndindex(2, 5):
            alone = measure(
                xp.asarray(states if shared == "rows" else states[i, j]),
                xp.asarray(factor if shared == "factor" else factor[i, j]),
            )
            assert_close(found[i, j], alone)

    def test_trace(self, xp, dtype, rng):
        factor = random_array(rng, (2, 5, K, R, D), dtype)
        found = to_numpy(factor_trace(xp.asarray(factor)))
        for i, j in np.ndindex(2, 5):
            assert_close(found[i, j], factor_trace(xp.asarray(factor[i, j])))

    @pytest.mark.parametrize("by_product", [False, True])
    @pytest.mark.parametrize("shared", ["nothing", "rows", "landmarks"])
    def test_distances(self, xp, rng, by_product, shared):
        rows = rng.normal(size=(N, D) if shared == "rows" else (3, N, D))
        landmarks = rng.normal(size=(K, D) if shared == "landmarks" else (3, K, D))
        found = to_numpy(
            squared_distances(
                xp.asarray(rows), xp.asarray(landmarks), by_product=by_product
            )
        )
        assert found.shape == (3, N, K)
        for i, n, k in np.ndindex(3, N, K):
            row = rows[n] if shared == "rows" else rows[i, n]
            landmark = landmarks[k] if shared == "landmarks" else landmarks[i, k]
            assert_close(found[i, n, k], sum((row - landmark) ** 2))

    def test_distances_by_product_are_not_negative(self, xp, rng):
        rows = xp.asarray(1e6 + rng.normal(size=(20, D)))
        found = to_numpy(squared_distances(rows, rows, by_product=True))
        assert (found >= 0).all()

    @pytest.mark.parametrize("relative", [False, True])
    @pytest.mark.parametrize("by_product", [False, True])
    def test_columns(self, xp, rng, relative, by_product):
        rows, landmarks = rng.normal(size=(N, D)), rng.normal(size=(3, K, D))
        options = {"relative": relative, "by_product": by_product}
        found, scale = gaussian_columns(
            xp.asarray(rows), xp.asarray(landmarks), 0.3, **options
        )
        for i in range(3):
            expected = oracle.gaussian_columns(rows, landmarks[i], 0.3)
            if relative:
                assert_close(np.exp(to_numpy(scale)[i]), expected.max(axis=1))
                expected = expected / expected.max(axis=1, keepdims=True)
            assert_close(to_numpy(found)[i], expected)

    def test_softmax_states(self, xp, rng):
        values = rng.uniform(size=(2, 5, N))
        found = to_numpy(softmax_states(xp.asarray(values), 4, 3.0))
        assert found.shape == (2, 5, N, 4)
        for i, j in np.ndindex(2, 5):
            assert_close(found[i, j], oracle.softmax_states(values[i, j], 4, 3.0))

    @pytest.mark.parametrize("least", [0.0, 0.05])
    @pytest.mark.parametrize("shape", [(K,), (2, 1, 1, K), (5, 1, K)], ids=str)
    def test_posterior(self, xp, rng, least, shape):
        logs = 3 * rng.normal(size=(2, 5, N, K))
        logs[0, 0, 0], logs[1, 2, 3, 1] = -np.inf, -np.inf
        priors = np.log(rng.dirichlet(np.ones(K), shape[:-1] or None))
        found = to_numpy(log_posterior(xp.asarray(logs), xp.asarray(priors), least))
        each = np.broadcast_to(priors, logs.shape)
        for i, j in np.ndindex(2, 5):
            own = xp.asarray(each[i, j, 0].copy())
            alone = log_posterior(xp.asarray(logs[i, j]), own, least)
            assert_close(found[i, j], alone)
        assert_close(np.exp(found).sum(axis=-1), np.ones((2, 5, N)))
        assert_close(found[0, 0, 0], each[0, 0, 0])  # nothing measured: the priors

    def test_mean_and_variance(self, xp, rng):
        chances, levels = rng.dirichlet(np.ones(K), (2, 5, N)), np.array([-1, 2, 5.0])
        found = mean_and_variance(xp.asarray(chances), xp.asarray(levels))
        mean, variance = map(to_numpy, found)
        assert mean.shape == variance.shape == (2, 5, N)
        for index in np.ndindex(2, 5, N):
            expected = sum(chances[index] * levels)
            assert_close(mean[index], expected)
            spread = sum(chances[index] * (levels - expected) ** 2)
            assert_close(variance[index], spread)
