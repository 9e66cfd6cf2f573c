"""Fourier series of rows: the fast transforms against the core's slow form."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.core import ToeplitzDensityMatrix
from rhokit.fast import Series, SeriesSums, numba_loops, series
from tests.support import without

SHAPES = [(1,), (2,), (40,), (41,), (1, 1), (31, 16), (9, 25), (13, 15, 8), (3, 1, 5)]
TOL = 1e-12
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(params=["finufft", "products"])
def package(request, monkeypatch):
    """Name of what does the work in more than one dimension."""
    if request.param == "products":
        monkeypatch.setattr(series, "finufft", lambda: None)
    return request.param


# ---- instances, and the definitions written out --------------------------------------


def steps_of(shape):
    """The differences l of a series, shape (*shape, d)."""
    axes = [np.arange(-(size // 2), size // 2 + 1) for size in shape[:-1]]
    return np.stack(np.meshgrid(*axes, np.arange(shape[-1]), indexing="ij"), axis=-1)


def copies(shape):
    """How many terms a number stands for: two, but one where the last step is 0."""
    return np.where(steps_of(shape)[..., -1] == 0, 1, 2)


def slow_sums(angles, mass, shape):
    total = np.zeros(shape, complex)
    for theta, weight in zip(angles, mass, strict=True):
        total += weight * np.exp(1j * steps_of(shape) @ theta)
    return total


def slow_values(coefficients, angles):
    """``Re Σ_l c_l exp(-i l·θ)``, shape (K, n)."""
    shape = coefficients.shape[1:]
    values = [
        [(c * copies(shape) * np.exp(-1j * steps_of(shape) @ t)).real.sum()]
        for c in coefficients
        for t in angles
    ]
    return np.reshape(values, (len(coefficients), len(angles)))


def gaussian(shape):
    """A kernel's spectrum, below 1e-12 at its ends, whose kernel has the peak one."""
    steps = steps_of(shape) / np.maximum(
        1, steps_of(shape).reshape(-1, len(shape)).max(0)
    )
    spectrum = np.exp(-((7.5 * steps) ** 2).sum(axis=-1) / 2)
    return spectrum / (spectrum * copies(shape)).sum()


def flat(shape):
    """No decay at all: the hardest spectrum with the peak one."""
    return np.ones(shape) / copies(shape).sum()


def random_angles(rng, n, d):
    """Within half a turn, column by column as maps make them."""
    return np.asfortranarray(rng.uniform(-np.pi, np.pi, size=(n, d)))


def random_mass(rng, n, n_outcomes):
    """Weights, a third of them zero."""
    return rng.uniform(size=(n, n_outcomes)) * rng.integers(0, 3, (n, n_outcomes))


def summed(spectrum, angles, mass, tol=TOL):
    sums = SeriesSums(spectrum, mass.shape[1], tol)
    sums.add(0, angles, mass)
    return sums.total()


def means_of(rng, spectrum, n_outcomes, n=30):
    """Coefficients (K, ...) of the densities of random rows."""
    angles = random_angles(rng, n, spectrum.ndim)
    mass = random_mass(rng, n, n_outcomes)
    return ToeplitzDensityMatrix.from_angles(angles, spectrum, mass).normalized()


def assert_within(total, expected, weight, tol=TOL):
    """Values of the series (K, ...) differ by at most ``tol`` for each row."""
    assert total.shape == expected.shape
    assert total.dtype == np.complex128
    errors = (np.abs(total - expected) * copies(total.shape[1:])).reshape(
        len(total), -1
    )
    assert (errors.sum(axis=1) <= tol * weight + 1e-300).all()


