"""Kernels, each against its definition, an integral, or a mean over frequencies."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel

from rhokit.features import FourierFeatures, LandmarkFeatures
from rhokit.kernels import (
    KERNELS,
    CauchyKernel,
    CoherentKernel,
    GaussianKernel,
    LaplacianKernel,
    MaternKernel,
    ProductKernel,
    check_kernel,
    kernel_of,
    register_kernel,
)
from rhokit.kernels.matern import log_matern
from rhokit.kernels.registry import has_mass

GAMMA = 1.7
ALL = [
    GaussianKernel(GAMMA),
    LaplacianKernel(GAMMA),
    MaternKernel(GAMMA, 0.5),
    MaternKernel(GAMMA),
    MaternKernel(GAMMA, 1.0),
    MaternKernel(GAMMA, 40.0),
    CauchyKernel(GAMMA),
    CoherentKernel(GAMMA),
    CoherentKernel(GAMMA, 2.0),
]
DENSE = [kernel for kernel in ALL if has_mass(kernel)]
every_kernel = pytest.mark.parametrize("kernel", ALL, ids=repr)
every_density = pytest.mark.parametrize("kernel", DENSE, ids=repr)
ROWS = np.random.default_rng(0).normal(size=(20, 3))


class LogisticKernel(ProductKernel):
    """The kernel of one's own that the guide shows: no integral in closed form."""

    name = "logistic"

    def log_factor(self, differences):
        return -np.log(np.cosh(math.sqrt(self.gamma) * differences))

    def frequencies(self, normal, mixing=None):
        from scipy.special import ndtr

        # sech is its own transform: frequencies have the density sech(πw/2)/2.
        likely = np.clip(ndtr(normal), 1e-15, 1 - 1e-15)
        drawn = (2 / np.pi) * np.log(np.tan(np.pi / 2 * likely))
        return math.sqrt(self.gamma) * drawn


def at(kernel, distance):
    return float(kernel.overlaps(np.zeros((1, 1)), np.array([[distance]]))[0, 0])


class TestValues:
    def test_laplacian(self):
        expected = laplacian_kernel(ROWS, gamma=math.sqrt(GAMMA))
        assert_allclose(LaplacianKernel(GAMMA).overlaps(ROWS, ROWS), expected)

    @pytest.mark.parametrize("nu", [0.5, 1.0, 1.5, 2.5, 3.3])
    def test_matern(self, nu):
        expected = Matern(length_scale=1 / math.sqrt(GAMMA), nu=nu)(ROWS)
        assert_allclose(MaternKernel(GAMMA, nu).overlaps(ROWS, ROWS), expected)

    def test_matern_of_one_half_is_laplacian_of_one_column(self):
        rows = ROWS[:, :1]
        found = MaternKernel(GAMMA, 0.5).overlaps(rows, rows)
        assert_allclose(found, LaplacianKernel(GAMMA).overlaps(rows, rows))

    @pytest.mark.parametrize("nu", [26.0, 60.0, 130.0])
    def test_matern_of_large_order(self, nu):
        r = np.linspace(0.5, 40, 60)
        expected = 2 ** (1 - nu) / gamma_function(nu) * r**nu * kv(nu, r)
        assert_allclose(np.exp(log_matern(r, nu)), expected, rtol=1e-6)

    def test_large_spins_and_orders_are_gaussian(self):
        gaussian = GaussianKernel(GAMMA).overlaps(ROWS[:9], ROWS)
        matern = MaternKernel(GAMMA, 1000.0).overlaps(ROWS[:9], ROWS)
        assert_allclose(matern, gaussian, atol=1e-3)
        near = 0.1 * ROWS
        coherent = CoherentKernel(GAMMA, 64.0).overlaps(near[:9], near)
        gaussian = GaussianKernel(GAMMA).overlaps(near[:9], near)
        assert_allclose(coherent, gaussian, atol=1e-3)

    def test_cauchy(self):
        squares = (ROWS[:, None] - ROWS) ** 2
        expected = (1 / (1 + GAMMA / 2 * squares)).prod(axis=2)
        assert_allclose(CauchyKernel(GAMMA).overlaps(ROWS, ROWS), expected)

    @every_kernel
    def test_near_to_zero_all_of_finite_variance_are_alike(self, kernel):
        if isinstance(kernel, LaplacianKernel) or getattr(kernel, "nu", 2) <= 1:
            pytest.skip("its frequencies have no variance")
        curvature = 2 * (1 - at(kernel, 1e-3)) / 1e-6
        smooth = getattr(kernel, "nu", 2)
        expected = GAMMA * smooth / (smooth - 1) if hasattr(kernel, "nu") else GAMMA
        assert_allclose(curvature, expected, rtol=5e-3)

    @every_kernel
    def test_logarithms(self, kernel):
        values = kernel.overlaps(ROWS, ROWS)
        assert_allclose(np.exp(kernel.log_overlaps(ROWS, ROWS)), np.abs(values))
        assert_allclose(np.diag(values), 1)

    @every_kernel
    def test_precision_is_that_of_the_rows(self, kernel):
        narrow = ROWS.astype(np.float32)
        assert kernel.overlaps(narrow, narrow).dtype == np.float32

    @every_kernel
    def test_is_positive_definite(self, kernel):
        assert np.linalg.eigvalsh(kernel.overlaps(ROWS, ROWS)).min() > -1e-9


