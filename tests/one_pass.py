"""The one-pass models, small and quick, and what it means that two are the same."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)

PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "random_state": 0,
}


def one_pass_models(**levels):
    """All of them, with a plan that takes no time; by the names of their classes."""
    classes = (
        DMKDE,
        MeanEmbeddingKDE,
        DMKDClassifier,
        QMClassifier,
        QMOrdinalClassifier,
    )
    models = {cls.__name__: cls(**PLAN) for cls in classes}
    regressor = QMRegressor(**PLAN, n_levels=5, beta=4.0, **levels)
    return models | {"QMRegressor": regressor}


def assert_same_model(actual, expected, rtol=1e-12):
    """Equal plans, sums and weights up to rounding, equal labels and sampled rows."""
    assert actual.fingerprint() == expected.fingerprint()
    total, weight = expected.state_.total, expected.state_.weight
    size = np.abs(total).max()
    assert_allclose(actual.state_.total, total, rtol=0, atol=rtol * size)
    assert_allclose(actual.state_.weight, weight, rtol=rtol, atol=rtol * weight.sum())
    if hasattr(expected, "classes_"):
        assert_array_equal(actual.classes_, expected.classes_)
    sample = getattr(expected, "sample_", None)
    if sample is not None:
        assert_array_equal(actual.sample_.keys, sample.keys)
        assert_array_equal(actual.sample_.rows, sample.rows)
        assert_array_equal(actual.sample_.target, sample.target)
        assert_allclose(actual.sample_.weight, sample.weight, rtol=1e-9)


def assert_learned_all(actual, expected):
    """The same model, of exactly as many rows."""
    assert_same_model(actual, expected)
    if not isinstance(expected, QMRegressor):  # whose levels share each row
        assert_array_equal(actual.state_.weight, expected.state_.weight)
