"""QMClassifier and QMOrdinalClassifier against the joint state written out."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDClassifier,
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from tests.reference.outcome_oracles import (
    dmkdc_posterior,
    left_out_states,
    qmc_posterior,
    qmc_states,
    read_levels,
    softmax_outputs,
)

GRADES = np.array(["1 poor", "2 fair", "3 good", "4 best"])
QUERIES = np.random.default_rng(9).normal(size=(25, 2))
FAR = np.outer(10.0 ** np.arange(1, 7), [1.0, -2.0])


def graded(n, seed=0):
    """Rows of two columns, whose sum decides a grade from 0 to 3."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    grades = np.digitize(rows.sum(axis=1) + 0.3 * rng.normal(size=n), [-1, 0, 1])
    grades[:4] = [0, 1, 2, 3]
    return rows, grades


def quick(model, **parameters):
    """A model with the paper's map that is quick to fit."""
    shared = {
        "gamma": 0.7,
        "scale": None,
        "feature_map": "fourier",
        "n_components": 12,
        "random_state": 0,
    }
    return model(**{**shared, **parameters})


def states_of(model, rows):
    """States of rows in the user's units."""
    return model.feature_map_.transform(model.scaling_.apply(rows))


@pytest.fixture
def rows():
    return graded(60)[0]


@pytest.fixture
def grades():
    return graded(60)[1]


MAPS = [
    "fourier",
    "landmarks",
    FourierFeatures(n_components=8, form="complex"),
    LandmarkFeatures(n_components=10),
    QuadratureFeatures(tol=0.1),
]
FEW = QUERIES[:6]  # for products that are written out
# Each output map with the states that it gives to the four grades.
LEVELS = np.arange(4) / 3
OUTPUTS = {
    "onehot": ("onehot", np.eye(4)),
    "softmax": ("softmax", softmax_outputs(LEVELS, 4, 2 * 3**2)),
    "softmax map": (
        SoftmaxFeatures(n_components=5, beta=3.0),
        softmax_outputs(LEVELS, 5, 3.0),
    ),
    "softmax default": (
        SoftmaxFeatures(n_components=4),
        softmax_outputs(LEVELS, 4, 2 * 3**2),
    ),
    "onehot map": (OneHotFeatures(), np.eye(4)),
}


