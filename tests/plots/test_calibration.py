"""Pictures of calibration, against slow computations and other packages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from rhokit import DMKDClassifier, QMOrdinalClassifier, QMRegressor
from rhokit.plots import CalibrationDisplay
from rhokit.plots.calibration import Reliability


def slow_error(chances, came_true, n_bins):
    """Expected calibration error, bin by bin."""
    total = 0.0
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = [
            i
            for i, p in enumerate(chances)
            if low <= p < high or (p == 1 and b == n_bins - 1)
        ]
        if inside:
            said = sum(chances[i] for i in inside) / len(inside)
            true = sum(bool(came_true[i]) for i in inside) / len(inside)
            total += len(inside) / len(chances) * abs(said - true)
    return total


def curves(ax):
    """Points of the curves; the first line is the diagonal."""
    return [line.get_data() for line in ax.lines[1:]]


@given(st.integers(0, 1000), st.sampled_from([1, 4, 8, 16]), st.integers(1, 60))
def test_error_and_bins(seed, n_bins, n):
    rng = np.random.default_rng(seed)
    # Edges of bins are met, and representable.
    chances = rng.choice([rng.random(n), rng.integers(0, 17, n) / 16])
    came_true = rng.random(n) < 0.5
    curve = Reliability.of_chances(chances, came_true, n_bins)
    assert len(curve.counts) <= n_bins
    np.testing.assert_allclose(curve.error, slow_error(chances, came_true, n_bins))
    assert curve.counts.sum() == n
    assert (curve.counts > 0).all()


def test_curve_of_another_package():
    rng = np.random.default_rng(0)
    chances = rng.random(500)
    came_true = rng.random(500) < chances**2
    curve = Reliability.of_chances(chances, came_true, 10)
    true, said = calibration_curve(came_true, chances, n_bins=10)
    np.testing.assert_allclose(curve.true, true)
    np.testing.assert_allclose(curve.said, said)


def test_uncertainty_of_another_package():
    hits, n = np.array([0, 3, 5, 40]), np.array([4, 7, 5, 90])
    curve = Reliability(hits / n, hits / n, n)
    expected = [
        binomtest(h, m).proportion_ci(method="wilson")
        for h, m in zip(hits.tolist(), n.tolist(), strict=True)
    ]
    np.testing.assert_allclose(
        curve.spread().T, [[e.low, e.high] for e in expected], rtol=1e-6, atol=1e-9
    )


class TestClasses:
    def test_the_likeliest(self, flowers):
        model, X, y = flowers
        display = CalibrationDisplay.from_estimator(model, X, y, n_bins=5)
        chances = model.predict_proba(X)
        top = chances.max(axis=1)
        right = model.predict(X) == y
        (curve,) = display.curves
        expected = slow_error(top, right, 5)
        assert display.error == pytest.approx(expected)
        title = display.ax_.get_title(loc="left")
        assert title == f"expected calibration error {expected:.3f}, 75 rows"
        ((said, true),) = curves(display.ax_)
        np.testing.assert_allclose([said, true], [curve.said, curve.true])
        bars = [bar.get_height() * 75 for bar in display.ax_.patches]
        np.testing.assert_allclose(bars, curve.counts)
        texts = [text.get_text() for text in display.ax_.texts]
        assert texts == [str(each) for each in curve.counts]
        (lines,) = (
            each for each in display.ax_.collections if isinstance(each, LineCollection)
        )
        ends = np.array(lines.get_segments())[:, :, 1]
        np.testing.assert_allclose(ends, curve.spread().T)

    @pytest.mark.parametrize("classes", ["each", ["virginica", "setosa"]])
    def test_several(self, flowers, classes):
        model, X, y = flowers
        display = CalibrationDisplay.from_estimator(model, X, y, classes=classes)
        labels = list(model.classes_) if classes == "each" else classes
        chances = model.predict_proba(X)
        errors = []
        for label, curve in zip(labels, display.curves, strict=True):
            of_class = chances[:, list(model.classes_).index(label)]
            errors.append(slow_error(of_class, y == label, 10))
            assert curve.error == pytest.approx(errors[-1])
            assert curve.name == label
        assert display.error == pytest.approx(np.mean(errors))
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [
            f"{name} ({e:.3f})" for name, e in zip(labels, errors, strict=True)
        ]
        assert display.ax_.get_title(loc="left").startswith("mean calibration error")
        sizes = [each.get_sizes() for each in display.ax_.collections]
        for size, curve in zip(sizes, display.curves, strict=True):
            assert size[curve.counts.argmax()] == size.max()

    def test_other_classifiers(self, flowers, iris):
        _, X, y = flowers
        ordinal = QMOrdinalClassifier(n_components=16, gamma=1.0, random_state=0)
        for model in (ordinal, LogisticRegression(max_iter=1000)):
            model.fit(X, y)
            display = CalibrationDisplay.from_estimator(model, X, y)
            chances = model.predict_proba(X)
            right = model.classes_[chances.argmax(axis=1)] == y
            error = slow_error(chances.max(axis=1), right, 10)
            assert display.error == pytest.approx(error)

    def test_without_counts_and_uncertainty(self, flowers, ax):
        display = CalibrationDisplay.from_estimator(
            *flowers, ax=ax, counts=False, uncertainty=False, color="red"
        )
        assert display.ax_ is ax
        assert not ax.patches
        assert not ax.texts
        assert not ax.collections
        assert ax.lines[1].get_color() == "red"


class TestIntervals:
    def test_coverage(self, patients):
        model, X, y = patients
        levels = [0.9, 0.2, 0.6]
        display = CalibrationDisplay.from_estimator(model, X, y, levels=levels)
        achieved = []
        for level in sorted(levels):
            ends = model.predict_interval(X, level)
            held = [a <= v <= b for (a, b), v in zip(ends, y, strict=True)]
            achieved.append(sum(held) / len(held))
        ((said, true),) = curves(display.ax_)
        np.testing.assert_allclose(said, sorted(levels))
        np.testing.assert_allclose(true, achieved)
        off = np.mean(np.abs(np.subtract(achieved, sorted(levels))))
        assert display.error == pytest.approx(off)
        title = display.ax_.get_title(loc="left")
        assert title == f"off by {round(100 * off, 1):g} % on average, 242 rows"
        assert not display.ax_.patches

    def test_of_one_target(self, patients):
        _, X, y = patients
        both = np.column_stack([y, np.zeros(len(y)) + np.arange(len(y)) % 2])
        model = QMRegressor(n_components=16, n_levels=8, gamma=1.0, random_state=0)
        model.fit(X, both)
        display = CalibrationDisplay.from_estimator(
            model, X, both, levels=[0.5], target=0
        )
        low, high = model.predict_interval(X, 0.5)[:, 0].T
        np.testing.assert_allclose(
            display.curves[0].true, [np.mean((low <= y) & (y <= high))]
        )


class TestErrors:
    def test_another_model(self, density, iris):
        with pytest.raises(TypeError, match=r"a classifier with prob.* got DMKDE"):
            CalibrationDisplay.from_estimator(density, iris, np.ones(150))
        with pytest.raises(TypeError, match="fitted model, got the class QMRegressor"):
            CalibrationDisplay.from_estimator(QMRegressor, iris, np.ones(150))

    @pytest.mark.parametrize("kind", [DMKDClassifier, QMRegressor])
    def test_not_fitted(self, kind, iris):
        with pytest.raises(NotFittedError):
            CalibrationDisplay.from_estimator(kind(), iris, np.ones(150))

    def test_no_target(self, flowers, patients):
        for model, X, _ in (flowers, patients):
            with pytest.raises(ValueError, match=r"needs y, .* got None"):
                CalibrationDisplay.from_estimator(model, X, None)

    def test_targets_of_another_number(self, flowers, patients):
        for model, X, y in (flowers, patients):
            with pytest.raises(ValueError, match="y must have one entry per row"):
                CalibrationDisplay.from_estimator(model, X, y[:-1])

    def test_targets_of_another_shape(self, flowers):
        model, X, y = flowers
        with pytest.raises(ValueError, match="1d array"):
            CalibrationDisplay.from_estimator(model, X, np.column_stack([y, y]))

    @pytest.mark.parametrize("classes", ["all", [], 3])
    def test_classes(self, flowers, classes):
        with pytest.raises(ValueError, match='classes must be "top", "each" or a list'):
            CalibrationDisplay.from_estimator(*flowers, classes=classes)

    def test_an_unknown_class(self, flowers):
        with pytest.raises(ValueError, match=r"classes must be among .* got 'rose'"):
            CalibrationDisplay.from_estimator(*flowers, classes=["setosa", "rose"])

    @pytest.mark.parametrize("n_bins", [0, 2.5])
    def test_bins(self, flowers, n_bins):
        with pytest.raises(ValueError, match="n_bins must be an integer >= 1"):
            CalibrationDisplay.from_estimator(*flowers, n_bins=n_bins)

    @pytest.mark.parametrize("levels", [[0.5, 1], [0]])
    def test_levels(self, patients, levels):
        with pytest.raises(ValueError, match="levels must be a number between 0 and 1"):
            CalibrationDisplay.from_estimator(*patients, levels=levels)
