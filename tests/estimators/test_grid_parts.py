"""Marginals and conditionals of densities on a grid, against sums over the rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from rhokit import DMKDE
from rhokit.features import GridFeatures
from tests.one_pass import assert_same_model
from tests.reference.density_oracles import leave_one_out_log_kde

UNITS = np.array([1000.0, 0.01, 3.0])
GAMMA = 0.8
SD = UNITS / np.sqrt(2 * GAMMA)
PARTS = [[0], [1], [2], [0, 1], [0, 2], [1, 2]]
GIVEN = [
    {0: 0.3},
    {1: 1.2},
    {2: -1.0},
    {0: 0.2, 1: 0.9},
    {2: -2.0, 0: -0.5},
    {0: 3.5},  # where there are few rows
]


def rows_of(d=3, n=50, seed=0):
    """Rows of columns that depend on each other, with very different units."""
    rng = np.random.default_rng(seed)
    rows = rng.normal([0, 1, -2], size=(n, 3))
    rows[:, 1:] += rows[:, :2] * rng.choice([-1, 1], (n, 1))
    return (rows * UNITS)[:, :d]


def fitted(X, scale=UNITS, sample_weight=None, **options):
    """A model on a grid."""
    if not isinstance(scale, str | None):
        scale = scale[: X.shape[1]]
    options = {
        "gamma": GAMMA,
        "feature_map": "grid",
        "random_state": 0,
    } | options
    return DMKDE(scale=scale, **options).fit(X, sample_weight=sample_weight)


def exact_density(X, sd, points, weights=None):
    """A sum over rows of products of normal densities."""
    each = [np.prod(norm.pdf(point, X, sd), axis=1) for point in points]
    return np.average(each, axis=1, weights=weights)


def assert_same_density(model, expected, points, share=1e-8):
    """Equal up to a share of the peak."""
    peak = expected.max()
    assert_allclose(model.density(points), expected, rtol=0, atol=share * peak)


def assert_same_series(actual, expected, rtol=1e-8):
    """Equal coefficients and weights, over the same box."""
    size = np.abs(expected.scaled.coefficients).max()
    for name in ("coefficients", "middle", "period"):
        pair = (getattr(each.scaled, name) for each in (actual, expected))
        assert_allclose(*pair, rtol=0, atol=rtol * size)
    assert_allclose(actual.weight, expected.weight, rtol=rtol)


@pytest.fixture(scope="module")
def model():
    return fitted(rows_of())


@pytest.fixture(scope="module")
def named():
    return fitted(pd.DataFrame(rows_of(), columns=["wage", "share", "age"]))


class TestMarginal:
    @pytest.mark.parametrize("kept", PARTS, ids=str)
    def test_is_the_exact_density_of_its_columns(self, model, kept):
        X = rows_of()[:, kept]
        part = model.marginal(kept)
        assert part.n_features_in_ == len(kept)
        assert_same_density(part, exact_density(X, SD[kept], X), X)
        assert_allclose(part.state_.weight, [50])

    @pytest.mark.parametrize("kept", PARTS, ids=str)
    @pytest.mark.parametrize("scale", ["std", "robust"])
    def test_is_the_model_of_its_columns(self, kept, scale):
        X, weights = rows_of(), np.arange(50) % 3 + 0.5
        part = fitted(X, scale, weights).marginal(kept)
        X = X[:, kept]
        alone = fitted(X, scale, weights)
        assert_same_density(part, alone.density(X), X)
        assert_allclose(part.state_.weight, alone.state_.weight)
        assert_allclose(part.series().cdf(X), alone.series().cdf(X), rtol=0, atol=1e-8)
        assert_allclose(part.series().mean(), alone.series().mean(), rtol=1e-6)
        assert_allclose(
            part.series().entropy(), alone.series().entropy(), rtol=0, atol=1e-6
        )

    def test_without_scaling(self):
        X = rows_of(2) / UNITS[:2]
        part, alone = fitted(X, None).marginal(1), fitted(X[:, 1:], None)
        assert_same_model(part, alone, rtol=1e-8)

    @pytest.mark.parametrize(
        ("columns", "kept"),
        [
            (1, [1]),
            (np.int64(1), [1]),
            ((1, 2), [1, 2]),
            ([2, 0], [0, 2]),
            ([0, 1, 2], [0, 1, 2]),
            ("share", [1]),
            (["age", "wage"], [0, 2]),
            (["age", 1], [1, 2]),
        ],
    )
    def test_columns_by_place_and_name(self, named, columns, kept):
        frame = pd.DataFrame(rows_of(), columns=["wage", "share", "age"])
        part = named.marginal(columns)
        assert_array_equal(part.feature_names_in_, frame.columns[kept])
        X = frame.iloc[:, kept]
        assert_same_density(part, exact_density(X.to_numpy(), SD[kept], X.values), X)

    @pytest.mark.parametrize(
        "columns",
        [np.array([0, 2]), np.array(["wage", "age"]), pd.Index(["wage", "age"])],
    )
    def test_columns_in_an_array(self, named, columns):
        assert list(named.marginal(columns).feature_names_in_) == ["wage", "age"]

    def test_its_own_marginal(self, model):
        once, twice = model.marginal(2), model.marginal([1, 2]).marginal(1)
        assert_same_model(twice, once, rtol=1e-8)

    def test_leaves_the_model_alone(self, model):
        before = model.state_.total.copy()
        part = model.marginal([0, 2])
        part.partial_fit(rows_of()[:, [0, 2]])
        assert_array_equal(model.state_.total, before)
        assert model.n_features_in_ == 3
        assert_allclose(model.state_.weight, [50])

    @pytest.mark.parametrize(("d", "kept"), [(2, [1]), (3, [0, 2])])
    def test_commutes_with_merging(self, d, kept):
        X = rows_of(d)
        first = fitted(X)
        second = first.blank().partial_fit(X[20:])
        parts = first.marginal(kept).merge(second.marginal(kept))
        assert_same_model(parts, first.merge(second).marginal(kept), rtol=1e-8)
        both = np.vstack([X, X[20:]])[:, kept]
        assert_same_density(parts, exact_density(both, SD[kept], both), both)

    def test_commutes_with_widening(self):
        X = rows_of(2)
        first = fitted(X)
        with pytest.warns(UserWarning, match="widened"):
            second = first.blank().partial_fit(X * 2)
        parts = first.marginal(0).merge(second.marginal(0))
        assert_same_model(parts, first.merge(second).marginal(0), rtol=1e-8)
        both = np.vstack([X, X * 2])[:, :1]
        assert_same_density(parts, exact_density(both, SD[:1], both), both)

    def test_goes_on_learning_and_forgetting(self):
        X = rows_of()
        part = fitted(X).marginal([0, 1]).partial_fit(X[:9, :2]).unlearn(X[20:, :2])
        left = np.vstack([X[:20], X[:9]])[:, :2]
        assert_same_density(part, exact_density(left, SD[:2], left), left)

    def test_keeps_a_fixed_box(self):
        X = rows_of(2)
        bounds = np.array([[-9.0, -9], [9, 9]])
        fixed = GridFeatures(bounds=bounds, outside="refuse")
        part = fitted(X, feature_map=fixed).marginal(1)
        alone = GridFeatures(bounds=bounds[:, 1:], outside="refuse")
        assert_same_model(part, fitted(X[:, 1:], UNITS[1:], feature_map=alone), 1e-8)
        assert_array_equal(part.feature_map_.bounds, bounds[:, 1:])
        with pytest.raises(ValueError, match="outside the box"):
            part.partial_fit([[1.0]])

    def test_leave_one_out(self):
        X = rows_of(2) / UNITS[:2]
        logs = fitted(X, None).marginal(1).score_samples(X[:, 1:], leave_one_out=True)
        expected = leave_one_out_log_kde(X[:, 1:], GAMMA)
        assert_allclose(np.exp(logs), np.exp(expected), rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        "columns", [3, -1, "z", [0, 0], [0, 7], [], 1.5, None, ["wage", 0]]
    )
    def test_refuses_other_columns(self, named, columns):
        with pytest.raises(ValueError, match=r"columns must name different.*'share'"):
            named.marginal(columns)

    def test_without_names_says_the_places(self, model):
        with pytest.raises(
            ValueError, match=r"different columns .*\(0 to 2\), got 'age'"
        ):
            model.marginal("age")
        assert not hasattr(model.marginal(0), "feature_names_in_")


class TestConditional:
    @pytest.mark.parametrize("given", GIVEN, ids=str)
    @pytest.mark.parametrize("weights", [None, np.arange(50) % 3])
    def test_is_the_sum_over_weighted_rows(self, given, weights):
        X = rows_of()
        axes, values = list(given), np.array(list(given.values()))
        kept = [axis for axis in range(3) if axis not in axes]
        distance = (X[:, axes] / UNITS[axes] - values) ** 2
        near = np.exp(-GAMMA * distance.sum(axis=1))
        near = near if weights is None else near * weights
        whole = fitted(X, sample_weight=weights)
        part = whole.series().conditional(
            {axis: given[axis] * UNITS[axis] for axis in axes}
        )
        X = X[:, kept]
        assert part.columns.n_features == len(kept)
        assert_same_density(part, exact_density(X, SD[kept], X, near), X, 1e-7)
        assert_allclose(part.weight, near.sum(), rtol=1e-7)

    @pytest.mark.parametrize("scale", ["std", "robust", None])
    def test_two_columns(self, scale):
        X = rows_of(2) / UNITS[:2]
        model = fitted(X, scale)
        part = model.series().conditional({1: 0.7})
        points = np.linspace(-3, 3, 40)
        joint = model.density(np.column_stack([points, np.full(40, 0.7)]))
        whole = model.marginal(1).density([[0.7]])
        assert_same_density(part, joint / whole, points[:, None])
        widths = {"std": X.std(axis=0), None: np.ones(2)}
        if scale in widths:
            near = np.exp(-GAMMA * ((X[:, 1] - 0.7) / widths[scale][1]) ** 2)
            assert_allclose(part.weight, near.sum(), rtol=1e-8)

    def test_chain_rule_in_three(self, model):
        X = rows_of()
        part = model.series().conditional({0: X[3, 0], 2: X[3, 2]})
        joint = part.density(X[3:4, [1]]) * model.marginal([0, 2]).density(
            X[3:4, [0, 2]]
        )
        assert_allclose(joint, model.density(X[3:4]), rtol=1e-7)

    def test_order_does_not_matter(self, model):
        X = rows_of()
        value = {0: X[1, 0], 2: X[1, 2]}
        at_once = model.series().conditional(value)
        others = [
            model.series().conditional(dict(reversed(value.items()))),
            model.series().conditional({0: value[0]}).conditional({1: value[2]}),
            model.series().conditional({2: value[2]}).conditional({0: value[0]}),
        ]
        for other in others:
            assert_same_series(other, at_once)

    def test_is_a_marginal_s_and_has_marginals(self, model):
        first = model.series().conditional({2: -3.0}).marginal(0)
        second = model.marginal([0, 2]).series().conditional({1: -3.0})
        X = rows_of()[:, :1]
        assert_same_density(first, second.density(X), X)
        assert_allclose(first.weight, second.weight, rtol=1e-8)

    def test_by_name(self, named):
        part = named.series().conditional({"share": 0.01})
        assert part.columns.names == ("wage", "age")
        assert_same_series(part, named.series().conditional({1: 0.01}), rtol=1e-14)
        frame = pd.DataFrame(rows_of()[:, [0, 2]], columns=["wage", "age"])
        assert (part.density(frame) > 0).all()
        last = named.series().conditional({"age": -6.0, "wage": 100.0})
        assert last.columns.names == ("share",)

    def test_of_independent_columns_is_the_marginal(self):
        side = np.array([-2.0, 0.1, 0.3, 1.9])
        X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        model = fitted(X, None)
        points = np.linspace(-3, 3, 30)[:, None]
        expected = model.marginal(0).density(points)
        for value in (-2.5, 0.0, 1.0):
            assert_same_density(
                model.series().conditional({1: value}), expected, points
            )

    def test_answers_what_models_answer(self, model):
        X = rows_of()
        near = np.exp(-GAMMA * (X[:, 0] / UNITS[0]) ** 2)
        part = model.series().conditional({0: 0.0}).marginal(1)
        mean = np.average(X[:, 2], weights=near)
        assert_allclose(part.mean(), [mean], rtol=1e-6)
        shares = norm.cdf(part.quantile(0.3), X[:, 2], SD[2])
        assert_allclose(np.average(shares, weights=near), 0.3, atol=1e-8)

    @pytest.mark.parametrize("sign", [-1, 1])
    @pytest.mark.parametrize("far", [9.0, 1e3, 1e9, np.inf])
    def test_refuses_where_nothing_is_known(self, model, sign, far):
        with pytest.raises(ValueError, match="the density is zero at"):
            model.series().conditional({1: sign * far})

    @pytest.mark.parametrize("turns", [-1, 1, 2])
    def test_refuses_images(self, model, turns):
        """A period away, the waves are the same."""
        period = model.feature_map_.period_[1] * UNITS[1]
        middle = model.series().mean()[1]
        model.series().conditional({1: middle})
        with pytest.raises(ValueError, match="the density is zero at"):
            model.series().conditional({1: middle + turns * period})

    def test_refuses_a_gap(self):
        """Where waves cancel but for rounding, of either sign."""
        X = rows_of(2) / UNITS[:2]
        model = fitted(np.vstack([X, X + 40]), None)
        for value in np.linspace(17, 23, 13).tolist():
            with pytest.raises(
                ValueError, match=f"the density is zero at {{0: {value}}}"
            ):
                model.series().conditional({0: value})

    @pytest.mark.parametrize("distance", np.linspace(0, 6, 25))
    def test_is_right_or_refused_at_the_edge(self, distance):
        """Of a single row, whose kernel is all that there is."""
        model = DMKDE(gamma=1.0, scale=None, feature_map="grid").fit([[0.0, 0.0]])
        try:
            part = model.series().conditional({0: distance})
        except ValueError:
            assert distance > 4
            return
        assert_allclose(part.density([[0.3]]), norm.pdf(0.3, 0, 0.5**0.5), rtol=1e-5)
        assert_allclose(part.weight, np.exp(-(distance**2)), rtol=0.2)

    @pytest.mark.parametrize(
        "given", [{}, {3: 1.0}, {"z": 1.0}, {"wage": 1.0, 0: 1.0}, {-1: 1.0}], ids=str
    )
    def test_refuses_other_columns(self, named, given):
        with pytest.raises(ValueError, match="given must name different columns"):
            named.series().conditional(given)

    def test_refuses_to_leave_no_column(self, named):
        with pytest.raises(ValueError, match="given must leave at least one column"):
            named.series().conditional({"age": -6.0, "wage": 0.0, "share": 0.0})

    @pytest.mark.parametrize("value", [np.nan, "much", None])
    def test_refuses_what_is_no_number(self, model, value):
        with pytest.raises((ValueError, TypeError)):
            model.series().conditional({0: value})


class TestParts:
    """What a part of a model has in common with any other model."""

    @pytest.mark.parametrize("part", ["marginal", "conditional"])
    @pytest.mark.parametrize("d", [2, 3])
    def test_survive_pickles(self, part, d):
        def series(kept):
            return kept.series() if part == "marginal" else kept

        whole = fitted(rows_of(d))
        kept = whole.marginal([*range(1, d)]) if part == "marginal" else None
        kept = kept or whole.series().conditional({0: 100.0})
        X = rows_of(d)[:, 1:]
        again = pickle.loads(pickle.dumps(kept))
        assert_allclose(again.density(X), kept.density(X), rtol=1e-12)
        assert_allclose(series(again).cdf(X), series(kept).cdf(X), rtol=1e-12)

    @pytest.mark.parametrize("kept", PARTS, ids=str)
    def test_are_drawn_from(self, model, kept):
        X = rows_of()[:, kept]
        drawn = model.marginal(kept).sample(2000, random_state=0)
        spread = np.sqrt((X.var(axis=0) + SD[kept] ** 2) / 2000)
        assert (np.abs(drawn.mean(axis=0) - X.mean(axis=0)) < 4 * spread).all()

    def test_are_drawn_on_a_grid(self, model):
        X = rows_of()
        x, y, density = model.marginal([0, 2]).grid(20)
        points = np.column_stack([np.tile(x, 20), np.repeat(y, 20)])
        expected = exact_density(X[:, [0, 2]], SD[[0, 2]], points).reshape(20, 20)
        assert_allclose(density, expected, rtol=0, atol=1e-8 * expected.max())
