"""Moments, entropy, gradients, modes and plots of densities on a grid."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from rhokit import DMKDE, MeanEmbeddingKDE, OneHotFeatures
from rhokit.features import GridFeatures
from tests.reference.density_oracles import exact_log_kde

UNITS = np.array([1000.0, 0.01, 3.0])
GAMMA = 0.8


def rows_of(d, n=50, seed=0):
    """Rows of columns that depend on each other, with very different units."""
    rng = np.random.default_rng(seed)
    rows = rng.normal([0, 1, -2], size=(n, 3))
    rows[:, 1:] += rows[:, :2] * rng.choice([-1, 1], (n, 1))
    return (rows * UNITS)[:, :d]


def fitted(X, scale="std", gamma=GAMMA, sample_weight=None, tol=1e-8):
    """A model on a grid."""
    grid = GridFeatures(tol=tol)
    model = DMKDE(gamma=gamma, feature_map=grid, scale=scale, random_state=0)
    return model.fit(X, sample_weight=sample_weight)


def kernel_covariance(X, scale, gamma=GAMMA):
    """Of the normal distribution about each row."""
    covariance = np.cov(X.T, bias=True).reshape(X.shape[1], X.shape[1])
    if scale is None:
        covariance = np.eye(X.shape[1])
    if scale == "std":
        covariance = np.diag(np.diag(covariance))
    return covariance / (2 * gamma)


def exact_gradient(X, covariance, points, weights=None):
    """Of the log-density: pulls of all rows, as much as each has a share in it."""
    inverse = np.linalg.inv(covariance)
    gradients = []
    for point in points:
        pulls = (X - point) @ inverse
        near = np.exp(-0.5 * np.vecdot(pulls, X - point))
        near = near if weights is None else near * weights
        gradients.append(near @ pulls / near.sum())
    return np.array(gradients)


def exact_bends(X, covariance, point):
    """Eigenvalues of the Hessian of the density at a point, up to a factor."""
    inverse = np.linalg.inv(covariance)
    pulls = (X - point) @ inverse
    near = np.exp(-0.5 * np.vecdot(pulls, X - point))
    hessian = (pulls.T * near) @ pulls - near.sum() * inverse
    size = np.sqrt(np.diag(covariance))
    return np.linalg.eigvalsh(hessian * size * size[:, None]) / near.sum()


class TestMoments:
    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_mean_and_covariance(self, d, scale):
        X = rows_of(d)
        model = fitted(X, scale)
        expected = np.cov(X.T, bias=True) + kernel_covariance(X, scale)
        size = UNITS[:d]
        assert_allclose(model.series().mean() / size, X.mean(axis=0) / size, atol=1e-7)
        assert_allclose(
            model.series().covariance() / size / size[:, None],
            expected / size / size[:, None],
            atol=1e-6,
        )

    def test_weights_count_as_copies(self):
        X, weights = rows_of(2), np.arange(50) % 4
        model = fitted(X, UNITS[:2], sample_weight=weights)
        copies = np.repeat(X, weights, axis=0) / UNITS[:2]
        assert_allclose(
            model.series().mean() / UNITS[:2], copies.mean(axis=0), atol=1e-7
        )
        expected = np.cov(copies.T, bias=True) + np.eye(2) / (2 * GAMMA)
        actual = model.series().covariance() / np.outer(UNITS[:2], UNITS[:2])
        assert_allclose(actual, expected, atol=1e-6)

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("order", range(5))
    def test_powers_are_those_of_normal_sums(self, d, order):
        X = rows_of(d)
        sd = X.std(axis=0) / np.sqrt(2 * GAMMA)
        expected = [
            np.mean([norm.moment(order, mean, width) for mean in column])
            for column, width in zip(X.T, sd, strict=True)
        ]
        actual = fitted(X).series().moment(order)
        assert actual.shape == (d,)
        size = UNITS[:d] ** order
        assert_allclose(actual / size, expected / size, rtol=1e-7, atol=1e-6)

    def test_powers_far_from_zero(self):
        X = rows_of(1) / UNITS[0] + 1000
        expected = (X**2).mean() + 1 / (2 * GAMMA)
        model = fitted(X, None)
        assert_allclose(model.series().moment(2), [expected], rtol=1e-12)
        spread = model.series().moment(2) - model.series().moment(1) ** 2
        assert_allclose(spread, model.series().covariance()[0], atol=1e-6)

    @pytest.mark.parametrize("order", [-1, 1.0, 0.5, True, "2", None])
    def test_order_is_a_count(self, order):
        with pytest.raises(ValueError, match="order must be an integer >= 0"):
            fitted(rows_of(1)).series().moment(order)

    def test_order_of_numpy(self):
        model = fitted(rows_of(1))
        assert_allclose(model.series().moment(np.int64(2)), model.series().moment(2))


class TestEntropy:
    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("gamma", [0.01, 1.0, 500.0])
    def test_of_a_single_row(self, d, gamma):
        X = np.full((1, d), 2.5)
        expected = d * norm.entropy(scale=1 / np.sqrt(2 * gamma))
        assert_allclose(fitted(X, None, gamma).series().entropy(), expected, atol=1e-6)

    @pytest.mark.parametrize("gamma", [0.1, 3.0, 300.0])
    def test_of_one_column_by_quadrature(self, gamma):
        X = rows_of(1, 12)
        sd = X.std() / np.sqrt(2 * gamma)

        def integrand(x):
            density = norm.pdf(x, X[:, 0], sd).mean()
            return -density * np.log(density) if density > 0 else 0.0

        stops = np.sort(np.concatenate([X[:, 0] + k * sd for k in (-9, -3, 0, 3, 9)]))
        pieces = [quad(integrand, *ends, epsrel=1e-10)[0] for ends in pairwise(stops)]
        assert_allclose(
            fitted(X, gamma=gamma).series().entropy(), sum(pieces), atol=1e-6
        )

    @pytest.mark.parametrize("d", [2, 3])
    def test_of_independent_columns_adds_up(self, d):
        side = np.array([-1.0, 0.2, 2.0])
        X = np.stack(np.meshgrid(*[side] * d), axis=-1).reshape(-1, d)
        single = fitted(side[:, None], None).series().entropy()
        assert_allclose(fitted(X, None).series().entropy(), d * single, atol=1e-6)

    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_follows_the_units(self, scale):
        X = rows_of(2)
        turned = X / UNITS[:2] @ [[1.0, 0.0], [0.0, 4.0]] + 7
        expected = fitted(X, scale).series().entropy() + np.log(4 / UNITS[:2].prod())
        assert_allclose(fitted(turned, scale).series().entropy(), expected, atol=1e-6)

    def test_is_the_mean_of_minus_the_log(self):
        model = fitted(rows_of(2), "whiten")
        drawn = model.sample(5000, random_state=0)
        logs = -model.score_samples(drawn)
        assert abs(logs.mean() - model.series().entropy()) < 4 * logs.std() / np.sqrt(
            len(logs)
        )


class TestLogDensityGradient:
    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_is_the_mean_pull_of_the_rows(self, d, scale):
        X = rows_of(d)
        points = X + 0.3 * UNITS[:d]
        actual = fitted(X, scale).series().log_density_gradient(points)
        expected = exact_gradient(X, kernel_covariance(X, scale), points)
        assert actual.shape == (50, d)
        assert_allclose(actual * UNITS[:d], expected * UNITS[:d], atol=1e-5)

    @pytest.mark.parametrize("scale", ["std", "whiten", UNITS[:2] * 2])
    def test_is_the_slope_of_the_log_density(self, scale):
        X = rows_of(2)
        model = fitted(X, scale)
        gradient = model.series().log_density_gradient(X)
        for column, unit in enumerate(UNITS[:2]):
            step = np.zeros(2)
            step[column] = 1e-4 * unit
            rise = model.score_samples(X + step) - model.score_samples(X - step)
            assert_allclose(gradient[:, column] * unit, rise / 2e-4, atol=1e-5)

    def test_weights_count(self):
        X, weights = rows_of(2) / UNITS[:2], np.arange(50) % 4
        model = fitted(X, None, sample_weight=weights)
        expected = exact_gradient(X, np.eye(2) / (2 * GAMMA), X, weights)
        assert_allclose(model.series().log_density_gradient(X), expected, atol=1e-6)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_is_nan_outside_the_box(self, d):
        model = fitted(rows_of(d))
        middle, far = np.median(rows_of(d), axis=0), 100 * UNITS[:d]
        gradient = model.series().log_density_gradient(
            [middle, middle + far, middle - far]
        )
        assert np.isfinite(gradient[0]).all()
        assert np.isnan(gradient[1:]).all()

    @pytest.mark.parametrize("d", [1, 2])
    def test_is_nan_at_images(self, d):
        """A period away, the waves are the same."""
        X = rows_of(d) / UNITS[:d]
        model = fitted(X, None)
        period = model.feature_map_.period_
        for image in (model.series().mean() + period, model.series().mean() - period):
            assert np.isnan(model.series().log_density_gradient([image])).all()

    def test_is_nan_in_a_gap(self):
        model = fitted([[0.0], [60.0]], None)
        gradient = model.series().log_density_gradient([[30.0], [0.0], [60.0], [1.0]])
        assert_allclose(gradient[:, 0], [np.nan, 0, 0, -2 * GAMMA], atol=1e-7)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_is_right_or_nan_towards_the_end(self, d):
        """Of a single row, whose kernel is all that there is."""
        model = fitted(np.zeros((1, d)), None, gamma=1.0)
        points = np.zeros((60, d))
        points[:, 0] = np.linspace(0, 6, 60)
        slope = model.series().log_density_gradient(points)[:, 0]
        seen = np.isfinite(slope)
        assert seen[:40].all()
        assert not seen[-5:].any()
        assert_allclose(slope[seen], -2 * points[seen, 0], rtol=0.2, atol=1e-9)


class TestModes:
    def test_of_two_rows_far_apart(self):
        """The tops lie a little inside: a root of the mixture's slope."""
        weights, gap = [3.0, 1.0], 3.2

        def slope(x):
            return norm.pdf(x, [0, gap]) * np.subtract([0, gap], x) @ weights

        high, low = brentq(slope, -0.5, 0.8), brentq(slope, 2.5, 3.3)
        model = fitted([[0.0], [gap]], None, 0.5, weights)
        assert_allclose(model.series().modes(), [[high], [low]], atol=1e-7)

    def test_of_two_rows_near_each_other(self):
        model = fitted([[-0.9], [0.9]], None, 0.5)
        assert_allclose(model.series().modes(), [[0.0]], atol=1e-6)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_of_one_row(self, d):
        row = np.arange(1.0, d + 1) / 7
        assert_allclose(fitted(row[None], None).series().modes(), row[None], atol=1e-7)

    def test_are_all_tops_of_a_column(self):
        """As many as a fine table has, at its places, the highest first."""
        X = rows_of(1)
        sd = X.std() / np.sqrt(2 * 30.0)
        table = np.linspace(X.min() - 3 * sd, X.max() + 3 * sd, 20_001)
        density = np.mean([norm.pdf(table, x, sd) for x in X[:, 0]], axis=0)
        inner = density[1:-1]
        top = (inner > density[:-2]) & (inner > density[2:])
        found = table[1:-1][top][np.argsort(-inner[top])]
        modes = fitted(X, gamma=30.0).series().modes()
        assert len(found) > 5
        assert_allclose(modes[:, 0], found, atol=1.1 * (table[1] - table[0]))

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_are_tops_in_order(self, d, scale):
        X = rows_of(d, 15)
        tol = 1e-8 if d < 3 else 1e-4  # grids of three columns take their time
        model = fitted(X, scale, 2.0, tol=tol)
        modes = model.series().modes()
        covariance = kernel_covariance(X, scale, 2.0)
        assert modes.shape[1] == d
        assert len(modes) > 1
        slope = exact_gradient(X, covariance, modes) * UNITS[:d]
        assert_allclose(slope, 0, atol=1e3 * tol)
        for mode in modes:
            assert exact_bends(X, covariance, mode).max() < 0
        heights = model.density(modes)
        assert (np.diff(heights) <= 1e-9 * heights[0]).all()
        whitened = modes @ np.linalg.inv(np.linalg.cholesky(covariance)).T
        apart = np.linalg.norm(whitened[:, None] - whitened, axis=2)
        assert (apart + np.eye(len(modes)) > 0.1).all()

    @pytest.mark.parametrize("d", [2, 3])
    def test_of_a_cross_are_its_ends(self, d):
        """Rows along the axes, far from each other: each is a top of its own."""
        ends = np.vstack([np.eye(d), -np.eye(d)]) * 3
        weights = np.arange(2 * d, 0, -1)
        model = fitted(ends, None, 1.0, weights, tol=1e-3)
        assert_allclose(model.series().modes(), ends, atol=0.01)

    def test_small_ones_are_left_out(self):
        X = np.array([[0.0], [10.0], [20.0]])
        model = fitted(X, None, 1.0, [1000.0, 10.0, 0.5])
        assert_allclose(model.series().modes(), X[:2], atol=1e-6)
        assert_allclose(model.series().modes(least=1e-4), X, atol=1e-6)
        assert_allclose(model.series().modes(least=0.1), X[:1], atol=1e-6)
        assert_allclose(model.series().modes(0.009), X[:2], atol=1e-6)


