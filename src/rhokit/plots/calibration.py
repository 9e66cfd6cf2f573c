"""Whether probabilities, and intervals, hold what they say."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import column_or_1d

from rhokit.plots.canvas import BLUE, CYCLE, FAINT, PALE, axes_for, percent, tidy
from rhokit.plots.interval import inside, one_target
from rhokit.plots.models import require_method, require_target, share
from rhokit.validation import check_count

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
# A normal variable stays within so many deviations with 95 %.
_TWO_SIDED = 1.959964


@dataclass(frozen=True, eq=False)
class Reliability:
    """What was said, and how often it came true.

    Parameters
    ----------
    said : array of shape (b,)
        Mean probability, or wanted coverage.
    true : array of shape (b,)
        Share of the rows for which it came true.
    counts : array of shape (b,)
        Rows that this is the share of.
    name : str, optional
        Of a class.
    """

    said: np.ndarray
    true: np.ndarray
    counts: np.ndarray
    name: str | None = None

    @property
    def error(self):
        """Mean distance of what was said from what came true, weighted by counts."""
        gaps = np.abs(self.said - self.true)
        return float(np.average(gaps, weights=self.counts))

    @classmethod
    def of_chances(cls, chances, came_true, n_bins, name=None):
        """Rows sorted into bins of equal width by a probability (n,)."""
        bins = np.minimum((chances * n_bins).astype(int), n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        seen = counts > 0
        said, true = (
            np.bincount(bins, weights=each, minlength=n_bins)[seen] / counts[seen]
            for each in (chances, came_true.astype(float))
        )
        return cls(said, true, counts[seen], name)

    def spread(self):
        """Wilson's intervals of 95 % for the true shares, shape (2, b)."""
        n, z = self.counts, _TWO_SIDED
        middle = (self.true + z**2 / (2 * n)) / (1 + z**2 / n)
        root = np.sqrt(self.true * (1 - self.true) / n + z**2 / (4 * n**2))
        half = z * root / (1 + z**2 / n)
        return np.stack([middle - half, middle + half])


class CalibrationDisplay:
    """Probabilities against the shares that came true.

    Of classifiers, rows are sorted by the probability they were given, and each bin's
    mean probability is drawn against the share for which it came true, with the number
    of rows. Of regressors, the coverage that intervals were to have is drawn against
    the one they had. What is well calibrated lies on the diagonal; bars show the
    uncertainty of a share from so many rows (95 %).

    Parameters
    ----------
    curves : list of Reliability
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

    def __init__(self, *, curves, kind="classes"):
        self.curves = curves
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        model,
        X,
        y,
        *,
        classes="top",
        n_bins=10,
        levels=_LEVELS,
        target=None,
        ax=None,
        **kwargs,
    ):
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
        owner = cls.__name__
        if not isinstance(model, type) and hasattr(model, "predict_interval"):
            kind, curves = (
                "intervals",
                _of_intervals(owner, model, X, y, levels, target),
            )
        else:
            check_count("n_bins", n_bins)
            kind, curves = "classes", _of_classes(owner, model, X, y, classes, n_bins)
        return cls(curves=curves, kind=kind).plot(ax, **kwargs)

    @property
    def error(self):
        """Mean distance from the diagonal."""
        return float(np.mean([curve.error for curve in self.curves]))

    def plot(self, ax=None, *, counts=True, uncertainty=True, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        counts : bool, default=True
            Whether the number of rows in each bin is shown: as bars for one curve,
            by the size of the points for several.
        uncertainty : bool, default=True
            Whether the uncertainty of each share is shown.
        **kwargs :
            Passed on to ``Axes.plot`` for the curves.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(type(self).__name__, ax, (5.2, 5.2))
        self.figure_ = ax.figure
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1, zorder=1)
        single, chances = len(self.curves) == 1, self.kind == "classes"
        if counts and single and chances:
            self._draw_counts(ax, self.curves[0])
        for place, curve in enumerate(self.curves):
            colour = BLUE if single else CYCLE[place % len(CYCLE)]
            self._draw_curve(ax, curve, colour, uncertainty and single, kwargs)
            if counts and not single:
                self._draw_sizes(ax, curve, colour)
        self._label(ax, single)
        return self

    def _draw_curve(self, ax, curve, colour, uncertainty, style):
        if uncertainty:
            ends = curve.spread()
            ax.vlines(curve.said, *ends, color=colour, alpha=0.45, linewidth=1.2)
        label = None
        if curve.name is not None:
            label = f"{curve.name} ({curve.error:.3f})"
        plain = {"color": colour, "linewidth": 1.3, "marker": "o", "markersize": 4}
        ax.plot(curve.said, curve.true, label=label, **(plain | style))

    def _draw_sizes(self, ax, curve, colour):
        """Points that are the larger, the more rows they stand for."""
        most = max(each.counts.max() for each in self.curves)
        size = 16 + 100 * np.sqrt(curve.counts / most)
        ax.scatter(curve.said, curve.true, s=size, color=colour, zorder=3, alpha=0.8)

    def _draw_counts(self, ax, curve):
        """Shares of the rows as bars on the same scale, with their numbers."""
        n = curve.counts.sum()
        ax.bar(curve.said, curve.counts / n, width=0.045, color=PALE, zorder=0)
        for x, number in zip(curve.said, curve.counts, strict=True):
            ax.annotate(
                f"{number:,}",
                (x, number / n),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize="x-small",
                color=FAINT,
            )

    def _label(self, ax, single):
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

    def _top(self):
        return self.curves[0].name is None


# ---- the work ----------------------------------------------------------------------


def _of_classes(owner, model, X, y, classes, n_bins):
    """Curves of a classifier."""
    what = "a classifier with probabilities, or a regressor with intervals"
    require_method(owner, model, "predict_proba", what)
    chances = np.asarray(model.predict_proba(X), dtype=float)
    truth = column_or_1d(require_target(owner, y, len(chances)))
    if isinstance(classes, str) and classes == "top":
        likeliest = model.classes_[chances.argmax(axis=1)]
        return [Reliability.of_chances(chances.max(axis=1), likeliest == truth, n_bins)]
    known = list(model.classes_)
    wanted = known if isinstance(classes, str) and classes == "each" else classes
    if isinstance(wanted, str) or not np.iterable(wanted) or not len(wanted):
        raise ValueError(
            f'classes must be "top", "each" or a list of labels, got {classes!r}'
        )
    unknown = [label for label in wanted if label not in known]
    if unknown:
        raise ValueError(f"classes must be among {known}, got {unknown[0]!r}")
    return [
        Reliability.of_chances(
            chances[:, known.index(label)], truth == label, n_bins, str(label)
        )
        for label in wanted
    ]


def _of_intervals(owner, model, X, y, levels, target):
    """The one curve of a regressor."""
    require_method(owner, model, "predict_interval", "a regressor with intervals")
    wanted = sorted({share("levels", each) for each in np.atleast_1d(levels).tolist()})
    prediction = model.predict(X)
    truth = require_target(owner, y, len(prediction))
    intervals = model.predict_interval(X, wanted)  # (..., c, 2)
    achieved = []
    for place in range(len(wanted)):
        interval = intervals[..., place, :]
        _, ends, values = one_target(prediction, interval, truth, target)
        achieved.append(inside(ends, values).mean())
    counts = np.full(len(wanted), len(truth))
    return [Reliability(np.array(wanted), np.array(achieved), counts)]
