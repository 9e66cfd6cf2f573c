"""Thin factors, factors of joint states, and measuring with lists of factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.core import DensityMatrix
from rhokit.fast import FactorMeasurement, joint_factor, thin_factor
from rhokit.fast import measure as module
from tests.support import random_array, random_density, random_states

DIM = 30


@pytest.fixture
def rng():
    return np.random.default_rng(31)


def born(factors, columns):
    """``‖A_k c‖²``, one outcome after another."""
    squares = [np.abs(columns @ factor.T) ** 2 for factor in factors]
    return np.stack([square.sum(axis=1) for square in squares], axis=1)


class TestThinFactor:
    @pytest.mark.parametrize("rank", [1, 2, 5, 18, 19, DIM])
    def test_squares_to_the_matrix_with_as_few_rows_as_may_be(self, dtype, rank, rng):
        rho = random_density(rng, DIM, dtype, rank)
        before = rho.copy()
        factor = thin_factor(rho)
        assert_allclose(factor.conj().T @ factor, before, atol=1e-13)
        assert factor.shape == (rank if rank <= 0.6 * DIM else DIM, DIM)
        assert_array_equal(rho, before)

    @pytest.mark.parametrize("rank", [3, DIM])
    def test_twin_of_the_core(self, dtype, rank, rng):
        states = random_states(rng, rank, DIM, dtype)
        probes = random_states(rng, 8, DIM, dtype)
        state = DensityMatrix.from_states(states)
        factor = thin_factor(state.normalized()[0])
        expected = state.factorize().born(probes)
        assert_allclose(born([factor], probes), expected, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12])
    def test_at_any_scale(self, dtype, scale, rng):
        rho = random_density(rng, DIM, dtype, 4)
        factor = thin_factor(scale * rho)
        assert len(factor) == 4
        assert_allclose(factor.conj().T @ factor / scale, rho, atol=1e-13)

    def test_weak_directions_stay(self, rng):
        """Eigenvalues down to a billionth still count."""
        vectors = np.linalg.qr(rng.normal(size=(DIM, 4)))[0]
        rho = (vectors * [1.0, 1e-3, 1e-6, 1e-9]) @ vectors.T
        factor = thin_factor(rho)
        measured = born([factor], vectors.T)[:, 0]
        assert_allclose(measured, [1.0, 1e-3, 1e-6, 1e-9], rtol=1e-4)

    def test_no_rows_at_all(self, dtype):
        """An outcome that was never seen measures nothing."""
        assert_array_equal(thin_factor(np.zeros((5, 5), dtype)), np.zeros((1, 5)))

    def test_one_dimension(self, dtype):
        factor = thin_factor(np.full((1, 1), 4.0, dtype))
        assert_allclose(np.abs(factor), [[2.0]])


class TestJointFactor:
    def sums_and_outputs(self, rng, n_outcomes=4, dim=6, n_outputs=3):
        parts = [random_density(rng, dim) for _ in range(n_outcomes)]
        shares = rng.dirichlet(np.ones(n_outcomes))
        outputs = random_states(rng, n_outcomes, n_outputs)
        return shares[:, None, None] * np.array(parts), outputs

    def dense(self, sums, outputs):
        pairs = zip(sums, outputs, strict=True)
        return sum(np.kron(matrix, np.outer(psi, psi)) for matrix, psi in pairs)

    @pytest.mark.parametrize("rank", [1, 4, 17])
    def test_is_the_best_of_its_rank(self, rank, rng):
        sums, outputs = self.sums_and_outputs(rng)
        values, vectors = np.linalg.eigh(self.dense(sums, outputs))
        best = (vectors[:, -rank:] * values[-rank:]) @ vectors[:, -rank:].T
        factor = joint_factor(sums, outputs, rank)
        assert factor.shape == (rank, 6, 3)
        flat = factor.reshape(rank, -1)
        assert_allclose(flat.T @ flat, best, atol=1e-12)
        lengths = np.linalg.norm(flat, axis=1) ** 2
        assert_allclose(lengths, values[::-1][:rank], rtol=1e-10)

    def test_measures_as_the_dense_state_does(self, rng):
        """``|x><x| ⊗ 1``, then the partial trace over x."""
        sums, outputs = self.sums_and_outputs(rng, n_outcomes=2)
        factor = joint_factor(sums, outputs, 12)  # two outcomes: all of its rank
        for phi in random_states(rng, 5, 6):
            projector = np.kron(np.outer(phi, phi), np.eye(3))
            after = projector @ self.dense(sums, outputs) @ projector
            expected = np.einsum("iaib->ab", after.reshape(6, 3, 6, 3))
            rows = np.einsum("rdy,d->ry", factor, phi)
            assert_allclose(rows.T @ rows, expected, atol=1e-12)

    def test_lost_directions_are_zero_not_negative(self, rng):
        """One outcome of rank one: whatever else is asked for is rounding."""
        phi, psi = random_states(rng, 1, 6), random_states(rng, 1, 3)
        factor = joint_factor(np.einsum("ki,kj->kij", phi, phi), psi, 4)
        assert np.isfinite(factor).all()
        expected = np.outer(phi, psi)
        assert_allclose(np.abs(factor[0]), np.abs(expected), atol=1e-12)
        assert_allclose(factor[1:], 0, atol=1e-7)

    def test_is_the_same_every_time(self, rng):
        sums, outputs = self.sums_and_outputs(rng)
        first, second = (joint_factor(sums, outputs, 5) for _ in range(2))
        assert_array_equal(first, second)


class TestLists:
    """Outcomes of different ranks in one measurement."""

    RANKS = (
        [1],
        [3, 3, 3],
        [18, 19],
        [1, DIM, 2, 2, DIM + 5, 18, 1],
        [DIM, DIM],
        [9, 8, 9, 1, 16, 1, 17, 18, 2],
    )

    @pytest.mark.parametrize(
        ("dtype", "tolerance"),
        [("float32", 2e-5), ("float64", 1e-12), ("complex128", 1e-12)],
    )
    @pytest.mark.parametrize("ranks", RANKS, ids=str)
    @pytest.mark.parametrize("panel", [1, 17, 512])
    def test_each_outcome_by_its_own_factor(
        self, dtype, tolerance, ranks, panel, rng, monkeypatch
    ):
        monkeypatch.setattr(module, "_PANEL", panel)
        double = np.result_type(dtype, np.float64)
        factors = [random_array(rng, (rank, DIM), double) for rank in ranks]
        columns = random_array(rng, (7, DIM), dtype)
        measured = FactorMeasurement(iter(factors), dtype).born(columns)
        assert measured.shape == (7, len(ranks))
        assert measured.dtype == columns.real.dtype
        expected = born(factors, columns)
        scale = expected.max(axis=0)
        assert_allclose(measured / scale, expected / scale, atol=tolerance)

    def test_panels_hold_as_many_columns_as_they_may(self, rng, monkeypatch):
        monkeypatch.setattr(module, "_PANEL", 10)
        factors = [rng.normal(size=(rank, DIM)) for rank in [5, 5, 1, DIM, 4, 12, 3]]
        parts = FactorMeasurement(factors, "float64")._parts
        counts = [(type(part).__name__, part.n_outcomes) for part in parts]
        assert counts == [
            ("_Panel", 2),
            ("_Panel", 1),
            ("_Triangle", 1),
            ("_Panel", 1),
            ("_Panel", 1),
            ("_Panel", 1),
        ]

    def test_one_factor_in_memory_at_a_time(self, rng):
        """A generator is read once, and what it gave may be overwritten."""
        memory = np.empty((2, DIM))
        originals = rng.normal(size=(3, 2, DIM))

        def one_after_the_other():
            for original in originals:
                memory[:] = original
                yield memory

        columns = rng.normal(size=(4, DIM))
        measured = FactorMeasurement(one_after_the_other(), "float64").born(columns)
        assert_allclose(measured, born(originals, columns), rtol=1e-12)

    def test_memory_is_that_of_the_ranks(self, rng):
        """Thin factors are not filled up to the largest."""
        factors = [rng.normal(size=(rank, DIM)) for rank in [1, 2, 15]]
        assert FactorMeasurement(factors, "float32").nbytes == 18 * DIM * 4
