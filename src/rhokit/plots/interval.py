"""Predicted intervals against what was true."""

import numpy as np

from rhokit.plots.canvas import BLUE, INK, ORANGE, axes_for, percent, some, tidy
from rhokit.plots.models import (
    column_names,
    column_place,
    require_method,
    require_number,
    require_target,
    rows_of,
    share,
)


class IntervalDisplay:
    """Predictions with their intervals, and the values that came true.

    Rows stand in the order of their predictions, or at their values of one column.
    Values outside their interval are in another colour; the title says how many lie
    inside, of how many were to.

    Parameters
    ----------
    prediction : array of shape (n,)
    interval : array of shape (n, 2)
    truth : array of shape (n,)
    coverage : float
        Share of the values that the intervals are to hold.
    position : array of shape (n,), optional
        Values of a column to draw over; the ranks of the predictions without it.
    name : str, optional
        Name of that column.
    band : bool, default=False
        Whether intervals are a function of the position alone, and drawn as a band.

    Attributes
    ----------
    inside : array of shape (n,), bool
    achieved : float
        Share of the values inside their intervals.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> from rhokit.plots import IntervalDisplay
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=600)
    >>> model = QMRegressor(n_components=64, random_state=0).fit(X[:400], y[:400])
    >>> display = IntervalDisplay.from_estimator(model, X[400:], y[400:])
    >>> bool(0.8 < display.achieved < 1)
    True
    """

    def __init__(
        self,
        *,
        prediction,
        interval,
        truth,
        coverage,
        position=None,
        name=None,
        band=False,
    ):
        self.prediction = prediction
        self.interval = interval
        self.truth = truth
        self.coverage = coverage
        self.position = position
        self.name = name
        self.band = band

    @classmethod
    def from_estimator(
        cls, model, X, y, *, coverage=0.9, column=None, target=None, ax=None, **kwargs
    ):
        """Predict rows, and draw.

        Parameters
        ----------
        model : fitted QMRegressor or QMRegressorSGD
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, t)
            What came true.
        coverage : float in (0, 1), default=0.9
        column : int or str, optional
            Draw over the values of this column instead of the ranks of predictions.
            A model of one column is always drawn over it.
        target : int, optional
            Which of several targets.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : IntervalDisplay
        """
        what = "a regressor with intervals (QMRegressor or QMRegressorSGD)"
        require_method(cls.__name__, model, "predict_interval", what)
        share("coverage", coverage)
        prediction = model.predict(X)
        truth = require_target(cls.__name__, y, len(prediction))
        interval = model.predict_interval(X, coverage)
        prediction, interval, truth = one_target(prediction, interval, truth, target)
        only = model.n_features_in_ == 1
        place = None
        if column is not None or only:
            place = column_place(model, 0 if column is None else column)
            require_number(model, place)
        display = cls(
            prediction=prediction,
            interval=interval,
            truth=truth,
            coverage=coverage,
            position=None if place is None else rows_of(model, X)[:, place],
            name=None if place is None else column_names(model)[place],
            band=only,
        )
        return display.plot(ax, **kwargs)

    @property
    def inside(self):
        """Which values lie in their intervals, shape (n,)."""
        return inside(self.interval, self.truth)

    @property
    def achieved(self):
        """Share of the values inside their intervals."""
        return float(np.mean(self.inside))

    def plot(self, ax=None, *, max_rows=300, interval_kw=None, point_kw=None):
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        max_rows : int or None, default=300
            Of more rows, so many are drawn, chosen at random; the title counts all.
        interval_kw, point_kw : dict, optional
            Passed on to ``Axes.vlines`` (for a band, to ``Axes.fill_between``) and to
            ``Axes.scatter``.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(type(self).__name__, ax, (7.2, 4.2))
        self.figure_ = ax.figure
        which = some(len(self.truth), max_rows)
        place = self._places(which)
        order = np.argsort(place, kind="stable")
        which, place = which[order], place[order]
        if self.band:
            self._draw_band(ax, which, place, interval_kw or {})
        self._draw_rows(ax, which, place, interval_kw or {}, point_kw or {})
        if self.band or self.position is None:
            line = self.prediction[which]
            ax.plot(place, line, color=INK, linewidth=1.3, label="predicted")
        else:
            ax.scatter(
                place, self.prediction[which], s=14, marker="_", color=INK,
                linewidths=1.2, label="predicted",
            )  # fmt: skip
        self._label(ax, len(which))
        return self

    def _places(self, which):
        """Where rows stand: at their column's value, or one after the other."""
        if self.position is not None:
            return self.position[which]
        ranks = np.empty(len(which))
        ranks[np.argsort(self.prediction[which], kind="stable")] = range(len(which))
        return ranks

    def _draw_band(self, ax, which, place, style):
        low, high = self.interval[which].T
        ax.fill_between(
            place, low, high, **({"color": BLUE, "alpha": 0.18, "linewidth": 0} | style)
        )

    def _draw_rows(self, ax, which, place, interval_style, point_style):
        held = self.inside[which]
        for part, colour, word in ((held, BLUE, "inside"), (~held, ORANGE, "outside")):
            if not self.band:
                style = {"color": colour, "alpha": 0.35, "linewidth": 1.2}
                ends = self.interval[which][part].T
                ax.vlines(place[part], *ends, **(style | interval_style))
            style = {"s": 13, "color": colour, "linewidths": 0, "zorder": 3}
            label = f"true value, {word}"
            ax.scatter(
                place[part],
                self.truth[which][part],
                label=label,
                **(style | point_style),
            )

    def _label(self, ax, shown):
        n = len(self.truth)
        title = (
            f"{percent(self.achieved)} of {n:,} values inside their interval, "
            f"{percent(self.coverage)} wanted"
        )
        x = self.name
        if x is None:
            some_of = f"{shown:,} of {n:,} rows" if shown < n else "rows"
            x = f"{some_of}, in the order of their predictions"
        tidy(ax, title=title, x=x, y="value")
        # Room for the legend above all rows.
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.12 * (high - low))
        ax.legend(frameon=False, fontsize="small", ncols=3, loc="upper left")


def inside(interval, truth):
    """Which values (n,) lie in their intervals (n, 2)."""
    return (interval[:, 0] <= truth) & (truth <= interval[:, 1])


def one_target(prediction, interval, truth, target):
    """Predictions, intervals and values of one target, as arrays (n,), (n, 2), (n,)."""
    if prediction.ndim == 1:
        if target not in (None, 0):
            raise ValueError(f"target must be None, the model has one, got {target!r}")
        if truth.ndim != 1 and truth.shape != (len(truth), 1):
            raise ValueError(f"y must have shape ({len(truth)},), got {truth.shape}")
        return prediction, interval, truth.reshape(-1)
    n, t = prediction.shape
    if truth.shape != (n, t):
        if not (t == 1 and truth.shape == (n,)):
            raise ValueError(f"y must have shape ({n}, {t}), got {truth.shape}")
        truth = truth[:, None]
    if target is None and t == 1:
        target = 0
    if target not in range(t):
        raise ValueError(
            f"target must be one of the model's, from 0 to {t - 1}, got {target!r}"
        )
    return prediction[:, target], interval[:, target], truth[:, target]
