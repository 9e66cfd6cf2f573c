"""The scaling that belongs to a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.estimators.scaling import Scaling

RULES = [None, "std", "robust", "whiten", np.array([0.5, 2.0, 7.0])]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + [1, 20, 300]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_inverse_and_volume(rows, rule):
    scaling = Scaling.from_rows(rule, rows)
    assert_allclose(scaling.invert(scaling.apply(rows)), rows, rtol=1e-10)
    jacobian = scaling.apply(np.eye(3)) - scaling.apply(np.zeros((1, 3)))
    assert_allclose(scaling.log_volume, np.linalg.slogdet(jacobian)[1], rtol=1e-10)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_weights_are_copies(rows, rule):
    counts = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = Scaling.from_rows(rule, rows, counts.astype(float))
    copied = Scaling.from_rows(rule, np.repeat(rows, counts, axis=0))
    assert_allclose(weighted.apply(rows) ** 2, copied.apply(rows) ** 2, rtol=1e-8)


def test_rules_do_what_they_say(rows):
    standard = Scaling.from_rows("std", rows).apply(rows)
    assert_allclose(standard.std(axis=0), 1)
    white = Scaling.from_rows("whiten", rows).apply(rows)
    assert_allclose(np.cov(white.T, bias=True), np.eye(3), atol=1e-10)
    normal = np.random.default_rng(0).normal(5, 3, (20000, 1))
    spoiled = np.concatenate([normal, np.full((500, 1), 1e6)])
    robust = Scaling.from_rows("robust", spoiled).apply(normal)
    assert_allclose(robust.std(), 1, atol=0.05)


@pytest.mark.parametrize("rule", ["std", "robust", "whiten"])
def test_a_constant_column_keeps_its_scale(rows, rule):
    rows[:, 1] = 0.1  # its mean is not exact in binary
    scaled = Scaling.from_rows(rule, rows).apply(rows)
    assert np.isfinite(scaled).all()
    assert np.abs(scaled).max() < 100


@given(st.sampled_from([None, "std", "whiten"]))
def test_single_precision_stays_single(rule):
    rows = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    assert Scaling.from_rows(rule, rows).apply(rows).dtype == np.float32
