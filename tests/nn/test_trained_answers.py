"""Trained models answer whatever their one-pass form does."""

import inspect
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import rhokit
from rhokit import (
    DMKDE,
    DMKDClassifier,
    LowRankDensityMatrix,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.models import MeasuredSample
from rhokit.nn import (
    DMKDESGD,
    DMKDClassifierSGD,
    GradientEstimator,
    QMClassifierSGD,
    QMRegressorSGD,
)
from rhokit.nn.delegation import NOT_ANSWERS
from rhokit.nn.tasks import JointClassTask

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
NEW = RNG.normal(size=(60, 3))
LABELS = np.where(X[:, 0] * X[:, 1] > 0.1, "same", "other")
VALUES = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=300)
TARGETS = {
    DMKDESGD: None,
    DMKDClassifierSGD: LABELS,
    QMClassifierSGD: LABELS,
    QMRegressorSGD: VALUES,
}
SMALL = {"n_components": 32, "rank": 6, "max_epochs": 3, "random_state": 0}
SMALL |= {"feature_map": "landmarks"}
every_model = pytest.mark.parametrize("cls", TARGETS, ids=lambda each: each.__name__)


@cache
def fitted(cls):
    return cls(**SMALL).fit(X, TARGETS[cls])


def public(cls):
    """Names that rhokit's part of a one-pass class makes public."""
    ours = [each for each in cls.__mro__ if each.__module__.startswith("rhokit")]
    found = {
        name
        for each in ours
        for name, value in vars(each).items()
        if callable(value)
        or isinstance(value, property | classmethod)
        or hasattr(value, "fn")
    }
    # scikit-learn's own: what metadata a method asks for.
    requests = {name for name in found if name.endswith("_request")}
    return {name for name in found - requests if not name.startswith("_")}


@every_model
class TestNames:
    def test_all_answers_are_there(self, cls):
        one_pass = cls.one_pass_class
        wanted = public(one_pass) - NOT_ANSWERS
        assert {"score_samples", "marginal", "series", "state_"} <= wanted
        assert wanted <= set(dir(cls))
        assert wanted <= {name for name in dir(fitted(cls)) if name[0] != "_"}

    def test_what_only_sums_can_do_is_not(self, cls):
        model = fitted(cls)
        for name in ("partial_fit", "merge", "unlearn", "fade", "prepare"):
            assert name in NOT_ANSWERS
            assert not hasattr(model, name)
        assert hasattr(model.to_estimator(), "unlearn")

    def test_no_name_is_excluded_in_vain(self, cls):
        """Every name that is not delegated is one of some one-pass class."""
        known = set().union(*map(public, (DMKDE, DMKDClassifier, QMRegressor)))
        assert known >= NOT_ANSWERS

    def test_signatures_and_docstrings_are_the_one_pass_model_s(self, cls):
        own = set(vars(GradientEstimator)) | NOT_ANSWERS
        assert "predict" not in own
        for name in public(cls.one_pass_class) - own:
            found = inspect.getattr_static(cls, name)
            wanted = inspect.getattr_static(cls.one_pass_class, name)
            assert found.__doc__ == wanted.__doc__
            if not isinstance(found, property):
                left, right = (getattr(each, "fn", each) for each in (found, wanted))
                assert inspect.signature(left) == inspect.signature(right)

    def test_before_fit(self, cls):
        model = cls()
        with pytest.raises(NotFittedError, match=cls.__name__):
            model.score_samples(NEW)
        with pytest.raises(NotFittedError, match=cls.__name__):
            model.series()
        with pytest.raises(NotFittedError, match=cls.__name__):
            model.marginal(0)
        for name in ("state_", "gamma_", "plan_", "classes_", "levels_"):
            assert not hasattr(model, name)
        assert "classes_" not in vars(model)

    def test_kind(self, cls):
        model = cls()
        assert is_classifier(model) == (cls in (DMKDClassifierSGD, QMClassifierSGD))
        assert is_regressor(model) == (cls is QMRegressorSGD)
        tags = cls(missing="integrate").__sklearn_tags__().input_tags
        assert tags.allow_nan
        assert not model.__sklearn_tags__().input_tags.allow_nan

    def test_parameters_of_the_one_pass_model_are_passed_on(self, cls):
        """All of them but those that training has for itself."""
        one_pass = set(cls.one_pass_class().get_params(deep=False))
        trained = set(cls().get_params(deep=False))
        assert one_pass - trained <= {"joint_rank"}
        start = cls(missing="integrate", scale="robust", gamma=0.5).untrained()
        assert (start.missing, start.scale, start.gamma) == ("integrate", "robust", 0.5)
        assert start.batch_size is None


