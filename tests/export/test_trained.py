"""Models trained by gradients: the file says what they say."""

import json

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from rhokit import (
    DMKDE,
    DMKDESGD,
    DMKDClassifier,
    DMKDClassifierSGD,
    QMClassifierSGD,
    QMRegressorSGD,
)
from rhokit.export import export_onnx
from tests.export.support import (
    answers,
    assert_same_density,
    assert_same_probabilities,
    assert_same_values,
    feeds,
    frame,
    frame_columns,
    run,
    session_of,
    wine,
)

GIVEN = {"n_components": 32, "random_state": 0, "gamma": 0.3, "scale": "std"}
LEVELS = (0.9, 0.05, 0.5, 0.5)


class TestDensities:
    @pytest.mark.parametrize(
        "options",
        [
            {"feature_map": "landmarks"},
            {"feature_map": "fourier", "early_stopping": True},
            {"train_features": True},
        ],
        ids=["landmarks", "early stop", "features"],
    )
    def test_that_were_trained(self, options, tmp_path):
        X = wine()[0]
        model = DMKDESGD(**GIVEN, rank=4, max_epochs=2, **options).fit(X)
        found = run(model, X, tmp_path)["log_density"]
        assert_same_density(found, model.score_samples(X))

    def test_from_an_estimator(self, tmp_path):
        X = wine()[0]
        model = DMKDESGD.from_estimator(DMKDE(**GIVEN, rank=3).fit(X))
        found = run(model, X, tmp_path)["log_density"]
        assert_same_density(found, model.score_samples(X))


class TestClasses:
    @pytest.mark.parametrize(
        "model",
        [
            DMKDClassifierSGD(**GIVEN, rank=3, max_epochs=2),
            DMKDClassifierSGD(**GIVEN, rank=3, max_epochs=2, train_features=True),
            DMKDClassifierSGD(**GIVEN, rank=3, max_epochs=1, feature_map="fourier"),
        ],
        ids=["classes", "features", "fourier"],
    )
    def test_with_a_density(self, model, tmp_path):
        X, y = wine()
        model.fit(X, np.array(["a", "b", "c"])[y])
        found = run(model, X, tmp_path)
        assert list(found) == ["label", "probabilities", "log_density"]
        assert_same_probabilities(found, model, X)
        assert_same_density(found["log_density"], model.score_samples(X))

    @pytest.mark.parametrize("output_map", ["onehot", "softmax"])
    def test_of_a_joint_state(self, output_map, tmp_path):
        X, y = wine()
        options = {"rank": 3, "max_epochs": 2, "output_map": output_map}
        model = QMClassifierSGD(**GIVEN, **options).fit(X, y)
        found = run(model, X, tmp_path)
        assert list(found) == ["label", "probabilities"]
        assert_same_probabilities(found, model, X)

    def test_from_an_estimator_that_rejects(self, tmp_path):
        X, y = wine()
        one_pass = DMKDClassifier(**GIVEN, reject=0.2, reject_label=-1).fit(X, y)
        model = DMKDClassifierSGD.from_estimator(one_pass)
        found = run(model, X, tmp_path)
        assert_same_probabilities(found, model, X)
        assert (found["label"] == -1).any()

    def test_of_frames(self, tmp_path):
        X, (table, _) = frame(), frame_columns()
        model = DMKDClassifierSGD(**GIVEN, rank=3, max_epochs=1)
        model.fit(X, table["colour"])
        found = answers(session_of(model, tmp_path), feeds())
        assert_same_probabilities(found, model, X)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_values(early_stopping, tmp_path):
    X, y = wine()[0][:, :12], wine()[0][:, 12]
    options = {"rank": 3, "max_epochs": 2, "early_stopping": early_stopping}
    model = QMRegressorSGD(**GIVEN, n_levels=12, beta=100.0, **options).fit(X, y)
    assert (model.estimator_.calibration is None) != early_stopping
    found = run(model, X, tmp_path, quantiles=LEVELS)
    assert_same_values(found, model, X, y.std(), quantiles=LEVELS)


def test_names_of_columns_and_class(tmp_path):
    X = pd.DataFrame(wine()[0][:, :2], columns=["a", "b"])
    path = tmp_path / "model.onnx"
    export_onnx(DMKDESGD(**GIVEN, rank=2, max_epochs=1).fit(X), path)
    known = {each.key: each.value for each in onnx.load(path).metadata_props}
    assert json.loads(known["columns"]) == ["a", "b"]
    assert known["class"] == "DMKDESGD"


def test_models_without_rows_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        export_onnx(DMKDESGD(), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
