"""Densities on a grid against exact KDE: written out, and by other packages."""

import finufft
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from KDEpy import NaiveKDE, TreeKDE
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import gaussian_kde

from rhokit import (
    DMKDE,
    DMKDClassifier,
    GridFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
)
from rhokit.fast import series
from rhokit.features import gamma_by_rule
from tests.pairs import each_once, pairs
from tests.reference.density_oracles import exact_log_kde, leave_one_out_log_kde

TOL = 1e-8  # of the peak
FACTORS = (0.01, 1.0, 100.0, 1e4)  # times the median rule
SIZES = (10, 300, 20_000)
ON_GRID = ("auto", "grid")
N_QUERIES = 20


def duplicates(rng, shape):
    rows = rng.normal(size=shape)
    return rows[rng.integers(0, max(2, len(rows) // 5), len(rows))]


KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "duplicates": duplicates,
    "two values": lambda rng, shape: rng.integers(0, 2, shape) * 3.0 + 1,
    "integers": lambda rng, shape: rng.integers(-9, 10, shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape) ** 2,
    "far from zero": lambda rng, shape: 1e6 + rng.normal(size=shape),
    "very far": lambda rng, shape: rng.normal(size=shape) - 1e11,
    "tiny": lambda rng, shape: 1e-150 * rng.normal(size=shape),
    "huge": lambda rng, shape: 1e150 * rng.normal(size=shape),
    "unlike columns": lambda rng, shape: rng.normal(size=shape) * [1, 30][: shape[1]],
}


class FinitePoints:
    """The package finufft, which has no answer for points that are not finite."""

    def __getattr__(self, name):
        transform = getattr(finufft, name)

        def checked(*args, **options):
            points = args[: int(name[5])]
            assert all(np.isfinite(each).all() for each in points)
            return transform(*args, **options)

        return checked


def rows_of(kind, n, d, seed=0):
    return KINDS[kind](np.random.default_rng(seed), (n, d))


def gamma_of(X, factor=1.0):
    return factor * gamma_by_rule("median", np.asarray(X, float))


def queries_for(X, gamma):
    """At rows, between them, in the tails, and about the corners of their box."""
    X = np.asarray(X, float)
    rng = np.random.default_rng(1)
    width = 1 / np.sqrt(2 * gamma)
    low, high = X.min(axis=0), X.max(axis=0)
    at = X[rng.choice(len(X), min(N_QUERIES, len(X)), replace=False)]
    shape = (N_QUERIES, X.shape[1])
    steps = width * np.linspace(0, 9, 13)[:, None]
    return np.concatenate(
        [
            at,
            at + width * rng.normal(size=at.shape),
            rng.uniform(low - 4 * width, high + 4 * width, size=shape),
            low - steps,
            high + steps,
        ]
    )


def assert_near_exact(model, X, weights=None, tol=TOL, queries=None):
    """Density in the user's units, within a share of the peak, and not negative."""
    X = np.asarray(X, float)
    scaling, gamma = model.scaling_, model.gamma_
    scaled = scaling.apply(X)
    points = queries_for(scaled, gamma) if queries is None else scaling.apply(queries)
    logs = exact_log_kde(scaled, points, gamma, weights) + scaling.log_volume
    rows = scaling.invert(points) if queries is None else queries
    with np.errstate(under="ignore"):
        exact = np.exp(logs)
    found = model.density(rows)
    assert (found >= 0).all()
    assert_allclose(found, exact, rtol=0, atol=tol * exact.max())


class TestExact:
    @pytest.mark.parametrize(
        ("d", "factor", "n", "feature_map"),
        pairs([1, 2], FACTORS, SIZES, ON_GRID),
    )
    def test_all_bandwidths_and_sizes(self, d, factor, n, feature_map):
        X = rows_of("normal", n, d)
        model = DMKDE(
            gamma=gamma_of(X, factor), scale=None, feature_map=feature_map
        ).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        assert_near_exact(model, X)

    @pytest.mark.slow
    @pytest.mark.parametrize("factor", FACTORS)
    def test_a_million_rows(self, factor):
        X = rows_of("normal", 1_000_000, 1)
        model = DMKDE(gamma=gamma_of(X, factor), scale=None).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        assert_near_exact(model, X, queries=queries_for(X, model.gamma_)[::4])

    @pytest.mark.parametrize(("kind", "factor"), each_once(KINDS, FACTORS))
    def test_kinds_of_rows_in_one_column(self, kind, factor):
        X = rows_of(kind, 200, 1)
        model = DMKDE(gamma=gamma_of(X, factor), scale=None).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        assert_near_exact(model, X)

    @pytest.mark.parametrize(
        ("kind", "factor"),
        each_once([k for k in KINDS if k not in ("tiny", "huge")], [0.01, 100.0]),
    )
    def test_kinds_of_rows_in_two_columns(self, kind, factor):
        X = rows_of(kind, 200, 2)
        model = DMKDE(gamma=gamma_of(X, factor), scale=None).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        assert_near_exact(model, X)

    @pytest.mark.parametrize("factor", [0.01, 1.0, 10.0])
    def test_three_columns(self, factor):
        X = rows_of("normal", 200, 3)
        model = DMKDE(gamma=gamma_of(X, factor), scale=None, feature_map="grid").fit(X)
        assert_near_exact(model, X)

    @pytest.mark.parametrize("gamma", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("n", [1, 9])
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_a_point_mass(self, d, n, gamma):
        X = np.full((n, d), 3.25)
        model = DMKDE(gamma=gamma, scale=None, feature_map="grid").fit(X)
        assert_near_exact(model, X)

    @given(
        values=st.lists(st.integers(-40, 40), min_size=1, max_size=30),
        factor=st.floats(1e-2, 1e3),
    )
    @settings(max_examples=25)
    def test_any_column(self, values, factor):
        X = np.array(values, float)[:, None]
        model = DMKDE(
            gamma=factor / (1 + np.var(X)), scale=None, feature_map="grid"
        ).fit(X)
        assert_near_exact(model, X)


class TestHeavyTails:
    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize("factor", FACTORS)
    def test_exact_or_landmarks(self, factor, d):
        X = np.random.default_rng(0).standard_cauchy((300, d))
        model = DMKDE(gamma=gamma_of(X, factor), scale=None, random_state=0)
        kind = LandmarkFeatures if d == 2 and factor >= 100 else GridFeatures
        assert isinstance(model.fit(X).feature_map_, kind)
        assert_near_exact(model, X)  # no more rows than landmarks

    def test_landmarks_that_are_not_all_rows_are_told_of(self):
        X = np.random.default_rng(0).standard_cauchy((300, 2))
        model = DMKDE(
            gamma=gamma_of(X, 1e4), scale=None, n_components=100, random_state=0
        )
        with pytest.warns(UserWarning, match=r"landmarks are taken") as caught:
            model.fit(X)
        assert caught[0].filename == __file__
        assert isinstance(model.feature_map_, LandmarkFeatures)

    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize("factor", FACTORS)
    def test_exact_or_refused(self, factor, d):
        X = np.random.default_rng(0).standard_cauchy((300, d))
        model = DMKDE(gamma=gamma_of(X, factor), scale=None, feature_map="grid")
        if d == 2 and factor >= 100:  # the same box needs too large a grid
            with pytest.raises(
                ValueError,
                match=r"needs [\d,]+ modes for gamma=.*=4,194,304: take Landm",
            ):
                model.fit(X)
        else:
            assert_near_exact(model.fit(X), X)


class TestOptions:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_single_precision(self, d):
        X = rows_of("normal", 200, d).astype("float32")
        model = DMKDE(gamma=gamma_of(X, 5.0), scale=None, feature_map="grid").fit(X)
        assert model.feature_map_.dtype_ == np.float32
        queries = queries_for(X, model.gamma_).astype("float32")
        assert_near_exact(model, X, tol=1e-7, queries=queries.astype(float))

    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_single_precision_scaled(self, scale):
        X = rows_of("unlike columns", 200, 2).astype("float32")
        model = DMKDE(gamma="scott", scale=scale, feature_map="grid").fit(X)
        queries = queries_for(X, 0.01).astype("float32")
        assert_near_exact(model, X, tol=1e-5, queries=queries.astype(float))

    @pytest.mark.parametrize("d", [1, 2])
    def test_weights(self, d):
        rng = np.random.default_rng(2)
        X = rows_of("normal", 300, d)
        weights = 10 ** rng.uniform(-6, 6, 300)
        weights[::7] = 0
        model = DMKDE(gamma=gamma_of(X, 30.0), scale=None).fit(X, sample_weight=weights)
        assert_near_exact(model, X, weights)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_rows_of_no_weight_say_nothing(self, d, monkeypatch):
        """However far they are: the box need not hold them."""
        monkeypatch.setattr(series, "finufft", FinitePoints)
        X = np.append(rows_of("normal", 20, d), np.full((1, d), 1e3), axis=0)
        weights = np.append(np.ones(20), 0)
        model = DMKDE(gamma=1.0, scale=None, feature_map="grid").fit(
            X, sample_weight=weights
        )
        assert (model.feature_map_.high_ < 9).all()
        assert_near_exact(model, X[:-1])
        model.partial_fit(X, sample_weight=2 * weights)
        assert_near_exact(model, X[:-1])

    @pytest.mark.parametrize(
        "scale", ["std", "robust", "common", "whiten", [0.01, 20.0], None], ids=str
    )
    @pytest.mark.parametrize("gamma", [0.3, "median", "loo"])
    def test_scalings(self, scale, gamma):
        mixing = np.array([[0.02, 9.0], [0.0, 1.5]])
        X = rows_of("normal", 200, 2) @ mixing + [5.0, -300.0]
        model = DMKDE(gamma=gamma, scale=scale, random_state=0).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        assert_near_exact(model, X)

    @pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-11])
    @pytest.mark.parametrize("d", [1, 2])
    def test_tol_is_the_error(self, d, tol):
        X = rows_of("normal", 200, d)
        model = DMKDE(
            gamma=gamma_of(X, 20.0), scale=None, feature_map=GridFeatures(tol=tol)
        ).fit(X)
        assert_near_exact(model, X, tol=tol)

    def test_a_wider_box_says_the_same(self):
        X = rows_of("normal", 200, 2)
        for grid in (
            GridFeatures(margin=2.0),
            GridFeatures(bounds=[[-9] * 2, [7] * 2]),
        ):
            assert_near_exact(DMKDE(gamma=2.0, scale=None, feature_map=grid).fit(X), X)


class TestOutside:
    @pytest.mark.parametrize("kind", ["normal", "integers", "far from zero"])
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_zero_and_never_an_alias(self, d, kind):
        X = rows_of(kind, 50, d)
        model = DMKDE(gamma=gamma_of(X, 2.0), scale=None, feature_map="grid").fit(X)
        grid = model.feature_map_
        low, high = grid.box()
        for j, side in enumerate(np.eye(d)):
            shifts = [k * grid.period_[j] for k in (-1000, -3, -2, -1, 1, 2, 3, 1000)]
            images = np.concatenate([X[:5] + shift * side for shift in shifts])
            outside = (images[:, j] < low[j]) | (images[:, j] > high[j])
            assert outside.sum() >= 30
            assert_array_equal(model.density(images[outside]), 0.0)
            assert_array_equal(model.score_samples(images[outside]), -np.inf)

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_the_edge_is_box_and_reach(self, d):
        X = rows_of("uniform", 50, d)
        model = DMKDE(gamma=3.0, scale=None, feature_map="grid").fit(X)
        low, high = model.feature_map_.box()
        for side in np.eye(d):
            edges = np.where(side, [low, high], X[:1])
            step = 1e-9 * np.array([-side, side])
            assert_array_equal(model.density(edges + step), 0)
            inside = edges - step
            assert np.isfinite(model.feature_map_.columns(inside)[0]).all()
            assert_near_exact(model, X, queries=np.concatenate([inside, X[:5]]))

    @pytest.mark.parametrize("d", [1, 2])
    def test_as_far_as_numbers_go(self, d):
        X = rows_of("normal", 50, d)
        model = DMKDE(gamma=3.0, scale=None).fit(X)
        far = np.outer([1e3, -1e3, 1e150, -1e300, 1.7e308, -1.7e308], np.ones(d))
        assert_array_equal(model.density(far), 0.0)


class TestMass:
    @pytest.mark.parametrize("factor", FACTORS)
    @pytest.mark.parametrize("kind", ["normal", "duplicates", "skewed"])
    def test_one_column(self, kind, factor):
        X = rows_of(kind, 300, 1)
        model = DMKDE(gamma=gamma_of(X, factor), scale=None).fit(X)
        (low,), (high,) = model.feature_map_.box()
        step = 0.5 / np.sqrt(2 * model.gamma_)
        points = np.linspace(low, high, int((high - low) / step) + 2)
        density = model.density(points[:, None])
        assert (density >= 0).all()
        assert_allclose(np.trapezoid(density, points), 1, atol=1e-6)

    def test_adaptive_integration(self):
        X = rows_of("normal", 20, 1)
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        (low,), (high,) = model.feature_map_.box()
        mass, _ = quad(lambda x: model.density([[x]])[0], low, high, limit=200)
        assert_allclose(mass, 1, atol=1e-6)

    @pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
    @pytest.mark.parametrize("scale", [None, "whiten"])
    def test_two_columns(self, factor, scale):
        X = rows_of("normal", 300, 2) @ np.array([[3.0, 1.0], [0.0, 0.5]])
        gamma = gamma_of(X, factor) if scale is None else factor / 4
        model = DMKDE(gamma=gamma, scale=scale).fit(X)
        low, high = model.feature_map_.box()
        step = 0.5 / np.sqrt(2 * gamma)
        axes = [np.arange(a, b + step, step) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        density = model.density(model.scaling_.invert(points))
        assert (density >= 0).all()
        cell = step**2 / np.exp(model.scaling_.log_volume)
        assert_allclose(density.sum() * cell, 1, atol=1e-6)


class TestOtherForms:
    @pytest.mark.parametrize(
        ("d", "factor"),
        [(1, 0.01), (1, 1.0), (1, 100.0), (1, 1e4), (2, 0.01), (2, 2.0)],
    )
    @pytest.mark.parametrize("kind", ["normal", "integers"])
    def test_the_dense_state(self, kind, d, factor):
        X = rows_of(kind, 100, d)
        gamma = gamma_of(X, factor)
        dense = DMKDE(gamma=gamma, scale=None, feature_map="quadrature").fit(X)
        grid = DMKDE(gamma=gamma, scale=None, feature_map="grid").fit(X)
        queries = queries_for(X, gamma)
        expected = dense.density(queries) * dense.mass_  # it is divided by that
        atol = 1e-10 * expected.max()
        assert_allclose(grid.density(queries), expected, rtol=0, atol=atol)

    def test_the_dense_state_of_three_columns(self):
        X = rows_of("uniform", 100, 3)
        dense, grid = (
            DMKDE(gamma=1.0, scale=None, feature_map=cls(tol=1e-3)).fit(X)
            for cls in (QuadratureFeatures, GridFeatures)
        )
        queries = queries_for(X, 1.0)
        expected = dense.density(queries) * dense.mass_  # it is divided by that
        atol = 1e-10 * expected.max()
        assert_allclose(grid.density(queries), expected, rtol=0, atol=atol)

    @pytest.mark.parametrize("d", [1, 2])
    def test_kdepy(self, d):
        X = rows_of("skewed", 300, d)
        gamma = gamma_of(X, 5.0)
        queries = queries_for(X, gamma)
        ours = DMKDE(gamma=gamma, scale=None).fit(X).density(queries)
        width = 1 / np.sqrt(2 * gamma)
        naive = NaiveKDE(bw=width).fit(X).evaluate(queries)
        tree = TreeKDE(bw=width).fit(X).evaluate(queries, eps=1e-13)
        for theirs in (naive, tree):
            assert_allclose(ours, theirs, rtol=0, atol=TOL * theirs.max())

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_scipy(self, d, weighted):
        """Its kernel has the shape of the data's covariance, with n - 1."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, d)) @ rng.normal(size=(d, d)) + 7
        weights = rng.integers(1, 5, 150) if weighted else np.ones(150)
        theirs = gaussian_kde(X.T, bw_method=0.4, weights=weights)
        share = 1 - (weights**2).sum() / weights.sum() ** 2
        gamma = share / (2 * 0.4**2)
        model = DMKDE(gamma=gamma, scale="whiten", feature_map="grid")
        queries = np.concatenate([X[:40], X[:40] + rng.normal(size=(40, d))])
        expected = theirs(queries.T)
        found = model.fit(X, sample_weight=weights).density(queries)
        assert_allclose(found, expected, rtol=0, atol=TOL * expected.max())


class TestLeaveOneOut:
    @pytest.mark.parametrize("kind", ["normal", "integers"])
    @pytest.mark.parametrize("factor", [1.0, 100.0])
    @pytest.mark.parametrize("d", [1, 2])
    def test_scores(self, d, factor, kind):
        X = rows_of(kind, 80, d).astype(float)
        gamma = gamma_of(X, factor)
        logs = (
            DMKDE(gamma=gamma, scale=None).fit(X).score_samples(X, leave_one_out=True)
        )
        exact = leave_one_out_log_kde(X, gamma)
        peak = np.exp(exact.max())
        assert_allclose(np.exp(logs), np.exp(exact), rtol=0, atol=TOL * peak)
        near = exact > exact.max() - 5
        assert near.sum() > 20
        assert_allclose(logs[near], exact[near], atol=1e-6)

    @pytest.mark.parametrize("d", [1, 2])
    def test_nothing_is_left_of_rows_that_are_alone(self, d):
        """What rounding leaves of them is no density to reject by."""
        X = 15.0 * np.arange(24)[:, None] * np.ones(d)
        model = DMKDClassifier(gamma=0.9, scale=None, feature_map="grid", reject=0.5)
        assert model.fit(X, np.arange(24) % 2).threshold_ == -np.inf

    @pytest.mark.parametrize("kind", ["normal", "uniform", "integers", "two groups"])
    @pytest.mark.parametrize("n", [60, 300])
    @pytest.mark.parametrize("d", [1, 2])
    def test_gamma_is_among_the_best(self, d, n, kind):
        if kind == "two groups":
            X = rows_of("normal", n, d) * np.where(np.arange(n) % 3, 1, 0.2)[:, None]
            X[::3] += 6
        else:
            X = rows_of(kind, n, d)
        model = DMKDE(random_state=0).fit(X)
        assert isinstance(model.feature_map_, GridFeatures)
        scaled = model.scaling_.apply(np.asarray(X, float))
        likelihood = likelihood_left_out(scaled)
        fine = model.gamma_ * 2.0 ** np.arange(-6, 6.01, 0.2)
        best = max(likelihood(gamma) for gamma in fine)
        assert likelihood(model.gamma_) > best - 0.01


def likelihood_left_out(X):
    """From γ to the mean log-density of rows, all copies of each left out."""
    rows, counts = np.unique(X, axis=0, return_counts=True)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)

    def likelihood(gamma):
        others = np.exp(-gamma * squares) @ counts / (len(X) - counts)
        with np.errstate(divide="ignore"):
            logs = np.log(others) + 0.5 * X.shape[1] * np.log(gamma / np.pi)
        return counts @ logs / len(X)

    return likelihood
