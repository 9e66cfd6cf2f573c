"""Forests: the cells that rows are in, and sums over what these hold."""

import numpy as np
from numpy.typing import NDArray

from rhokit.export.graph import INTEGER, Value
from rhokit.export.questions import Questions
from rhokit.features.trees import Forest


def cells_of(forest: Forest, rows: Value) -> Value:
    """The cell of every tree that scaled rows (n, d) are in, shape (n, T)."""
    return rows.graph.cells_of(Questions.of(forest), rows)


def sum_over_cells(cells: Value, table: NDArray[np.float64], name: str) -> Value:
    """Sums of the entries (C, J) of the cells (n, T) that rows are in, (n, J)."""
    graph = cells.graph
    entries = graph.constant(np.ascontiguousarray(table), name)
    return graph.node("Gather", entries, cells.cast(INTEGER), axis=0).sum(1)
