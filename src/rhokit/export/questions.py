"""A forest by what its nodes ask."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.graph import PLACE
from rhokit.features.trees import Forest


@dataclass(frozen=True, eq=False)
class Questions:
    """A forest by what its nodes ask, which is whether a value is beyond an edge.

    Numbers below that of questions are questions, those above are cells; so there are
    two numbers for a question, and none for a cell.

    Parameters
    ----------
    edges : array of shape (e + 1,)
        Of all columns; the last one is beyond all values.
    columns : array of shape (e + 1,)
        The column of each edge.
    asked : array of shape (q,)
        The edge that every question is about.
    following : array of shape (2 q,)
        Where rows go on that are not beyond it, and that are.
    roots : array of shape (T,)
    depth : int
        The most questions that a row is asked in one tree.
    """

    edges: NDArray[np.float64]
    columns: NDArray[Any]
    asked: NDArray[Any]
    following: NDArray[Any]
    roots: NDArray[Any]
    depth: int

    @property
    def n_cells(self) -> int:
        """Cells of all trees."""
        return int((self.following >= len(self.asked)).sum()) + int(
            (self.roots >= len(self.asked)).sum()
        )

    @classmethod
    def of(cls, forest: Forest) -> "Questions":
        """The questions of a forest."""
        inner, children = forest.features >= 0, forest.children
        count = int(inner.sum())
        number = np.where(inner, np.cumsum(inner) - 1, count + children)
        left = children[inner]
        following = number[np.stack([left, left + 1], axis=1)]  # (q, 2)
        columns, thresholds = forest.features[inner], forest.thresholds[inner]
        counts = np.diff(forest.edge_stops, prepend=0)
        asked = (forest.edge_stops - counts)[columns] + thresholds
        # No code is above the number of edges.
        asked = np.where(thresholds < counts[columns], asked, len(forest.edges))
        return cls(
            np.append(forest.edges, np.inf),
            np.append(np.repeat(np.arange(len(counts)), counts), 0).astype(PLACE),
            asked.astype(PLACE),
            following.ravel().astype(PLACE),
            number[forest.roots].astype(PLACE),
            forest.depth,
        )
