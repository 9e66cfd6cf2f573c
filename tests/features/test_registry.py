"""Maps by name: what they declare, and how a plan makes them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rhokit.batch import Columns
from rhokit.features import (
    MAPS,
    BlendFeatures,
    CoherentFeatures,
    FeatureMap,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MosaicFeatures,
    OneHotFeatures,
    QuadratureFeatures,
    SoftmaxFeatures,
    make_map,
    planned_names,
    register,
)

ROWS = np.random.default_rng(0).normal(size=(30, 2))
PLAN = {
    "gamma": 2.5,
    "n_components": 12,
    "random_state": 7,
    "normalize": True,
    "landmarks": ROWS[:4],
    "margin": 0.5,
    "kernel": "laplacian",
}
every_name = pytest.mark.parametrize("name", planned_names())
# Blends are made for a target, not fitted to rows.
FITTED = [name for name in planned_names() if name != "blend"]
every_fitted = pytest.mark.parametrize("name", FITTED)
# A mosaic has columns, by which cells are measured, and no states to overlap.
every_map_of_states = pytest.mark.parametrize(
    "name", [name for name in FITTED if name != "mosaic"]
)


def test_names():
    expected = {
        "blend": BlendFeatures,
        "coherent": CoherentFeatures,
        "fourier": FourierFeatures,
        "grid": GridFeatures,
        "landmarks": LandmarkFeatures,
        "mosaic": MosaicFeatures,
        "onehot": OneHotFeatures,
        "quadrature": QuadratureFeatures,
        "softmax": SoftmaxFeatures,
    }
    assert expected == MAPS
    assert all(MAPS[name].name == name for name in MAPS)
    names = (
        "blend",
        "coherent",
        "fourier",
        "grid",
        "landmarks",
        "mosaic",
        "quadrature",
    )
    assert planned_names() == names


class TestDeclared:
    @every_fitted
    def test_max_columns(self, name):
        rows = np.random.default_rng(0).normal(size=(9, 4))
        most = MAPS[name].max_columns
        make_map(name, gamma=0.01, n_components=4).fit(rows[:, : most or 4])
        if most is not None:
            with pytest.raises(ValueError, match=rf"works for 1 to {most} columns"):
                make_map(name, gamma=0.01).fit(rows)

    @every_map_of_states
    def test_resolves(self, name):
        """Squared overlaps of a narrow kernel, over all of the rows, are right."""
        fitted = make_map(name, gamma=40.0, n_components=8, random_state=0).fit(ROWS)
        states = fitted.transform(ROWS)
        expected = fitted.kernel_.overlaps(ROWS, ROWS) ** 2
        error = np.abs((states @ states.T) ** 2 - expected).max()
        assert (error < 1e-6) == MAPS[name].resolves

    @every_map_of_states
    def test_from_data(self, name):
        """Landmarks represent the rows that they are better than others."""
        fitted = make_map(name, gamma=20.0, n_components=30, random_state=0).fit(ROWS)
        others = np.random.default_rng(1).uniform(-1, 1, size=(30, 2))
        better = fitted.reach(ROWS).min() - fitted.reach(others).min() > 0.1
        assert better == MAPS[name].from_data

    @every_fitted
    def test_can_integrate(self, name):
        fitted = make_map(name, gamma=1.0, n_components=8).fit(ROWS)
        assert fitted.can_integrate == (name in ("grid", "landmarks"))

    def test_landmarks_can_integrate_unless_normalised(self):
        fitted = LandmarkFeatures(n_components=8).fit(ROWS)
        assert fitted.with_landmarks(fitted.landmarks_ + 0.1, ROWS).can_integrate
        assert not LandmarkFeatures(normalize=True).can_integrate

    def test_representation(self):
        series = {name for name, cls in MAPS.items() if cls.representation != "matrix"}
        assert series == {"blend", "grid", "mosaic"}
        assert GridFeatures.representation == "series"
        assert MosaicFeatures.representation == "mosaic"


class TestPlanned:
    @every_name
    def test_takes_its_own_settings_and_no_others(self, name):
        made, default = make_map(name, **PLAN), MAPS[name]().get_params()
        assert type(made) is MAPS[name]
        for parameter, value in made.get_params().items():
            taken = parameter in MAPS[name].settings
            assert value is (PLAN if taken else default)[parameter]
        with pytest.raises(NotFittedError):
            made.transform(ROWS)

    @every_name
    def test_what_a_plan_leaves_open_stays_as_it_is(self, name):
        made = make_map(name, gamma=3.0)
        assert made.get_params() == MAPS[name](gamma=3.0).get_params()

    def test_settings_of_each(self):
        settings = {name: set(MAPS[name].settings) for name in planned_names()}
        common = {"gamma", "n_components", "random_state"}
        assert settings == {
            "blend": common,
            "coherent": {"gamma"},
            "fourier": common | {"kernel"},
            "grid": {"gamma", "margin"},
            "landmarks": common | {"normalize", "landmarks", "kernel"},
            "mosaic": {"gamma", "random_state"},
            "quadrature": {"gamma"},
        }

    def test_settings_are_parameters(self):
        for cls in MAPS.values():
            assert set(cls.settings) <= cls().get_params().keys()


class TestGiven:
    def test_gets_gamma_and_seed(self):
        given = FourierFeatures(n_components=5, form="pair")
        made = make_map(given, **PLAN)
        expected = FourierFeatures(
            gamma=2.5, n_components=5, form="pair", random_state=7
        )
        assert made.get_params() == expected.get_params()
        assert given.gamma == 1.0

    def test_keeps_its_own_seed(self):
        made = make_map(LandmarkFeatures(random_state=3), **PLAN)
        assert made.random_state == 3

    @pytest.mark.parametrize("given", [OneHotFeatures(), SoftmaxFeatures(beta=3.0)])
    def test_without_gamma(self, given):
        made = make_map(given, **PLAN)
        assert made is not given
        assert made.get_params() == given.get_params()

    def test_is_a_fresh_one(self):
        fitted = QuadratureFeatures().fit(ROWS)
        with pytest.raises(NotFittedError):
            make_map(fitted, **PLAN).transform(ROWS)


class TestRegister:
    @pytest.fixture(autouse=True)
    def names(self, monkeypatch):
        monkeypatch.setattr("rhokit.features.registry.MAPS", dict(MAPS))

    def test_a_map_of_ones_own(self):
        @register
        class Rougher(QuadratureFeatures):
            name = "rougher"

        made = make_map("rougher", gamma=2.0)
        assert isinstance(made, Rougher)
        assert made.gamma == 2.0
        assert "rougher" in planned_names()
        assert register(Rougher) is Rougher  # again

    @pytest.mark.parametrize("name", ["", "grid"])
    def test_needs_a_name_of_its_own(self, name):
        cls = type("Other", (QuadratureFeatures,), {"name": name})
        with pytest.raises(ValueError, match=f"name of its own: Other has '{name}'"):
            register(cls)

    def test_base_is_no_map(self):
        assert FeatureMap.name == ""


class TestFiles:
    @pytest.mark.parametrize("name", [name for name in MAPS if name != "blend"])
    def test_what_a_file_holds_is_all_that_a_map_is(self, name):
        fitted = MAPS[name]().fit(ROWS)
        names = MAPS[name].file_fields
        assert not any(each.startswith("_") for each in names)
        values = {each: getattr(fitted, f"{each}_") for each in names}
        other = MAPS[name].from_file(fitted.get_params(), Columns(2), values)
        assert other.fingerprint() == fitted.fingerprint()
        np.testing.assert_array_equal(other.transform(ROWS), fitted.transform(ROWS))
