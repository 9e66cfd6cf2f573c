"""Classes from bags: against least squares written out, and against labels."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import rhokit
from rhokit import DMKDClassifier, QMClassifier
from rhokit.models import bags as bags_module

FOURIER = {
    "gamma": 0.5,
    "feature_map": "fourier",
    "n_components": 24,
    "scale": None,
    "random_state": 0,
}
LANDMARKS = {**FOURIER, "feature_map": "landmarks", "n_components": 16}
CASES = {
    "fourier": DMKDClassifier(**FOURIER),
    "landmarks": DMKDClassifier(**LANDMARKS),
    "joint": QMClassifier(**FOURIER),
    "overlapping": QMClassifier(**LANDMARKS, output_map="softmax"),
}


def drawn(n_bags=30, size=20, n_classes=3, seed=0, far=2.0):
    """Rows, their bags, the bags' shares, and labels that nobody sees."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), size=n_bags)
    bags = np.repeat(np.arange(n_bags), size)
    y = np.array([rng.choice(n_classes, p=shares[bag]) for bag in bags])
    X = rng.normal(size=(len(bags), 2)) + far * np.c_[y == 1, y == 2]
    true = np.array([np.bincount(y[bags == b], minlength=n_classes) for b in range(30)])
    order = rng.permutation(len(X))
    return X[order], bags[order], true / size, y[order]


def least_squares(states, bags, shares):
    """Positive parts of the solution, at the trace that it had, by loops."""
    means = [states[bags == b].T @ states[bags == b].conj() for b in range(len(shares))]
    sizes = np.bincount(bags)
    flat = np.array([m.ravel() / n for m, n in zip(means, sizes, strict=True)])
    roots = np.sqrt(sizes)[:, None]
    solved = np.linalg.lstsq(shares * roots, flat * roots, rcond=None)[0]
    found = []
    for rho in solved.reshape(shares.shape[1], *means[0].shape):
        values, vectors = np.linalg.eigh(rho)
        values = values.clip(0) * np.trace(rho).real / values.clip(0).sum()
        found.append((vectors * values) @ vectors.conj().T)
    return np.array(found)


@pytest.mark.parametrize("name", CASES)
def test_is_the_least_squares_of_the_bags(name):
    X, bags, shares, _ = drawn()
    model = CASES[name].fit_proportions(X, bags, shares)
    states = model.feature_map_.transform(model.scaling_.apply(X))
    expected = least_squares(states, bags, shares)
    found = model.density_matrix_.normalized()
    assert_allclose(found, expected, atol=1e-9)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    assert_allclose(model.class_count_, 20 * shares.sum(axis=0))


def test_weights_are_copies():
    X, bags, shares, _ = drawn()
    weights = np.random.default_rng(1).integers(1, 4, size=len(X))
    many = np.repeat(np.arange(len(X)), weights)
    one, other = DMKDClassifier(**FOURIER), DMKDClassifier(**FOURIER)
    pair = [
        one.fit_proportions(X, bags, shares, sample_weight=weights),
        other.fit_proportions(X[many], bags[many], shares),
    ]
    found = [model.density_matrix_.normalized() for model in pair]
    assert_allclose(*found, atol=1e-10)


def test_pure_bags_are_labels():
    X, _, _, y = drawn()
    labelled = DMKDClassifier(**FOURIER).fit(X, y)
    bags = 3 * (np.arange(len(X)) % 4) + y  # four bags of each class
    shares = np.tile(np.eye(3), (4, 1))
    model = DMKDClassifier(**FOURIER).fit_proportions(X, bags, shares)
    assert model.fingerprint() == labelled.fingerprint()
    found = model.density_matrix_.normalized()
    assert_allclose(found, labelled.density_matrix_.normalized(), atol=1e-10)
    assert_allclose(model.predict_proba(X), labelled.predict_proba(X), atol=1e-9)


