"""Feature layers: what the NumPy maps compute, with gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.func import functional_call

from rhokit.features import (
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QuadratureFeatures,
)
from rhokit.features.sampling import SAMPLING_RULES
from rhokit.nn import FourierLayer, LandmarkLayer, feature_layer
from tests.nn import (
    LAYERS,
    TRAINABLE,
    check_gradients,
    double,
    in_turn,
    layer,
    normal,
    one_model,
    rows_of,
    state_dtype,
    trained_weights,
)
from tests.support import random_array

every_layer = pytest.mark.parametrize("name", LAYERS)
every_trainable = pytest.mark.parametrize("name", TRAINABLE)
every_form = pytest.mark.parametrize("form", ["phase", "pair", "complex"])
every_sampling = pytest.mark.parametrize("sampling", SAMPLING_RULES)
every_form_with_a_sampling = pytest.mark.parametrize(
    ("form", "sampling"),
    [
        *in_turn(["phase", "pair", "complex"], SAMPLING_RULES),
        *in_turn(["phase", "pair", "complex"], SAMPLING_RULES, shift=1),
    ],
)

MAPS = {
    "phase": FourierFeatures(gamma=0.4, n_components=20, random_state=0),
    "not normalised": FourierFeatures(
        gamma=0.4, n_components=20, normalize=False, random_state=0
    ),
    "pair": FourierFeatures(gamma=0.4, n_components=20, form="pair", random_state=0),
    "complex": FourierFeatures(
        gamma=0.4, n_components=20, form="complex", random_state=0
    ),
    "quadrature": QuadratureFeatures(gamma=0.2, tol=1e-2),
    "landmarks": LandmarkFeatures(gamma=0.4, n_components=12, random_state=0),
    "landmarks normalised": LandmarkFeatures(
        gamma=0.4, n_components=12, normalize=True, random_state=0
    ),
}
every_map = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS.keys())


def draw(n, d, seed=5):
    return np.random.default_rng(seed).normal(size=(n, d))


class TestGradients:
    @every_layer
    def test_by_rows(self, name):
        features = layer(name)
        assert features.frozen
        assert trained_weights(features) == set()
        check_gradients(features, rows_of(features))

    @every_trainable
    def test_by_rows_and_weights(self, name):
        features = layer(name, trainable=True)
        assert not features.frozen
        expected = {"frequencies"} if hasattr(features, "phases") else {"landmarks"}
        if name not in ("pair", "complex") and "frequencies" in expected:
            expected = {"frequencies", "phases"}
        assert trained_weights(features) == expected
        check_gradients(features, rows_of(features))

    def test_both_kinds_of_distances_are_there(self):
        """The instances above cover what they say."""
        by_product = {name for name in LAYERS if getattr(layer(name), "by_product", 0)}
        assert by_product == {
            "landmarks by product",
            "landmarks normalised by product",
        }

    @every_trainable
    def test_by_the_scale_that_is_taken_out(self, name):
        """Through states and logarithms, as read-outs use them."""
        features = layer(name, trainable=True)
        rows = rows_of(features).requires_grad_()

        def total(rows):
            states, log_scale = features.scaled(rows)
            logs = states.abs().pow(2).sum(dim=-1).log()
            return logs if log_scale is None else logs + 2 * log_scale

        assert torch.autograd.gradcheck(total, (rows,))

    def test_far_from_all_landmarks(self):
        features = layer("landmarks", trainable=True)
        rows = double([[1e3, 0.0], [0.0, -1e5]], requires_grad=True)
        states, log_scale = features.scaled(rows)
        (states.pow(2).sum(dim=-1).log() + 2 * log_scale).sum().backward()
        assert torch.isfinite(rows.grad).all()
        assert torch.isfinite(features.landmarks.grad).all()
        # The logarithm of a Gaussian falls by 2γ times the distance.
        assert_allclose(rows.grad[1, 1], 2 * 0.7 * 1e5, rtol=1e-4)


class TestMaps:
    """A layer computes what its map computes."""

    @pytest.mark.parametrize(("d", "name"), [*in_turn([1, 2, 3], MAPS), (3, "phase")])
    def test_states(self, name, d):
        feature_map = MAPS[name].fit(draw(60, d))
        rows = draw(25, d, seed=6)
        found = feature_layer(feature_map, dtype=torch.float64)(double(rows))
        assert_allclose(found, feature_map.transform(rows), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("offset", [0.0, 50.0])
    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("d", [4, 5, 12])
    def test_landmarks_of_many_columns(self, d, normalize, offset):
        rows = draw(60, d) + offset
        feature_map = LandmarkFeatures(
            gamma=1 / d, n_components=20, normalize=normalize, random_state=0
        ).fit(rows)
        features = feature_layer(feature_map, dtype=torch.float64)
        assert features.by_product == (d > 4)
        found = features(double(rows))
        assert_allclose(found, feature_map.transform(rows), rtol=0, atol=1e-10)

    @every_form_with_a_sampling
    @pytest.mark.parametrize("normalize", [False, True])
    def test_fourier(self, form, sampling, normalize):
        feature_map = FourierFeatures(
            gamma=0.3,
            n_components=21,
            form=form,
            sampling=sampling,
            normalize=normalize,
            random_state=1,
        ).fit(draw(3, 5))
        rows = draw(25, 5, seed=6)
        features = feature_layer(feature_map, dtype=torch.float64)
        assert features.n_components == feature_map.n_components_
        found = features(double(rows))
        assert_allclose(found, feature_map.transform(rows), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("d", [1, 2])
    def test_quadrature_inside_and_outside_its_box(self, d):
        feature_map = QuadratureFeatures(gamma=0.4, tol=1e-3).fit(draw(60, d))
        low, high = feature_map.box()
        inside, step = (low + high) / 2, np.eye(d)[0]
        rows = np.array(
            [
                inside,
                high - 1e-6,
                low + 1e-6,
                high + 1e-6 * step,
                low - 1e-6 * step,
                1e6 * step,
                inside - 1e3,
            ]
        )
        found = feature_layer(feature_map, dtype=torch.float64)(double(rows)).numpy()
        assert_allclose(found, feature_map.transform(rows), rtol=0, atol=1e-10)
        assert found[:3].any(axis=1).all()
        assert not found[3:].any()

    @every_map
    def test_the_map_of_a_frozen_layer_is_the_same(self, feature_map):
        feature_map.fit(draw(60, 2))
        assert feature_layer(feature_map).to_map(feature_map, draw(9, 2)) is feature_map

    @pytest.mark.parametrize("name", sorted(set(MAPS) - {"quadrature"}))
    @pytest.mark.parametrize("d", [2, 6])
    def test_the_map_of_a_trained_layer_has_its_weights(self, name, d):
        rows = draw(60, d)
        feature_map = MAPS[name].fit(rows)
        features = feature_layer(feature_map, trainable=True, dtype=torch.float64)
        with torch.no_grad():
            for each in features.parameters():
                if each.requires_grad:
                    each += 0.1 * normal(*each.shape, seed=9)
        moved = features.to_map(feature_map, rows)
        states = features(double(rows)).detach().numpy()
        assert_allclose(moved.transform(rows), states, rtol=0, atol=1e-10)
        assert np.abs(feature_map.transform(rows) - states).max() > 1e-3
        assert moved.fingerprint() != feature_map.fingerprint()

    @pytest.mark.parametrize("trainable", [False, True])
    def test_mass_matrix_of_landmarks(self, trainable):
        feature_map = MAPS["landmarks"].fit(draw(60, 2))
        features = feature_layer(feature_map, trainable=trainable, dtype=torch.float64)
        found = features.mass_matrix().detach()
        assert_allclose(found, feature_map.mass_matrix(), rtol=0, atol=1e-10)

    def test_mass_matrix_follows_trained_landmarks(self):
        rows = draw(60, 2)
        feature_map = MAPS["landmarks"].fit(rows)
        features = feature_layer(feature_map, trainable=True, dtype=torch.float64)
        with torch.no_grad():
            features.landmarks += 0.3 * normal(*features.landmarks.shape)
        found = features.mass_matrix().detach().numpy()
        moved = features.to_map(feature_map, rows)
        assert_allclose(found, moved.mass_matrix(), rtol=0, atol=1e-10)
        assert np.abs(found - feature_map.mass_matrix()).max() > 1e-2

    def test_mass_matrix_of_a_grid_and_of_random_features(self):
        grid = QuadratureFeatures(gamma=0.4, tol=1e-4).fit(draw(60, 2))
        found = feature_layer(grid, dtype=torch.float64).mass_matrix()
        assert_allclose(found, grid.mass_matrix(), rtol=0, atol=1e-10)
        for name in ("phase", "pair", "complex", "landmarks normalised"):
            assert layer(name).mass_matrix() is None


class TestSeeds:
    @every_form_with_a_sampling
    def test_the_features_of_the_map(self, form, sampling):
        options = {"gamma": 0.7, "form": form, "sampling": sampling, "random_state": 4}
        feature_map = FourierFeatures(n_components=10, **options).fit(np.zeros((1, 3)))
        features = FourierLayer(3, 10, dtype=torch.float64, **options)
        assert_array_equal(features.frequencies.detach(), feature_map.frequencies_)
        if form == "complex":
            assert features.phases is None
        else:
            assert_array_equal(features.phases.detach(), feature_map.phases_)
        assert_array_equal(features.amplitudes, feature_map.amplitudes_)

    @every_form_with_a_sampling
    @pytest.mark.parametrize("seed", [4, [4, 2]], ids=str)
    def test_the_first_of_many_models(self, form, sampling, seed):
        def make(models):
            rng = np.random.default_rng(seed)
            return FourierLayer(
                3, 10, form=form, sampling=sampling, models=models, random_state=rng
            )

        alone, many = make(()), make((3,))
        assert many.frequencies.shape == (3, *alone.frequencies.shape)
        assert_array_equal(many.frequencies.detach()[0], alone.frequencies.detach())
        if form != "complex":
            assert many.phases.shape == (3, *alone.phases.shape)
            assert_array_equal(many.phases.detach()[0], alone.phases.detach())

    def test_an_int_is_the_same_seed_for_one_and_for_many(self):
        alone, many = (
            FourierLayer(3, 10, models=models, random_state=4) for models in ((), (3,))
        )
        assert_array_equal(many.frequencies.detach()[0], alone.frequencies.detach())

    @every_sampling
    def test_models_differ(self, sampling):
        features = FourierLayer(
            3, 10, sampling=sampling, models=(2, 2), random_state=4
        ).frequencies.detach()
        flat = features.reshape(4, -1)
        assert torch.pdist(flat).min() > 0.1

    def test_without_a_seed_layers_differ(self):
        first, second = (FourierLayer(3, 10).frequencies.detach() for _ in range(2))
        assert (first != second).all()


class TestManyModels:
    @every_form
    @pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
    def test_fourier(self, form, shared):
        features = FourierLayer(
            3, 6, form=form, models=(2, 3), random_state=0, dtype=torch.float64
        )
        rows = normal(4, 3) if shared else normal(2, 3, 4, 3)
        found = features(rows).detach()
        assert found.shape == (2, 3, 4, 6)
        for index in np.ndindex(2, 3):
            own = rows if shared else rows[index]
            alone = one_model(features, index, own).detach()
            assert_allclose(found[index], alone, rtol=0, atol=1e-12)

    @every_layer
    def test_one_map_for_many_sets_of_rows(self, name):
        features = layer(name)
        rows = torch.stack([rows_of(features, seed=seed) for seed in range(6)])
        found = features(rows.reshape(2, 3, *rows.shape[1:])).detach()
        for i, index in enumerate(np.ndindex(2, 3)):
            alone = features(rows[i]).detach()
            assert_allclose(found[index], alone, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("name", [name for name in LAYERS if "landmarks" in name])
    def test_landmarks_of_many_models(self, name):
        features = layer(name)
        landmarks = normal(3, *features.landmarks.shape)
        rows = rows_of(features)
        found = functional_call(features, {"landmarks": landmarks}, rows)
        for i in range(3):
            alone = functional_call(features, {"landmarks": landmarks[i]}, rows)
            assert_allclose(found[i], alone, rtol=0, atol=1e-12)


class TestPrecision:
    @every_layer
    def test_single_stays_single(self, name):
        features = layer(name, dtype=torch.float32)
        rows = rows_of(features, dtype=torch.float32)
        found = features(rows)
        assert found.dtype == state_dtype(features, torch.float32)
        for each in [*features.parameters(), *features.buffers()]:
            assert each.dtype == torch.float32
        exact = layer(name)(rows.double()).detach()
        assert_allclose(found.detach(), exact, rtol=0, atol=1e-4)

    def test_the_default_dtype_is_torch_s(self):
        assert FourierLayer(2, 8)(torch.zeros(1, 2)).dtype == torch.float32
        assert LandmarkLayer([[0.0]])(torch.zeros(1, 1)).dtype == torch.float32

    @pytest.mark.parametrize("d", [2, 8])
    def test_single_far_from_the_origin(self, d):
        """The centre of the landmarks is taken off before anything is multiplied."""
        landmarks = draw(12, d) + 1e3
        rows = double(draw(9, d, seed=6) + 1e3).to(torch.float32)
        found, exact = (
            LandmarkLayer(landmarks, gamma=1 / d, dtype=dtype)(rows.to(dtype)).detach()
            for dtype in (torch.float32, torch.float64)
        )
        assert_allclose(found, exact, rtol=0, atol=2e-3)


class TestErrors:
    def test_a_grid_is_not_trained(self):
        feature_map = QuadratureFeatures(tol=1e-2).fit(draw(9, 1))
        with pytest.raises(ValueError, match=r"QuadratureFeatures .*feature_map="):
            feature_layer(feature_map, trainable=True)

    def test_other_maps_have_no_layer(self):
        feature_map = OneHotFeatures().fit([["a"], ["b"]])
        with pytest.raises(ValueError, match=r"'feature_map'.*Got OneHotFeatures"):
            feature_layer(feature_map)

    @pytest.mark.parametrize(
        "parameters", [{"gamma": -1.0}, {"form": "cos"}, {"sampling": "none"}], ids=str
    )
    def test_parameters_are_those_of_the_map(self, parameters):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            FourierLayer(2, 8, **parameters)

    def test_printing(self):
        assert repr(FourierLayer(2, 8)) == "FourierLayer(2, 8, trainable=False)"
        features = LandmarkLayer([[0.0], [1.0]], trainable=True)
        expected = "LandmarkLayer(2 landmarks, 1 columns, trainable=True)"
        assert repr(features) == expected


def test_states_do_not_depend_on_the_rest_of_the_batch():
    features = layer("landmarks by product")
    rows = double(random_array(np.random.default_rng(0), (9, 6)))
    assert_allclose(features(rows)[3:5], features(rows[3:5]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_landmarks_of_many_models_are_each_models_own(normalize):
    """Also where models have fewer directions than others: two equal landmarks."""
    rng = np.random.default_rng(0)
    landmarks = rng.normal(size=(3, 6, 2))
    landmarks[1, 5] = landmarks[1, 0]
    options = {"gamma": 0.7, "normalize": normalize, "dtype": torch.float64}
    layer = LandmarkLayer(landmarks, **options)
    rows = torch.from_numpy(rng.normal(size=(4, 2)))
    found = layer(rows)
    assert found.shape == (3, 4, 6)
    for states, each in zip(found, landmarks, strict=True):
        alone = LandmarkLayer(each, **options)(rows)
        overlaps = alone @ alone.T
        assert_allclose(
            (states @ states.T).detach(), overlaps.detach(), rtol=1e-10, atol=1e-12
        )
