"""Waves on a regular grid: their frequencies, their box, and the states they make."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import maxwell, norm, rayleigh
from sklearn.base import clone

from rhokit.core import ToeplitzDensityMatrix
from rhokit.features import GridFeatures, QuadratureFeatures
from rhokit.features.box import FrequencyGrid
from tests.features.support import kernel, squared_overlaps

# Small grids of every dimension: γ, widths of the box, tol.
GRIDS = {
    "one column": (2.0, [3.0], 1e-8),
    "a narrow kernel": (1e6, [0.05], 1e-8),
    "a wide kernel": (1e-6, [10.0], 1e-8),
    "a point": (5.0, [0.0], 1e-8),
    "a coarse tol": (1.0, [0.0], 0.9),
    "two columns": (2.0, [3.0, 1.0], 1e-6),
    "a line of two": (0.1, [0.0, 9.0], 1e-6),
    "three columns": (1.0, [0.5, 1.5, 0.0], 1e-3),
}
every_grid = pytest.mark.parametrize("case", GRIDS.values(), ids=GRIDS.keys())
every_d = pytest.mark.parametrize("d", [1, 2, 3])
TOL = {1: 1e-8, 2: 1e-8, 3: 1e-2}  # that keep the dense form small


def grid_of(case):
    gamma, widths, tol = case
    return FrequencyGrid.for_box(gamma, np.array(widths), tol)


def kernel_tol(grid):
    return math.exp(grid.log_tol)


def lattice(grid):
    """All whole numbers j with ``|j h| <= cut``, shape (D, d), one by one."""
    ends = [int(grid.cut / step) + 1 for step in grid.spacing]
    points = product(*(range(-end, end + 1) for end in ends))
    return np.array([j for j in points if np.linalg.norm(j * grid.spacing) <= grid.cut])


def autocorrelation(grid):
    """``Σ_{j-k=l} p_j p_k`` for every difference l that there is."""
    points = lattice(grid)
    power = np.exp(-((points * grid.spacing) ** 2).sum(axis=1) / (2 * grid.gamma))
    power /= power.sum()
    most = points.max(axis=0)
    full = np.zeros(4 * most + 1)
    for point, p in zip(points, power, strict=True):
        np.add.at(full, tuple((points - point + 2 * most).T), p * power)
    return full


class TestFrequencies:
    @every_grid
    def test_kernel_tol(self, case):
        """A density over the box and its surroundings is one over their volume."""
        gamma, widths, tol = case
        volume = 1.0
        for width in widths:
            volume *= width + 2 * math.sqrt(math.log(1 / tol) / gamma)
        mass = (math.pi / gamma) ** (len(widths) / 2)
        expected = min(tol, tol * mass / volume)
        assert_allclose(kernel_tol(grid_of(case)), expected, rtol=1e-12)

    def test_kernel_tol_does_not_vanish(self):
        grid = FrequencyGrid.for_box(1e300, np.array([1e300]), 1e-8)
        assert_allclose(kernel_tol(grid), 1e-200, rtol=1e-9)

    @every_grid
    def test_tail(self, case):
        grid = grid_of(case)
        at_tail = np.exp(-grid.gamma * grid.tail**2)
        assert_allclose(at_tail, kernel_tol(grid), rtol=1e-9)

    @every_grid
    def test_period_keeps_images_apart(self, case):
        """From a row at the tail of the box to the image of the box's other end."""
        grid = grid_of(case)
        assert_allclose(grid.period * grid.spacing, 2 * np.pi)
        widths = np.array(case[1])
        gap = grid.period - widths - grid.tail
        assert (gap > grid.tail).all()
        assert_allclose(
            np.exp(-grid.gamma * ((grid.period - widths) / 2) ** 2),
            kernel_tol(grid) / 4,
            rtol=1e-9,
        )

    @every_grid
    def test_cut(self, case):
        """Normal frequencies of variance γ are beyond it with a small probability."""
        grid = grid_of(case)
        far = grid.cut / np.sqrt(grid.gamma)
        beyond = {1: 2 * norm.sf(far), 2: rayleigh.sf(far), 3: maxwell.sf(far)}
        assert_allclose(beyond[grid.d], kernel_tol(grid) / 16, rtol=1e-6)

    @every_grid
    def test_half_points(self, case):
        grid = grid_of(case)
        half = grid.half_points()
        zero = np.zeros((1, grid.d))
        found = np.concatenate([half, zero, -half]) / grid.spacing
        assert_allclose(found, np.rint(found), atol=1e-9)
        found = sorted(map(tuple, np.rint(found).astype(int).tolist()))
        assert found == sorted(map(tuple, lattice(grid).tolist()))
        assert grid.n_points == len(found) == np.count_nonzero(grid.amplitudes())

    @every_grid
    def test_spectrum_is_the_autocorrelation(self, case):
        grid = grid_of(case)
        full, found = autocorrelation(grid), grid.spectrum()
        assert found.shape == grid.shape
        middle = np.array(full.shape) // 2
        ends = [size // 2 for size in grid.shape[:-1]]
        kept = [slice(m - e, m + e + 1) for m, e in zip(middle, ends, strict=False)]
        last = slice(middle[-1], middle[-1] + grid.shape[-1])
        assert_allclose(found, full[(*kept, last)], atol=1e-16)
        assert (found > 0).all()

    @every_grid
    def test_shape_leaves_little_out(self, case):
        grid = grid_of(case)
        assert all(size % 2 for size in grid.shape[:-1])
        assert grid.n_modes == math.prod(grid.shape)
        spectrum = grid.spectrum()
        both_sides = spectrum.sum() + spectrum[..., 1:].sum()
        assert 1 - both_sides <= kernel_tol(grid)
        # Nor is it larger than all differences.
        most = 2 * lattice(grid).max(axis=0)
        assert (np.array(grid.shape[:-1]) <= 2 * most[:-1] + 1).all()
        assert grid.shape[-1] <= most[-1] + 1

    def test_shape_leaves_something_out(self):
        grid = FrequencyGrid.for_box(1.0, np.array([100.0]), 1e-8)
        assert grid.shape[0] < 0.9 * len(grid.amplitudes())

    @pytest.mark.parametrize("d", [1, 2])
    def test_absurd_grids_are_only_counted(self, d):
        grid = FrequencyGrid.for_box(1e200, np.full(d, 1e100), 1e-8)
        assert grid.n_modes == grid.n_points == 10**18

    @given(
        gamma=st.integers(-12, 12).map(lambda power: 10.0**power),
        width=st.sampled_from([0, 0.1, 1, 20, 300]),
        tol=st.sampled_from([1e-12, 1e-8, 1e-3, 0.3]),
    )
    def test_series_of_the_spectrum_is_the_kernel(self, gamma, width, tol):
        grid = FrequencyGrid.for_box(gamma, np.array([width / math.sqrt(gamma)]), tol)
        spectrum = grid.spectrum()
        far = width / math.sqrt(gamma) + grid.tail
        distances = np.linspace(0, far, 101)
        waves = np.cos(np.outer(distances, np.arange(len(spectrum)) * grid.spacing))
        found = waves @ spectrum + waves[:, 1:] @ spectrum[1:]
        error = found - np.exp(-gamma * distances**2)
        assert np.abs(error).max() <= kernel_tol(grid) + 1e-14


def drawn_rows(d, n=40, seed=0):
    """Rows of a box that is small enough for the dense form."""
    scale = {1: 2.0, 2: 0.8, 3: 0.1}[d]
    return np.random.default_rng(seed).normal(0, scale, size=(n, d)) + np.arange(d)


@st.composite
def boxes(draw):
    """Rows, γ and tol: boxes of any width in units of the kernel, near zero or far."""
    d = draw(st.integers(1, 3))
    tol = draw(st.sampled_from([1e-8, 1e-5, 1e-2]))
    gamma = 10.0 ** draw(st.integers(-12, 12))
    longest = {1: 1000, 2: 30, 3: 4}[d]
    widths = [draw(st.sampled_from([0, 0.5, 3, longest])) for _ in range(d)]
    corner = [draw(st.sampled_from([0, -3, 1e4])) for _ in range(d)]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    inside = rng.uniform(size=(draw(st.integers(1, 40)), d))
    return (corner + inside * widths) / np.sqrt(gamma), gamma, tol


def fit(rows, gamma=2.0, **parameters):
    return GridFeatures(gamma=gamma, **parameters).fit(np.asarray(rows, float))


def state_of(feature_map, rows, outcomes=None):
    """The sums of rows, with weights (n, K)."""
    outcomes = np.ones((len(rows), 1)) if outcomes is None else outcomes
    sums = feature_map.sums(outcomes.shape[1])
    sums.add(0, feature_map.columns(rows)[0], outcomes)
    return ToeplitzDensityMatrix(sums.total(), outcomes.sum(axis=0))


def measure(feature_map, state, rows):
    """Density of rows over the kernel's own mass, shape (n, K)."""
    columns, _ = feature_map.columns(np.asarray(rows, float))
    return feature_map.series(state.normalized()).values(columns)


def around(feature_map, seed=1, n=200):
    """Rows of the box where the density is not zero."""
    low, high = feature_map.box()
    uniform = np.random.default_rng(seed).uniform(size=(n, len(low)))
    return low + uniform * (high - low)


def assert_density(found, expected, tol):
    """Equal up to an error of ``tol`` of the peak."""
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=0, atol=tol * expected.max())


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("gamma", 0.0),
            ("gamma", np.inf),
            ("gamma", "scott"),
            ("tol", 0.0),
            ("tol", 1.0),
            ("bounds", 3.0),
            ("bounds", [[0.0, 0.0], [1.0, 1.0]]),
            ("margin", -0.1),
            ("margin", np.nan),
            ("outside", "drop"),
            ("max_modes", 0),
            ("max_modes", 1e3),
        ],
    )
    def test_refused_by_name(self, name, value):
        with pytest.raises(ValueError, match=rf"'{name}' parameter of GridFeatures"):
            GridFeatures(**{name: value}).fit([[0.0], [1.0]])

    def test_more_than_three_columns(self):
        message = r"GridFeatures works for 1 to 3 columns, got 4.*LandmarkFeatures"
        with pytest.raises(ValueError, match=message):
            GridFeatures().fit(np.zeros((2, 4)))

    def test_max_modes_is_the_limit(self):
        rows = drawn_rows(2)
        size = fit(rows).spectrum_.size
        assert fit(rows, max_modes=size).spectrum_.size == size
        with pytest.raises(ValueError, match=rf"needs {size:,} modes.*={size - 1:,}:"):
            fit(rows, max_modes=size - 1)

    @pytest.mark.parametrize("d", [1, 3])
    def test_absurd_boxes(self, d):
        with pytest.raises(ValueError, match=r"needs [\d,]+ modes for gamma=1e\+200"):
            fit(np.array([[-1e200] * d, [1e200] * d]), gamma=1e200)

    def test_clone_and_pickle(self):
        feature_map = fit(drawn_rows(2), tol=1e-4, margin=0.1, outside="refuse")
        assert clone(feature_map).get_params() == feature_map.get_params()
        assert not hasattr(clone(feature_map), "spectrum_")
        loaded = pickle.loads(pickle.dumps(feature_map))
        assert loaded.fingerprint() == feature_map.fingerprint()
        assert_array_equal(loaded.spectrum_, feature_map.spectrum_)


