"""What has changed: the columns before and now."""

from typing import Any, Self

import numpy as np

from rhokit.plots.canvas import ORANGE, PALE, pyplot, tidy
from rhokit.validation import check_count

_WIDTH, _HEIGHT, _PER_ROW = 3.2, 2.4, 3


class ComparisonDisplay:
    """Columns before and now, the most changed ones first.

    Parameters
    ----------
    comparison : Comparison
        Of :func:`rhokit.compare`.
    k : int, default=6
        How many columns are drawn.

    Attributes
    ----------
    shown : tuple of ColumnChange
        Those that are drawn.
    axes_ : array of Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> import rhokit
    >>> from rhokit.plots import ComparisonDisplay
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(300, 3)), rng.normal([0, 1, 0], size=(300, 3))
    >>> display = ComparisonDisplay.from_comparison(rhokit.compare(old, new), k=2)
    >>> display.shown[0].name
    'column 1'
    """

    def __init__(self, *, comparison: Any, k: int = 6) -> None:
        self.comparison = comparison
        self.k = k

    @classmethod
    def from_comparison(cls, comparison: Any, *, k: int = 6) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
        k : int, default=6
            How many columns are drawn.

        Returns
        -------
        display : ComparisonDisplay
        """
        check_count("k", k)
        return cls(comparison=comparison, k=k).plot()

    @property
    def shown(self) -> tuple[Any, ...]:
        """The columns that are drawn."""
        return tuple(self.comparison.columns[: self.k])

    def plot(self) -> Self:
        """Draw.

        Returns
        -------
        self
        """
        plt = pyplot(type(self).__name__)
        across = min(_PER_ROW, len(self.shown))
        down = -(-len(self.shown) // across)
        self.figure_, axes = plt.subplots(
            down,
            across,
            figsize=(_WIDTH * across, _HEIGHT * down + 0.4),
            layout="constrained",
            squeeze=False,
        )
        self.axes_ = axes
        for ax, column in zip(axes.flat, self.shown, strict=False):
            draw = _bars if column.kind == "category" else _histograms
            draw(ax, column)
            title = f"{column.name}: p = {column.p_value:.2g}"
            tidy(ax, title=title)
        for ax in axes.flat[len(self.shown) :]:
            ax.set_visible(False)
        axes.flat[0].legend(frameon=False, fontsize="small")
        self.figure_.suptitle(self.comparison.verdict, x=0.01, ha="left")
        return self


def _shares(counts: tuple[int, ...]) -> Any:
    return np.asarray(counts) / max(sum(counts), 1)


def _histograms(ax: Any, column: Any) -> None:
    edges = np.asarray(column.bins)
    ax.stairs(_shares(column.old_counts), edges, fill=True, color=PALE, label="before")
    ax.stairs(
        _shares(column.new_counts), edges, color=ORANGE, linewidth=1.6, label="now"
    )
    ax.set_yticks([])


def _bars(ax: Any, column: Any) -> None:
    places = np.arange(len(column.bins))
    old = [column.old[name] for name in column.bins]
    new = [column.new[name] for name in column.bins]
    ax.barh(places - 0.2, old, 0.4, color=PALE, label="before")
    ax.barh(places + 0.2, new, 0.4, color=ORANGE, label="now")
    ax.set_yticks(places, [str(name)[:18] for name in column.bins], fontsize="small")
    ax.invert_yaxis()