class TestSums:
    @every_shape
    @pytest.mark.parametrize(("n", "n_outcomes"), [(1, 1), (50, 1), (50, 2), (50, 5)])
    def test_equal_the_core(self, loops, package, rng, shape, n, n_outcomes):
        spectrum = gaussian(shape)
        angles = random_angles(rng, n, len(shape))
        mass = random_mass(rng, n, n_outcomes)
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum, mass)
        total = summed(spectrum, angles, mass)
        assert_within(total, exact.total, exact.weight)

    @every_shape
    @pytest.mark.parametrize("n_outcomes", [1, 2])
    def test_no_rows(self, loops, package, shape, n_outcomes):
        nothing = np.zeros((0, len(shape))), np.zeros((0, n_outcomes))
        total = summed(gaussian(shape), *nothing)
        assert_array_equal(total, np.zeros((n_outcomes, *shape)))

    @every_shape
    def test_nothing_added(self, shape):
        total = SeriesSums(gaussian(shape), 2, TOL).total()
        assert_array_equal(total, np.zeros((2, *shape)))

    @every_shape
    @pytest.mark.parametrize("n_outcomes", [1, 3])
    def test_weights_of_zero(self, loops, package, rng, shape, n_outcomes):
        angles = random_angles(rng, 20, len(shape))
        mass = random_mass(rng, 20, n_outcomes)
        mass[:, -1] = 0
        total = summed(gaussian(shape), angles, mass)
        assert not total[-1].any()

    @pytest.mark.parametrize("shape", [(40,), (31, 16), (5, 7, 4)], ids=str)
    @pytest.mark.parametrize("workers", [[0, 0, 0], [2, 0, 1], [1, 1, 0]], ids=str)
    def test_several_workers(self, package, rng, shape, workers):
        spectrum = gaussian(shape)
        angles, mass = random_angles(rng, 30, len(shape)), random_mass(rng, 30, 2)
        sums = SeriesSums(spectrum, 2, TOL)
        for worker, start in zip(workers, (0, 10, 20), strict=True):
            block = slice(start, start + 10)
            sums.add(worker, angles[block], mass[block])
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum, mass)
        assert_within(sums.total(), exact.total, exact.weight)
        assert_array_equal(sums.total(), sums.total())

    def test_who_comes_first_changes_no_bit(self, rng):
        spectrum = gaussian((40,))
        blocks = [(random_angles(rng, 50, 1), random_mass(rng, 50, 1)) for _ in "abc"]
        totals = []
        for order in ([0, 1, 2], [2, 0, 1]):
            sums = SeriesSums(spectrum, 1, TOL)
            for worker in order:
                sums.add(worker, *blocks[worker])
            totals.append(sums.total())
        assert_array_equal(*totals)

    @pytest.mark.parametrize("shape", [(40,), (31, 16), (5, 7, 4)], ids=str)
    def test_workers_at_the_same_time(self, loops, package, rng, shape):
        spectrum = gaussian(shape)
        angles, mass = random_angles(rng, 400, len(shape)), random_mass(rng, 400, 3)
        sums = SeriesSums(spectrum, 3, TOL)

        def work(worker):
            for start in range(100 * worker, 100 * worker + 100, 25):
                block = slice(start, start + 25)
                sums.add(worker, angles[block], mass[block])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum, mass)
        assert_within(sums.total(), exact.total, exact.weight)

    @pytest.mark.parametrize("shape", [(40,), (31, 16)], ids=str)
    def test_layouts_of_memory(self, loops, package, rng, shape):
        """Rows by rows, every other row, and one weight for all."""
        spectrum, d = gaussian(shape), len(shape)
        angles = random_angles(rng, 40, d)
        ones = np.broadcast_to(np.ones(1), (20, 1))
        expected = summed(spectrum, angles[::2].copy(order="F"), np.ones((20, 1)))
        for rows in (angles[::2], np.ascontiguousarray(angles[::2])):
            assert_within(summed(spectrum, rows, ones), expected, 20, 1e-14)