class TestIntegrals:
    @every_density
    @pytest.mark.parametrize("power", [1, 2])
    def test_mass_of_one_column(self, kernel, power):
        def value(x):
            return at(kernel, x) ** power

        near = quad(value, 0, 5)[0] + quad(value, 5, np.inf)[0]
        assert_allclose(math.exp(kernel.log_mass(1, power)), 2 * near, rtol=1e-6)

    @every_density
    @pytest.mark.parametrize("d", [2, 3])
    def test_mass_of_more_columns(self, kernel, d):
        if not kernel.is_round:
            expected = d * kernel.log_mass(1)  # a product
        else:
            area = 2 * np.pi ** (d / 2) / gamma_function(d / 2)

            def shell(x):
                return area * x ** (d - 1) * at(kernel, x) ** 2

            expected = math.log(quad(shell, 0, 5)[0] + quad(shell, 5, np.inf)[0])
        assert_allclose(kernel.log_mass(d), expected, rtol=1e-7)

    @every_density
    @pytest.mark.parametrize("apart", [0.0, 0.4, 2.0])
    def test_overlaps_of_columns(self, kernel, apart):
        def product(x):
            return at(kernel, x) * at(kernel, x - apart)

        ends = [-np.inf, -8, 0, apart, 8 + apart, np.inf]
        parts = [quad(product, *pair)[0] for pair in pairwise(ends)]
        found = kernel.column_overlaps(np.array([[0.0], [apart]]))[0, 1]
        assert_allclose(found * math.exp(kernel.log_mass(1)), sum(parts), rtol=1e-6)

    @every_density
    def test_overlaps_of_columns_in_the_plane(self, kernel):
        landmarks = np.array([[0.0, 0.0], [0.5, -0.7]])
        axis = np.arange(-40, 40, 0.1)
        nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        columns = kernel.overlaps(nodes, landmarks)
        expected = columns.T @ columns * 0.1**2 / math.exp(kernel.log_mass(2))
        kinks = 0.015  # of Laplacian ones, which a lattice does not see
        assert_allclose(kernel.column_overlaps(landmarks), expected, atol=kinks)

    def test_coherent_states_have_none(self):
        assert not has_mass(CoherentKernel())
        with pytest.raises(ValueError, match="no finite integral"):
            CoherentKernel().column_overlaps(ROWS)

    def test_quadrature_of_a_kernel_of_ones_own(self):
        kernel = LogisticKernel(GAMMA)
        assert_allclose(math.exp(kernel.log_mass(1)), 2 / math.sqrt(GAMMA), rtol=1e-8)
        x = math.sqrt(GAMMA) * 0.8
        found = kernel.column_overlaps(np.array([[0.0], [0.8]]))[0, 1]
        assert_allclose(found, x / math.sinh(x), rtol=1e-6)


