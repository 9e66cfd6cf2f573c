"""Pictures of log-densities: every row is counted, the least likely are named."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from rhokit import DMKDE, DMKDESGD, MeanEmbeddingKDE
from rhokit.plots import ScoreDisplay
from rhokit.plots.score import spread_apart

SMALL = {"n_components": 32, "gamma": 2.0, "scale": None, "random_state": 0}


def counted(ax):
    """Rows in all bars together."""
    return sum(bar.get_height() for bar in ax.patches)


def marked(ax):
    """Where the least likely rows are, and what they are called."""
    (places,) = (line.get_xdata() for line in ax.lines if line.get_marker() == "v")
    return places, [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
def test_scores_of_a_model(iris, kind, training):
    named = iris.set_index(np.array([f"flower {i}" for i in range(150)]))
    model = kind(**SMALL).fit(named)
    display = ScoreDisplay.from_estimator(model, named, training=training, k=3)
    scores = model.score_samples(named, leave_one_out=training)
    np.testing.assert_allclose(display.scores, scores)
    least = sorted(range(150), key=lambda row: scores[row])[:3]
    np.testing.assert_allclose(scores[display.least_likely], scores[least])
    places, names = marked(display.ax_)
    assert names == [f"flower {row}" for row in display.least_likely]
    finite = np.isfinite(scores[least])
    np.testing.assert_allclose(places[finite], scores[least][finite])
    assert counted(display.ax_) == 150
    assert ("left out" in display.ax_.get_xlabel()) == training


def test_rows_without_names_are_called_by_their_place(density, iris):
    model = DMKDE(**SMALL).fit(iris.to_numpy())
    display = ScoreDisplay.from_estimator(model, iris.to_numpy(), k=2)
    names = marked(display.ax_)[1]
    assert names == [str(row) for row in np.argsort(display.scores)[:2]]


def test_bars_are_a_histogram():
    scores = np.random.default_rng(0).normal(size=300)
    display = ScoreDisplay(scores=scores).plot(bins=12)
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, np.histogram(scores, 12)[0])
    assert display.ax_.get_title(loc="left") == "300 rows"


class TestRowsFarBelow:
    def test_density_zero(self):
        scores = np.array([-1.0, -np.inf, -2.0, -1.5, -np.inf, -1.2])
        display = ScoreDisplay(scores=scores, labels=list("abcdef"), k=3).plot()
        ax = display.ax_
        assert counted(ax) == 6
        assert ax.get_title(loc="left") == "6 rows, 2 of density zero"
        assert "2 rows of density zero" in legend(ax)
        places, names = marked(ax)
        assert names == ["b", "e", "c"]
        left, right = ax.get_xlim()
        assert left < places[0] == places[1] < places[2] == -2.0 < right

    def test_one_row_does_not_squeeze_the_others(self):
        scores = np.append(np.random.default_rng(0).normal(size=500), -5000.0)
        display = ScoreDisplay(scores=scores, k=1).plot()
        assert counted(display.ax_) == 501
        assert display.ax_.get_xlim()[0] > -10
        assert marked(display.ax_)[1] == ["500"]
        assert any(text.startswith("1 row below -") for text in legend(display.ax_))

    def test_a_row_just_below(self):
        scores = np.append(np.linspace(0, 0.01, 100), -0.5)
        display = ScoreDisplay(scores=scores, k=1).plot()
        assert counted(display.ax_) == 101
        assert "1 row below 0" in legend(display.ax_)

    def test_all_of_them(self):
        display = ScoreDisplay(scores=np.full(4, -np.inf), k=1).plot()
        assert display.ax_.get_title(loc="left") == "4 rows, 4 of density zero"
        assert "4 rows of density zero" in legend(display.ax_)
        assert counted(display.ax_) == 4

    @given(
        st.lists(
            st.sampled_from([-np.inf, -1e300, -1e6, -3.0, -2.0, 0.0, 2.5, 700.0])
            | st.floats(-50, 50),
            min_size=1,
            max_size=30,
        ),
        st.integers(0, 4),
    )
    def test_every_row_is_counted_and_inside(self, scores, k):
        ax = plt.figure().subplots()
        try:
            display = ScoreDisplay(scores=np.array(scores), k=k).plot(ax)
            assert counted(ax) == len(scores)
            least = np.array(scores)[display.least_likely]
            np.testing.assert_array_equal(least, np.sort(scores)[:k])
            left, right = ax.get_xlim()
            if k:
                places, names = marked(ax)
                assert len(names) == len(places) == min(k, len(scores))
                assert ((left <= places) & (places <= right)).all()
        finally:
            plt.close(ax.figure)


class TestFloor:
    def test_of_random_features(self, iris):
        model = DMKDE(feature_map="fourier", **SMALL).fit(iris)
        display = ScoreDisplay.from_estimator(model, iris, k=0)
        assert display.floor == model.floor_
        scores = np.linspace(model.floor_ - 1, model.floor_ + 1, 20)
        ax = ScoreDisplay(scores=scores, floor=model.floor_).plot().ax_
        (line,) = (each for each in ax.lines if each.get_linestyle() == "--")
        np.testing.assert_allclose(line.get_xdata(), model.floor_)
        assert f"floor of the map, {model.floor_:.3g}" in legend(ax)

    @pytest.mark.parametrize("floor", [None, -np.inf, -1e9])
    def test_that_is_not_there(self, floor):
        ax = ScoreDisplay(scores=np.arange(5.0), floor=floor).plot().ax_
        assert not [each for each in ax.lines if each.get_linestyle() == "--"]


def test_classifiers_have_densities_too(flowers):
    model, X, _ = flowers
    display = ScoreDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.scores, model.score_samples(X))
    assert display.floor is None


def test_style(ax):
    scores = np.arange(20.0)
    display = ScoreDisplay(scores=scores, k=1).plot(
        ax, label_format="{label}: {score:.1f}", color="black"
    )
    assert display.ax_ is ax
    assert marked(ax)[1] == ["0: 0.0"]
    assert ax.patches[0].get_facecolor()[:3] == (0, 0, 0)


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0, 0.05))
def test_labels_that_are_spread_apart(places, least):
    places = np.array(places)
    moved = spread_apart(places, least)
    gaps = np.diff(moved[np.argsort(places, kind="stable")])
    assert (gaps >= least - 1e-9).all()
    inner = places[(places > 0.1) & (places < 0.9)]
    if len(inner) == len(places) and (np.diff(np.sort(places)) >= least).all():
        np.testing.assert_allclose(moved, places)


class TestErrors:
    def test_a_model_without_densities(self, patients):
        model = LinearRegression()
        with pytest.raises(TypeError, match=r"log-densities .* given, got LinearR"):
            ScoreDisplay.from_estimator(model, patients[1])

    def test_not_fitted(self, iris):
        with pytest.raises(NotFittedError):
            ScoreDisplay.from_estimator(DMKDE(), iris)

    def test_rows_that_cannot_be_left_out(self, iris, flowers):
        trained = DMKDESGD.from_estimator(DMKDE(**SMALL).fit(iris))
        with pytest.raises(
            ValueError, match="rows cannot be left out of this DMKDESGD"
        ):
            ScoreDisplay.from_estimator(trained, iris, training=True)
        with pytest.raises(ValueError, match="requires y"):
            ScoreDisplay.from_estimator(*flowers[:2], training=True)

    def test_rows_of_models_with_a_target(self, flowers):
        model, X, y = flowers[:3]
        display = ScoreDisplay.from_estimator(model, X, y, training=True)
        expected = model.score_samples(X, y, leave_one_out=True)
        np.testing.assert_array_equal(display.scores, expected)

    @pytest.mark.parametrize("k", [-1, 2.5, True])
    def test_k(self, density, iris, k):
        with pytest.raises(ValueError, match="k must be an integer"):
            ScoreDisplay.from_estimator(density, iris, k=k)
