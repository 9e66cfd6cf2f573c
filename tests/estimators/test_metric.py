"""Metrics that are learned by the slope of leave-one-out predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from rhokit import (
    DMKDE,
    DMKDClassifier,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
    dumps,
    loads,
)
from rhokit.batch import Batch, Columns
from rhokit.plans.leave_one_out import LeaveOneOut
from rhokit.plans.metric import Neighbours
from rhokit.readouts.tasks import ClassScore, OrderedScore, ValueScore

MODELS = {
    "classes": DMKDClassifier,
    "joint": QMClassifier,
    "ordered": QMOrdinalClassifier,
    "values": QMRegressor,
}


def planted(n=300, d=6, seed=0):
    """Rows of which the first two columns alone say something, and their target."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d)
    spread = rows / rows.std(axis=0)
    return rows, np.sin(2 * spread[:, 0]) + spread[:, 1]


def target_of(kind, values):
    return values if kind == "values" else np.digitize(values, [-0.7, 0.7])


def neighbours(task, target, copies=False):
    """Some groups of rows, of which some are copies with other targets."""
    rows = np.random.default_rng(1).normal(size=(len(target), 3))
    if copies:
        rows[:10] = rows[10:20]
    weights = 1.0 + np.arange(len(target)) % 3
    batch = Batch(rows, Columns(3), weights=weights)
    loo = LeaveOneOut(batch, target, task, np.random.default_rng(0))
    kept = np.arange(0, loo.n_distinct, 2)
    return Neighbours.of(loo, loo.rows(rows), kept)


def tasks():
    labels = np.arange(60) % 3
    values = np.random.default_rng(0).normal(size=(60, 2))
    yield "classes", ClassScore(3), labels
    yield "ordered", OrderedScore(3), labels
    yield "values", ValueScore(values, None), values


@pytest.mark.parametrize(
    ("task", "target"), [pytest.param(t, y, id=name) for name, t, y in tasks()]
)
@pytest.mark.parametrize("copies", [False, True])
def test_slopes_are_those_of_differences(task, target, copies):
    near = neighbours(task, target, copies)
    rng = np.random.default_rng(2)
    for loss, at in (
        (near.by_weights, rng.normal(size=3)),
        (near.by_matrix, rng.normal(size=(3, 2))),
    ):
        slope = loss(at)[1]
        for place in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[place] = 1e-5
            change = loss(at + step)[0] - loss(at - step)[0]
            assert_allclose(slope[place], change / 2e-5, rtol=1e-5, atol=1e-8)


def test_loss_is_that_of_a_loop():
    """Log-loss of rows left out, written out; smoothed as the score is."""
    labels = np.arange(60) % 3
    near = neighbours(ClassScore(3), labels)
    logs = np.array([0.3, -0.5, 0.1])
    total = 0.0
    counts = near.weight @ near.truth
    prior = counts / counts.sum()
    for member, row in enumerate(near.which):
        seen = np.zeros(3)
        for other in range(len(near.rows)):
            if other != row:
                apart = (near.rows[row] - near.rows[other]) ** 2 @ np.exp(logs)
                seen += np.exp(-apart) * near.evidence[other]
        found = 0.999 * seen / seen.sum() + 0.001 * prior
        doubt = 3 / (3 + counts.sum())
        share = (1 - doubt) * near.truth[member] + doubt * prior
        total -= near.weight[member] * (share @ np.log(found))
    assert_allclose(near.by_weights(logs)[0], total / near.weight.sum())


@pytest.mark.parametrize("kind", MODELS)
def test_finds_the_columns_that_matter(kind):
    rows, values = planted()
    target = target_of(kind, values)
    model = MODELS[kind](scale="learned", n_components=64, random_state=0)
    found = model.fit(rows, target).feature_importances_
    assert found.shape == (6,)
    assert found.sum() == pytest.approx(1)
    assert found[:2].min() > 1.5 * found[2:].max()
    # Their part of the model, whatever the units.
    again = model.fit(rows * 1000.0 ** np.arange(6), target).feature_importances_
    assert_allclose(again, found, rtol=1e-9)


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_predicts_better_than_any_rule_does(kind):
    rows, values = planted(600)
    target = target_of(kind, values)
    train, test = (rows[:400], target[:400]), (rows[400:], target[400:])

    def score(scale):
        model = MODELS[kind](scale=scale, feature_map="landmarks", random_state=0)
        return model.fit(*train).score(*test)

    fixed = max(map(score, ("std", "within")))
    assert score("auto") == score("learned") > fixed + 0.05


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_noise", [False, True])
def test_never_below_the_best_rule_by_the_same_score(seed, is_noise):
    rows, values = planted(300, 4, seed)
    if is_noise:
        values = np.random.default_rng(seed).normal(size=len(rows))
    model = QMRegressor(n_components=32, feature_map="landmarks", random_state=0)
    model.fit(rows, values)
    exact = [each for each in model.candidates_ if each.feature_map == "exact"]
    rules = [each.score for each in exact if each.scale != "learned"]
    best = max(exact, key=lambda each: each.score)
    assert best.score >= max(rules)
    assert is_noise or best.scale == "learned"


def test_weights_are_copies():
    rows, values = planted(80, 3)
    weights = 1 + np.arange(80) % 3
    copied = np.repeat(np.arange(80), weights)
    model = QMRegressor(scale="learned", n_components=32, random_state=0)
    weighted = model.fit(rows, values, sample_weight=weights).scaling_.matrix
    assert_allclose(model.fit(rows[copied], values[copied]).scaling_.matrix, weighted)


def test_learned_plans_merge_and_are_saved():
    rows, values = planted(300, 4)
    made = QMRegressor(n_components=32, feature_map="landmarks", random_state=0)
    made.prepare(rows, values)
    parts = [made.blank().partial_fit(rows[i::2], values[i::2]) for i in (0, 1)]
    merged = loads(dumps(parts[0].merge(parts[1])))
    whole = made.partial_fit(rows, values)
    assert_allclose(merged.predict(rows), whole.predict(rows), rtol=1e-9)
    shares = whole.feature_importances_
    assert np.array_equal(merged.feature_importances_, shares)
    assert shares.max() > 0.3


class TestImportances:
    """Shares of columns where nothing is learned."""

    def test_equal_for_spreads(self):
        rows, values = planted(60, 3)
        rows = np.column_stack([rows, np.ones(60)])
        model = QMRegressor(scale="std", n_components=16).fit(rows, values)
        assert_allclose(model.feature_importances_, [1 / 3, 1 / 3, 1 / 3, 0])

    def test_by_given_widths(self):
        rows, values = planted(60, 2)
        widths = rows.std(axis=0) * [1, 2]
        model = QMRegressor(scale=widths, n_components=16).fit(rows, values)
        assert_allclose(model.feature_importances_, [2 / 3, 1 / 3])

    def test_only_of_models_that_have_them(self):
        rows, values = planted(60, 2)
        with pytest.raises(NotFittedError):
            _ = QMRegressor().feature_importances_
        assert not hasattr(DMKDE().fit(rows), "feature_importances_")
        fitted = QMRegressor(n_components=16).fit(rows, values)
        part = fitted.marginal([0])
        assert not hasattr(part, "feature_importances_")
