"""Spectra of models and states, against decompositions of the whole matrices."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from rhokit import DMKDE
from rhokit.core import DensityMatrix, FeatureMean, effective_rank, von_neumann_entropy
from rhokit.inspection import matrix_size, one_pass, spectrum, spectrum_of_state
from tests.inspection.models import case, tumours
from tests.support import random_states


def decomposed(rho):
    """Eigenvalues of matrices (K, D, D), descending."""
    return np.linalg.eigvalsh(rho)[:, ::-1].clip(0)


def state_of(n_outcomes, dtype="float64", dim=6, n=50):
    rng = np.random.default_rng(0)
    weights = rng.random((n, n_outcomes)) ** 4
    return DensityMatrix.from_states(random_states(rng, n, dim, dtype), weights)


@pytest.mark.parametrize("name", ["landmarks", "one column", "trained density"])
def test_eigenvalues_and_effective_rank_are_those_of_the_state(name):
    model = case(name).model
    rho = one_pass(model).density_matrix_.normalized()
    found = spectrum(model)
    expected = decomposed(rho)[:, : found.eigenvalues.shape[1]]
    assert_allclose(found.eigenvalues, expected, atol=1e-10)
    assert found.dim == rho.shape[1] == matrix_size(model)
    assert_allclose(found.effective_rank, effective_rank(rho), rtol=1e-6)
    assert_allclose(found.entropy, von_neumann_entropy(rho), rtol=1e-6)
    assert_allclose(found.fractions.sum(axis=1), 1)


def test_outcomes_are_pooled_by_their_weight():
    model = case("classes").model
    rho = np.tensordot(model.class_count_, model.density_matrix_.normalized(), axes=1)
    expected = decomposed(rho[None] / np.trace(rho))
    found = spectrum(model, outcomes="pooled")
    assert_allclose(found.fractions, expected, atol=1e-10)
    assert found.ranks is None
    assert len(spectrum(model).eigenvalues) == 3
    assert len(spectrum(case("levels").model).eigenvalues) == 1
    assert len(spectrum(case("levels").model, outcomes="each").eigenvalues) == 32


@pytest.mark.parametrize("outcomes", ["each", "pooled"])
def test_rank_and_what_it_keeps(outcomes):
    found = spectrum(case("low rank").model, outcomes=outcomes)
    assert found.ranks == (8,)
    assert_allclose(found.kept, found.fractions[:, :8].sum(axis=1))
    assert spectrum(case("landmarks").model).ranks is None
    trained = spectrum(case("trained density").model)
    assert (trained.ranks, trained.eigenvalues.shape[1]) == ((6,), 6)


def test_the_elbow_is_found():
    X = tumours(4)
    model = DMKDE(rank="elbow", n_components=32, random_state=0).fit(X)
    found = spectrum(model)
    values = found.eigenvalues[0]
    assert found.ranks == ((values > values.mean()).sum(),)


def test_models_without_a_spectrum():
    mean = case("mean").model
    assert matrix_size(mean) is None
    with pytest.raises(TypeError, match="density matrix must be given, got MeanEmb"):
        spectrum(mean)
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = DMKDE(gamma=200.0, scale=None).fit(X)
    size = matrix_size(model)
    assert size > 2048
    with pytest.raises(ValueError, match=f"would have {size:,} rows, more than"):
        spectrum(model)


@pytest.mark.parametrize("outcomes", ["all", None])
def test_outcomes_that_are_none(outcomes):
    for ask, subject in (
        (spectrum, case("landmarks").model),
        (spectrum_of_state, state_of(2)),
    ):
        with pytest.raises(ValueError, match="outcomes must be"):
            ask(subject, outcomes=outcomes)


class TestStates:
    @pytest.mark.parametrize("n_outcomes", [1, 3, 9])
    def test_sums(self, dtype, n_outcomes):
        state = state_of(n_outcomes, dtype)
        found = spectrum_of_state(state)
        rho = state.normalized()
        if n_outcomes == 9:
            rho = state.mix(np.ones((1, 9))).normalized()
        assert_allclose(found.eigenvalues, decomposed(rho), atol=1e-12)
        assert_allclose(found.effective_rank, effective_rank(rho), rtol=1e-9)

    @pytest.mark.parametrize(("rank", "kept"), [(None, 4), (2, 2), (0.5, 3)])
    def test_factors(self, dtype, rank, kept):
        state = state_of(2, dtype).factorize(4)
        found = spectrum_of_state(state, rank=rank)
        expected = decomposed(state.normalized())[:, :4]
        assert_allclose(found.eigenvalues, expected, atol=1e-12)
        assert found.ranks == (kept, kept)  # a fraction is of the dimension, six

    def test_tensors(self):
        state = state_of(2)
        total, weight = (torch.tensor(a).requires_grad_() for a in vars(state).values())
        tensors = DensityMatrix(total, weight)
        for options in ({}, {"outcomes": "pooled"}):
            values = [
                spectrum_of_state(each, **options).eigenvalues
                for each in (state, tensors, tensors.factorize(6))
            ]
            assert_allclose(values[1], values[0], atol=1e-12)
            assert_allclose(values[2], values[0], atol=1e-12)

    def test_outcomes_without_rows(self):
        found = spectrum_of_state(state_of(2).spread([0, 2], 3), rank=3)
        assert found.effective_rank[1] == found.entropy[1] == 0
        assert np.isnan(found.kept[1])

    def test_states_without_a_matrix(self):
        series = case("one column").model.state_
        mean = FeatureMean(np.ones((1, 3)), np.ones(1))
        for state in (series, mean):
            words = f"got a {type(state).__name__}: give density_matrix_"
            with pytest.raises(TypeError, match=words):
                spectrum_of_state(state)
