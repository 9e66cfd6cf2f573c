"""The rows that models keep to be compared: fair, and sums as states are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rhokit
from rhokit.models.kept import rows_kept, rows_to_keep

PLAIN = {"gamma": 1.0, "scale": None, "n_components": 8, "random_state": 0}


def rows(n, seed=0, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def kept(model):
    return rows_kept(model.model_)


def assert_same_rows(one, other):
    for name in ("keys", "rows", "target", "weight"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.bound == other.bound


def test_any_split_keeps_the_same():
    X = rows(9000)
    whole = rhokit.DMKDE(**PLAIN).fit(X)
    blank = whole.blank()
    assert kept(blank) is None
    parts = blank.blank().partial_fit(X[:100]).partial_fit(X[100:5000])
    other = blank.blank().partial_fit(X[5000:])
    merged = parts.merge(other)
    assert len(kept(whole).keys) == rows_to_keep(3) == 2000
    assert_same_rows(kept(whole), kept(merged))
    left = merged.unmerge(other)
    few = kept(blank.blank().partial_fit(X[:5000]))
    assert_array_equal(kept(left).keys, few.keys[: len(kept(left).keys)])


def test_they_stand_for_all():
    X = rows(20_000)
    model = rhokit.DMKDE(**PLAIN).fit(X)
    assert np.abs(kept(model).rows.mean(axis=0)).max() < 4 / np.sqrt(2000)
    assert np.isin(kept(model).rows[:, 0], X[:, 0]).all()


def test_what_is_unlearned_is_gone():
    X = rows(500)
    model = rhokit.DMKDE(**PLAIN).fit(X).unlearn(X[100:])
    assert_same_rows(kept(model), kept(model.blank().partial_fit(X[:100])))
    model.unlearn(X[:100])
    assert kept(model) is None
    assert len(kept(model.partial_fit(X[:50])).keys) == 50


def test_fading_and_weights():
    X = rows(100)
    model = rhokit.DMKDE(**PLAIN).fit(X, sample_weight=np.full(100, 3.0)).fade(0.5)
    assert_array_equal(kept(model).weight, 1.5)


def test_wide_rows_are_fewer():
    assert rows_to_keep(784) == 100
    assert rows_to_keep(54) == 1213


@pytest.mark.parametrize("form", ["exact", "factor"])
def test_files(form):
    model = rhokit.DMKDE(**PLAIN).fit(rows(300))
    again = rhokit.loads(rhokit.dumps(model, state=form))
    if form == "exact":
        assert_same_rows(kept(again), kept(model))
    else:
        assert kept(again) is None


def test_labels_that_come_later_move_the_codes():
    X = rows(60)
    plan = rhokit.DMKDClassifier(**PLAIN).prepare(X, np.repeat(["b", "c"], 30))
    model = plan.blank().partial_fit(X, np.repeat(["b", "c"], 30))
    model.partial_fit(X[:5] + 9, np.repeat("a", 5))
    sample = kept(model)
    labels = model.classes_[sample.target]
    far = sample.rows[:, 0] > 5
    assert set(labels[far]) <= {"a"}
    assert (labels == "a").sum() == 5


def test_a_model_without_kept_rows_never_begins_to_keep_some():
    model = rhokit.DMKDE(feature_map="grid", random_state=0).fit(rows(300, d=1))
    bare = model.with_model(model.model_.with_state(model.state_, kept=None))
    bare.partial_fit(rows(10, 1, d=1))
    assert kept(bare) is None
    assert kept(model.merge(bare)) is None
