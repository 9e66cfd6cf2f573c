"""How mosaics are fitted: steps, weights, priors, cells, against slow loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from rhokit import DMKDE
from rhokit.features import MosaicFeatures
from rhokit.features.category_shares import NO_CATEGORIES
from rhokit.features.cell_rows import CellRows
from rhokit.features.cells import CellMixture, definite
from rhokit.features.mixtures import (
    CellPrior,
    Layer,
    _step,
    fit_layer,
    fit_layers,
    improve_layer,
    kernel_layer,
    settings,
    stacked_weights,
    worthwhile,
)
from rhokit.features.starts import started
from rhokit.features.weighted_rows import WeightedRows

FLOOR = 1e-6


def weighted_rows(n=300, d=2, seed=0):
    """Three clusters, and masses."""
    rng = np.random.default_rng(seed)
    places = 3 * rng.normal(size=(3, d))
    z = places[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    return WeightedRows(z, np.zeros((n, 0)), rng.random(n) + 0.5)


def random_mixture(cells=4, d=3, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(cells, d, 2 * d))
    weight = rng.random(cells)
    return CellMixture(
        np.log(weight / weight.sum()),
        rng.normal(size=(cells, d)),
        roots @ roots.transpose(0, 2, 1) / (2 * d),
        np.zeros((cells, 0)),
    )


def slow_logs(mixture, z):
    """Logarithms of weighted cells (n, C), one cell after the other."""
    cells = zip(mixture.log_weight, mixture.mean, mixture.covariance, strict=True)
    logs = [w + multivariate_normal(m, c).logpdf(z) for w, m, c in cells]
    return np.stack(logs, axis=1)


class TestCells:
    def test_density_is_that_of_scipy(self):
        mixture = random_mixture()
        z = 2 * np.random.default_rng(1).normal(size=(50, 3))
        expected = logsumexp(slow_logs(mixture, z), axis=1)
        assert_allclose(
            mixture.log_density(CellRows(np.column_stack([np.ones(len(z)), z]), 3)),
            expected,
            1e-10,
        )

    def test_empty_cells_count_for_nothing(self):
        mixture = random_mixture()
        mixture.log_weight[1] = -np.inf
        z = np.random.default_rng(1).normal(size=(50, 3))
        expected = logsumexp(slow_logs(mixture, z)[:, [0, 2, 3]], axis=1)
        assert_allclose(
            mixture.log_density(CellRows(np.column_stack([np.ones(len(z)), z]), 3)),
            expected,
            1e-10,
        )

    def test_moments_are_what_they_were_made_of(self):
        mixture = random_mixture()
        moments = mixture.moments()
        again = CellMixture.from_moments(
            moments, 3, np.log(moments[:, 0]), mixture.log_shares, ()
        )
        assert_allclose(again.mean, mixture.mean, 1e-12)
        assert_allclose(again.covariance, mixture.covariance, 1e-10, 1e-12)

    @pytest.mark.parametrize("width", [1e-3, 0.1, 1.0])
    def test_quantiles_have_the_probabilities(self, width):
        """Of narrow cells far apart, too, where Newton's steps lead astray."""
        rng = np.random.default_rng(0)
        mean, width = rng.standard_t(2, size=(30, 2)), width * rng.random((30, 2))
        covariance = (width[:, :, None] ** 2 + 1e-8) * np.eye(2)
        mixture = CellMixture(
            np.log(rng.dirichlet(np.ones(30))), mean, covariance, np.zeros((30, 0))
        )
        levels = np.array([1e-5, 0.001, 0.2, 0.5, 0.9, 0.9999])
        found = mixture.quantiles([1, 0], levels)
        assert_allclose(mixture.cdf(1, found[:, 0]), levels, 1e-6)
        assert_allclose(mixture.cdf(0, found[:, 1]), levels, 1e-6)
        each = mixture.quantiles([1, 0], np.stack([levels, levels[::-1]], axis=1))
        assert_allclose(each[:, 0], found[:, 0], atol=1e-9)
        assert_allclose(each[:, 1], found[::-1, 1], atol=1e-9)

    def test_drawn_rows_have_the_moments(self):
        mixture = random_mixture()
        z, cell = mixture.draw(200_000, np.random.default_rng(0))
        weight = np.exp(mixture.log_weight)
        assert_allclose(np.bincount(cell) / len(cell), weight, atol=0.005)
        for c in range(4):
            own = z[cell == c]
            assert_allclose(own.mean(axis=0), mixture.mean[c], atol=0.03)
            assert_allclose(np.cov(own.T), mixture.covariance[c], atol=0.05)

    def test_indefinite_covariances_are_mended_and_others_left(self):
        good = random_mixture().covariance
        bad = np.array([[1e14, 1e14, 1e14], [1e14, 1e14, 1e14], [1e14, 1e14, 1e14]])
        bad[0, 1] = bad[1, 0] = 1.0001e14
        found = definite(np.concatenate([good, bad[None]]))
        assert_array_equal(found[:-1], good)
        np.linalg.cholesky(found)
        assert_allclose(found[-1], bad, rtol=1e-3)
        assert definite(good) is good