class TestBox:
    @pytest.mark.parametrize("margin", [0.0, 0.25])
    def test_of_the_rows_that_count(self, margin):
        rows = np.array([[0.0, 5.0], [2.0, 5.0], [1.0, 5.0], [9.0, 9.0]])
        feature_map = GridFeatures(margin=margin, tol=1e-3)
        feature_map.fit(rows, sample_weight=[1, 2, 1, 0])
        assert_allclose(feature_map.low_, [-2 * margin, 5.0])
        assert_allclose(feature_map.high_, [2 + 2 * margin, 5.0])
        assert_allclose(feature_map.middle_, [1, 5])

    def test_bounds_are_taken_as_they_are(self):
        bounds = [[-1.0], [2.0]]
        feature_map = fit([[0.3], [99.0]], bounds=bounds, margin=0.5)
        assert_array_equal([feature_map.low_, feature_map.high_], bounds)

    @pytest.mark.parametrize("axes", [[1], [2, 0]])
    @pytest.mark.parametrize("bounds", [None, [[-1.0, 0.0, 0.5], [1.0, 2.0, 3.5]]])
    def test_restricted(self, axes, bounds):
        rows = drawn_rows(3)
        kept = None if bounds is None else np.array(bounds)[:, axes]
        whole, expected = fit(rows, bounds=bounds), fit(rows[:, axes], bounds=kept)
        found, rows = whole.restricted(axes), rows[:, axes]
        assert_array_equal(found.spectrum_, expected.spectrum_)
        assert_array_equal(found.columns(rows)[0], expected.columns(rows)[0])
        assert_array_equal(found.bounds, kept)
        assert (found.n_features_in_, whole.n_features_in_) == (len(axes), 3)

    def test_widened(self):
        feature_map = fit([[0.0, 0.0], [1.0, 2.0]], tol=1e-4)
        wider = feature_map.widened(np.array([-3.0, 1.0]), np.array([0.5, 4.0]))
        assert_array_equal([wider.low_, wider.high_], [[-3, 0], [1, 4]])
        expected = fit([[-3.0, 0.0], [1.0, 4.0]], tol=1e-4)
        assert_array_equal(wider.spectrum_, expected.spectrum_)
        assert_array_equal([feature_map.low_, feature_map.high_], [[0, 0], [1, 2]])
        assert wider.has_box_of(expected)
        assert not wider.has_box_of(feature_map)

    def test_widened_refuses_large_grids(self):
        feature_map = fit([[0.0], [1.0]], max_modes=100)
        with pytest.raises(ValueError, match=r"modes.*max_modes=100"):
            feature_map.widened(np.array([-1e4]), np.array([1.0]))

    @pytest.mark.parametrize("rows", [[[7.0, 0.5]], [[0.5, -9.0], [-1.0, 0.5]]])
    def test_widened_for_rows_makes_room(self, rows):
        feature_map = fit([[0.0, 0.0], [1.0, 1.0]], gamma=9.0, tol=1e-3)
        wider, rows = feature_map.widened_for(np.array(rows)), np.array(rows)
        assert wider.holds(rows)
        beyond = [rows.min(axis=0) < 0, rows.max(axis=0) > 1]
        room = [rows.min(axis=0) - wider.low_, wider.high_ - rows.max(axis=0)]
        width = np.maximum(rows.max(axis=0), 1) - np.minimum(rows.min(axis=0), 0)
        width = np.maximum(width, 4 * feature_map.tail_)
        for past, spare in zip(beyond, room, strict=True):
            assert (spare[past] >= width[past] / 2 - 1e-12).all()
        # Sides that are not passed stay.
        assert_array_equal(wider.low_[~beyond[0]], 0)
        assert_array_equal(wider.high_[~beyond[1]], 1)

    def test_widened_for_rows_without_room(self):
        feature_map = fit([[0.0], [1.0]])
        size = fit([[0.0], [20.0]]).spectrum_.size
        feature_map.max_modes = size
        wider = feature_map.widened_for(np.array([[20.0]]))
        assert_array_equal([wider.low_, wider.high_], [[0.0], [20.0]])
        with pytest.raises(ValueError, match="max_modes"):
            feature_map.widened_for(np.array([[30.0]]))

    def test_outsiders_are_counted_and_named(self):
        feature_map = fit([[0.0, 10.0], [1.0, 20.0]], tol=1e-2)
        rows = np.array([[0.5, 15.0], [0.5, 20.5], [7.0, 15.0]])
        assert feature_map.holds(rows[:1])
        assert not feature_map.holds(rows)
        assert feature_map.n_outside(rows) == 2
        message = r"2 of 3 rows .* GridFeatures, .* column 1 is 20\.5 .* \[10, 20\]"
        with pytest.raises(ValueError, match=message):
            feature_map.refuse_outsiders(rows)


