"""Models in MLflow: its saver for scikit-learn's keeps them, and nothing is lost."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import DMKDE, DMKDClassifier, LandmarkFeatures, QMRegressor
from rhokit.adapters.mlflow import trusted_types

skops = pytest.importorskip("skops.io")

X = np.random.default_rng(0).normal(size=(300, 3))
SMALL = {"feature_map": LandmarkFeatures(n_components=12), "random_state": 0}
STEPS = make_pipeline(StandardScaler(), DMKDClassifier(**SMALL))
MODELS = {
    "steps": STEPS.fit(X, X[:, 0] > 0),
    "density": DMKDE(random_state=0).fit(X),
    "kernels": DMKDE(**SMALL).fit(X),
    "classes": DMKDClassifier(**SMALL).fit(X, X[:, 0] > 0),
    "blend": QMRegressor(random_state=0).fit(X, X[:, 0] ** 2),
}


def answers(model):
    return model.predict(X) if hasattr(model, "predict") else model.score_samples(X)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_trusted_is_enough(name):
    model = MODELS[name]
    trusted = trusted_types(model)
    others = {each for each in trusted if not each.startswith("rhokit.")}
    assert others <= {"functools.partial", "numpy.dtype"}
    again = skops.loads(skops.dumps(model), trusted=trusted)
    assert_array_equal(answers(again), answers(model))


@pytest.mark.filterwarnings("ignore")
def test_mlflows_own_saver(tmp_path):
    import mlflow.sklearn

    model, path = MODELS["classes"], tmp_path / "model"
    mlflow.sklearn.save_model(
        model,
        str(path),
        skops_trusted_types=trusted_types(model),
        pip_requirements=["rhokit"],
    )
    assert_array_equal(answers(mlflow.sklearn.load_model(str(path))), answers(model))