class TestSteps:
    def test_are_a_slow_loop_of_responsibilities(self):
        rows, mixture = weighted_rows(d=3), random_mixture()
        found, likelihood = _step(rows, mixture.coefficients())
        logs = slow_logs(mixture, rows.z)
        expected = np.zeros((4, 10))
        for z, mass, own in zip(rows.z, rows.mass, logs, strict=True):
            features = [1, *z, *np.outer(z, z)[np.triu_indices(3)]]
            expected += np.outer(mass * np.exp(own - logsumexp(own)), features)
        assert_allclose(found, expected, 1e-9, 1e-9)
        mean = np.average(logsumexp(logs, axis=1), weights=rows.mass)
        assert_allclose(likelihood, mean, 1e-10)

    @pytest.mark.parametrize("seed", range(3))
    def test_never_lower_the_likelihood(self, seed):
        rows = weighted_rows(seed=seed)
        layer = fit_layer(
            rows, 5, 0.0, 1e-12, NO_CATEGORIES, np.random.default_rng(seed)
        )
        spread = np.random.default_rng(seed).normal(size=layer.moments.shape)
        layer = Layer(layer.moments * np.exp(0.02 * spread), layer.prior, 5)
        before = -np.inf
        for _ in range(12):
            layer, old = improve_layer(layer, rows, NO_CATEGORIES, steps=1), layer
            mixture = old.mixture(NO_CATEGORIES)
            now = np.average(mixture.log_density(rows.cell_rows()), weights=rows.mass)
            assert now >= before - 1e-9
            before = now

    def test_one_cell_is_the_normal_distribution(self):
        rows = weighted_rows()
        layer = fit_layer(rows, 1, 0.0, 0.0, NO_CATEGORIES, np.random.default_rng(0))
        found = layer.mixture(NO_CATEGORIES)
        mean = np.average(rows.z, axis=0, weights=rows.mass)
        covariance = np.cov(rows.z.T, aweights=rows.mass, ddof=0)
        assert_allclose(found.mean[0], mean, 1e-10)
        # With as many rows again that spread alike.
        assert_allclose(found.covariance[0], (covariance + np.eye(2)) / 2, 1e-10)


class TestPriors:
    def test_are_shares_of_all_weight(self):
        rows = weighted_rows()
        layer = fit_layer(rows, 4, 3.0, FLOOR, NO_CATEGORIES, np.random.default_rng(0))
        half = layer.prior.mixture(layer.moments / 2, NO_CATEGORIES)
        whole = layer.mixture(NO_CATEGORIES)
        assert_allclose(half.covariance, whole.covariance, 1e-12)
        assert_allclose(half.log_weight, whole.log_weight, 1e-12)

    def test_are_the_formula(self):
        rows = weighted_rows(d=3)
        rng = np.random.default_rng(0)
        layer = fit_layer(rows, 4, 3.0, FLOOR, NO_CATEGORIES, rng)
        prior, found = layer.prior, layer.mixture(NO_CATEGORIES)
        strength = prior.strength * rows.mass.sum()
        assert_allclose(strength, 3)
        for c, sums in enumerate(layer.moments):
            second = np.zeros((3, 3))
            second[np.triu_indices(3)] = sums[4:]
            second = second + np.triu(second, 1).T
            mean = sums[1:4] / sums[0]
            scatter = second - sums[0] * np.outer(mean, mean)
            expected = scatter + strength * prior.size[c] * prior.shape
            expected = expected / (sums[0] + strength) + FLOOR * np.eye(3)
            assert_allclose(found.covariance[c], expected, 1e-9, 1e-12)

    def test_share_shapes_and_keep_sizes(self):
        """Cells that are multiples of one shape: all of them are that shape."""
        shape = np.array([[2.0, 0.5], [0.5, 0.5]])
        sizes = np.array([0.1, 1.0, 30.0])
        mixture = CellMixture(
            np.log(np.full(3, 1 / 3)),
            np.arange(6.0).reshape(3, 2),
            sizes[:, None, None] * shape,
            np.zeros((3, 0)),
        )
        prior = CellPrior.pooled(mixture.moments(), 2, 1.0, 0.0, 0.0)
        found = prior.size[:, None, None] * prior.shape
        assert_allclose(found, mixture.covariance, 1e-9)


