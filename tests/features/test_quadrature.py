"""A grid of frequencies: nearly exact inside its box, zero outside."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.features import QuadratureFeatures
from rhokit.features.box import FrequencyGrid
from tests.features.support import kernel, lengths, squared_overlaps


@st.composite
def boxes(draw):
    """Rows, γ and tol with a grid of a few thousand points at most."""
    d = draw(st.integers(1, 3))
    tol = draw(st.sampled_from([1e-8, 1e-5, 1e-3, 1e-1][d - 1 :]))
    gamma = 10.0 ** draw(st.integers(-12, 12))
    # Widths in units of the kernel's own, down to a single point.
    longest = {1: 50, 2: 12, 3: 4}[d]
    widths = [draw(st.sampled_from([0, 0.5, 2, longest])) for _ in range(d)]
    corner = [draw(st.sampled_from([0, -3, 7])) for _ in range(d)]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    inside = np.concatenate([[np.zeros(d), np.ones(d)], rng.uniform(size=(15, d))])
    return (corner + inside * widths) / np.sqrt(gamma), gamma, tol


def period(feature_map, column=0):
    """Shift in one column after which the cosines repeat."""
    steps = np.unique(np.abs(feature_map.frequencies_[column]))
    return 2 * np.pi / steps[steps > 0].min()


def fit(low, high, **parameters):
    return QuadratureFeatures(**parameters).fit(np.array([low, high], float))


class TestKernel:
    @given(boxes())
    def test_error_is_below_tol(self, case):
        rows, gamma, tol = case
        feature_map = QuadratureFeatures(gamma=gamma, tol=tol).fit(rows)
        states = feature_map.transform(rows)
        error = squared_overlaps(states, states) - kernel(rows, rows, gamma)
        assert np.abs(error).max() <= tol + 1e-13

    @given(boxes())
    def test_length_one(self, case):
        rows, gamma, tol = case
        states = QuadratureFeatures(gamma=gamma, tol=tol).fit_transform(rows)
        assert_allclose(lengths(states), 1, rtol=1e-12)

    @pytest.mark.parametrize("d", [1, 2])
    def test_rows_within_tail_of_the_box(self, d):
        feature_map = fit([0.0] * d, [3.0] * d, gamma=2.0, tol=1e-5)
        inside = np.random.default_rng(0).uniform(0, 3, size=(40, d))
        margin = feature_map.tail_ * np.linspace(-1, 1, 41)[:, None]
        around = np.where(margin < 0, margin, 3 + margin) * np.ones(d)
        overlap = squared_overlaps(*map(feature_map.transform, (inside, around)))
        assert_allclose(overlap, kernel(inside, around, 2.0), atol=2e-5)

    def test_single_precision(self):
        rows = np.random.default_rng(1).uniform(-5, 5, size=(50, 2)).astype("float32")
        states = QuadratureFeatures(tol=1e-4).fit_transform(rows)
        assert states.dtype == np.float32
        error = squared_overlaps(states, states) - kernel(rows, rows, 1.0)
        assert np.abs(error).max() < 1e-4 + 1e-5

    def test_floor(self):
        """Overlaps that should be zero are below it."""
        for tol in (1e-8, 1e-3):
            feature_map = fit([0.0], [50.0], tol=tol)
            states = feature_map.transform([[1.0], [49.0]])
            assert squared_overlaps(states, states)[0, 1] <= np.exp(
                feature_map.log_floor_
            )

    def test_a_smaller_tol_needs_a_larger_grid(self):
        sizes = [fit([0.0], [5.0], tol=tol).n_components_ for tol in (1e-2, 1e-5, 1e-9)]
        assert sizes == sorted(set(sizes))


class TestOutside:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_zero_and_never_an_alias(self, d):
        feature_map = fit([0.0] * d, [1.0] * d, gamma=4.0, tol=1e-3)
        shift = period(feature_map) * np.eye(d)[0]
        middle = np.full((1, d), 0.5)
        multiples = np.array([-7, -2, -1, 1, 2, 1000])[:, None]
        images = feature_map.transform(middle + multiples * shift)
        assert_array_equal(images, np.zeros_like(images))
        assert_allclose(lengths(feature_map.transform(middle)), 1)

    def test_the_edge_is_box_and_tail(self):
        feature_map = fit([2.0], [3.0], gamma=4.0, tol=1e-3)
        edge = feature_map.tail_ * (1 + np.array([-1e-6, 1e-6]))
        outside = lengths(feature_map.transform(np.r_[3 + edge, 2 - edge][:, None]))
        assert_allclose(outside, [1, 0, 1, 0], atol=1e-12)
        # Of the kernel's peak what is the tolerance of a density's, were it flat.
        volume = 1 + 2 * math.sqrt(-math.log(1e-3) / 4.0)
        least_peak = math.sqrt(math.pi / 4.0) / volume
        assert_allclose(np.exp(-4.0 * feature_map.tail_**2), 1e-3 * least_peak)

    @pytest.mark.parametrize("real", ["float32", "float64"])
    def test_as_far_as_numbers_go(self, real):
        most = np.finfo(real).max
        rows = np.array([[0.0], [1.0], [most], [-most], [most / 4]], real)
        feature_map = QuadratureFeatures(gamma=9.0).fit(rows[:2])
        assert_allclose(lengths(feature_map.transform(rows)), [1, 1, 0, 0, 0])

    def test_rows_of_single_precision_are_inside_their_own_box(self):
        rows = np.random.default_rng(2).uniform(1e3, 1e3 + 1, size=(200, 1))
        feature_map = QuadratureFeatures(gamma=9.0, tol=1e-3).fit(rows)
        feature_map.refuse_outsiders(rows.astype("float32"))

    def test_outsiders_are_named(self):
        feature_map = fit([0.0, 10.0], [1.0, 20.0], tol=1e-2)
        rows = np.array([[0.5, 15.0], [0.5, 20.5], [7.0, 15.0]])
        feature_map.refuse_outsiders(rows[:1])
        with pytest.raises(
            ValueError,
            match=r"2 of 3 rows .* in row 1: column 1 is 20\.5 .* \[10, 20\].*bounds=",
        ):
            feature_map.refuse_outsiders(rows)


class TestBox:
    def test_bounds_take_the_place_of_the_rows(self):
        rows = np.array([[0.2, 0.5], [0.4, 0.1]])
        bounds = [[0, -1], [1, 2]]
        feature_map = QuadratureFeatures(bounds=bounds, tol=1e-2).fit(rows)
        assert_array_equal([feature_map.low_, feature_map.high_], bounds)
        other = QuadratureFeatures(bounds=bounds, tol=1e-2).fit(rows[:1] + 0.3)
        assert other.fingerprint() == feature_map.fingerprint()

    @pytest.mark.parametrize(
        "bounds",
        [
            [[0.0], [1.0]],
            [[0.0, 2.0], [1.0, 1.0]],
            [[0.0, np.nan], [1.0, 1.0]],
            [[0.0, -np.inf], [1.0, 1.0]],
            [["a", "b"], ["c", "d"]],
            [[0.0, 1.0], [2.0]],
            [0.0, 1.0],
        ],
        ids=str,
    )
    def test_bounds_are_checked(self, bounds):
        with pytest.raises(ValueError, match=r"'bounds'.*shape \(2, 2\).*Got \["):
            QuadratureFeatures(bounds=bounds).fit(np.zeros((3, 2)))

    @pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e12])
    @pytest.mark.parametrize("rows", [[[3.0]], [[2.0, 5.0]], [[1.0]] * 4], ids=str)
    def test_one_row_or_constant_columns(self, gamma, rows):
        feature_map = QuadratureFeatures(gamma=gamma, tol=1e-3).fit(rows)
        states = feature_map.transform(rows)
        assert_allclose(squared_overlaps(states, states), 1, rtol=1e-12)
        assert feature_map.n_components_ < 100

    @pytest.mark.parametrize(
        ("rows", "gamma"),
        [
            ([[0.0], [4.0]], 1e12),
            ([[0.0, 0, 0], [90.0, 90, 90]], 1.0),
            ([[0.0], [1e300]], 1e300),
            ([[0.0, 0.0], [1e200, 1e200]], 1e200),
        ],
        ids=str,
    )
    def test_grids_that_are_too_large(self, rows, gamma):
        with pytest.raises(
            ValueError, match=r"needs [\d,]+ components.*=8,192"
        ) as info:
            QuadratureFeatures(gamma=gamma).fit(rows)
        assert f"gamma={gamma}" in str(info.value)

    def test_max_components_is_the_limit(self):
        size = fit([0.0], [5.0]).n_components_
        assert fit([0.0], [5.0], max_components=size).n_components_ == size
        with pytest.raises(ValueError, match=rf"max_components={size - 1}:"):
            fit([0.0], [5.0], max_components=size - 1)

    @given(boxes())
    def test_grid_size_is_known_beforehand(self, case):
        rows, gamma, tol = case
        feature_map = QuadratureFeatures(gamma=gamma, tol=tol).fit(rows)
        grid = FrequencyGrid.for_box(gamma, np.ptp(rows, axis=0), tol)
        assert grid.n_points == feature_map.n_components_

    def test_more_than_three_columns(self):
        with pytest.raises(
            ValueError, match=r"1 to 3 columns, got 4.*LandmarkFeatures"
        ):
            QuadratureFeatures().fit(np.zeros((2, 4)))

    def test_rows_of_no_weight_do_not_widen_the_box(self):
        rows = np.array([[0.0], [1.0], [99.0]])
        feature_map = QuadratureFeatures().fit(rows, sample_weight=[1, 2, 0])
        assert feature_map.high_ == [1.0]

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_box_is_where_states_are_not_zero(self, d):
        low, high = np.arange(d) - 1.0, np.arange(d) + 2.0
        feature_map = fit(low, high, gamma=3.0, tol=1e-1)
        lowest, highest = feature_map.box()
        assert_allclose(lowest, low - feature_map.tail_, rtol=1e-12)
        assert_allclose(highest, high + feature_map.tail_, rtol=1e-12)
        middle, step = (low + high) / 2, 1e-6 * np.eye(d)
        for j, side in enumerate(step):
            for corner, sign in ((lowest, -1), (highest, 1)):
                edge = middle.copy()
                edge[j] = corner[j]
                states = feature_map.transform([edge - sign * side, edge + sign * side])
                assert_allclose(lengths(states), [1, 0], atol=1e-12)


class TestMassMatrix:
    """The integral over the box of the products of states."""

    def integral(self, feature_map, d, count=60):
        """By Gauss and Legendre's rule, exact to rounding for these waves."""
        nodes, weights = np.polynomial.legendre.leggauss(count)
        low, high = feature_map.box()
        points = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1)
        points = low + (points.reshape(-1, d) + 1) * (high - low) / 2
        weight = weights
        for _ in range(d - 1):
            weight = np.kron(weight, weights)
        volume = weight * np.prod((high - low) / 2)
        states = feature_map.transform(points)
        total = (states * volume[:, None]).T @ states
        return total / np.exp(feature_map.log_mass())

    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize("gamma", [0.3, 2.0])
    def test_numerical_integration(self, d, gamma):
        low, high = np.arange(d) - 3.0, np.arange(d) - 1.5
        feature_map = fit(low, high, gamma=gamma, tol=1e-2)
        found = feature_map.mass_matrix()
        assert_allclose(found, self.integral(feature_map, d), atol=1e-9)
        assert np.linalg.eigvalsh(found).min() > -1e-12

    def test_three_columns(self):
        feature_map = fit([0.0, 1.0, 2.0], [0.5, 1.5, 2.5], gamma=1.0, tol=0.3)
        found = feature_map.mass_matrix()
        assert_allclose(found, self.integral(feature_map, 3, 24), atol=1e-9)

    @pytest.mark.parametrize("d", [1, 2])
    def test_a_mean_over_rows_has_mass_one(self, d):
        rows = np.random.default_rng(3).uniform(-2, 2, size=(30, d))
        feature_map = QuadratureFeatures(gamma=2.0, tol=1e-4).fit(rows)
        states = feature_map.transform(rows)
        rho = states.T @ states / len(rows)
        assert_allclose(np.trace(rho @ feature_map.mass_matrix()), 1, atol=1e-3)