class TestFourierMeasure:
    """Overlaps of random features converge to the kernel, as 1/√D."""

    @pytest.mark.parametrize("kernel", [*ALL, LogisticKernel(GAMMA)], ids=repr)
    @pytest.mark.parametrize("sampling", ["iid", "orthogonal", "sobol", "halton"])
    def test_mean_of_cosines(self, kernel, sampling):
        error = _error(kernel, sampling, 2**13, seed=1)
        assert error < 0.025

    @every_kernel
    def test_rate(self, kernel):
        sizes = np.array([64, 256, 1024, 4096])
        errors = [
            np.mean([_error(kernel, "iid", size, seed) for seed in range(4)])
            for size in sizes
        ]
        rate = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert -0.65 < rate < -0.35

    @pytest.mark.parametrize("kernel", ALL, ids=repr)
    def test_structured(self, kernel):
        if kernel.is_round:
            assert _error(kernel, "structured", 2**13, seed=0) < 0.04
        else:
            with pytest.raises(ValueError, match="sampling='structured'"):
                _error(kernel, "structured", 64, seed=0)


def _error(kernel, sampling, size, seed):
    """Root of the mean squared error of overlaps."""
    fitted = FourierFeatures(
        gamma=GAMMA,
        kernel=kernel,
        n_components=size,
        sampling=sampling,
        form="pair",
        random_state=seed,
    ).fit(ROWS)
    states = fitted.transform(ROWS)
    return np.sqrt(np.mean((states @ states.T - kernel.overlaps(ROWS, ROWS)) ** 2))


class TestLandmarks:
    @every_kernel
    def test_exact_where_all_rows_are_landmarks(self, kernel):
        fitted = LandmarkFeatures(gamma=GAMMA, kernel=kernel, landmarks=ROWS).fit(ROWS)
        states = fitted.transform(ROWS)
        found = fitted.transform(ROWS + 0.3) @ states.T
        tolerance = (
            1e-4 if getattr(kernel, "nu", 0) > 20 or kernel.is_gaussian else 1e-8
        )
        assert_allclose(found, kernel.overlaps(ROWS + 0.3, ROWS), atol=tolerance)

    @every_density
    def test_mass_matrix(self, kernel):
        rows = ROWS[:, :1]
        fitted = LandmarkFeatures(gamma=GAMMA, kernel=kernel, landmarks=rows).fit(rows)
        whitening = fitted.whitening_
        expected = whitening.T @ kernel.column_overlaps(rows) @ whitening
        assert_allclose(fitted.mass_matrix(), expected, atol=1e-6)

    def test_far_rows_keep_a_logarithm(self):
        fitted = LandmarkFeatures(kernel="laplacian", landmarks=ROWS).fit(ROWS)
        columns, log_scale = fitted.columns(np.full((1, 3), 1e4), relative=True)
        assert_allclose(columns.max(), 1)
        assert_allclose(log_scale, -3e4, rtol=1e-2)


class TestNames:
    def test_of_gamma(self):
        assert kernel_of("matern", 3.0) == MaternKernel(3.0)
        assert kernel_of(MaternKernel(nu=2.5), 3.0) == MaternKernel(3.0, 2.5)

    @pytest.mark.parametrize("wanted", ["rbf", 3, (), ("gaussian", "rbf"), None])
    def test_refused(self, wanted):
        with pytest.raises(ValueError, match="The 'kernel' parameter of a model"):
            check_kernel(wanted, "a model")

    def test_maps_follow_one(self):
        with pytest.raises(ValueError, match="of a map must be one of"):
            FourierFeatures(kernel="loo").fit(ROWS)

    def test_register(self):
        register_kernel(LogisticKernel)
        try:
            assert isinstance(kernel_of("logistic", 1.0), LogisticKernel)
            with pytest.raises(ValueError, match="a name of its own"):
                register_kernel(type("Other", (LogisticKernel,), {}))
        finally:
            del KERNELS["logistic"]

    @pytest.mark.parametrize("bad", [0.3, 0.0, -1.0, 1e6])
    def test_spins(self, bad):
        with pytest.raises(ValueError, match="spin"):
            CoherentKernel(spin=bad)

    @pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
    def test_smoothness(self, bad):
        with pytest.raises(ValueError, match="nu"):
            MaternKernel(nu=bad)
