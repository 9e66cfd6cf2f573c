"""Laws of the Gaussian kernel, each against a sum or an integral."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad

from rhokit.core import DensityMatrix
from rhokit.features import (
    FourierFeatures,
    GaussianKernel,
    GridFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
)

GAMMAS = [0.3, 1.0, 4.2]
every_gamma = pytest.mark.parametrize("gamma", GAMMAS)
SQUARES = np.linspace(0, 9, 10)


def at(kernel, distance):
    """The kernel of two points in one column."""
    return float(kernel(np.asarray(distance**2)))


class TestValues:
    @every_gamma
    def test_formula(self, gamma):
        values = GaussianKernel(gamma)(SQUARES)
        assert_allclose(values, [math.exp(-gamma * s) for s in SQUARES], rtol=1e-14)

    @every_gamma
    def test_log(self, gamma):
        kernel = GaussianKernel(gamma)
        assert_allclose(kernel.log(SQUARES), np.log(kernel(SQUARES)), rtol=1e-12)
        assert kernel.log(1e300) == -gamma * 1e300

    @every_gamma
    @pytest.mark.parametrize("value", [1.0, 0.5, 1e-8, 1e-200])
    def test_distance(self, gamma, value):
        kernel = GaussianKernel(gamma)
        assert_allclose(at(kernel, kernel.distance(value)), value, rtol=1e-10)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("gamma", [2.0, np.float64(2.0), 2])
    def test_precision_is_that_of_the_distances(self, gamma, dtype):
        kernel, squares = GaussianKernel(gamma), SQUARES.astype(dtype)
        for method in (kernel, kernel.log, kernel.overlap_of_columns):
            assert method(squares).dtype == dtype
        assert kernel.spectral_weight(squares).dtype == dtype

    def test_torch(self):
        import torch

        squares = torch.tensor(SQUARES, requires_grad=True)
        kernel = GaussianKernel(0.7)
        kernel(squares).sum().backward()
        assert_allclose(squares.grad, -0.7 * kernel(SQUARES))

    def test_is_a_value(self):
        kernel = GaussianKernel(2.0)
        assert kernel == GaussianKernel(2.0) != GaussianKernel(2.1)
        with pytest.raises(FrozenInstanceError):
            kernel.gamma = 3.0


class TestPowers:
    @every_gamma
    def test_squared_overlaps_are_the_kernel(self, gamma):
        kernel = GaussianKernel(gamma)
        assert_allclose(kernel.of_overlaps()(SQUARES) ** 2, kernel(SQUARES))

    @every_gamma
    @pytest.mark.parametrize("power", [1, 2, 4])
    def test_at_power(self, gamma, power):
        kernel = GaussianKernel(gamma)
        overlaps = kernel.of_overlaps()(SQUARES)
        assert_allclose(kernel.at_power(power)(SQUARES), overlaps**power)

    @every_gamma
    @pytest.mark.parametrize("power", [1, 2])
    def test_of_map_undoes_at_power(self, gamma, power):
        kernel = GaussianKernel(gamma)
        assert kernel.of_map(power).at_power(power) == kernel


class TestBandwidth:
    @every_gamma
    def test_kernel_is_a_normal_density(self, gamma):
        """Over its mass, it has the variance h²."""
        kernel = GaussianKernel(gamma)
        total, _ = quad(lambda x: x**2 * at(kernel, x), -np.inf, np.inf)
        variance = total / math.exp(kernel.log_mass(1))
        assert_allclose(math.sqrt(variance), kernel.bandwidth)

    @every_gamma
    def test_there_and_back(self, gamma):
        bandwidth = GaussianKernel(gamma).bandwidth
        assert_allclose(GaussianKernel.from_bandwidth(bandwidth).gamma, gamma)


class TestIntegrals:
    @every_gamma
    def test_mass_of_one_column(self, gamma):
        kernel = GaussianKernel(gamma)
        mass, _ = quad(lambda x: at(kernel, x - 0.7), -np.inf, np.inf)
        assert_allclose(math.exp(kernel.log_mass(1)), mass)

    @every_gamma
    def test_mass_of_two_columns(self, gamma):
        kernel = GaussianKernel(gamma)
        far = kernel.distance(1e-13)
        mass, _ = dblquad(
            lambda x, y: at(kernel, math.hypot(x, y)), -far, far, -far, far
        )
        assert_allclose(math.exp(kernel.log_mass(2)), mass)

    def test_mass_of_many_columns(self):
        kernel = GaussianKernel(1e6)
        assert_allclose(kernel.log_mass(100_000), 100_000 * kernel.log_mass(1))
        assert kernel.log_mass(0) == 0

    @every_gamma
    def test_marginal(self, gamma):
        """Integrated over a column, the kernel of the other one, and a mass."""
        kernel = GaussianKernel(gamma)
        left, _ = quad(lambda y: at(kernel, math.hypot(0.4, y)), -np.inf, np.inf)
        assert_allclose(left, at(kernel, 0.4) * math.exp(kernel.log_mass(1)))

    @every_gamma
    @pytest.mark.parametrize("apart", [0.0, 0.5, 2.0])
    def test_overlap_of_columns(self, gamma, apart):
        kernel = GaussianKernel(gamma)
        column = kernel.of_overlaps()

        def product(x):
            return at(column, x) * at(column, x - apart)

        far = kernel.distance(1e-15)
        overlap, _ = quad(product, -far, apart + far, epsabs=1e-14)
        found = kernel.overlap_of_columns(np.asarray(apart**2))
        assert_allclose(found * math.exp(kernel.log_mass(1)), overlap)


class TestFourierMeasure:
    @every_gamma
    @pytest.mark.parametrize("d", [1, 3])
    def test_mean_of_cosines(self, gamma, d):
        """Of the frequencies of states, the kernel of overlaps."""
        rng = np.random.default_rng(7)
        kernel = GaussianKernel(gamma).of_overlaps()
        frequencies = kernel.spectral_width * rng.normal(size=(400_000, d))
        for x in rng.normal(size=(4, d)) / math.sqrt(gamma * d):
            mean = np.cos(frequencies @ x).mean()
            assert_allclose(mean, float(kernel(x @ x)), atol=0.005)

    @every_gamma
    def test_width_for_states(self, gamma):
        """``w ~ N(0, γ I)``, as the paper has it."""
        width = GaussianKernel(gamma).of_overlaps().spectral_width
        assert_allclose(width, math.sqrt(gamma))

    @every_gamma
    def test_spectral_weight_is_the_density_of_the_measure(self, gamma):
        kernel = GaussianKernel(gamma)

        def weight(w):
            return float(kernel.spectral_weight(np.asarray(w**2)))

        total, _ = quad(weight, -np.inf, np.inf)
        second, _ = quad(lambda w: w**2 * weight(w), -np.inf, np.inf)
        assert weight(0.0) == 1
        assert_allclose(math.sqrt(second / total), kernel.spectral_width)
        # And its cosine transform is the kernel.
        cosines, _ = quad(lambda w: math.cos(0.6 * w) * weight(w), -40, 40, limit=200)
        assert_allclose(cosines / total, at(kernel, 0.6))


@pytest.mark.parametrize(
    "feature_map",
    [FourierFeatures, GridFeatures, LandmarkFeatures, QuadratureFeatures],
)
def test_kernel_of_a_map(feature_map):
    rows = np.random.default_rng(3).normal(size=(20, 2))
    fitted = feature_map(gamma=0.6).fit(rows)
    assert fitted.kernel_ == GaussianKernel(0.6)
    states = fitted.transform(rows)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    error = 0.2 if feature_map is FourierFeatures else 1e-6
    overlaps = states @ states.T
    assert_allclose(overlaps**2, fitted.kernel_(squares), atol=error)
    assert_allclose(overlaps, fitted.kernel_.of_overlaps()(squares), atol=error)


def test_density_of_a_matrix_integrates_to_one():
    """Its mass, by the overlap of columns, is what a sum over a fine grid finds."""
    rows = np.random.default_rng(5).normal(size=(30, 1))
    landmarks = LandmarkFeatures(gamma=1.5).fit(rows)
    state = DensityMatrix.from_states(landmarks.transform(rows))
    line = np.linspace(-12, 12, 4001)[:, None]
    density = state.born(landmarks.transform(line)) / math.exp(landmarks.log_mass())
    total = density.sum(axis=0) * (line[1] - line[0])
    mass = (state.normalized() * landmarks.mass_matrix()).sum()
    assert_allclose(total, mass, rtol=1e-6)