class TestValues:
    @every_shape
    @pytest.mark.parametrize("n_outcomes", [1, 2, 3, 4])
    def test_equal_the_core(self, loops, package, rng, shape, n_outcomes):
        means = means_of(rng, gaussian(shape), n_outcomes)
        means[-1] *= 0 if n_outcomes > 2 else 1
        angles = random_angles(rng, 33, len(shape))
        exact = ToeplitzDensityMatrix(means, np.ones(n_outcomes)).born(angles)
        values = Series(means, TOL).values(angles)
        assert values.shape == (33, n_outcomes)
        assert_allclose(values, exact, rtol=0, atol=TOL)

    @every_shape
    def test_rows_outside(self, loops, package, rng, shape):
        """Zero where any angle is infinite; the others as they were."""
        means = means_of(rng, gaussian(shape), 3)
        angles = random_angles(rng, 9, len(shape))
        evaluate = Series(means, TOL)
        expected = evaluate.values(angles).copy()
        angles[2, 0], angles[5, -1], angles[7] = np.inf, -np.inf, np.inf
        expected[[2, 5, 7]] = 0
        found = evaluate.values(angles)
        assert_allclose(found, expected, rtol=0, atol=1e-14)
        assert not found[[2, 5, 7]].any()
        assert not evaluate.values(np.full((3, len(shape)), np.inf)).any()

    @every_shape
    @pytest.mark.parametrize("n", [0, 1])
    def test_few_rows(self, loops, package, rng, shape, n):
        means = means_of(rng, gaussian(shape), 3)
        angles = random_angles(rng, n, len(shape))
        values = Series(means, TOL).values(angles)
        assert values.shape == (n, 3)
        assert_allclose(values, slow_values(means, angles).T, rtol=0, atol=TOL)

    @pytest.mark.parametrize("shape", [(40,), (31, 16)], ids=str)
    def test_series_of_zeros(self, loops, package, rng, shape):
        evaluate = Series(np.zeros((2, *shape)), TOL)
        assert not evaluate.values(random_angles(rng, 5, len(shape))).any()

    @pytest.mark.parametrize("shape", [(40,), (31, 16)], ids=str)
    @pytest.mark.parametrize("least", [0.0, 0.3])
    def test_densities_are_not_negative(self, loops, package, rng, shape, least):
        """Those below the least are zero, the others stay; values are left alone."""
        means = means_of(rng, flat(shape), 2)  # whose kernel rings
        angles = random_angles(rng, 200, len(shape))
        evaluate = Series(means, TOL, least)
        values, born = evaluate.values(angles), evaluate.born(angles)
        assert values.min() < -1e-3
        assert_allclose(values, slow_values(means, angles).T, rtol=0, atol=TOL)
        assert_array_equal(born, np.where(values < least, 0, values))

    @pytest.mark.parametrize("shape", [(40,), (31, 16), (5, 7, 4)], ids=str)
    def test_sums_of_rows_are_densities(self, package, rng, shape):
        """There and back: kernels about each row, added up one by one."""
        spectrum = gaussian(shape)
        angles, probes = (random_angles(rng, n, len(shape)) for n in (12, 7))
        values = Series(summed(spectrum, angles, np.ones((12, 1))), TOL).values(probes)
        expected = sum(slow_values(spectrum[None], probes - row) for row in angles)
        assert_allclose(values, expected.T, rtol=0, atol=24 * TOL)


class TestTolerance:
    @pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-12])
    @pytest.mark.parametrize("make", [gaussian, flat])
    @pytest.mark.parametrize("shape", [(300,), (31, 16), (13, 15, 8)], ids=str)
    def test_honoured(self, loops, rng, shape, make, tol):
        if make is flat:
            tol = max(tol, 1e-9)  # finufft's own limit, without any decay
        spectrum, d = make(shape), len(shape)
        angles = random_angles(rng, 40, d)
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum)
        total = summed(spectrum, angles, np.ones((40, 1)), tol)
        assert_within(total, exact.total, 40, tol)
        values = Series(exact.normalized(), tol).values(angles)
        assert_allclose(values, exact.born(angles), rtol=0, atol=tol)

    def test_of_the_worst_rows(self, loops):
        """All rows half-way between nodes, where every error has the same sign."""
        spectrum = gaussian((64,))
        for tol in np.geomspace(1e-2, 1e-11, 60):
            transform = series._Taylor(spectrum * copies((64,)), tol)
            step = 2 * np.pi / transform._n_nodes
            angles = np.full((50, 1), 3.4999999 * step)
            exact = ToeplitzDensityMatrix.from_angles(angles, spectrum)
            total = summed(spectrum, angles, np.ones((50, 1)), tol)
            assert_within(total, exact.total, 50, tol)
            values = Series(exact.normalized(), tol).values(angles)
            assert_allclose(values, exact.born(angles), rtol=0, atol=tol)

    def test_coarse_ones_cost_less(self):
        sizes = gaussian((64,))
        tables = [series._Taylor(sizes, tol).n_numbers for tol in (1e-7, 1e-10, 1e-12)]
        assert tables == sorted(set(tables))


def transforms_for(shape, sizes=None, tol=TOL):
    """Every transform that can do it."""
    sizes = gaussian(shape) if sizes is None else sizes
    able = [series._Nufft(shape, tol), series._Products(shape)]
    return able if len(shape) > 1 else [series._Taylor(sizes, tol), *able]


