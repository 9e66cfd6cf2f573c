"""Whether probabilities, and intervals, hold what they say."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rhokit.inspection import (
    ReliabilityCurve,
    class_reliability,
    interval_reliability,
)
from rhokit.inspection.reliability import LEVELS
from rhokit.plots.canvas import BLUE, CYCLE, FAINT, PALE, axes_for, percent, tidy


class CalibrationDisplay:
    """Probabilities against the fractions that came true.

    Of classifiers, rows are sorted by the probability they were given, and each bin's
    mean probability is drawn against the fraction for which it came true, with the
    number of rows. Of regressors, the coverage that intervals were to have is drawn
    against the one they had. What is well calibrated lies on the diagonal; bars show
    the uncertainty of a fraction of so many rows (95 %).

    Parameters
    ----------
    curves : list of ReliabilityCurve
    kind : {"classes", "intervals"}

    Attributes
    ----------
    error : float
        Mean distance from the diagonal: of the likeliest class, the expected
        calibration error; of several classes and of intervals, the mean over them.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.plots import CalibrationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DMKDClassifier(n_components=64, random_state=0).fit(X[:1000], y[:1000])
    >>> display = CalibrationDisplay.from_estimator(model, X[1000:], y[1000:])
    >>> bool(display.error < 0.1)
    True
    """

    def __init__(
        self, *, curves: list[ReliabilityCurve], kind: str = "classes"
    ) -> None:
        self.curves = curves
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        classes: Any = "top",
        n_bins: int = 10,
        levels: Sequence[float] = LEVELS,
        target: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compare what a model says with what is true, and draw.

        Parameters
        ----------
        model : fitted classifier, QMRegressor or QMRegressorSGD
            Any classifier with ``predict_proba``.
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            True labels or values; of several targets, shape (n, t).
        classes : {"top", "each"} or list of labels, default="top"
            The likeliest class of each row, or one curve for each of these classes.
        n_bins : int, default=10
            Bins of equal width for probabilities.
        levels : sequence of float in (0, 1)
            Coverages of intervals to try.
        target : int, optional
            Which of a regressor's several targets.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : CalibrationDisplay
        """
        if not isinstance(model, type) and hasattr(model, "predict_interval"):
            curve = interval_reliability(model, X, y, levels=levels, target=target)
            return cls(curves=[curve], kind="intervals").plot(ax, **kwargs)
        curves = class_reliability(model, X, y, classes=classes, n_bins=n_bins)
        return cls(curves=curves).plot(ax, **kwargs)

    @property
    def error(self) -> float:
        """Mean distance from the diagonal."""
        return float(np.mean([curve.error for curve in self.curves]))

    def plot(
        self,
        ax: Any = None,
        *,
        counts: bool = True,
        uncertainty: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        counts : bool, default=True
            Whether the number of rows in each bin is shown: as bars for one curve,
            by the size of the points for several.
        uncertainty : bool, default=True
            Whether the uncertainty of each fraction is shown.
        **kwargs :
            Passed on to ``Axes.plot`` for the curves.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(type(self).__name__, ax, (5.2, 5.2))
        self.figure_ = ax.figure
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1, zorder=1)
        single = len(self.curves) == 1
        if counts and single and self.kind == "classes":
            self._draw_counts(ax, self.curves[0])
        for place, curve in enumerate(self.curves):
            colour = BLUE if single else CYCLE[place % len(CYCLE)]
            self._draw_curve(ax, curve, colour, uncertainty and single, kwargs)
            if counts and not single:
                self._draw_sizes(ax, curve, colour)
        self._label(ax, single)
        return self

    def _draw_curve(
        self,
        ax: Any,
        curve: ReliabilityCurve,
        colour: str,
        uncertainty: bool,
        style: dict[str, Any],
    ) -> None:
        if uncertainty:
            ends = curve.confidence_interval()
            ax.vlines(curve.predicted, *ends, color=colour, alpha=0.45, linewidth=1.2)
        label = None
        if curve.name is not None:
            label = f"{curve.name} ({curve.error:.3f})"
        plain = {"color": colour, "linewidth": 1.3, "marker": "o", "markersize": 4}
        ax.plot(curve.predicted, curve.observed, label=label, **(plain | style))

    def _draw_sizes(self, ax: Any, curve: ReliabilityCurve, colour: str) -> None:
        """Points that are the larger, the more rows they stand for."""
        most = max(each.counts.max() for each in self.curves)
        size = 16 + 100 * np.sqrt(curve.counts / most)
        ax.scatter(
            curve.predicted, curve.observed, s=size, color=colour, zorder=3, alpha=0.8
        )

    def _draw_counts(self, ax: Any, curve: ReliabilityCurve) -> None:
        """Fractions of the rows as bars on the same scale, with their numbers."""
        n = curve.counts.sum()
        ax.bar(curve.predicted, curve.counts / n, width=0.045, color=PALE, zorder=0)
        for x, number in zip(curve.predicted, curve.counts, strict=True):
            ax.annotate(
                f"{number:,}",
                (x, number / n),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize="x-small",
                color=FAINT,
            )

    def _label(self, ax: Any, single: bool) -> None:
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        if self.kind == "intervals":
            n = int(self.curves[0].counts[0])
            title = f"off by {percent(self.error)} on average, {n:,} rows"
            tidy(ax, title=title, x="coverage wanted", y="share of values inside")
            return
        n = int(self.curves[0].counts.sum())
        what = "expected calibration error" if single else "mean calibration error"
        tidy(ax, title=f"{what} {self.error:.3f}, {n:,} rows")
        of_class = "of the likeliest class" if self._top() else "of the class"
        ax.set_xlabel(f"mean probability {of_class}")
        ax.set_ylabel("share of rows for which it is right")
        if not self._top():
            ax.legend(
                title="class (error)", frameon=False, fontsize="small", loc="upper left"
            )

    def _top(self) -> bool:
        return self.curves[0].name is None
