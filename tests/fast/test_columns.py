"""Fused feature columns, against their twins in the core."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import core
from rhokit.fast import (
    HadamardFrequencies,
    cosine_columns,
    gaussian_columns,
    gaussian_sums,
)
from rhokit.fast.numba_loops import compiled_loops
from tests.support import assert_close

PRECISION = {"float32": "single", "float64": "double"}
# Rows and columns: alone, fewer than a vector loop takes at once, several and a tail.
SIZES = [(1, 1), (1, 75), (5, 9), (5, 64), (140, 75)]
COSINE_ERROR = {
    ("numba", "float32"): 2e-7,
    ("numba", "float64"): 1e-15,
    ("numpy", "float32"): 5e-7,
    ("numpy", "float64"): 1e-14,
}
FAR = {
    "float32": [1e3, 1e9, 1.8e19, 1e20, 1e30, 3e38],
    "float64": [1e3, 1e9, 1e100, 1e150, 1e153],
}

# Columns of the rows: products over few of them are unrolled by four.
DIMENSIONS = [1, 2, 3, 4, 5, 8, 11, 12, 13, 40]

some_sizes = pytest.mark.parametrize(("n", "width"), SIZES)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def wide(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


def assert_untouched(arrays, copies):
    for array, copy in zip(arrays, copies, strict=True):
        assert_array_equal(array, copy)


class TestCosineColumns:
    def draw(self, rng, n, real, repeats=1, width=9, d=3):
        """Rows, frequencies and phases in turns, amplitudes."""
        dim = repeats * width
        parts = (
            rng.uniform(-1, 1, size=(n, d)),
            rng.uniform(-0.5, 0.5, size=(d, width)) / d,
            rng.uniform(size=dim),
            rng.uniform(0.5, 1, size=dim),
        )
        return [part.astype(real) for part in parts]

    def twin(self, drawn, normalize):
        rows, frequencies, phases, amplitudes = wide(*drawn)
        turn = 2 * np.pi
        return core.cosine_states(
            rows, turn * frequencies, turn * phases, amplitudes, normalize=normalize
        )

    @some_sizes
    @pytest.mark.parametrize("repeats", [1, 2])
    @pytest.mark.parametrize("normalize", [False, True])
    def test_twin(self, loops, real, rng, n, width, repeats, normalize):
        drawn = self.draw(rng, n, real, repeats, width)
        copies = [part.copy() for part in drawn]
        columns = cosine_columns(*drawn, normalize=normalize)
        assert columns.dtype == real
        assert_close(columns, self.twin(drawn, normalize), precision=PRECISION[real])
        assert_untouched(drawn, copies)

    @pytest.mark.parametrize("repeats", [1, 2])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_any_number_of_columns(self, loops, real, rng, d, repeats):
        drawn = self.draw(rng, 6, real, repeats, width=70, d=d)
        columns = cosine_columns(*drawn, normalize=True)
        assert_close(columns, self.twin(drawn, True), precision=PRECISION[real])

    @pytest.mark.parametrize("normalize", [False, True])
    def test_row_scale(self, loops, real, rng, normalize):
        drawn = self.draw(rng, 140, real)
        scale = rng.uniform(size=140).astype(real)
        scale[3] = 0
        columns = cosine_columns(*drawn, normalize=normalize, row_scale=scale)
        expected = self.twin(drawn, normalize) * scale[:, None]
        assert_close(columns, expected, precision=PRECISION[real])

    def test_out_is_the_memory_of_the_result(self, loops, real, rng):
        drawn = self.draw(rng, 140, real, repeats=2)
        buffer = np.full((200, 18), np.nan, real)
        columns = cosine_columns(*drawn, normalize=True, out=buffer[:140])
        assert np.shares_memory(columns, buffer)
        assert_array_equal(buffer[:140], cosine_columns(*drawn, normalize=True))
        assert np.isnan(buffer[140:]).all()

    @pytest.mark.parametrize("repeats", [1, 2])
    def test_wider_rows_keep_the_digits_of_many_turns(self, loops, rng, repeats):
        drawn = self.draw(rng, 140, "float64", repeats)
        rows = 1e6 * drawn[0]
        phases, amplitudes = (part.astype("float32") for part in drawn[2:])
        out = np.empty((140, len(phases)), "float32")
        cosine_columns(rows, drawn[1], phases, amplitudes, normalize=False, out=out)
        expected = self.twin((rows, drawn[1], phases, amplitudes), False)
        assert_allclose(out, expected, atol=1e-6)

    @some_sizes
    def test_structured_frequencies(self, loops, real, rng, n, width):
        rows, _, phases, amplitudes = self.draw(rng, n, real, width=width)
        signs = rng.choice(np.array([-1, 1], np.int8), size=(10, 3, 8))
        structured = HadamardFrequencies(signs, rng.uniform(size=width))
        columns = cosine_columns(rows, structured, phases, amplitudes, normalize=True)
        dense = np.eye(3) @ structured
        expected = self.twin((rows, dense, phases, amplitudes), True)
        assert_close(columns, expected, precision=PRECISION[real])

    def test_a_state_of_zeros_stays(self, loops, real, rng):
        rows, frequencies, phases, amplitudes = self.draw(rng, 3, real)
        columns = cosine_columns(
            rows, frequencies, phases, 0 * amplitudes, normalize=True
        )
        assert_array_equal(columns, np.zeros_like(columns))

    def test_error_of_the_cosine(self, loops, real):
        turns = np.linspace(-0.5, 0.5, 100_001, dtype=real)[:, None]
        one = np.ones(1, real)
        cosine = cosine_columns(turns, one[None], 0 * one, one, normalize=False)
        exact = np.cos(2 * np.pi * turns.astype(np.longdouble))
        assert_allclose(
            cosine, exact.astype(float), rtol=0, atol=COSINE_ERROR[loops, real]
        )


class TestGaussianColumns:
    def draw(self, rng, n, real, width=7, d=5):
        rows, landmarks = rng.normal(size=(n, d)), rng.normal(size=(width, d))
        return rows.astype(real), landmarks.astype(real)

    @some_sizes
    @pytest.mark.parametrize("by_differences", [False, True])
    @pytest.mark.parametrize("relative", [False, True])
    def test_twin(self, loops, real, rng, n, width, by_differences, relative):
        drawn = self.draw(rng, n, real, width)
        copies = [part.copy() for part in drawn]
        columns, scale = gaussian_columns(
            *drawn, 0.2, relative=relative, by_differences=by_differences
        )
        expected, logs = core.gaussian_columns(*wide(*drawn), 0.2, relative=relative)
        assert columns.dtype == real
        assert_close(columns, expected, precision=PRECISION[real])
        assert_untouched(drawn, copies)
        if relative:
            assert scale.dtype == np.float64
            assert_close(scale, logs, precision=PRECISION[real])
        else:
            assert scale is None

    @pytest.mark.parametrize("by_differences", [False, True])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_any_number_of_columns(self, loops, real, rng, by_differences, d):
        drawn = self.draw(rng, 6, real, width=70, d=d)
        columns, _ = gaussian_columns(*drawn, 1 / d, by_differences=by_differences)
        expected, _ = core.gaussian_columns(*wide(*drawn), 1 / d)
        assert_close(columns, expected, precision=PRECISION[real])

    @pytest.mark.parametrize("by_differences", [False, True])
    @pytest.mark.parametrize("relative", [False, True])
    def test_row_scale_and_out(self, loops, real, rng, by_differences, relative):
        drawn = self.draw(rng, 30, real)
        factor = rng.uniform(size=30).astype(real)
        factor[4] = 0
        options = {"relative": relative, "by_differences": by_differences}
        buffer = np.full((50, 7), np.nan, real)
        columns, scale = gaussian_columns(
            *drawn, 0.2, row_scale=factor, out=buffer[:30], **options
        )
        plain, plain_scale = gaussian_columns(*drawn, 0.2, **options)
        assert np.shares_memory(columns, buffer)
        assert np.isnan(buffer[30:]).all()
        assert_allclose(columns, plain * factor[:, None], rtol=1e-6)
        if relative:
            assert_array_equal(scale, plain_scale)

    @pytest.mark.parametrize("by_differences", [False, True])
    def test_a_landmark_itself(self, loops, real, rng, by_differences):
        """Rounding of the product would make it a little more than one."""
        landmarks = 3 * rng.normal(size=(200, 5)).astype(real)
        columns, _ = gaussian_columns(
            landmarks, landmarks, 3.0, by_differences=by_differences
        )
        assert columns.max() <= 1
        assert_allclose(np.diag(columns), 1, rtol=1e-3)

    def test_differences_lose_nothing_to_cancellation(self, loops, real, rng):
        rows, landmarks = self.draw(rng, 30, real)
        grid = 2.0**-9  # so that the shift itself is exact in float32
        rows, landmarks = (
            np.rint(part / grid).astype(real) * np.dtype(real).type(grid) + 1024
            for part in (rows, landmarks)
        )
        columns, _ = gaussian_columns(rows, landmarks, 0.2, by_differences=True)
        expected, _ = core.gaussian_columns(*wide(rows, landmarks), 0.2)
        assert_close(columns, expected, precision=PRECISION[real])

    @pytest.mark.parametrize("by_differences", [False, True])
    def test_underflow_is_zero(self, loops, real, by_differences):
        rows = np.array([[0.0], [9.0], [1e4], [1e15]], real)
        landmarks = np.zeros((2, 1), real)
        columns, _ = gaussian_columns(
            rows, landmarks, 10.0, by_differences=by_differences
        )
        expected = np.exp(-10 * rows.astype(float) ** 2) * np.ones(2)
        assert_allclose(columns, expected, rtol=1e-4 if real == "float32" else 1e-12)
        assert (columns[2:] == 0).all()

    @pytest.mark.parametrize("relative", [False, True])
    def test_products_of_columns_are_normal_numbers_or_zero(
        self, loops, real, relative
    ):
        """Processors are many times slower at others, and so was summing up."""
        rows = np.linspace(0, 40, 4001, dtype=real)[:, None]
        columns, _ = gaussian_columns(
            rows, np.zeros((70, 1), real), 1.0, relative=relative
        )
        plain = np.exp(-(rows.astype(float) ** 2))
        smallest = float(np.finfo(real).smallest_normal)
        kept = columns[columns > 0].astype(float)
        assert kept.min() ** 2 >= smallest * (1 - 1e-6)
        if not relative:
            expected = np.where(plain >= np.sqrt(smallest) * 1.01, plain, 0)
            assert_allclose(
                columns[:, 0], expected[:, 0], atol=np.sqrt(smallest) * 1.1, rtol=1e-4
            )


class TestGaussianSums:
    @pytest.mark.parametrize("by_differences", [False, True])
    @pytest.mark.parametrize("d", [1, 5, 40])
    @pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 9), (30, 1024), (7, 2500)])
    def test_columns_summed_up(self, loops, real, rng, n, m, d, by_differences):
        drawn = [rng.normal(size=(k, d)).astype(real) for k in (n, m)]
        weights = rng.uniform(size=m).astype(real)
        drawn.append(weights)
        copies = [part.copy() for part in drawn]
        sums = gaussian_sums(*drawn, 1 / d, by_differences=by_differences)
        columns, _ = core.gaussian_columns(*wide(*drawn[:2]), 1 / d)
        assert sums.dtype == np.float64
        tolerance = 1e-5 if real == "float32" else 1e-12
        assert_allclose(sums, columns @ weights.astype(float), rtol=tolerance)
        assert_untouched(drawn, copies)

    @pytest.mark.parametrize("by_differences", [False, True])
    def test_far_rows_sum_up_to_zero(self, loops, real, by_differences):
        landmarks = np.random.default_rng(3).normal(size=(6, 5)).astype(real)
        far = np.array([*FAR[real], np.finfo(real).max])
        rows = np.outer(np.append(far, -far), np.eye(5)[1]).astype(real)
        sums = gaussian_sums(
            rows, landmarks, np.ones(6, real), 0.5, by_differences=by_differences
        )
        assert_array_equal(sums, np.zeros(len(rows)))


class TestFarRows:
    """Log scales are finite while float64 can hold them, and rank rows rightly."""

    def compute(self, far, real, by_differences, relative, d=5):
        landmarks = np.random.default_rng(3).normal(size=(6, d)).astype(real)
        rows = np.outer(far, np.eye(d)[1]).astype(real)
        return gaussian_columns(
            rows, landmarks, 0.5, relative=relative, by_differences=by_differences
        )

    @pytest.mark.parametrize("by_differences", [False, True])
    def test_finite_and_in_order(self, loops, real, by_differences):
        far = np.array(FAR[real])
        columns, scale = self.compute(far, real, by_differences, relative=True)
        assert np.isfinite(columns).all()
        assert_array_equal(columns.max(axis=1), 1)
        assert_allclose(scale[1:], -0.5 * far[1:] ** 2, rtol=1e-6)
        assert (np.diff(scale) < 0).all()

    @pytest.mark.parametrize("by_differences", [False, True])
    def test_beyond_all_numbers(self, loops, by_differences):
        far = [1e150, 1e155, 1e200, 1.7e308]
        columns, scale = self.compute(far, "float64", by_differences, relative=True)
        assert np.isfinite(columns).all()
        assert_array_equal(columns.max(axis=1), 1)
        assert np.isfinite(scale[0])
        assert_array_equal(scale[1:], -np.inf)

    @pytest.mark.parametrize("by_differences", [False, True])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_plain_columns_are_zero(self, loops, real, by_differences, sign):
        far = sign * np.array([*FAR[real], np.finfo(real).max])
        columns, _ = self.compute(far, real, by_differences, relative=False)
        assert_array_equal(columns, np.zeros_like(columns))

    def test_far_from_one_landmark_near_another(self, loops, real):
        landmarks = np.array([[0.0], [np.finfo(real).max / 4]], real)
        rows = np.array([[0.5], [1.0]], real)
        columns, scale = gaussian_columns(
            rows, landmarks, 1.0, relative=True, by_differences=True
        )
        assert_array_equal(columns, [[1, 0], [1, 0]])
        assert_allclose(scale, [-0.25, -1], rtol=1e-6)


@pytest.mark.parametrize(("real", "error"), [("float32", 2e-7), ("float64", 1e-15)])
def test_error_of_the_power_of_two(real, error):
    import_module("numba")  # whoever hides it skips the test
    lowest = np.finfo(real).minexp
    least = np.dtype(real).type(lowest)
    exponents = np.linspace(lowest, 0, 100_001, dtype=real)[:, None]
    powers = exponents.copy()
    one = np.ones(len(powers), real)
    compiled_loops().exp_rows(powers, 0 * one, one, least)
    exact = np.exp2(exponents.astype(np.longdouble))
    assert_allclose((powers / exact).astype(float), 1, rtol=error)
    below = np.array([[lowest - 1.0, 2.0 * lowest, np.finfo(real).min]], real)
    compiled_loops().exp_rows(below, one[:1] - 1, one[:1], least)
    assert_array_equal(below, np.zeros_like(below))
