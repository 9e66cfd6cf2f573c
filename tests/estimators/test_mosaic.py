"""Densities of mosaics: mass one, marginals, conditionals, moments, samples."""

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, lognorm, norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KernelDensity

import rhokit
from benchmarks import real_data
from rhokit import DMKDE, Stream
from rhokit.batch import Batch
from rhokit.datasets import clusters
from rhokit.features import MosaicFeatures
from rhokit.features.splines import Splines
from rhokit.models import Model


def skewed(n=3000, seed=0):
    """Columns that logarithms and inverse hyperbolic sines are for, and a straight one.

    They depend on each other.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3)) @ np.array([[1, 0.5, 0.2], [0, 1, 0.4], [0, 0, 1]])
    tail = z[:, 1] / np.sqrt(rng.gamma(2, 0.5, n))
    return np.column_stack([np.exp(0.6 * z[:, 0]), tail, z[:, 2] + 5])


def mixed(n=1500, seed=0):
    X, rng = skewed(n, seed), np.random.default_rng(seed + 1)
    colour = np.digitize(X[:, 1] + rng.normal(size=n), [-1.0, 1.0])
    return pd.DataFrame(
        {
            "price": X[:, 0],
            "colour": pd.Categorical.from_codes(colour, ["red", "green", "blue"]),
            "change": X[:, 1],
            "new": X[:, 2] + rng.normal(size=n) > 5,
        }
    )


def mosaic(n_cells=10, **options):
    few = MosaicFeatures(n_cells=n_cells)
    return DMKDE(feature_map=few, random_state=0, **options)


@functools.cache
def fitted(columns=(0, 1, 2)):
    return mosaic().fit(skewed()[:, columns])


@functools.cache
def fitted_mixed():
    return mosaic().fit(mixed())


def lattice(model, n):
    """Nodes (n^d, d) and their volumes: even ones of bent columns, in the user's units.

    Volumes are differences of nodes, not what the model takes slopes to be.
    """
    found, axes, volumes = model.mosaic(), [], []
    u = np.linspace(-12, 12, n)
    d, step, near = len(found.shapes.kind), u[1] - u[0], 1e-4
    nodes, up, down = (
        found.scaling.invert(found.shapes.invert(np.repeat(z[:, None], d, axis=1)))
        for z in (u, u + near, u - near)
    )
    axes, volumes = list(nodes.T), list(((up - down) / (2 * near) * step).T)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    volume = functools.reduce(np.multiply.outer, volumes)
    return nodes.reshape(-1, d), volume.ravel()


def integral(model, n):
    """Over all numbers, by quadrature."""
    nodes, volume = lattice(model, n)
    blocks = range(0, len(nodes), 200_000)
    return sum(
        volume[i : i + 200_000] @ model.density(nodes[i : i + 200_000]) for i in blocks
    )


class TestMass:
    @pytest.mark.parametrize("column", [0, 1, 2])
    def test_of_one_column(self, column):
        model = mosaic(30).fit(skewed()[:, [column]])
        assert_allclose(integral(model, 100_001), 1, atol=1e-6)
        assert_array_equal(model.mass_, 1)

    @pytest.mark.parametrize("shape", [0.5, 1.5])
    def test_of_a_gamma_distribution(self, shape):
        x = np.random.default_rng(0).gamma(shape, size=(2000, 1))
        assert_allclose(integral(mosaic(10).fit(x), 100_001), 1, atol=1e-6)

    def test_of_two_columns(self):
        assert_allclose(integral(fitted((0, 1)), 801), 1, atol=1e-6)

    def test_of_three_columns(self):
        model = mosaic(3).fit(skewed())
        assert_allclose(integral(model, 141), 1, atol=1e-6)

    def test_of_marginals(self):
        model = fitted().marginal([0, 1])
        assert_allclose(integral(model, 801), 1, atol=1e-6)
        assert_allclose(integral(model.marginal(1), 100_001), 1, atol=1e-6)

    def test_of_conditionals(self):
        model = fitted().conditional({0: 2.5})
        assert_allclose(integral(model, 801), 1, atol=1e-6)
        alone = model.conditional({0: -1.0})  # the first of those that are left
        assert_allclose(integral(alone, 100_001), 1, atol=1e-6)

    def test_categories_are_summed(self):
        model, n = fitted_mixed(), 301
        nodes, volume = lattice(model, n)
        total = 0
        for colour in ("red", "green", "blue", "unseen"):
            for new in (False, True):
                frame = pd.DataFrame({"price": nodes[:, 0]})
                frame["colour"] = colour
                frame["change"], frame["new"] = nodes[:, 1], new
                total += volume @ model.density(frame)
        assert_allclose(total, 1, atol=1e-6)

    @pytest.mark.parametrize(("d", "apart"), [(10, 4), (40, 20)])
    def test_of_many_columns_by_importance(self, d, apart):
        """Rows of the model and of another density: a row is either's by its share.

        That share has a mean of half the model's mass, and no tail that needs luck.
        """
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1000, d))
        X[:500, 1] += apart
        X[:, 0] = np.exp(X[:, 0])
        model = mosaic(3).fit(X)
        if d == 10:
            assert model.feature_map_.n_cells_ > 1
            assert np.isfinite(model.feature_map_.ends_[0, 0])
        rows = model.sample(20_000, random_state=1)
        others = rng.normal(size=rows.shape)
        others[:10_000, 1] += apart
        others[:, 0] = np.exp(others[:, 0])
        rows = np.concatenate([rows, others])
        own, other = model.score_samples(rows), norm.logpdf(rows[:, 2:]).sum(axis=1)
        other += lognorm(1).logpdf(rows[:, 0])
        second = rows[:, 1]
        other += np.logaddexp(norm.logpdf(second), norm.logpdf(second - apart))
        share = 1 / (1 + 0.5 * np.exp(np.clip(other - own, -700, 700)))
        # A mass of 1.01 would have given 1.004 or more.
        assert_allclose(2 * share.mean(), 1, atol=0.004)


class TestParts:
    """joint = marginal × conditional."""

    @pytest.mark.parametrize("given", [[0], [1], [2], [0, 1], [1, 2]])
    def test_of_numbers(self, given):
        model, X = fitted(), skewed(20, seed=3)
        rest = [c for c in range(3) if c not in given]
        marginal = model.marginal(given).score_samples(X[:, given])
        for row, joint, own in zip(X, model.score_samples(X), marginal, strict=True):
            part = model.conditional({c: row[c] for c in given})
            found = own + part.score_samples(row[None, rest])[0]
            assert_allclose(found, joint, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize(
        "given",
        [["colour"], ["price"], ["colour", "change"], ["colour", "new"]],
    )
    def test_of_mixed_columns(self, given):
        model, frame = fitted_mixed(), mixed(20, seed=3)
        rest = [c for c in frame if c not in given]
        marginal = model.marginal(given).score_samples(frame[given])
        for i, joint in enumerate(model.score_samples(frame)):
            part = model.conditional({c: frame[c].iloc[i] for c in given})
            found = marginal[i] + part.score_samples(frame[rest].iloc[[i]])[0]
            assert_allclose(found, joint, rtol=1e-9, atol=1e-9)

    def test_missing_values_are_integrated(self):
        X = skewed(30, seed=4)
        model = mosaic(missing="integrate").fit(skewed())
        gaps = X.copy()
        gaps[:10, 0], gaps[10:20, 1:] = np.nan, np.nan
        found = model.score_samples(gaps)
        expected = model.marginal([1, 2]).score_samples(X[:10, 1:])
        assert_allclose(found[:10], expected, 1e-9)
        expected = model.marginal(0).score_samples(X[10:20, :1])
        assert_allclose(found[10:20], expected, 1e-9)
        assert_allclose(found[20:], fitted().score_samples(X[20:]), 1e-9)

    def test_wherever_values_are(self):
        """Cells whose weight is all but nothing do not end the others."""
        rng = np.random.default_rng(0)
        X = 0.01 * rng.normal(size=(1000, 3))
        X[500:] += [1, 2, 3]
        model = DMKDE(feature_map="mosaic", random_state=0).fit(X)
        for value in np.linspace(-2, 3, 120):
            part = model.conditional({0: value})
            assert np.isfinite(part.score_samples(X[:3, 1:])).all()
            assert np.isfinite(part.mosaic().mean()).all()

    def test_below_zero_there_is_nothing_to_condition_on(self):
        with pytest.raises(ValueError, match="density is zero"):
            fitted().conditional({0: -1.0})

    @pytest.mark.parametrize("given", [{}, {0: 1.0, 1: 1.0, 2: 1.0}, [0]])
    def test_need_some_columns_and_not_all(self, given):
        with pytest.raises(ValueError, match="given must be a dict"):
            fitted().conditional(given)

    def test_name_categories_that_are_none(self):
        with pytest.raises(ValueError, match="'colour' has the categories"):
            fitted_mixed().conditional({"colour": "pink"})


class TestMoments:
    def test_are_those_of_quadrature(self):
        model = fitted((0, 1))
        nodes, volume = lattice(model, 801)
        weight = volume * model.density(nodes)
        mean = weight @ nodes
        covariance = (nodes - mean).T * weight @ (nodes - mean)
        found = model.mosaic()
        assert_allclose(found.mean(), mean, 1e-5, 1e-6)
        assert_allclose(found.covariance(), covariance, 1e-4, 1e-5)

    def test_have_eight_digits(self):
        """Against a very fine trapezoidal rule, cell by cell."""
        few = MosaicFeatures(n_cells=5)
        found = DMKDE(feature_map=few, random_state=0).fit(skewed()[:, :2]).mosaic()
        knots = np.array([-2.0, -0.7, 0.4, 1.5, 2.5])[:, None] + np.zeros(2)
        splines = Splines.through(knots, knots + 0.1 * np.cos(3 * knots))
        found = replace(found, shapes=found.shapes.mended(splines))
        mixture, shapes = found.mixture, found.shapes
        step = 1e-4
        nodes = np.arange(-14, 14, step)
        weights = step * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
        first, second = np.zeros(2), np.zeros(2)
        for c, weight in enumerate(found.weights):
            for j in range(2):
                width = np.sqrt(mixture.covariance[c, j, j])
                x = shapes.invert_column(j, mixture.mean[c, j] + width * nodes)
                first[j] += weight * (x @ weights)
                second[j] += weight * (x**2 @ weights)
        expected = found.scaling.invert(first[None])[0]
        assert_allclose(found.mean(), expected, 1e-8)
        variance = (second - first**2) / found.scaling.matrix**2
        assert_allclose(np.diag(found.covariance()), variance, 1e-8)

    def test_are_those_of_samples(self):
        model = fitted()
        rows = model.sample(400_000, random_state=0)
        found = model.mosaic()
        error = rows.std(axis=0) / np.sqrt(len(rows))
        assert (np.abs(found.mean() - rows.mean(axis=0)) < 5 * error).all()
        # Of products: the heavy tail has no more than a few digits.
        products = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) / len(rows)
        spread = np.sqrt(np.diag(found.covariance()))
        off = np.abs(found.covariance() - products) / np.outer(spread, spread)
        assert off[0, 2] < 0.02
        assert off.max() < 0.25

    def test_of_numbers_beside_categories(self):
        model, frame = fitted_mixed(), mixed()
        found = model.mosaic().mean()
        assert_allclose(found, frame[["price", "change"]].mean(), atol=0.1)


@pytest.mark.parametrize("column", [0, 1, 2])
class TestOneColumn:
    def test_quantiles_undo_probabilities(self, column):
        found = fitted().marginal(column).mosaic()
        levels = np.array([1e-4, 0.01, 0.3, 0.5, 0.9, 0.999])
        x = found.quantile(levels)
        assert (np.diff(x) > 0).all()
        assert_allclose(found.cdf(x), levels, 1e-9)
        assert_allclose(found.quantile(found.cdf(x)), x, 1e-7, 1e-9)

    def test_probabilities_are_integrals(self, column):
        model = fitted().marginal(column)
        nodes, volume = lattice(model, 100_001)
        reached = np.cumsum(volume * model.density(nodes))
        some = np.searchsorted(reached, [0.05, 0.4, 0.8, 0.99])
        found = model.mosaic().cdf(nodes[some, 0])
        assert_allclose(found, reached[some], atol=1e-3)

    def test_samples_have_them(self, column):
        model = fitted()
        x = model.sample(20_000, random_state=3)[:, column]
        found = model.marginal(column).mosaic()
        assert kstest(x, found.cdf).pvalue > 1e-3
        levels = [0.1, 0.5, 0.9]
        assert_allclose(found.cdf(np.quantile(x, levels)), levels, atol=0.015)


def test_conditional_samples_are_rows_near_there():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 2))
    X = np.column_stack([z[:, 0], z[:, 0] ** 2 + 0.1 * z[:, 1]])
    model = DMKDE(feature_map=MosaicFeatures(n_cells=30), random_state=0).fit(X)
    for value in (-1.5, 0.0, 1.0):
        drawn = model.conditional({0: value}).sample(2000, random_state=0)
        assert_allclose(drawn.mean(), value**2, atol=0.15)
        assert drawn.std() < 0.4


class TestAnswers:
    def test_need_one_column_or_two(self):
        found = fitted().mosaic()
        with pytest.raises(ValueError, match="one column"):
            found.cdf([0.0])
        with pytest.raises(ValueError, match="one column"):
            found.quantile([0.5])
        with pytest.raises(ValueError, match="two columns have ellipses"):
            found.outlines()
        with pytest.raises(ValueError, match="probabilities from 0 to 1"):
            fitted().marginal(0).mosaic().quantile([1.5])

    def test_outlines_are_at_one_spread_of_their_cells(self):
        model = fitted((1, 2))
        found = model.mosaic()
        outlines = found.outlines(n=16)
        assert outlines.shape == (len(found.weights), 16, 2)
        scaled = model.scaling_.apply(outlines.reshape(-1, 2))
        z = model.feature_map_.shapes_.apply(scaled)[0].reshape(outlines.shape)
        away = z - found.mixture.mean[:, None]
        inverse = np.linalg.inv(found.mixture.covariance)
        squares = np.einsum("cni,cij,cnj->cn", away, inverse, away)
        assert_allclose(squares, 1, 1e-6)

    def test_of_other_maps_are_refused(self):
        model = DMKDE(feature_map="landmarks", n_components=8).fit(skewed(50))
        with pytest.raises(ValueError, match='feature_map="mosaic"'):
            model.mosaic()


class TestKernels:
    """With a γ, the kernel density estimate of it."""

    def exact(self, X, gamma, probes):
        squares = ((probes[:, None] - X) ** 2).sum(axis=2)
        mass = (np.pi / gamma) ** (X.shape[1] / 2)
        return np.exp(-gamma * squares).mean(axis=1) / mass

    def test_of_pairs_of_equal_rows_is_exact(self):
        """Rows that lie at few places have a cell each."""
        rng = np.random.default_rng(0)
        places = 5 * rng.normal(size=(15, 2))
        X = np.repeat(places, 4, axis=0) + 1e-9 * rng.normal(size=(60, 2))
        model = DMKDE(feature_map="mosaic", gamma=2.0, scale=None, random_state=0)
        probes = places + rng.normal(size=(15, 2))
        expected = self.exact(X, 2.0, probes)
        assert_allclose(model.fit(X).density(probes), expected, 1e-5)

    def test_is_near_on_clusters(self):
        X, _ = clusters(4000, 4, random_state=0)
        X, probes = X[:3500], X[3500:]
        model = DMKDE(feature_map="mosaic", gamma=4.0, scale=None, random_state=0)
        expected = self.exact(X, 4.0, probes)
        misses = model.fit(X).density(probes) - expected
        assert np.sqrt((misses**2).mean() / (expected**2).mean()) < 0.05
        assert model.gamma_ == 4.0

    def test_rows_belong_to_one_cell(self):
        X, _ = clusters(400, 3, random_state=0)
        model = DMKDE(feature_map="mosaic", gamma=4.0, random_state=0).fit(X)
        mosaic = model.feature_map_
        columns, _ = mosaic.columns(model.scaling_.apply(X))
        assert (
            mosaic.memberships(mosaic.cell_rows(columns)).max(axis=1) > 1 - 1e-6
        ).mean() > 0.99


class TestStorage:
    @pytest.mark.parametrize("kind", ["numbers", "mixed"])
    def test_saved_models_answer_to_the_bit(self, kind):
        model = fitted() if kind == "numbers" else fitted_mixed()
        rows = skewed(50, 9) if kind == "numbers" else mixed(50, 9)
        again = rhokit.loads(rhokit.dumps(model))
        assert_array_equal(again.score_samples(rows), model.score_samples(rows))
        drawn = [each.sample(20, random_state=0) for each in (again, model)]
        assert str(drawn[0]) == str(drawn[1])
        again.partial_fit(rows)
        other = rhokit.loads(rhokit.dumps(model)).partial_fit(rows)
        assert_array_equal(again.score_samples(rows), other.score_samples(rows))

    def test_parts_are_saved(self):
        X = skewed(50, 9)
        for part, rows in (
            (fitted().marginal([0, 2]), X[:, [0, 2]]),
            (fitted().conditional({1: 0.5}), X[:, [0, 2]]),
        ):
            again = rhokit.loads(rhokit.dumps(part))
            assert_array_equal(again.score_samples(rows), part.score_samples(rows))

    def test_streams_are_batches(self):
        X = skewed(600)
        model = mosaic().fit(X[:300])
        stream = Stream(model.blank(), buffer_rows=64)
        for row in X:
            stream.learn_one(row)
        whole = model.blank().partial_fit(X)
        found = stream.model.score_samples(X)
        assert_allclose(found, whole.score_samples(X), 1e-9)


def magic():
    """Rows of the MAGIC telescope, in another order."""
    reason = real_data.missing("density_magic")
    if reason is not None:
        pytest.skip(reason)
    rows = real_data.load_arrays("density_magic")["X"].astype(np.float64)
    return np.random.default_rng(0).permutation(rows)


@functools.cache
def fitted_magic():
    return DMKDE(random_state=0).fit(magic()[:4000])


def told_apart(real, drawn):
    """Area under the curve of a classifier that tells rows from samples."""
    X = np.concatenate([real, drawn])
    y = np.repeat([0, 1], [len(real), len(drawn)])
    classifier = HistGradientBoostingClassifier(random_state=0)
    found = cross_val_predict(classifier, X, y, cv=3, method="predict_proba")
    return roc_auc_score(y, found[:, 1])


class TestRealRows:
    def test_held_out_rows_are_likelier_than_by_rivals(self):
        X = magic()
        middle, spread = X[:4000].mean(axis=0), X[:4000].std(axis=0)
        rows, held = (X[:4000] - middle) / spread, (X[4000:6000] - middle) / spread
        own = fitted_magic().score_samples(X[4000:6000]).mean()
        own += np.log(spread).sum()
        mixture = GaussianMixture(10, random_state=0).fit(rows).score(held)
        widths = (0.3, 0.35, 0.4, 0.5)
        kernels = max(
            KernelDensity(bandwidth=width).fit(rows).score(held[:500]) / 500
            for width in widths
        )
        assert own > mixture + 0.5
        assert own > kernels + 2

    def test_samples_can_hardly_be_told_from_rows(self):
        drawn = fitted_magic().sample(2000, random_state=0)
        assert told_apart(magic()[4000:6000], drawn) <= 0.75

    def test_samples_of_two_columns(self):
        X = magic()[:, :2]
        model = DMKDE(feature_map=MosaicFeatures(n_cells=100), random_state=0)
        drawn = model.fit(X[:4000]).sample(2000, random_state=0)
        assert told_apart(X[4000:6000], drawn) <= 0.6

    @pytest.mark.parametrize("given", [-1.5, 0.0, 1.5])
    def test_tails_of_conditionals(self, given):
        """P(y > t | x) of skewed columns whose conditionals are known."""
        rng = np.random.default_rng(0)
        z = rng.normal(size=(20_000, 3))
        z[:, 1] = 0.8 * z[:, 0] + 0.6 * z[:, 1]
        model = DMKDE(random_state=0).fit(np.exp(z))
        part = model.conditional({0: np.exp(given), 2: 1.0}).mosaic()
        for share in (0.1, 0.03, 0.01):
            for sign in (-1, 1):
                end = np.exp(0.8 * given + sign * 0.6 * norm.isf(share))
                below = part.cdf([end])[0]
                assert_allclose(1 - below if sign > 0 else below, share, rtol=0.35)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "upper", "lower"),
        [("density_magic", 0.2, 0.3), ("covtype", 0.3, 0.4)],
    )
    def test_tails_are_those_of_the_rows(self, name, upper, lower):
        """P(x > t), and P(x <= t), near the rows' own share, down to one in 1,000."""
        reason = real_data.missing(name)
        if reason is not None:
            pytest.skip(reason)
        columns = [0, 3, 4, 5, 9] if name == "covtype" else [0, 1, 2, 6, 7]
        X = real_data.load_arrays(name)["X"]
        some = np.random.default_rng(0).permutation(len(X))[:100_000]
        X = X[some][:, columns].astype(np.float64)
        model = DMKDE(random_state=0).fit(X)
        drawn = model.sample(200_000, random_state=0)
        for place in range(len(columns)):
            found = model.marginal(place).mosaic()
            for share in (0.1, 0.03, 0.01, 0.003, 0.001):
                end = np.quantile(X[:, place], 1 - share)
                own = (X[:, place] > end).mean()
                assert_allclose(1 - found.cdf([end])[0], own, rtol=upper)
                sampled = (drawn[:, place] > end).mean()
                assert_allclose(sampled, own, rtol=upper + 0.1)
                end = np.quantile(X[:, place], share)
                own = (X[:, place] <= end).mean()
                assert_allclose(found.cdf([end])[0], own, rtol=lower)

    @pytest.mark.slow
    def test_tails_of_conditionals_are_those_of_rows(self):
        """P(y > t | x) and P(y <= t | x), averaged over rows of a fifth of x.

        One in 100 of such rows are 38.
        """
        reason = real_data.missing("density_magic")
        if reason is not None:
            pytest.skip(reason)
        X = real_data.load_arrays("density_magic")["X"]
        X = X[:, [0, 1, 2, 6, 7]].astype(np.float64)
        model, levels = DMKDE(random_state=0).fit(X), np.linspace(0.005, 0.995, 100)
        for y in range(4):
            part = model.marginal([y, y + 1])
            for low in (0.0, 0.4, 0.8):
                ends = np.quantile(X[:, y + 1], [low, low + 0.2])
                band = X[(X[:, y + 1] >= ends[0]) & (X[:, y + 1] <= ends[1])]
                given = np.quantile(band[:, y + 1], levels, method="nearest")
                parts = [part.conditional({1: x}).mosaic() for x in given]
                for share, off in ((0.1, 0.15), (0.03, 0.3), (0.01, 0.6)):
                    for level in (share, 1 - share):
                        end = np.quantile(band[:, y], level)
                        own = (band[:, y] <= end).mean()
                        reached = np.mean([each.cdf([end])[0] for each in parts])
                        assert abs(reached - own) < off * min(own, 1 - own)


def test_what_forgetting_leaves_of_a_cell_is_no_row():
    """An eigendecomposition of such a remainder failed to converge."""
    rows = skewed(300)
    model = mosaic().fit(rows).fitted_model()
    total, found = model.state.total.copy(), []
    for rest in (0.0, -1e-13):
        total[0, -1] = rest
        total[0, -1, 1:] *= 1e300
        with np.errstate(all="raise"):
            state = replace(model.state, total=total.copy())
            cells = Model(model.plan, model.readout, state)
            found.append(cells.log_density_without(Batch(rows, model.plan.columns)))
    assert_allclose(found[1], found[0])
