"""Columns left out in closed form: marginal models, and rows that lack values."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import (
    DMKDE,
    DMKDClassifier,
    FourierFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from tests.estimators.test_mixed import LEVELS, table

GAMMA = {"gamma": 1.0, "scale": None, "random_state": 0}


def numbers(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d)))


def integral(model, rows, column, low=-15.0, high=20.0, n=4001):
    """The density of rows with one column integrated over by a sum, (n,)."""
    values = np.linspace(low, high, n)
    total = np.zeros(len(rows))
    for i, row in enumerate(rows):
        points = np.tile(row, (n, 1))
        points[:, column] = values
        total[i] = model.density(points).sum() * (values[1] - values[0])
    return total


class TestMarginals:
    @pytest.mark.parametrize("scale", ["std", "whiten", "robust", None])
    @pytest.mark.parametrize("n_components", [200, 20])
    def test_equal_the_integral(self, scale, n_components):
        X = numbers()
        model = DMKDE(**GAMMA | {"scale": scale}, n_components=n_components).fit(X)
        part = model.marginal([0, 1, 3])
        found = part.density(X[:5][:, [0, 1, 3]])
        assert_allclose(found, integral(model, X[:5], 2), rtol=1e-6)

    @pytest.mark.parametrize("rank", [5, 0.3, "elbow"])
    def test_keep_the_rank(self, rank):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=40, rank=rank).fit(X)
        found = model.marginal([0, 1, 3]).density(X[:5][:, [0, 1, 3]])
        assert_allclose(found, integral(model, X[:5], 2), rtol=1e-6)

    def test_of_all_landmarks_are_models_of_the_columns(self):
        """The kernel is a product, so leaving a column out leaves its kernel out."""
        X = numbers()
        model = DMKDE(**GAMMA, n_components=200).fit(X)
        alone = DMKDE(**GAMMA, feature_map="landmarks", n_components=200).fit(X[:, :2])
        assert_allclose(
            model.marginal([0, 1]).density(X[:, :2]), alone.density(X[:, :2]), rtol=1e-8
        )

    def test_of_marginals_are_marginals(self):
        X = numbers()
        model = DMKDE(**GAMMA | {"scale": "whiten"}, n_components=40).fit(X)
        found = model.marginal([0, 1, 2]).marginal([0, 1]).density(X[:, :2])
        expected = model.marginal([0, 1]).density(X[:, :2])
        assert_allclose(found, expected, rtol=1e-9)

    def test_single_precision(self):
        X = numbers()
        exact = DMKDE(**GAMMA, n_components=40).fit(X).marginal([1, 2])
        single = DMKDE(**GAMMA, n_components=40).fit(X.astype("f4")).marginal([1, 2])
        rows = X[:, 1:3]
        assert_allclose(single.density(rows), exact.density(rows), rtol=1e-3)

    def test_names(self):
        frame = pd.DataFrame(numbers(), columns=list("abcd"))
        part = DMKDE(**GAMMA, n_components=20).fit(frame).marginal(["d", "a"])
        assert part.feature_names_in_.tolist() == ["a", "d"]
        assert part.score_samples(frame[["a", "d"]]).shape == (80,)

    def test_can_be_drawn_and_sampled(self):
        model = DMKDE(**GAMMA, n_components=300).fit(numbers(200)).marginal([0, 1])
        x, y, density = model.grid(64)
        assert_allclose(density.sum() * (x[1] - x[0]) * (y[1] - y[0]), 1, rtol=0.02)
        assert model.sample(10, random_state=0).shape == (10, 2)

    def test_only_predict(self):
        part = DMKDE(**GAMMA, n_components=20).fit(numbers()).marginal([0, 1])
        with pytest.raises(TypeError, match="holds only a factor"):
            part.partial_fit(numbers(d=2))

    @pytest.mark.parametrize("feature_map", ["fourier", FourierFeatures(form="pair")])
    def test_random_features_cannot(self, feature_map):
        model = DMKDE(**GAMMA, n_components=20, feature_map=feature_map).fit(numbers())
        with pytest.raises(ValueError, match="models on a grid or over landmarks"):
            model.marginal(0)

    @pytest.mark.parametrize("columns", [[], [0, 0], 7, "z", None])
    def test_bad_columns(self, columns):
        model = DMKDE(**GAMMA, n_components=20).fit(numbers())
        with pytest.raises(ValueError, match="columns must name different columns"):
            model.marginal(columns)

    def test_categories_are_summed_over(self):
        frame = table(60)
        model = DMKDE(**GAMMA, n_components=30).fit(frame)
        rest = ["x", "y", "level"]
        expected = sum(model.density(frame.assign(group=g)) for g in "abcd")
        assert_allclose(model.marginal(rest).density(frame[rest]), expected, rtol=1e-8)

    def test_ordered_categories_too(self):
        frame = table(60)
        model = DMKDE(**GAMMA, n_components=30).fit(frame)
        rest = ["x", "group", "y"]
        expected = sum(
            model.density(frame.assign(level=level)) for level in [*LEVELS, "unseen"]
        )
        part = model.marginal(rest)
        assert part.schema_.names == tuple(rest)
        assert_allclose(part.density(frame[rest]), expected, rtol=1e-8)

    def test_numbers_alone_have_no_schema(self):
        model = DMKDE(**GAMMA, n_components=30).fit(table(60)).marginal(["x", "y"])
        assert model.schema_ is None


class TestMissingValues:
    def test_density_is_that_of_the_columns_there_are(self):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=30, missing="integrate").fit(X)
        rows = X[:6].copy()
        rows[1, 2] = rows[3, 0] = rows[3, 1] = np.nan
        logs = model.score_samples(rows)
        whole = [0, 2, 4, 5]
        assert_array_equal(logs[whole], model.score_samples(X[whole]))
        part = model.marginal([0, 1, 3]).score_samples(X[[1]][:, [0, 1, 3]])
        assert_allclose(logs[1], part[0], rtol=1e-12)
        part = model.marginal([2, 3]).score_samples(X[[3]][:, 2:])
        assert_allclose(logs[3], part[0], rtol=1e-12)

    def test_in_single_precision(self):
        X = numbers()
        rows = X[:20].copy()
        rows[:, 2] = np.nan
        exact = DMKDE(**GAMMA, n_components=30, missing="integrate").fit(X)
        single = DMKDE(**GAMMA, n_components=30, missing="integrate").fit(
            X.astype("f4")
        )
        expected = exact.score_samples(rows)
        assert_allclose(single.score_samples(rows), expected, atol=1e-3)

    def test_on_a_grid(self):
        X = numbers(d=2)
        model = DMKDE(**GAMMA, missing="integrate").fit(X)
        rows = X[:2].copy()
        rows[0, 1] = np.nan
        alone = DMKDE(gamma=1.0, scale=None).fit(X[:, [0]])
        expected = alone.score_samples(X[:1, [0]])[0]
        assert_allclose(model.score_samples(rows)[0], expected, rtol=1e-8)

    def test_reach_is_unknown(self):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=20, missing="integrate").fit(X)
        whole = model.reach(X[:3])
        X[1, 2] = np.nan
        found = model.reach(X[:3])
        assert np.isnan(found[1])
        assert_allclose(found[[0, 2]], whole[[0, 2]], rtol=1e-12)

    def test_a_row_of_nothing_is_certain(self):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=200, missing="integrate").fit(X)
        assert_allclose(model.score_samples(np.full((1, 4), np.nan)), 0, atol=1e-6)

    def test_classes_by_bayes_rule_over_what_is_known(self):
        X = numbers(120)
        y = np.arange(120) % 3
        X[:, 0] += 2 * y
        model = DMKDClassifier(
            **GAMMA, feature_map="landmarks", n_components=60, missing="integrate"
        ).fit(X, y)
        rows = X[:5].copy()
        rows[:, 2] = np.nan
        values = np.linspace(-15, 15, 2001)
        for row, found in zip(X[:5], model.predict_proba(rows), strict=True):
            points = np.tile(row, (len(values), 1))
            points[:, 2] = values
            joint = (
                model.predict_proba(points)
                * np.exp(model.score_samples(points))[:, None]
            )
            assert_allclose(found, joint.sum(axis=0) / joint.sum(), rtol=1e-6)

    def test_classes_of_nothing_are_the_priors(self):
        X = numbers(120)
        y = (np.arange(120) % 4 == 0).astype(int)
        model = DMKDClassifier(**GAMMA, n_components=200, missing="integrate").fit(X, y)
        found = model.predict_proba(np.full((2, 4), np.nan))
        assert_allclose(found, [[0.75, 0.25]] * 2, rtol=1e-5)

    def test_values(self):
        X = numbers(150)
        model = QMRegressor(random_state=0, n_components=60, missing="integrate")
        model.fit(X, X[:, 0])
        rows = X[:40].copy()
        rows[::2, 3] = np.nan
        assert_allclose(
            model.predict(rows), model.predict(rows, return_std=True)[0], rtol=1e-6
        )
        interval = model.predict_interval(rows)
        assert (interval[:, 0] <= interval[:, 1]).all()
        whole = model.predict(X[1:40:2])
        assert_allclose(model.predict(rows)[1::2], whole, rtol=1e-9)
        assert abs(model.predict(rows) - X[:40, 0]).mean() < abs(X[:40, 0]).mean() / 2

    def test_of_categories(self):
        frame = table(60)
        model = DMKDE(**GAMMA, n_components=30, missing="integrate").fit(frame)
        holes = frame.copy()
        holes.loc[0, "group"] = np.nan
        holes.loc[1, ["x", "level"]] = np.nan
        logs = model.score_samples(holes)
        rest = ["x", "y", "level"]
        expected = model.marginal(rest).score_samples(frame[rest].iloc[[0]])
        assert_allclose(logs[0], expected[0], rtol=1e-12)
        rest = ["group", "y"]
        expected = model.marginal(rest).score_samples(frame[rest].iloc[[1]])
        assert_allclose(logs[1], expected[0], rtol=1e-12)

    @pytest.mark.parametrize(
        "model",
        [
            DMKDE(n_components=20, random_state=0),
            DMKDClassifier(n_components=20, random_state=0),
            QMClassifier(n_components=20, random_state=0),
            QMOrdinalClassifier(n_components=20, random_state=0),
            QMRegressor(n_components=20, random_state=0),
        ],
        ids=lambda m: type(m).__name__,
    )
    def test_learning_leaves_such_rows_out(self, model):
        X, y = numbers(90), np.arange(90) % 2
        X[3, 1] = X[7, 0] = np.nan
        whole = ~np.isnan(X).any(axis=1)
        model = clone(model).set_params(missing="integrate")
        expected = clone(model).fit(X[whole], y[whole])
        with pytest.warns(UserWarning, match="2 of 90 rows lack a value"):
            model.fit(X, y)
        assert_allclose(model.state_.total, expected.state_.total, rtol=1e-12)

    def test_no_row_is_whole(self):
        X = numbers()
        X[:, 0] = np.nan
        with pytest.raises(ValueError, match="each of the 80 rows lacks a value"):
            DMKDE(missing="integrate").fit(X)

    def test_are_refused_by_default(self):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=20).fit(X)
        X[2, 1] = np.nan
        with pytest.raises(ValueError, match=r"row 2: column 1: .*NaN"):
            model.score_samples(X)

    def test_infinity_is_no_gap(self):
        X = numbers()
        model = DMKDE(**GAMMA, n_components=20, missing="integrate").fit(X)
        X[2, 1] = np.inf
        with pytest.raises(ValueError, match=r"column 1: .*infinity"):
            model.score_samples(X)

    def test_random_features_cannot(self):
        X = numbers()
        model = DMKDE(
            **GAMMA, n_components=20, feature_map="fourier", missing="integrate"
        ).fit(X)
        X[2, 1] = np.nan
        with pytest.raises(ValueError, match="this one has FourierFeatures"):
            model.score_samples(X)

    def test_joint_ranks_cannot(self):
        X, y = numbers(), np.arange(80) % 2
        model = QMClassifier(
            **GAMMA, n_components=20, joint_rank=5, missing="integrate"
        ).fit(X, y)
        X[2, 1] = np.nan
        with pytest.raises(ValueError, match="joint_rank"):
            model.predict(X)

    def test_such_rows_are_never_rejected(self):
        X, y = numbers(), np.arange(80) % 2
        model = DMKDClassifier(
            **GAMMA,
            feature_map="landmarks",
            n_components=20,
            reject=0.5,
            reject_label=-1,
            missing="integrate",
        ).fit(X, y)
        rows = X.copy()
        rows[:, 0] = np.nan
        assert (model.predict(X) == -1).any()
        assert not (model.predict(rows) == -1).any()

    def test_many_patterns(self):
        """More than are kept; each row answers as if it were alone."""
        X = numbers(64, d=6)
        model = DMKDE(**GAMMA, n_components=12, missing="integrate").fit(X)
        holes = np.array([[i >> b & 1 for b in range(6)] for i in range(64)], bool)
        rows = np.where(holes, np.nan, X)
        together = model.score_samples(rows)
        alone = [model.score_samples(rows[[i]])[0] for i in range(64)]
        assert_allclose(together, alone, rtol=1e-9, atol=1e-12)
