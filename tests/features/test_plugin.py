"""The bandwidth of Sheather and Jones, against its double sums and against R."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from rhokit import DMKDE
from rhokit.features import gamma_by_rule, sheather_jones

# Velocities of galaxies in km/s: MASS::galaxies in R.
GALAXIES = """
9172 9350 9483 9558 9775 10227 10406 16084 16170 18419 18552 18600 18927 19052 19070
19330 19343 19349 19440 19473 19529 19541 19547 19663 19846 19856 19863 19914 19918
19973 19989 20166 20175 20179 20196 20215 20221 20415 20629 20795 20821 20846 20875
20986 21137 21492 21701 21814 21921 21960 22185 22209 22242 22249 22314 22374 22495
22746 22747 22888 22914 23206 23241 23263 23484 23538 23542 23666 23706 23711 24129
24285 24289 24366 24717 24990 25633 26690 26995 32065 32789 34279
"""
# Rain in cities of the United States, in inches: datasets::precip in R.
PRECIP = """
67 54.7 7 48.5 14 17.2 20.7 13 43.4 40.2 38.9 54.5 59.8 48.3 22.9 11.5 34.4 35.1 38.7
30.8 30.6 43.1 56.8 40.8 41.8 42.5 31 31.7 30.2 25.9 49.2 37 35.9 15 30.2 7.2 36.2 45.5
7.8 33.4 36.1 40.2 42.7 42.5 16.2 39 35 37 31.4 37.6 39.9 36.2 42.8 46.4 24.7 49.1 46
35.9 7.8 48.2 15.2 32.5 44.7 42.6 38.8 17.4 40.8 29.1 14.6 59.2
"""


def numbers(text):
    return np.array(text.split(), float)


def samples():
    """Samples of many forms, by name."""
    rng = np.random.default_rng(0)
    narrow = rng.normal(5, 0.2, size=120)
    return {
        "galaxies": numbers(GALAXIES) / 1000,
        "precip": numbers(PRECIP),
        "two values": np.array([0.0, 1.0]),
        "three values": np.array([0.0, 1.0, 5.0]),
        "ten values": rng.normal(size=10),
        "normal": rng.normal(3, 2, size=300),
        "two widths": np.concatenate([rng.normal(size=150), narrow]),
        "exponential": rng.exponential(size=200),
        "heavy tails": rng.standard_cauchy(200),
        "integers": rng.integers(0, 6, size=200).astype(float),
        "a point mass": np.concatenate([np.zeros(50), rng.normal(size=150)]),
        "more than half at one point": np.append(np.zeros(60), rng.normal(size=40)),
    }


SAMPLES = samples()
every_sample = pytest.mark.parametrize("values", SAMPLES.values(), ids=SAMPLES.keys())


def bandwidth(values):
    return sheather_jones(values, np.ones(len(values)))


def excess(values):
    """What Sheather and Jones's equation says of h, less h, by double sums."""
    n = len(values)
    steps = values[:, None] - values
    quartiles = np.subtract(*np.percentile(values, [75, 25])) / 1.349
    spread = values.std(ddof=1)
    if quartiles > 0:
        spread = min(spread, quartiles)

    def psi(pilot, hermite):
        u = steps / pilot
        normal = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
        order = len(hermite) - 1
        total = (np.polyval(hermite, u) * normal).sum()
        return total / (n * (n - 1) * pilot ** (order + 1))

    fourth, sixth = [1, 0, -6, 0, 3], [1, 0, -15, 0, 45, 0, -15]
    curvature = psi(1.24 * spread * n ** (-1 / 7), fourth)
    slope = -psi(1.23 * spread * n ** (-1 / 9), sixth)
    step = 1.357 * (curvature / slope) ** (1 / 7)

    def compare(h):
        wanted = 1 / (2 * np.sqrt(np.pi) * n * psi(step * h ** (5 / 7), fourth))
        return wanted**0.2 - h

    return compare


class TestDoubleSum:
    @every_sample
    def test_root_of_the_equation(self, values):
        compare = excess(values)
        steps = np.geomspace(1e-4, 10, 200) * values.std()
        signs = np.sign([compare(h) for h in steps])
        (place,) = np.flatnonzero(signs[1:] != signs[:-1])
        root = brentq(compare, steps[place], steps[place + 1], xtol=1e-14)
        assert_allclose(bandwidth(values), root, rtol=1e-8)

    @given(
        st.lists(st.integers(-50, 50), min_size=3, max_size=30, unique=True),
        st.sampled_from([0.0, -3.0, 1e5]),
        st.sampled_from([1e-6, 1.0, 30.0]),
    )
    def test_any_values(self, values, offset, unit):
        values = (np.array(values, float) + offset) * unit
        h = bandwidth(values)
        assert_allclose(excess(values)(h) / h, 0, atol=1e-8)


@pytest.mark.parametrize(
    ("values", "expected"),
    [(numbers(GALAXIES) / 1000, 0.6383061672), (numbers(PRECIP), 3.942017305)],
    ids=["galaxies", "precip"],
)
def test_of_r(values, expected):
    """``bw.SJ(x, nb = 40000, tol = 1e-9)`` of R 4.2.2, which bins the values."""
    assert_allclose(bandwidth(values), expected, rtol=1e-3)


