"""How likely rows are: a histogram of log-densities with the least likely marked."""

import inspect

import numpy as np
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from rhokit.plots.canvas import BLUE, FAINT, INK, ORANGE, axes_for, count, tidy
from rhokit.plots.models import answering, require_method, row_labels
from rhokit.validation import check_count

# A tail longer than so many times that of the middle is gathered in one bar.
_LONGEST_TAIL = 6
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

    def __init__(self, *, scores, labels=None, floor=None, k=5, left_out=False):
        self.scores = scores
        self.labels = labels
        self.floor = floor
        self.k = k
        self.left_out = left_out

    @classmethod
    def from_estimator(
        cls, model, X, y=None, *, training=False, k=5, ax=None, **kwargs
    ):
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
        what = "a model with log-densities (a DMKDE, say, or a DMKDClassifier)"
        require_method(cls.__name__, model, "score_samples", what)
        if k != 0:
            check_count("k", k)
        options = {}
        if training:
            _require_left_out(cls.__name__, model)
            options = {"leave_one_out": True} | ({} if y is None else {"y": y})
        scores = model.score_samples(X, **options)
        floor = getattr(model, "floor_", None)
        labels = row_labels(X, len(scores))
        display = cls(
            scores=scores, labels=labels, floor=floor, k=k or 0, left_out=training
        )
        return display.plot(ax, **kwargs)

    @property
    def least_likely(self):
        """Places of the least likely rows, the least likely first."""
        return np.argsort(self.scores, kind="stable")[: self.k]

    def plot(self, ax=None, *, bins=None, label_format="{label}", **kwargs):
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
        view = _View(scores, bins)
        ax.hist(view.inside, view.edges, **({"color": BLUE, "alpha": 0.75} | kwargs))
        self._draw_edge(ax, view)
        ax.set_xlim(view.left, view.right)
        self._draw_floor(ax, view)
        self._mark(ax, view, scores, label_format)
        what = "log-density, each row left out" if self.left_out else "log-density"
        tidy(ax, title=self._title(scores), x=what, y="rows")
        return self

    def _title(self, scores):
        words = count(len(scores), "row")
        zero = int(np.isneginf(scores).sum())
        return f"{words}, {zero:,} of density zero" if zero else words

    def _draw_edge(self, ax, view):
        """One bar for the rows that are far below."""
        n = len(view.below)
        if not n:
            return
        zero = np.isneginf(view.below).all()
        words = "of density zero" if zero else f"below {view.low:.3g}"
        label = f"{count(n, 'row')} {words}"
        ax.bar(view.edge, n, view.width, color=ORANGE, alpha=0.75, label=label)

    def _draw_floor(self, ax, view):
        if self.floor is None or not view.left < self.floor < view.right:
            return
        label = f"floor of the map, {self.floor:.3g}"
        ax.axvline(self.floor, color=FAINT, linestyle="--", linewidth=1, label=label)

    def _mark(self, ax, view, scores, label_format):
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
            ax.plot(at, np.zeros(len(at)), "v", color=INK, markersize=5, label=name,
                    clip_on=False)  # fmt: skip
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, loc="upper left", fontsize="small")


class _View:
    """What part of the scores is drawn to scale, and how."""

    def __init__(self, scores, bins):
        finite = scores[np.isfinite(scores)]
        self.low = _lowest_shown(finite) if len(finite) else 0.0
        self.below = scores[scores < self.low]
        self.inside = scores[scores >= self.low]
        if bins is None:
            bins = int(np.clip(2 * len(self.inside) ** (1 / 3), 8, 60))
        self.edges = np.histogram_bin_edges(self.inside, bins, _range(self.inside))
        self.width = float(self.edges[1] - self.edges[0])
        self.right = float(self.edges[-1]) + self.width
        # The bar of the rows below stands a little apart.
        apart = 1.5 * self.width if len(self.below) else 0.0
        self.edge = float(self.edges[0]) - apart
        self.left = self.edge - self.width


def _range(scores):
    """Ends of the histogram, apart where all scores are all but equal."""
    if not len(scores):
        return None
    low, high = float(scores.min()), float(scores.max())
    least = 1e-6 * max(abs(low), abs(high))
    return (
        (low, high) if high - low > least else (low - least - 0.5, high + least + 0.5)
    )


def _lowest_shown(finite):
    """The score below which rows would squeeze the picture of the others."""
    low, middle = np.quantile(finite, [0.01, 0.5])
    lowest = middle - _LONGEST_TAIL * (middle - low)
    above = finite[finite >= lowest]
    return float(above.min())


def spread_apart(places, least):
    """The places nearest to these, as parts of the axes, that are ``least`` apart."""
    order = np.argsort(places, kind="stable")
    steps = least * np.arange(len(order))
    moved = np.empty(len(order))
    if len(order):
        moved[order] = isotonic_regression(places[order] - steps) + steps
        moved -= min(0.0, moved.min() - 0.02) + max(0.0, moved.max() - 0.98)
    return moved


def _require_left_out(owner, model):
    inner = answering(model)
    known = inspect.signature(model.score_samples).parameters
    if "leave_one_out" not in known:
        raise ValueError(
            f"training must be False: {owner} cannot leave rows out of a "
            f"{type(inner).__name__} that is a {type(model).__name__}; only one-pass "
            "models know themselves without a row"
        )
    check_is_fitted(model)
