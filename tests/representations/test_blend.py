"""Blends: states and answers written out row by row, and rows left out for good."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE, DMKDClassifier, LandmarkFeatures, QMRegressor
from rhokit.features.links import LINKS, Told

N = 150


def rows_of(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3)) * [1, 10, 0.1]


def labels_of(rows):
    return np.digitize(rows[:, 0] + rows[:, 1] / 10, [-0.5, 0.7])


def values_of(rows):
    return np.sin(2 * rows[:, 0]) + rows[:, 1] / 10


MODELS = {"classes": (DMKDClassifier, labels_of), "values": (QMRegressor, values_of)}


@pytest.fixture(scope="module", params=list(MODELS))
def fitted(request):
    cls, target_of = MODELS[request.param]
    rows = rows_of(N, 0)
    model = cls(feature_map="blend", n_components=20, random_state=0)
    return model.fit(rows, target_of(rows)), rows, target_of(rows)


def parts_of(model, rows, target):
    """Whitened features, cells, and outcomes of rows of weight one."""
    plan, readout = model.plan_, model.readout_
    scaled = plan.scale(rows)
    blend = plan.feature_map
    features = blend.whitened(blend.features(scaled))
    encoded = readout.encode(np.asarray(target))
    return features, blend.cells(scaled), readout.roots(encoded) ** 2


def away(model, rows):
    """Squared distances (n, P) of rows and prototypes, written out."""
    prototypes = model.feature_map_.prototypes_
    placed = model.plan_.scale(rows)
    matrix = prototypes.matrix
    placed = placed * matrix if matrix.ndim == 1 else placed @ matrix
    return np.array([[np.sum((x - p) ** 2) for p in prototypes.points] for x in placed])


def slow_near(model, train, asked):
    """What outcomes weigh about rows, by prototypes that others were counted to."""
    if model.feature_map_.prototypes_ is None:
        return None
    outcomes = parts_of(model, *train)[2]
    counts = np.zeros((model.feature_map_.n_prototypes, outcomes.shape[1]))
    for own, outcome in zip(
        away(model, train[0]).argmin(axis=1), outcomes, strict=True
    ):
        counts[own] += outcome
    sums = np.exp(-away(model, asked)) @ counts / len(outcomes)
    return sums + model.feature_map_.prototypes_.floor * prior_of(outcomes)


def prior_of(outcomes):
    """Outcomes (n, K) of a row in the mean: classes, or moments."""
    return outcomes.mean(axis=0)


def slow_told(model, train, asked, trees=None):
    """What ridge regression on rows, and the cells that they are in, say of others.

    With ``trees``, a set of them for each of the rows that are asked for.
    """
    features, cells, outcomes = parts_of(model, *train)
    prior, blend = prior_of(outcomes), model.feature_map_
    ridge = blend.strength_ * len(features) * np.eye(features.shape[1])
    solved = np.linalg.solve(
        features.T @ features + ridge, features.T @ (outcomes - prior)
    )
    own, own_cells, _ = parts_of(model, *asked)
    told = []
    for i, row in enumerate(own_cells):
        votes = []
        for t in range(len(row)) if trees is None else trees[i]:
            inside = cells[:, t] == row[t]
            if inside.any():
                votes.append(outcomes[inside].mean(axis=0))
        told.append(np.mean(votes, axis=0) if votes else prior)
    return own @ solved + prior, np.array(told), prior


def noise_of(model, asked, apart=False):
    """Logarithms of squared errors, of values."""
    means = model.feature_map_.noise_
    if means is None:
        return None
    scaled = model.plan_.scale(asked)
    return means.told_apart(scaled) if apart else means.told(scaled)


def test_features_are_those_of_landmarks_a_constant_and_lines(fitted):
    model, rows, target = fitted
    blend, scaled = model.feature_map_, model.plan_.scale(rows)
    features = parts_of(model, rows, target)[0]
    landmarks = LandmarkFeatures(gamma=blend.gamma, landmarks=blend.landmarks_)
    states = landmarks.fit(rows[:1]).transform(scaled)
    m = len(blend.landmarks_)
    assert_allclose(features[:, :m] @ features[:, :m].T, states @ states.T, atol=1e-4)
    assert_allclose(features[:, m], blend.constant)
    centred = features[:, m + 1 :] / blend.lines_
    assert_allclose(centred, scaled)


def test_states_are_sums_over_rows(fitted):
    model, rows, target = fitted
    features, cells, outcomes = parts_of(model, rows, target)
    state, size = model.state_, features.shape[1]
    expected = np.zeros_like(state.total)
    products = np.zeros((size, size))
    for feature, own, outcome in zip(features, cells, outcomes, strict=True):
        expected[:, :size] += np.outer(outcome, feature)
        products += np.outer(feature, feature)
        for cell in own:
            expected[:, size + cell] += outcome
    blend = model.feature_map_
    if blend.n_prototypes:
        nearest = away(model, rows).argmin(axis=1) + size + blend.forest_.n_cells
        for own, outcome in zip(nearest, outcomes, strict=True):
            expected[:, own] += outcome
    assert_allclose(state.total, expected, atol=1e-9)
    assert_allclose(state.products, products[np.triu_indices(size)], atol=1e-9)


def test_answers_are_those_of_ridge_regression_and_cells(fitted):
    model, rows, target = fitted
    asked = rows_of(20, 1)
    ridge, cells, prior = slow_told(model, (rows, target), (asked, target[:20]))
    blend = model.feature_map_
    link = LINKS[blend.link_](blend.coefficients_)
    near = slow_near(model, (rows, target), asked)
    expected = link.logs(Told(ridge, cells, noise_of(model, asked), near), prior)
    assert_allclose(model.model_.log_measured(asked), expected, atol=1e-6)


def test_rows_left_out_are_those_of_a_state_without_them(fitted):
    """And of the trees alone that were not grown on them."""
    model, rows, target = fitted
    some = np.arange(12)
    forest, readout = model.feature_map_.forest_, model.readout_
    apart = forest.apart(forest.codes(model.plan_.scale(rows)))
    mass = readout.roots(readout.encode(target)) ** 2
    found = model.model_.representation.log_left_out(
        model.state_, rows[some], mass[some]
    )
    blend = model.feature_map_
    link = LINKS[blend.link_](blend.coefficients_)
    for i in some:
        rest = np.arange(N) != i
        trees = [np.flatnonzero(apart[i])]
        own = rows[[i]], target[[i]]
        ridge, cells, _ = slow_told(model, (rows[rest], target[rest]), own, trees)
        noise = noise_of(model, rows[[i]], apart=True)
        near = slow_near(model, (rows[rest], target[rest]), rows[[i]])
        expected = link.logs(Told(ridge, cells, noise, near), prior_of(mass))
        # The prior, which hardly matters, is that of all rows.
        assert_allclose(found[i], expected[0], atol=0.02)


def test_the_density_of_rows_is_that_of_their_landmarks(fitted):
    model, rows, _ = fitted
    blend, plan = model.feature_map_, model.plan_
    alone = DMKDE(
        feature_map=LandmarkFeatures(landmarks=blend.landmarks_),
        gamma=blend.gamma,
        scale=None,
    ).fit(plan.scale(rows))
    asked = rows_of(30, 1)
    expected = alone.score_samples(plan.scale(asked)) + plan.scaling.log_volume
    assert_allclose(model.score_samples(asked), expected, atol=1e-5)


def test_classes_have_prototypes_and_values_have_none(fitted):
    model = fitted[0]
    is_classifier = isinstance(model, DMKDClassifier)
    assert (model.feature_map_.n_prototypes > 0) == is_classifier


def test_cells_that_lost_their_rows_have_no_say(fitted):
    model, rows, target = fitted
    half = model.blank().partial_fit(rows[:75], target[:75])
    forgot = model.blank().partial_fit(rows, target).unlearn(rows[75:], target[75:])
    asked = rows_of(20, 1)
    assert_allclose(
        forgot.model_.log_measured(asked), half.model_.log_measured(asked), atol=1e-6
    )
