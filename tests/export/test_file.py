"""The file itself: what it says of itself, how it is written, what is refused."""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression

import rhokit
from rhokit import (
    DMKDE,
    DMKDClassifier,
    LandmarkFeatures,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.export import export_onnx, onnx_graph
from tests.export.support import session_of, wine
from tests.support import without

GIVEN = {"n_components": 16, "gamma": 0.3, "scale": "std", "random_state": 0}


@pytest.fixture(scope="module")
def density():
    return DMKDE(**GIVEN).fit(wine()[0])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def metadata(path):
    return {each.key: each.value for each in onnx.load(path).metadata_props}


class TestMetadata:
    def test_who_wrote_it(self, density, path):
        export_onnx(density, path)
        model = onnx.load(path)
        assert model.producer_name == "rhokit"
        assert model.producer_version == rhokit.__version__
        assert metadata(path)["rhokit"] == rhokit.__version__
        assert metadata(path)["class"] == model.graph.name == "DMKDE"

    def test_names_of_columns(self, path):
        names = ["größe", "mean", "x y"]
        X = pd.DataFrame(wine()[0][:, :3], columns=names)
        export_onnx(DMKDE(**GIVEN).fit(X), path)
        assert json.loads(metadata(path)["columns"]) == names
        assert json.loads(metadata(path)["inputs"]) == ["X"]

    def test_columns_without_names(self, density, path):
        export_onnx(density, path)
        assert json.loads(metadata(path)["columns"]) is None

    def test_shapes_with_any_number_of_rows(self, tmp_path):
        X, y = wine()
        model = QMRegressor(**GIVEN).fit(X[:, :3], X[:, 3:5])
        session = session_of(model, tmp_path, quantiles=[0.1, 0.5, 0.9])
        (given,) = session.get_inputs()
        assert (given.name, given.shape) == ("X", ["rows", 3])
        assert {each.name: each.shape for each in session.get_outputs()} == {
            "mean": ["rows", 2],
            "std": ["rows", 2],
            "interval": ["rows", 2, 2],
            "quantiles": ["rows", 2, 3],
        }
        classes = DMKDClassifier(**GIVEN).fit(X, y)
        session = session_of(classes, tmp_path, output_dtype="float32")
        assert {
            each.name: (each.shape, each.type) for each in session.get_outputs()
        } == {
            "label": (["rows"], "tensor(int64)"),
            "probabilities": (["rows", 3], "tensor(float)"),
            "log_density": (["rows"], "tensor(float)"),
        }

    def test_it_is_valid_and_needs_standard_operators_alone(self, density, path):
        export_onnx(density, path)
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        assert [(each.domain, each.version) for each in model.opset_import] == [
            ("", 19)
        ]

    def test_the_same_model_is_the_same_file(self, density, path):
        export_onnx(density, path)
        first = path.read_bytes()
        export_onnx(density, path)
        assert path.read_bytes() == first

    def test_a_rank_makes_it_small(self, path):
        X, y = wine()
        sizes = []
        for rank in (None, 2):
            export_onnx(DMKDClassifier(**GIVEN, rank=rank).fit(X, y), path)
            sizes.append(path.stat().st_size)
        assert sizes[1] < sizes[0] / 1.5

    def test_so_does_single_precision(self, path):
        X = np.random.default_rng(0).normal(size=(400, 3))
        sizes = []
        for dtype in ("float64", "float32"):
            options = {
                "n_components": 200,
                "feature_map": "fourier",
                "gamma": 3.0,
                "scale": None,
            }
            export_onnx(DMKDE(**GIVEN | options, dtype=dtype).fit(X), path)
            sizes.append(path.stat().st_size)
        assert sizes[1] < sizes[0] / 1.8


class TestWriting:
    def test_takes_paths_and_text(self, density, path):
        export_onnx(density, str(path))
        assert path.is_file()

    def test_replaces_an_old_file(self, density, path):
        path.write_bytes(b"old")
        export_onnx(density, path)
        onnx.load(path)
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_a_failure_leaves_the_old_file(self, density, path, function, monkeypatch):
        def full(*_):
            raise OSError("No space left on device")

        path.write_bytes(b"old")
        monkeypatch.setattr(os, function, full)
        with pytest.raises(OSError, match=r"model\.onnx' could not be written: No sp"):
            export_onnx(density, path)
        assert path.read_bytes() == b"old"
        assert list(path.parent.iterdir()) == [path]

    def test_into_a_directory_that_is_not_there(self, density, tmp_path):
        with pytest.raises(OSError, match=r"absent.*could not be written"):
            export_onnx(density, tmp_path / "absent" / "model.onnx")
        assert not list(tmp_path.iterdir())

    def test_in_place_of_a_directory(self, density, tmp_path):
        (tmp_path / "model.onnx").mkdir()
        with pytest.raises(OSError, match="could not be written"):
            export_onnx(density, tmp_path / "model.onnx")

    def test_more_than_a_file_can_hold(self, density, path, monkeypatch):
        monkeypatch.setattr(onnx_graph, "_MOST_BYTES", 1000)
        with pytest.raises(ValueError, match=r"DMKDE holds more than the 2 GB.*rank"):
            export_onnx(density, path)
        assert not path.exists()


class TestRefusals:
    @pytest.mark.parametrize(
        "model", [DMKDE(), QMRegressor(), DMKDE().prepare(wine()[0][:, :1])]
    )
    def test_models_without_rows(self, model, path):
        with pytest.raises(NotFittedError):
            export_onnx(model, path)
        assert not path.exists()

    def test_models_whose_rows_are_forgotten(self, path):
        X = wine()[0]
        model = DMKDE(**GIVEN).fit(X)
        with pytest.raises(NotFittedError, match="no rows"):
            export_onnx(model.unlearn(X), path)

    @pytest.mark.parametrize(
        ("model", "name"),
        [
            (LogisticRegression(), "LogisticRegression"),
            (DMKDE, "DMKDE"),
            ("model", "str"),
            (None, "NoneType"),
            (LandmarkFeatures(), "LandmarkFeatures"),
        ],
    )
    def test_what_is_no_model(self, model, name, path):
        with pytest.raises(TypeError, match=f"fitted estimator of rhokit, got.*{name}"):
            export_onnx(model, path)

    def test_what_only_holds_a_model(self, path):
        X, y = wine()
        inner = DMKDClassifier(**GIVEN).fit(X, y)
        outer = SelectFromModel(inner, prefit=True)
        outer.estimator_ = inner
        with pytest.raises(TypeError, match="got SelectFromModel"):
            export_onnx(outer, path)

    def test_output_dtype(self, density, path):
        message = "'output_dtype' parameter of export_onnx must be float32"
        for wanted in ("int8", "nonsense"):
            with pytest.raises(ValueError, match=message):
                export_onnx(density, path, output_dtype=wanted)
        assert not path.exists()

    def test_quantiles_of_a_density(self, density, path):
        with pytest.raises(
            ValueError, match=r"quantiles must be None for a DMKDE.*\[0"
        ):
            export_onnx(density, path, quantiles=[0.5])

    @pytest.mark.parametrize(
        "options", [{"coverage": 1.5}, {"coverage": 0}, {"quantiles": [0.5, 1.0]}]
    )
    def test_shares_outside_zero_and_one(self, options, path):
        X = wine()[0]
        model = QMRegressor(**GIVEN).fit(X[:, :3], X[:, 3])
        (name,) = options
        with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1"):
            export_onnx(model, path, **options)
        assert not path.exists()

    @pytest.mark.parametrize("label", [None, 0.5, float("nan"), ("a",)])
    def test_a_reject_label_that_is_no_label(self, label, path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN, min_log_density=0.0, reject_label=label)
        with pytest.raises(ValueError, match="reject_label, must be text or whole"):
            export_onnx(model.fit(X, y), path)

    def test_a_subclass_of_an_estimator_is_no_stranger(self, tmp_path):
        class Own(QMOrdinalClassifier):
            pass

        X, y = wine()
        session = session_of(Own(**GIVEN).fit(X, y), tmp_path)
        assert session.get_modelmeta().custom_metadata_map["class"] == "Own"


MISSING = """
import rhokit
from rhokit.export import export_onnx
try:
    export_onnx(rhokit.DMKDE(), sys.argv[1])
except ImportError as error:
    assert "pip install 'rhokit[onnx]'" in str(error), error
else:
    raise AssertionError("written without onnx")
"""
THERE = """
sys.meta_path.pop(0)
import numpy as np
model = rhokit.DMKDE(n_components=8, random_state=0).fit(np.eye(5))
export_onnx(model, sys.argv[1])
assert "torch" not in sys.modules
"""


def test_onnx_is_asked_for_and_torch_is_not(path):
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-c"),
            without("onnx") + MISSING + THERE,
            str(path),
        ],
        env={**os.environ, "RHOKIT_NUMBA": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(onnx.load(path))


def test_rows_of_the_wine_are_single_precision():
    """Else models would learn from other rows than files are asked for."""
    X = wine()[0]
    np.testing.assert_array_equal(X, X.astype(np.float32))
