"""Predicted intervals against what was true."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection import inside, predict_values
from rhokit.inspection.checks import check_target
from rhokit.inspection.rows import number_rows, some_places
from rhokit.inspection.subjects import column_names, find_columns
from rhokit.inspection.values import select_target
from rhokit.plots.canvas import BLUE, INK, ORANGE, axes_for, percent, tidy

Floats = NDArray[np.float64]


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
        Fraction of the values that the intervals are to hold.
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
        Fraction of the values inside their intervals.
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
        prediction: Floats,
        interval: Floats,
        truth: Floats,
        coverage: float,
        position: Floats | None = None,
        name: str | None = None,
        band: bool = False,
    ) -> None:
        self.prediction = prediction
        self.interval = interval
        self.truth = truth
        self.coverage = coverage
        self.position = position
        self.name = name
        self.band = band

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        coverage: float = 0.9,
        column: Any = None,
        target: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
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
        values = predict_values(model, X, check_target(y, None), coverage=[coverage])
        found = select_target(values, target)
        only = model.n_features_in_ == 1
        place = None
        if column is not None or only:
            (place,) = find_columns(model, "column", 0 if column is None else column)
        display = cls(
            prediction=found.predicted,
            interval=found.interval(coverage),
            truth=np.asarray(found.truth),
            coverage=coverage,
            position=None if place is None else number_rows(model, X)[:, place],
            name=None if place is None else column_names(model)[place],
            band=only,
        )
        return display.plot(ax, **kwargs)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which values lie in their intervals, shape (n,)."""
        return inside(self.interval, self.truth)

    @property
    def achieved(self) -> float:
        """Fraction of the values inside their intervals."""
        return float(np.mean(self.inside))

    def plot(
        self,
        ax: Any = None,
        *,
        max_rows: int | None = 300,
        interval_kw: dict[str, Any] | None = None,
        point_kw: dict[str, Any] | None = None,
    ) -> Self:
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
        which = some_places(len(self.truth), max_rows)
        place = self._places(which)
        order = np.argsort(place, kind="stable")
        which, place = which[order], place[order]
        if self.band:
            self._draw_band(ax, which, place, interval_kw or {})
        self._draw_rows(ax, which, place, interval_kw or {}, point_kw or {})
        self._draw_predictions(ax, which, place)
        self._label(ax, len(which))
        return self

    def _places(self, which: NDArray[np.intp]) -> Floats:
        """Where rows stand: at their column's value, or one after the other."""
        if self.position is not None:
            return self.position[which]
        ranks = np.empty(len(which))
        ranks[np.argsort(self.prediction[which], kind="stable")] = range(len(which))
        return ranks

    def _draw_predictions(
        self, ax: Any, which: NDArray[np.intp], place: Floats
    ) -> None:
        values = self.prediction[which]
        if self.band or self.position is None:
            ax.plot(place, values, color=INK, linewidth=1.3, label="predicted")
            return
        style = {"s": 14, "marker": "_", "color": INK, "linewidths": 1.2}
        ax.scatter(place, values, label="predicted", **style)

    def _draw_band(
        self, ax: Any, which: NDArray[np.intp], place: Floats, style: dict[str, Any]
    ) -> None:
        low, high = self.interval[which].T
        plain = {"color": BLUE, "alpha": 0.18, "linewidth": 0}
        ax.fill_between(place, low, high, **(plain | style))

    def _draw_rows(
        self,
        ax: Any,
        which: NDArray[np.intp],
        place: Floats,
        interval_style: dict[str, Any],
        point_style: dict[str, Any],
    ) -> None:
        held = self.inside[which]
        for part, colour, word in ((held, BLUE, "inside"), (~held, ORANGE, "outside")):
            if not self.band:
                line = {"color": colour, "alpha": 0.35, "linewidth": 1.2}
                ends = self.interval[which][part].T
                ax.vlines(place[part], *ends, **(line | interval_style))
            point = {"s": 13, "color": colour, "linewidths": 0, "zorder": 3}
            ax.scatter(
                place[part],
                self.truth[which][part],
                label=f"true value, {word}",
                **(point | point_style),
            )

    def _label(self, ax: Any, shown: int) -> None:
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
