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


def test_whitening_sees_directions_of_little_spread():
    """Two columns that differ by 1e-5 of their spread: 1e-10 of the variance."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=500)
    rows = np.column_stack([first, first + 1e-5 * rng.normal(size=500)])
    white = Scaling.from_rows("whiten", rows).apply(rows)
    assert_allclose(np.cov(white.T, bias=True), np.eye(2), atol=1e-4)


def test_groups_far_apart_have_an_inside():
    """Of a hundred-thousandth of the distance between them."""
    rng = np.random.default_rng(0)
    groups = np.arange(600) % 2
    inside = 1e-5 * rng.normal(size=(600, 2)) @ [[1.0, 0.9], [0.0, 0.3]]
    rows = groups[:, None] + inside
    scaled = Scaling.from_rows("within", rows, groups=groups).apply(rows)
    variances = np.cov(scaled[groups == 0].T)
    assert_allclose(variances.diagonal().max(), 1, atol=0.15)
    assert abs(variances[0, 1]) < 0.05


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


EXTREMES = ["std", "robust", "whiten", "within"]


def scaled_by(rule, rows, groups=None):
    return Scaling.from_rows(rule, rows, None, groups).apply(rows)


@pytest.mark.parametrize("rule", EXTREMES)
@given(
    powers=st.lists(st.integers(-300, 300), min_size=3, max_size=3),
    seed=st.integers(0, 9),
)
def test_units_change_nothing(rule, powers, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    rows[:, 2] = seed * np.arange(60) % 3  # inside the groups it is constant
    groups, units = np.arange(60) % 3, 10.0 ** np.array(powers)
    found, expected = (scaled_by(rule, rows * u, groups) for u in (units, 1.0))
    assert_allclose(found, expected, atol=1e-9)
    volumes = [
        Scaling.from_rows(rule, rows * u, None, groups).log_volume for u in (units, 1.0)
    ]
    spread = rows.std(axis=0) > 0
    assert_allclose(volumes[0] + np.log(units[spread]).sum(), volumes[1], atol=1e-9)


@pytest.mark.parametrize("rule", [*EXTREMES, "common"])
@pytest.mark.parametrize("power", [10, 20, 35, 50])
def test_offsets_change_nothing(rule, power):
    rng = np.random.default_rng(0)
    rows = np.round(4 * rng.normal(size=(60, 3)).clip(-3, 3)) / 4
    groups, away = np.arange(60) % 3, 2.0**power * np.array([1, -1, 0.5])
    found, expected = (scaled_by(rule, rows + a, groups) for a in (away, 0.0))
    assert_allclose(found, expected, atol=1e-9)
    scaling = Scaling.from_rows(rule, rows + away, None, groups)
    assert_allclose(scaling.invert(found) - away, rows, atol=1e-9 + 2.0 ** (power - 52))


@pytest.mark.parametrize("rule", [*EXTREMES, "common"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e-19, 1.7e12, 1e15 / 3, -1e300, 1e-300])
def test_constant_columns_of_any_size_are_constant(rule, value):
    """Also where values differ in their last digit, as those that were computed do."""
    rng = np.random.default_rng(0)
    rows, groups = rng.normal(size=(1000, 3)), np.arange(1000) % 3
    rows[:, 1] = value
    exact = scaled_by(rule, rows, groups)
    rows[::2, 1] = np.nextafter(value, np.inf) if value else 0.0
    noisy = scaled_by(rule, rows, groups)
    assert_allclose(noisy, exact, atol=1e-6)
    rows[:, 1] = rng.normal(size=1000)
    others = Scaling.from_rows(rule, rows, None, groups)
    if rule in ("std", "robust"):
        assert_allclose(exact[:, [0, 2]], others.apply(rows)[:, [0, 2]])
        assert not exact[:, 1].any()


def test_a_column_without_quartiles_has_a_deviation():
    """Mostly equal values: robust, but not blind."""
    rows = np.zeros((100, 1))
    rows[:20, 0] = np.arange(1, 21)
    for unit in (1, 1e-19):
        assert_allclose(scaled_by("robust", unit * rows).std(), 1)


def test_rows_without_weight_do_not_count(rows):
    weights = np.ones(len(rows))
    weights[::7] = 0
    for rule in ("std", "robust", "whiten", "common"):
        expected = Scaling.from_rows(rule, rows[weights > 0])
        spoiled = np.where(weights[:, None] > 0, rows, 1e300)
        found = Scaling.from_rows(rule, spoiled, 1e-250 * weights)
        assert_allclose(found.matrix, expected.matrix)


def test_single_precision_keeps_its_digits():
    """Columns of extreme units, and far from zero: as in double precision."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)) * [1e-30, 1e30, 1] + [0, 0, 1e5]
    single = rows.astype(np.float32)
    scaling = Scaling.from_rows("std", single)
    found = scaling.apply(single)
    assert found.dtype == np.float32
    assert_allclose(found, scaling.apply(single.astype(np.float64)), atol=1e-6)


@given(st.floats(0.01, 100), st.integers(2, 12))
def test_columns_of_one_weight_are_not_scaled_at_all(weight, n_equal):
    """So that columns of categories stay what they are, to the bit."""
    plain = Scaling(np.zeros(n_equal + 1), np.ones(n_equal + 1))
    equal = np.arange(n_equal + 1) > 0
    factors = np.where(equal, weight, 3.0)
    for matrix in (factors, np.diag(factors)):
        found, gamma = plain.weighted(matrix, equal)
        scaled = found.matrix if found.matrix.ndim == 1 else np.diag(found.matrix)
        assert (scaled[equal] == 1).all()
        assert_allclose(gamma, weight**2)
