"""Pictures of spectra, against decompositions of the whole matrices."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rhokit import DMKDE, DMKDESGD, MeanEmbeddingKDE
from rhokit.core import DensityMatrix, LowRankDensityMatrix, effective_rank
from rhokit.plots import SpectrumDisplay
from tests.support import random_states

SMALL = {"n_components": 32, "gamma": 2.0, "scale": None, "random_state": 0}


def decomposed(rho):
    """Eigenvalues of matrices (K, D, D), descending."""
    return np.linalg.eigvalsh(rho)[:, ::-1].clip(0)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def state_of(n_outcomes, dtype="float64", dim=6, n=50):
    rng = np.random.default_rng(0)
    weights = rng.random((n, n_outcomes)) ** 4
    return DensityMatrix.from_states(random_states(rng, n, dim, dtype), weights)


class TestEstimators:
    @pytest.mark.parametrize(("rank", "kept"), [(5, 5), (0.5, 16), ("elbow", None)])
    def test_a_density(self, iris, rank, kept):
        model = DMKDE(rank=rank, feature_map="landmarks", **SMALL).fit(iris)
        display = SpectrumDisplay.from_estimator(model)
        expected = decomposed(model.density_matrix_.normalized())
        np.testing.assert_allclose(display.eigenvalues, expected, atol=1e-12)
        if kept is None:
            kept = int((expected[0] > expected[0].mean()).sum())
        assert display.ranks.tolist() == [kept]
        share = expected[0][:kept].sum() / expected[0].sum()
        np.testing.assert_allclose(display.kept, [share])
        line, mark = display.ax_.lines
        np.testing.assert_allclose(mark.get_xdata(), kept)
        shown = line.get_ydata()
        np.testing.assert_allclose(shown, expected[0][: len(shown)], atol=1e-12)
        np.testing.assert_allclose(line.get_xdata(), np.arange(1, len(shown) + 1))
        assert display.ax_.get_yscale() == "log"
        words = f"{round(100 * share, 1):g} %" if share < 0.9995 else "> 99.9 %"
        assert legend(display.ax_) == [f"rank {kept} keeps {words} of the trace"]

    def test_effective_rank(self, density):
        display = SpectrumDisplay.from_estimator(density)
        expected = effective_rank(density.density_matrix_)
        np.testing.assert_allclose(display.effective_rank, expected, rtol=1e-6)
        dim = density.density_matrix_.dim
        title = display.ax_.get_title(loc="left")
        assert title == f"effective rank {expected[0]:.3g} of {dim}"
        assert display.ranks is None
        assert display.kept is None

    def test_classes(self, flowers):
        model, *_ = flowers
        display = SpectrumDisplay.from_estimator(model)
        expected = decomposed(model.density_matrix_.normalized())
        np.testing.assert_allclose(display.eigenvalues, expected, atol=1e-12)
        assert display.ranks.tolist() == [6, 6, 6]
        names = [text.partition(":")[0] for text in legend(display.ax_)]
        assert names == list(model.classes_)
        marks = [line for line in display.ax_.lines if line.get_marker() == "o"]
        at = [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks]
        np.testing.assert_allclose(at, [(6, values[5]) for values in expected])

    @pytest.mark.parametrize("rank", [None, 4])
    def test_pooled(self, flowers, rank):
        model, *_ = flowers
        display = SpectrumDisplay.from_estimator(model, outcomes="pooled", rank=rank)
        state = model.density_matrix_
        rho = np.tensordot(state.weight / state.weight.sum(), state.normalized(), 1)
        np.testing.assert_allclose(
            display.eigenvalues, decomposed(rho[None]), atol=1e-12
        )
        # The model's rank is of its classes, not of all rows together.
        assert (display.ranks is None) == (rank is None)

    def test_many_levels_are_pooled(self, patients):
        model, *_ = patients
        assert len(SpectrumDisplay.from_estimator(model).eigenvalues) == 1
        each = SpectrumDisplay.from_estimator(model, outcomes="each")
        assert len(each.eigenvalues) == 16

    def test_a_grid(self, iris):
        model = DMKDE(gamma=0.5, scale=None).fit(iris.iloc[:, :1])
        display = SpectrumDisplay.from_estimator(model)
        expected = decomposed(model.density_matrix_.normalized())
        np.testing.assert_allclose(display.eigenvalues, expected, atol=1e-12)

    def test_a_large_grid(self):
        rows = np.random.default_rng(0).normal(size=(100, 2))
        model = DMKDE(gamma=200.0, scale=None).fit(rows)
        size = model.feature_map_.n_components_
        with pytest.raises(ValueError, match=f"would have {size:,} rows, more than"):
            SpectrumDisplay.from_estimator(model)

    def test_a_trained_model(self, iris):
        model = DMKDESGD(rank=5, max_epochs=1, **SMALL).fit(iris)
        display = SpectrumDisplay.from_estimator(model)
        rho = model.estimator_.density_matrix_.normalized()
        np.testing.assert_allclose(display.eigenvalues, decomposed(rho)[:, :5])
        assert display.ranks.tolist() == [5]
        assert legend(display.ax_) == ["rank 5"]  # what it left out is not known

    def test_a_compact_model(self, iris):
        model = DMKDE(rank=5, feature_map="landmarks", **SMALL).fit(iris)
        display = SpectrumDisplay.from_estimator(model.compact())
        whole = SpectrumDisplay.from_estimator(model)
        np.testing.assert_allclose(display.eigenvalues, whole.eigenvalues[:, :5])


class TestStates:
    def test_outcomes_are_named(self):
        state = state_of(2).factorize(4)
        display = SpectrumDisplay.from_state(state, rank=0.5, names=["no", "yes"])
        assert display.ranks.tolist() == [3, 3]
        assert [text[:11] for text in legend(display.ax_)] == [
            "no: rank 3 ",
            "yes: rank 3",
        ]
        plain = SpectrumDisplay.from_state(state_of(2))
        ranks = [f"outcome {k}: {r:.3g}" for k, r in enumerate(plain.effective_rank)]
        assert legend(plain.ax_) == ranks

    def test_many_are_pooled_and_have_no_names(self):
        state = state_of(9)
        display = SpectrumDisplay.from_state(state, names=list("abcdefghi"))
        rho = state.mix(np.ones((1, 9))).normalized()
        np.testing.assert_allclose(display.eigenvalues, decomposed(rho), atol=1e-12)
        assert display.names is None

    def test_outcomes_without_rows(self):
        display = SpectrumDisplay.from_state(state_of(2).spread([0, 2], 3), rank=3)
        assert display.effective_rank[1] == 0
        assert np.isnan(display.kept[1])

    def test_rounding_is_not_drawn(self, ax):
        state = DensityMatrix(np.diag([1.0, 1e-3, 1e-17, 0.0])[None], np.ones(1))
        display = SpectrumDisplay.from_state(state, ax=ax, color="red")
        assert display.ax_ is ax
        np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, 1e-3])
        assert ax.lines[0].get_color() == "red"

    def test_almost_all_is_not_all(self):
        values = np.array([[1.0, 1e-5]])
        display = SpectrumDisplay(eigenvalues=values, ranks=np.array([1])).plot()
        assert legend(display.ax_) == ["rank 1 keeps > 99.9 % of the trace"]


class TestErrors:
    def test_models_without_a_matrix(self, iris):
        model = MeanEmbeddingKDE(**SMALL).fit(iris)
        with pytest.raises(TypeError, match="density matrix must be given, got Mean"):
            SpectrumDisplay.from_estimator(model)
        with pytest.raises(TypeError, match="got the class DMKDE"):
            SpectrumDisplay.from_estimator(DMKDE)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            SpectrumDisplay.from_estimator(DMKDE())

    def test_states_without_a_matrix(self, iris):
        series = DMKDE(gamma=0.5, scale=None).fit(iris.iloc[:, :1]).state_
        with pytest.raises(TypeError, match=r"state must be a DensityMatrix .* got a"):
            SpectrumDisplay.from_state(series)

    def test_names(self):
        factors = LowRankDensityMatrix(np.ones((2, 1, 3)), np.ones(2))
        with pytest.raises(ValueError, match="one entry per outcome, 2, got 1"):
            SpectrumDisplay.from_state(factors, names=["one"])

    @pytest.mark.parametrize("rank", [0, 1.5, "knee"])
    def test_rank(self, rank):
        with pytest.raises(ValueError, match="rank must be"):
            SpectrumDisplay.from_state(state_of(1), rank=rank)
