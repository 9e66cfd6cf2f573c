"""Scores and intervals of predicted distributions, against definitions written out."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss

from rhokit.metrics import (
    coverage_by_width,
    crps,
    interval_coverage,
    interval_width,
    pinball_loss,
    ranked_probability_score,
)

LEVELS = np.array([0.1, 0.25, 0.4, 0.8])


@pytest.fixture
def predicted():
    """True values, ascending quantiles of each, and weights."""
    rng = np.random.default_rng(0)
    quantiles = np.sort(rng.normal(size=(30, len(LEVELS))), axis=1)
    quantiles[3, 1:3] = quantiles[3, 1]  # a jump in the midst
    return rng.normal(scale=1.5, size=30), quantiles, rng.uniform(0, 3, size=30)


# ---- scores --------------------------------------------------------------------------


def test_pinball_loss_is_that_of_scikit_learn(predicted):
    y, quantiles, weights = predicted
    for each in (None, weights):
        losses = [
            mean_pinball_loss(y, values, alpha=level, sample_weight=each)
            for values, level in zip(quantiles.T, LEVELS, strict=True)
        ]
        found = pinball_loss(y, quantiles, LEVELS, sample_weight=each)
        assert_allclose(found, np.mean(losses))


def crps_by_quadrature(y, values):
    """The integral of its definition, for one row."""

    def square(z):
        below = np.interp(z, values, LEVELS, left=0, right=1)
        return (below - (y <= z)) ** 2

    ends = sorted({*values, y})
    return sum(quad(square, *piece, epsabs=1e-12)[0] for piece in pairwise(ends))


def test_crps_is_the_integral_of_its_definition(predicted):
    y, quantiles, weights = predicted
    expected = [crps_by_quadrature(*row) for row in zip(y, quantiles, strict=True)]
    assert_allclose(crps(y, quantiles, LEVELS), np.mean(expected), rtol=1e-7)
    found = crps(y, quantiles, LEVELS, sample_weight=weights)
    assert_allclose(found, np.average(expected, weights=weights), rtol=1e-7)


def test_crps_is_twice_the_integral_of_pinball_losses(predicted):
    y, quantiles, _ = predicted
    fine = (np.arange(20_000) + 0.5) / 20_000
    values = np.array([np.interp(fine, LEVELS, row) for row in quantiles])
    found = crps(y, quantiles, LEVELS)
    assert_allclose(2 * pinball_loss(y, values, fine), found, rtol=1e-6)


@pytest.mark.parametrize(("count", "excess"), [(19, 4e-3), (99, 2e-4), (1999, 1e-6)])
def test_crps_of_normal_distributions_has_its_closed_form(count, excess):
    """Gneiting and Raftery (2007), section 4.2; too large by little, as is said."""
    rng = np.random.default_rng(1)
    mean, spread = rng.normal(size=20_000), rng.uniform(0.5, 2, size=20_000)
    y = mean + spread * rng.normal(size=20_000)
    z = (y - mean) / spread
    closed = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
    expected = np.mean(spread * closed)
    levels = np.arange(1, count + 1) / (count + 1)
    quantiles = mean[:, None] + np.outer(spread, norm.ppf(levels))
    found = crps(y, quantiles, levels)
    assert expected < found < (1 + excess) * expected


def test_crps_sorts_levels_and_quantiles(predicted):
    y, quantiles, _ = predicted
    order = np.array([2, 0, 3, 1])
    expected = crps(y, quantiles, LEVELS)
    assert_allclose(crps(y, quantiles[:, order], LEVELS[order]), expected)
    crossed = quantiles[:, [1, 0, 2, 3]]
    assert_allclose(crps(y, crossed, LEVELS), expected)


def test_crps_of_a_certain_value_is_its_error():
    y = np.array([1.0, 4.0, 2.0])
    found = crps(y, np.full((3, 2), 2.0), [0.2, 0.7])
    assert_allclose(found, np.abs(y - 2).mean())


def test_ranked_probability_score_by_its_definition():
    rng = np.random.default_rng(2)
    labels = np.array(["low", "middle", "high", "top"])
    probabilities = rng.dirichlet(np.ones(4), size=40)
    y, weights = rng.choice(labels, size=40), rng.uniform(size=40)
    errors = []
    for label, row in zip(y, probabilities, strict=True):
        place = labels.tolist().index(label)
        errors.append(sum((row[: k + 1].sum() - (place <= k)) ** 2 for k in range(4)))
    found = ranked_probability_score(y, probabilities, labels=labels)
    assert_allclose(found, np.mean(errors))
    found = ranked_probability_score(
        y, probabilities, labels=labels, sample_weight=weights
    )
    assert_allclose(found, np.average(errors, weights=weights))


def test_ranked_probability_score_is_crps_of_ranks():
    """Both integrate the square of the same steps."""
    rng = np.random.default_rng(3)
    probabilities, y = rng.dirichlet(np.ones(3), size=25), rng.integers(3, size=25)
    tiny = 1e-9  # quantiles that jump from one rank to the next
    found = []
    for row, truth in zip(probabilities, y, strict=True):
        below = row.cumsum()[:-1]
        levels = np.sort([*(below - tiny), *(below + tiny)])
        found.append(crps([truth], [[0.0, 1.0, 1.0, 2.0]], levels))
    expected = ranked_probability_score(y, probabilities, labels=[0, 1, 2])
    assert_allclose(np.mean(found), expected, atol=1e-6)


# ---- intervals -----------------------------------------------------------------------


def test_coverage_counts_ends_and_weights():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    intervals = np.array([[0, 1], [2, 3], [1, 2], [0, 9]])
    assert interval_coverage(y, intervals) == 0.75
    assert interval_coverage(y, intervals, sample_weight=[0, 3, 1, 0]) == 0.25
    assert interval_width(intervals) == 3
    assert interval_width(intervals, sample_weight=[1, 0, 0, 1]) == 5


def test_coverage_by_width_counts_the_narrowest_first():
    rng = np.random.default_rng(4)
    low, width = rng.normal(size=60), rng.permutation(60) + 1.0
    intervals = np.column_stack([low, low + width])
    y = low + rng.uniform(-10, 40, size=60)
    found = coverage_by_width(y, intervals, n_bins=4)
    order = np.argsort(width).reshape(4, 15)
    held = (intervals[:, 0] <= y) & (y <= intervals[:, 1])
    assert_allclose(found.width, width[order].mean(axis=1))
    assert_allclose(found.coverage, held[order].mean(axis=1))
    assert_allclose(found.weight, 15)
    assert found.coverage[0] < interval_coverage(y, intervals) < found.coverage[-1]


def test_coverage_by_width_of_weighted_rows_is_that_of_copies():
    rng = np.random.default_rng(5)
    intervals = np.sort(rng.normal(size=(40, 2)), axis=1)
    y, copies = rng.normal(size=40), rng.integers(0, 4, size=40)
    found = coverage_by_width(y, intervals, sample_weight=copies)
    expected = coverage_by_width(np.repeat(y, copies), intervals.repeat(copies, axis=0))
    assert_allclose(found.coverage, expected.coverage)
    assert_allclose(found.width, expected.width)
    assert_allclose(found.weight, expected.weight)


def test_equal_widths_are_one_bin():
    intervals = np.tile([0.0, 1.0], (8, 1))
    found = coverage_by_width(np.linspace(0, 2, 8), intervals)
    assert_allclose(found.coverage, [0.5])
    assert_allclose(found.weight, [8])


# ---- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crps([1.0], [[1.0, 2.0]], [0.1]), r"y_quantiles must have shape"),
        (lambda: crps([1.0], [[1.0, 2.0]], [0.1, 0.1]), "levels must all be different"),
        (lambda: crps([1.0], [[1.0]], [1.0]), "levels must lie between 0 and 1"),
        (lambda: crps([np.nan], [[1.0]], [0.5]), "y_true must be finite"),
        (lambda: pinball_loss([], np.ones((0, 1)), [0.5]), "y_true must have shape"),
        (
            lambda: pinball_loss([1.0], [[1.0]], [0.5], sample_weight=[1, 2]),
            "sample_weight must have shape",
        ),
        (lambda: interval_coverage([1.0], [[2.0, 1.0]]), "the lower end first"),
        (lambda: interval_coverage([1.0, 2.0], [[0.0, 1.0]]), "y_interval must have"),
        (lambda: coverage_by_width([1.0], [[0, 1]], n_bins=0), "n_bins"),
        (
            lambda: ranked_probability_score([3], [[0.5, 0.5]], labels=[0, 1]),
            "y_true must hold labels alone",
        ),
        (
            lambda: ranked_probability_score([1], [["a", "b"]], labels=[0, 1]),
            "y_prob must be numbers",
        ),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
