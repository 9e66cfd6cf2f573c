"""Predicted labels, against scikit-learn's figures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, confusion_matrix

from rhokit.inspection import confusion, predict_labels
from tests.inspection.models import case


def labels_of(name, with_target=True):
    model, X, y, _ = case(name)
    return model, X, y, predict_labels(model, X, y if with_target else None)


@pytest.mark.parametrize(
    "name", ["classes", "joint classes", "ordered classes", "trained classes"]
)
def test_labels_are_judged_as_scikit_learn_does(name):
    model, X, y, found = labels_of(name)
    predicted = model.predict(X)
    assert_allclose(found.accuracy, accuracy_score(y, predicted))
    expected = confusion_matrix(y, predicted, labels=model.classes_)
    assert_array_equal(found.confusion.counts, expected)
    assert found.confusion.truths == tuple(str(label) for label in model.classes_)
    assert_array_equal(np.sort(found.wrong), np.flatnonzero(y != predicted))
    assert (np.diff(found.confidence[found.wrong]) <= 0).all()
    _, counts = np.unique(y, return_counts=True)
    assert_allclose(found.baseline, counts.max() / len(X))
    assert found.rejected_fraction is found.accuracy_of_answered is None


def test_reliability_is_of_the_likeliest_class():
    model, X, y, found = labels_of("classes")
    probabilities = model.predict_proba(X)
    confidence = probabilities.max(axis=1)
    right = model.classes_[probabilities.argmax(axis=1)] == y
    error = 0.0
    for low in np.arange(10) / 10:
        inside = (confidence >= low) & (confidence < low + 0.1 + (low > 0.85))
        if inside.any():
            gap = abs(confidence[inside].mean() - right[inside].mean())
            error += gap * inside.mean()
    assert_allclose(found.reliability.error, error)


def test_rejected_rows_are_neither_right_nor_wrong():
    model, X, y, found = labels_of("rejecting")
    predicted = model.predict(X)
    rejected = predicted == "unknown"
    assert rejected.any()
    assert_allclose(found.rejected_fraction, rejected.mean())
    assert_allclose(found.accuracy, (predicted == y).mean())
    assert_allclose(found.accuracy_of_answered, (predicted == y)[~rejected].mean())
    assert not rejected[found.wrong].any()
    assert found.confusion.predicted[-1] == "unknown"
    assert found.confusion.counts[:, -1].sum() == rejected.sum()


def test_ordered_labels_have_an_error_in_ranks():
    model, X, y, found = labels_of("ordered classes")
    assert_allclose(found.rank_error, np.abs(model.predict(X) - y).mean())
    *_, found = labels_of("classes")
    assert found.rank_error is None
    strangers = predict_labels(model, X, np.full(len(X), 99))
    assert np.isnan(strangers.rank_error)


def test_labels_that_the_model_never_saw_have_a_row():
    classes = np.array([0, 1])
    table = confusion(classes, np.array([0, 1, 1]), np.array([0.0, 1.0, 7.0]))
    assert table.truths == ("0", "1", "7.0")
    assert table.predicted == ("0", "1")
    assert_array_equal(table.counts, [[1, 0], [0, 1], [0, 1]])


def test_without_labels_nothing_is_known_of_right_and_wrong():
    model, X, _, found = labels_of("rejecting", with_target=False)
    nothing = ("accuracy", "baseline", "confusion", "reliability", "right", "wrong")
    for name in (*nothing, "rank_error", "accuracy_of_answered"):
        assert getattr(found, name) is None, name
    labels, counts = np.unique(model.predict(X), return_counts=True)
    expected = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    assert found.summary.counts == expected


def test_what_does_not_fit_is_refused():
    model, X, *_ = case("classes")
    with pytest.raises(ValueError, match=r"y must have shape \(89,\)"):
        predict_labels(model, X, np.zeros((89, 2)))
    with pytest.raises(ValueError, match="one entry per row of X, 89"):
        predict_labels(model, X, np.zeros(3))
    with pytest.raises(TypeError, match=r"a classifier .* must be given, got DMKDE"):
        predict_labels(case("landmarks").model, X)