class TestColumns:
    @every_d
    def test_angles(self, d):
        feature_map = fit(drawn_rows(d), tol=TOL[d])
        rows = around(feature_map)
        angles, scale = feature_map.columns(rows)
        expected = 2 * np.pi * (rows - feature_map.middle_) / feature_map.period_
        assert scale is None
        assert_allclose(angles, expected, atol=1e-12)
        assert np.abs(angles).max() < np.pi
        assert feature_map.n_columns_ == d

    @every_d
    def test_infinite_outside_and_never_an_alias(self, d):
        feature_map = fit(drawn_rows(d), tol=TOL[d])
        multiples = np.array([-1000, -2, -1, 1, 2, 7])[:, None]
        for axis in np.eye(d):
            shift = multiples * feature_map.period_ * axis
            images = feature_map.middle_ + shift
            assert np.isinf(feature_map.columns(images)[0]).all()
            assert_array_equal(feature_map.lengths(images), 0)

    @every_d
    def test_the_edge_is_box_and_tail(self, d):
        feature_map = fit(drawn_rows(d), tol=TOL[d])
        half = (feature_map.high_ - feature_map.low_) / 2 + feature_map.tail_
        ends = feature_map.middle_ - half, feature_map.middle_ + half
        assert_allclose(feature_map.box(), ends)
        assert_allclose(feature_map.log_floor_, -2.0 * feature_map.tail_**2)
        for axis, sign in product(np.eye(d), (-1, 1)):
            steps = np.array([1 - 1e-6, 1 + 1e-6])[:, None]
            rows = feature_map.middle_ + sign * steps * half * axis
            assert_array_equal(feature_map.lengths(rows), [1, 0])
            assert_array_equal(feature_map.reach(rows), [1, 0])

    @pytest.mark.parametrize("real", ["float32", "float64"])
    def test_as_far_as_numbers_go(self, real):
        most = np.finfo(real).max
        rows = np.array([[0.0], [1.0], [most], [-most], [most / 4]], real)
        feature_map = GridFeatures(gamma=9.0).fit(rows[:2])
        assert_array_equal(feature_map.lengths(rows), [1, 1, 0, 0, 0])
        assert feature_map.lengths(rows).dtype == real


