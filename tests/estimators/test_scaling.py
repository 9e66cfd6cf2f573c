"""The scaling that belongs to a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.plans.scaling import Scaling

RULES = [None, "std", "robust", "common", "whiten", np.array([0.5, 2.0, 7.0])]


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


def test_whitening_leaves_directions_without_rows_alone():
    """Fewer rows than columns: rounding must not be taken for spread."""
    rows = np.random.default_rng(0).normal(size=(5, 9))
    scaling = Scaling.from_rows("whiten", rows)
    widths = np.sqrt(np.cov(scaling.apply(rows).T, bias=True).trace())
    assert_allclose(widths, 2.0)  # four directions of variance one
    assert np.abs(scaling.matrix).max() < 10


def test_within_groups_the_rows_are_round():
    """Inside groups: variance one in every direction but for the ridge, whatever the
    columns' units; between them: nothing is taken away."""
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=3000)
    mixing = rng.normal(size=(4, 4))
    noise = rng.normal(size=(3000, 4)) @ mixing
    rows = (noise + 10 * rng.normal(size=(3, 4))[groups]) * [1, 10, 100, 1000]
    scaling = Scaling.from_rows("within", rows, groups=groups)
    inside = scaling.apply(rows)
    for group in range(3):
        inside[groups == group] -= inside[groups == group].mean(axis=0)
    covariance = inside.T @ inside / len(rows)
    assert_allclose(covariance, np.diag(covariance.diagonal()), atol=1e-9)
    assert covariance.diagonal().max() < 1
    assert_allclose(covariance.diagonal().max(), 1, atol=0.1)


def test_one_width_for_all_columns():
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1, 2, 3]
    scaling = Scaling.from_rows("common", rows)
    assert_allclose(scaling.matrix, 1 / np.sqrt(rows.var(axis=0).mean()))
    weights = np.arange(50.0)
    scaling = Scaling.from_rows("common", rows, weights)
    copies = Scaling.from_rows("common", rows.repeat(np.arange(50), axis=0))
    assert_allclose(scaling.matrix, copies.matrix)


def test_groups_without_an_inside_are_scaled_as_if_there_were_none():
    rows = np.random.default_rng(0).normal(size=(3, 2))
    within = Scaling.from_rows("within", rows, None, np.arange(3))
    assert_allclose(within.apply(rows), Scaling.from_rows("std", rows).apply(rows))
