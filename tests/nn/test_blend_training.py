"""Training that starts from blends: never worse, and one of them in the end."""

from functools import cache

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

import rhokit
from rhokit.nn import DMKDClassifierSGD, QMRegressorSGD
from rhokit.nn.blend_training import left_out, moved
from rhokit.nn.corrections import CORRECTIONS

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(400, 4))
NEW = RNG.uniform(-2, 2, size=(300, 4))


def angle(rows):
    return np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2]


def labels(rows, seed=1):
    noise = 0.3 * np.random.default_rng(seed).normal(size=len(rows))
    return np.array(["low", "middle", "top"])[np.digitize(angle(rows) + noise, [-1, 1])]


def values(rows, seed=1):
    return angle(rows) + 0.1 * np.random.default_rng(seed).normal(size=len(rows))


TARGETS = {DMKDClassifierSGD: labels(X), QMRegressorSGD: values(X)}
SMALL = {"n_components": 32, "random_state": 0}
JUDGED = {"max_epochs": 20, "validation_fraction": 0.3}
both = pytest.mark.parametrize("cls", TARGETS, ids=lambda each: each.__name__)


@cache
def start_of(cls, **settings):
    model = cls.one_pass_class(**SMALL | settings)
    return model.fit(X, TARGETS[cls])


@cache
def trained(cls, **settings):
    return cls(**SMALL | settings).fit(X, TARGETS[cls])


def answers(model, rows=NEW):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    return np.column_stack([model.predict(rows), model.predict_quantiles(rows)])


@both
class TestStart:
    def test_is_what_the_one_pass_model_takes(self, cls):
        model = trained(cls)
        assert model.feature_map_.name == "blend"
        assert model.fingerprint() == start_of(cls).fingerprint()

    def test_is_handed_back_to_the_bit_if_nothing_is_gained(self, cls):
        model = trained(cls, learning_rate=1e-30)  # too small for float32 to notice
        assert model.improved_ is False
        assert_array_equal(answers(model), answers(start_of(cls)))

    def test_is_handed_back_if_training_goes_wrong(self, cls):
        with pytest.warns(rhokit.nn.TrainingWarning, match="learning_rate"):
            model = trained(cls, learning_rate=1e30)
        assert model.improved_ is False
        assert_array_equal(answers(model), answers(start_of(cls)))

    def test_is_handed_back_where_no_row_can_judge(self, cls):
        few = slice(0, 60)
        settings = SMALL | {"feature_map": "blend"}
        model = cls(**settings).fit(X[few], TARGETS[cls][few])
        start = cls.one_pass_class(**settings).fit(X[few], TARGETS[cls][few])
        assert (model.improved_, model.n_epochs_) == (False, 0)
        assert_array_equal(answers(model), answers(start))

    @pytest.mark.parametrize(
        "settings",
        [
            {"rank": 3},
            {"gamma": 0.5},
            {"feature_map": "landmarks"},
            {"train_features": True, "feature_map": "landmarks"},
            {"init": "random"},
        ],
        ids=str,
    )
    def test_settings_of_the_paper_take_matrices(self, cls, settings):
        model = trained(cls, max_epochs=1, **settings)
        assert model.estimator_.state_.factor.ndim == 3
        assert model.to_module() is model.module_


