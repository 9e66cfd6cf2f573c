"""Shapes of columns: inverses, slopes, what they refuse, when they are taken."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from rhokit import DMKDE, DataError
from rhokit.features import MosaicFeatures
from rhokit.features.bends import ASINH, LINEAR, LOG
from rhokit.features.ends import ColumnEnds
from rhokit.features.shapes import ColumnShapes
from rhokit.features.splines import Splines

# Every kind, with no end, a lower one, an upper one and both; all mended by splines.
ENDS = [(-np.inf, np.inf), (-2.0, np.inf), (-np.inf, 3.0), (-2.0, 3.0)]
BENDS = [(LINEAR, 0.0, 1.0), (ASINH, 0.4, 0.3), (LOG, -2.0, 1.0)]
COLUMNS = [(*b, *e) for b in BENDS for e in ENDS if b[0] != LOG or e[0] == -2.0]


def shapes(columns=COLUMNS, soft=0.3, knots=True):
    kind, origin, unit, low, high = (
        np.array(each) for each in zip(*columns, strict=True)
    )
    d = len(kind)
    at = np.array([-2.0, -0.5, 0.3, 1.5])[:, None] + np.zeros(d)
    to = np.array([-3.0, -0.6, 0.5, 1.4])[:, None] + np.zeros(d)
    return ColumnShapes(
        kind,
        origin,
        unit,
        np.full(d, soft),
        np.full(d, 0.2),
        np.full(d, 1.5),
        low,
        high,
        np.zeros((2, d)),
        Splines.through(at, to) if knots else Splines(*np.zeros((3, 0, d))),
    )


SHAPES = shapes()
numbers = st.lists(st.floats(-2 + 1e-6, 3 - 1e-6), min_size=len(COLUMNS))


def rows(n=200, seed=0):
    """Inside of all ends."""
    return np.random.default_rng(seed).uniform(-1.99, 2.99, size=(n, len(COLUMNS)))


def chosen(column, zero=-np.inf):
    column = np.asarray(column, dtype=float)
    mass = np.ones(len(column))
    ends = ColumnEnds.of(column, mass, zero, column.min(), column.max())
    return ColumnShapes.chosen(column[:, None], mass, [ends])


class TestFunctions:
    @given(numbers)
    def test_are_undone(self, values):
        X = np.array(values)[: len(COLUMNS)][None]
        assert_allclose(SHAPES.invert(SHAPES.apply(X)[0]), X, rtol=1e-7, atol=1e-9)

    def test_are_undone_from_anywhere(self):
        z = np.random.default_rng(0).normal(size=(200, len(COLUMNS)))
        assert_allclose(SHAPES.apply(SHAPES.invert(z))[0], z, rtol=1e-6, atol=1e-6)

    def test_grow(self):
        X = np.sort(rows(), axis=0)
        assert (np.diff(SHAPES.apply(X)[0], axis=0) > 0).all()

    def test_volume_is_the_product_of_slopes(self):
        X, step = rows(), 1e-6
        expected = 0
        for j in range(len(COLUMNS)):
            up, down = X.copy(), X.copy()
            up[:, j] += step
            down[:, j] -= step
            moved = SHAPES.apply(up)[0][:, j] - SHAPES.apply(down)[0][:, j]
            expected = expected + np.log(moved / (2 * step))
        assert_allclose(SHAPES.apply(X)[1], expected, rtol=1e-6, atol=1e-3)

    @pytest.mark.parametrize("column", COLUMNS)
    def test_have_mass_one(self, column):
        """A normal density of z, with the volume, integrates to one within the ends."""
        own = shapes([column], soft=0.5)
        u, near = np.linspace(-12, 12, 100_001), 1e-4
        x, up, down = (own.invert(z[:, None]) for z in (u, u + near, u - near))
        z, log_volume = own.apply(x)
        density = np.exp(norm.logpdf(z[:, 0]) + log_volume)
        density = np.where(np.isfinite(density), density, 0)
        volume = (up - down)[:, 0] / (2 * near) * (u[1] - u[0])
        assert_allclose(volume @ density, 1, atol=1e-6)

    def test_without_the_volume_are_the_same(self):
        X = rows()
        found, volume = SHAPES.apply(X, with_volume=False)
        assert_array_equal(found, SHAPES.apply(X)[0])
        assert not volume.any()

    def test_straight_columns_beside_bent_ones(self):
        """All straight ones are done at once, and give what each gives alone."""
        columns = [(LINEAR, 0.0, 1.0, -np.inf, np.inf), *COLUMNS]
        both, X = shapes(columns, knots=False), np.column_stack([rows()[:, :2], rows()])
        X = X[:, 1:]
        z, volume = both.apply(X)
        parts = [both.part([j]).apply(X[:, [j]]) for j in range(len(columns))]
        assert_allclose(z, np.concatenate([each for each, _ in parts], axis=1), 1e-14)
        assert_allclose(volume, sum(each for _, each in parts), 1e-12)

    def test_of_some_columns(self):
        X, some = rows(), [0, 2, 5]
        part = SHAPES.part(some)
        assert_array_equal(part.apply(X[:, some])[0], SHAPES.apply(X)[0][:, some])
        assert_array_equal(part.invert(X[:, some]), SHAPES.invert(X)[:, some])

    @pytest.mark.parametrize("value", [-2.0, -5.0, 3.0, 1e9])
    def test_end(self, value):
        X = rows(3)
        X[1] = value
        outside = [e[3] > value or value > e[4] for e in COLUMNS]
        assert_array_equal(SHAPES.outside(X)[1], outside)
        assert not SHAPES.outside(X)[[0, 2]].any()
        assert_array_equal(
            np.isneginf(SHAPES.apply(X)[1]), [False, any(outside), False]
        )
        assert np.isfinite(SHAPES.apply(X)[0]).all()

    def test_never_leave_the_ends(self):
        z = np.array([-1e60, -40, 0, 40, 1e60])[:, None] + np.zeros(len(COLUMNS))
        with np.errstate(over="ignore"):
            found = SHAPES.invert(z)
        assert (found >= SHAPES.low).all()
        assert (found <= SHAPES.high).all()


def uniform_shapes():
    x, mass = np.random.default_rng(0).random(4000), np.ones(4000)
    ends = ColumnEnds.of(x, mass, -np.inf, float(x.min()), float(x.max()))
    return ColumnShapes.chosen(x[:, None], mass, [ends])


class TestSuggestedEnds:
    """Uniform columns end, as far as rows can tell; some may come from beyond."""

    def test_are_near_the_last_rows(self):
        own = uniform_shapes()
        assert -0.01 < own.low[0] < 0
        assert 1 < own.high[0] < 1.01
        assert (own.turn > 0).all()

    def test_nothing_is_impossible_beyond(self):
        own = uniform_shapes()
        x = np.linspace(-5, 6, 4001)[:, None]
        z, log_volume = own.apply(x)
        assert not own.outside(x).any()
        assert np.isfinite(log_volume).all()
        assert (np.diff(z, axis=0) > 0).all()
        assert_allclose(own.invert(z), x, rtol=1e-9, atol=1e-9)
        slopes = np.gradient(z[:, 0], x[:, 0])
        far = (x[:, 0] < -0.5) | (x[:, 0] > 1.5)
        assert_allclose(np.log(slopes)[far], log_volume[far], atol=1e-2)

    def test_little_lies_beyond(self):
        own = uniform_shapes()
        z, _ = own.apply(np.array([[0.0], [1.0]]))
        below, above = norm.cdf(z[0, 0]), norm.sf(z[1, 0])
        assert below + above < 0.01

    def test_rows_that_are_left_out_may_deny_them(self):
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.random(4000), [-0.5, 1.7]])
        mass, fold = np.ones(4002), np.arange(4002) % 5
        bold = ColumnEnds.of(x[:4000], mass[:4000], -np.inf, 0.0, 1.0)
        assert np.isfinite([bold.low, bold.high]).all()
        sobered = bold.confirmed(x, mass, fold)
        assert_array_equal([sobered.low, sobered.high], [-np.inf, np.inf])
        same = bold.confirmed(x[:4000], mass[:4000], fold[:4000])
        assert_array_equal([same.low, same.high], [bold.low, bold.high])


class TestChoice:
    def test_of_normal_columns_is_a_line(self):
        assert chosen(np.random.default_rng(0).normal(size=2000)).are_lines

    def test_of_columns_above_zero_is_a_logarithm(self):
        x = np.random.default_rng(0).lognormal(sigma=0.7, size=2000)
        assert_array_equal(chosen(x, 0.0).kind, [LOG])
        assert chosen(x, 0.0).low[0] == 0
        assert_array_equal(chosen(x - 1, 0.0).low, [-np.inf])  # not above

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
        X = np.exp(rows(500)[:, :3])
        mass = np.random.default_rng(1).random(500)
        ends = [ColumnEnds.of(x, mass, 0.0, x.min(), x.max()) for x in X.T]
        z, _ = ColumnShapes.chosen(X, mass, ends).apply(X)
        mean = np.average(z, axis=0, weights=mass)
        assert_allclose(mean, 0, atol=1e-9)
        assert_allclose(np.average(z**2, axis=0, weights=mass), 1, rtol=1e-9)

    def test_makes_rows_likelier(self):
        """Than a line, a logarithm, and inverse hyperbolic sines without ends."""
        x = np.random.default_rng(0).gamma(1.5, size=1000)

        def likelihood(shapes):
            z, log_volume = shapes.apply(x[:, None])
            return (norm.logpdf(z[:, 0]) + log_volume).mean()

        best = likelihood(chosen(x, 0.0))
        for unit in np.std(x) * np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1]):
            for centre in np.quantile(x, [0, 0.1, 0.5, 0.9, 1]):
                bent = np.arcsinh((x - centre) / unit)
                other = replace(
                    shapes([(ASINH, centre, unit, -np.inf, np.inf)], knots=False),
                    centre=np.array([bent.mean()]),
                    width=np.array([bent.std()]),
                )
                # A line or a logarithm is taken where others gain less than this.
                assert likelihood(other) <= best + 0.02 + 1e-9


class TestZero:
    """Columns above zero have no density below, and no rows are learned there."""

    @pytest.fixture
    def model(self):
        X = np.random.default_rng(0).lognormal(size=(400, 2))
        frame = pd.DataFrame(X, columns=["width", "price"])
        few = MosaicFeatures(n_cells=3)
        return DMKDE(feature_map=few, random_state=0).fit(frame)

    def test_itself_may_be_a_value(self, model):
        rows = pd.DataFrame({"width": [1.0, 1.0], "price": [1e-3, 0.0]})
        assert np.isfinite(model.score_samples(rows)).all()
        assert np.isfinite(model.partial_fit(rows).score_samples(rows)).all()

    @pytest.mark.parametrize("value", [-1e-9, -3.0])
    def test_has_no_density_below(self, model, value):
        assert np.isfinite(model.feature_map_.ends_[0]).all()
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