@every_model
class TestAnswers:
    def test_densities(self, cls):
        model = fitted(cls)
        assert_array_equal(
            model.score_samples(NEW), model.estimator_.score_samples(NEW)
        )
        assert np.isfinite(model.score_samples(NEW)).all()

    def test_marginal_is_the_integral(self, cls):
        model = fitted(cls)
        part = model.marginal([0, 2])
        assert type(part) is cls.one_pass_class
        axis = np.linspace(-300, 300, 30_001)  # learned columns may count for little
        rows = np.tile(NEW[:1], (len(axis), 1))
        rows[:, 1] = axis
        total = np.exp(model.score_samples(rows)).sum() * (axis[1] - axis[0])
        found = part.score_samples(NEW[:1][:, [0, 2]])
        assert_allclose(np.exp(found), total, rtol=1e-6)

    def test_series_of_a_marginal(self, cls):
        part = fitted(cls).marginal(1)
        series, points = part.series(), NEW[:, 1:2]
        expected = np.exp(part.score_samples(points))
        assert_allclose(series.density(points), expected, rtol=1e-6, atol=1e-9)

    def test_what_is_missing_is_integrated_over(self, cls):
        model = cls(**SMALL, missing="integrate").fit(X, TARGETS[cls])
        gaps = NEW.copy()
        gaps[::2, 1] = np.nan
        found = model.score_samples(gaps)
        part = model.marginal([0, 2]).score_samples(gaps[::2][:, [0, 2]])
        assert_allclose(found[::2], part, rtol=1e-7)
        assert_allclose(found[1::2], model.score_samples(NEW)[1::2], rtol=1e-12)
        with pytest.raises(ValueError, match="NaN"):
            fitted(cls).score_samples(gaps)

    def test_rows_with_gaps_do_not_teach(self, cls):
        gaps, target = X.copy(), TARGETS[cls]
        gaps[::5, 2] = np.nan
        whole = ~np.isnan(gaps).any(axis=1)
        model = cls(**SMALL, missing="integrate")
        with pytest.warns(UserWarning, match="60 of 300 rows lack a value"):
            model.fit(gaps, target)
        expected = cls(**SMALL, missing="integrate").fit(
            gaps[whole], None if target is None else target[whole]
        )
        assert_array_equal(model.score_samples(NEW), expected.score_samples(NEW))

    def test_gaps_take_landmarks(self, cls):
        """Which "auto" would not choose for two columns, and nothing else serves."""
        options = {**SMALL, "feature_map": "auto", "missing": "integrate"}
        model = cls(**options).fit(X[:, :2], TARGETS[cls])
        assert np.isfinite(model.score_samples([[0.0, np.nan]])).all()

    def test_state_is_what_was_learned(self, cls):
        model = fitted(cls)
        assert isinstance(model.state_, LowRankDensityMatrix)
        assert model.state_ is model.estimator_.state_
        assert model.fingerprint() == model.estimator_.fingerprint()
        assert model.fitted_model().plan is model.plan_


class TestProbabilitiesOfGaps:
    @pytest.mark.parametrize("cls", [DMKDClassifierSGD, QMClassifierSGD])
    def test_classes(self, cls):
        """The class whose rows are known by one column alone."""
        labels = np.where(X[:, 0] > 0, "high", "low")
        model = cls(**SMALL, missing="integrate").fit(X, labels)
        gaps = NEW.copy()
        gaps[:, 1:] = np.nan
        assert (
            model.predict(gaps) == np.where(NEW[:, 0] > 0, "high", "low")
        ).mean() > 0.85
        assert_allclose(model.predict_proba(gaps).sum(axis=1), 1, rtol=1e-9)

    def test_values(self):
        model = QMRegressorSGD(**SMALL, missing="integrate").fit(X, VALUES)
        gaps = np.full((1, 3), np.nan)
        low, high = model.predict_interval(gaps)[0]
        assert low < model.predict(gaps)[0] < high


