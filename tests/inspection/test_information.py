"""Information of joint states, against Kronecker products and known distributions."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import mutual_info_score

from rhokit import (
    DMKDE,
    DMKDClassifier,
    FourierFeatures,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.core import entanglement_entropy, negativity, partial_trace
from rhokit.inspection import column_information, joint_information
from tests.inspection.models import case
from tests.reference import core_oracles as oracle

SMALL = {"n_components": 12, "feature_map": "landmarks", "random_state": 0}
JOINT = {
    "orthogonal": QMClassifier(**SMALL),
    "overlapping": QMClassifier(**SMALL, output_map="softmax"),
    "cut": QMClassifier(**SMALL, output_map="softmax", joint_rank=5),
    "ordered": QMOrdinalClassifier(**SMALL),
    "own priors": DMKDClassifier(**SMALL, priors=[0.5, 0.3, 0.2]),
    "complex": QMClassifier(
        gamma=0.1,
        feature_map=FourierFeatures(n_components=8, form="complex"),
        output_map="softmax",
    ),
    "complex cut": QMClassifier(
        gamma=0.1,
        feature_map=FourierFeatures(n_components=8, form="complex"),
        output_map="softmax",
        joint_rank=4,
    ),
    "grid": DMKDClassifier(gamma=2.0, feature_map="grid", scale="std"),
}


def wine(columns=slice(None)):
    X, y = load_wine(return_X_y=True)
    return X[:, columns], y


def fitted(name):
    return JOINT[name].fit(*wine(slice(0, 1) if name == "grid" else slice(None)))


def kronecker(model):
    """The joint matrix, whole and at trace one, and its dimensions."""
    states = model.density_matrix_
    rho = getattr(states, "dense", lambda: states)().normalized()
    readout = model.readout_
    priors = np.exp(readout.log_priors(model.class_count_))
    outputs = readout.output_states()
    joint = sum(
        np.kron(p * each, np.outer(psi, psi))
        for p, each, psi in zip(priors, rho, outputs, strict=True)
    )
    cut = getattr(model, "joint_rank", None)
    if cut is not None:
        values, vectors = np.linalg.eigh(joint)
        joint = (vectors[:, -cut:] * values[-cut:]) @ vectors[:, -cut:].conj().T
    return joint / np.trace(joint), (rho.shape[1], outputs.shape[1])


def entropy(rho):
    return oracle.entropy(np.linalg.eigvalsh(rho).clip(0))


@pytest.mark.parametrize("name", [*JOINT])
def test_is_that_of_the_kronecker_product(name):
    model = fitted(name)
    joint, dims = kronecker(model)
    found = joint_information(model)
    parts = [entropy(partial_trace(joint, dims, keep)) for keep in (0, 1)]
    assert_allclose(found.input_entropy, parts[0], atol=1e-7)
    assert_allclose(found.output_entropy, parts[1], atol=1e-7)
    assert_allclose(found.joint_entropy, entropy(joint), atol=1e-7)
    assert_allclose(found.mutual_information, sum(parts) - entropy(joint), atol=1e-6)
    assert_allclose(found.negativity, negativity(joint, dims), atol=1e-7)
    values, vectors = np.linalg.eigh(joint)
    seen = values > 1e-12
    expected = values[seen] @ entanglement_entropy(vectors.T[seen], dims)
    assert_allclose(found.entanglement, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["orthogonal", "own priors", "overlapping", "grid"])
def test_holevo_bound_is_the_mean_relative_entropy_to_all(name):
    model = fitted(name)
    found = joint_information(model)
    states = model.density_matrix_.normalized()
    states = states / np.trace(states, axis1=1, axis2=2)[:, None, None]
    mixture = np.tensordot(found.probabilities, states, axes=1)
    # Within what the mixture reaches, where its logarithm is finite.
    values, vectors = np.linalg.eigh(mixture)
    basis = vectors[:, values > 1e-9]
    inside = [basis.T @ each @ basis for each in (*states, mixture)]
    each = [oracle.relative_entropy(rho, inside[-1]) for rho in inside[:-1]]
    assert_allclose(found.holevo, found.probabilities @ each, atol=1e-5)
    assert 0 <= found.holevo <= found.outcome_entropy
    assert found.share == found.holevo / found.outcome_entropy


def test_of_categories_it_is_the_mutual_information_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.choice(["ant", "bee", "cow"], (500, 1))
    y = np.where(rng.random(500) < 0.3, "x", X[:, 0])
    model = QMClassifier(feature_map=OneHotFeatures()).fit(X, y)
    expected = mutual_info_score(X[:, 0], y)
    found = joint_information(model)
    assert_allclose(found.mutual_information, expected, atol=1e-10)
    assert_allclose(found.holevo, expected, atol=1e-10)


def test_summed_rows_are_never_entangled_and_truncated_ones_may_be():
    assert joint_information(fitted("overlapping")).negativity == 0
    assert joint_information(fitted("cut")).negativity > 1e-3


def test_levels_of_values_and_several_targets():
    found = joint_information(case("levels").model)
    assert len(found.outcomes) == len(found.probabilities) == 32
    assert 0 < found.holevo < found.outcome_entropy
    X, y = load_diabetes(return_X_y=True)
    model = QMRegressor(**SMALL).fit(X, np.column_stack([y, X[:, 2]]))
    pair = [joint_information(model, target=t) for t in (0, 1)]
    assert pair[1].outcomes.max() < 1 < pair[0].outcomes.max()
    assert pair[1].holevo > pair[0].holevo  # the second one is a column of X
    with pytest.raises(ValueError, match="target must be from 0 to 1, got 2"):
        joint_information(model, target=2)


def test_trained_models():
    found = joint_information(case("trained joint classes").model)
    assert 0 < found.holevo <= found.outcome_entropy
    assert found.outcomes.tolist() == ["class_0", "class_1", "class_2"]


def test_classes_without_rows_are_left_out():
    X, y = wine()
    model = DMKDClassifier(**SMALL)
    model.partial_fit(X, y, classes=[0, 1, 2, 9])
    found = joint_information(model)
    assert np.isnan(found.relative_entropies[3]).all()
    assert np.isfinite(np.diag(found.relative_entropies)[:3]).all()
    expected = joint_information(DMKDClassifier(**SMALL).fit(X, y)).holevo
    assert_allclose(found.holevo, expected)


def test_refusals():
    with pytest.raises(TypeError, match="models with a target"):
        joint_information(case("landmarks").model)
    with pytest.raises(TypeError, match="a model with a density matrix"):
        joint_information(case("mosaic").model)


def test_large_joint_states(monkeypatch):
    overlapping, cut = fitted("overlapping"), fitted("cut")
    monkeypatch.setattr("rhokit.inspection.information._MOST_EIGENVECTORS", 10)
    with pytest.raises(ValueError, match="fit with fewer n_components"):
        joint_information(overlapping)
    with pytest.raises(ValueError, match=r"36 dimensions.*a smaller joint_rank"):
        joint_information(cut)


def test_negativity_needs_only_the_inputs_that_are_reached():
    model = QMClassifier(
        n_components=48, output_map="softmax", joint_rank=2, random_state=0
    ).fit(*wine())
    joint, dims = kronecker(model)
    assert_allclose(joint_information(model).negativity, negativity(joint, dims))


class TestColumns:
    def test_two_gaussians_have_a_known_one(self):
        rng = np.random.default_rng(0)
        far = np.array([0, 0.6, 1, 2, 3])
        y = rng.integers(2, size=4000)
        X = rng.normal(size=(4000, 5)) + np.outer(y, far)
        x = np.linspace(-8, 11, 5001)

        def known(distance):
            p, q = (np.exp(-((x - m) ** 2) / 2) for m in (0, distance))
            p, q = p / p.sum(), q / q.sum()
            terms = [each * np.log(each / ((p + q) / 2)) for each in (p, q)]
            return sum(terms).sum() / 2

        expected = [known(distance) for distance in far]
        assert_allclose(column_information(X, y), expected, atol=0.03)

    def test_values_names_and_categories(self):
        rng = np.random.default_rng(1)
        group = rng.choice(["a", "b"], 400)
        X = pd.DataFrame(
            {
                "noise": rng.normal(size=400),
                "group": pd.Categorical(group),
                "x": rng.normal(size=400),
            }
        )
        y = X["x"] + (group == "a")
        found = column_information(X, y)
        assert found.shape == (3,)
        assert found.argsort().tolist() == [0, 1, 2]
        labels = column_information(X, group)
        assert_allclose(
            labels[1],
            oracle.entropy([np.mean(group == "a"), np.mean(group == "b")]),
            rtol=1e-6,
        )

    def test_selects_columns_and_takes_other_models(self):
        X, y = wine()
        X = np.column_stack([np.random.default_rng(0).normal(size=(len(X), 5)), X])
        chosen = SelectKBest(column_information, k=6).fit(X, y).get_support()
        assert not chosen[:5].any()
        found = column_information(
            X.tolist(), y, QMClassifier(n_components=8, gamma="median")
        )
        assert found[5:].max() < math.log(3)
        assert found.argmax() >= 5

    def test_a_column_of_one_value_tells_nothing(self):
        y = np.arange(60) % 3
        assert column_information(np.ones((60, 1)), y).tolist() == [0]
        frame = pd.DataFrame({"c": pd.Categorical(["a"] * 60), "y": y})
        none, all_of_it = column_information(frame, y)
        assert none == 0
        assert_allclose(all_of_it, math.log(3), rtol=0.02)


def test_densities_have_no_outcomes():
    with pytest.raises(TypeError, match="DMKDE"):
        joint_information(DMKDE(feature_map="landmarks", n_components=4).fit(wine()[0]))
