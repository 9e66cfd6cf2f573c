"""Pictures of calibration, against slow computations."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from rhokit import DMKDClassifier, QMOrdinalClassifier, QMRegressor
from rhokit.plots import CalibrationDisplay
from tests.inspection.test_reliability import slow_error


def curves(ax):
    """Points of the curves; the first line is the diagonal."""
    return [line.get_data() for line in ax.lines[1:]]


class TestClasses:
    def test_the_likeliest(self, flowers):
        model, X, y = flowers
        display = CalibrationDisplay.from_estimator(model, X, y, n_bins=5)
        probabilities = model.predict_proba(X)
        top = probabilities.max(axis=1)
        right = model.predict(X) == y
        (curve,) = display.curves
        expected = slow_error(top, right, 5)
        assert display.error == pytest.approx(expected)
        title = display.ax_.get_title(loc="left")
        assert title == f"expected calibration error {expected:.3f}, 75 rows"
        ((predicted, observed),) = curves(display.ax_)
        np.testing.assert_allclose(
            [predicted, observed], [curve.predicted, curve.observed]
        )
        bars = [bar.get_height() * 75 for bar in display.ax_.patches]
        np.testing.assert_allclose(bars, curve.counts)
        texts = [text.get_text() for text in display.ax_.texts]
        assert texts == [str(each) for each in curve.counts]
        (lines,) = (
            each for each in display.ax_.collections if isinstance(each, LineCollection)
        )
        ends = np.array(lines.get_segments())[:, :, 1]
        np.testing.assert_allclose(ends, curve.confidence_interval().T)

    @pytest.mark.parametrize("classes", ["each", ["virginica", "setosa"]])
    def test_several(self, flowers, classes):
        model, X, y = flowers
        display = CalibrationDisplay.from_estimator(model, X, y, classes=classes)
        labels = list(model.classes_) if classes == "each" else classes
        probabilities = model.predict_proba(X)
        errors = []
        for label, curve in zip(labels, display.curves, strict=True):
            of_class = probabilities[:, list(model.classes_).index(label)]
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
        ordinal = QMOrdinalClassifier(
            n_components=16, gamma=1.0, scale=None, random_state=0
        )
        for model in (ordinal, LogisticRegression(max_iter=1000)):
            model.fit(X, y)
            display = CalibrationDisplay.from_estimator(model, X, y)
            probabilities = model.predict_proba(X)
            right = model.classes_[probabilities.argmax(axis=1)] == y
            error = slow_error(probabilities.max(axis=1), right, 10)
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
        ((predicted, observed),) = curves(display.ax_)
        np.testing.assert_allclose(predicted, sorted(levels))
        np.testing.assert_allclose(observed, achieved)
        off = np.mean(np.abs(np.subtract(achieved, sorted(levels))))
        assert display.error == pytest.approx(off)
        title = display.ax_.get_title(loc="left")
        assert title == f"off by {round(100 * off, 1):g} % on average, 242 rows"
        assert not display.ax_.patches

    def test_of_one_target(self, patients):
        _, X, y = patients
        both = np.column_stack([y, np.zeros(len(y)) + np.arange(len(y)) % 2])
        model = QMRegressor(
            n_components=16, n_levels=8, gamma=1.0, scale=None, random_state=0
        )
        model.fit(X, both)
        display = CalibrationDisplay.from_estimator(
            model, X, both, levels=[0.5], target=0
        )
        low, high = model.predict_interval(X, 0.5)[:, 0].T
        np.testing.assert_allclose(
            display.curves[0].observed, [np.mean((low <= y) & (y <= high))]
        )


class TestErrors:
    def test_another_model(self, density, iris):
        with pytest.raises(TypeError, match=r"a classifier with prob.* got DMKDE"):
            CalibrationDisplay.from_estimator(density, iris, np.ones(150))
        with pytest.raises(
            TypeError, match="fitted model must be given, got the class QMRegressor"
        ):
            CalibrationDisplay.from_estimator(QMRegressor, iris, np.ones(150))

    @pytest.mark.parametrize("kind", [DMKDClassifier, QMRegressor])
    def test_not_fitted(self, kind, iris):
        with pytest.raises(NotFittedError):
            CalibrationDisplay.from_estimator(kind(), iris, np.ones(150))

    def test_no_target(self, flowers, patients):
        for model, X, _ in (flowers, patients):
            with pytest.raises(ValueError, match=r"y must be given: .* got None"):
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