class TestRows:
    @pytest.mark.parametrize(("d", "n_cells"), [(3, 2), (16, 8), (16, 9), (40, 1)])
    def test_with_products_and_without(self, d, n_cells):
        rng = np.random.default_rng(d)
        onehot = np.eye(3)[rng.integers(3, size=50)]
        z = rng.normal(size=(50, d))
        rows = CellRows(np.column_stack([np.ones(50), z, onehot]), d)
        i, j = np.triu_indices(d)
        features = np.column_stack([np.ones(50), z, z[:, i] * z[:, j], onehot])
        coefficients = rng.normal(size=(features.shape[1], n_cells))
        member = rng.random((50, n_cells))
        assert_allclose(rows.values(coefficients), features @ coefficients, 1e-9, 1e-9)
        assert_allclose(rows.sums(member), member.T @ features, 1e-10, 1e-10)

    def test_sums_of_the_rows_that_belong(self):
        """Cell by cell, where rows belong to few of many cells."""
        rng = np.random.default_rng(0)
        onehot = np.eye(3)[rng.integers(3, size=4000)]
        z = rng.normal(size=(4000, 20))
        rows = CellRows(np.column_stack([np.ones(4000), z, onehot]), 20)
        member = np.where(rng.random((4000, 12)) < 0.1, rng.random((4000, 12)), 1e-12)
        assert_allclose(rows.sums(member, 1e-9), member.T @ rows.features, 1e-6, 1e-6)


class TestStarts:
    def test_have_all_rows_in_some_cell(self):
        rows = weighted_rows(d=3)
        moments = started(rows, 8, np.random.default_rng(0))
        assert len(moments) == 8
        expected = rows.mass @ rows.cell_rows().features
        assert_allclose(moments.sum(axis=0), expected, 1e-10, 1e-10)

    def test_are_in_clusters_that_are_far_apart(self):
        rng = np.random.default_rng(0)
        which = rng.integers(6, size=600)
        z = 100 * rng.normal(size=(6, 2))[which] + rng.normal(size=(600, 2))
        rows = WeightedRows(z, np.zeros((600, 0)), np.ones(600))
        moments = started(rows, 6, rng)
        assert_array_equal(np.sort(moments[:, 0]), np.sort(np.bincount(which)))

    @pytest.mark.parametrize("held", [True, False])
    def test_each_strength_has_its_layer(self, held):
        rows, rng = weighted_rows(), np.random.default_rng(0)
        layers = fit_layers(
            rows, 5, (0.0, 3.0, 9.0), 1e-6, NO_CATEGORIES, rng, held=held
        )
        strengths = [each.prior.strength * rows.mass.sum() for each in layers]
        assert_allclose(strengths, [0, 3, 9], atol=1e-12)
        logs = [
            np.average(
                each.mixture(NO_CATEGORIES).log_density(rows.cell_rows()),
                weights=rows.mass,
            )
            for each in layers
        ]
        assert logs[0] > logs[2]  # no prior holds it back


