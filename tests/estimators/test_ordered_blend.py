"""Ordered labels in a blend: whether one is taken, and what it answers."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDClassifier, QMOrdinalClassifier

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(300, 4))
NEW = RNG.uniform(-2, 2, size=(100, 4))
NOISE = 0.2 * RNG.normal(size=300)


def grades_of(rows, noise=0.0):
    """Steps in two columns, and a slope in one; the fourth says nothing."""
    steps = (rows[:, 0] > 0.3) + (rows[:, 1] > -0.5) * (rows[:, 0] < 1)
    return np.digitize(steps + 0.5 * rows[:, 2] + noise, [0, 1, 2])


Y = grades_of(X, NOISE)
SMALL = {"n_components": 24, "random_state": 0}


@cache
def fitted(**settings):
    return QMOrdinalClassifier(**SMALL | settings).fit(X, Y)


def blend(**settings):
    return fitted(feature_map="blend", **settings)


def error(model):
    return np.abs(model.predict(NEW) - grades_of(NEW)).mean()


class TestChoice:
    def test_where_it_predicts_better(self):
        model = fitted()
        assert model.feature_map_.name == "blend"
        assert error(model) < 0.2

    def test_clusters(self):
        """Ten clusters in no order are told apart, whatever is taken."""
        centres = RNG.normal(size=(10, 3))
        rows = centres[np.arange(200) % 10] + 0.02 * RNG.normal(size=(200, 3))
        target = np.arange(200) % 10 % 5
        model = QMOrdinalClassifier(**SMALL).fit(rows, target)
        assert np.abs(model.predict(rows) - target).mean() < 0.1

    @pytest.mark.parametrize(("seed", "gains"), [(0, False), (5, True)])
    def test_for_more_than_a_standard_error(self, seed, gains):
        """Of one set the gain is half its standard error: chance may have made it."""
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-2, 2, size=(90, 3))
        noise = 0.4 * rng.normal(size=90)
        target = np.digitize(rows[:, 0] + rows[:, 1] / 2 + noise, [-1, 0, 1])
        model = QMOrdinalClassifier(**SMALL).fit(rows, target)
        assert (model.feature_map_.name == "blend") is gains

    @pytest.mark.parametrize(
        "settings",
        [
            {"gamma": 0.5},
            {"beta": 8.0},
            {"rank": 5},
            {"joint_rank": 8},
            {"scale": "std"},
            {"missing": "integrate"},
        ],
        ids=str,
    )
    def test_not_where_more_is_asked_for(self, settings):
        assert fitted(**settings).feature_map_.name == "landmarks"

    def test_not_of_few_rows_or_one_column(self):
        few = QMOrdinalClassifier(**SMALL).fit(X[:60], Y[:60])
        one = QMOrdinalClassifier(**SMALL).fit(X[:, :1], Y)
        assert {few.feature_map_.name, one.feature_map_.name} == {"landmarks"}

    @pytest.mark.parametrize(
        "settings", [{"beta": 8.0}, {"rank": 5}, {"joint_rank": 8}]
    )
    def test_refused_where_it_has_no_answers(self, settings):
        model = QMOrdinalClassifier(**SMALL, feature_map="blend", **settings)
        with pytest.raises(ValueError, match="must not be 'blend'"):
            model.fit(X, Y)


class TestAnswers:
    def test_probabilities_are_those_of_classes(self):
        classes = DMKDClassifier(**SMALL, feature_map="blend").fit(X, Y)
        wanted = classes.predict_proba(NEW)
        assert_allclose(blend().predict_proba(NEW), wanted, rtol=1e-9, atol=1e-12)
        states = blend().predict_state(NEW)
        assert_allclose(np.diagonal(states, axis1=1, axis2=2), wanted, atol=1e-12)

    def test_labels_do_not_overlap(self):
        assert blend().beta_ == np.inf
        assert_array_equal(blend().output_states_, np.eye(4))

    @pytest.mark.parametrize("decision", ["mean", "median", "mode"])
    def test_decisions(self, decision):
        model = blend(decision=decision)
        found = model.predict_proba(NEW)
        wanted = {
            "mean": np.rint(found @ np.arange(4)),
            "median": (found.cumsum(axis=1) < 0.5).sum(axis=1),
            "mode": found.argmax(axis=1),
        }
        assert model.decision_ == decision
        assert_array_equal(model.predict(NEW), wanted[decision])

    def test_decision_is_the_best_for_rows_left_out(self):
        model = blend()
        classes = DMKDClassifier(**SMALL, feature_map="blend").fit(X, Y).model_
        sample = model.sample_
        logs = classes.readout.posterior(classes, classes.log_left_out(sample))
        found = np.exp(logs)
        ways = {
            "mean": np.rint(found @ np.arange(4)),
            "median": (found.cumsum(axis=1) < 0.5).sum(axis=1),
            "mode": found.argmax(axis=1),
        }
        missed = {
            name: np.abs(way - sample.target).mean() for name, way in ways.items()
        }
        assert missed[model.decision_] == min(missed.values())

    def test_decision_follows_what_is_learned(self):
        parts = [blend().blank().partial_fit(X[i::2], Y[i::2]) for i in (0, 1)]
        both = parts[0].merge(parts[1])
        assert both.decision_ == blend().decision_
        assert_array_equal(both.predict(NEW), blend().predict(NEW))

    def test_files(self, tmp_path):
        for model in (blend(), blend(decision="median"), blend().compact()):
            rhokit.save(model, tmp_path / "grades.rho")
            again = rhokit.load(tmp_path / "grades.rho")
            assert again.decision_ == model.decision_
            assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