class TestDefinition:
    @pytest.mark.parametrize("outputs", OUTPUTS)
    @pytest.mark.parametrize("feature_map", MAPS, ids=repr)
    def test_state_is_that_of_the_kronecker_product(
        self, rows, grades, feature_map, outputs
    ):
        output_map, label_states = OUTPUTS[outputs]
        model = quick(QMClassifier, feature_map=feature_map, output_map=output_map)
        model.fit(rows, grades)
        inputs, queries = states_of(model, rows), states_of(model, FEW)
        expected = qmc_states(inputs, label_states[grades], queries)
        actual = model.predict_state(FEW)
        assert_allclose(model.output_states_, label_states, atol=1e-12)
        assert_allclose(actual, expected, atol=1e-10)
        assert_allclose(np.trace(actual, axis1=1, axis2=2), 1, rtol=1e-12)
        assert_array_equal(actual, actual.transpose(0, 2, 1))
        assert np.linalg.eigvalsh(actual).min() > -1e-12
        chances = qmc_posterior(inputs, label_states[grades], queries, label_states)
        assert_allclose(model.predict_proba(FEW), chances, atol=1e-10)
        assert_array_equal(model.predict(FEW), chances.argmax(axis=1))

    @pytest.mark.parametrize("feature_map", MAPS, ids=repr)
    def test_onehot_outputs_are_a_matrix_per_class(self, rows, grades, feature_map):
        joint = quick(QMClassifier, feature_map=feature_map).fit(rows, grades)
        apart = quick(DMKDClassifier, feature_map=feature_map).fit(rows, grades)
        chances = apart.predict_proba(QUERIES)
        assert joint.fingerprint() == apart.fingerprint()
        assert_allclose(joint.predict_proba(QUERIES), chances, rtol=0, atol=1e-10)
        assert_array_equal(joint.predict(QUERIES), apart.predict(QUERIES))
        diagonal = np.diagonal(joint.predict_state(QUERIES), axis1=1, axis2=2)
        assert_allclose(diagonal, chances, atol=1e-10)

    def test_rank_truncates_each_class(self, rows, grades):
        model = quick(QMClassifier, rank=4, output_map="softmax").fit(rows, grades)
        mixture = dmkdc_posterior(
            states_of(model, rows), grades, states_of(model, QUERIES), rank=4
        )
        outputs = softmax_outputs(LEVELS, 4, 2 * 3**2)
        expected = np.einsum("nk,ka,kb->nab", mixture, outputs, outputs)
        assert_allclose(model.predict_state(QUERIES), expected, atol=1e-10)

    @pytest.mark.parametrize("outputs", OUTPUTS)
    @pytest.mark.parametrize("joint_rank", [1, 6, 20])
    def test_joint_rank_truncates_the_kronecker_product(
        self, rows, grades, joint_rank, outputs
    ):
        output_map, label_states = OUTPUTS[outputs]
        model = quick(QMClassifier, joint_rank=joint_rank, output_map=output_map)
        model.fit(rows, grades)
        inputs, queries = states_of(model, rows), states_of(model, FEW)
        expected = qmc_states(inputs, label_states[grades], queries, rank=joint_rank)
        actual = model.predict_state(FEW)
        assert_allclose(actual, expected, atol=1e-8)
        assert_allclose(np.trace(actual, axis1=1, axis2=2), 1, rtol=1e-12)
        assert np.linalg.eigvalsh(actual).min() > -1e-12
        chances = qmc_posterior(
            inputs, label_states[grades], queries, label_states, rank=joint_rank
        )
        assert_allclose(model.predict_proba(FEW), chances, atol=1e-8)

    @pytest.mark.parametrize("feature_map", MAPS, ids=repr)
    def test_joint_rank_of_every_map(self, rows, grades, feature_map):
        """Label states are real, so only the real part of ρ_Y can be measured."""
        model = quick(
            QMClassifier, feature_map=feature_map, joint_rank=8, output_map="softmax"
        ).fit(rows, grades)
        outputs = softmax_outputs(LEVELS, 4, 2 * 3**2)
        expected = qmc_states(
            states_of(model, rows), outputs[grades], states_of(model, FEW), rank=8
        )
        assert_allclose(model.predict_state(FEW), expected.real, atol=1e-8)

    @pytest.mark.parametrize("joint_rank", [46, 47, 48, 1000])
    def test_a_joint_rank_that_keeps_everything(self, rows, grades, joint_rank):
        whole = quick(QMClassifier, output_map="softmax").fit(rows, grades)
        model = clone(whole).set_params(joint_rank=joint_rank).fit(rows, grades)
        assert_allclose(
            model.predict_state(QUERIES), whole.predict_state(QUERIES), atol=1e-4
        )

    def test_joint_rank_beyond_the_number_of_rows(self):
        rows, grades = graded(6)
        whole = quick(QMClassifier, n_components=24).fit(rows, grades)
        model = clone(whole).set_params(joint_rank=40).fit(rows, grades)
        assert_allclose(
            model.predict_state(QUERIES), whole.predict_state(QUERIES), atol=1e-8
        )

    def test_joint_rank_where_eigenvalues_are_equal(self, rows):
        """Two labels with the same rows: every eigenvalue comes twice."""
        twice, labels = np.repeat(rows[:5], 2, axis=0), np.tile([0, 1], 5)
        model = quick(QMClassifier, n_components=24, joint_rank=10).fit(twice, labels)
        assert_allclose(
            model.predict_state(QUERIES), np.tile(np.eye(2) / 2, (25, 1, 1)), atol=1e-8
        )

    def test_joint_rank_in_single_precision(self, rows, grades):
        parameters = {"joint_rank": 8, "output_map": "softmax"}
        single = quick(QMClassifier, dtype="float32", **parameters).fit(rows, grades)
        double = quick(QMClassifier, dtype="float64", **parameters).fit(rows, grades)
        assert_allclose(
            single.predict_state(QUERIES), double.predict_state(QUERIES), atol=1e-4
        )

    def test_weights_are_those_of_the_definition(self, rows, grades):
        weights = np.random.default_rng(3).random(60)
        outputs = softmax_outputs(LEVELS, 4, 2 * 3**2)
        for rank in (None, 8):
            model = quick(QMClassifier, output_map="softmax", joint_rank=rank)
            model.fit(rows, grades, sample_weight=weights)
            expected = qmc_states(
                states_of(model, rows),
                outputs[grades],
                states_of(model, QUERIES),
                weights,
                rank,
            )
            assert_allclose(model.predict_state(QUERIES), expected, atol=1e-8)

    def test_leaving_a_row_out_is_forgetting_it(self):
        rows, grades = graded(12)
        model = quick(QMClassifier, n_components=8, output_map="softmax")
        model.fit(rows, grades)
        outputs = softmax_outputs(LEVELS, 4, 2 * 3**2)
        expected = left_out_states(states_of(model, rows), outputs[grades])
        for i, rho in enumerate(expected):
            without = model.blank().merge(model).unlearn(rows[[i]], grades[[i]])
            assert_allclose(without.predict_state(rows[[i]])[0], rho, atol=1e-10)

    def test_parameters_of_prediction_may_change_after_fit(self, rows, grades):
        model = quick(QMClassifier).fit(rows, grades)
        for parameters in (
            {"output_map": "softmax"},
            {"joint_rank": 5},
            {"joint_rank": 9},
            {"output_map": "onehot"},
        ):
            model.set_params(**parameters)
            fresh = clone(model).fit(rows, grades)
            assert_allclose(
                model.predict_state(QUERIES), fresh.predict_state(QUERIES), atol=1e-8
            )

    def test_an_output_map_that_draws_at_random_draws_once(self, rows, grades):
        model = quick(QMClassifier, output_map=FourierFeatures(n_components=8))
        model.fit(rows, grades)
        assert_array_equal(model.output_states_, model.output_states_)
        assert_array_equal(model.predict_state(QUERIES), model.predict_state(QUERIES))

    def test_label_states_must_be_real(self, rows, grades):
        output_map = FourierFeatures(n_components=8, form="complex", random_state=0)
        with pytest.raises(ValueError, match="output_map"):
            quick(QMClassifier, output_map=output_map).fit(rows, grades).predict(rows)


