"""Pictures of intervals: ends, truths and the share inside are the model's."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from sklearn.exceptions import NotFittedError

from rhokit import QMRegressor, QMRegressorSGD
from rhokit.plots import IntervalDisplay

SMALL = {
    "n_components": 32,
    "n_levels": 16,
    "gamma": 1.0,
    "scale": None,
    "random_state": 0,
}


def segments(ax):
    """Ends of all intervals, by their place."""
    lines = [each for each in ax.collections if isinstance(each, LineCollection)]
    found = np.concatenate([np.array(line.get_segments()) for line in lines])
    order = np.argsort(found[:, 0, 0], kind="stable")
    return found[order, 0, 0], found[order][:, :, 1]


def truths(ax):
    """Places and values inside and outside."""
    named = {
        each.get_label(): np.asarray(each.get_offsets())
        for each in ax.collections
        if isinstance(each, PathCollection)
    }
    return named["true value, inside"], named["true value, outside"]


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_rows_in_the_order_of_predictions(patients, coverage):
    model, X, y = patients
    display = IntervalDisplay.from_estimator(model, X, y, coverage=coverage)
    mean, interval = model.predict(X), model.predict_interval(X, coverage)
    order = np.argsort(mean, kind="stable")
    place, ends = segments(display.ax_)
    np.testing.assert_allclose(place, np.arange(len(y)))
    np.testing.assert_allclose(ends, interval[order])
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), mean[order])
    held = [
        low <= value <= high for (low, high), value in zip(interval, y, strict=True)
    ]
    share = sum(held) / len(held)
    assert display.achieved == pytest.approx(share)
    title = display.ax_.get_title(loc="left")
    assert title.startswith(f"{round(100 * share, 1):g} % of {len(y)} values")
    assert title.endswith(f"{100 * coverage:g} % wanted")
    inside, outside = truths(display.ax_)
    assert (len(inside), len(outside)) == (sum(held), len(held) - sum(held))
    both = np.concatenate([inside, outside])
    both = both[np.argsort(both[:, 0])]
    np.testing.assert_allclose(both[:, 1], y.to_numpy()[order])


def test_over_a_column(patients):
    model, X, y = patients
    display = IntervalDisplay.from_estimator(model, X, y, column="bmi")
    place, ends = segments(display.ax_)
    np.testing.assert_allclose(place, np.sort(X["bmi"]))
    lows = model.predict_interval(X)[:, 0]
    np.testing.assert_allclose(np.sort(ends[:, 0]), np.sort(lows))
    values = np.concatenate(truths(display.ax_))
    expected = np.column_stack([X["bmi"], y])
    np.testing.assert_allclose(
        values[np.lexsort(values.T)], expected[np.lexsort(expected.T)]
    )
    assert display.ax_.get_xlabel() == "bmi"
    by_place = IntervalDisplay.from_estimator(model, X, y, column=2)
    np.testing.assert_allclose(by_place.position, X["bmi"])


@pytest.mark.parametrize("kind", [QMRegressor, QMRegressorSGD])
def test_one_column_is_drawn_as_a_band(kind):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(200, 1))
    y = x[:, 0] ** 2 + rng.normal(size=200)
    options = {"max_epochs": 1} if kind is QMRegressorSGD else {}
    model = kind(**SMALL, **options).fit(x[:100], y[:100])
    display = IntervalDisplay.from_estimator(model, x[100:], y[100:], coverage=0.8)
    assert display.band
    assert not [c for c in display.ax_.collections if isinstance(c, LineCollection)]
    order = np.argsort(x[100:, 0])
    line = display.ax_.lines[0]
    np.testing.assert_allclose(line.get_xdata(), x[100:, 0][order])
    np.testing.assert_allclose(line.get_ydata(), model.predict(x[100:])[order])
    (path,) = display.ax_.collections[0].get_paths()
    low, high = model.predict_interval(x[100:], 0.8).T
    edge = path.vertices[:, 1]
    np.testing.assert_allclose([edge.min(), edge.max()], [low.min(), high.max()])


def test_many_rows_are_thinned_but_all_are_counted(patients):
    model, X, y = patients
    display = IntervalDisplay.from_estimator(model, X, y, max_rows=50)
    whole = IntervalDisplay.from_estimator(model, X, y, max_rows=None)
    assert len(segments(display.ax_)[0]) == 50
    assert len(segments(whole.ax_)[0]) == len(y)
    assert display.achieved == whole.achieved
    assert display.ax_.get_xlabel().startswith(f"50 of {len(y)} rows")
    assert display.ax_.get_title(loc="left") == whole.ax_.get_title(loc="left")


@pytest.fixture(scope="module")
def two_targets(patients):
    _, X, y = patients
    both = np.column_stack([y, -y])
    model = QMRegressor(**SMALL).fit(X.iloc[:, :2], both)
    return model, X.iloc[:, :2], both


class TestTargets:
    @pytest.mark.parametrize("target", [0, 1])
    def test_one_of_several(self, two_targets, target):
        model, X, y = two_targets
        display = IntervalDisplay.from_estimator(model, X, y, target=target)
        np.testing.assert_allclose(display.truth, y[:, target])
        np.testing.assert_allclose(display.prediction, model.predict(X)[:, target])
        interval = model.predict_interval(X)[:, target]
        np.testing.assert_allclose(display.interval, interval)

    @pytest.mark.parametrize("target", [None, 2, -1, "y"])
    def test_which_must_be_said(self, two_targets, target):
        with pytest.raises(ValueError, match=r"target must be .* from 0 to 1, got"):
            IntervalDisplay.from_estimator(*two_targets, target=target)

    def test_wrong_shape(self, two_targets):
        model, X, y = two_targets
        with pytest.raises(ValueError, match=r"y must have shape .*, 2\), got"):
            IntervalDisplay.from_estimator(model, X, y[:, 0], target=0)

    def test_a_single_one_in_a_column(self, patients):
        _, X, y = patients
        model = QMRegressor(**SMALL).fit(X.iloc[:, :2], y.to_numpy()[:, None])
        for truth in (y, y.to_numpy()[:, None]):
            display = IntervalDisplay.from_estimator(model, X.iloc[:, :2], truth)
            np.testing.assert_allclose(display.truth, y)


def test_numbers_given_by_hand(ax):
    display = IntervalDisplay(
        prediction=np.array([2.0, 1.0]),
        interval=np.array([[1.0, 3.0], [0.0, 2.0]]),
        truth=np.array([3.0, 2.1]),
        coverage=0.9,
    )
    assert display.inside.tolist() == [True, False]  # ends belong to it
    assert display.achieved == 0.5
    styled = display.plot(ax, interval_kw={"linewidth": 4}, point_kw={"s": 77})
    assert styled.ax_ is ax
    lines = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert lines[0].get_linewidth() == [4]
    assert truths(ax)[0].tolist() == [[1, 3.0]]


class TestErrors:
    def test_another_model(self, density, iris):
        with pytest.raises(TypeError, match=r"a regressor .* must be given, got DMKDE"):
            IntervalDisplay.from_estimator(density, iris, np.ones(150))

    def test_not_fitted(self, iris):
        with pytest.raises(NotFittedError):
            IntervalDisplay.from_estimator(QMRegressor(), iris, np.ones(150))

    def test_no_target(self, patients):
        model, X, _ = patients
        with pytest.raises(ValueError, match=r"y must be given: .* got None"):
            IntervalDisplay.from_estimator(model, X, None)

    def test_rows_and_targets_of_different_number(self, patients):
        model, X, y = patients
        with pytest.raises(
            ValueError, match=r"one entry per row of X, 242, got shape \(241,\)"
        ):
            IntervalDisplay.from_estimator(model, X, y[1:])
        with pytest.raises(ValueError, match=r"y must have shape \(242,\)"):
            IntervalDisplay.from_estimator(model, X, np.column_stack([y, y]))

    @pytest.mark.parametrize("coverage", [0, 1, 1.5, "0.9", None])
    def test_coverage(self, patients, coverage):
        with pytest.raises(ValueError, match="coverage must be a number between 0"):
            IntervalDisplay.from_estimator(*patients, coverage=coverage)

    @pytest.mark.parametrize("column", ["weight", 10, -1])
    def test_column(self, patients, column):
        with pytest.raises(ValueError, match="column must name different columns"):
            IntervalDisplay.from_estimator(*patients, column=column)

    def test_a_target_that_is_not_there(self, patients):
        with pytest.raises(ValueError, match="from 0 to 0, got 1"):
            IntervalDisplay.from_estimator(*patients, target=1)

    def test_a_column_of_categories(self, mixed):
        _, frame = mixed
        y = np.arange(150.0)
        model = QMRegressor(**SMALL).fit(frame, y)
        display = IntervalDisplay.from_estimator(model, frame, y, column=2)
        np.testing.assert_allclose(display.position, frame.iloc[:, 2])
        with pytest.raises(ValueError, match="'kind' holds categories"):
            IntervalDisplay.from_estimator(model, frame, y, column="kind")


def test_nothing_is_drawn_on_other_figures(patients):
    other = plt.figure()
    IntervalDisplay.from_estimator(*patients)
    assert not other.axes
