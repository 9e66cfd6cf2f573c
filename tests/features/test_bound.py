"""The paper's bound: its formula, its inverses, and that features keep to it."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit.features import FourierBound, FourierFeatures, KernelSum

CASES = [
    FourierBound(gamma=gamma, n_features=d, diameter=diameter, printed=printed)
    for gamma, d, diameter, printed in product(
        (2.0, 8.0), (1, 2, 5), (1.0, 15.0), (False, True)
    )
]


def by_hand(bound, error, n_components):
    """The bound in plain floats, as the formula is written."""
    d, gamma, diameter = bound.n_features, bound.gamma, bound.diameter
    mass = (math.pi / gamma) ** (d / 2)
    if bound.printed:
        slope = math.sqrt(2 * d * gamma) * diameter / (3 * mass * error)
        rate = (3 * mass * error) ** 2 / (4 * (d + 2))
    else:
        slope = 3 * math.sqrt(d * gamma) * diameter / (mass * error)
        rate = (mass * error / 3) ** 2 / (4 * (d + 2))
    return 2**8 * slope**2 * math.exp(-n_components * rate)


@pytest.mark.parametrize("bound", CASES, ids=str)
def test_the_formula(bound):
    for error, n_components in product((0.01, 0.3), (1, 100)):
        direct = by_hand(bound, error, n_components)
        logarithm = bound.log_probability(math.log(error), n_components)
        assert_allclose(logarithm, math.log(direct), rtol=1e-12)
        assert bound.probability(error, n_components) == pytest.approx(min(1, direct))


@pytest.mark.parametrize("bound", CASES, ids=str)
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9])
def test_solved_for_features_and_for_the_error(bound, delta):
    for log_error in (-9.0, -2.0):
        count = math.exp(bound.log_n_components(log_error, delta))
        assert_allclose(
            bound.log_probability(log_error, count), math.log(delta), rtol=1e-9
        )
        assert_allclose(bound.log_error(count, delta), log_error, rtol=1e-9)


def test_whole_features_keep_delta_and_one_less_does_not():
    bound = FourierBound(gamma=2.0, n_features=2, diameter=3.0)
    count = bound.n_components(error=0.2, delta=0.1)
    assert bound.probability(0.2, count) <= 0.1 < bound.probability(0.2, count - 1)


@pytest.mark.parametrize("printed", [False, True])
def test_every_argument_has_its_direction(printed):
    usual = {"gamma": 4.0, "n_features": 3, "diameter": 2.0, "printed": printed}
    larger = {"gamma": 5.0, "n_features": 4, "diameter": 3.0}
    bound = FourierBound(**usual)
    least = bound.log_probability(-2.0, 1000)
    assert bound.log_probability(-1.9, 1000) < least
    assert bound.log_probability(-2.0, 1001) < least
    for name, value in larger.items():
        harder = FourierBound(**usual | {name: value})
        assert harder.log_probability(-2.0, 1000) > least
        assert harder.log_n_components(-2.0, 0.1) > bound.log_n_components(-2.0, 0.1)
        assert harder.log_error(1000, 0.1) > bound.log_error(1000, 0.1)
    assert bound.log_n_components(-2.0, 0.2) < bound.log_n_components(-2.0, 0.1)
    assert bound.log_error(1000, 0.2) < bound.log_error(1000, 0.1)


def test_the_print_promises_81_times_as_fast_a_fall():
    usual = {"gamma": 4.0, "n_features": 3, "diameter": 2.0}
    falls = [
        bound.log_probability(-2.0, 2000) - bound.log_probability(-2.0, 1000)
        for bound in (FourierBound(**usual), FourierBound(**usual, printed=True))
    ]
    assert_allclose(falls[1], 81 * falls[0], rtol=1e-9)


@pytest.mark.parametrize("gamma", [1e-3, 100.0])
def test_logarithms_are_finite_in_784_columns(gamma):
    bound = FourierBound(gamma=gamma, n_features=784, diameter=28.0)
    log_error = bound.log_error(1024, 0.05)
    assert math.isfinite(log_error)
    assert abs(log_error) > 1000  # as a float, it would be 0 or infinite
    assert_allclose(bound.log_n_components(log_error, 0.05), math.log(1024))
    assert math.isfinite(bound.log_probability(log_error, 2048))
    assert math.isfinite(bound.log_n_components(-5000.0, 0.05))


def test_what_a_float_cannot_hold_is_told():
    bound = FourierBound(gamma=100.0, n_features=784, diameter=28.0)
    with pytest.raises(OverflowError, match="take log_n_components"):
        bound.n_components(error=1.0, delta=0.05)
    with pytest.raises(OverflowError, match="take log_error"):
        bound.error(1024, 0.05)


@pytest.mark.parametrize("form", ["pair", "phase"])
def test_features_keep_to_it(form):
    bound = FourierBound(gamma=0.5, n_features=1, diameter=6.0)
    error, delta = 0.2, 0.1
    count = bound.n_components(error, delta)
    rows = np.random.default_rng(0).uniform(-3, 3, (40, 1))
    points = np.linspace(-3, 3, 61)[:, None]
    mass = math.sqrt(math.pi / bound.gamma)
    exact = np.exp(KernelSum(rows, None, bound.gamma).log_mean(points)) / mass
    kept = []
    for seed in range(10):
        features = FourierFeatures(
            gamma=bound.gamma,
            n_components=2 * count if form == "pair" else count,
            form=form,
            normalize=False,
            random_state=seed,
        ).fit(rows)
        overlaps = features.transform(points) @ features.transform(rows).T
        density = (overlaps**2).mean(axis=1) / mass
        kept.append(np.abs(density - exact).max() < error)
    assert np.mean(kept) >= 1 - delta


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", 0.0), ("n_features", 0), ("diameter", -1.0), ("printed", "yes")],
)
def test_parameters_are_named(name, value):
    usual = {"gamma": 1.0, "n_features": 1, "diameter": 1.0}
    with pytest.raises(ValueError, match=f"'{name}' parameter of FourierBound"):
        FourierBound(**usual | {name: value})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("error", (0.0, 0.1)), ("delta", (0.1, 1.0)), ("delta", (0.1, 0.0))],
)
def test_arguments_are_named(name, arguments):
    bound = FourierBound(gamma=1.0, n_features=1, diameter=1.0)
    with pytest.raises(ValueError, match=f"'{name}' parameter of FourierBound"):
        bound.n_components(*arguments)
