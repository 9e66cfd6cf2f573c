"""Weights find their way through scikit-learn's pipelines and searches, and frames come
back from maps."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDClassifier,
    FourierFeatures,
    LandmarkFeatures,
    QMRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
LABELS, VALUES = (X[:, 0] > 0).astype(int), X[:, 0] * 2
WEIGHT = RNG.uniform(0.1, 3, 120)
SMALL = {
    "feature_map": "landmarks",
    "n_components": 12,
    "gamma": 0.5,
    "random_state": 0,
}


@pytest.mark.parametrize(
    ("model", "y"), [(DMKDClassifier(**SMALL), LABELS), (QMRegressor(**SMALL), VALUES)]
)
def test_weights_go_through_pipelines(model, y):
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        asking = model.set_fit_request(sample_weight=True)
        steps = make_pipeline(scaler, asking).fit(X, y, sample_weight=WEIGHT)
    scaled = scaler.fit_transform(X)
    expected = type(model)(**SMALL).fit(scaled, y, sample_weight=WEIGHT)
    assert_allclose(steps[-1].state_.total, expected.state_.total)


def test_weights_go_through_searches():
    with config_context(enable_metadata_routing=True):
        model = DMKDClassifier(**SMALL)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"gamma": [0.5, 1.0]}, cv=2)
        search.fit(X, LABELS, sample_weight=WEIGHT)
    best = DMKDClassifier(**SMALL | search.best_params_)
    best.fit(X, LABELS, sample_weight=WEIGHT)
    assert_allclose(search.best_estimator_.state_.total, best.state_.total)


@pytest.mark.parametrize(
    "feature_map",
    [
        LandmarkFeatures(n_components=6, random_state=0),
        FourierFeatures(n_components=6, random_state=0),
    ],
    ids=lambda each: each.name,
)
def test_maps_give_frames(feature_map):
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"r{k}" for k in range(120)])
    plain = feature_map.fit(frame).transform(frame)
    made = feature_map.set_output(transform="pandas").transform(frame)
    assert made.columns.tolist() == feature_map.get_feature_names_out().tolist()
    assert made.index.equals(frame.index)
    assert_allclose(made, plain)
