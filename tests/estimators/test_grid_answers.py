"""What all answers of densities on a grid share: refusals and units."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from rhokit import DMKDE, MeanEmbeddingKDE, OneHotFeatures
from rhokit.features import GridFeatures, LandmarkFeatures

ROW = [[0.1, 0.2]]
# Of a model with two columns.
BY_COLUMNS = {
    "cdf": lambda model: model.series().cdf(ROW),
    "box_probability": lambda model: model.series().box_probability([-1, -1], [1, 1]),
    "conditional": lambda model: model.series().conditional({0: 0.1}),
    "moment": lambda model: model.series().moment(1),
}
OTHERS = {
    "mean": lambda model: model.series().mean(),
    "covariance": lambda model: model.series().covariance(),
    "entropy": lambda model: model.series().entropy(),
    "log_density_gradient": lambda model: model.series().log_density_gradient(ROW),
    "modes": lambda model: model.series().modes(),
}
ANSWERS = BY_COLUMNS | OTHERS
UNITS = np.array([1000.0, 0.01])


def rows_of(d=2, n=40):
    return np.random.default_rng(0).normal(size=(n, 3))[:, :d]


def fitted(X, **options):
    options = {
        "gamma": 1.0,
        "scale": None,
        "feature_map": "grid",
        "random_state": 0,
    } | options
    return DMKDE(**options).fit(X)


class TestRefusals:
    def test_random_features(self):
        model = fitted(rows_of(), feature_map="fourier", n_components=50)
        with pytest.raises(ValueError, match="this one has FourierFeatures"):
            model.series()

    def test_normalised_landmarks(self):
        model = fitted(rows_of(), feature_map=LandmarkFeatures(normalize=True))
        with pytest.raises(ValueError, match="landmarks that are not normalised"):
            model.series()

    def test_discrete_values(self):
        model = DMKDE(feature_map=OneHotFeatures()).fit([["a", "b"], ["c", "b"]])
        with pytest.raises(ValueError, match="2 columns of discrete values"):
            model.series()

    def test_four_columns(self):
        rows = np.random.default_rng(0).normal(size=(40, 4))
        model = DMKDE(gamma=1.0, scale=None, random_state=0).fit(rows)
        with pytest.raises(ValueError, match=r"4 columns: take marginal\(columns\)"):
            model.series()

    def test_means_of_features_have_none(self):
        assert not hasattr(MeanEmbeddingKDE(), "series")

    @pytest.mark.parametrize("answer", BY_COLUMNS)
    def test_mixed_columns(self, answer):
        model = fitted(rows_of(), scale="whiten")
        with pytest.raises(ValueError, match=f"^{answer} needs .*scale='whiten'"):
            BY_COLUMNS[answer](model)

    @pytest.mark.parametrize("answer", OTHERS)
    def test_mixed_columns_do_not_matter(self, answer):
        OTHERS[answer](fitted(rows_of(), scale="whiten"))

    @pytest.mark.parametrize("answer", [*ANSWERS, "sample", "grid", "quantile"])
    @pytest.mark.parametrize("state", ["new", "prepared", "forgotten"])
    def test_without_rows(self, answer, state):
        model = DMKDE(gamma=1.0, scale=None, feature_map="grid")
        if state != "new":
            model.prepare(rows_of())
        if state == "forgotten":
            model.partial_fit(rows_of()).unlearn(rows_of())
        others = {
            "sample": lambda model: model.sample(),
            "grid": lambda model: model.grid(),
            "quantile": lambda model: model.series().quantile(0.5),
        }
        with pytest.raises(NotFittedError):
            (ANSWERS | others)[answer](model)

    @pytest.mark.parametrize("answer", ["cdf", "log_density_gradient"])
    def test_rows_are_checked(self, answer):
        frame = pd.DataFrame(rows_of(), columns=["a", "b"])
        ask = getattr(fitted(frame).series(), answer)
        with pytest.raises(ValueError, match="feature names should match"):
            ask(frame.rename(columns={"b": "z"}))
        with pytest.raises(ValueError, match="feature names should match"):
            ask(frame[["a"]])
        with pytest.raises(ValueError, match="NaN"):
            ask(frame.where(frame > 0))

    def test_one_column_is_never_mixed(self):
        X = rows_of(1)
        actual = fitted(X, scale="whiten").series().cdf(X)
        assert_allclose(actual, fitted(X, scale="std").series().cdf(X), atol=1e-8)


class TestUnits:
    """Rows in other units give the same answers in those units."""

    @pytest.fixture(params=["std", "robust", "given", "rule"])
    def models(self, request):
        """Two models, of the same rows in different units."""
        X = rows_of()
        options = [{"scale": request.param}] * 2
        if request.param == "given":
            options = [{"scale": np.ones(2)}, {"scale": UNITS}]
        if request.param == "rule":
            options = [{"gamma": "scott", "scale": "auto"}] * 2
        shift = 0 if request.param == "given" else 5 * UNITS
        return fitted(X, **options[0]), fitted(X * UNITS + shift, **options[1]), shift

    def test_probabilities(self, models):
        plain, other, shift = models
        X = rows_of()
        there = X * UNITS + shift
        assert_allclose(other.series().cdf(there), plain.series().cdf(X), atol=1e-9)
        actual = other.series().box_probability(there - UNITS, there + UNITS)
        assert_allclose(actual, plain.series().box_probability(X - 1, X + 1), atol=1e-9)
        values = other.marginal(1).series().quantile([0.1, 0.6])
        expected = plain.marginal(1).series().quantile([0.1, 0.6])
        assert_allclose((values - np.full(2, shift).ravel()[-1]) / UNITS[1], expected)

    def test_moments(self, models):
        plain, other, shift = models
        assert_allclose(
            (other.series().mean() - shift) / UNITS, plain.series().mean(), atol=1e-8
        )
        covariance = other.series().covariance() / np.outer(UNITS, UNITS)
        assert_allclose(covariance, plain.series().covariance(), atol=1e-8)
        second = other.series().moment(2) - 2 * shift * other.series().mean() + shift**2
        assert_allclose(second / UNITS**2, plain.series().moment(2), atol=1e-7)

    def test_shape(self, models):
        plain, other, shift = models
        X = rows_of()
        entropy = other.series().entropy() - np.log(UNITS).sum()
        assert_allclose(entropy, plain.series().entropy(), atol=1e-7)
        gradient = other.series().log_density_gradient(X * UNITS + shift) * UNITS
        assert_allclose(gradient, plain.series().log_density_gradient(X), atol=1e-6)
        assert_allclose(
            (other.series().modes() - shift) / UNITS, plain.series().modes(), atol=1e-6
        )

    def test_plots_and_samples(self, models):
        plain, other, shift = models
        x, y, density = other.grid(20)
        axes = (np.column_stack([x, y]) - shift) / UNITS
        *expected, heights = plain.grid(20)
        assert_allclose(axes, np.column_stack(expected), atol=1e-8)
        assert_allclose(density * UNITS.prod(), heights, atol=1e-8)
        drawn = (other.sample(50, random_state=0) - shift) / UNITS
        assert_allclose(drawn, plain.sample(50, random_state=0), atol=1e-6)


class TestOptions:
    def test_single_precision(self):
        X = rows_of().astype(np.float32)
        single, double = fitted(X), fitted(X.astype(float))
        assert single.feature_map_.dtype_ == np.float32
        assert_allclose(single.series().cdf(X), double.series().cdf(X), atol=1e-6)
        assert_allclose(single.series().mean(), double.series().mean(), atol=1e-6)
        assert_allclose(single.series().entropy(), double.series().entropy(), atol=1e-6)

    def test_a_coarse_tolerance(self):
        X = rows_of()
        coarse = fitted(X, feature_map=GridFeatures(tol=1e-4))
        fine = fitted(X)
        assert coarse.state_.total.size < fine.state_.total.size
        assert_allclose(coarse.series().cdf(X), fine.series().cdf(X), atol=1e-3)
        assert_allclose(
            coarse.series().covariance(), fine.series().covariance(), atol=1e-2
        )

    @pytest.mark.parametrize("answer", ANSWERS)
    def test_a_wide_box_says_the_same(self, answer):
        """What the box is has nothing to do with the density in it."""
        X = rows_of()
        wide = fitted(X, feature_map=GridFeatures(bounds=[[-9, -7], [8, 30]]))
        if answer in ("marginal", "conditional"):
            actual, expected = (
                ANSWERS[answer](m).density(X[:, :1]) for m in (wide, fitted(X))
            )
        else:
            actual, expected = (ANSWERS[answer](m) for m in (wide, fitted(X)))
        assert_allclose(actual, expected, rtol=0, atol=1e-6)
