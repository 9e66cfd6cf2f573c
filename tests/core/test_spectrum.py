"""How many eigenvalues to keep, and the factors made of them."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rhokit.core import (
    DensityMatrix,
    Spectrum,
    choose_rank,
    state_spectrum,
    von_neumann_entropy,
)
from rhokit.core.spectrum import eigen_factor, leading_eigenpairs, square_root_factor
from tests.reference import core_oracles as oracle
from tests.support import assert_close, random_density, to_numpy

SPECTRUM = [0.6, 0.3, 0.06, 0.04]


@st.composite
def spectra(draw):
    """Eigenvalues in descending order, distinct, with zeros among the last."""
    values = st.lists(st.integers(1, 1000), min_size=1, max_size=8, unique=True)
    kept = sorted(draw(values), reverse=True)
    return np.array(kept + [0] * draw(st.integers(0, 3))) / 7


@pytest.fixture
def rng():
    return np.random.default_rng(5)


class TestChooseRank:
    @pytest.mark.parametrize(
        ("rank", "expected"),
        [
            (None, 4),
            (1, 1),
            (3, 3),
            (9, 4),
            (np.int64(2), 2),
            (1.0, 4),
            (0.5, 2),
            (0.51, 3),
            (0.001, 1),
            (np.float32(0.5), 2),
            ("elbow", 2),
        ],
    )
    def test_rank(self, xp, rank, expected):
        assert choose_rank(xp.asarray(np.array(SPECTRUM)), rank) == expected

    @pytest.mark.parametrize(
        ("energy", "expected"), [(0.1, 1), (0.6, 1), (0.61, 2), (0.95, 3), (1.0, 4)]
    )
    def test_energy(self, xp, energy, expected):
        assert choose_rank(xp.asarray(np.array(SPECTRUM)), energy=energy) == expected

    @given(values=spectra())
    def test_elbow_is_farthest_above_the_chord(self, xp, values):
        # An eigenvalue that is the mean lies on the chord: rounding decides.
        assume(np.abs(values - values.mean()).min() > 1e-9 * values.max())
        assert choose_rank(xp.asarray(values), "elbow") == oracle.elbow(list(values))

    @given(values=spectra(), energy=st.floats(0.01, 1))
    def test_energy_is_the_fewest_that_reach_it(self, xp, values, energy):
        chosen = choose_rank(xp.asarray(values), energy=energy)
        assert chosen == oracle.fewest_reaching(list(values), energy)

    def test_a_flat_spectrum_has_no_elbow(self, xp):
        assert choose_rank(xp.ones(4), "elbow") == 1

    @pytest.mark.parametrize("kwargs", [{"rank": "elbow"}, {"energy": 0.9}], ids=str)
    def test_of_nothing_one_is_kept(self, xp, kwargs):
        assert choose_rank(xp.zeros(3), **kwargs) == 1

    @pytest.mark.parametrize("rank", [0, -2, 0.0, 1.5, np.nan, "knee", [1]])
    def test_bad_rank(self, xp, rank):
        with pytest.raises(ValueError, match=r"rank must be .*got"):
            choose_rank(xp.ones(3), rank)

    @pytest.mark.parametrize("energy", [0, -0.5, 1.01, np.nan])
    def test_bad_energy(self, xp, energy):
        with pytest.raises(ValueError, match=r"energy must lie in \(0, 1\], got"):
            choose_rank(xp.ones(3), energy=energy)

    def test_rank_and_energy_together(self, xp):
        with pytest.raises(ValueError, match="either rank or energy"):
            choose_rank(xp.ones(3), 2, 0.5)


class TestFactors:
    def test_eigenpairs_descend(self, xp, dtype, rng):
        rho = random_density(rng, 5, dtype, rank=3)
        values, vectors = map(to_numpy, leading_eigenpairs(xp.asarray(rho)))
        assert (np.diff(values) <= 0).all()
        assert (values >= 0).all()
        assert_close((vectors * values) @ vectors.conj().T, rho)

    @pytest.mark.parametrize("rank", [1, 3, 5])
    def test_square_root_factor(self, xp, dtype, rng, rank):
        rho = random_density(rng, 5, dtype, rank)
        factor = to_numpy(square_root_factor(xp.asarray(rho)))
        assert_close(factor.conj().T @ factor, rho)

    def test_square_root_of_an_indefinite_matrix_drops_what_is_negative(self, xp):
        factor = to_numpy(square_root_factor(xp.asarray(np.diag([1.0, -0.1]))))
        assert_close(factor.T @ factor, np.diag([1.0, 0.0]))

    @pytest.mark.parametrize("rank", [1, 2, 4])
    def test_eigen_factor_is_the_best_of_its_rank(self, xp, dtype, rng, rank):
        rho = random_density(rng, 4, dtype)
        factor = to_numpy(eigen_factor(xp.asarray(rho), rank))
        assert factor.shape == (rank, 4)
        lost = np.linalg.norm(rho - factor.conj().T @ factor)
        expected = np.linalg.norm(np.linalg.eigvalsh(rho)[: 4 - rank])
        assert_close(lost, expected, "solve")


class TestSpectrum:
    @pytest.mark.parametrize("kind", ["sums", "factor"])
    def test_eigenvalues_entropy_and_ranks(self, xp, dtype, rng, kind):
        rho = np.stack([random_density(rng, 5, dtype) for _ in range(2)])
        state = DensityMatrix(xp.asarray(rho), xp.asarray(np.ones(2)))
        if kind == "factor":
            state = state.factorize(3)
            rho = to_numpy(state.normalized())
        values = np.linalg.eigvalsh(rho)[:, ::-1]
        found = state_spectrum(state)
        whole = found.eigenvalues.shape[1]
        assert whole == (3 if kind == "factor" else 5)
        assert_close(found.eigenvalues, values[:, :whole], "solve")
        assert_close(found.entropy, to_numpy(von_neumann_entropy(rho)), "solve")
        assert_close(found.effective_rank, np.exp(to_numpy(found.entropy)))
        assert found.ranks == ((3, 3) if kind == "factor" else None)
        half = state_spectrum(state, 0.4)
        assert half.ranks == (2, 2)  # of the dimension, five
        shares = values[:, :2].sum(axis=1) / values[:, :whole].sum(axis=1)
        np.testing.assert_allclose(half.kept, shares)

    def test_nothing_has_no_directions(self, xp):
        state = DensityMatrix(xp.zeros((1, 3, 3)), xp.zeros(1))
        found = state_spectrum(state, 2)
        assert float(found.entropy[0]) == float(found.effective_rank[0]) == 0
        assert np.isnan(found.kept).all()
        assert_close(found.fractions, np.zeros((1, 3)))

    def test_all_that_is_kept_is_not_asked_for(self):
        assert Spectrum(np.ones((1, 2)), 2).kept is None
