"""Heads: the core's formulas, one-pass models, densities that integrate to one."""

import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from rhokit import (
    DMKDE,
    DMKDESGD,
    DMKDClassifier,
    DMKDClassifierSGD,
    QMClassifier,
    QMClassifierSGD,
    QMRegressor,
    QMRegressorSGD,
)
from rhokit.core import log_measured, log_posterior
from rhokit.core.distributions import mean_and_variance
from rhokit.features import (
    FourierFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from rhokit.nn import (
    ClassifierHead,
    DensityHead,
    FourierLayer,
    LandmarkLayer,
    RegressorHead,
    feature_layer,
)
from tests.nn import (
    HEADS,
    LAYERS,
    OVERLAPS,
    TRAINABLE,
    check_gradients,
    double,
    grid,
    in_turn,
    layer,
    normal,
    one_model,
    parts,
    rows_of,
    state_dtype,
    trained_weights,
)
from tests.reference import core_oracles as oracle

every_head = pytest.mark.parametrize("head", HEADS)
each_pair = pytest.mark.parametrize(("head", "name"), in_turn(HEADS, LAYERS))
each_trainable_pair = pytest.mark.parametrize(
    ("head", "name"), in_turn(HEADS, TRAINABLE, shift=1)
)
few_pairs = pytest.mark.parametrize(
    ("head", "name"), in_turn(HEADS, ["phase", "complex", "landmarks"])
)
other_pairs = pytest.mark.parametrize(("head", "name"), in_turn(HEADS, LAYERS, shift=2))
every_layer = pytest.mark.parametrize("name", LAYERS)


def trained_too(name):
    """Weights of a layer of this name that can be trained."""
    if "landmarks" in name:
        return {"features.landmarks"}
    return {"features.frequencies"} | (
        set() if name in ("pair", "complex") else {"features.phases"}
    )


def measured(head, rows):
    """``φ†ρ_kφ`` of trace-one matrices, from the layer's states and the factor."""
    states = head.features(rows).detach().numpy()
    factor = head.measurement.factor.detach().numpy()
    rho = np.array([a.conj().T @ a for a in factor])
    traces = np.trace(rho, axis1=1, axis2=2).real
    each = head.measurement.trace == "each"
    rho = rho / (traces[:, None, None] if each else traces.sum())
    return oracle.born(rho, states), rho


def same(found, expected, atol=1e-10):
    for left, right in zip(parts(found), expected, strict=True):
        assert left.shape == right.shape
        assert_allclose(left, right, rtol=0, atol=atol)


class TestGradients:
    @each_pair
    def test_by_rows_and_factor(self, head, name):
        features = layer(name)
        network = HEADS[head](features)
        assert trained_weights(network) == {"measurement.factor"}
        check_gradients(network, rows_of(features))

    @each_trainable_pair
    def test_by_trained_features(self, head, name):
        features = layer(name, trainable=True)
        network = HEADS[head](features)
        expected = {"measurement.factor"} | trained_too(name)
        assert trained_weights(network) == expected
        check_gradients(network, rows_of(features))

    @few_pairs
    def test_no_decomposition(self, head, name, monkeypatch):
        features = layer(name, trainable=True)
        network, rows = HEADS[head](features), rows_of(features).requires_grad_()

        def refuse(*args, **kwargs):
            raise AssertionError("a decomposition")

        for each in ("eigh", "eigvalsh", "eig", "svd", "svdvals", "qr", "cholesky"):
            monkeypatch.setattr(torch.linalg, each, refuse)
        output = network(rows)
        total = output[0] + output[1] if isinstance(output, tuple) else output
        total.square().sum().backward()
        assert rows.grad.abs().max() > 0
        for weight_name, weight in network.named_parameters():
            if weight.requires_grad:
                assert weight.grad.abs().max() > 0, weight_name

    @other_pairs
    def test_every_row_of_the_factor_has_one(self, head, name):
        """So that no eigenvalue can die."""
        features = layer(name)
        network = HEADS[head](features)
        output = network(rows_of(features))
        total = output[0] + output[1] if isinstance(output, tuple) else output
        total.square().sum().backward()
        assert network.measurement.factor.grad.norm(dim=-1).min() > 1e-6

    @every_head
    def test_far_from_all_landmarks(self, head):
        features = layer("landmarks", trainable=True)
        network = HEADS[head](features)
        rows = double([[1e3, 0.0], [0.0, -1e5]], requires_grad=True)
        output = network(rows)
        total = output[0] + output[1] if isinstance(output, tuple) else output
        assert torch.isfinite(total).all()
        total.sum().backward()
        assert torch.isfinite(rows.grad).all()
        for weight in network.parameters():
            assert torch.isfinite(weight.grad).all()

    @pytest.mark.parametrize("head", sorted(set(HEADS) - {"density"}))
    def test_an_outcome_that_was_never_seen(self, head):
        """Its factor is zero; that of the others still has a gradient."""
        features = layer("landmarks")
        network = HEADS[head](features)
        with torch.no_grad():
            network.measurement.factor[2] = 0
        output = network(rows_of(features))
        total = output[0] if isinstance(output, tuple) else output[:, :2]
        total.sum().backward()
        gradient = network.measurement.factor.grad
        assert torch.isfinite(gradient).all()
        assert gradient[:2].norm(dim=-1).min() > 1e-6

    def test_classes_where_nothing_is_measured(self):
        """Outside the box of a grid the priors remain, and gradients are finite."""
        network = HEADS["priors"](layer("quadrature"))
        rows = double([[0.0], [1e3]])
        logs = network(rows)
        assert_allclose(logs[1].detach().exp(), [0.2, 0.5, 0.3], rtol=1e-9)
        logs.sum().backward()
        assert torch.isfinite(network.measurement.factor.grad).all()


class TestCore:
    """The formulas of the core, in NumPy."""

    @every_layer
    def test_density(self, name):
        features = layer(name)
        network, rows = HEADS["density"](features), rows_of(features)
        values, rho = measured(network, rows)
        mass = features.mass_matrix()
        share = 1 if mass is None else np.trace(rho[0] @ mass.detach().numpy())
        expected = np.log(values[:, 0]) - np.log(share) - 0.4
        same(network(rows), [expected])

    @pytest.mark.parametrize("name", ["phase", "pair", "complex"])
    @pytest.mark.parametrize("trainable", [False, True])
    def test_density_of_random_features(self, name, trainable):
        """The trace stands in the integral's place, as in the paper."""
        features = layer(name, trainable=trainable)
        network, rows = HEADS["density"](features), rows_of(features)
        logs = log_measured(network.measurement(features(rows)).detach().numpy())
        same(network(rows), [logs[:, 0] - 0.4])
        assert network.log_mass() == 0

    @pytest.mark.parametrize(
        ("head", "name"), in_turn(["classes", "priors", "joint", "overlaps"], LAYERS)
    )
    def test_classes(self, head, name):
        features = layer(name)
        network, rows = HEADS[head](features), rows_of(features)
        values, _ = measured(network, rows)
        if head == "overlaps":
            values = values @ np.array(OVERLAPS)
        priors = [0.2, 0.5, 0.3] if head == "priors" else [1.0, 1.0, 1.0]
        expected = log_posterior(np.log(values), np.log(priors))
        same(network(rows), [expected])
        probabilities = values * priors / (values * priors).sum(axis=1, keepdims=True)
        assert_allclose(np.exp(expected), probabilities, rtol=1e-9)

    def test_overlaps_are_measured_by_the_labels_states(self):
        """``ψ_k^T ρ_Y ψ_k`` with the joint state written out."""
        features = layer("pair")
        outputs = np.array([[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6]])
        overlaps = (outputs @ outputs.T) ** 2
        network = ClassifierHead(
            features, 3, 2, joint=True, overlaps=overlaps, dtype=torch.float64
        )
        rows = rows_of(features)
        states = features(rows).detach().numpy()
        factor = network.measurement.factor.detach().numpy()
        joint = sum(
            np.kron(a.T @ a, np.outer(psi, psi))
            for a, psi in zip(factor, outputs, strict=True)
        )
        products = [[np.kron(phi, psi) for psi in outputs] for phi in states]
        values = np.array([[z @ joint @ z for z in each] for each in products])
        expected = values / values.sum(axis=1, keepdims=True)
        same(network(rows).exp(), [expected])

    @every_layer
    def test_values(self, name):
        features = layer(name)
        network, rows = HEADS["values"](features), rows_of(features)
        values, _ = measured(network, rows)
        probabilities = values / values.sum(axis=1, keepdims=True)
        same(network.distribution(rows), [probabilities])
        levels = np.array([-1.0, 0.0, 1.0, 2.0])
        same(network(rows), mean_and_variance(probabilities, levels))

    @other_pairs
    def test_forward_reads_what_the_features_say(self, head, name):
        features = layer(name)
        network, rows = HEADS[head](features), rows_of(features)
        states, log_scale = features.scaled(rows)
        same(network.read(states, log_scale), parts(network(rows)), atol=0)

    @pytest.mark.parametrize("head", sorted(set(HEADS) - {"density"}))
    def test_the_scale_of_a_row_means_nothing(self, head):
        features = layer("landmarks")
        network, states = HEADS[head](features), features(rows_of(features))
        same(network.read(1e-3 * states), parts(network.read(states)))

    def test_a_density_falls_as_far_as_rows_go(self):
        network = HEADS["density"](layer("landmarks"))
        rows = double([[10.0**k, 0.0] for k in range(1, 9)])
        logs = network(rows).detach().numpy()
        assert np.isfinite(logs).all()
        assert (np.diff(logs) < 0).all()

    def test_a_class_with_no_prior_has_no_probability(self):
        features = layer("phase")
        network = ClassifierHead(
            features, 3, 2, priors=[0.5, 0.0, 0.5], dtype=torch.float64
        )
        probabilities = network(rows_of(features)).exp()
        assert_allclose(probabilities.detach()[:, 1], 0, rtol=0)
        assert_allclose(probabilities.detach().sum(dim=1), 1, rtol=1e-12)

    def test_defaults(self):
        features = FourierLayer(2, 64)
        assert DensityHead(features).measurement.factor.shape == (1, 32, 64)
        assert ClassifierHead(features, 3).measurement.factor.shape == (3, 16, 64)
        assert RegressorHead(features).measurement.factor.shape == (32, 16, 64)
        assert_allclose(RegressorHead(features, 3).levels, [0, 0.5, 1], rtol=0)
        assert ClassifierHead(features, 3).measurement.trace == "each"
        assert ClassifierHead(features, 3, joint=True).measurement.trace == "joint"


def draw(n=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 3
    codes = (rows[:, 0] > 3).astype(int) + (rows[:, 1] > 4)
    return rows, codes, np.sin(rows[:, 0]) + 0.1 * rng.normal(size=n)


GAUSSIAN_MAPS = {
    "landmarks": LandmarkFeatures(n_components=25, random_state=0),
    "landmarks normalised": LandmarkFeatures(
        n_components=25, normalize=True, random_state=0
    ),
    "phase": FourierFeatures(n_components=40, random_state=0),
    "complex": FourierFeatures(n_components=30, form="complex", random_state=0),
    "quadrature": QuadratureFeatures(tol=1e-3),
}
OPTIONS = {"gamma": 0.5, "scale": None, "random_state": 0}


def module_of(kind, estimator, rows):
    """What the module of a one-pass model computes for rows in the user's units."""
    network = kind.from_estimator(estimator).to_module()
    scaled = double(estimator.scaling_.apply(rows))
    return network, scaled


class TestOnePass:
    """The module of a one-pass model predicts what the model does."""

    @pytest.mark.parametrize(
        ("rank", "name"), [*in_turn([None, 5], GAUSSIAN_MAPS), (5, "landmarks")]
    )
    def test_density(self, name, rank):
        rows, _, _ = draw()
        model = DMKDE(feature_map=GAUSSIAN_MAPS[name], rank=rank, **OPTIONS).fit(rows)
        network, scaled = module_of(DMKDESGD, model, rows[:40])
        same(network(scaled), [model.score_samples(rows[:40])])

    @pytest.mark.parametrize("rank", [None, 5])
    @pytest.mark.parametrize(
        ("priors", "name"),
        in_turn(["empirical", [0.1, 0.6, 0.3]], GAUSSIAN_MAPS),
        ids=str,
    )
    def test_classes(self, name, rank, priors):
        rows, codes, _ = draw()
        model = DMKDClassifier(
            feature_map=GAUSSIAN_MAPS[name], rank=rank, priors=priors, **OPTIONS
        ).fit(rows, codes)
        network, scaled = module_of(DMKDClassifierSGD, model, rows[:40])
        same(network(scaled).exp(), [model.predict_proba(rows[:40])])

    @pytest.mark.parametrize("rank", [None, 5])
    @pytest.mark.parametrize(
        ("output_map", "name"),
        in_turn(["onehot", SoftmaxFeatures(n_components=3, beta=2.0)], GAUSSIAN_MAPS),
        ids=lambda each: each if isinstance(each, str) else "softmax",
    )
    def test_joint_classes(self, name, rank, output_map):
        rows, codes, _ = draw()
        model = QMClassifier(
            feature_map=GAUSSIAN_MAPS[name],
            rank=rank,
            output_map=output_map,
            **OPTIONS,
        ).fit(rows, codes)
        network, scaled = module_of(QMClassifierSGD, model, rows[:40])
        same(network(scaled).exp(), [model.predict_proba(rows[:40])])

    @pytest.mark.parametrize(
        ("rank", "name"), [*in_turn([5, None], GAUSSIAN_MAPS), (None, "landmarks")]
    )
    def test_values(self, name, rank):
        rows, _, target = draw()
        model = QMRegressor(
            feature_map=GAUSSIAN_MAPS[name],
            rank=rank,
            n_levels=8,
            beta=20.0,
            **OPTIONS,
        ).fit(rows, target)
        network, scaled = module_of(QMRegressorSGD, model, rows[:40])
        same(network.distribution(scaled), [model.predict_distribution(rows[:40])])
        mean, variance = network(scaled)
        low, high = model.levels_[[0, -1]]
        expected = model.predict(rows[:40], return_std=True)
        found = low + (high - low) * mean, (high - low) * variance.sqrt()
        same(found, expected)


class TestIntegral:
    """Densities integrate to one, whatever the factor."""

    def total(self, network, low, high, count, d):
        points, volume = grid(low, high, count, d)
        return (network(points).exp().sum(dim=-1) * volume).detach()

    @pytest.mark.parametrize(("d", "count"), [(1, 600), (2, 130)])
    @pytest.mark.parametrize("rank", [1, 4])
    @pytest.mark.parametrize("moved", ["frozen", "trainable", "moved"])
    def test_landmarks(self, d, count, rank, moved):
        features = LandmarkLayer(
            normal(12, d),
            gamma=1.5,
            trainable=moved != "frozen",
            dtype=torch.float64,
        )
        log_norm = d / 2 * math.log(math.pi / 1.5)
        network = DensityHead(
            features, rank, log_norm=log_norm, random_state=1, dtype=torch.float64
        )
        if moved == "moved":
            with torch.no_grad():
                features.landmarks += 0.4 * normal(12, d, seed=5)
        assert_allclose(self.total(network, -9, 9, count, d), 1, atol=1e-3)

    @pytest.mark.parametrize(("d", "count"), [(1, 2001), (2, 201)])
    @pytest.mark.parametrize("rank", [1, 4])
    def test_grids(self, d, count, rank):
        feature_map = QuadratureFeatures(gamma=1.5, tol=1e-3).fit(
            [[-2.0] * d, [2.0] * d]
        )
        network = DensityHead(
            feature_layer(feature_map, dtype=torch.float64),
            rank,
            log_norm=feature_map.log_mass(),
            random_state=1,
            dtype=torch.float64,
        )
        low, high = (float(side[0]) for side in feature_map.box())
        half = (high - low) / count / 2  # the middles of cells
        total = self.total(network, low + half, high - half, count, d)
        assert_allclose(total, 1, atol=1e-3)

    @pytest.mark.parametrize("trainable", [False, True])
    def test_landmarks_that_are_frozen_after_training(self, trainable):
        features = LandmarkLayer(
            normal(8, 1), gamma=2.0, trainable=trainable, dtype=torch.float64
        )
        network = DensityHead(
            features,
            2,
            log_norm=0.5 * math.log(math.pi / 2),
            random_state=1,
            dtype=torch.float64,
        )
        features.requires_grad_(True)
        with torch.no_grad():
            features.landmarks.mul_(1.5)
        assert_allclose(self.total(network, -9, 9, 600, 1), 1, atol=1e-3)
        network.requires_grad_(False)
        assert_allclose(self.total(network, -9, 9, 600, 1), 1, atol=1e-3)

    @pytest.mark.parametrize("name", ["landmarks", "quadrature", "phase"])
    def test_the_kernel_s_own_norm_without_another(self, name):
        features = layer(name)
        d = rows_of(features).shape[1]
        gamma = 0.5 if name == "phase" else 0.7
        expected = d / 2 * math.log(math.pi / gamma)
        found = DensityHead(features, 2, dtype=torch.float64).log_norm
        assert_allclose(found, expected, rtol=1e-12)

    def test_many_models(self):
        network = DensityHead(
            LandmarkLayer(normal(8, 1), gamma=2.0, dtype=torch.float64),
            2,
            log_norm=0.5 * math.log(math.pi / 2),
            models=(2, 3),
            random_state=1,
            dtype=torch.float64,
        )
        total = self.total(network, -9, 9, 600, 1)
        assert_allclose(total, np.ones((2, 3)), atol=1e-3)

    @pytest.mark.parametrize("name", ["landmarks", "quadrature"])
    def test_a_mean_over_rows_has_mass_one(self, name):
        """``tr(ρG)`` of a one-pass state, where the map is nearly exact."""
        rows = draw(400)[0]
        feature_map = {
            "landmarks": LandmarkFeatures(n_components=200, random_state=0),
            "quadrature": QuadratureFeatures(tol=1e-3),
        }[name]
        model = DMKDE(
            feature_map=feature_map, gamma=2.0, scale=None, random_state=0
        ).fit(rows)
        rho = model.density_matrix_.normalized()[0]
        share = np.trace(rho @ model.feature_map_.mass_matrix())
        assert_allclose(share, 1, atol=1e-2)
        network = DMKDESGD.from_estimator(model).to_module()
        found = network.log_mass().exp() * network.measurement.traces()[0]
        assert_allclose(found.detach(), share, rtol=1e-9)


class TestManyModels:
    @each_pair
    @pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
    def test_one_map(self, head, name, shared):
        features = layer(name)
        network = HEADS[head](features, models=(2, 3))
        rows = (
            rows_of(features)
            if shared
            else torch.stack(
                [rows_of(features, seed=seed) for seed in range(6)]
            ).unflatten(0, (2, 3))
        )
        found = parts(network(rows))
        for index in np.ndindex(2, 3):
            alone = HEADS[head](features)
            with torch.no_grad():
                alone.measurement.factor.copy_(network.measurement.factor[index])
            own = rows if shared else rows[index]
            same(alone(own), [each[index] for each in found], atol=1e-12)

    @every_head
    @pytest.mark.parametrize("form", ["phase", "pair", "complex"])
    def test_a_map_for_each(self, head, form):
        features = FourierLayer(
            3, 6, form=form, models=(2,), random_state=0, dtype=torch.float64
        )
        network, rows = HEADS[head](features, models=(2,)), normal(4, 3)
        found = parts(network(rows))
        for i in range(2):
            alone = one_model(network, (i,), rows)
            same(alone, [each[i] for each in found], atol=1e-12)


class TestPrecision:
    @other_pairs
    def test_single_stays_single(self, head, name):
        features = layer(name, dtype=torch.float32)
        network = HEADS[head](features, dtype=torch.float32)
        rows = rows_of(features, dtype=torch.float32)
        output = network(rows)
        for each in output if isinstance(output, tuple) else (output,):
            assert each.dtype == torch.float32
        expected_dtype = state_dtype(features, torch.float32)
        assert network.measurement.factor.dtype == expected_dtype
        for each in network.buffers():
            assert each.dtype == torch.float32
        exact = parts(HEADS[head](layer(name))(rows.double()))
        same(output, exact, atol=2e-3)

    @every_head
    def test_saved_and_loaded(self, head):
        features = layer("landmarks")
        network, other = HEADS[head](features), HEADS[head](layer("landmarks"))
        with torch.no_grad():
            other.measurement.factor += 1
        other.load_state_dict(network.state_dict())
        rows = rows_of(features)
        same(other(rows), parts(network(rows)), atol=0)


class TestErrors:
    def test_priors_of_a_joint_state(self):
        with pytest.raises(ValueError, match=r"priors .* joint"):
            ClassifierHead(FourierLayer(2, 8), 2, joint=True, priors=[0.5, 0.5])

    @pytest.mark.parametrize("priors", [[0.5], [0.5, -0.5], [[0.5, 0.5]]], ids=str)
    def test_priors_that_are_none(self, priors):
        with pytest.raises(ValueError, match="priors must be 2 non-negative numbers"):
            ClassifierHead(FourierLayer(2, 8), 2, priors=priors)
