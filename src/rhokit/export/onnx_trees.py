"""Trees as a loop: rows are sent down all of them at once, a level at a time."""

from typing import TYPE_CHECKING

import numpy as np

from rhokit.export.graph import PLACE, Value
from rhokit.export.questions import Questions

if TYPE_CHECKING:
    from rhokit.export.onnx_graph import OnnxGraph


def cells_by_loop(graph: "OnnxGraph", known: Questions, rows: Value) -> Value:
    """The cell of every tree that scaled rows (n, d) are in, shape (n, T)."""
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