class TestRejection:
    OPTIONS = SMALL | {"n_components": 48, "scale": "std"}

    def rejected(self, model, rows):
        return (model.predict(rows) == "unknown").mean()

    @pytest.mark.parametrize("early_stopping", [True, False])
    def test_share_of_new_rows(self, early_stopping):
        """About as many as were asked for, with rows held out or without."""
        rng = np.random.default_rng(3)
        rows, new = rng.normal(size=(1500, 2)), rng.normal(size=(4000, 2))
        labels = rows[:, 0] > 0
        model = DMKDClassifierSGD(
            **self.OPTIONS,
            reject=0.1,
            early_stopping=early_stopping,
            validation_fraction=0.3,
        ).fit(rows, labels)
        assert abs(self.rejected(model, new) - 0.1) < 0.03
        assert self.rejected(model, new + 20) == 1

    def test_threshold_is_a_quantile_of_rows_held_out(self):
        judges = RNG.normal(size=(200, 3)), np.tile(["same", "other"], 100)
        model = DMKDClassifierSGD(**self.OPTIONS, reject=0.25)
        model.fit(X, LABELS, validation_data=judges)
        below = model.score_samples(judges[0]) < model.threshold_
        assert abs(below.sum() - 50) <= 1
        assert any(np.isclose(model.score_samples(judges[0]), model.threshold_))

    def test_weights_of_rows_held_out_count(self):
        """Also those that outweigh all that was trained on."""
        judges = RNG.normal(size=(40, 3)), np.tile(["same", "other"], 20)
        heavy = np.where(np.arange(40) == 7, 1e6, 1.0)
        model = DMKDClassifierSGD(**self.OPTIONS, reject=0.5)
        model.fit(X, LABELS, validation_data=(*judges, heavy))
        assert_allclose(model.threshold_, model.score_samples(judges[0])[7])

    def test_same_threshold_wherever_the_model_goes(self):
        model = DMKDClassifierSGD(
            **self.OPTIONS, reject=0.2, early_stopping=True, validation_fraction=0.3
        ).fit(X, LABELS)
        wide = NEW * 2
        expected = model.predict(wide)
        assert 0.1 < self.rejected(model, wide) < 0.95
        small = model.compact()
        assert isinstance(small.sample_, MeasuredSample)
        summed = model.to_estimator()
        assert summed.reject is None
        twins = {
            "compact": small,
            "pickled": pickle.loads(pickle.dumps(model)),
            "file": rhokit.loads(rhokit.dumps(model)),
            "small file": rhokit.loads(rhokit.dumps(model, state="factor")),
        }
        for name, twin in twins.items():
            assert_array_equal(twin.predict(wide), expected, err_msg=name)
            assert_allclose(twin.threshold_, model.threshold_, rtol=1e-9, err_msg=name)
        assert_array_equal(summed.predict(wide), expected)
        summed.partial_fit(X[:5], LABELS[:5])

    def test_threshold_of_one_s_own(self):
        model = DMKDClassifierSGD(
            **self.OPTIONS, min_log_density=-4.0, reject_label="none"
        ).fit(X, LABELS)
        low = model.score_samples(NEW * 2) < -4.0
        assert_array_equal(model.predict(NEW * 2) == "none", low)
        assert model.threshold_ == -4.0

    def test_from_a_model_that_rejects(self):
        """Rejects as that one did, until it is trained and learns its own threshold."""
        settings = {"n_components": 48, "feature_map": "landmarks", "random_state": 0}
        start = DMKDClassifier(**settings, reject=0.2)
        start.fit(X, LABELS)
        model = DMKDClassifierSGD.from_estimator(start, rank=6, max_epochs=2)
        assert model.reject == 0.2
        assert_array_equal(model.predict(NEW * 2), start.predict(NEW * 2))
        assert model.to_estimator().reject == 0.2
        assert model.fit(X, LABELS).threshold_ != start.threshold_

    @pytest.mark.parametrize("name", ["reject", "min_log_density"])
    def test_bad_values_are_refused(self, name):
        message = f"'{name}' parameter of DMKDClassifierSGD"
        with pytest.raises(ValueError, match=message):
            DMKDClassifierSGD(**{name: "low"}).fit(X, LABELS)


class TestCalibration:
    def test_switched_off(self):
        options = SMALL | {"early_stopping": True, "validation_fraction": 0.3}
        plain = QMRegressorSGD(**options, calibration=None).fit(X, VALUES)
        usual = QMRegressorSGD(**options).fit(X, VALUES)
        assert plain.sample_ is None
        assert usual.sample_ is not None
        raw = usual.to_estimator().predict_interval(NEW)
        assert_allclose(plain.predict_interval(NEW), raw, rtol=1e-6)
        assert np.abs(usual.predict_interval(NEW) - raw).max() > 1e-3

    def test_of_a_file_is_not_taken_for_sums(self):
        """Rows held out are no part of the state, whoever asks."""
        options = SMALL | {"early_stopping": True, "validation_fraction": 0.3}
        model = QMRegressorSGD(**options).fit(X, VALUES)
        saved = rhokit.loads(rhokit.dumps(model))
        assert_allclose(saved.predict_interval(NEW), model.predict_interval(NEW))
        assert saved.to_estimator().sample_ is None


