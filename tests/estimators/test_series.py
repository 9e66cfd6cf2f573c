"""Series of marginals of any model of numbers, against its own density."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from rhokit import (
    DMKDE,
    DMKDClassifier,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from tests.catalogue import LANDMARKS, LEVELS, labels_of, mixed, values_of, wide


def numbers(n=80):
    return pd.DataFrame(wide(n, 0), columns=list("abcd"))


def labels(frame):
    return labels_of(frame.iloc[:, :1].to_numpy(), 0)


def two_values(frame):
    first = values_of(frame.iloc[:, :1].to_numpy(), 0)
    return np.column_stack([first, 3 - first])


MODELS = {
    "density": (DMKDE(**LANDMARKS, scale="std"), None),
    "whitened": (DMKDE(**LANDMARKS, scale="whiten"), None),
    "truncated": (DMKDE(**LANDMARKS, scale="std", rank=5), None),
    "classes": (DMKDClassifier(**LANDMARKS, priors="uniform", scale="std"), labels),
    "joint": (QMClassifier(**LANDMARKS, scale="std"), labels),
    "ordered": (QMOrdinalClassifier(**LANDMARKS, scale="std"), labels),
    "values": (QMRegressor(**LANDMARKS, **LEVELS, scale="std"), two_values),
}


def fitted(name, frame):
    model, target = MODELS[name]
    return model.fit(frame, None if target is None else target(frame))


@pytest.mark.parametrize("kept", [["b"], ["a", "d"], ["a", "b", "c"]], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_of_many_columns(name, kept):
    frame = numbers()
    part = fitted(name, frame).marginal(kept)
    rows = frame[kept]
    expected = np.exp(part.score_samples(rows))
    series = part.series()
    found = series.density(rows)
    assert_allclose(found, expected, rtol=0, atol=1e-9 * expected.max())
    assert_allclose(series.weight, len(frame))


@pytest.mark.parametrize("kept", [["x"], ["x", "y"]], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_of_mixed_columns(name, kept):
    frame = mixed(80, 0)
    part = fitted(name, frame).marginal(kept)
    expected = np.exp(part.score_samples(frame[kept]))
    found = part.series().density(frame[kept])
    assert_allclose(found, expected, rtol=0, atol=1e-9 * expected.max())


@pytest.mark.parametrize("name", ["density", "classes", "values"])
def test_distribution_function_is_the_integral(name):
    part = fitted(name, numbers()).marginal("a")
    series = part.series()

    def density(value):
        return np.exp(part.score_samples(pd.DataFrame({"a": [value]})))[0]

    whole = quad(density, -6, 6, limit=200)[0]
    below = quad(density, -6, 0.3, limit=200)[0]
    rows = pd.DataFrame({"a": [0.3]})
    assert_allclose(series.cdf(rows), below / whole, atol=1e-7)
    assert_allclose(series.quantile(below / whole), 0.3, atol=1e-6)


def test_of_a_quadrature():
    rows = wide(80, 0)[:, [0, 3]]
    grid, quadrature = (
        DMKDE(gamma=1.0, feature_map=kind, scale="std").fit(rows)
        for kind in ("grid", "quadrature")
    )
    found, expected = (model.series() for model in (quadrature, grid))
    assert_allclose(found.mean(), expected.mean(), atol=1e-6)
    assert_allclose(found.covariance(), expected.covariance(), atol=1e-5)
    assert_allclose(found.cdf(rows), expected.cdf(rows), atol=1e-6)
