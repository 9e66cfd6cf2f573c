"""Many models made one: what they have seen adds up, in a fixed order."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.parallel import merge
from tests.one_pass import assert_learned_all

SMALL = {"gamma": 0.7, "scale": None, "n_components": 12, "random_state": 0}
# Of rows alone, of labels, of values.
MODELS = {
    "density": (DMKDE(**SMALL), None),
    "mean": (MeanEmbeddingKDE(**SMALL), None),
    "classifier": (DMKDClassifier(reject=0.1, **SMALL), "label"),
    "joint": (QMClassifier(**SMALL), "label"),
    "ordinal": (QMOrdinalClassifier(**SMALL), "label"),
    "regressor": (QMRegressor(n_levels=5, **SMALL), "value"),
}
ROWS = np.random.default_rng(1).normal(size=(240, 2))
TARGETS = {
    "label": np.digitize(ROWS[:, 0], [-0.5, 0.5]),
    "value": ROWS[:, 0] + ROWS[:, 1] ** 2,
}


def whole(name):
    """A prepared model, and the rows and targets that it is to learn."""
    model, target = MODELS[name]
    data = (ROWS,) if target is None else (ROWS, TARGETS[target])
    return rhokit.loads(rhokit.dumps(model)).prepare(*data), data


def split(data, count):
    """Data in parts of unequal size."""
    places = np.sort(np.random.default_rng(count).choice(239, count - 1, False)) + 1
    return list(zip(*(np.split(part, places) for part in data), strict=True))


def learned(plan, parts):
    """A model of each part."""
    return [plan.blank().partial_fit(*part) for part in parts]


def contents(model):
    """Copies of what a model holds."""
    arrays = [model.state_.total, model.state_.weight]
    if getattr(model, "sample_", None) is not None:
        arrays += [model.sample_.keys, model.sample_.target, model.sample_.weight]
    if hasattr(model, "classes_"):
        arrays.append(model.classes_)
    return [np.array(array) for array in arrays]


def assert_holds(model, arrays):
    """The model holds these, bit for bit."""
    for actual, expected in zip(contents(model), arrays, strict=True):
        assert_array_equal(actual, expected)


# One level of the tree holds 8: below, at and above one, two and three levels.
COUNTS = [2, 3, 8, 9, 64, 65, 100]


class TestMergeIsOneFit:
    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("count", [3, 20])
    def test_of_every_model(self, name, count):
        plan, data = whole(name)
        merged = merge(learned(plan, split(data, count)))
        assert_learned_all(merged, plan.blank().partial_fit(*data))

    @pytest.mark.parametrize("count", COUNTS)
    def test_of_any_number(self, count):
        plan, data = whole("density")
        merged = merge(learned(plan, split(data, count)))
        assert_learned_all(merged, plan.blank().partial_fit(*data))
        assert_array_equal(merged.state_.weight, [240])

    @pytest.mark.parametrize("name", MODELS)
    def test_by_way_of_bytes(self, name):
        plan, data = whole(name)
        sent = rhokit.dumps(plan)
        came = [
            rhokit.dumps(rhokit.loads(sent).partial_fit(*part))
            for part in split(data, 11)
        ]
        merged = merge(rhokit.loads(part) for part in came)
        assert merged.fingerprint() == plan.fingerprint()
        assert_learned_all(merged, plan.blank().partial_fit(*data))

    def test_bytes_give_the_same_bits_as_the_models(self):
        plan, data = whole("density")
        models = learned(plan, split(data, 11))
        sent = merge(rhokit.loads(rhokit.dumps(model)) for model in models)
        assert_array_equal(sent.state_.total, merge(models).state_.total)

    def test_which_learns_on_and_predicts(self):
        plan, data = whole("classifier")
        halves = split(data, 2)
        merged = merge(learned(plan, halves)).partial_fit(*halves[0])
        again = plan.blank().partial_fit(*data).partial_fit(*halves[0])
        assert_learned_all(merged, again)
        assert_array_equal(merged.predict(ROWS), again.predict(ROWS))


class TestOrder:
    def test_the_same_models_give_the_same_bits(self):
        plan, data = whole("density")
        models = learned(plan, split(data, 30))
        first, second = merge(models), merge(models)
        assert_array_equal(first.state_.total, second.state_.total)

    def test_when_they_were_made_does_not_matter(self):
        plan, data = whole("density")
        parts = split(data, 30)
        backwards = learned(plan, parts[::-1])[::-1]
        assert_array_equal(
            merge(backwards).state_.total, merge(learned(plan, parts)).state_.total
        )

    def test_neighbours_come_first(self):
        # 1 is lost beside 2**53, but not what eight ones make.
        plan = DMKDE(**SMALL).prepare(ROWS)
        large, *ones = learned(plan, [(ROWS[:1],)] * 16)
        heavy = replace(large.state_, weight=np.array([2.0**53]))
        large = large.with_model(large.model_.with_state(heavy))
        assert_array_equal(merge([large, *ones[:7]]).state_.weight, [2.0**53])
        # Eight more are added up before they meet it.
        assert_array_equal(merge([large, *ones]).state_.weight, [2.0**53 + 8])


class TestInputs:
    def test_are_left_as_they_were(self):
        plan, data = whole("classifier")
        models = learned(plan, split(data, 12))
        before = [contents(model) for model in models]
        merge(models)
        for model, held in zip(models, before, strict=True):
            assert_holds(model, held)

    def test_share_nothing_with_the_result(self):
        plan, data = whole("density")
        models = learned(plan, split(data, 3))
        before = [contents(model) for model in models]
        merge(models).partial_fit(ROWS)
        for model, held in zip(models, before, strict=True):
            assert_holds(model, held)

    def test_may_come_from_a_generator(self):
        plan, data = whole("density")
        models = learned(plan, split(data, 10))
        merged = merge(model for model in models)
        assert_array_equal(merged.state_.total, merge(models).state_.total)

    def test_one_alone_is_itself(self):
        plan, data = whole("regressor")
        (model,) = learned(plan, [data])
        assert_holds(merge([model]), contents(model))

    def test_one_alone_comes_back_as_a_new_model(self):
        plan, data = whole("density")
        (model,) = learned(plan, [data])
        merge([model]).partial_fit(ROWS)
        assert_array_equal(model.state_.weight, [240])

    def test_none_at_all_are_refused(self):
        with pytest.raises(ValueError, match="at least one model"):
            merge([])

    @pytest.mark.parametrize("place", [0, 4, 9])
    def test_without_rows_add_nothing(self, place):
        plan, data = whole("classifier")
        models = learned(plan, split(data, 9))
        models.insert(place, plan.blank())
        assert_learned_all(merge(models), plan.blank().partial_fit(*data))

    def test_all_without_rows_hold_none(self):
        plan, _ = whole("regressor")
        merged = merge(plan.blank() for _ in range(9))
        assert merged.state_ is None
        assert merged.fingerprint() == plan.fingerprint()


class TestRefusals:
    @pytest.mark.parametrize("place", [0, 5, 11])
    @pytest.mark.parametrize("changed", [{"gamma": 0.8}, {"scale": "std"}])
    def test_another_plan(self, place, changed):
        models = learned(DMKDE(**SMALL).prepare(ROWS), split((ROWS,), 11))
        models.insert(place, DMKDE(**(SMALL | changed)).fit(ROWS))
        with pytest.raises(ValueError, match="differ in scaling, gamma or feature map"):
            merge(models)

    def test_another_class(self):
        with pytest.raises(TypeError, match="of its own class, got MeanEmbeddingKDE"):
            merge([DMKDE(**SMALL).fit(ROWS), MeanEmbeddingKDE(**SMALL).fit(ROWS)])

    def test_a_model_that_is_not_prepared(self):
        plan = DMKDE(**SMALL).prepare(ROWS)
        with pytest.raises(ValueError, match="not fitted yet"):
            merge([plan, DMKDE(**SMALL)])

    def test_a_model_that_only_predicts(self):
        model = DMKDE(rank=3, **SMALL).fit(ROWS)
        with pytest.raises(TypeError, match="holds only a factor"):
            merge([model.blank().partial_fit(ROWS), model.compact()])


class TestLabels:
    """Each worker has seen some of the labels; together they know all."""

    @pytest.mark.parametrize(
        "model",
        [
            DMKDClassifier(reject=0.1, **SMALL),
            QMClassifier(**SMALL),
            QMOrdinalClassifier(**SMALL),
        ],
        ids=lambda model: type(model).__name__,
    )
    @pytest.mark.parametrize("as_bytes", [False, True])
    def test_that_only_some_models_know(self, model, as_bytes):
        labels = np.array(["ant", "bee", "cat", "dog"])[np.arange(240) * 4 // 240]
        # Nobody has told the plan of "cat" and "dog".
        plan = rhokit.loads(rhokit.dumps(model)).prepare(ROWS[:120], labels[:120])
        models = learned(plan, split((ROWS, labels), 10))
        assert len({len(each.classes_) for each in models}) > 1
        if as_bytes:
            models = [rhokit.loads(rhokit.dumps(each)) for each in models]
        merged = merge(models)
        alone = plan.blank().partial_fit(ROWS, labels)
        assert merged.classes_.tolist() == ["ant", "bee", "cat", "dog"]
        assert_array_equal(merged.class_count_, [60] * 4)
        assert_learned_all(merged, alone)
        assert_allclose(
            merged.predict_proba(ROWS), alone.predict_proba(ROWS), atol=1e-10
        )