class TestStates:
    @every_d
    def test_dense_form(self, d):
        rows = drawn_rows(d)
        feature_map = fit(rows, tol=TOL[d])
        states, dense = feature_map.transform(rows), feature_map.dense()
        assert_array_equal(states, dense.transform(rows))
        own = QuadratureFeatures(gamma=2.0, tol=TOL[d]).fit(rows)
        assert dense.fingerprint() == own.fingerprint()
        assert states.shape[1] == feature_map.n_components_ == own.n_components_
        overlaps = squared_overlaps(states, states)
        assert_density(overlaps, kernel(rows, rows, 2.0), TOL[d])

    @given(boxes())
    def test_density_is_that_of_the_kernel(self, case):
        rows, gamma, tol = case
        feature_map = GridFeatures(gamma=gamma, tol=tol).fit(rows)
        probes = np.concatenate([rows, around(feature_map, n=50)])
        expected = kernel(probes, rows, gamma).mean(axis=1, keepdims=True)
        state = state_of(feature_map, rows)
        assert_density(measure(feature_map, state, probes), expected, tol)

    @pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e12])
    @pytest.mark.parametrize("rows", [[[3.0]], [[2.0, 5.0]], [[1.0]] * 4], ids=str)
    def test_one_row_or_constant_columns(self, gamma, rows):
        feature_map = fit(rows, gamma)
        probes = around(feature_map)
        expected = kernel(probes, rows, gamma).mean(axis=1, keepdims=True)
        state = state_of(feature_map, np.array(rows))
        assert_density(measure(feature_map, state, probes), expected, 1e-8)

    @every_d
    def test_another_box_keeps_the_density(self, d):
        rows, tol = drawn_rows(d), TOL[d]
        outcomes = np.random.default_rng(2).uniform(size=(len(rows), 2))
        feature_map = fit(rows, tol=tol)
        wider = feature_map.widened(feature_map.low_ - 1, feature_map.high_ + 0.5)
        state = wider.state_from(state_of(feature_map, rows, outcomes), feature_map)
        assert_array_equal(state.weight, outcomes.sum(axis=0))
        probes = np.concatenate([around(feature_map), around(wider), rows])
        expected = kernel(probes, rows, 2.0) @ (outcomes / outcomes.sum(axis=0))
        assert_density(measure(wider, state, probes), expected, 2 * tol)

    @pytest.mark.parametrize("moved", [False, True], ids=["as summed", "moved"])
    @every_d
    def test_matrix_is_that_of_the_dense_form(self, d, moved):
        rows, tol = drawn_rows(d, 10), TOL[d]
        outcomes = np.random.default_rng(2).uniform(size=(len(rows), 2))
        feature_map = fit(rows, tol=tol)
        state = state_of(feature_map, rows, outcomes)
        if moved:
            ends = feature_map.low_ - 0.1, feature_map.high_ + 0.2
            old, feature_map = feature_map, feature_map.widened(*ends)
            state = feature_map.state_from(state, old)
        found = feature_map.to_dense(state)
        phi = feature_map.transform(rows)
        expected = np.stack([(phi.T * weights) @ phi for weights in outcomes.T])
        if not moved:  # which leaves errors in the smallest entries
            assert_allclose(found.total, expected, atol=math.sqrt(tol) / 10)
        assert_allclose(found.weight, outcomes.sum(axis=0))
        probes = feature_map.transform(around(feature_map))
        both = [((probes @ part) * probes).sum(axis=1) for part in expected]
        means = np.stack(both, axis=1) / found.weight
        assert_density(found.born(probes), means, tol if moved else tol / 100)


