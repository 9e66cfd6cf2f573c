"""The detector as one of PyOD's, against PyOD itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import DMKDOutlierDetector

pytest.importorskip("pyod", reason="pyod is not installed")

from pyod.models.base import BaseDetector
from pyod.models.knn import KNN
from pyod.utils.utility import standardizer

from rhokit.adapters.pyod import DMKD


def rows_of(n, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    rows[:6] += 7
    return rows


@pytest.fixture(scope="module")
def fitted():
    return DMKD(contamination=0.05).fit(rows_of(200))


def test_is_one_of_them_and_has_what_they_have(fitted):
    assert isinstance(fitted, BaseDetector)
    assert fitted.decision_scores_.shape == (200,)
    assert fitted.labels_.sum() == 10
    assert (fitted.labels_[:6] == 1).all()
    assert_array_equal(fitted.predict(rows_of(200)), fitted.labels_)
    more = rows_of(50, seed=1)
    probabilities = fitted.predict_proba(more)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert (np.argsort(probabilities[:, 1])[-6:] < 6).all()
    labels, confidence = fitted.predict(more, return_confidence=True)
    assert labels[:6].all()
    assert ((confidence >= 0) & (confidence <= 1)).all()


def test_scores_are_those_of_the_detector(fitted):
    plain = DMKDOutlierDetector(contamination=0.05, random_state=0).fit(rows_of(200))
    assert_array_equal(fitted.decision_scores_, -plain.score_samples(rows_of(200)))
    more = rows_of(40, seed=1)
    assert_array_equal(fitted.decision_function(more), -plain.score_samples(more))


def test_settings_go_through_and_copies_are_apart():
    inner = DMKDOutlierDetector(training="clean", random_state=1)
    model = clone(DMKD(contamination=0.2, detector=inner))
    model.fit(rows_of(60))
    assert model.get_params()["detector"].training == "clean"
    assert model.detector_.training == "clean"
    assert not inner.is_prepared
    assert model.labels_.sum() == 12


def test_stands_beside_others_in_their_tools():
    rows = rows_of(150)
    models = [DMKD().fit(rows), KNN().fit(rows)]
    scores = np.column_stack([model.decision_scores_ for model in models])
    assert (np.argsort(standardizer(scores).mean(axis=1))[-6:] < 6).all()
