"""DMKDClassifierSGD and QMClassifierSGD on real data, and what both refuse."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rhokit import DMKDClassifier, DMKDClassifierSGD, QMClassifier, QMClassifierSGD
from rhokit.core import cross_entropy
from rhokit.datasets import spirals
from rhokit.nn import ClassifierHead, FourierLayer, LeNet, Recipe, TrainingRows, train

DIGITS = load_digits()
TRAIN, TEST, LABELS, TRUTH = train_test_split(
    DIGITS.data,
    DIGITS.target,
    test_size=1 / 3,
    random_state=0,
    stratify=DIGITS.target,
)
MODELS = [DMKDClassifierSGD, QMClassifierSGD]
both = pytest.mark.parametrize("cls", MODELS, ids=lambda each: each.__name__)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 2))
Y = np.where(X[:, 0] > 0.5, "right", np.where(X[:, 1] > 0, "top", "bottom"))
SMALL = {"n_components": 32, "rank": 6, "max_epochs": 5, "random_state": 0}


def log_likelihood(model, rows=TEST, labels=TRUTH):
    codes = np.searchsorted(model.classes_, labels)
    return model.predict_log_proba(rows)[np.arange(len(rows)), codes].mean()


def from_module(model, rows):
    scaled = torch.from_numpy(model.estimator_.scaling_.apply(rows))
    with torch.no_grad():
        return model.to_module()(scaled).exp().numpy()


@pytest.mark.parametrize(
    "n_components", [160, pytest.param(1024, marks=pytest.mark.slow)]
)
@both
def test_digits(cls, n_components):
    """Better than the one-pass model of the same map and rank."""
    model = cls(n_components=n_components, rank=32, random_state=0).fit(TRAIN, LABELS)
    start = model.estimator_.blank().partial_fit(TRAIN, LABELS)
    start.set_params(rank=model.rank)
    assert model.score(TEST, TRUTH) >= 0.97
    assert model.score(TEST, TRUTH) > start.score(TEST, TRUTH)
    assert log_likelihood(model) > log_likelihood(start) + 0.3
    assert log_likelihood(model, TRAIN, LABELS) > log_likelihood(start, TRAIN, LABELS)


@both
def test_sharp_edges(cls):
    rows, arms = spirals(600, random_state=0)
    model = cls(n_components=256, random_state=0).fit(rows[:400], arms[:400])
    assert model.score(rows[400:], arms[400:]) >= 0.99


def test_encoder_and_head_trained_together():
    def images(rows):
        return torch.tensor(rows.reshape(-1, 1, 8, 8) / 16, dtype=torch.float32)

    torch.manual_seed(0)
    features = FourierLayer(84, 128, gamma=0.3, trainable=True, random_state=0)
    network = torch.nn.Sequential(
        LeNet(8), ClassifierHead(features, 10, random_state=0)
    )
    before = [weight.detach().clone() for weight in network.parameters()]
    history = train(
        network,
        cross_entropy,
        TrainingRows((images(TRAIN),), torch.from_numpy(LABELS)),
        Recipe(1e-2, 10, 64),
    )
    with torch.no_grad():
        found = network(images(TEST)).argmax(dim=1).numpy()
    assert (found == TRUTH).mean() >= 0.95
    assert history["loss"][-1] < history["loss"][0] / 5
    for old, new in zip(before, network.parameters(), strict=True):
        assert (old != new).any()


@both
class TestAnswers:
    def test_fit_together(self, cls):
        model = cls(**SMALL).fit(X, Y)
        probabilities = model.predict_proba(X)
        assert model.classes_.tolist() == ["bottom", "right", "top"]
        assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
        assert_allclose(np.log(probabilities), model.predict_log_proba(X))
        assert_array_equal(
            model.predict(X), model.classes_[probabilities.argmax(axis=1)]
        )
        assert_array_equal(model.decision_function(X), model.predict_log_proba(X))
        assert model.score(X, Y) == (model.predict(X) == Y).mean()

    def test_two_classes_have_log_odds(self, cls):
        model = cls(**SMALL).fit(X, Y == "top")
        logs = model.predict_log_proba(X)
        assert_allclose(model.decision_function(X), logs[:, 1] - logs[:, 0])

    @pytest.mark.parametrize("labels", [[3, 1], [1.0, -2.0], [True, False], ["b", "a"]])
    def test_any_labels(self, cls, labels):
        y = np.array(labels)[(X[:, 0] > 0).astype(int)]
        model = cls(**SMALL).fit(X, y)
        assert model.score(X, y) > 0.9

    def test_label_smoothing_keeps_away_from_certainty(self, cls):
        plain, smooth = (
            cls(**SMALL | {"max_epochs": 60}, label_smoothing=share).fit(X, Y)
            for share in (0.0, 0.3)
        )
        assert (
            smooth.predict_proba(X).max(axis=1).mean()
            < plain.predict_proba(X).max(axis=1).mean() - 0.03
        )

    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    def test_auto_gamma_is_a_sixteenth(self, cls):
        one_pass = cls.one_pass_class(n_components=32, random_state=0).fit(X, Y)
        auto = cls(**SMALL).fit(X, Y)
        chosen = cls(**SMALL, gamma="loo").fit(X, Y)
        assert_allclose(auto.estimator_.gamma_, one_pass.gamma_ / 16)
        assert_allclose(chosen.estimator_.gamma_, one_pass.gamma_)


@both
class TestRefused:
    def test_one_class(self, cls):
        with pytest.raises(ValueError, match="at least two classes, got one"):
            cls(**SMALL).fit(X, np.zeros(160))

    def test_no_labels(self, cls):
        with pytest.raises(ValueError, match="requires y"):
            cls(**SMALL).fit(X)

    def test_values_as_labels(self, cls):
        with pytest.raises(ValueError, match="continuous"):
            cls(**SMALL).fit(X, X[:, 0])

    def test_label_smoothing_of_one(self, cls):
        with pytest.raises(ValueError, match=f"'label_smoothing' .* {cls.__name__}"):
            cls(**SMALL, label_smoothing=1.0).fit(X, Y)

    def test_new_labels(self, cls):
        model = cls(**SMALL, warm_start=True).fit(X, Y)
        before = model.predict_proba(X)
        new = np.where(X[:, 0] > 1, "far", Y)
        with pytest.raises(ValueError, match=rf"{cls.__name__}.*\['far'\]"):
            model.fit(X, new)
        assert_array_equal(model.predict_proba(X), before)

    def test_new_labels_in_validation(self, cls):
        with pytest.raises(ValueError, match=r"\['nowhere'\]"):
            cls(**SMALL).fit(X, Y, validation_data=(X[:2], ["top", "nowhere"]))

    def test_new_labels_for_a_converted_model(self, cls):
        estimator = cls.one_pass_class(n_components=32).fit(X, Y)
        with pytest.raises(ValueError, match=r"\['far'\]"):
            cls.from_estimator(estimator).fit(X, np.where(X[:, 0] > 1, "far", Y))

    def test_new_labels_for_a_trained_factor(self, cls):
        model = cls(**SMALL).fit(X, Y)
        with pytest.raises(TypeError, match="only a factor"):
            model.estimator_.partial_fit(X[:2], ["far", "far"])


class TestOtherShares:
    """Rows of other shares, or without a class, when training goes on."""

    @both
    def test_module_is_the_model(self, cls):
        model = cls(**SMALL, gamma=0.5, warm_start=True).fit(X, Y)
        some = (Y == "top") | (np.arange(160) % 5 == 0)
        model.fit(X[some], Y[some])
        assert_allclose(from_module(model, X), model.predict_proba(X), atol=1e-6)
        estimator = cls.one_pass_class(gamma=0.5, n_components=32, random_state=0)
        estimator.fit(X, Y)
        model = cls.from_estimator(estimator, rank=6).fit(X[some], Y[some])
        assert_allclose(from_module(model, X), model.predict_proba(X), atol=1e-6)

    @both
    def test_class_that_no_row_has_is_not_nan(self, cls):
        model = cls(**SMALL, warm_start=True).fit(X, Y)
        some = Y != "top"
        model.fit(X[some], Y[some])
        assert model.classes_.tolist() == ["bottom", "right", "top"]
        told = model.predict_proba(X)
        assert_allclose(told.sum(axis=1), 1, rtol=1e-9)
        found = from_module(model, X)
        assert np.isfinite(found).all()
        # Of rows of the class that is gone, what is left to tell is mere rounding.
        assert_allclose(found[some], told[some], atol=3e-6)

    @both
    def test_class_of_weight_zero_is_as_if_not_there(self, cls):
        settings = SMALL | {"gamma": 0.5, "scale": None, "feature_map": "fourier"}
        seen = Y != "top"
        weighted = cls(**settings).fit(X, Y, sample_weight=seen)
        absent = cls(**settings).fit(X[seen], Y[seen])
        probabilities = weighted.predict_proba(X)
        assert_allclose(probabilities[:, 2], 0, atol=0.02)
        assert_allclose(probabilities[:, :2], absent.predict_proba(X), atol=0.1)

    @both
    def test_announced_class_without_rows(self, cls):
        estimator = cls.one_pass_class(n_components=32, random_state=0)
        labels = ["bottom", "right", "top", "unseen"]
        estimator.partial_fit(X, Y, classes=labels)
        model = cls.from_estimator(estimator)
        assert_allclose(from_module(model, X), model.predict_proba(X), atol=1e-6)
        assert_array_equal(model.predict_proba(X)[:, 3], 0)


class TestPriors:
    def test_given_ones_are_kept(self):
        counts = np.unique(Y, return_counts=True)[1] / 160
        for priors, expected in (
            ("uniform", np.full(3, 1 / 3)),
            ([1, 2, 5], np.array([1, 2, 5]) / 8),
            ("empirical", counts),
        ):
            model = DMKDClassifierSGD(**SMALL, priors=priors).fit(X, Y)
            assert_allclose(model.module_.log_priors.exp(), expected, rtol=1e-12)
            assert_allclose(from_module(model, X), model.predict_proba(X), atol=1e-6)

    def test_bad_ones_are_refused(self):
        with pytest.raises(ValueError, match="'priors' parameter"):
            DMKDClassifierSGD(**SMALL, priors=[1.0, 2.0]).fit(X, Y)


class TestOutputs:
    @pytest.mark.parametrize("output_map", ["onehot", "softmax"])
    def test_states_of_labels(self, output_map):
        model = QMClassifierSGD(**SMALL, output_map=output_map).fit(X, Y)
        states = model.predict_state(X)
        assert states.shape == (160, 3, 3)
        assert_allclose(np.trace(states, axis1=1, axis2=2), 1, rtol=1e-9)
        assert np.linalg.eigvalsh(states).min() > -1e-9
        outputs = model.output_states_
        measured = np.einsum("nab,ka,kb->nk", states, outputs, outputs)
        probabilities = measured / measured.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(X), probabilities, atol=1e-9)
        assert_allclose(from_module(model, X), probabilities, atol=1e-6)

    def test_unknown_output_map(self):
        with pytest.raises(
            ValueError, match="'output_map' parameter of QMClassifierSGD"
        ):
            QMClassifierSGD(**SMALL, output_map="foo").fit(X, Y)


def testone_pass_classes():
    assert DMKDClassifierSGD.one_pass_class is DMKDClassifier
    assert QMClassifierSGD.one_pass_class is QMClassifier
