"""Registries: whatever has a name and a function is exported, nothing else is."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE, LandmarkFeatures
from rhokit.export import (
    MAP_EXPORTERS,
    READOUT_EXPORTERS,
    REPRESENTATION_EXPORTERS,
    MapColumns,
    export_onnx,
    log_measured,
)
from rhokit.export.exporters import Exporters, real_weights
from rhokit.features import FeatureMap
from rhokit.features.registry import MAPS
from rhokit.readouts import READOUTS, DensityReadOut
from rhokit.representations import REPRESENTATIONS
from tests.export.support import assert_same_density, run, wine

GIVEN = {"n_components": 16, "gamma": 0.3, "scale": "std", "random_state": 0}


class Squares(FeatureMap):
    """A map of somebody's own: one, and the squared length of the row."""

    name = "squares"

    def columns(self, rows, *, relative=False, row_scale=None, out=None):
        squares = np.vecdot(rows, rows)
        columns = np.stack([np.ones(len(rows)), squares], axis=1)
        return columns if row_scale is None else columns * row_scale[:, None], None

    def _draw(self, rows, weights):
        self.n_columns_ = self.n_components_ = 2

    def _drawn(self):
        return []


class OwnLandmarks(LandmarkFeatures):
    """A kind of landmarks, under their name."""


class HalfDensity(DensityReadOut):
    """A read-out of somebody's own."""

    name = "half"


@pytest.fixture
def added(monkeypatch):
    """Register functions for the length of a test."""

    def add(exporters, name, function):
        monkeypatch.setattr(exporters, "_functions", dict(exporters._functions))
        exporters.register(name)(function)

    return add


@pytest.mark.parametrize(
    ("exporters", "names"),
    [
        (MAP_EXPORTERS, {n for n, m in MAPS.items() if m.representation == "matrix"}),
        (REPRESENTATION_EXPORTERS, set(REPRESENTATIONS)),
        (READOUT_EXPORTERS, set(READOUTS)),
    ],
    ids=["maps", "representations", "read-outs"],
)
def test_all_of_our_own_are_known(exporters, names):
    assert names <= set(exporters.names())  # guides register more of their own


class TestMaps:
    def test_that_nobody_knows(self, tmp_path):
        model = DMKDE(feature_map=Squares()).fit(wine()[0])
        with pytest.raises(ValueError, match=r"not Squares\(\), whose name is 'squar"):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())

    def test_need_one_function(self, added, tmp_path):
        def squares(feature_map, rows):
            lengths = rows.sum_of_squares(1, keep=True)
            return MapColumns(rows.graph.concat([lengths * 0.0 + 1.0, lengths], axis=1))

        added(MAP_EXPORTERS, "squares", squares)
        X = wine()[0]
        model = DMKDE(feature_map=Squares(), scale="std").fit(X)
        found = run(model, X, tmp_path)["log_density"]
        assert_same_density(found, model.score_samples(X))

    def test_of_a_kind_are_exported_under_its_name(self, tmp_path):
        X = wine()[0]
        feature_map = OwnLandmarks(n_components=16, random_state=0)
        model = DMKDE(**GIVEN | {"feature_map": feature_map}).fit(X)
        found = run(model, X, tmp_path)["log_density"]
        assert_same_density(found, model.score_samples(X))


def test_a_readout_needs_one_function(added, tmp_path):
    X = wine()[0]
    whole = DMKDE(**GIVEN).fit(X)
    model = whole.with_model(replace(whole.model_, readout=HalfDensity()))
    with pytest.raises(ValueError, match=r"read-outs .*density.* name is 'half'"):
        export_onnx(model, tmp_path / "model.onnx")

    def half(readout, model, rows, wanted):
        logs = log_measured(model, rows).reshape(0)
        rows.graph.output("log_density", (logs + model.log_norm()) * 0.5)

    added(READOUT_EXPORTERS, "half", half)
    found = run(model, X, tmp_path)["log_density"]
    assert_same_density(found, whole.score_samples(X) / 2)


def test_a_representation_that_nobody_knows(monkeypatch, tmp_path):
    class Unknown(REPRESENTATIONS["matrix"]):
        name = "unknown"

    monkeypatch.setitem(REPRESENTATIONS, "unknown", Unknown)
    model = DMKDE(**GIVEN).fit(wine()[0])
    plan = replace(model.plan_, representation="unknown")
    other = model.with_model(replace(model.model_, plan=plan))
    known = r"representations blend, matrix, mean, mosaic, series, not"
    with pytest.raises(ValueError, match=known):
        export_onnx(other, tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["", "a"])
def test_a_name_is_given_once(name):
    exporters = Exporters("thing")
    assert exporters.register("a")(len) is len
    assert exporters.find("a", None) is len
    with pytest.raises(ValueError, match=f"no other thing .*got '{name}': known are a"):
        exporters.register(name)


def test_complex_weights_of_real_columns():
    rng = np.random.default_rng(0)
    columns, weights = rng.normal(size=(2, 5, 3)) + 1j * rng.normal(size=(2, 5, 3))
    weights = weights.T  # (3, 5)
    flat = np.concatenate([columns.real, columns.imag], axis=1)
    product = columns @ weights
    expected = np.concatenate([product.real, product.imag], axis=1)
    assert_allclose(flat @ real_weights(weights), expected, rtol=1e-12)
