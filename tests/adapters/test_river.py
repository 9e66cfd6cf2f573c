"""Streams as river's models, against river itself."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDClassifier, DMKDOutlierDetector, Stream

pytest.importorskip("river", reason="river is not installed")

from river import anomaly, checks, compose, evaluate, metrics, preprocessing

from rhokit.adapters.river import DMKDAnomalyDetector, DMKDStreamClassifier

# All rows have the same features.
ABSENT = {
    "check_emerging_features",
    "check_disappearing_features",
    "check_radically_disappearing_features",
}
FEW = {"warm_up": 60, "buffer_rows": 60}
PLAIN = {"gamma": 1.0, "feature_map": "landmarks", "n_components": 16}


def models():
    detector = DMKDOutlierDetector(random_state=0, **PLAIN)
    classifier = DMKDClassifier(random_state=0, **PLAIN)
    yield DMKDAnomalyDetector(detector, **FEW)
    yield DMKDStreamClassifier(classifier, **FEW)


def toy():
    """Rows with labels."""
    rows, odd = rows_of(90)
    return list(zip(rows, odd.tolist(), strict=True))


def cases():
    for model in models():
        seen = set()
        for check in checks.yield_checks(model):
            inner = getattr(check, "func", check)
            name = inner.__name__
            if inner is not check:  # its own rows may be fetched: ours are here
                check = partial(inner, dataset=toy())
            if name not in ABSENT | seen:
                seen.add(name)
                yield pytest.param(model, check, id=f"{type(model).__name__} {name}")


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    rows, odd = rng.normal(size=(n, 2)), rng.random(n) < 0.05
    rows[odd] = rng.uniform(-9, 9, size=(odd.sum(), 2))
    return [dict(zip("ab", row, strict=True)) for row in rows.tolist()], odd


@pytest.mark.filterwarnings("ignore")  # what river warns of is not our concern
@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_checks_of_river(model, check):
    check(model.clone())


def test_scores_are_those_of_a_stream():
    detector = DMKDOutlierDetector(random_state=0, **PLAIN)
    options = {"warm_up": 100, "buffer_rows": 50, "learn_above": 0.01}
    model = DMKDAnomalyDetector(detector, **options)
    stream = Stream(DMKDOutlierDetector(random_state=0, **PLAIN), **options)
    rows, _ = rows_of(300)
    for row in rows:
        expected = stream.score_one(row)
        surprise = 0.0 if expected is None else -expected
        assert_allclose(model.score_one(row), surprise / (1 + surprise))
        model.learn_one(row)
        stream.learn_one(row)
    assert model.stream.n_skipped == stream.n_skipped > 0


def test_in_pipelines_filters_and_progressive_validation():
    rows, odd = rows_of(800)
    detector = DMKDOutlierDetector(random_state=0, **PLAIN)
    model = DMKDAnomalyDetector(detector, **FEW)
    scaled = compose.Pipeline(preprocessing.StandardScaler(), model)
    pairs = list(zip(rows, odd.tolist(), strict=True))
    found = evaluate.progressive_val_score(pairs, scaled, metrics.ROCAUC(50))
    assert found.get() > 0.8
    filtered = anomaly.QuantileFilter(model.clone(), q=0.9)
    for row in rows:
        filtered.learn_one(row)
    assert filtered.classify(filtered.score_one({"a": 9.0, "b": -9.0}))
    assert not filtered.classify(filtered.score_one({"a": 0.0, "b": 0.0}))


def test_a_classifier_learns():
    rows, _ = rows_of(600)
    labels = ["up" if row["a"] > row["b"] else "down" for row in rows]
    model = DMKDStreamClassifier(DMKDClassifier(random_state=0, **PLAIN), **FEW)
    assert model.predict_one(rows[0]) is None
    assert model.predict_proba_one(rows[0]) == {}
    right = []
    for row, label in zip(rows, labels, strict=True):
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    assert np.mean(right[100:]) > 0.85
    assert_allclose(sum(model.predict_proba_one(rows[0]).values()), 1)