class TestGrid:
    """Points and densities for a plot."""

    @pytest.mark.parametrize("scale", ["std", "whiten", None])
    def test_one_column(self, scale):
        X = rows_of(1) / (UNITS[0] if scale is None else 1)
        sd = (1 if scale is None else X.std()) / np.sqrt(2 * GAMMA)
        x, density = fitted(X, scale).grid()
        assert x.shape == density.shape == (512,)
        expected = [norm.pdf(point, X[:, 0], sd).mean() for point in x]
        assert_allclose(density, expected, rtol=0, atol=1e-8 * max(expected))
        assert_allclose(np.diff(x), x[1] - x[0])
        assert_allclose(density.sum() * (x[1] - x[0]), 1, rtol=1e-3)

    @pytest.mark.parametrize("scale", ["std", "whiten", UNITS[:2] / 2])
    def test_two_columns(self, scale):
        """Rows of the table belong to y, as contourf takes it."""
        X = rows_of(2)
        model = fitted(X, scale)
        x, y, density = model.grid(40)
        assert x.shape == y.shape == (40,)
        assert density.shape == (40, 40)
        expected = [[model.density([[a, b]])[0] for a in x[::7]] for b in y[::5]]
        peak = density.max()
        assert_allclose(density[::5, ::7], expected, rtol=0, atol=1e-9 * peak)
        cell = (x[1] - x[0]) * (y[1] - y[0])
        assert_allclose(density.sum() * cell, 1, rtol=5e-3)
        assert (density >= 0).all()

    def test_two_columns_against_the_rows(self):
        X = rows_of(2) / UNITS[:2]
        x, y, density = fitted(X, None).grid(30)
        points = np.column_stack([np.tile(x, 30), np.repeat(y, 30)])
        expected = np.exp(exact_log_kde(X, points, GAMMA)).reshape(30, 30)
        assert_allclose(density, expected, rtol=0, atol=1e-8 * expected.max())

    @pytest.mark.parametrize("d", [1, 2])
    def test_is_never_negative(self, d):
        """Where there is nothing, waves cancel but for rounding."""
        density = fitted(np.outer([0, 30], np.ones(d)), None).grid()[-1]
        assert (density < 1e-12).any()
        assert (density >= 0).all()

    def test_two_columns_without_a_count(self):
        x, y, density = fitted(rows_of(2)).grid()
        assert (x.shape, y.shape, density.shape) == ((128,), (128,), (128, 128))

    @pytest.mark.parametrize("model", [DMKDE, MeanEmbeddingKDE])
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier", "quadrature"])
    @pytest.mark.parametrize(("d", "scale"), [(1, None), (2, "whiten")])
    def test_other_maps(self, model, feature_map, d, scale):
        X = rows_of(d, 300) / UNITS[:d]
        fit = model(gamma=GAMMA, feature_map=feature_map, n_components=256)
        fit.set_params(scale=scale, random_state=0).fit(X)
        *axes, density = fit.grid(30)
        points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, d)
        assert_allclose(density.ravel(), fit.density(points), rtol=1e-12, atol=1e-15)
        for axis, column in zip(axes, X.T, strict=True):
            assert axis[0] < column.min()
            assert axis[-1] > column.max()
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        slack = 0.5 if feature_map == "fourier" else 0.02  # which has a floor
        assert_allclose(density.sum() * cell, 1, rtol=slack)

    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_holds_all_rows_and_their_kernels(self, scale):
        X = rows_of(2)
        x, y, _ = fitted(X, scale).grid(5)
        width = 2.9 * np.sqrt(np.diag(kernel_covariance(X, scale)))
        for axis, column, space in zip((x, y), X.T, width, strict=True):
            assert axis[0] < column.min() - space
            assert axis[-1] > column.max() + space

    @pytest.mark.parametrize("n", [0, -3, 1.5, True, "many"])
    def test_refuses_what_is_no_count(self, n):
        with pytest.raises(ValueError, match="n must be an integer >= 1"):
            fitted(rows_of(1)).grid(n)

    def test_refuses_three_columns(self):
        with pytest.raises(ValueError, match=r"grid: .* this model has 3: .*marginal"):
            fitted(rows_of(3)).grid()

    def test_refuses_categories(self):
        model = DMKDE(feature_map=OneHotFeatures()).fit([["a"], ["b"]])
        with pytest.raises(ValueError, match="densities of numbers"):
            model.grid()