class TestClassifier:
    """What holds for both models."""

    MODELS: ClassVar = {
        "onehot": quick(QMClassifier),
        "softmax": quick(QMClassifier, output_map="softmax"),
        "landmarks": quick(QMClassifier, feature_map="landmarks"),
        "joint": quick(QMClassifier, output_map="softmax", joint_rank=8),
        "ordinal": quick(QMOrdinalClassifier),
        "ordinal joint": quick(QMOrdinalClassifier, joint_rank=8, beta=5.0),
    }

    @pytest.mark.parametrize("name", MODELS)
    def test_labels_that_come_later(self, name):
        rows, grades = graded(80)
        late = grades == 1  # a place in the middle
        plan = clone(self.MODELS[name]).prepare(rows[~late], grades[~late])
        assert_array_equal(plan.classes_, [0, 2, 3])
        early = plan.blank().partial_fit(rows[~late], grades[~late])
        merged = plan.blank().partial_fit(rows[late], grades[late]).merge(early)
        streamed = early.partial_fit(rows[late], grades[late])
        whole = plan.blank().partial_fit(rows, grades)
        for model in (streamed, merged):
            assert_array_equal(model.classes_, [0, 1, 2, 3])
            assert_allclose(
                model.predict_state(QUERIES), whole.predict_state(QUERIES), atol=1e-8
            )

    @pytest.mark.parametrize("gamma", ["loo", 0.7])
    @pytest.mark.parametrize("name", MODELS)
    def test_weight_k_is_k_copies_in_the_whole_fit(self, name, gamma, rows, grades):
        rng = np.random.default_rng(0)
        counts = rng.integers(0, 4, 60)
        counts[:4] = 1
        copies = rng.permutation(np.repeat(np.arange(60), counts))
        model = clone(self.MODELS[name]).set_params(gamma=gamma)
        weighted = clone(model).fit(rows, grades, sample_weight=counts)
        copied = clone(model).fit(rows[copies], grades[copies])
        assert_allclose(weighted.gamma_, copied.gamma_, rtol=1e-6)
        assert_allclose(
            weighted.predict_proba(QUERIES), copied.predict_proba(QUERIES), atol=1e-5
        )

    @pytest.mark.parametrize("name", MODELS)
    def test_probabilities_of_any_rows(self, name, rows, grades):
        model = clone(self.MODELS[name]).fit(rows, grades)
        for queries in (QUERIES, FAR):
            chances = model.predict_proba(queries)
            assert np.isfinite(chances).all()
            assert (chances >= 0).all()
            assert_allclose(chances.sum(axis=1), 1, rtol=1e-10)
            assert_allclose(np.exp(model.predict_log_proba(queries)), chances)
            assert model.decision_function(queries).shape == (len(queries), 4)
            assert np.isfinite(model.predict_state(queries)).all()

    @pytest.mark.parametrize("joint_rank", [None, 8])
    @pytest.mark.parametrize("model", [QMClassifier, QMOrdinalClassifier])
    def test_outside_of_a_grid_the_priors_remain(self, model, joint_rank, rows, grades):
        grid = QuadratureFeatures(tol=0.1)
        fitted = quick(model, feature_map=grid, joint_rank=joint_rank)
        if model is QMClassifier:
            fitted.set_params(output_map="softmax")
        fitted.fit(rows, grades)
        outputs = fitted.output_states_
        shares = np.bincount(grades) / 60
        expected = np.einsum("k,ka,kb->ab", shares, outputs, outputs)
        assert_allclose(fitted.predict_state([[1e3, 1e3]])[0], expected, atol=1e-12)

    @pytest.mark.parametrize("name", MODELS)
    def test_binary_decisions_are_log_odds(self, name, rows, grades):
        model = clone(self.MODELS[name]).fit(rows, grades > 1)
        odds = model.decision_function(QUERIES)
        chances = model.predict_proba(QUERIES)
        assert odds.shape == (25,)
        assert_allclose(odds, np.log(chances[:, 1] / chances[:, 0]), rtol=1e-7)

    @pytest.mark.parametrize("model", [QMClassifier, QMOrdinalClassifier])
    def test_two_ranks_exclude_each_other(self, rows, grades, model):
        with pytest.raises(ValueError, match=r"'rank' and 'joint_rank'.*exclude each"):
            quick(model, rank=3, joint_rank=3).fit(rows, grades).predict(rows)

    @pytest.mark.parametrize(
        ("model", "parameters"),
        [
            (QMClassifier, {"output_map": "fourier"}),
            (QMClassifier, {"joint_rank": 0}),
            (QMClassifier, {"joint_rank": 0.5}),
            (QMOrdinalClassifier, {"beta": 0}),
            (QMOrdinalClassifier, {"beta": "sharp"}),
            (QMOrdinalClassifier, {"decision": "best"}),
        ],
        ids=str,
    )
    def test_bad_parameters_are_named(self, rows, grades, model, parameters):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"'{name}' parameter of {model.__name__}"):
            quick(model, **parameters).fit(rows, grades)

    @pytest.mark.parametrize("name", MODELS)
    def test_works_with_scikit_learn(self, name, rows, grades):
        model, names = clone(self.MODELS[name]), GRADES[grades]
        frame = pd.DataFrame(rows, columns=["height", "weight"])
        scaler = StandardScaler().set_output(transform="pandas")
        pipeline = make_pipeline(scaler, model).fit(frame, names)
        assert pipeline[-1].feature_names_in_.tolist() == ["height", "weight"]
        assert set(pipeline.predict(frame)) <= set(GRADES)
        scores = cross_validate(model, rows, names, cv=2, scoring="neg_log_loss")
        assert np.isfinite(scores["test_score"]).all()
        search = GridSearchCV(model, {"gamma": [1e-4, 0.5]}, cv=2).fit(rows, names)
        assert search.best_params_["gamma"] == 0.5
        calibrated = CalibratedClassifierCV(model, cv=2).fit(rows, names)
        assert_allclose(calibrated.predict_proba(QUERIES).sum(axis=1), 1)

    @pytest.mark.parametrize("model", [QMClassifier, QMOrdinalClassifier])
    def test_not_fitted(self, model, rows, grades):
        for call in (
            lambda: model().predict(rows),
            lambda: model().predict_state(rows),
            lambda: quick(model).prepare(rows, grades).predict_state(rows),
            lambda: quick(model).fit(rows, grades).unlearn(rows, grades).predict(rows),
        ):
            with pytest.raises(NotFittedError):
                call()


