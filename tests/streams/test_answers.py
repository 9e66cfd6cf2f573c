"""Rows of a stream that are scored before they are learned."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from benchmarks import real_data
from rhokit import DMKDE, DMKDClassifier, DMKDOutlierDetector, QMRegressor, Stream
from rhokit.errors import DataError
from rhokit.readouts.outliers import OutlierReadOut

PLAIN = {"gamma": 1.0, "feature_map": "landmarks", "n_components": 16}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
X[::17] = RNG.uniform(-9, 9, size=(8, 2))
MEMORIES = ({}, {"window": 40}, {"half_life": 25.0})


def detector(**others):
    return DMKDOutlierDetector(random_state=0, **PLAIN, **others)


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
@pytest.mark.parametrize("training", ["contaminated", "clean"])
def test_scores_are_those_of_a_fit_to_what_came_before(memory, training):
    empty = detector(training=training).prepare(X[:60])
    stream = Stream(empty.blank(), buffer_rows=1, **memory)
    for i, row in enumerate(X):
        if i >= 60 and i % 10 == 0:
            ages = np.arange(i)[::-1]
            kept = ages < memory.get("window", np.inf)
            weights = np.exp2(-ages / memory.get("half_life", np.inf))[kept]
            fit = empty.blank().partial_fit(X[:i][kept], sample_weight=weights)
            assert_allclose(stream.score_one(row), fit.score_samples([row])[0], 1e-6)
            assert stream.predict_one(row) == fit.predict([row])[0]
        stream.learn_one(row)


def test_rows_that_wait_are_not_learned_yet():
    stream = Stream(detector(), warm_up=50, buffer_rows=50)
    for i, row in enumerate(X):
        score = stream.score_one(row)
        assert (score is None) == (i < 50)
        if i in (50, 99, 100):
            before = detector().prepare(X[:50]).partial_fit(X[: i - i % 50])
            assert_allclose(score, before.score_samples([row])[0], 1e-9)
        stream.learn_one(row)


def test_rows_by_name_with_categories_and_gaps():
    n = 300
    rng = np.random.default_rng(1)
    group = pd.Categorical(rng.choice(["a", "b"], n))
    values = rng.normal(size=n) + 9 * (group == "b")
    frame = pd.DataFrame({"group": group, "value": values})
    model = DMKDOutlierDetector(missing="integrate", random_state=0).fit(frame)
    stream = Stream(model, buffer_rows=10)
    for group, value in [("a", 9.0), ("b", 9.0), ("a", None)]:
        row = pd.DataFrame({"group": [group], "value": [value]})
        row = row.astype({"group": frame["group"].dtype, "value": float})
        expected = model.score_samples(row)[0]
        value = np.nan if value is None else value
        assert_allclose(stream.score_one({"value": value, "group": group}), expected)
    with pytest.raises(ValueError, match="must have the columns"):
        stream.score_one({"value": 1.0})


def test_other_models_answer_too():
    labels = np.where(X[:, 0] > 0, "right", "left")
    classes = Stream(
        DMKDClassifier(random_state=0, **PLAIN), buffer_rows=20, warm_up=20
    )
    values = Stream(QMRegressor(random_state=0, bounds=(-30, 30), **PLAIN), warm_up=20)
    densities = Stream(DMKDE(random_state=0, **PLAIN), buffer_rows=20, warm_up=20)
    assert classes.predict_one(X[0]) is None
    assert densities.score_one(X[0]) is None
    classes.learn_many(X, labels)
    values.learn_many(X, X.sum(axis=1))
    densities.learn_many(X)
    assert classes.predict_one([4.0, 2.0]) == "right"
    probabilities = classes.predict_proba_one([4.0, 2.0])
    assert list(probabilities) == ["left", "right"]
    assert_allclose(sum(probabilities.values()), 1)
    assert values.model.n_features_in_ == 2
    assert isinstance(values.predict_one(X[0]), float)
    assert densities.score_one(X[1]) == densities.model.score_samples(X[[1]])[0]
    with pytest.raises(TypeError, match="a DMKDE has no predict"):
        densities.predict_one(X[0])


@pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], [1.0, np.nan], ["a", 1.0]])
def test_bad_rows_are_refused_and_change_nothing(row):
    stream = Stream(detector().fit(X), buffer_rows=10)
    before = stream.score_one(X[0])
    with pytest.raises((ValueError, DataError)):
        stream.score_one(row)
    assert stream.score_one(X[0]) == before
    assert stream.n_seen == 0


# ---- learning what looks normal -----------------------------------------------------


def test_only_rows_above_the_level_are_learned():
    stream = Stream(detector(), warm_up=60, buffer_rows=20, learn_above=0.05)
    for row in X:
        stream.learn_one(row)
    slow = detector().prepare(X[:60]).partial_fit(X[:60])
    skipped = 0
    assert (
        slow.p_values(X[:60]) <= 0.05
    ).any()  # which the warm-up learns all the same
    for start in range(60, 120, 20):
        block = X[start : start + 20]
        usual = slow.p_values(block) > 0.05
        skipped += (~usual).sum()
        slow.partial_fit(block[usual])
    assert stream.model.state_.weight[0] == 120 - skipped
    assert stream.n_skipped == skipped > 0
    assert stream.n_seen == 120
    assert_allclose(stream.model.score_samples(X), slow.score_samples(X), 1e-9)


def test_windows_hold_learned_rows_and_blocks_may_be_skipped_whole():
    stream = Stream(detector(), warm_up=60, buffer_rows=20, window=50, learn_above=0.05)
    stream.learn_many(X[:60])
    stream.learn_many(np.full((40, 2), 30.0) + X[:40] / 100)
    assert stream.n_skipped == 40
    assert stream.n_held == stream.model.state_.weight[0] == 50


@pytest.mark.parametrize("level", [0, 1, -0.1, "low", True])
def test_levels_that_are_none(level):
    with pytest.raises(ValueError, match="learn_above must be"):
        Stream(detector(), learn_above=level)


def test_models_without_p_values_learn_all():
    with pytest.raises(TypeError, match="needs p-values"):
        Stream(DMKDE(), learn_above=0.1)


# ---- windows that are larger than the sample -----------------------------------------


def test_a_window_that_slides_over_a_full_sample(monkeypatch):
    monkeypatch.setattr(OutlierReadOut, "sample_rows", 200)
    rng = np.random.default_rng(2)
    stream = Stream(detector(), window=600, warm_up=200, buffer_rows=200)
    for _ in range(15):
        stream.learn_many(rng.normal(size=(200, 2)))
    kept = len(stream.model.sample_.keys)
    assert 100 < kept <= 200  # fewer than fit in, but a fair share of the window
    p = stream.model.p_values(rng.normal(size=(1000, 2)))
    assert_allclose([np.mean(p <= 0.2), np.mean(p <= 0.5)], [0.2, 0.5], rtol=0.4)


def test_real_rows_are_ranked_before_they_are_learned():
    if real_data.missing("anomaly_thyroid"):
        pytest.skip(real_data.missing("anomaly_thyroid"))
    arrays = real_data.load_arrays("anomaly_thyroid")
    order = np.random.default_rng(0).permutation(len(arrays["X"]))[:1500]
    rows, labels = arrays["X"][order], arrays["y"][order]
    stream = Stream(DMKDOutlierDetector(random_state=0), warm_up=300, buffer_rows=300)
    scores = []
    for row in rows:
        scores.append(stream.score_one(row))
        stream.learn_one(row)
    assert roc_auc_score(labels[300:], -np.array(scores[300:])) > 0.94
