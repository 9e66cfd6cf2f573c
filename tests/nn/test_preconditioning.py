"""Other coordinates, the same model."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from rhokit.nn.preconditioning import Coordinates, Preconditioned
from tests.nn import (
    HEADS,
    LAYERS,
    TRAINABLE,
    check_gradients,
    in_turn,
    layer,
    normal,
    parts,
    rows_of,
    state_dtype,
)

every_head = pytest.mark.parametrize("head", HEADS)
each_pair = pytest.mark.parametrize(("head", "name"), in_turn(HEADS, LAYERS))
few_pairs = pytest.mark.parametrize(
    ("head", "name"), in_turn(HEADS, ["phase", "complex", "landmarks"])
)
FROZEN_OR_NOT = [
    *((name, False) for name in LAYERS),
    *((name, True) for name in TRAINABLE),
]


def states_of(features, n=120, seed=7):
    with torch.no_grad():
        return features.scaled(rows_of(features, n, seed))[0]


def full(make, features):
    """A head whose factor has no row of zeros and is not small."""
    network = make(features)
    with torch.no_grad():
        network.measurement.factor.mul_(3)
    return network


def same(found, expected, atol=1e-9):
    for left, right in zip(parts(found), parts(expected), strict=True):
        assert left.shape == right.shape
        assert_allclose(left, right, rtol=0, atol=atol)


def whitened(states, coordinates):
    return states @ (coordinates.vectors * coordinates.lengths).to(states)


class TestCoordinates:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
    def test_directions_are_orthonormal(self, dtype):
        vectors = Coordinates(normal(60, 5, dtype=dtype)).vectors
        gram = (vectors.mH @ vectors).resolve_conj()
        assert_allclose(gram, np.eye(5), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
    def test_states_are_round(self, dtype):
        """Their matrix is diagonal, of trace one, and short directions are longer."""
        stretch = torch.tensor([1, 0.5, 0.1, 1e-2, 1e-3], dtype=torch.float64)
        states = normal(400, 5, dtype=dtype) * stretch
        states = states / states.norm(dim=1, keepdim=True)
        coordinates = Coordinates(states)
        z = whitened(states, coordinates)
        rho = (z.mT @ z.conj() / len(z)).resolve_conj().numpy()
        spectrum = rho.diagonal().real
        assert_allclose(rho, np.diag(spectrum), rtol=0, atol=1e-12)
        assert_allclose(spectrum.sum(), 1, rtol=1e-12)
        plain = torch.linalg.eigvalsh(states.mT @ states.conj() / len(states))
        # By hand: (λ + ridge · mean)^-1/2 of each, then scaled to trace one; the ridge
        # is ten directions per row.
        expected = (plain / (plain + 10 * 5 / 400 * plain.mean())).numpy()
        assert_allclose(spectrum, expected / expected.sum(), rtol=1e-9, atol=1e-12)
        assert (coordinates.lengths.diff() < 0).all()

    def test_lengths_of_states_mean_nothing(self):
        states = normal(60, 5)
        sizes = normal(60, 1, seed=1).abs() + 0.1
        found, expected = Coordinates(sizes * states), Coordinates(states)
        assert_allclose(found.lengths, expected.lengths, rtol=1e-9)
        assert_allclose(found.vectors, expected.vectors, rtol=0, atol=1e-9)

    def test_a_weight_is_so_many_copies(self):
        states = normal(60, 5)
        counts = torch.arange(60) % 4
        copies = states.repeat_interleave(counts, dim=0)
        weight = counts / counts.double().mean()
        found = Coordinates(states, weight, n_rows=len(copies))
        expected = Coordinates(copies)
        assert_allclose(found.lengths, expected.lengths, rtol=1e-9)
        assert_allclose(found.vectors, expected.vectors, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
    def test_a_rotation_of_the_states_basis_means_nothing(self, dtype):
        states = normal(60, 5, dtype=dtype)
        turn = torch.linalg.qr(normal(5, 5, seed=3, dtype=dtype))[0]
        found, expected = Coordinates(states @ turn), Coordinates(states)
        assert_allclose(found.lengths, expected.lengths, rtol=1e-9)
        left = whitened(states @ turn, found).resolve_conj()
        right = whitened(states, expected).resolve_conj()
        assert_allclose(left, right, rtol=0, atol=1e-9)

    def test_signs_of_the_states_basis_mean_nothing(self):
        states = normal(60, 5)
        signs = torch.tensor([1.0, -1, -1, 1, -1], dtype=torch.float64)
        left = whitened(states * signs, Coordinates(states * signs))
        right = whitened(states, Coordinates(states))
        assert_allclose(left, right, rtol=0, atol=1e-9)

    def test_directions_that_the_data_do_not_have_are_left_out(self):
        states = normal(60, 3) @ normal(3, 8, seed=1)
        coordinates = Coordinates(states)
        assert coordinates.vectors.shape == (8, 3)
        inside = states @ coordinates.vectors @ coordinates.vectors.mT
        assert_allclose(inside, states, rtol=0, atol=1e-9)

    def test_single_precision_is_decomposed_in_double(self):
        states = normal(60, 5).to(torch.float32)
        coordinates = Coordinates(states)
        assert coordinates.vectors.dtype == torch.float64
        expected = Coordinates(states.double())
        assert_allclose(coordinates.lengths, expected.lengths, rtol=1e-5)


class TestPrecondition:
    @each_pair
    def test_the_same_answers(self, head, name):
        features = layer(name)
        network = full(HEADS[head], features)
        coordinates = Coordinates(states_of(features))
        other = coordinates.precondition(network, 0, at_random=False)
        rows = rows_of(features, 9)
        same(other(rows), network(rows))
        assert isinstance(other.features, Preconditioned)
        assert other.features.n_components == len(coordinates.lengths)

    @few_pairs
    def test_the_same_answers_of_many_models(self, head, name):
        features = layer(name)
        network = HEADS[head](features, models=(2, 3))
        coordinates = Coordinates(states_of(features))
        other = coordinates.precondition(network, 0, at_random=False)
        rows = rows_of(features, 9)
        same(other(rows), network(rows))
        coordinates.undo(network, other)
        same(other(rows), network(rows))

    @every_head
    def test_the_same_where_the_data_have_few_directions(self, head):
        """Rows and factors in the span of the data."""
        features = layer("landmarks")
        network = full(HEADS[head], features)
        states = states_of(features, 3)
        states = normal(40, 3, seed=4) @ states
        coordinates = Coordinates(states)
        inside = coordinates.vectors @ coordinates.vectors.mT
        with torch.no_grad():
            network.measurement.factor.copy_(network.measurement.factor @ inside)
        other = coordinates.precondition(network, 0, at_random=False)
        assert other.measurement.factor.shape[-1] == 3
        basis = other.features.basis
        same(other.read(states @ basis), network.read(states))

    @pytest.mark.parametrize(
        ("head", "name"),
        in_turn(HEADS, ["phase", "complex", "landmarks", "quadrature"], shift=1),
    )
    def test_gradients(self, head, name):
        features = layer(name)
        coordinates = Coordinates(states_of(features))
        network = full(HEADS[head], features)
        other = coordinates.precondition(network, 0, at_random=False)
        check_gradients(other, rows_of(features))

    @pytest.mark.parametrize(("head", "which"), in_turn(HEADS, FROZEN_OR_NOT), ids=str)
    def test_undone_after_a_step(self, head, which):
        name, trainable = which
        features = layer(name, trainable=trainable)
        network = full(HEADS[head], features)
        before = deepcopy(network)
        coordinates = Coordinates(states_of(features))
        trained = coordinates.precondition(network, 0, at_random=False)
        rows = rows_of(features, 9)
        with torch.no_grad():
            for seed, each in enumerate(trained.parameters()):
                if each.requires_grad:
                    each += 0.1 * normal(*each.shape, seed=seed, dtype=each.dtype)
        same(network(rows), before(rows), atol=0)  # a copy was trained
        coordinates.undo(network, trained)
        same(network(rows), trained(rows))
        moved = np.abs(parts(network(rows))[0] - parts(before(rows))[0])
        assert moved.max() > 1e-4

    @pytest.mark.parametrize("models", [(), (2,)], ids=str)
    def test_an_undone_factor_has_length_one(self, models):
        features = layer("phase")
        network = HEADS["classes"](features, models=models)
        coordinates = Coordinates(states_of(features))
        trained = coordinates.precondition(network, 0, at_random=True)
        coordinates.undo(network, trained)
        squares = network.measurement.factor.detach().square().sum(dim=(-3, -2, -1))
        assert_allclose(squares, np.ones(models), rtol=1e-12)

    @pytest.mark.parametrize("head", ["density", "joint", "each"])
    def test_traces_are_those_of_the_states_themselves(self, head):
        features = layer("phase")
        network = full(HEADS["classes" if head == "each" else head], features)
        coordinates = Coordinates(states_of(features))
        other = coordinates.precondition(network, 0, at_random=False)
        factor = (other.measurement.factor @ other.features.basis.mT).detach()
        total = factor.square().sum(dim=(-2, -1))
        expected = total if head == "each" else total.sum().expand(total.shape)
        assert_allclose(other.measurement.traces().detach(), expected, rtol=1e-9)

    def test_rows_have_length_one_on_average(self):
        features = layer("phase")
        network = full(HEADS["classes"], features)
        coordinates = Coordinates(states_of(features))
        for at_random in (False, True):
            other = coordinates.precondition(network, 0, at_random=at_random)
            squares = other.measurement.factor.detach().square().sum(dim=-1)
            assert_allclose(squares.mean(), 1, rtol=1e-9)

    def test_rows_that_are_missing_are_small_and_random(self):
        features = layer("phase")
        network = HEADS["density"](features)
        with torch.no_grad():
            network.measurement.factor[:, 1] = 0
        coordinates = Coordinates(states_of(features))
        other = coordinates.precondition(network, 0, at_random=False)
        values = torch.linalg.svdvals(other.measurement.factor.detach()[0])
        assert 1e-3 < values[1] / values[0] < 0.1
        rows = rows_of(features, 9)
        same(other(rows), network(rows), atol=0.2)
        other(rows).sum().backward()
        assert other.measurement.factor.grad.norm(dim=-1).min() > 1e-6

    @pytest.mark.parametrize("name", ["phase", "complex"])
    def test_signs_of_the_factor_s_rows_mean_nothing(self, name):
        """Signs and phases of eigenvectors are up to the linear algebra."""
        features = layer(name)
        network = full(HEADS["classes"], features)
        coordinates = Coordinates(states_of(features))
        dtype = state_dtype(features)
        turns = normal(3, 2, 1, dtype=dtype)
        turned = deepcopy(network)
        with torch.no_grad():
            turned.measurement.factor.mul_(turns / turns.abs())
        found, expected = (
            coordinates.precondition(each, 0, at_random=False).measurement.factor
            for each in (turned, network)
        )
        assert_allclose(found.detach(), expected.detach(), rtol=0, atol=1e-9)

    def test_at_random_forgets_the_factor(self):
        features = layer("phase")
        coordinates = Coordinates(states_of(features))
        first, again, other = (
            coordinates.precondition(
                full(HEADS[head], features), seed, at_random=True
            ).measurement.factor.detach()
            for head, seed in (("classes", 0), ("priors", 0), ("classes", 1))
        )
        assert_allclose(first, again, rtol=0)
        assert (first != other).all()

    def test_seeds(self):
        features = layer("phase")
        network = full(HEADS["classes"], features)
        coordinates = Coordinates(states_of(features))
        first, again, other = (
            coordinates.precondition(
                network, seed, at_random=False
            ).measurement.factor.detach()
            for seed in (0, 0, 1)
        )
        assert_allclose(first, again, rtol=0)
        assert (first - other).abs().max() > 0.1

    @every_head
    def test_single_stays_single(self, head):
        features = layer("landmarks", dtype=torch.float32)
        network = HEADS[head](features, dtype=torch.float32)
        with torch.no_grad():
            states = features.scaled(rows_of(features, 60, dtype=torch.float32))[0]
        coordinates = Coordinates(states)
        other = coordinates.precondition(network, 0, at_random=False)
        for each in [*other.parameters(), *other.buffers()]:
            assert each.dtype == torch.float32
        rows = rows_of(features, 9, dtype=torch.float32)
        same(other(rows), network(rows), atol=1e-3)

    def test_mass_follows_landmarks_that_move(self, monkeypatch):
        """Without gradients too, where tensors take each other's place in memory."""
        features = layer("landmarks", trainable=True)
        place = np.eye(features.n_components)
        monkeypatch.setattr(features, "mass_matrix", lambda: torch.from_numpy(place))
        other = Preconditioned(features, torch.from_numpy(place.copy()))
        for factor in (1, 2, 6):
            assert_allclose(other.mass_matrix(), factor * np.eye(len(place)), rtol=0)
            place *= factor + 1

    @pytest.mark.parametrize("name", ["phase", "complex", "landmarks"])
    def test_what_the_layer_is_stays(self, name):
        """Its dtype, and the map that it came from."""
        features = layer(name)
        coordinates = Coordinates(states_of(features))
        other = coordinates.precondition(HEADS["density"](features), 0, at_random=True)
        assert other.features.state_dtype == state_dtype(features)
        known = object()
        assert other.features.to_map(known, None) is known
