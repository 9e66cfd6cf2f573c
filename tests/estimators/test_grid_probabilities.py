"""Distribution functions, boxes, quantiles and rows drawn, against normal sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.stats import ks_2samp, kstest, norm, spearmanr

from rhokit import DMKDE

# A wrong sampler has p-values of 1e-10 and less; the seeds are fixed.
ALPHA = 1e-3
UNITS = np.array([1000.0, 0.01, 3.0])
GAMMA = 1.5


def rows_of(d, n=60, seed=0):
    """Rows of columns that depend on each other, with very different units."""
    rng = np.random.default_rng(seed)
    rows = rng.normal([0, 1, -2], size=(n, 3))
    rows[:, 1:] += rows[:, :2] * rng.choice([-1, 1], (n, 1))
    return (rows * UNITS)[:, :d]


def fitted(X, scale="std", gamma=GAMMA, sample_weight=None):
    """A model on a grid."""
    model = DMKDE(gamma=gamma, feature_map="grid", scale=scale, random_state=0)
    return model.fit(X, sample_weight=sample_weight)


def spread(X, gamma=GAMMA):
    """Standard deviations of the kernel for scale="std"."""
    return X.std(axis=0) / np.sqrt(2 * gamma)


def exact_box(X, sd, low, high, weights=None):
    """Probability of one box: a sum over rows of products of normal ones."""
    each = np.prod(norm.cdf(high, X, sd) - norm.cdf(low, X, sd), axis=1)
    return np.average(each, weights=weights)


def exact_cdf(X, sd, points, weights=None):
    return np.array([exact_box(X, sd, -np.inf, point, weights) for point in points])


class TestCdf:
    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize(
        ("scale", "widths"),
        [("std", None), (UNITS * 0.7, UNITS * 0.7)],
        ids=["std", "given"],
    )
    def test_is_the_sum_of_normal_ones(self, d, scale, widths):
        X = rows_of(d)
        scale = scale if widths is None else widths[:d]
        sd = spread(X) if widths is None else widths[:d] / np.sqrt(2 * GAMMA)
        points = rows_of(d, seed=1) * 1.5
        actual = fitted(X, scale).series().cdf(points)
        assert actual.shape == (60,)
        assert_allclose(actual, exact_cdf(X, sd, points), rtol=0, atol=1e-9)

    def test_without_scaling(self):
        X = rows_of(2) / UNITS[:2]
        model = fitted(X, scale=None)
        expected = exact_cdf(X, 1 / np.sqrt(2 * GAMMA), X)
        assert_allclose(model.series().cdf(X), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("d", [1, 2])
    def test_weights_count_as_copies(self, d):
        X, weights = rows_of(d), np.arange(60) % 4
        model = fitted(X, UNITS[:d], sample_weight=weights)
        sd = UNITS[:d] / np.sqrt(2 * GAMMA)
        assert_allclose(
            model.series().cdf(X), exact_cdf(X, sd, X, weights), rtol=0, atol=1e-9
        )

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_goes_from_zero_to_one(self, d):
        X = rows_of(d)
        ends = np.stack(
            [X.min(axis=0) - 50 * UNITS[:d], X.max(axis=0) + 50 * UNITS[:d]]
        )
        assert_allclose(fitted(X).series().cdf(ends), [0, 1], rtol=0, atol=1e-12)

    def test_has_the_density_as_its_slope(self):
        X = rows_of(1)
        model, step = fitted(X), 1e-4 * UNITS[0]
        slope = (model.series().cdf(X + step) - model.series().cdf(X - step)) / (
            2 * step
        )
        assert_allclose(slope, model.density(X), rtol=1e-6)

    def test_follows_later_rows(self):
        X = rows_of(2)
        model = fitted(X)
        first = model.series().cdf(X)
        model.partial_fit(X[:20])
        expected = exact_cdf(np.vstack([X, X[:20]]), spread(X), X)
        assert np.abs(first - expected).max() > 1e-3
        assert_allclose(model.series().cdf(X), expected, rtol=0, atol=1e-9)

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(st.integers(-50, 50), min_size=1, max_size=12),
        st.sampled_from([0.05, 1.0, 30.0]),
    )
    def test_rises_from_zero_to_one_and_is_undone(self, values, gamma):
        X = np.array(values)[:, None] / 7
        model = fitted(X, None, gamma)
        points = np.linspace(-10, 10, 101)[:, None]
        shares = model.series().cdf(points)
        assert ((shares >= 0) & (shares <= 1)).all()
        assert np.diff(shares).min() > -1e-10
        density = model.density(points)
        seen = density > 1e-4 * np.sqrt(gamma)
        back = model.series().quantile(shares[seen])
        assert_allclose(back, points[seen, 0], rtol=0, atol=1e-8)


class TestQuantile:
    @pytest.mark.parametrize("scale", ["std", None, [20.0]])
    def test_is_where_the_exact_cdf_is_reached(self, scale):
        X = rows_of(1) / (1 if scale == "std" else 100)
        sd = {"std": X.std(), None: 1.0}.get(scale if scale != [20.0] else 0, 20.0)
        sd /= np.sqrt(2 * GAMMA)
        shares = np.array([1e-3, 0.1, 0.25, 0.5, 0.7, 0.99, 0.9999])
        low, high = X.min() - 20 * sd, X.max() + 20 * sd
        expected = [
            brentq(lambda x, q=q: exact_box(X, sd, -np.inf, x) - q, low, high)
            for q in shares
        ]
        actual = fitted(X, scale).series().quantile(shares)
        assert_allclose(actual, expected, rtol=0, atol=1e-6 * sd)

    def test_undoes_the_cdf(self):
        model = fitted(rows_of(1))
        shares = np.linspace(0, 1, 1001)
        back = model.series().cdf(model.series().quantile(shares)[:, None])
        assert_allclose(back, shares, rtol=0, atol=1e-11)

    def test_never_falls(self):
        tails = 10.0 ** -np.arange(14, 0, -1)
        shares = np.concatenate(
            [[0], tails, np.linspace(0.1, 0.9, 500), 1 - tails[::-1]]
        )
        values = fitted(rows_of(1)).series().quantile([*shares, 1.0])
        assert np.isfinite(values).all()
        assert np.diff(values).min() >= 0

    def test_zero_and_one_are_the_ends(self):
        X = rows_of(1)
        model = fitted(X)
        low, high = model.series().quantile([0, 1])
        assert low < X.min() - 4 * spread(X)
        assert high > X.max() + 4 * spread(X)
        assert_allclose(model.series().cdf([[low], [high]]), [0, 1], rtol=0, atol=1e-8)

    @pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (1, 1)])
    def test_has_the_shape_of_its_shares(self, shape):
        model = fitted(rows_of(1))
        values = model.series().quantile(np.full(shape, 0.3))
        assert np.shape(values) == shape
        assert_allclose(values, model.series().quantile(0.3))
        assert isinstance(model.series().quantile(0.3), float)

    def test_gaps_are_jumped(self):
        """Two clusters, half of the rows each, and nothing at all in between."""
        half = np.random.default_rng(0).normal(size=(40, 1))
        model = fitted(np.vstack([half, half + 300]), scale=None)
        left = fitted(half, scale=None)
        shares = np.array([0.001, 0.3, 0.9, 0.999])
        expected = left.series().quantile(shares)
        assert_allclose(model.series().quantile(shares / 2), expected, atol=1e-7)
        assert_allclose(
            model.series().quantile((1 + shares) / 2), expected + 300, atol=1e-7
        )
        assert half.max() < model.series().quantile(0.5) < half.min() + 300

    @pytest.mark.parametrize("gamma", [0.02, 1.0, 1e4])
    def test_of_a_point_mass(self, gamma):
        shares = np.linspace(0.01, 0.99, 25)
        sd = 1 / np.sqrt(2 * gamma)
        actual = fitted([[3.5]] * 7, None, gamma).series().quantile(shares)
        assert_allclose(actual, norm.ppf(shares, 3.5, sd), rtol=0, atol=1e-6 * sd)

    def test_weights_count_as_copies(self):
        X, weights = rows_of(1), np.arange(60) % 3
        model = fitted(X, sample_weight=weights)
        copies = fitted(np.repeat(X, weights, axis=0))
        shares = np.linspace(0.01, 0.99, 30)
        expected = copies.series().quantile(shares)
        assert_allclose(model.series().quantile(shares), expected, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("q", [-0.1, 1.5, np.nan, [0.5, 2], [0.1, np.nan]])
    def test_refuses_what_is_no_share(self, q):
        with pytest.raises(ValueError, match="q must lie between 0 and 1"):
            fitted(rows_of(1)).series().quantile(q)

    def test_refuses_two_columns(self):
        with pytest.raises(ValueError, match=r"quantile is of one column.*2"):
            fitted(rows_of(2)).series().quantile(0.5)


class TestBoxProbability:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_is_the_sum_of_normal_ones(self, d):
        X = rows_of(d)
        corners = np.sort([rows_of(d, 40, seed) for seed in (1, 2)], axis=0)
        corners[0, ::3, 0], corners[1, ::4, -1] = -np.inf, np.inf
        actual = fitted(X).series().box_probability(*corners)
        boxes = zip(*corners, strict=True)
        expected = [exact_box(X, spread(X), low, high) for low, high in boxes]
        assert actual.shape == (40,)
        assert_allclose(actual, expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_of_everything_is_one_and_of_nothing_zero(self, d):
        model = fitted(rows_of(d))
        ends = np.full(d, np.inf)
        assert_allclose(model.series().box_probability(-ends, ends), 1, rtol=1e-12)
        assert model.series().box_probability(ends, ends) == 0
        assert model.series().box_probability(np.zeros(d), np.zeros(d)) == 0
        far = rows_of(d).max(axis=0) + 100 * UNITS[:d]
        assert_allclose(model.series().box_probability(far, ends), 0, atol=1e-12)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_many_boxes_are_as_one_by_one(self, d):
        model = fitted(rows_of(d))
        low, high = np.sort([rows_of(d, 7, 1), rows_of(d, 7, 2)], axis=0)
        singles = [
            model.series().box_probability(*box) for box in zip(low, high, strict=True)
        ]
        assert all(isinstance(single, float) for single in singles)
        assert_allclose(model.series().box_probability(low, high), singles, atol=1e-13)

    @pytest.mark.parametrize("d", [1, 2])
    def test_is_a_share_in_a_gap(self, d):
        """Where there is nothing, waves cancel but for rounding."""
        model = fitted(np.outer([0, 30], np.ones(d)), None)
        low = np.linspace(10, 18, 200)[:, None] * np.ones(d)
        share = model.series().box_probability(low, low + 2)
        assert (share >= 0).all()
        assert_allclose(share, 0, atol=1e-11)
        most = model.series().box_probability(low - 30, low + 40)
        assert (most <= 1).all()
        assert_allclose(most, 1, rtol=1e-11)

    def test_many_thousands_of_boxes(self):
        """More than a block of them; those of a partition add up to one."""
        model = fitted(rows_of(2))
        x = np.concatenate([[-np.inf], np.linspace(-5, 5, 99), [np.inf]])
        edges = x * UNITS[0], x * UNITS[1]
        low, high = (
            np.stack(np.meshgrid(*(e[part] for e in edges)), axis=-1).reshape(-1, 2)
            for part in (slice(-1), slice(1, None))
        )
        share = model.series().box_probability(low, high)
        assert share.shape == (10_000,)
        assert_allclose(share.sum(), 1, rtol=1e-9)

    def test_one_corner_serves_all(self):
        X = rows_of(2)
        model = fitted(X)
        low = np.array([-np.inf, -np.inf])
        for lows in (low, low[None]):
            assert_allclose(
                model.series().box_probability(lows, X),
                model.series().cdf(X),
                atol=1e-13,
            )
        one = model.series().box_probability(low[None], X[0])
        assert one.shape == (1,)

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("width", [1e-5, 1e-9, 1e-13])
    def test_tiny_boxes_keep_their_digits(self, d, width):
        """About the middle of symmetric rows, whose corners do not round."""
        X = rows_of(d, 20) / UNITS[:d]
        model = fitted(np.vstack([X, -X]), None, gamma=0.5)
        corner = np.full(d, width / 2)
        expected = model.density(np.zeros((1, d)))[0] * width**d
        actual = model.series().box_probability(-corner, corner)
        assert_allclose(actual, expected, rtol=1e-7)

    @pytest.mark.parametrize(
        ("low", "high"),
        [
            ([0.0], [1.0]),
            (np.zeros((2, 3)), np.ones((2, 3))),
            (np.zeros((2, 2, 2)), np.ones((2, 2, 2))),
            ([0.0, np.nan], [1.0, 1.0]),
            ([0.0, 0.0], [np.nan, 1.0]),
        ],
    )
    def test_refuses_other_shapes_and_nan(self, low, high):
        with pytest.raises(ValueError, match=r"low and high must be numbers of shape"):
            fitted(rows_of(2)).series().box_probability(low, high)

    def test_refuses_corners_in_the_wrong_order(self):
        model = fitted(rows_of(2))
        with pytest.raises(ValueError, match="low must not exceed high"):
            model.series().box_probability([0.0, 1.0], [1.0, 0.5])
        with pytest.raises(ValueError, match="low must not exceed high"):
            model.series().box_probability([[0, 0], [0, 0]], [[1, 1], [1, -np.inf]])


class TestSample:
    @pytest.mark.parametrize("scale", ["std", UNITS[:1] / 3, None])
    def test_one_column_follows_the_exact_cdf(self, scale):
        X = rows_of(1) / (1000 if scale is None else 1)
        width = {"std": X.std(), "None": 1.0}.get(str(scale), UNITS[0] / 3)
        drawn = fitted(X, scale).sample(4000, random_state=0)
        assert drawn.shape == (4000, 1)
        shares = exact_cdf(X, width / np.sqrt(2 * GAMMA), drawn)
        assert kstest(shares, "uniform").pvalue > ALPHA

    @pytest.mark.parametrize("weights", [None, np.arange(60) % 4])
    def test_two_columns_follow_one_another(self, weights):
        """The first column's share, and the second one's given the first."""
        X = rows_of(2)
        sd = UNITS[:2] / np.sqrt(2 * GAMMA)
        drawn = fitted(X, UNITS[:2], sample_weight=weights).sample(4000, random_state=0)
        first = exact_cdf(X[:, :1], sd[:1], drawn[:, :1], weights)
        mass = np.ones(60) if weights is None else weights
        near = norm.pdf(drawn[:, :1], X[:, 0], sd[0]) * mass
        below = norm.cdf(drawn[:, 1:], X[:, 1], sd[1])
        second = (near * below).sum(axis=1) / near.sum(axis=1)
        assert kstest(first, "uniform").pvalue > ALPHA
        assert kstest(second, "uniform").pvalue > ALPHA
        assert spearmanr(first, second).pvalue > ALPHA

    def test_are_the_quantiles_of_random_shares(self):
        """One column after the other, exactly."""
        X = rows_of(2)
        model, sd = fitted(X), spread(X)
        shares = np.random.default_rng(3).random((300, 2))
        drawn = model.sample(300, random_state=np.random.default_rng(3))
        near = norm.pdf(drawn[:, :1], X[:, 0], sd[0])
        below = norm.cdf(drawn[:, 1:], X[:, 1], sd[1])
        second = (near * below).sum(axis=1) / near.sum(axis=1)
        first = exact_cdf(X[:, :1], sd[:1], drawn[:, :1])
        assert_allclose(first, shares[:, 0], rtol=0, atol=1e-8)
        assert_allclose(second, shares[:, 1], rtol=0, atol=1e-6)

    def test_many_rows_of_two_columns(self):
        """More than a block of them."""
        X = rows_of(2)
        drawn = fitted(X).sample(20_000, random_state=1)
        shares = exact_cdf(X[:, 1:], spread(X)[1:], drawn[-3000:, 1:])
        assert kstest(shares, "uniform").pvalue > ALPHA

    @pytest.mark.parametrize(("d", "scale"), [(2, "whiten"), (3, "std")])
    def test_others_follow_rows_with_noise(self, d, scale):
        X, rng, gamma = rows_of(d), np.random.default_rng(5), 0.5
        model = fitted(X, scale, gamma)
        noise = rng.normal(size=(4000, d)) / np.sqrt(2 * gamma)
        if scale == "whiten":
            noise = noise @ np.linalg.cholesky(np.cov(X.T, bias=True)).T
        else:
            noise *= X.std(axis=0)
        exact = X[rng.integers(len(X), size=4000)] + noise
        drawn = model.sample(2000, random_state=0)
        assert drawn.shape == (2000, d)
        for direction in [*np.eye(d), *rng.normal(size=(4, d))] / UNITS[:d]:
            assert ks_2samp(drawn @ direction, exact @ direction).pvalue > ALPHA

    @pytest.mark.parametrize("d", [1, 2])
    def test_gaps_stay_empty(self, d):
        half = rows_of(d, 30) / UNITS[:d]
        drawn = fitted(np.vstack([half, half + 40]), None).sample(1000, random_state=0)
        left = drawn[:, 0] < 20
        assert_allclose(left.mean(), 0.5, atol=0.05)
        folded = drawn - 40 * ~left[:, None]
        sd = 1 / np.sqrt(2 * GAMMA)
        assert (folded > half.min(axis=0) - 6 * sd).all()
        assert (folded < half.max(axis=0) + 6 * sd).all()

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_same_seed_same_rows(self, d):
        model = fitted(rows_of(d), gamma=0.1)
        first, again = (model.sample(5, random_state=3) for _ in range(2))
        assert first.shape == (5, d)
        assert_array_equal(again, first)

    def test_a_generator_goes_on(self):
        model, rng = fitted(rows_of(2)), np.random.default_rng(3)
        first, second = (model.sample(5, random_state=rng) for _ in range(2))
        assert_array_equal(model.sample(5, np.random.default_rng(3)), first)
        assert np.abs(first - second).max() > 0
        assert model.sample().shape == (1, 2)

    @pytest.mark.parametrize("d", [1, 2])
    def test_no_rows_at_all(self, d):
        assert fitted(rows_of(d)).sample(0).shape == (0, d)