class TestStacking:
    def test_weights_are_the_likeliest(self):
        rng = np.random.default_rng(0)
        logs = rng.normal([0.0, 0.3, -0.2], size=(400, 3))
        mass = rng.random(400) + 0.5

        def loss(numbers):
            log_weights = numbers - logsumexp(numbers)
            mixed = mass @ logsumexp(logs + log_weights, axis=1)
            return -(mixed + log_weights.mean())  # and one row for all alike

        expected = minimize(loss, np.zeros(3)).x
        expected = np.exp(expected - logsumexp(expected))
        assert_allclose(stacked_weights(logs, mass), expected, atol=1e-4)

    def test_the_better_layer_takes_all_but_a_row(self):
        logs = np.column_stack([np.zeros(99), np.full(99, -50.0)])
        assert_allclose(stacked_weights(logs, np.ones(99)), [0.995, 0.005], 1e-6)

    def test_of_impossible_rows(self):
        logs = np.column_stack([np.full(50, -1e4), np.full(50, -np.inf)])
        assert_allclose(stacked_weights(logs, np.ones(50)).sum(), 1)

    def test_layers_that_hardly_count_go_but_for_the_first(self):
        found = worthwhile(np.array([0.001, 0.5, 0.01, 0.489]))
        assert_array_equal(found, [True, True, False, True])

    def test_settings_fit_the_rows(self):
        assert list(settings(3, 2, None)) == [(1, (0.0,))]
        assert max(n for n, _ in settings(400, 2, None)) == 100
        assert max(n for n, _ in settings(10**4, 2, None)) == 300
        assert {s for n, s in settings(10**4, 6, None) if n > 1} == {(0.0, 3.0, 7.0)}

    def test_cells_that_are_asked_for_are_the_only_layer_beside_one(self):
        assert list(settings(10**4, 2, 7)) == [(1, (0.0,)), (7, (3.0,))]
        assert list(settings(10**4, 2, 1)) == [(1, (0.0,))]
        assert list(settings(3, 2, 7)) == [(1, (0.0,))]


class TestKernels:
    def test_cells_are_as_wide_as_their_rows_and_the_kernel(self):
        rows = weighted_rows()
        layer = kernel_layer(rows, 6, 0.25, np.random.default_rng(0))
        mixture = layer.mixture(NO_CATEGORIES)
        nearest = ((rows.z[:, None] - mixture.mean) ** 2).sum(axis=2).argmin(axis=1)
        router = rows.cell_rows().features @ layer.router(NO_CATEGORIES)
        assert_array_equal(router.argmax(axis=1), nearest)
        for c in range(len(mixture.mean)):
            own, mass = rows.z[nearest == c], rows.mass[nearest == c]
            expected = np.cov(own.T, aweights=mass, ddof=0) + 0.25 * np.eye(2)
            # Rows on the border between cells may have changed sides since.
            assert_allclose(mixture.covariance[c], expected, atol=0.25)


class TestChoice:
    @pytest.fixture
    def model(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2)) + 4 * rng.integers(3, size=(600, 1))
        return DMKDE(feature_map="mosaic", random_state=0).fit(X)

    def test_says_what_it_tried(self, model):
        mosaic = model.feature_map_
        *each, together = mosaic.tried_
        # One row more that belongs to all layers alike costs a little.
        assert together.score >= max(layer.score for layer in each) - 0.01
        assert_allclose(sum(layer.weight for layer in each), 1)
        assert_allclose(mosaic.layer_weights_.sum(), 1)
        assert len(mosaic.layer_weights_) == len(mosaic.stops_)
        assert mosaic.n_cells_ == mosaic.stops_[-1]

    def test_memberships_sum_to_one_in_every_layer(self, model):
        mosaic = model.feature_map_
        columns, _ = mosaic.columns(np.random.default_rng(0).normal(size=(9, 2)))
        member = mosaic.memberships(mosaic.cell_rows(columns))
        for own in mosaic.layers:
            assert_allclose(member[:, own].sum(axis=1), 1)

    def test_is_the_same_for_copies_and_weights(self):
        X = np.random.default_rng(0).normal(size=(120, 2)) ** 3
        counts = np.random.default_rng(1).integers(1, 4, 120)
        few = MosaicFeatures(n_cells=10)
        copies = DMKDE(feature_map=few, random_state=0).fit(np.repeat(X, counts, 0))
        weighed = DMKDE(feature_map=few, random_state=0).fit(X, sample_weight=counts)
        assert_allclose(copies.score_samples(X), weighed.score_samples(X), 1e-6)

    def test_copies_do_not_vouch_for_each_other(self):
        """Five copies of every row are no reason for spikes about rows."""
        rng = np.random.default_rng(0)
        X, other = rng.normal(size=(2, 200, 2))
        once = DMKDE(feature_map="mosaic", random_state=0).fit(X)
        often = DMKDE(feature_map="mosaic", random_state=0).fit(np.tile(X, (5, 1)))
        assert (
            often.score_samples(other).mean() > once.score_samples(other).mean() - 0.1
        )

    @pytest.mark.parametrize("n", [1, 2, 3, 5])
    def test_of_very_few_rows(self, n):
        X = np.random.default_rng(0).normal(size=(n, 3))
        model = DMKDE(feature_map="mosaic", random_state=0).fit(X)
        assert np.isfinite(model.score_samples(X)).all()
