"""Rows in the colours of groups that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.frame_columns import columns_of
from rhokit.plots.canvas import CYCLE, FAINT

# The commonest groups have colours of their own, the others share one.
_OTHERS = "others"


@dataclass(frozen=True, eq=False)
class Hues:
    """Groups of rows.

    Parameters
    ----------
    name : str
        What the groups are of.
    groups : tuple of str
        The commonest first.
    codes : array of shape (n,)
        The group of each row.
    """

    name: str
    groups: tuple[str, ...]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, hue: Any, X: Any) -> Hues:
        """Groups by a column of the rows, or by values (n,)."""
        name = getattr(hue, "name", None) or ""
        if isinstance(hue, str):
            columns = columns_of(X)
            if hue not in columns:
                raise ValueError(
                    f"hue must be a column of X, or values for its rows: there is no "
                    f"column {hue!r}, only {', '.join(map(str, columns))}"
                )
            name, values = hue, columns[hue].to_list()
        else:
            values = list(hue)
            if X is None or len(values) != len(X):
                raise ValueError("hue must have one value for each row of X")
        words = np.array([str(value) for value in values])
        known, codes, counts = np.unique(words, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order), np.intp)
        rank[order] = np.arange(len(order))
        groups, most = [str(known[k]) for k in order], len(CYCLE) - 1
        if len(groups) > most:
            groups, rank = [*groups[:most], _OTHERS], np.minimum(rank, most)
        return cls(str(name), tuple(groups), rank[codes])

    def colour(self, group: int) -> str:
        """Of a group."""
        return FAINT if self.groups[group] == _OTHERS else CYCLE[group]

    def scatter(
        self, ax: Any, points: NDArray[Any], which: NDArray[np.intp], style: Any
    ) -> None:
        """Draw points (m, 2), which are some of the rows."""
        for group in range(len(self.groups)):
            own = points[self.codes[which] == group]
            look = {"s": 9, "alpha": 0.6, "linewidths": 0, "zorder": 3} | style
            ax.scatter(*own.T, color=self.colour(group), **look)

    def rug(self, ax: Any, values: NDArray[Any], which: NDArray[np.intp]) -> None:
        """Draw values (m,) at the foot of a curve, each group on a line of its own."""
        for group in range(len(self.groups)):
            own = values[self.codes[which] == group]
            ax.plot(
                own,
                np.full(len(own), 0.012 + 0.03 * group),
                "|",
                color=self.colour(group),
                alpha=0.5,
                markersize=5,
                transform=ax.get_xaxis_transform(),
            )

    def legend(self, ax: Any, **where: Any) -> Any:
        """Say which colour is which."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], marker="o", linestyle="", color=self.colour(k), label=word)
            for k, word in enumerate(self.groups)
        ]
        look = {"title": self.name or None, "frameon": False, "fontsize": "small"}
        return ax.legend(handles=handles, **look, **where)