@both
class TestTrained:
    def test_judges_are_better_predicted(self, cls):
        model = trained(cls, **JUDGED)
        assert model.improved_ is True
        losses = model.history_["validation_loss"]
        assert model.n_epochs_ == len(losses)

    def test_new_rows_are_not_worse_predicted(self, cls):
        model, start = trained(cls, **JUDGED), start_of(cls)
        if cls is QMRegressorSGD:
            truth = values(NEW, 2)
            errors = [np.mean((m.predict(NEW) - truth) ** 2) for m in (model, start)]
        else:
            codes = np.searchsorted(start.classes_, labels(NEW, 2))
            chances = [
                m.predict_proba(NEW)[np.arange(300), codes] for m in (model, start)
            ]
            errors = [-np.log(chance).mean() for chance in chances]
        assert errors[0] < 1.02 * errors[1]

    def test_judges_of_the_caller(self, cls):
        truth = (
            labels(NEW, 2)
            if cls is DMKDClassifierSGD
            else values(NEW, 2).clip(TARGETS[cls].min(), TARGETS[cls].max())
        )
        model = cls(**SMALL, max_epochs=3).fit(
            X, TARGETS[cls], validation_data=(NEW, truth)
        )
        assert len(model.history_["validation_loss"]) == 3

    def test_is_a_blend_that_learns_merges_and_forgets(self, cls):
        model = trained(cls, **JUDGED)
        back = model.to_estimator()
        assert type(back) is cls.one_pass_class
        if cls is DMKDClassifierSGD:
            assert_array_equal(answers(back), answers(model))
        else:
            assert_array_equal(back.predict(NEW), model.predict(NEW))
        more = labels(NEW, 2) if cls is DMKDClassifierSGD else values(NEW, 2)
        if cls is QMRegressorSGD:
            more = more.clip(TARGETS[cls].min(), TARGETS[cls].max())
        known = back.predict(X[:50])
        back.partial_fit(NEW, more).unlearn(NEW, more)
        if cls is DMKDClassifierSGD:
            assert_array_equal(back.predict(X[:50]), known)
        else:
            assert_allclose(back.predict(X[:50]), known, rtol=1e-6)

    def test_files(self, cls, tmp_path):
        model = trained(cls, **JUDGED)
        rhokit.save(model, tmp_path / "model.rho")
        again = rhokit.load(tmp_path / "model.rho")
        assert_array_equal(answers(again), answers(model))

    def test_checkpoints_end_with_the_same_bits(self, cls, tmp_path):
        model = cls(**SMALL, max_epochs=3, checkpoint=tmp_path / "blend.pt")
        first = answers(model.fit(X, TARGETS[cls]))
        assert_array_equal(answers(model.fit(X, TARGETS[cls])), first)

    def test_goes_on_from_a_one_pass_model(self, cls):
        start = start_of(cls)
        model = cls.from_estimator(start, **JUDGED)
        assert_array_equal(answers(model), answers(start))
        went_on = answers(model.fit(X, TARGETS[cls]))
        wanted = answers(trained(cls, **JUDGED))
        assert_allclose(went_on, wanted, rtol=1e-6, atol=1e-8)

    def test_rows_of_no_weight_say_nothing(self, cls):
        weights = (np.arange(400) < 350).astype(float)
        settings = SMALL | {"max_epochs": 2}
        one = cls(**settings).fit(X, TARGETS[cls], sample_weight=weights)
        two = cls(**settings).fit(X[:350], TARGETS[cls][:350])
        assert one.improved_ == two.improved_
        assert_allclose(answers(one), answers(two), rtol=1e-5, atol=1e-6)

    def test_no_module_computes_trees(self, cls):
        with pytest.raises(ValueError, match="no module computes the trees"):
            trained(cls, max_epochs=1).to_module()


@both
class TestLeftOut:
    """What training is told, against models that were fitted without the row."""

    def test_of_learned_rows(self, cls):
        start = start_of(cls)
        batch = start.check_batch(X, TARGETS[cls]).take(np.arange(5))
        told = left_out(start.model_, start.model_.state, batch).told
        for i in range(3):
            less = start.with_model(start.model_).unlearn(
                X[i : i + 1], TARGETS[cls][i : i + 1]
            )
            one = batch.take(np.array([i]))
            alone = left_out(less.model_, less.model_.state, one, known=False).told
            # λ is for every unit of weight, of which there is one less.
            assert_allclose(told.ridge[i], alone.ridge[0], rtol=1e-4, atol=1e-4)
            assert_allclose(told.cells[i], alone.cells[0], rtol=1e-6, atol=1e-8)

    def test_change_is_that_of_the_state(self, cls):
        """The correction that was judged is the one that the state gives."""
        start = start_of(cls)
        model = start.model_
        batch = start.check_batch(X, TARGETS[cls])
        rows = left_out(model, model.state, batch, known=False)
        change = np.zeros((rows.features.shape[1], rows.truth.shape[1]))
        which = slice(1, 2) if cls is QMRegressorSGD else slice(None)
        shape = change[:, which].shape
        change[:, which] = 1e-2 * np.random.default_rng(0).normal(size=shape)
        changed = model.with_state(moved(model, change))
        again = left_out(changed, changed.state, batch, known=False)
        assert_allclose(again.told.ridge, rows.moved(change).told.ridge, atol=1e-7)

    def test_loss_is_that_of_the_answers(self, cls):
        start = start_of(cls)
        model, task = start.model_, cls().training_task()
        batch = start.check_batch(X, TARGETS[cls])
        rows = left_out(model, model.state, batch, known=False)
        correction = CORRECTIONS[model.plan.feature_map.link_].of(rows, task)
        given = [torch.as_tensor(each) for each in correction.start(rows)]
        none = torch.zeros(len(rows.weight), correction.n_outputs)
        target = torch.as_tensor(correction.target(rows))
        loss = correction.loss((none, given), target, None)
        assert_allclose(float(loss), correction.losses(rows).mean(), rtol=1e-5)


def test_classes_lose_what_their_probabilities_say():
    start = start_of(DMKDClassifierSGD)
    model = start.model_
    batch = start.check_batch(NEW, labels(NEW, 2))
    rows = left_out(model, model.state, batch, known=False)
    correction = CORRECTIONS["classes"].of(rows, DMKDClassifierSGD().training_task())
    codes = np.searchsorted(start.classes_, batch.target)
    logs = rows.logs() + np.log(rows.prior)
    wanted = -np.log(softmax(logs, axis=1)[np.arange(300), codes])
    assert_allclose(correction.losses(rows), wanted, rtol=1e-10)