def test_frames_name_bags_and_classes_in_any_order():
    X, bags, shares, _ = drawn()
    names = np.array([f"bag {b:02}" for b in range(30)])
    frame = pd.DataFrame(shares, index=names, columns=["cow", "ant", "bee"])
    frame = frame.sample(frac=1, random_state=0)
    model = DMKDClassifier(**FOURIER).fit_proportions(X, names[bags], frame)
    labels = ["cow", "ant", "bee"]
    other = DMKDClassifier(**FOURIER)
    other.fit_proportions(X, bags, shares, classes=labels)
    assert model.classes_.tolist() == other.classes_.tolist() == ["ant", "bee", "cow"]
    assert_allclose(model.predict_proba(X), other.predict_proba(X))
    plain = DMKDClassifier(**FOURIER).fit_proportions(X, bags, shares)
    assert_allclose(plain.predict_proba(X), model.predict_proba(X)[:, [2, 0, 1]])


def test_in_parts_is_at_once(monkeypatch):
    X, bags, shares, _ = drawn()
    whole = DMKDClassifier(**LANDMARKS).fit_proportions(X, bags, shares)
    monkeypatch.setattr(bags_module, "_AT_ONCE", 4 * 16**2)
    parts = DMKDClassifier(**LANDMARKS).fit_proportions(X, bags, shares)
    assert_allclose(parts.state_.total, whole.state_.total, atol=1e-9)


def test_tells_labels_that_it_has_not_seen():
    X, bags, shares, y = drawn(far=4.0)
    model = DMKDClassifier(n_components=64, random_state=0)
    assert model.fit_proportions(X, bags, shares).score(X, y) > 0.95


def test_goes_on_learning_merges_and_is_saved():
    X, bags, shares, y = drawn()
    model = DMKDClassifier(**LANDMARKS).fit_proportions(X, bags, shares)
    more = model.blank().partial_fit(X[:50], y[:50])
    both = DMKDClassifier(**LANDMARKS).fit_proportions(X, bags, shares).merge(more)
    model.partial_fit(X[:50], y[:50])
    assert_allclose(both.predict_proba(X), model.predict_proba(X), atol=1e-10)
    again = rhokit.loads(rhokit.dumps(model))
    assert_allclose(again.predict_proba(X), model.predict_proba(X))


def test_a_class_that_is_nowhere_has_no_rows():
    X, bags, shares, _ = drawn()
    shares = np.column_stack([shares, np.zeros(30)])
    model = DMKDClassifier(**FOURIER).fit_proportions(X, bags, shares)
    assert model.class_count_[3] == 0
    assert model.predict_proba(X)[:, 3].max() == 0


def test_learning_is_all_or_nothing():
    X, y = load_iris(return_X_y=True)
    model = DMKDClassifier(**FOURIER).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="shares of some classes follow"):
        model.fit_proportions(X, np.arange(150) % 5, np.full((5, 3), 1 / 3))
    assert_allclose(model.predict_proba(X), before)


GOOD = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"proportions": GOOD[:2]}, r"a row for each of 3 bags, got shape \(2, 2\)"),
        ({"proportions": GOOD * 2}, r"those of bag 0 are \[0.4, 1.6\]"),
        ({"proportions": GOOD - 0.4}, "shares from 0 to 1 with sum one"),
        ({"proportions": GOOD[:, :1] * 0 + 1}, "at least two"),
        ({"classes": ["a", "a"]}, r"2 different labels, .* got \['a', 'a'\]"),
        ({"bags": np.arange(8) % 3}, "the bag of each of 9 rows, got 8"),
        ({"proportions": pd.DataFrame(GOOD[:2])}, "has none for 2"),
        ({"reject": 0.1}, "reject must be None"),
        ({"rank": "loo"}, "rank must be a number"),
        ({"feature_map": "grid"}, "must make density matrices"),
    ],
)
def test_refusals(changes, message):
    X = np.random.default_rng(0).normal(size=(9, 2))
    given = {"bags": np.arange(9) % 3, "proportions": GOOD} | changes
    own = {k: v for k, v in changes.items() if k in DMKDClassifier().get_params()}
    model = DMKDClassifier(**FOURIER | own)
    arguments = {k: v for k, v in given.items() if k not in own}
    with pytest.raises(ValueError, match=message):
        model.fit_proportions(X, **arguments)
    assert not hasattr(model, "model_")


def test_missing_values_are_refused():
    X, bags, shares, _ = drawn()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        DMKDClassifier(**FOURIER).fit_proportions(X, bags, shares)