class TestTransforms:
    @every_shape
    def test_sums(self, loops, rng, shape):
        angles, mass = random_angles(rng, 40, len(shape)), rng.uniform(size=40)
        spectrum = gaussian(shape)
        exact = spectrum * slow_sums(angles, mass, shape)
        for transform in transforms_for(shape):
            total = spectrum * transform.sums(angles, mass)
            assert_within(total[None], exact[None], mass.sum())

    @every_shape
    @pytest.mark.parametrize("n_outcomes", [1, 2, 3])
    def test_values(self, loops, rng, shape, n_outcomes):
        means = means_of(rng, gaussian(shape), n_outcomes)
        angles = random_angles(rng, 20, len(shape))
        exact = slow_values(means, angles)
        for transform in transforms_for(shape):
            values = transform.values(transform.prepare(means), angles)
            assert_allclose(values, exact, rtol=0, atol=TOL)

    @pytest.mark.parametrize("n_modes", [1, 2, 7, 40, 41])
    def test_rows_on_nodes_and_at_the_ends(self, loops, n_modes):
        """Of the Taylor series: nodes, their middles, the ends and their neighbours."""
        spectrum = gaussian((n_modes,))
        taylor, *others = transforms_for((n_modes,))
        n = taylor._n_nodes
        nodes = np.arange(-(n // 2), n // 2 + 1) * (2 * np.pi / n)
        ends = np.array([np.pi, np.nextafter(np.pi, 0), 0.0, -0.0, 5e-324])
        places = np.concatenate([nodes, nodes[:-1] + np.pi / n, ends, -ends])
        angles = np.clip(places, -np.pi, np.pi)[:, None]
        mass = np.linspace(1, 2, len(angles))
        exact = spectrum * slow_sums(angles, mass, (n_modes,))
        values = slow_values(spectrum[None], angles)
        for transform in (taylor, *others):
            total = spectrum * transform.sums(angles, mass)
            assert_within(total[None], exact[None], mass.sum())
            found = transform.values(transform.prepare(spectrum[None]), angles)
            assert_allclose(found, values, rtol=0, atol=TOL)

    @given(
        angles=st.lists(st.floats(-np.pi, np.pi), min_size=1, max_size=20),
        n_modes=st.integers(1, 50),
    )
    def test_any_rows(self, angles, n_modes):
        rows, mass = np.array(angles)[:, None], np.ones(len(angles))
        spectrum = gaussian((n_modes,))
        exact = spectrum * slow_sums(rows, mass, (n_modes,))
        for transform in transforms_for((n_modes,)):
            total = spectrum * transform.sums(rows, mass)
            assert_within(total[None], exact[None], len(rows))

    @pytest.mark.parametrize("n", [15, 16, 17, 50])
    @pytest.mark.parametrize("shape", [(40,), (9, 5), (5, 7, 4)], ids=str)
    def test_products_in_blocks(self, monkeypatch, rng, n, shape):
        monkeypatch.setattr(series, "_PRODUCT_NUMBERS", 1)  # 16 rows at a time
        transform, spectrum = series._Products(shape), gaussian(shape)
        angles, mass = random_angles(rng, n, len(shape)), rng.uniform(size=n)
        exact = spectrum * slow_sums(angles, mass, shape)
        total = spectrum * transform.sums(angles, mass)
        assert_within(total[None], exact[None], mass.sum())
        means = means_of(rng, spectrum, 2)
        values = transform.values(transform.prepare(means), angles)
        assert_allclose(values, slow_values(means, angles), rtol=0, atol=TOL)


class TestLoops:
    """Compiled loops against NumPy's, on tables that the core has no form of."""

    @pytest.mark.parametrize("n_modes", [1, 2, 40, 41])
    def test_twins(self, monkeypatch, rng, n_modes):
        transform = series._Taylor(gaussian((n_modes,)), TOL)
        ends = [[np.pi], [-np.pi], [0.0], [-0.0]]
        angles = np.concatenate([random_angles(rng, 500, 1), ends])
        mass = random_mass(rng, len(angles), 1)[:, 0]
        means = means_of(rng, gaussian((n_modes,)), 2)
        prepared = transform.prepare(means)
        probes = np.concatenate([angles, [[np.inf], [-np.inf], [3.15], [-3.15]]])
        found = {}
        for few in (0, np.inf):
            monkeypatch.setattr(numba_loops, "_FEW_NUMBERS", few)
            sums = transform.sums(angles, mass)
            found[few] = sums, transform.values(prepared, probes)
        for numba, numpy in zip(found[0], found[np.inf], strict=True):
            assert_allclose(numba, numpy, rtol=0, atol=1e-14 * mass.sum())
        for _, values in found.values():
            assert not values[:, -4:].any()


class TestChoice:
    def test_one_column_takes_taylor_series(self, package):
        assert isinstance(series.transform_for(gaussian((40,)), TOL), series._Taylor)

    def test_several_take_finufft_where_it_is(self, package):
        kind = {"finufft": series._Nufft, "products": series._Products}[package]
        for shape in ((9, 5), (5, 7, 4)):
            assert isinstance(series.transform_for(gaussian(shape), TOL), kind)

    def test_large_tables_are_left_to_finufft(self, package, monkeypatch, rng):
        monkeypatch.setattr(series, "_MOST_TABLE", 100)
        kind = {"finufft": series._Nufft, "products": series._Taylor}[package]
        spectrum, angles = gaussian((40,)), random_angles(rng, 30, 1)
        assert isinstance(series.transform_for(spectrum, TOL), kind)
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum)
        assert_within(summed(spectrum, angles, np.ones((30, 1))), exact.total, 30)
        values = Series(exact.normalized(), TOL).values(angles)
        assert_allclose(values, exact.born(angles), rtol=0, atol=TOL)


class TestLargeGrids:
    """Grids of which finufft takes the coarser settings."""

    @pytest.mark.parametrize("shape", [(1101, 501), (105, 105, 53)], ids=str)
    def test_equal_the_core(self, rng, shape):
        spectrum = gaussian(shape)
        transform = series.transform_for(spectrum, TOL)
        assert transform._options["upsampfac"] == 1.25
        angles = random_angles(rng, 6, len(shape))
        exact = ToeplitzDensityMatrix.from_angles(angles, spectrum)
        assert_within(summed(spectrum, angles, np.ones((6, 1))), exact.total, 6, 1e-11)
        values = Series(exact.normalized(), TOL).values(angles)
        assert_allclose(values, exact.born(angles), rtol=0, atol=1e-11)

    def test_small_ones_take_the_finer(self):
        assert series._Nufft((61, 31), TOL)._options["upsampfac"] == 2.0


# ---- fresh interpreters --------------------------------------------------------------

PREPARED = """
import numpy as np
from numpy.testing import assert_allclose
from rhokit.core import ToeplitzDensityMatrix
from rhokit.fast import Series, SeriesSums, numba_loops, series

numba_loops._FEW_NUMBERS = 0
finufft, compiled = series.finufft(), numba_loops.compiled_loops()
rng = np.random.default_rng(0)

def instances(n_outcomes):
    for shape in ((40,), (31, 16), (5, 7, 4)):
        spectrum = np.exp(-np.arange(shape[-1]) ** 2 / 60) * np.ones(shape)
        angles = rng.uniform(-np.pi, np.pi, size=(1000, len(shape)))
        mass = rng.uniform(size=(1000, n_outcomes))
        yield spectrum / spectrum.sum(), angles, mass

def summed(spectrum, angles, mass):
    sums = SeriesSums(spectrum, mass.shape[1], 1e-11)
    sums.add(0, angles, mass)
    return sums.total()
"""

AGAINST_THE_CORE = """
for spectrum, angles, mass in instances(1):
    exact = ToeplitzDensityMatrix.from_angles(angles, spectrum, mass)
    assert_allclose(summed(spectrum, angles, mass), exact.total, rtol=0, atol=1e-8)
    values = Series(exact.normalized(), 1e-11).values(angles)
    assert_allclose(values, exact.born(angles), rtol=0, atol=1e-11)
"""

OUTSIDERS = """
for package in (finufft, None):
    series.finufft = lambda: package
    for n_outcomes in (1, 2):
        for spectrum, angles, mass in instances(n_outcomes):
            expected = summed(spectrum, angles[100:], mass[100:])
            angles[:100], mass[:100] = np.inf, 0
            found = summed(spectrum, angles, mass)
            assert_allclose(found, expected, rtol=0, atol=1e-8)
"""


def run(*parts, **environment):
    """In a fresh interpreter, whose end by a signal is an error as any other."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(parts)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] or f"code {done.returncode}"


def test_finufft_missing():
    check = "assert finufft is None and compiled is not None"
    run(without("finufft"), PREPARED, check, AGAINST_THE_CORE)


def test_numba_switched_off():
    check = "assert compiled is None and finufft is not None"
    run(PREPARED, check, AGAINST_THE_CORE, RHOKIT_NUMBA="0")


@pytest.mark.parametrize("numba", ["0", "1"])
def test_outsiders_without_weight_add_nothing(numba):
    """Maps give infinite angles to rows outside the box."""
    run(PREPARED, OUTSIDERS, RHOKIT_NUMBA=numba)
