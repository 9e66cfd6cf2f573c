"""Trees as nodes: rows are sent down all of them at once, a level at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.graph import INTEGER, PLACE, Value
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


def cells_of(forest: Forest, rows: Value) -> Value:
    """The cell of every tree that scaled rows (n, d) are in, shape (n, T)."""
    graph, known = rows.graph, Questions.of(forest)
    count = len(known.asked)
    none = (rows.column(0) > np.inf).cast(PLACE)  # (n, 1)
    start = none + known.roots[None]
    if not count:
        return start
    edges, columns, asked, following = (
        graph.constant(getattr(known, name), name)
        for name in ("edges", "columns", "asked", "following")
    )

    def go_on(number: Value) -> Value:
        place = graph.node("Min", number, count - 1)
        edge = graph.node("Gather", asked, place, axis=0)
        column = graph.node("Gather", columns, edge, axis=0)
        value = graph.node("GatherElements", rows, column, axis=1)
        beyond = (value > graph.node("Gather", edges, edge, axis=0)).cast(PLACE)
        following_one = graph.node("Gather", following, place * 2 + beyond, axis=0)
        return graph.where(number < count, following_one, number)

    return graph.repeat(known.depth, start, go_on) - count


def sum_over_cells(cells: Value, table: NDArray[np.float64], name: str) -> Value:
    """Sums of the entries (C, J) of the cells (n, T) that rows are in, (n, J)."""
    graph = cells.graph
    entries = graph.constant(np.ascontiguousarray(table), name)
    return graph.node("Gather", entries, cells.cast(INTEGER), axis=0).sum(1)