class TestOrdinal:
    @pytest.mark.parametrize("joint_rank", [None, 8])
    @pytest.mark.parametrize("beta", [0.5, 20.0])
    def test_probabilities_are_the_diagonal_of_the_state(
        self, rows, grades, beta, joint_rank
    ):
        model = quick(QMOrdinalClassifier, beta=beta, joint_rank=joint_rank)
        model.fit(rows, grades)
        outputs = softmax_outputs(LEVELS, 4, beta)
        states = qmc_states(
            states_of(model, rows),
            outputs[grades],
            states_of(model, QUERIES),
            rank=joint_rank,
        )
        chances, _, _ = read_levels(states, 0, 3)
        assert model.beta_ == beta
        assert_allclose(model.output_states_, outputs, atol=1e-12)
        assert_allclose(model.predict_state(QUERIES), states, atol=1e-8)
        assert_allclose(model.predict_proba(QUERIES), chances, atol=1e-8)
        assert_allclose(
            model.predict_proba(QUERIES),
            np.diagonal(model.predict_state(QUERIES), axis1=1, axis2=2),
            atol=1e-12,
        )

    DECISIONS: ClassVar = {
        "mean": lambda p: round(p @ np.arange(4)),
        "median": lambda p: np.flatnonzero(np.cumsum(p) >= 0.5)[0],
        "mode": np.argmax,
    }

    @pytest.mark.parametrize("decision", DECISIONS)
    def test_decisions(self, rows, grades, decision):
        model = quick(QMOrdinalClassifier, decision=decision).fit(rows, grades)
        decide = self.DECISIONS[decision]
        expected = [decide(p) for p in model.predict_proba(QUERIES)]
        assert model.decision_ == decision
        assert_array_equal(model.predict(QUERIES), expected)

    def test_median_has_the_least_expected_absolute_error(self, rows, grades):
        model = quick(QMOrdinalClassifier, decision="median").fit(rows, grades)
        distance = np.abs(np.arange(4)[:, None] - np.arange(4))
        errors = model.predict_proba(QUERIES) @ distance
        chosen = errors[np.arange(25), model.predict(QUERIES)]
        assert_allclose(chosen, errors.min(axis=1), atol=1e-10)

    def test_order_is_that_of_sorted_labels(self, rows, grades):
        """Numbers, names, and numbers with gaps: only their ranks count."""
        plain = quick(QMOrdinalClassifier).fit(rows, grades)
        for names in (GRADES, np.array([-7, 0, 1, 100]), np.array([0.0, 1, 2, 9])):
            other = quick(QMOrdinalClassifier).fit(rows, names[grades])
            assert_array_equal(other.classes_, names)
            assert (other.beta_, other.decision_) == (plain.beta_, plain.decision_)
            assert_allclose(
                other.predict_proba(QUERIES), plain.predict_proba(QUERIES), atol=1e-12
            )
            assert_array_equal(other.predict(QUERIES), names[plain.predict(QUERIES)])

    def test_reversed_order_is_the_mirror_image(self, rows, grades):
        plain = quick(QMOrdinalClassifier).fit(rows, grades)
        mirrored = quick(QMOrdinalClassifier).fit(rows, 3 - grades)
        assert_allclose(
            mirrored.predict_proba(QUERIES),
            plain.predict_proba(QUERIES)[:, ::-1],
            atol=1e-10,
        )

    def test_choices_are_the_best_of_rows_left_out(self, rows, grades):
        """β by the ranked probability score, the decision by the absolute error."""
        model = quick(QMOrdinalClassifier).fit(rows, grades)
        states = states_of(model, rows)
        steps = np.arange(4) >= grades[:, None]

        def left_out(beta):
            outputs = softmax_outputs(LEVELS, 4, beta)
            return read_levels(left_out_states(states, outputs[grades]), 0, 3)[0]

        def ranked_score(beta):
            return ((left_out(beta).cumsum(axis=1) - steps) ** 2).sum(axis=1).mean()

        betas = [9 * beta for beta in (0.5, 1.0, 2.0, 4.0, 8.0, 32.0)]
        assert_allclose(model.beta_, min(betas, key=ranked_score))
        chances = left_out(model.beta_)
        errors = {
            name: np.abs([decide(p) for p in chances] - grades).mean()
            for name, decide in self.DECISIONS.items()
        }
        assert errors[model.decision_] == min(errors.values())

    def test_choices_may_be_given_apart(self, rows, grades):
        sharp = quick(QMOrdinalClassifier, beta=7).fit(rows, grades)
        assert sharp.beta_ == 7.0
        assert sharp.decision_ in self.DECISIONS
        median = quick(QMOrdinalClassifier, decision="median").fit(rows, grades)
        assert median.decision_ == "median"
        assert median.beta_ > 0

    def test_sharp_outputs_are_orthogonal(self, rows, grades):
        sharp = quick(QMOrdinalClassifier, beta=1e6).fit(rows, grades)
        onehot = quick(QMClassifier).fit(rows, grades)
        assert_allclose(
            sharp.predict_proba(QUERIES), onehot.predict_proba(QUERIES), atol=1e-10
        )

    @pytest.mark.parametrize("feature_map", ["auto", "landmarks", "fourier"])
    def test_default_choices_come_close(self, feature_map):
        model = QMOrdinalClassifier(
            feature_map=feature_map, n_components=64, random_state=0
        ).fit(*graded(200))
        rows, grades = graded(200, seed=1)
        assert np.abs(model.predict(rows) - grades).mean() < 0.35

    def test_score_is_less_the_mean_absolute_error_in_ranks(self, rows, grades):
        names = np.array([0, 10, 11, 50])
        model = quick(QMOrdinalClassifier).fit(rows, names[grades])
        ranks = np.searchsorted(names, model.predict(rows))
        weights = np.random.default_rng(0).random(60)
        errors = np.abs(ranks - grades)
        assert errors.sum() > 0
        assert_allclose(model.score(rows, names[grades]), -errors.mean())
        assert_allclose(
            model.score(rows, names[grades], sample_weight=weights),
            -np.average(errors, weights=weights),
        )
