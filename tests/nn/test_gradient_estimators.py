"""Laws of all models trained by gradient."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rhokit import (
    DMKDE,
    DensityMatrix,
    DMKDClassifier,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    LowRankDensityMatrix,
    QMClassifier,
    QMRegressor,
    SoftmaxFeatures,
)
from rhokit.batch import Batch, Columns
from rhokit.errors import DataError
from rhokit.nn import (
    DMKDESGD,
    DMKDClassifierSGD,
    QMClassifierSGD,
    QMRegressorSGD,
    TrainingWarning,
)
from rhokit.nn.holdout import split_batch
from tests.nn import in_turn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
CLASSES = np.where(X[:, 0] * X[:, 1] > 0.1, "same", "other")
VALUES = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=150)
NEW = RNG.normal(size=(40, 2))
ONE_PASS = {
    DMKDESGD: DMKDE,
    DMKDClassifierSGD: DMKDClassifier,
    QMClassifierSGD: QMClassifier,
    QMRegressorSGD: QMRegressor,
}
MODELS = list(ONE_PASS)
ALPHA = 0.1
SMALL = {"n_components": 32, "rank": 6, "max_epochs": 5, "random_state": 0}


def label(value):
    return getattr(value, "__name__", None) or str(value)


every_model = pytest.mark.parametrize("cls", MODELS, ids=lambda each: each.__name__)


def target_of(cls):
    if cls is DMKDESGD:
        return None
    return VALUES if cls is QMRegressorSGD else CLASSES


def part(target, which):
    return None if target is None else target[which]


def make(cls, **parameters):
    own = {"alpha": ALPHA} if cls is QMRegressorSGD else {}
    return cls(**SMALL | own | parameters)


def fit(cls, **parameters):
    return make(cls, **parameters).fit(X, target_of(cls))


@cache
def fitted(cls):
    """A trained model that no test may change."""
    return fit(cls)


def answers(model, rows=NEW):
    """What a model says: log-densities, log-probabilities, or distributions."""
    for name in ("score_samples", "predict_distribution", "predict_log_proba"):
        if hasattr(model, name) and name != "score_samples":
            return getattr(model, name)(rows)
        if name == "score_samples" and not hasattr(model, "predict"):
            return model.score_samples(rows)
    raise AssertionError(model)


def in_plain_numbers(told):
    """Logarithms as what they are of: the smallest are cut off."""
    return np.exp(told) if told.max() <= 0 else told


def from_module(model, rows=NEW):
    """What the module says of the same rows."""
    estimator = model.estimator_
    module = model.to_module()
    scaled = torch.from_numpy(estimator.scaling_.apply(rows))
    scaled = scaled.to(module.measurement.factor.real.dtype)
    with torch.no_grad():
        told = getattr(module, "distribution", module)(scaled)
    return told.numpy()


def loss_of(model, target, rows=X):
    """The mean loss that the model is trained for."""
    if target is None:
        return -model.score(rows)
    if target.dtype.kind == "f":
        mean, std = model.predict(rows, return_std=True)
        low, high = VALUES.min(), VALUES.max()
        return np.mean((target - mean) ** 2 + ALPHA * std**2) / (high - low) ** 2
    codes = np.searchsorted(model.classes_, target)
    return -model.predict_log_proba(rows)[np.arange(len(rows)), codes].mean()


@every_model
class TestContract:
    def test_seed_decides_every_bit(self, cls):
        model = make(cls, init="random")
        told = answers(model.fit(X, target_of(cls)))
        assert_array_equal(answers(fit(cls, init="random")), told)
        other = fit(cls, init="random", random_state=1)
        assert np.abs(answers(other) - told).max() > 1e-6

    def test_order_of_rows_follows_the_seed(self, cls):
        """Landmarks that are all rows leave nothing but the order to the seed."""
        shared = {"n_components": 200, "feature_map": "landmarks", "batch_size": 20}
        models = [fit(cls, **shared, random_state=seed) for seed in (0, 0, 1)]
        told = [answers(model) for model in models]
        assert_array_equal(told[0], told[1])
        assert (told[0] != told[2]).any()

    def test_fit_returns_self(self, cls):
        model = make(cls)
        assert model.fit(X, target_of(cls)) is model

    def test_clone_has_the_parameters_and_nothing_learned(self, cls):
        model = fitted(cls)
        twin = clone(model)
        assert twin.get_params() == model.get_params()
        assert not hasattr(twin, "estimator_")
        assert_array_equal(answers(twin.fit(X, target_of(cls))), answers(model))

    def test_pickled_model_says_the_same(self, cls):
        model = fitted(cls)
        twin = pickle.loads(pickle.dumps(model))
        assert_array_equal(answers(twin), answers(model))
        assert_array_equal(from_module(twin), from_module(model))
        assert twin.history_ == model.history_

    def test_answers_change_no_byte(self, cls):
        model = fit(cls)
        before = pickle.dumps(model)
        answers(model)
        model.to_module()
        model.to_estimator()
        if cls is QMRegressorSGD:
            model.predict_interval(NEW)
        assert pickle.dumps(model) == before

    def test_history_and_epochs(self, cls):
        model = fitted(cls)
        assert model.n_epochs_ == len(model.history_["loss"]) == 5
        assert len(model.history_["learning_rate"]) == 5
        assert model.history_["loss"][-1] < model.history_["loss"][0]

    def test_state_has_the_rank(self, cls):
        state = fitted(cls).estimator_.state_
        assert isinstance(state, LowRankDensityMatrix)
        assert state.rank == 6
        assert fit(cls, rank=0.25).estimator_.state_.rank == 8

    def test_not_fitted(self, cls):
        for ask in (answers, cls.to_module, cls.to_estimator):
            with pytest.raises(NotFittedError):
                ask(cls())

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_dtype(self, cls, dtype):
        model = fit(cls, dtype=dtype)
        assert model.module_.measurement.factor.dtype == getattr(torch, dtype)
        assert model.estimator_.feature_map_.dtype_ == dtype
        told = [
            in_plain_numbers(each) for each in (answers(model), answers(fitted(cls)))
        ]
        assert_allclose(*told, atol=0.1)

    def test_rows_of_single_precision_stay_so(self, cls):
        model = make(cls).fit(X.astype(np.float32), target_of(cls))
        assert model.module_.measurement.factor.dtype == torch.float32


BAD = {
    "learning_rate": 0,
    "rank": 0,
    "init": "foo",
    "validation_fraction": 1.5,
    "patience": 0,
    "max_epochs": 0,
    "batch_size": 0,
    "weight_decay": -1.0,
    "gamma": "foo",
    "early_stopping": "always",
    "train_features": "yes",
    "warm_start": 2.5,
    "checkpoint": 3,
    "n_components": 0,
    "scale": "foo",
    "dtype": 3,
    "random_state": "foo",
    "device": 1.5,
}


class TestBadParameters:
    @pytest.mark.parametrize(("cls", "name"), in_turn(MODELS, BAD), ids=label)
    def test_bad_parameters_are_named_with_their_owner(self, cls, name):
        message = f"The '{name}' parameter of {cls.__name__} must"
        with pytest.raises(ValueError, match=message):
            make(cls, **{name: BAD[name]}).fit(X, target_of(cls))

    @pytest.mark.parametrize(
        ("cls", "device"), in_turn(MODELS, ["foo", "cuda"]), ids=label
    )
    def test_device_that_is_not_there(self, cls, device):
        if device == "cuda" and torch.cuda.is_available():
            pytest.skip("it is there")
        with pytest.raises((ValueError, RuntimeError), match=device):
            make(cls, device=device).fit(X, target_of(cls))


@every_model
class TestRefused:
    def test_failing_fit_leaves_the_old_model(self, cls):
        model = fit(cls)
        before, answer = pickle.dumps(model), answers(model)
        broken = X.copy()
        broken[7, 1] = np.nan
        with pytest.raises(DataError, match="NaN") as caught:
            model.fit(broken, target_of(cls))
        assert (caught.value.row, caught.value.column) == (7, 1)
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, target_of(cls), sample_weight=-np.ones(150))
        assert pickle.dumps(model) == before
        with pytest.raises(ValueError, match="learning_rate"):
            model.set_params(learning_rate=-1.0).fit(X, target_of(cls))
        model.set_params(learning_rate=0.1, feature_map="quadrature", gamma=0.5)
        with pytest.raises(ValueError, match="a grid"):
            model.set_params(train_features=True).fit(X, target_of(cls))
        assert_array_equal(answers(model), answer)

    def test_failure_in_the_middle_leaves_the_old_model(self, cls, monkeypatch):
        model = fit(cls)
        answer = answers(model)

        def fail(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(type(model.training_task()), "finish", fail)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X + 1, target_of(cls))
        assert_array_equal(answers(model), answer)

    def test_nan_names_the_column(self, cls):
        frame = pd.DataFrame(X, columns=["width", "height"])
        frame.loc[3, "height"] = np.nan
        with pytest.raises(DataError, match="NaN") as caught:
            make(cls).fit(frame, target_of(cls))
        assert (caught.value.row, caught.value.column) == (3, "height")
        model = make(cls).fit(
            frame.drop(index=3), part(target_of(cls), frame.index != 3)
        )
        with pytest.raises(DataError, match="height"):
            answers(model, frame)

    def test_columns_have_names_and_an_order(self, cls):
        frame = pd.DataFrame(X, columns=["width", "height"])
        model = make(cls).fit(frame, target_of(cls))
        assert model.feature_names_in_.tolist() == ["width", "height"]
        assert model.n_features_in_ == 2
        new = pd.DataFrame(NEW, columns=["width", "height"])
        assert_array_equal(answers(model, new), answers(fitted(cls)))
        with pytest.raises(ValueError, match="same order"):
            answers(model, new[["height", "width"]])
        with pytest.raises(ValueError, match="2 features"):
            answers(fitted(cls), NEW[:, :1])

    def test_validation_rows_have_the_same_columns(self, cls):
        frame = pd.DataFrame(X, columns=["width", "height"])
        target = target_of(cls)
        with pytest.raises(ValueError, match="same order"):
            make(cls).fit(
                frame, target, validation_data=(frame[["height", "width"]], target)
            )
        with pytest.raises(ValueError, match="tuple"):
            make(cls).fit(X, target, validation_data=(X, target, None, None))

    def test_map_without_a_kernel(self, cls):
        with pytest.raises(ValueError, match=r"'feature_map'.*for gradient training"):
            make(cls, feature_map=SoftmaxFeatures(n_components=4)).fit(
                X, target_of(cls)
            )


@every_model
class TestWeights:
    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    @pytest.mark.parametrize("early_stopping", [False, True])
    def test_weight_k_is_k_copies(self, cls, early_stopping):
        rng = np.random.default_rng(1)
        counts = rng.integers(0, 4, len(X))
        copies = np.repeat(np.arange(len(X)), counts)
        shared = {"batch_size": 1000, "early_stopping": early_stopping}
        # Of a kernel so wide that landmarks depend on each other, training would blow
        # up what sums of copies and weights differ by.
        shared |= {"validation_fraction": 0.2, "gamma": 0.5, "scale": "std"}
        target = target_of(cls)
        weighted = make(cls, **shared).fit(X, target, sample_weight=counts)
        copied = make(cls, **shared).fit(X[copies], part(target, copies))
        assert_allclose(answers(weighted), answers(copied), rtol=1e-5, atol=1e-6)
        for name in weighted.history_:
            assert_allclose(weighted.history_[name], copied.history_[name], rtol=1e-6)

    def test_weight_two_is_two_copies_for_auto(self, cls):
        shared = {"batch_size": 1000, "early_stopping": "auto"}
        target = target_of(cls)
        weighted = make(cls, **shared).fit(X, target, sample_weight=np.full(150, 2))
        both = np.tile(np.arange(150), 2)
        copied = make(cls, **shared).fit(X[both], part(target, both))
        assert weighted.history_.keys() == copied.history_.keys()

    def test_weight_zero_is_not_there(self, cls):
        rows, target, weight = X.copy(), target_of(cls), np.ones(150)
        weight[::7] = 0
        rows[::7] *= 100
        if cls is QMRegressorSGD:
            target = np.where(weight > 0, target, 1e6)
        seen = weight > 0
        weighted = make(cls).fit(rows, target, sample_weight=weight)
        absent = make(cls).fit(rows[seen], part(target, seen))
        assert_allclose(answers(weighted), answers(absent), rtol=1e-8, atol=1e-10)


def one_pass(cls, **parameters):
    """A fitted one-pass model of the class that a model starts from."""
    model = ONE_PASS[cls](**{"n_components": 32, "random_state": 0} | parameters)
    return model.fit(X, target_of(cls))


STARTS = [
    {"feature_map": "fourier", "gamma": 0.5, "scale": None},
    {
        "feature_map": FourierFeatures(form="complex", n_components=32),
        "gamma": 0.5,
        "scale": None,
    },
    {
        "feature_map": FourierFeatures(form="pair", n_components=32),
        "gamma": 0.5,
        "scale": None,
    },
    {"feature_map": "landmarks", "rank": 5},
    {
        "feature_map": LandmarkFeatures(normalize=True, n_components=32),
        "gamma": 0.5,
        "scale": None,
        "rank": 0.5,
    },
    {"gamma": 0.5, "scale": "whiten", "rank": "elbow", "feature_map": "landmarks"},
    {"dtype": "float32", "feature_map": "landmarks"},
]
FROM = [(cls, {}) for cls in MODELS]
FROM += [*in_turn(MODELS, STARTS), *in_turn(MODELS, STARTS, shift=2)]
FROM += [
    (DMKDClassifierSGD, {"priors": "uniform"}),
    (DMKDClassifierSGD, {"priors": [0.3, 0.7], "rank": 3}),
    (DMKDClassifierSGD, {"reject": 0.1, "rank": "loo"}),
    (QMClassifierSGD, {"output_map": "softmax"}),
    (QMClassifierSGD, {"output_map": "softmax", "rank": 4}),
    (QMClassifierSGD, {"joint_rank": 5}),
    (QMRegressorSGD, {"n_levels": 7, "rank": 3}),
    (QMRegressorSGD, {"beta": 30.0, "bounds": (-5.0, 5.0)}),
    (QMRegressorSGD, {"calibration": None}),
]


class TestFromEstimator:
    @pytest.mark.parametrize(("cls", "settings"), FROM, ids=label)
    def test_same_answers_to_the_last_bit(self, cls, settings):
        estimator = one_pass(cls, **settings)
        model = cls.from_estimator(estimator)
        if isinstance(estimator.feature_map_, GridFeatures):
            assert_allclose(answers(model), answers(estimator), rtol=1e-7)
            return  # a series has become a matrix
        assert_array_equal(answers(model), answers(estimator))
        if cls is not DMKDESGD:
            assert_array_equal(model.predict(NEW), estimator.predict(NEW))
        if cls is QMRegressorSGD:
            assert_array_equal(
                model.predict_interval(NEW), estimator.predict_interval(NEW)
            )
        if cls is DMKDESGD:
            assert_array_equal(model.sample(3, 0), estimator.sample(3, 0))

    @pytest.mark.parametrize(("cls", "settings"), FROM, ids=label)
    def test_module_says_the_same(self, cls, settings):
        if cls in (DMKDClassifierSGD, QMClassifierSGD):
            # What a kernel as narrow as accuracy may choose measures far from all
            # landmarks is rounding.
            settings = {"gamma": 8.0, "scale": "std"} | settings
        model = cls.from_estimator(one_pass(cls, **settings))
        if "joint_rank" in settings:
            with pytest.raises(ValueError, match="joint_rank"):
                model.to_module()
            return
        tolerance = 1e-3 if settings.get("dtype") == "float32" else 1e-6
        told = from_module(model)
        assert_allclose(told, answers(model), rtol=tolerance, atol=tolerance)

    @every_model
    def test_takes_the_parameters_over(self, cls):
        estimator = one_pass(cls, gamma=0.7, scale="robust", feature_map="landmarks")
        model = cls.from_estimator(estimator, rank=3, learning_rate=0.5)
        assert (model.gamma, model.scale, model.n_components) == (0.7, "robust", 32)
        assert (model.rank, model.learning_rate, model.warm_start) == (3, 0.5, True)
        assert model.n_features_in_ == 2
        assert not cls.from_estimator(estimator, warm_start=False).warm_start

    @every_model
    def test_refuses_other_classes(self, cls):
        for other in MODELS:
            if other is not cls:
                name = ONE_PASS[other].__name__
                with pytest.raises(TypeError, match=f"{cls.__name__}.*got {name}"):
                    cls.from_estimator(one_pass(other))
        with pytest.raises(TypeError, match=f"got {cls.__name__}"):
            cls.from_estimator(fitted(cls))

    @every_model
    def test_refuses_models_without_rows(self, cls):
        with pytest.raises(NotFittedError):
            cls.from_estimator(ONE_PASS[cls]())
        with pytest.raises(NotFittedError):
            cls.from_estimator(one_pass(cls).blank())

    @every_model
    def test_refuses_bad_parameters(self, cls):
        with pytest.raises(ValueError, match=f"'rank' parameter of {cls.__name__}"):
            cls.from_estimator(one_pass(cls), rank=-1)

    @every_model
    def test_columns_with_names(self, cls):
        frame = pd.DataFrame(X, columns=["width", "height"])
        options = {"n_components": 32, "random_state": 0, "feature_map": "landmarks"}
        estimator = ONE_PASS[cls](**options)
        estimator.fit(frame, target_of(cls))
        model = cls.from_estimator(estimator, rank=6)
        assert model.feature_names_in_.tolist() == ["width", "height"]
        assert_array_equal(answers(model, frame), answers(estimator, frame))
        answers(model.fit(frame, target_of(cls)), frame)

    @pytest.mark.parametrize(
        ("cls", "settings"),
        [
            *[(cls, {}) for cls in MODELS if cls is not DMKDESGD],
            (DMKDESGD, {"feature_map": "landmarks"}),
            (
                DMKDClassifierSGD,
                {"feature_map": "fourier", "gamma": 0.5, "scale": None},
            ),
            (QMRegressorSGD, {"feature_map": "landmarks"}),
        ],
        ids=label,
    )
    def test_training_starts_from_it_and_lowers_the_loss(self, cls, settings):
        estimator, target = one_pass(cls, **settings), target_of(cls)
        shared = {"rank": 32, "early_stopping": False, "batch_size": 1000}
        if cls is QMRegressorSGD:
            shared["alpha"] = ALPHA
        still = cls.from_estimator(
            estimator, **shared, learning_rate=1e-9, max_epochs=2
        )
        begin = loss_of(estimator, target)
        still.fit(X, target)
        first = still.history_["loss"][0]
        if cls is DMKDESGD:
            # Training divides what rank and map have lost out again.
            assert first <= begin + 0.02
        else:
            assert_allclose(first, begin, rtol=0.01)
        model = cls.from_estimator(estimator, **shared, max_epochs=20).fit(X, target)
        assert loss_of(model, target) < min(begin, first)
        assert_allclose(model.history_["loss"][0], first, rtol=1e-6)

    @every_model
    def test_training_changes_neither_the_estimator_nor_its_map(self, cls):
        estimator = one_pass(cls, feature_map="landmarks")
        before = pickle.dumps(estimator)
        cls.from_estimator(estimator, train_features=True, rank=6).fit(
            X, target_of(cls)
        )
        assert pickle.dumps(estimator) == before

    @pytest.mark.parametrize(
        ("cls", "settings"),
        [
            (DMKDESGD, {"rank": 2}),
            (QMRegressorSGD, {"rank": 2}),
            (QMClassifierSGD, {"joint_rank": 3}),
            (DMKDClassifierSGD, {"priors": "uniform"}),
            (QMClassifierSGD, {"output_map": "softmax"}),
        ],
        ids=label,
    )
    def test_trained_model_is_its_module(self, cls, settings):
        """Whatever the one-pass model was truncated to."""
        model = cls.from_estimator(one_pass(cls, **settings), rank=10)
        model.fit(X, target_of(cls))
        assert_allclose(from_module(model), answers(model), rtol=1e-6, atol=1e-6)


TRAINED = [
    {},
    {"feature_map": "fourier", "gamma": 0.5, "scale": None},
    {
        "feature_map": FourierFeatures(form="complex", n_components=32),
        "gamma": 0.5,
        "scale": None,
    },
    {"feature_map": "landmarks", "gamma": 0.5, "scale": None},
    {
        "feature_map": LandmarkFeatures(normalize=True, n_components=32),
        "gamma": 0.5,
        "scale": None,
    },
    {"init": "random"},
    {"rank": 1},
    {"rank": 1.0},
]


each_setting = pytest.mark.parametrize(
    ("cls", "settings"),
    [*in_turn(MODELS, TRAINED), *in_turn(MODELS, TRAINED, shift=1)],
    ids=label,
)
MOVED = [
    ("fourier", "frequencies_"),
    ("landmarks", "landmarks_"),
    (FourierFeatures(form="complex", n_components=32), "frequencies_"),
    (FourierFeatures(form="pair", n_components=32), "frequencies_"),
]


class TestTrained:
    @each_setting
    def test_module_says_the_same(self, cls, settings):
        model = fit(cls, **settings)
        assert model.to_module() is model.module_
        assert_allclose(from_module(model), answers(model), rtol=1e-6, atol=1e-6)

    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    @pytest.mark.parametrize(
        ("cls", "moved"),
        [*in_turn(MODELS, MOVED), *in_turn(MODELS, MOVED, shift=1)],
        ids=label,
    )
    @pytest.mark.parametrize("train_features", [False, True])
    def test_features(self, cls, moved, train_features):
        """They move if they are trained; the module says the same all the while."""
        feature_map, name = moved
        settings = {"feature_map": feature_map, "gamma": 0.5, "scale": None}
        model = fit(cls, **settings, train_features=train_features)
        start = one_pass(cls, **settings).feature_map_
        before, after = (
            getattr(each, name) for each in (start, model.estimator_.feature_map_)
        )
        assert before.shape == after.shape
        assert (before != after).any() == train_features
        assert_allclose(from_module(model), answers(model), rtol=1e-6, atol=1e-6)
        summed = model.to_estimator()
        # Sums over columns undo the whitening twice, which costs digits.
        assert_allclose(answers(summed), answers(model), rtol=1e-4, atol=1e-6)

    @every_model
    def test_frozen_map_is_untouched(self, cls):
        model = fit(cls, feature_map="landmarks", gamma=0.5)
        start = one_pass(cls, feature_map="landmarks", gamma=0.5)
        assert model.estimator_.fingerprint() == start.fingerprint()
        assert model.estimator_.feature_map_.fingerprint() == (
            start.feature_map_.fingerprint()
        )

    @each_setting
    def test_to_estimator_says_the_same(self, cls, settings):
        model = fit(cls, **settings)
        estimator = model.to_estimator()
        assert type(estimator) is ONE_PASS[cls]
        assert type(estimator.state_) is DensityMatrix
        assert_allclose(answers(estimator), answers(model), rtol=1e-7, atol=1e-8)
        assert_allclose(estimator.state_.weight.sum(), 150 - held_out(model), rtol=1e-8)

    @every_model
    def test_to_estimator_learns_and_forgets(self, cls):
        estimator = fitted(cls).to_estimator()
        before = answers(estimator)
        more, target = X[:30] * 0.9, part(target_of(cls), slice(30))
        estimator.partial_fit(more, target)
        learned = answers(estimator)
        assert np.abs(learned - before).max() > 1e-3
        estimator.unlearn(more, target)
        assert_allclose(answers(estimator), before, rtol=1e-5, atol=1e-7)
        other = estimator.blank().partial_fit(more, target)
        assert_allclose(answers(estimator.merge(other)), learned, rtol=1e-6, atol=1e-8)
        assert_array_equal(
            answers(estimator.merge(estimator.blank())), answers(estimator)
        )

    @every_model
    def test_to_estimator_is_a_copy(self, cls):
        model = fit(cls)
        before = answers(model)
        model.to_estimator().partial_fit(X[:9], part(target_of(cls), slice(9)))
        assert_array_equal(answers(model), before)

    @every_model
    def test_trained_factor_takes_up_no_rows(self, cls):
        model, target = fit(cls), target_of(cls)
        before = answers(model)
        with pytest.raises(TypeError, match=r"only a factor.*to_estimator\(\)"):
            model.estimator_.partial_fit(X, target)
        with pytest.raises(TypeError, match=r"only a factor.*to_estimator\(\)"):
            model.estimator_.unlearn(X, target)
        assert_array_equal(answers(model), before)

    @every_model
    def test_goes_round(self, cls):
        """A trained model, as a one-pass model, is where another one starts from."""
        model = fitted(cls)
        again = cls.from_estimator(model.to_estimator())
        assert_allclose(answers(again), answers(model), rtol=1e-7, atol=1e-8)


def held_out(model):
    """How many of the 150 rows were held out."""
    sample = getattr(model.estimator_, "sample_", None)
    return 0 if sample is None else len(sample.rows)


@every_model
class TestWarmStart:
    def test_goes_on_where_it_was(self, cls):
        target = target_of(cls)
        shared = {"early_stopping": False, "batch_size": 1000, "learning_rate": 0.05}
        model = make(cls, warm_start=True, max_epochs=20, **shared).fit(X, target)
        first = model.history_["loss"]
        end = loss_of(model, target)
        second = model.fit(X, target).history_["loss"]
        assert_allclose(second[0], end, rtol=1e-5)
        assert second[0] < first[0]
        assert second[-1] < first[-1]

    def test_without_it_all_starts_afresh(self, cls):
        model, target = fit(cls), target_of(cls)
        history = model.history_
        assert model.fit(X, target).history_ == history

    def test_keeps_scaling_and_map(self, cls):
        target = target_of(cls)
        model = make(cls, warm_start=True).fit(X, target)
        fingerprint = model.estimator_.fingerprint()
        model.fit(X[::2] * 0.9, part(target, slice(None, None, 2)))
        assert model.estimator_.fingerprint() == fingerprint

    def test_other_columns_are_refused(self, cls):
        target = target_of(cls)
        model = make(cls, warm_start=True).fit(X, target)
        with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
            model.fit(np.column_stack([X, X[:, 0]]), target)
        frame = pd.DataFrame(X, columns=["width", "height"])
        model = make(cls, warm_start=True).fit(frame, target)
        with pytest.raises(ValueError, match="depth"):
            model.fit(frame.rename(columns={"height": "depth"}), target)

    def test_first_fit_with_it_is_as_without(self, cls):
        model = fit(cls, warm_start=True)
        assert_array_equal(answers(model), answers(fitted(cls)))


@every_model
class TestEarlyStopping:
    def test_epoch_with_the_smallest_validation_loss_is_kept(self, cls):
        target, train, judge = target_of(cls), np.arange(60), np.arange(60, 150)
        model = make(
            cls, max_epochs=30, rank=3, learning_rate=0.05, patience=30, batch_size=10
        )
        model.set_params(init="random")
        data = (X[judge], part(target, judge))
        if cls is QMRegressorSGD:
            model.set_params(bounds=(VALUES.min(), VALUES.max()))
        model.fit(X[train], part(target, train), validation_data=data)
        losses = model.history_["validation_loss"]
        assert np.argmin(losses) < 29
        assert_allclose(
            loss_of(model, data[1], data[0]), min(losses), rtol=1e-6, atol=1e-9
        )

    def test_validation_rows_do_not_teach(self, cls):
        """Other targets, other rows: only the choice of the epoch may change."""
        target = target_of(cls)
        model = make(cls, early_stopping=False)
        plain = model.fit(X, target).history_["loss"]
        absurd = NEW * 0.5, part(target, slice(40))
        judged = clone(model).fit(X, target, validation_data=absurd)
        usual = clone(model).fit(X, target, validation_data=(X, target))
        assert judged.history_["loss"] == plain
        assert usual.history_["loss"] == plain
        losses = [each.history_["validation_loss"] for each in (judged, usual)]
        assert losses[0] != losses[1]
        assert model.estimator_.fingerprint() == usual.estimator_.fingerprint()

    def test_weights_of_validation_rows_count(self, cls):
        target = target_of(cls)
        counts = np.random.default_rng(3).integers(0, 3, 150)
        copies = np.repeat(np.arange(150), counts)
        histories = [
            make(cls).fit(X, target, validation_data=data).history_["validation_loss"]
            for data in ((X, target, counts), (X[copies], part(target, copies)))
        ]
        assert_allclose(*histories, rtol=1e-10)

    def test_patience(self, cls):
        model = make(cls, patience=2, max_epochs=60, rank=3, learning_rate=0.05)
        target = target_of(cls)
        model.set_params(batch_size=10, init="random")
        judges = X[::2], part(target, slice(None, None, 2))
        if cls is QMRegressorSGD:
            model.set_params(bounds=(VALUES.min(), VALUES.max()))
        rest = slice(1, None, 2)
        with np.errstate(all="ignore"):
            model.fit(X[rest], part(target, rest), validation_data=judges)
        losses = model.history_["validation_loss"]
        assert model.n_epochs_ == len(losses) < 60
        assert np.argmin(losses) == len(losses) - 3

    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    @pytest.mark.parametrize(
        ("n", "fraction", "judged"),
        [(150, 0.1, False), (150, 0.2, True), (60, 0.4, True), (60, 0.3, False)],
    )
    def test_auto_holds_out_twenty_rows_or_none(self, cls, n, fraction, judged):
        model = make(cls, early_stopping="auto", validation_fraction=fraction)
        model.fit(X[:n], part(target_of(cls), slice(n)))
        assert ("validation_loss" in model.history_) == judged

    def test_none_to_hold_out(self, cls):
        model = make(cls, early_stopping=True, validation_fraction=0.01)
        with pytest.raises(
            ValueError, match=r"validation_fraction=0\.01 of n_samples="
        ):
            model.fit(X[:20], part(target_of(cls), slice(20)))

    def test_copies_stay_together_and_every_class_is_trained(self, cls):
        target = target_of(cls)
        rows = np.concatenate([X[:40], X[:40], X[:40]])
        tripled = None if target is None else np.tile(target[:40], 3)
        if tripled is not None and tripled.dtype.kind == "U":
            tripled[[0, 40, 80]] = "rare"
        batch = Batch(rows, Columns(2), tripled)
        groups = make(cls).training_task().groups(batch)
        trained, held = split_batch(batch, groups, 0.5, True)
        left, right = ({tuple(row) for row in part.rows} for part in (trained, held))
        assert left
        assert right
        assert not left & right
        assert len(trained) + len(held) == 120
        assert len(held) % 3 == 0
        assert abs(len(held) - 60) <= 6
        if tripled is not None and tripled.dtype.kind == "U":
            assert set(trained.target) == set(tripled)

    def test_split_does_not_depend_on_the_order(self, cls):
        target = target_of(cls)
        order = np.random.default_rng(0).permutation(150)
        shared = {"early_stopping": True, "validation_fraction": 0.3}
        shared["batch_size"] = 1000
        models = [
            make(cls, **shared).fit(X[each], part(target, each))
            for each in (np.arange(150), order)
        ]
        assert_allclose(*map(answers, models), rtol=1e-5, atol=1e-6)


class TestGoingWrong:
    @pytest.mark.parametrize(
        ("cls", "rate", "judged"),
        [
            (DMKDESGD, 1e6, False),
            (DMKDESGD, 1e30, True),
            (DMKDClassifierSGD, 1e30, False),
            (QMClassifierSGD, 1e6, True),
            (QMRegressorSGD, 1e30, False),
            (QMRegressorSGD, 1e6, True),
        ],
        ids=label,
    )
    def test_absurd_learning_rate_leaves_the_start(self, cls, rate, judged):
        target = target_of(cls)
        options = {"validation_data": (X, target)} if judged else {}
        model = make(cls, early_stopping=False, learning_rate=rate)
        with pytest.warns(TrainingWarning, match="learning_rate="):
            model.fit(X, target, **options)
        start = make(cls, early_stopping=False, learning_rate=1e-15, max_epochs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            start.fit(X, target)
        assert not np.isnan(answers(model)).any()
        assert loss_of(model, target) <= loss_of(start, target) * (1 + 1e-6)

    @every_model
    def test_constant_column(self, cls):
        rows = np.column_stack([X, np.full(150, 3.0)])
        model = make(cls).fit(rows, target_of(cls))
        told = answers(model, rows)
        assert not np.isnan(told).any()
        assert np.isfinite(model.history_["loss"]).all()


@every_model
@pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
def test_states_that_do_not_fit_in_memory_are_computed_anew(cls, monkeypatch):
    """Also where those of the validation rows alone would fit."""
    settings = {"gamma": 0.5, "early_stopping": True, "validation_fraction": 0.2}
    known = make(cls, **settings).fit(X, target_of(cls))
    monkeypatch.setattr("rhokit.nn.descent._MOST_CACHED_BYTES", 60 * 32 * 8)
    model = make(cls, **settings).fit(X, target_of(cls))
    assert_allclose(answers(model), answers(known), rtol=1e-6, atol=1e-8)
