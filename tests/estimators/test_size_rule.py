"""Sizes for an accuracy: they reach it, and are not wasteful."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import real_data
from rhokit import DMKDE, n_components_for
from rhokit.datasets import bimodal, clusters, spirals
from rhokit.estimators.size_rule import Trial, _sizes, first_good_size
from rhokit.features import FourierFeatures, GridFeatures, QuadratureFeatures
from rhokit.validation import generator

N_PROBES = 500


def magic():
    reason = real_data.missing("density_magic")
    if reason is not None:
        pytest.skip(reason)
    rows = real_data.load_arrays("density_magic")["X"].astype(np.float64)
    rows = np.random.default_rng(0).permutation(rows)[:5000]
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


CASES = {
    "bimodal": (lambda: bimodal(5000, random_state=0), 16.0),
    "spirals": (lambda: spirals(5000, random_state=0)[0], 256.0),
    "clusters": (lambda: clusters(5000, 10, random_state=0)[0], 10.0),
    "narrow clusters": (lambda: clusters(5000, 10, random_state=0)[0], 30.0),
    "magic": (magic, 1.0),
}


def slow_density(rows, probes, gamma):
    """Exact kernel density estimation, one probe after the other."""
    mass = (np.pi / gamma) ** (rows.shape[1] / 2)
    squares = (((rows - probe) ** 2).sum(axis=1) for probe in probes)
    return np.array([np.exp(-gamma * square).mean() for square in squares]) / mass


def relative_error(rows, probes, exact, gamma, feature_map, size, seed):
    model = DMKDE(
        gamma=gamma,
        scale=None,
        feature_map=feature_map,
        n_components=size,
        random_state=seed,
    )
    misses = model.fit(rows).density(probes) - exact
    return np.sqrt((misses**2).sum() / (exact**2).sum())


# One of each map; the others take longer and say the same.
QUICK = [("bimodal", "landmarks"), ("clusters", "fourier")]


@pytest.mark.parametrize(
    ("case", "feature_map"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow)
        for pair in product(CASES, ["landmarks", "fourier"])
    ],
)
def test_the_size_reaches_the_error_and_a_quarter_does_not(case, feature_map):
    make, gamma = CASES[case]
    rows = np.random.default_rng(1).permutation(make())
    probes, rows = rows[:N_PROBES], rows[N_PROBES:]
    error = 0.25
    size = n_components_for(
        error, rows, gamma=gamma, scale=None, feature_map=feature_map, random_state=0
    )
    exact = slow_density(rows, probes, gamma)

    def errors(size):
        return [
            relative_error(rows, probes, exact, gamma, feature_map, size, seed)
            for seed in range(10, 13)
        ]

    assert np.median(errors(size)) <= error
    assert np.median(errors(size // 4)) > error


@pytest.mark.parametrize("form", ["phase", "complex"])
def test_the_error_is_that_of_a_model(form):
    rows = clusters(300, 3, random_state=0)[0]
    gamma, like = 20.0, FourierFeatures(form=form)
    trial = Trial.from_rows(rows, gamma, like, None, generator(0))
    assert len(trial.probes) == 75
    assert len(trial.rows) == 225
    model = DMKDE(
        gamma=gamma,
        scale=None,
        feature_map=FourierFeatures(
            form=form, n_components=50, random_state=trial.seed + 1
        ),
    ).fit(trial.rows)
    exact = slow_density(trial.rows, trial.probes, gamma)
    misses = model.density(trial.probes) - exact
    expected = np.sqrt((misses**2).mean() / (exact**2).mean())
    assert_allclose(trial.error(50, draw=1), expected, rtol=1e-9)


def test_scaling_and_rules_are_those_of_the_model():
    rows = clusters(500, 4, random_state=0)[0] * [1, 10, 100, 1000]
    trial = Trial.from_rows(rows, "scott", "landmarks", "auto", generator(0))
    assert_allclose(trial.rows.std(axis=0), 1)
    model = DMKDE(gamma="scott", feature_map="landmarks", random_state=0)
    assert_allclose(trial.like.gamma, model.fit(trial.rows).gamma_)
    wide = n_components_for(0.3, rows, random_state=0)
    assert wide == n_components_for(0.3, rows * 8.0, random_state=0)


def test_smaller_errors_take_more():
    rows = spirals(3000, random_state=0)[0]
    sizes = [
        n_components_for(e, rows, gamma=256.0, scale=None, random_state=0)
        for e in (0.5, 0.1)
    ]
    assert sizes[0] < sizes[1]
    assert (
        n_components_for(0.1, rows, gamma=256.0, scale=None, random_state=0) == sizes[1]
    )


def test_a_map_of_ones_own():
    rows = bimodal(2000, random_state=0)
    better = FourierFeatures(sampling="sobol", form="pair")
    sizes = [
        n_components_for(
            0.2, rows, gamma=4.0, scale=None, feature_map=given, random_state=0
        )
        for given in (better, "fourier")
    ]
    assert sizes[0] < sizes[1]
    assert better.n_components == 1024  # a clone was tried, not the map itself


def test_as_many_landmarks_as_rows_are_exact():
    rows = np.random.default_rng(0).normal(size=(40, 6))
    # Each of 30 rows is alone under so narrow a kernel.
    assert n_components_for(1e-6, rows, gamma=20.0, scale=None, random_state=0) in (
        24,
        32,
    )


@pytest.mark.parametrize("spread", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("wanted", [0.2, 0.02])
def test_a_draw_that_the_rule_has_not_seen_is_good_enough_too(spread, wanted):
    """Errors that fall as 1/√D, and differ from draw to draw by known factors."""
    rng = np.random.default_rng(0)
    kept, sizes = [], []
    for _ in range(400):
        size, _ = first_good_size(
            lambda D, draw: rng.lognormal(-0.5 * np.log(D), spread), wanted, 10**6
        )
        kept.append(rng.lognormal(-0.5 * np.log(size), spread) <= wanted)
        sizes.append(size)
    assert np.mean(kept) > 0.93
    # Nineteen of twenty draws of this size are good enough.
    needed = (np.exp(1.645 * spread) / wanted) ** 2
    assert np.median(sizes) < 2.5 * needed


@pytest.mark.parametrize("odd", [0.0, np.inf])
def test_errors_that_have_no_logarithm(odd):
    size, smallest = first_good_size(
        lambda D, draw: odd if D < 32 else 0.1, wanted=0.2, largest=64
    )
    assert size == (16 if odd == 0 else 32)
    assert smallest == min(odd, 0.1)


def test_sizes_grow_by_half_at_most_and_end_at_the_limit():
    assert list(_sizes(100)) == [16, 24, 32, 48, 64, 96, 100]
    assert list(_sizes(96))[-2:] == [64, 96]
    assert list(_sizes(5)) == [5]


def test_what_is_out_of_reach_is_told_with_what_is_not():
    rows = clusters(2000, 10, random_state=0)[0]
    with pytest.raises(ValueError, match=r"error=0.01 .* smallest error was 0\.\d+"):
        n_components_for(
            0.01, rows, gamma=60.0, scale=None, max_components=64, random_state=0
        )


def test_rows_without_neighbours_do_not_overflow():
    rows = np.random.default_rng(0).normal(size=(100, 50))
    with pytest.raises(ValueError, match="smallest error was"):
        n_components_for(
            0.1, rows, gamma=1e4, scale=None, feature_map="fourier", max_components=32
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("error", 0.0),
        ("error", "small"),
        ("gamma", -1.0),
        ("gamma", "wide"),
        ("feature_map", "grid"),
        ("feature_map", GridFeatures()),
        ("feature_map", QuadratureFeatures()),
        ("scale", "large"),
        ("max_components", 0),
    ],
)
def test_parameters_are_named(name, value):
    given = {"error": 0.1, "X": np.zeros((5, 1)), name: value}
    with pytest.raises(ValueError, match=f"'{name}' parameter of n_components_for"):
        n_components_for(**given)


def test_rows_are_checked():
    with pytest.raises(ValueError, match="X contains NaN"):
        n_components_for(0.1, [[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match="minimum of 2"):
        n_components_for(0.1, [[0.0]])