class TestPrecision:
    @every_d
    def test_single_precision(self, d):
        rows = drawn_rows(d).astype("float32")
        feature_map = GridFeatures(gamma=2.0, tol=TOL[d]).fit(rows)
        assert feature_map.columns(rows)[0].dtype == np.float64
        assert feature_map.transform(rows).dtype == np.float32
        expected = kernel(rows, rows, 2.0).mean(axis=1, keepdims=True)
        state = state_of(feature_map, rows)
        assert_density(measure(feature_map, state, rows), expected, TOL[d])

    @pytest.mark.parametrize("d", [1, 2])
    def test_rows_far_from_zero(self, d):
        rows = 1.7e9 + drawn_rows(d)
        feature_map = fit(rows)
        expected = kernel(rows, rows, 2.0).mean(axis=1, keepdims=True)
        state = state_of(feature_map, rows)
        assert_density(measure(feature_map, state, rows), expected, 1e-8)

    def test_states_of_rows_far_from_zero(self):
        rows = 1.7e9 + drawn_rows(1)
        states = fit(rows).transform(rows)
        assert_density(squared_overlaps(states, states), kernel(rows, rows, 2.0), 1e-8)

    def test_single_precision_far_from_zero_has_no_alias(self):
        """What may have been rounded out of the box is no more than that."""
        rows = 1e5 + np.random.default_rng(0).uniform(size=(50, 2)).astype("float32")
        feature_map = GridFeatures(gamma=1e4).fit(rows)
        state = state_of(feature_map, rows)
        peak = measure(feature_map, state, rows).max()
        beyond = feature_map.box()[1][0] + np.linspace(0, 0.1, 20)
        probes = np.array([*product(beyond, rows[:, 1])], "float32")
        columns, _ = feature_map.columns(probes)
        found = feature_map.series(state.normalized()).values(columns)
        assert_allclose(found / peak, 0, atol=1e-8)


class TestFingerprint:
    def test_what_counts(self):
        """Boxes do where they stay as they are."""
        ends, wider = [[0.0], [1.0]], [[0.0], [2.0]]
        same = [fit(ends), fit(wider), fit(ends, margin=0.5)]
        others = [
            fit(ends, gamma=3.0),
            fit(ends, tol=1e-7),
            fit(ends, outside="refuse"),
            fit(wider, outside="refuse"),
            GridFeatures(gamma=2.0).fit(np.array(ends, "float32")),
        ]
        same, others = ([m.fingerprint() for m in maps] for maps in (same, others))
        assert len(set(same)) == 1
        assert len({*same, *others}) == 6