class TestLaws:
    @every_sample
    def test_a_weight_is_so_many_copies(self, values):
        rng = np.random.default_rng(1)
        mass = rng.integers(1, 5, size=len(values)).astype(float)
        order = rng.permutation(len(values))
        copies = np.repeat(values, mass.astype(int))
        found = sheather_jones(values[order], mass[order])
        assert_allclose(found, bandwidth(copies), rtol=1e-8)

    def test_rows_of_no_weight_are_not_there(self):
        rows = SAMPLES["normal"][:, None]
        weights = np.arange(len(rows)) % 3.0
        kept = weights > 0
        found = gamma_by_rule("sheather-jones", rows, weights)
        expected = gamma_by_rule("sheather-jones", rows[kept], weights[kept])
        assert_allclose(found, expected, rtol=1e-12)

    @pytest.mark.parametrize("unit", [1e-60, 1e-20, 1e-3, -1.0, 7.0, 1e20, 1e60])
    def test_scale(self, unit):
        values = SAMPLES["two widths"]
        expected = abs(unit) * bandwidth(values)
        assert_allclose(bandwidth(unit * values), expected, rtol=1e-8)

    @pytest.mark.parametrize("offset", [-20.0, 1e6, 1.7e9])
    def test_shift(self, offset):
        # Values that can be shifted without rounding.
        values = np.round(SAMPLES["normal"] * 2**12) / 2**12
        assert_allclose(bandwidth(values + offset), bandwidth(values), rtol=1e-9)

    def test_single_precision(self):
        values = SAMPLES["normal"].astype("float32")
        found = bandwidth(values)
        assert isinstance(found, float)
        assert_allclose(found, bandwidth(values.astype(float)), rtol=1e-6)

    @pytest.mark.parametrize("n", [20_000, 200_000])
    def test_many_rows_come_near_the_best_bandwidth(self, n):
        """Of a normal density, ``(4/3)^(1/5) σ n^(-1/5)`` has the least error."""
        values = np.random.default_rng(n).normal(-2, 3, size=n)
        best = (4 / 3) ** 0.2 * 3 * n**-0.2
        assert_allclose(bandwidth(values), best, rtol=0.15)


class TestErrors:
    """What cannot be computed says so, and by which rule."""

    @pytest.mark.parametrize("count", [1, 5])
    def test_constant_values(self, count):
        rows = np.full((count, 1), 0.1)
        with pytest.raises(ValueError, match=r"gamma='sheather-jones'.*all equal"):
            gamma_by_rule("sheather-jones", rows)
        with pytest.raises(ValueError, match="sheather-jones"):
            bandwidth(rows[:, 0])

    @pytest.mark.parametrize("d", [2, 5])
    def test_several_columns(self, d):
        rows = np.random.default_rng(0).normal(size=(20, d))
        with pytest.raises(ValueError, match=rf"one column, got {d}.*\"loo\""):
            gamma_by_rule("sheather-jones", rows)

    def test_far_outliers(self):
        values = np.append(SAMPLES["normal"], 1e8)
        with pytest.raises(ValueError, match=r"sheather-jones.*waves.*too far.*loo"):
            bandwidth(values)

    @pytest.mark.parametrize("total", [0.5, 1.0])
    def test_less_than_two_rows_of_weight(self, total):
        values = SAMPLES["normal"]
        with pytest.raises(ValueError, match="sheather-jones"):
            sheather_jones(values, np.full(len(values), total / len(values)))

    def test_bandwidths_that_vanish(self):
        """Two values with many copies each: the equation wants next to nothing."""
        with pytest.raises(ValueError, match="sheather-jones"):
            sheather_jones(np.array([0.0, 1.0]), np.array([5e5, 5e5]))


class TestModel:
    def test_gamma_in_scaled_units(self):
        values = SAMPLES["two widths"]
        model = DMKDE(gamma="sheather-jones").fit(values[:, None])
        h = bandwidth(values) / values.std()
        assert_allclose(model.gamma_, 1 / (2 * h**2), rtol=1e-6)

    def test_gamma_without_scaling(self):
        values = SAMPLES["exponential"]
        model = DMKDE(gamma="sheather-jones", scale=None).fit(values[:, None])
        assert_allclose(model.gamma_, 1 / (2 * bandwidth(values) ** 2), rtol=1e-8)

    def test_weights(self):
        values = SAMPLES["normal"]
        weights = np.arange(len(values)) % 4.0
        copies = np.repeat(values, weights.astype(int))
        model = DMKDE(gamma="sheather-jones", scale=None)
        found = model.fit(values[:, None], sample_weight=weights).gamma_
        assert_allclose(found, 1 / (2 * bandwidth(copies) ** 2), rtol=1e-8)

    def test_number_of_rows_may_be_given(self):
        rows = SAMPLES["normal"][:, None]
        gamma = gamma_by_rule("sheather-jones", rows)
        many = gamma_by_rule("sheather-jones", rows, n_rows=32 * len(rows))
        assert_allclose(many, 4 * gamma, rtol=1e-12)
