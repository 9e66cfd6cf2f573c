"""Shapes of columns: inverses, slopes, what they refuse, when they are taken."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from rhokit import DMKDE, DataError
from rhokit.features import MosaicFeatures
from rhokit.features.shapes import ASINH, LINEAR, LOG, ColumnShapes

SHAPES = ColumnShapes(
    np.array([LINEAR, LOG, ASINH]),
    np.array([0.0, -0.7, 0.4]),
    np.array([1.0, 1.0, 0.03]),
    np.array([0.2, -1.0, 0.5]),
    np.array([1.5, 0.8, 2.0]),
)


def rows(n=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 1] = np.exp(X[:, 1]) - 0.7
    X[:, 2] = X[:, 2] ** 3
    return X


def chosen(column, zero=-np.inf):
    column = np.asarray(column, dtype=float)[:, None]
    return ColumnShapes.chosen(column, np.ones(len(column)), np.array([zero]))


class TestFunctions:
    def test_are_undone(self):
        X = rows()
        assert_allclose(SHAPES.invert(SHAPES.apply(X)[0]), X, rtol=1e-9, atol=1e-12)

    def test_grow(self):
        X = np.sort(rows(), axis=0)
        assert (np.diff(SHAPES.apply(X)[0], axis=0) > 0).all()

    def test_volume_is_the_product_of_slopes(self):
        X, step = rows(), 1e-6
        slopes = []
        for j in range(3):
            wide = step * np.maximum(np.abs(X[:, j] - SHAPES.origin[j]), 0.01)
            up, down = X.copy(), X.copy()
            up[:, j] += wide
            down[:, j] -= wide
            moved = SHAPES.apply(up)[0][:, j] - SHAPES.apply(down)[0][:, j]
            slopes.append(moved / (up[:, j] - down[:, j]))
        expected = np.log(slopes).sum(axis=0)
        assert_allclose(SHAPES.apply(X)[1], expected, rtol=1e-6, atol=1e-7)

    def test_of_some_columns(self):
        X = rows()
        part = SHAPES.part([0, 2])
        assert_array_equal(part.apply(X[:, [0, 2]])[0], SHAPES.apply(X)[0][:, [0, 2]])

    def test_exponentials_are_the_columns(self):
        X = rows()
        z = SHAPES.apply(X)[0]
        for j, (factors, rates) in enumerate(SHAPES.exponentials()):
            terms = [
                a * np.exp(t * z[:, j]) for a, t in zip(factors, rates, strict=True)
            ]
            if j:
                assert_allclose(
                    SHAPES.origin[j] + sum(terms), X[:, j], rtol=1e-9, atol=1e-12
                )
            else:
                assert terms == []

    def test_a_logarithm_ends_at_its_origin(self):
        X = rows(3)
        X[:, 1] = [-0.7, -5, -0.69]
        assert_array_equal(np.isneginf(SHAPES.apply(X)[1]), [True, True, False])
        assert_array_equal(SHAPES.outside(X)[:, 1], [True, True, False])
        assert not SHAPES.outside(X)[:, [0, 2]].any()


class TestChoice:
    def test_of_normal_columns_is_a_line(self):
        assert chosen(np.random.default_rng(0).normal(size=2000)).are_lines

    def test_of_columns_above_zero_is_a_logarithm(self):
        x = np.random.default_rng(0).lognormal(sigma=0.7, size=2000)
        assert_array_equal(chosen(x, 0.0).kind, [LOG])
        assert chosen(x, 0.0).origin[0] == 0
        assert_array_equal(chosen(x - 1, 0.0).kind, [ASINH])  # not above

    def test_of_heavy_tails_is_an_inverse_hyperbolic_sine(self):
        x = np.random.default_rng(0).standard_t(2, size=2000)
        assert_array_equal(chosen(x).kind, [ASINH])

    @pytest.mark.parametrize("n_values", [1, 2, 19])
    def test_of_few_values_is_a_line(self, n_values):
        rng = np.random.default_rng(0)
        x = np.exp(np.arange(n_values))[rng.integers(n_values, size=2000)]
        found = chosen(x, 0.0)
        assert found.are_lines
        assert np.isfinite(found.apply(x[:, None])[0]).all()
        assert found.width[0] > 0

    def test_puts_columns_at_zero_with_spread_one(self):
        X = np.exp(rows(500))
        mass = np.random.default_rng(1).random(500)
        z, _ = ColumnShapes.chosen(X, mass, np.zeros(3)).apply(X)
        mean = np.average(z, axis=0, weights=mass)
        assert_allclose(mean, 0, atol=1e-9)
        assert_allclose(np.average(z**2, axis=0, weights=mass), 1, rtol=1e-9)

    def test_makes_rows_likeliest(self):
        """No other shape has a higher likelihood than the one that was taken."""
        x = np.random.default_rng(0).gamma(1.5, size=1000)[:, None]
        one, mass = np.ones(1), np.ones(1000)

        def likelihood(shapes):
            z, log_volume = shapes.apply(x)
            return (norm.logpdf(z[:, 0]) + log_volume).mean()

        best = likelihood(ColumnShapes.chosen(x, mass, np.zeros(1)))
        for centre in np.quantile(x, [0, 0.1, 0.5, 0.9, 1]):
            for unit in np.std(x) * np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1]):
                bent = np.arcsinh((x - centre) / unit)
                other = ColumnShapes(
                    np.array([ASINH]),
                    centre * one,
                    unit * one,
                    bent.mean() * one,
                    bent.std() * one,
                )
                # A logarithm is taken where another shape gains less than this.
                assert likelihood(other) <= best + 0.01 + 1e-9


class TestZero:
    """Columns above zero have no density below, and no rows are learned there."""

    @pytest.fixture
    def model(self):
        X = np.random.default_rng(0).lognormal(size=(400, 2))
        frame = pd.DataFrame(X, columns=["width", "price"])
        few = MosaicFeatures(n_cells=3)
        return DMKDE(feature_map=few, random_state=0).fit(frame)

    @pytest.mark.parametrize("value", [0.0, -1e-9, -3.0])
    def test_has_no_density_below(self, model, value):
        assert_array_equal(model.feature_map_.kinds_, [LOG, LOG])
        rows = pd.DataFrame({"width": [1.0, 1.0], "price": [1.0, value]})
        found = model.score_samples(rows)
        assert np.isfinite(found[0])
        assert np.isneginf(found[1])
        assert model.density(rows)[1] == 0

    @pytest.mark.parametrize("learn", ["partial_fit", "unlearn"])
    def test_refuses_rows_that_name_their_column(self, model, learn):
        rows = pd.DataFrame({"width": [1.0, 1.0], "price": [1.0, -1.0]})
        before = model.score_samples(rows[:1])
        with pytest.raises(DataError, match="'price'") as caught:
            getattr(model, learn)(rows)
        assert caught.value.column == "price"
        assert caught.value.row == 1
        assert_array_equal(model.score_samples(rows[:1]), before)
