"""When rows changed: columns over time, with a line at each change."""

from typing import Any, Self

import numpy as np

from rhokit.plots.canvas import ORANGE, PALE, pyplot, tidy
from rhokit.validation import check_count

_WIDTH, _HEIGHT = 7.0, 1.5


class TimelineDisplay:
    """Columns over time, those that changed first, with a line where a change began.

    Of numbers, the median and the middle half of each period; of categories, how
    frequent they were.

    Parameters
    ----------
    timeline : Timeline
        Of :func:`rhokit.find_changes`, or of a stream's history.
    k : int, default=4
        How many columns are drawn.

    Attributes
    ----------
    tracks : tuple of Track
        Those that are drawn.
    axes_ : array of Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> import rhokit
    >>> from rhokit.plots import TimelineDisplay
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> X[1200:, 1] += 1
    >>> display = TimelineDisplay.from_timeline(rhokit.find_changes(X), k=2)
    >>> [track.name for track in display.tracks]
    ['column 1', 'column 0']
    """

    def __init__(self, *, timeline: Any, k: int = 4) -> None:
        self.timeline = timeline
        self.k = k

    @classmethod
    def from_timeline(cls, timeline: Any, *, k: int = 4) -> Self:
        """Draw a time line.

        Parameters
        ----------
        timeline : Timeline
        k : int, default=4
            How many columns are drawn.

        Returns
        -------
        display : TimelineDisplay
        """
        check_count("k", k)
        return cls(timeline=timeline, k=k).plot()

    @property
    def tracks(self) -> tuple[Any, ...]:
        """The columns that are drawn."""
        return tuple(self.timeline.tracks_by_change[: self.k])

    def plot(self) -> Self:
        """Draw.

        Returns
        -------
        self
        """
        plt = pyplot(type(self).__name__)
        self.figure_, axes = plt.subplots(
            len(self.tracks),
            1,
            figsize=(_WIDTH, _HEIGHT * len(self.tracks) + 0.6),
            layout="constrained",
            sharex=True,
            squeeze=False,
        )
        self.axes_ = axes[:, 0]
        edges = self.timeline.edge_times or self.timeline.edges
        for ax, track in zip(self.axes_, self.tracks, strict=True):
            draw = _shares if track.kind == "category" else _quartiles
            draw(ax, np.asarray(edges), track)
            for change in self.timeline.changes:
                self._mark(ax, change, track.name)
            tidy(ax, title=track.name)
        if self.timeline.edge_times is None:
            self.axes_[-1].set_xlabel("row")
        elif np.asarray(edges).dtype.kind == "M":
            self.figure_.autofmt_xdate(rotation=0, ha="center")
        self.figure_.suptitle(self.timeline.verdict, x=0.01, ha="left")
        return self

    def _mark(self, ax: Any, change: Any, name: str) -> None:
        """A line where a change began: strong where it is one of this column."""
        place = change.began if change.began_time is None else change.began_time
        named = name in change.columns or any(name in pair for pair in change.pairs)
        ax.axvline(
            place,
            color=ORANGE if named else "0.6",
            linewidth=1.8 if named else 0.8,
            linestyle="-" if named else ":",
        )


def _quartiles(ax: Any, edges: Any, track: Any) -> None:
    low, middle, high = (track.values[name] for name in ("low", "median", "high"))
    ax.stairs(high, edges, baseline=low, fill=True, color=PALE)
    ax.stairs(middle, edges, baseline=None, color="0.25", linewidth=1.2)


def _shares(ax: Any, edges: Any, track: Any) -> None:
    for label, shares in track.values.items():
        ax.stairs(shares, edges, baseline=None, label=label, linewidth=1.2)
    ax.set_ylim(0, None)
    ax.legend(frameon=False, fontsize="x-small", ncols=3)
