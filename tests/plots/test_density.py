"""Pictures of densities: what is drawn is what the model says."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.contour import QuadContourSet
from sklearn.exceptions import NotFittedError

from rhokit import DMKDE, DMKDESGD, MeanEmbeddingKDE, QMRegressor
from rhokit.inspection.rows import some_places
from rhokit.plots import DensityDisplay
from rhokit.plots.panels import enclosing_levels

SMALL = {"n_components": 32, "gamma": 2.0, "scale": None, "random_state": 0}
MODELS = {
    "grid": lambda: DMKDE(gamma=2.0, scale=None),
    "landmarks": lambda: DMKDE(feature_map="landmarks", **SMALL),
    "fourier": lambda: DMKDE(feature_map="fourier", **SMALL),
    "linear": lambda: MeanEmbeddingKDE(**SMALL),
    "trained": lambda: DMKDESGD(rank=8, max_epochs=1, **SMALL),
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


def curve_of(ax):
    """The line of a density: the one of most points that is no rug."""
    return next(line for line in ax.lines if line.get_marker() == "None")


def rug_of(ax):
    return [line.get_xdata() for line in ax.lines if line.get_marker() == "|"]


def maps_of(ax):
    return [each for each in ax.collections if isinstance(each, QuadContourSet)]


def points_of(ax):
    return [each for each in ax.collections if not isinstance(each, QuadContourSet)]


class TestOneColumn:
    def test_the_curve_is_the_density(self, make, iris):
        X = iris.iloc[:, :1]
        model = make().fit(X)
        display = DensityDisplay.from_estimator(model, X)
        x, height = curve_of(display.ax_).get_data()
        at = X.iloc[:1].reindex(range(len(x))).assign(**{X.columns[0]: x})
        np.testing.assert_allclose(height, model.density(at), atol=1e-9)
        np.testing.assert_allclose(display.curves[0], [x, height])
        assert display.ax_.get_xlabel() == "sepal length (cm)"
        assert display.figure_ is display.ax_.figure
        (rug,) = rug_of(display.ax_)
        np.testing.assert_allclose(np.sort(rug), np.sort(X.iloc[:, 0]))

    def test_the_curve_reaches_over_the_data(self, iris):
        x, height = DensityDisplay.from_estimator(
            DMKDE(gamma=2.0, scale=None).fit(iris.iloc[:, :1])
        ).curves[0]
        np.testing.assert_allclose(np.trapezoid(height, x), 1, atol=1e-3)

    def test_a_histogram(self, iris):
        X = iris.iloc[:, :1]
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        display = DensityDisplay.from_estimator(model, X, marks="histogram")
        bars = display.ax_.patches
        area = sum(bar.get_width() * bar.get_height() for bar in bars)
        np.testing.assert_allclose(area, 1)
        edges = [bars[0].get_x(), bars[-1].get_x() + bars[-1].get_width()]
        np.testing.assert_allclose(edges, [X.min().iloc[0], X.max().iloc[0]])
        assert not rug_of(display.ax_)

    @pytest.mark.parametrize("options", [{"X": None}, {"marks": None}])
    def test_without_rows(self, iris, options):
        X = iris.iloc[:, :1]
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        display = DensityDisplay.from_estimator(model, **({"X": X} | options))
        assert not rug_of(display.ax_)
        assert not display.ax_.patches

    def test_a_column_without_a_name(self, iris):
        model = DMKDE(gamma=2.0, scale=None).fit(iris.to_numpy()[:, :1])
        display = DensityDisplay.from_estimator(model, n=10)
        assert display.ax_.get_xlabel() == "column 0"
        assert len(display.curves[0][0]) == 10

    def test_negative_densities_are_seen(self):
        x = np.linspace(0, 1, 5)
        low = np.array([0, 1, -0.2, 1, 0])
        ax = DensityDisplay(names=["x"], curves={0: (x, low)}, maps={}).plot().ax_
        assert ax.get_ylim()[0] == -0.2

    def test_style(self, iris, ax):
        model = DMKDE(gamma=2.0, scale=None).fit(iris.iloc[:, :1])
        display = DensityDisplay.from_estimator(
            model, ax=ax, curve_kw={"color": "red", "linewidth": 3}
        )
        assert display.ax_ is ax
        assert curve_of(ax).get_color() == "red"
        assert curve_of(ax).get_linewidth() == 3


class TestTwoColumns:
    def test_the_map_is_the_density(self, make, iris):
        X = iris.iloc[:, :2]
        model = make().fit(X)
        display = DensityDisplay.from_estimator(model, X, n=17)
        x, y, density = display.maps[0, 1]
        points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        at = X.iloc[:1].reindex(range(len(points)))
        at[X.columns] = points
        expected = model.density(at).reshape(17, 17)
        np.testing.assert_allclose(density, expected, atol=1e-9)
        ax = display.ax_
        assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(X.columns)
        (offsets,) = (each.get_offsets() for each in points_of(ax))
        np.testing.assert_allclose(offsets, X)

    def test_contours_enclose_their_shares(self, iris):
        model = DMKDE(gamma=2.0, scale=None).fit(iris.iloc[:, :2])
        display = DensityDisplay.from_estimator(model, probabilities=[0.9, 0.5], n=200)
        filled, lines = maps_of(display.ax_)
        *levels, top = filled.levels
        density = display.maps[0, 1][2]
        shares = [density[density >= level].sum() / density.sum() for level in levels]
        np.testing.assert_allclose(shares, [0.9, 0.5], atol=0.01)
        assert top == density.max()
        np.testing.assert_allclose(lines.levels, levels)
        bar = display.figure_.axes[-1]
        assert [text.get_text() for text in bar.get_yticklabels()] == ["90", "50"]

    def test_columns_in_another_order(self, density, iris):
        names = ["petal width (cm)", "sepal length (cm)"]
        there = DensityDisplay.from_estimator(density, iris, columns=names)
        back = DensityDisplay.from_estimator(density, iris, columns=names[::-1])
        x, y, height = there.maps[0, 1]
        np.testing.assert_allclose(back.maps[0, 1][0], y)
        np.testing.assert_allclose(back.maps[0, 1][1], x)
        np.testing.assert_allclose(back.maps[0, 1][2], height.T)
        assert there.ax_.get_xlabel() == names[0]
        np.testing.assert_allclose(
            points_of(there.ax_)[0].get_offsets(), iris[names].to_numpy()
        )
        # Of the density itself, whatever marginal() does.
        grid = density.marginal([0, 3])
        at = iris[names[::-1]].iloc[:1].copy()
        at[names[::-1]] = [[y[40], x[50]]]
        np.testing.assert_allclose(grid.density(at), height[40, 50])

    def test_without_points_and_bar(self, iris):
        X = iris.iloc[:, :2]
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        display = DensityDisplay.from_estimator(
            model, X, points=False, colorbar=False, cmap=plt.get_cmap("Greys")
        )
        assert not points_of(display.ax_)
        assert len(display.figure_.axes) == 1

    def test_many_rows_are_thinned(self, iris):
        X = iris.iloc[:, :2]
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        display = DensityDisplay.from_estimator(model, X, max_points=40)
        (points,) = points_of(display.ax_)
        drawn = {tuple(row) for row in np.asarray(points.get_offsets())}
        assert len(points.get_offsets()) == 40
        assert drawn <= {tuple(row) for row in X.to_numpy()}
        assert len(display.rows) == 150


class TestHues:
    def test_rows_have_the_colours_of_their_groups(self):
        X, _ = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 3))), None
        X.columns = list("abc")
        groups = np.repeat(["few", "some", "many"], [10, 30, 50])
        model = MODELS["landmarks"]().fit(X)
        display = DensityDisplay.from_estimator(model, X, hue=groups)
        legend = display.ax_[0, 0].get_legend()
        assert [text.get_text() for text in legend.texts] == ["many", "some", "few"]
        drawn = display.ax_[1, 0].collections
        assert {50, 30, 10} <= {len(each.get_offsets()) for each in drawn}
        assert sum(map(len, rug_of(display.ax_[0, 0]))) == 90

    def test_a_column_may_say_the_groups(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"x": rng.normal(size=60), "kind": ["a", "b"] * 30})
        X["kind"] = X["kind"].astype("category")
        display = DensityDisplay.from_estimator(
            MODELS["landmarks"]().fit(X), X, columns="x", hue="kind"
        )
        assert display.ax_.get_legend().get_title().get_text() == "kind"
        assert sorted(map(len, rug_of(display.ax_))) == [30, 30]

    def test_what_is_no_group(self):
        X = np.random.default_rng(0).normal(size=(40, 2))
        model = MODELS["grid"]().fit(X)
        with pytest.raises(ValueError, match="one value for each row"):
            DensityDisplay.from_estimator(model, X, hue=[1, 2])
        with pytest.raises(ValueError, match="there is no column 'kind'"):
            DensityDisplay.from_estimator(model, X, hue="kind")


class TestLevels:
    @given(
        hnp.arrays(np.float64, (5, 6), elements=st.floats(-1, 100, width=32)),
        st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5),
    )
    def test_the_smallest_region_that_holds_a_share(self, density, shares):
        density[0, 0] = 101.0  # somewhere it is positive
        levels, labels = enclosing_levels(density, shares)
        assert len(labels) == len(levels) - 1
        assert (np.diff(levels) > 0).all()
        assert levels[-1] == 101.0
        mass = np.maximum(density, 0)
        for level, label in zip(levels[:-1], labels, strict=True):
            share = float(label) / 100
            at_least, above = mass >= level, mass > level
            slack = 1e-5  # of a label's digits
            assert mass[at_least].sum() >= (share - slack) * mass.sum()
            if label != "100":
                assert mass[above].sum() <= (share + slack) * mass.sum()

    def test_nothing_to_draw(self):
        with pytest.raises(ValueError, match="density is zero wherever"):
            enclosing_levels(np.zeros((3, 3)), [0.5])

    @pytest.mark.parametrize("probabilities", [[0.5, 1.0], 0, ["half"], [True]])
    def test_probabilities_that_are_none(self, probabilities):
        with pytest.raises(
            ValueError, match="probabilities must be a number between 0 and 1"
        ):
            enclosing_levels(np.ones((3, 3)), probabilities)


class TestPairs:
    @pytest.fixture
    def display(self, density, iris):
        return DensityDisplay.from_estimator(density, iris, n=25)

    def test_every_panel_is_the_marginal_of_its_columns(self, display, density, iris):
        assert display.ax_.shape == (4, 4)
        for j in range(4):
            part = density.marginal(j)
            x, height = curve_of(display.ax_[j, j]).get_data()
            at = iris.iloc[:1, [j]].reindex(range(25)).assign(**{iris.columns[j]: x})
            np.testing.assert_allclose(height, part.density(at))
            for i in range(j):
                x, y, height = display.maps[i, j]
                at = iris.iloc[:1, [i, j]].copy()
                at[at.columns] = [[x[10], y[15]]]
                expected = density.marginal([i, j]).density(at)
                np.testing.assert_allclose(height[15, 10], expected[0])
                filled, _ = maps_of(display.ax_[j, i])
                assert filled.levels[-1] == height.max()
                (points,) = points_of(display.ax_[j, i])
                np.testing.assert_allclose(points.get_offsets(), iris.iloc[:, [i, j]])

    def test_labels(self, display, iris):
        names = list(iris.columns)
        lines = [name.replace(" (", "\n(") for name in names]  # labels do not touch
        assert [ax.get_xlabel() for ax in display.ax_[3]] == lines
        assert [ax.get_ylabel() for ax in display.ax_[:, 0]] == ["", *lines[1:]]
        assert all(display.ax_[i, j] is None for i in range(4) for j in range(i + 1, 4))

    def test_some_columns(self, density, iris):
        columns = [3, "sepal width (cm)", 0]
        display = DensityDisplay.from_estimator(density, iris, columns=columns, n=9)
        names = [iris.columns[i] for i in (3, 1, 0)]
        assert display.names == names
        labels = [ax.get_xlabel().replace("\n", " ") for ax in display.ax_[2]]
        assert labels == names
        assert display.ax_[0, 0].get_title(loc="left") == "3 of 4 columns"
        x, y, height = display.maps[0, 2]  # column 3 against column 0
        expected = density.marginal([0, 3])
        at = iris.iloc[:1, [0, 3]].copy()
        at[at.columns] = [[y[3], x[5]]]
        np.testing.assert_allclose(height[3, 5], expected.density(at)[0])

    def test_at_most_five(self):
        X = np.random.default_rng(0).normal(size=(60, 7))
        display = DensityDisplay.from_estimator(DMKDE(**SMALL).fit(X), n=6)
        assert display.names == [f"column {i}" for i in range(5)]
        assert display.ax_[0, 0].get_title(loc="left") == "5 of 7 columns"

    def test_a_trained_model(self, iris):
        X = iris.iloc[:, :3]
        model = MODELS["trained"]().fit(X)
        display = DensityDisplay.from_estimator(model, X, n=6)
        x, height = display.curves[2]
        expected = _density(model.estimator_.marginal(2), x[:, None])
        np.testing.assert_allclose(height, expected)
        assert display.names == list(X.columns)

    def test_in_the_place_of_one_axes(self, density):
        figure, (left, right) = plt.subplots(1, 2)
        display = DensityDisplay.from_estimator(density, n=6, ax=right)
        assert display.figure_ is figure
        assert not right.axison
        assert left.axison
        box = right.get_position()
        for panel in display.ax_[np.tril_indices(4)]:
            assert box.x0 - 1e-9 <= panel.get_position().x0 <= box.x1

    def test_in_the_place_of_axes_without_a_grid(self, density):
        ax = plt.figure().add_axes((0.5, 0.1, 0.4, 0.8))
        display = DensityDisplay.from_estimator(density, n=6, ax=ax)
        assert display.ax_[3, 0].get_position().x0 == pytest.approx(0.5)

    def test_on_given_axes(self, density):
        axes = plt.figure().subplots(4, 4)
        display = DensityDisplay.from_estimator(density, n=6, ax=axes)
        assert (display.ax_ == axes).all()
        assert not axes[0, 3].axison
        with pytest.raises(
            ValueError, match=r"array of shape \(4, 4\).*got .*\(4, 2\)"
        ):
            display.plot(axes[:, :2])

    def test_drawn_again(self, display):
        first = curve_of(display.ax_[2, 2]).get_data()
        again = display.plot()
        assert again is display
        np.testing.assert_allclose(curve_of(display.ax_[2, 2]).get_data(), first)


class TestRowsInstead:
    """Models that have no marginal densities."""

    @pytest.fixture(params=["fourier", "linear"])
    def model(self, request, iris):
        return MODELS[request.param]().fit(iris)

    def test_rows_are_coloured_by_log_density(self, model, iris):
        display = DensityDisplay.from_estimator(model, iris, max_points=60)
        which = some_places(150, 60)
        logs = model.score_samples(iris.iloc[which])
        np.testing.assert_allclose(display.log_density, logs)
        *_, points = points_of(display.ax_[3, 1])
        seen = np.isfinite(logs)
        rows = iris.to_numpy()[which]
        order = np.argsort(-logs[seen], kind="stable")
        np.testing.assert_allclose(points.get_array(), logs[seen][order])
        np.testing.assert_allclose(points.get_offsets(), rows[seen][order][:, [1, 3]])
        assert not display.maps
        assert display.ax_[1, 1].patches  # a histogram

    def test_two_columns(self, model, iris):
        display = DensityDisplay.from_estimator(model, iris, columns=[0, 1])
        *_, points = points_of(display.ax_)
        logs = model.score_samples(iris)
        np.testing.assert_allclose(
            np.sort(points.get_array()), np.sort(logs[np.isfinite(logs)])
        )
        assert display.figure_.axes[-1].get_ylabel() == "log-density"

    def test_rows_of_density_zero(self):
        rows = np.arange(8.0).reshape(4, 2)
        logs = np.array([-1.0, -np.inf, -3.0, -np.inf])
        display = DensityDisplay(
            names=["a", "b"], curves={}, maps={}, rows=rows, log_density=logs
        ).plot()
        zero, seen = points_of(display.ax_)
        np.testing.assert_allclose(zero.get_offsets(), rows[[1, 3]])
        np.testing.assert_allclose(seen.get_offsets(), rows[[0, 2]])

    def test_nothing_but_density_zero(self):
        display = DensityDisplay(
            names=["a", "b"],
            curves={},
            maps={},
            rows=np.eye(2),
            log_density=np.full(2, -np.inf),
        ).plot()
        np.testing.assert_allclose(points_of(display.ax_)[0].get_offsets(), np.eye(2))

    def test_rows_are_needed(self, model):
        with pytest.raises(ValueError, match="X must be given to draw its rows"):
            DensityDisplay.from_estimator(model)

    def test_one_column_of_many(self, model, iris):
        with pytest.raises(ValueError, match="columns must not be a single one: "):
            DensityDisplay.from_estimator(model, iris, columns=0)


class TestCategories:
    def test_numbers_are_drawn(self, mixed):
        model, frame = mixed
        display = DensityDisplay.from_estimator(model, frame, n=7)
        assert display.names == list(frame.columns[1:])
        part = model.marginal([1])
        x, height = display.curves[0]
        np.testing.assert_allclose(height, _density(part, x[:, None]))
        (points,) = points_of(display.ax_[2, 0])
        np.testing.assert_allclose(points.get_offsets(), frame.iloc[:, [1, 3]])

    def test_of_a_trained_model(self, mixed):
        model, frame = mixed
        trained = DMKDESGD.from_estimator(model)
        displays = [
            DensityDisplay.from_estimator(each, frame, columns=[1, 3], n=7)
            for each in (model, trained)
        ]
        for found, expected in zip(
            *(each.maps[0, 1] for each in displays), strict=True
        ):
            np.testing.assert_allclose(found, expected)
        np.testing.assert_allclose(displays[0].rows, displays[1].rows)
        assert displays[0].names == displays[1].names

    def test_gaps_are_not_drawn(self, iris):
        model = DMKDE(missing="integrate", **SMALL).fit(iris.iloc[:, :2])
        X = iris.iloc[:, :2].copy()
        X.iloc[3, 0] = np.nan
        display = DensityDisplay.from_estimator(model, X)
        (points,) = points_of(display.ax_)
        assert np.ma.getmaskarray(points.get_offsets()).any(axis=1).sum() == 1
        one = DensityDisplay.from_estimator(model, X, columns=0, marks="histogram")
        area = sum(bar.get_width() * bar.get_height() for bar in one.ax_.patches)
        np.testing.assert_allclose(area, 1)

    def test_categories_are_refused(self, mixed):
        with pytest.raises(ValueError, match="columns must hold numbers, but 'kind'"):
            DensityDisplay.from_estimator(*mixed, columns=["kind", 1])


def _density(model, points):
    """Density at points under the model's own names."""
    return model.density(pd.DataFrame(points, columns=model.feature_names_in_))


class TestErrors:
    @pytest.mark.parametrize(
        "columns", [[0, 0], [], 4, -1, "size", ["sepal width (cm)", True], 1.0]
    )
    def test_columns(self, density, columns):
        with pytest.raises(ValueError, match="columns must"):
            DensityDisplay.from_estimator(density, columns=columns)

    def test_marks(self, density):
        with pytest.raises(ValueError, match=r"marks must be .* got 'dots'"):
            DensityDisplay.from_estimator(density, columns=0, marks="dots")

    def test_another_model(self, patients):
        message = r"a density .DMKDE.* must be given, got QMRegressor"
        with pytest.raises(TypeError, match=message):
            DensityDisplay.from_estimator(patients[0])
        with pytest.raises(TypeError, match="the class QMRegressor"):
            DensityDisplay.from_estimator(QMRegressor)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            DensityDisplay.from_estimator(DMKDE())

    def test_rows_of_other_columns(self, density, iris):
        with pytest.raises(ValueError, match="feature names should match"):
            DensityDisplay.from_estimator(density, iris.rename(columns=str.upper))
