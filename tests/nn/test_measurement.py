"""Learned density matrices: always valid, never decomposed."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from rhokit.core import partial_trace
from rhokit.nn import JointMeasurement, Measurement
from tests.nn import MEASUREMENTS, check_gradients, normal, one_model
from tests.reference import core_oracles as oracle
from tests.support import random_unitary

every_measurement = pytest.mark.parametrize(
    "make", MEASUREMENTS.values(), ids=MEASUREMENTS.keys()
)
every_trace = pytest.mark.parametrize("trace", ["joint", "each"])
every_dtype = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])


def matrices(measurement):
    """The density matrices that a factor stands for, (K, D, D)."""
    factor = measurement.factor.detach().numpy()
    rho = np.array([a.conj().T @ a for a in factor])
    traces = np.trace(rho, axis1=1, axis2=2).real
    each = getattr(measurement, "trace", "joint") == "each"
    return rho / (traces[:, None, None] if each else traces.sum())


def joint_matrix(measurement):
    """The joint density matrix (D·D_Y, D·D_Y), inputs first, of trace one."""
    factor = measurement.factor.detach().numpy()
    n_outputs, rank, dim = factor.shape
    flat = factor.transpose(1, 2, 0).reshape(rank, dim * n_outputs)
    rho = flat.conj().T @ flat
    return rho / np.trace(rho).real


@st.composite
def factors(draw):
    """Factors (K, r, D), real or complex, with rows of zeros among them."""
    shape = tuple(draw(st.integers(1, most)) for most in (3, 3, 4))
    entries = st.integers(-21, 21).map(lambda i: i / 21)
    factor = draw(hnp.arrays(np.float64, shape, elements=entries))
    if draw(st.booleans()):
        factor = factor + 1j * draw(hnp.arrays(np.float64, shape, elements=entries))
    assume(np.abs(factor).sum(axis=(1, 2)).all())
    return factor


def with_factor(kind, factor, **options):
    measurement = kind(
        factor.shape[2],
        factor.shape[1],
        factor.shape[0],
        dtype=torch.from_numpy(factor).dtype,
        **options,
    )
    with torch.no_grad():
        measurement.factor.copy_(torch.from_numpy(factor))
    return measurement


class TestGradients:
    @every_measurement
    @every_dtype
    def test_by_states_and_factor(self, make, dtype):
        measurement = make(dtype=dtype)
        check_gradients(measurement, normal(4, 5, dtype=dtype))

    @every_trace
    def test_with_lengths_of_a_basis(self, trace):
        measurement = Measurement(5, 2, 3, trace=trace, dtype=torch.float64)
        measurement.lengths = 1 + normal(5).abs()
        check_gradients(measurement, normal(4, 5))

    @every_measurement
    @every_dtype
    def test_no_decomposition(self, make, dtype, monkeypatch):
        measurement = make(dtype=dtype)
        states = normal(4, 5, dtype=dtype).requires_grad_()

        def refuse(*args, **kwargs):
            raise AssertionError("a decomposition")

        for name in ("eigh", "eigvalsh", "eig", "svd", "svdvals", "qr", "cholesky"):
            monkeypatch.setattr(torch.linalg, name, refuse)
        measurement(states).abs().log().sum().backward()
        for each in (states.grad, measurement.factor.grad):
            assert torch.isfinite(torch.view_as_real(each + 0j)).all()
            assert each.abs().max() > 0


class TestDefinition:
    @every_trace
    @every_dtype
    def test_born_rule(self, trace, dtype):
        measurement = Measurement(5, 2, 3, trace=trace, random_state=0, dtype=dtype)
        states = normal(7, 5, dtype=dtype)
        expected = oracle.born(matrices(measurement), states.numpy())
        assert_allclose(measurement(states).detach(), expected, rtol=1e-12)

    @every_trace
    def test_scaled_factor(self, trace):
        measurement = Measurement(5, 2, 3, trace=trace, random_state=0)
        factor = measurement.scaled_factor().detach().numpy()
        found = np.array([a.T @ a for a in factor])
        assert_allclose(found, matrices(measurement), rtol=1e-5, atol=1e-7)

    @every_trace
    def test_lengths_of_a_basis(self, trace):
        """States are coordinates over vectors of other lengths than one."""
        measurement = Measurement(
            5, 2, 3, trace=trace, random_state=0, dtype=torch.float64
        )
        lengths = 0.5 + normal(5).abs()
        states = normal(7, 5)
        other = Measurement(5, 2, 3, trace=trace, dtype=torch.float64)
        with torch.no_grad():
            other.factor.copy_(measurement.factor / lengths)
        other.lengths = lengths
        found = other(states * lengths).detach()
        assert_allclose(found, measurement(states).detach(), rtol=1e-12)
        assert_allclose(
            other.traces().detach(), measurement.traces().detach(), rtol=1e-12
        )

    def test_the_kronecker_product(self):
        """``Tr_X[πρπ] / Tr[πρπ]`` with ``π = φφ† ⊗ I`` written out."""
        for dtype in (torch.float64, torch.complex128):
            measurement = JointMeasurement(4, 2, 3, random_state=0, dtype=dtype)
            states = normal(6, 4, dtype=dtype).numpy()
            found = measurement(torch.from_numpy(states)).detach().resolve_conj()
            rho = joint_matrix(measurement)
            for phi, reduced in zip(states, found.numpy(), strict=True):
                project = np.kron(np.outer(phi, phi.conj()), np.eye(3))
                both = project @ rho @ project
                expected = partial_trace(both, (4, 3), keep=1) / np.trace(both)
                assert_allclose(reduced, expected, rtol=0, atol=1e-12)

    @every_dtype
    def test_the_diagonal_is_the_share_that_is_measured(self, dtype):
        measurement = JointMeasurement(5, 2, 3, random_state=0, dtype=dtype)
        born = Measurement(5, 2, 3, random_state=0, dtype=dtype)
        states = normal(7, 5, dtype=dtype)
        measured = born(states).detach()
        shares = measured / measured.sum(dim=-1, keepdim=True)
        diagonal = measurement(states).detach().diagonal(dim1=-2, dim2=-1)
        assert_allclose(diagonal.real, shares, rtol=1e-12)

    def test_the_start_is_random_and_seeded(self):
        first, again, other = (
            Measurement(5, 2, 3, random_state=seed).factor.detach()
            for seed in (0, 0, 1)
        )
        assert_allclose(first, again, rtol=0)
        assert (first != other).all()
        large = Measurement(300, 7, 5, random_state=0).traces().detach()
        assert_allclose(large, 5.0, rtol=0.1)  # one for each outcome, on average


class TestValid:
    """Any factor is a state."""

    @every_trace
    @given(factor=factors())
    def test_trace_one_and_positive(self, trace, factor):
        measurement = with_factor(Measurement, factor, trace=trace)
        scaled = measurement.scaled_factor().detach().resolve_conj().numpy()
        rho = np.array([a.conj().T @ a for a in scaled])
        traces = np.trace(rho, axis1=1, axis2=2).real
        found = traces if trace == "each" else traces.sum()
        assert_allclose(found, 1, rtol=1e-12)
        assert np.linalg.eigvalsh(rho).min() > -1e-12

    @every_trace
    @given(factor=factors(), seed=st.integers(0, 99))
    def test_a_basis_measures_one(self, trace, factor, seed):
        measurement = with_factor(Measurement, factor, trace=trace)
        rng = np.random.default_rng(seed)
        basis = random_unitary(rng, factor.shape[2], factor.dtype.name).T
        measured = measurement(torch.tensor(basis)).detach().numpy()
        assert (measured >= 0).all()
        sums = measured.sum(axis=0)
        assert_allclose(sums if trace == "each" else sums.sum(), 1, rtol=1e-12)

    @given(factor=factors(), seed=st.integers(0, 99))
    def test_outputs_are_states(self, factor, seed):
        measurement = with_factor(JointMeasurement, factor)
        states = normal(3, factor.shape[2], seed=seed).to(measurement.factor.dtype)
        rho = measurement(states).detach().resolve_conj().numpy()
        assert_allclose(np.trace(rho, axis1=1, axis2=2), 1, rtol=1e-9)
        assert_allclose(rho, rho.conj().swapaxes(1, 2), rtol=0, atol=1e-12)
        assert np.linalg.eigvalsh(rho).min() > -1e-9

    @every_trace
    @given(factor=factors(), size=st.sampled_from([1e-6, 1.0, 1e6]))
    def test_the_size_of_a_factor_means_nothing(self, trace, factor, size):
        states = normal(3, factor.shape[2]).to(torch.from_numpy(factor).dtype)
        found, expected = (
            with_factor(Measurement, each, trace=trace)(states).detach()
            for each in (size * factor, factor)
        )
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    @every_measurement
    def test_steps_of_any_size_leave_a_state(self, make):
        measurement = make(dtype=torch.float64)
        states = normal(6, 5)
        for _ in range(5):
            measurement.zero_grad()
            measurement(states).square().sum().backward()
            with torch.no_grad():
                measurement.factor -= 30 * measurement.factor.grad
        factor = measurement.scaled_factor().detach()
        total = factor.square().sum(dim=(-2, -1))
        found = total if measurement.trace == "each" else total.sum()
        assert_allclose(found, 1, rtol=1e-12)


class TestNoEigenvalueDies:
    """What ReLU on eigenvalues did to most of them."""

    @every_measurement
    def test_every_row_of_the_factor_has_a_gradient(self, make):
        measurement = make(dtype=torch.float64)
        measurement(normal(6, 5)).square().sum().backward()
        assert measurement.factor.grad.norm(dim=-1).min() > 1e-6

    @every_measurement
    @pytest.mark.parametrize("size", [1e-3, -1e-3])
    def test_so_has_one_that_is_nearly_zero(self, make, size):
        measurement = make(dtype=torch.float64)
        with torch.no_grad():
            measurement.factor[:, 0] *= size
        states = normal(6, 5)
        measurement(states).square().sum().backward()
        gradient = measurement.factor.grad[:, 0]
        assert gradient.norm(dim=-1).min() > 1e-9

    def test_eigenvalues_that_training_made_small_grow_again(self):
        """Towards one direction, and then towards another one."""
        measurement = Measurement(4, 4, random_state=0, dtype=torch.float64)
        optimizer = torch.optim.Adam(measurement.parameters(), 0.1)
        values = []
        for target in (0, 3):
            for _ in range(60):
                optimizer.zero_grad()
                measurement(
                    torch.eye(4, dtype=torch.float64)[[target]]
                ).log().sum().neg().backward()
                optimizer.step()
            values.append(matrices(measurement)[0].diagonal())
        assert values[0][0] > 0.9 > 0.1 > values[0][3]
        assert values[1][3] > 0.9


class TestManyModels:
    @every_measurement
    @every_dtype
    @pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
    def test_each_by_itself(self, make, dtype, shared):
        measurement = make(models=(2, 3), dtype=dtype)
        states = normal(*(() if shared else (2, 3)), 4, 5, dtype=dtype)
        found = measurement(states).detach()
        for index in np.ndindex(2, 3):
            own = states if shared else states[index]
            alone = one_model(measurement, index, own).detach()
            assert found[index].shape == alone.shape
            assert_allclose(
                found[index].resolve_conj(), alone.resolve_conj(), rtol=0, atol=1e-12
            )

    @every_trace
    def test_traces_and_scaled_factors(self, trace):
        many = Measurement(5, 2, 3, trace=trace, models=(2, 3), random_state=0)
        assert many.traces().shape == (2, 3, 3)
        factor = many.scaled_factor().detach()
        for index in np.ndindex(2, 3):
            alone = with_factor(
                Measurement, many.factor.detach()[index].numpy(), trace=trace
            )
            assert_allclose(many.traces().detach()[index], alone.traces().detach())
            assert_allclose(factor[index], alone.scaled_factor().detach(), rtol=1e-6)


class TestPrecision:
    @every_measurement
    @pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
    def test_single_stays_single(self, make, dtype):
        measurement = make(dtype=dtype)
        found = measurement(normal(4, 5, dtype=dtype))
        outputs = isinstance(measurement, JointMeasurement)
        assert found.dtype == (dtype if outputs else torch.float32)
        assert measurement.factor.dtype == dtype
        assert make().factor.dtype == torch.float32


def test_unknown_trace():
    with pytest.raises(ValueError, match=r"trace must be one of .*'none'"):
        Measurement(5, 2, trace="none")


def test_printing():
    expected = "Measurement(5, rank=2, outcomes=3, trace='each')"
    assert repr(Measurement(5, 2, 3, trace="each", models=(2,))) == expected