class TestGoingOn:
    """Training that goes on takes up how a model is to answer from now on."""

    def test_intervals_are_corrected_once_rows_are_held_out(self):
        options = SMALL | {"early_stopping": False, "warm_start": True}
        model = QMRegressorSGD(**options, bounds=(-3.0, 3.0)).fit(X[:200], VALUES[:200])
        assert model.sample_ is None
        model.fit(X[:200], VALUES[:200], validation_data=(X[200:], VALUES[200:]))
        assert len(model.sample_.rows) == 100
        raw = model.to_estimator().predict_interval(NEW)
        assert np.abs(model.predict_interval(NEW) - raw).max() > 1e-3

    def test_rejection(self):
        model = DMKDClassifierSGD(**SMALL, warm_start=True).fit(X, LABELS)
        assert model.threshold_ is None
        model.set_params(reject=0.3, reject_label="none").fit(X, LABELS)
        share = (model.predict(X) == "none").mean()
        assert abs(share - 0.3) < 0.05

    def test_states_of_labels(self):
        model = QMClassifierSGD(**SMALL, warm_start=True).fit(X, LABELS)
        model.set_params(output_map="softmax").fit(X, LABELS)
        with torch.no_grad():
            rows = torch.from_numpy(model.scaling_.apply(NEW))
            found = model.to_module()(rows).exp().numpy()
        assert_allclose(found, model.predict_proba(NEW), atol=1e-6)
        assert np.abs(model.output_states_ - np.eye(2)).max() > 0.01


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = DMKDESGD(**SMALL).fit(frame)
    assert model.marginal(["a", "c"]).feature_names_in_.tolist() == ["a", "c"]
    assert model.estimator_.feature_names_in_.tolist() == ["a", "b", "c"]


class OrdinalSGD(GradientEstimator):
    """A shell of one's own, around a model that rhokit does not train."""

    one_pass_class = QMOrdinalClassifier

    def __init__(
        self,
        *,
        gamma="auto",
        n_components=48,
        rank=6,
        feature_map="landmarks",
        missing="raise",
        train_features=False,
        init="estimate",
        learning_rate=0.01,
        max_epochs=20,
        batch_size=100,
        weight_decay=0.0,
        early_stopping=False,
        validation_fraction=0.1,
        patience=10,
        warm_start=False,
        checkpoint=None,
        device=None,
        random_state=None,
    ):
        vars(self).update({k: v for k, v in locals().items() if k != "self"})

    def training_task(self):
        return JointClassTask()

    def score(self, X, y):
        """Answered by the class itself."""
        return "mine"


class TestShellOfOneSOwn:
    RANKS = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-1, 0, 1])

    def fit(self, **parameters):
        return OrdinalSGD(random_state=0, **parameters).fit(X, self.RANKS)

    def loss(self, model):
        logs = model.predict_log_proba(X)
        return -logs[np.arange(len(X)), self.RANKS].mean()

    def test_is_trained_for_what_it_answers(self):
        start, model = self.fit(learning_rate=1e-9, max_epochs=1), self.fit()
        assert self.loss(model) < self.loss(start) - 0.05
        assert_allclose(self.loss(start), start.history_["loss"][0], rtol=1e-6)
        module, rows = model.to_module(), torch.from_numpy(model.scaling_.apply(NEW))
        with torch.no_grad():
            found = module(rows).exp().numpy()
        assert_allclose(found, model.predict_proba(NEW), atol=1e-6)

    def test_answers_as_the_one_pass_model(self):
        model = self.fit(max_epochs=2)
        assert_array_equal(model.predict(NEW), model.estimator_.predict(NEW))
        assert model.decision_ == model.estimator_.decision_
        assert model.predict_state(NEW).shape == (60, 4, 4)
        assert model.score(X, self.RANKS) == "mine"

    def test_parameters_are_checked(self):
        with pytest.raises(ValueError, match="'rank' parameter of OrdinalSGD"):
            self.fit(rank=0)
        with pytest.raises(ValueError, match="'n_components' parameter of OrdinalSGD"):
            self.fit(n_components=0)


def test_conditional_answers_follow_the_one_pass_model():
    """As scikit-learn's available_if has it."""
    model = DMKDESGD()
    assert hasattr(model, "series")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert callable(DMKDESGD.series)
    assert QMClassifierSGD.one_pass_class is QMClassifier
