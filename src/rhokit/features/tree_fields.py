"""Forests in a model file."""

from typing import Any

import numpy as np

from rhokit.features.trees import MOST_EDGES, CellMeans, Forest, depth_of
from rhokit.records import ArrayField, Build, Number, Reader, Record, Values, require

# Rows of a block, bytes that each of them takes for every tree, and the time for each
# of its levels.
_ROWS, _PER_TREE = 2**10, 32


def check_forest(forest: Values, reader: Reader) -> None:
    """Every way down a tree ends in a cell, whatever the codes."""
    _check_edges(forest["edges"], forest["edge_stops"])
    features, children, roots = (
        forest[name] for name in ("features", "children", "roots")
    )
    count = len(features)
    same = count == len(forest["thresholds"]) == len(children)
    require(same, "nodes must have features, thresholds and children alike")
    require((features < len(forest["edge_stops"])).all(), "features must be columns")
    is_cell = features < 0
    numbers = np.arange(is_cell.sum())
    require(
        (np.sort(children[is_cell]) == numbers).all(),
        "children of cells must be their numbers",
    )
    # Wide enough for the node behind the last one.
    inner, own = children[~is_cell].astype(np.int64), np.flatnonzero(~is_cell)
    require(
        (inner > own).all() and (inner + 1 < count).all(),
        "children must come behind their node",
    )
    rise = len(roots) > 0 and (np.diff(roots) > 0).all()
    require(rise and roots[-1] < count, "roots must rise, and be nodes")
    reached = np.bincount(np.concatenate([roots, inner, inner + 1]), minlength=count)
    require((reached == 1).all(), "nodes must be roots, or children of one node")
    depth = depth_of(roots, features, children)
    what = f"{len(roots)} trees, of up to {depth} levels,"
    reader.claim(_ROWS * len(roots) * (_PER_TREE + depth), what)
    require(0 < forest["bag_share"] < 1, "bag_share must be a share")


def _check_edges(edges: Any, stops: Any) -> None:
    counts = np.diff([0, *stops])
    require(
        (counts >= 0).all()
        and (counts <= MOST_EDGES).all()
        and stops[-1] == len(edges),
        f"edge_stops must rise to the number of edges, by at most {MOST_EDGES}",
    )
    inside = np.ones(max(len(edges) - 1, 0), bool)
    inside[stops[(stops > 0) & (stops < len(edges))] - 1] = False
    require((np.diff(edges)[inside] >= 0).all(), "edges must rise in each column")


def n_cells_of(forest: Build) -> int:
    """Cells of a forest that was read and is not built yet."""
    return int((forest.parts["features"] < 0).sum())


def _check_means(means: Values, reader: Reader) -> None:
    """A value for every cell and target."""
    cells = n_cells_of(means["forest"])
    require(len(means["values"]) == cells, f"values must be of {cells} cells")


FOREST = Record(
    Forest,
    check_forest,
    edges=ArrayField((None,)),
    edge_stops=ArrayField(("d",), dtypes=("int64",), low=0),
    roots=ArrayField((None,), dtypes=("int32",), low=0),
    features=ArrayField((None,), dtypes=("int16",), low=-1),
    thresholds=ArrayField((None,), dtypes=("uint8",)),
    children=ArrayField((None,), dtypes=("int32",), low=0),
    bag_share=Number(0.0, 1.0),
)
"""The field of a forest."""

CELL_MEANS = Record(
    CellMeans, _check_means, forest=FOREST, values=ArrayField((None, "t"))
)
"""The field of a forest whose cells have values."""
