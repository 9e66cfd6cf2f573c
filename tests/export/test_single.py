"""Files as they are by default: what they take and give is float32, right to 1e-5."""

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDE, DMKDClassifier, QMRegressor
from tests.export.support import answers, real, single

PROMISE = 1e-5
SMALL = {"n_components": 64, "random_state": 0}


def run(model, X, folder):
    path = folder / "model.onnx"
    rhokit.export_onnx(model, path)
    session = onnxruntime.InferenceSession(path)
    assert {each.type for each in session.get_inputs()} == {"tensor(float)"}
    found = answers(session, {"X": X.astype(np.float32)})
    assert all(v.dtype == np.float32 for k, v in found.items() if k != "label")
    return found


@pytest.mark.parametrize("feature_map", ["landmarks", "fourier"])
def test_densities(feature_map, tmp_path):
    X = single(real("density_magic")["X"])
    model = DMKDE(**SMALL, feature_map=feature_map).fit(X[:2000])
    found = run(model, X[2000:4000], tmp_path)
    expected = model.score_samples(X[2000:4000])
    assert_allclose(found["log_density"], expected, rtol=PROMISE, atol=PROMISE)


def test_classes(tmp_path):
    data = real("letters")
    X, y = single(data["X"]), data["y"]
    model = DMKDClassifier(**SMALL).fit(X[:3000], y[:3000])
    found = run(model, X[3000:5000], tmp_path)
    probabilities = model.predict_proba(X[3000:5000])
    assert_allclose(found["probabilities"], probabilities, rtol=PROMISE, atol=1e-7)
    assert_array_equal(found["label"], model.predict(X[3000:5000]))


@pytest.mark.parametrize("name", ["boston_housing", "abalone"])
def test_values(name, tmp_path):
    data = real(f"ordinal_{name}")
    X, y = single(data["X"]), data["y_continuous"]
    model = QMRegressor(**SMALL).fit(X[:400], y[:400])
    rows = X[400:]
    found = run(model, rows, tmp_path)
    mean, std = model.predict(rows, return_std=True)
    assert_allclose(found["mean"], mean, rtol=PROMISE)
    assert_allclose(found["std"], std, rtol=PROMISE, atol=1e-6)
    interval = model.predict_interval(rows)
    assert_allclose(found["interval"], interval, rtol=PROMISE, atol=1e-5)
