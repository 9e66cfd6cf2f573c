"""Calibration curves, against slow computations and other packages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from rhokit.inspection import (
    ReliabilityCurve,
    class_reliability,
    interval_reliability,
    reliability,
)
from tests.inspection.models import case


def slow_error(probabilities, came_true, n_bins):
    """Expected calibration error, bin by bin."""
    total = 0.0
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = [
            i
            for i, p in enumerate(probabilities)
            if low <= p < high or (p == 1 and b == n_bins - 1)
        ]
        if inside:
            predicted = sum(probabilities[i] for i in inside) / len(inside)
            observed = sum(bool(came_true[i]) for i in inside) / len(inside)
            total += len(inside) / len(probabilities) * abs(predicted - observed)
    return total


@given(st.integers(0, 1000), st.sampled_from([1, 4, 8, 16]), st.integers(1, 60))
def test_error_and_bins(seed, n_bins, n):
    rng = np.random.default_rng(seed)
    # Edges of bins are met, and representable.
    probabilities = rng.choice([rng.random(n), rng.integers(0, 17, n) / 16])
    came_true = rng.random(n) < 0.5
    curve = reliability(probabilities, came_true, n_bins=n_bins)
    assert len(curve.counts) <= n_bins
    assert_allclose(curve.error, slow_error(probabilities, came_true, n_bins))
    assert curve.counts.sum() == n
    assert (curve.counts > 0).all()
    assert_allclose(curve.counts @ curve.observed, came_true.sum(), atol=1e-9)


def test_curve_of_another_package():
    rng = np.random.default_rng(0)
    probabilities = rng.random(500)
    came_true = rng.random(500) < probabilities**2
    curve = reliability(probabilities, came_true)
    observed, predicted = calibration_curve(came_true, probabilities, n_bins=10)
    assert_allclose(curve.observed, observed)
    assert_allclose(curve.predicted, predicted)


def test_uncertainty_of_another_package():
    hits, n = np.array([0, 3, 5, 40]), np.array([4, 7, 5, 90])
    curve = ReliabilityCurve(hits / n, hits / n, n)
    expected = [
        binomtest(h, m).proportion_ci(method="wilson")
        for h, m in zip(hits.tolist(), n.tolist(), strict=True)
    ]
    ends = [[e.low, e.high] for e in expected]
    assert_allclose(curve.confidence_interval().T, ends, rtol=1e-6, atol=1e-9)


def test_a_curve_for_each_class():
    model, X, y, _ = case("classes")
    curves = class_reliability(model, X, y, classes="each", n_bins=5)
    probabilities = model.predict_proba(X)
    for k, (label, curve) in enumerate(zip(model.classes_, curves, strict=True)):
        assert curve.name == label
        error = slow_error(probabilities[:, k], y == label, 5)
        assert_allclose(curve.error, error)
    (some,) = class_reliability(model, X, y, classes=[model.classes_[1]], n_bins=5)
    assert_allclose(some.error, curves[1].error)


@pytest.mark.parametrize("name", ["values", "two targets", "trained values"])
def test_coverage_of_intervals(name):
    model, X, y, _ = case(name)
    target = 0 if name == "two targets" else None
    curve = interval_reliability(model, X, y, levels=[0.9, 0.2], target=target)
    assert curve.predicted.tolist() == [0.2, 0.9]
    truth = np.asarray(y).reshape(len(X), -1)[:, 0]
    for level, observed in zip(curve.predicted, curve.observed, strict=True):
        ends = model.predict_interval(X, level).reshape(len(X), -1, 2)[:, 0]
        held = [a <= v <= b for (a, b), v in zip(ends, truth, strict=True)]
        assert_allclose(observed, np.mean(held))
    assert curve.counts.tolist() == [len(X)] * 2
