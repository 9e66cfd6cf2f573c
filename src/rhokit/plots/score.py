"""How likely rows are: a histogram of log-densities with the least likely marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from rhokit.inspection import (
    Histogram,
    least_likely,
    score_histogram,
    score_rows,
    tail_start,
)
from rhokit.inspection.rows import row_labels
from rhokit.plots.canvas import BLUE, FAINT, INK, ORANGE, axes_for, count, tidy
from rhokit.validation import check_count

Floats = NDArray[np.float64]
# Labels nearer to each other than this part of the axes would touch.
_LEAST_GAP = 0.035


class ScoreDisplay:
    """A histogram of log-densities, with the least likely rows named.

    Rows far below all others, and those of density zero (``-inf``), are gathered in a
    bar at the left edge, so that they do not squeeze the rest.

    Parameters
    ----------
    scores : array of shape (n,)
        Log-densities; ``-inf`` is allowed.
    labels : sequence of length n, optional
        What the rows are called; their places without it.
    floor : float, optional
        Log-density below which the model cannot tell the density from zero.
    k : int, default=5
        How many of the least likely rows are marked.
    left_out : bool, default=False
        Whether each row was left out of the model that scored it.

    Attributes
    ----------
    least_likely : array of shape (k,)
        Places of the least likely rows, the least likely first.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.plots import ScoreDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> X[100] = 9.0
    >>> model = DMKDE(random_state=0).fit(X)
    >>> display = ScoreDisplay.from_estimator(model, X, training=True)
    >>> int(display.least_likely[0])
    100
    """

    def __init__(
        self,
        *,
        scores: Floats,
        labels: Sequence[Any] | NDArray[Any] | None = None,
        floor: float | None = None,
        k: int = 5,
        left_out: bool = False,
    ) -> None:
        self.scores = scores
        self.labels = labels
        self.floor = floor
        self.k = k
        self.left_out = left_out

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        training: bool = False,
        k: int = 5,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Score rows by a model, and draw.

        Parameters
        ----------
        model : fitted model with ``score_samples``
            A density, or any one-pass model with a target.
        X : array-like of shape (n, d)
            Of a pandas frame, rows are called as its index says.
        y : array-like, optional
            Targets, with which rows are left out of a model that has learned them.
        training : bool, default=False
            Whether the model was fitted to these rows: each is then scored by the
            model without it.
        k : int, default=5
            How many of the least likely rows are marked.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ScoreDisplay
        """
        if k != 0:
            check_count("k", k)
        found = score_rows(model, X, y, leave_one_out=training)
        display = cls(
            scores=found.log_densities,
            labels=row_labels(X, len(found.log_densities)),
            floor=found.floor,
            k=k or 0,
            left_out=training,
        )
        return display.plot(ax, **kwargs)

    @property
    def least_likely(self) -> NDArray[np.intp]:
        """Places of the least likely rows, the least likely first."""
        return least_likely(self.scores, self.k)

    def plot(
        self,
        ax: Any = None,
        *,
        bins: Any = None,
        label_format: str = "{label}",
        **kwargs: Any,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        bins : int or sequence, optional
            As in ``Axes.hist``; chosen by the number and spread of the rows.
        label_format : str, default="{label}"
            How a marked row is called, of its ``label`` and ``score``.
        **kwargs :
            Passed on to ``Axes.hist``.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(type(self).__name__, ax, (6.4, 4.0))
        self.figure_ = ax.figure
        scores = np.asarray(self.scores, dtype=float)
        view = _View.of(scores, bins)
        part, style = view.part, {"color": BLUE, "alpha": 0.75} | kwargs
        ax.hist(part.middles, part.edges, weights=part.counts, **style)
        self._draw_edge(ax, view)
        ax.set_xlim(view.left, view.right)
        self._draw_floor(ax, view)
        self._mark(ax, view, scores, label_format)
        what = "log-density, each row left out" if self.left_out else "log-density"
        tidy(ax, title=self._title(scores), x=what, y="rows")
        return self

    def _title(self, scores: Floats) -> str:
        words = count(len(scores), "row")
        zero = int(np.isneginf(scores).sum())
        return f"{words}, {zero:,} of density zero" if zero else words

    def _draw_edge(self, ax: Any, view: "_View") -> None:
        """One bar for the rows that are far below."""
        n = view.part.n_outside + view.n_zero
        if not n:
            return
        some = view.part.n_outside
        words = f"below {view.lowest:.3g}" if some else "of density zero"
        label = f"{count(n, 'row')} {words}"
        ax.bar(view.edge, n, view.width, color=ORANGE, alpha=0.75, label=label)

    def _draw_floor(self, ax: Any, view: "_View") -> None:
        if self.floor is None or not view.left < self.floor < view.right:
            return
        label = f"floor of the map, {self.floor:.3g}"
        ax.axvline(self.floor, color=FAINT, linestyle="--", linewidth=1, label=label)

    def _mark(self, ax: Any, view: "_View", scores: Floats, label_format: str) -> None:
        """Names of the least likely rows above the place of their scores."""
        which = self.least_likely
        labels = np.arange(len(scores)) if self.labels is None else self.labels
        at = np.maximum(scores[which], view.edge)
        span = view.right - view.left
        foot = spread_apart((at - view.left) / span, _LEAST_GAP)
        for row, x, place in zip(which, at, foot, strict=True):
            ax.annotate(
                label_format.format(label=labels[row], score=scores[row]),
                xy=(x, 0),
                xycoords="data",
                xytext=(view.left + place * span, 0.16),
                textcoords=ax.get_xaxis_transform(),
                rotation=90,
                ha="center",
                va="bottom",
                fontsize="small",
                color=INK,
                arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.7},
            )
        name = f"{len(which)} least likely" if len(which) > 1 else "least likely"
        if len(which):
            mark = {"color": INK, "markersize": 5, "label": name, "clip_on": False}
            ax.plot(at, np.zeros(len(at)), "v", **mark)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, loc="upper left", fontsize="small")


@dataclass(frozen=True, eq=False)
class _View:
    """The scores that are drawn to scale, and where the others stand."""

    part: Histogram
    lowest: float
    n_zero: int

    @classmethod
    def of(cls, scores: Floats, bins: Any) -> "_View":
        seen = scores[np.isfinite(scores)]
        lowest = tail_start(seen) if len(seen) else 0.0
        part = score_histogram(scores, bins=bins, lowest=lowest)
        return cls(part, lowest, len(scores) - len(seen))

    @property
    def width(self) -> float:
        return float(self.part.edges[1] - self.part.edges[0])

    @property
    def right(self) -> float:
        return float(self.part.edges[-1]) + self.width

    @property
    def edge(self) -> float:
        """Where the bar of the rows below stands, a little apart."""
        apart = 1.5 * self.width if self.part.n_outside + self.n_zero else 0.0
        return float(self.part.edges[0]) - apart

    @property
    def left(self) -> float:
        return self.edge - self.width


def spread_apart(places: Floats, least: float) -> Floats:
    """The places nearest to these, as parts of the axes, that are ``least`` apart."""
    order = np.argsort(places, kind="stable")
    steps = least * np.arange(len(order))
    moved = np.empty(len(order))
    if len(order):
        moved[order] = isotonic_regression(places[order] - steps) + steps
        moved -= min(0.0, moved.min() - 0.02) + max(0.0, moved.max() - 0.98)
    return moved
