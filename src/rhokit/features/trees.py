"""Trees that cut space into boxes, and the cell of each tree that a row is in."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import add_to_cells, sum_over_cells, tree_cells

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

MOST_EDGES = 255
"""Of a column, so that the number of edges below a value fits into a byte."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over columns that were cut into intervals.

    A value is known by how many of its column's edges lie below it, its *code*: so
    neither its units matter nor any function that rises. A row is in one *cell* of
    every tree; cells are numbered through all of them.

    A tree was grown on the rows of its bag. Which rows these are follows from their
    codes alone (:meth:`apart`): so a tree can be asked for what it tells of rows that
    it does not know, wherever they come from.

    Parameters
    ----------
    edges : array of shape (e,)
        Of all columns, one after the other, rising in each.
    edge_stops : array of shape (d,)
        Where the edges of each column end.
    roots : array of shape (T,)
        The first node of each tree.
    features : array of shape (N,)
        The column that a node asks for; -1 of a cell.
    thresholds : array of shape (N,)
        Rows of a larger code go to the right.
    children : array of shape (N,)
        The node on the left, behind which stands that on the right; of a cell, its
        number.
    bag_share : float
        Share of the rows that a tree is grown on.
    """

    edges: Floats
    edge_stops: NDArray[np.int64]
    roots: NDArray[np.int32]
    features: NDArray[np.int16]
    thresholds: Codes
    children: NDArray[np.int32]
    bag_share: float

    @property
    def n_trees(self) -> int:
        """T."""
        return len(self.roots)

    @property
    def n_cells(self) -> int:
        """Cells of all trees."""
        return int((self.features < 0).sum())

    @property
    def depth(self) -> int:
        """The most nodes that a row is compared at in one tree."""
        return depth_of(self.roots, self.features, self.children)

    def codes(self, rows: NDArray[np.floating]) -> Codes:
        """How many edges lie below each value of rows (n, d)."""
        return codes_of(rows, self.edges, self.edge_stops)

    def cells(self, codes: Codes) -> NDArray[np.int32]:
        """The cell of every tree that rows are in, shape (n, T)."""
        nodes = self.features, self.thresholds, self.children
        return tree_cells(codes, self.roots, *nodes)

    def apart(self, codes: Codes) -> NDArray[np.bool_]:
        """Which trees were not grown on rows with these codes, shape (n, T)."""
        return ~in_bags(codes, self.n_trees, self.bag_share)

    @classmethod
    def of(
        cls, edges: list[Floats], trees: list["GrownTree"], bag_share: float
    ) -> "Forest":
        """The forest of trees, each with nodes and cells of its own.

        Parameters
        ----------
        edges : list of arrays
            Of each column.
        trees : list of GrownTree
        bag_share : float
        """
        sizes = [len(tree.features) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        first_cells = np.cumsum([0, *[tree.n_cells for tree in trees[:-1]]])
        children = [
            tree.children + np.where(tree.features < 0, cell, root)
            for tree, root, cell in zip(trees, roots, first_cells, strict=True)
        ]
        return cls(
            np.concatenate(edges),
            np.cumsum([len(each) for each in edges]),
            roots.astype(np.int32),
            np.concatenate([tree.features for tree in trees]),
            np.concatenate([tree.thresholds for tree in trees]),
            np.concatenate(children).astype(np.int32),
            bag_share,
        )


@dataclass(frozen=True, eq=False)
class GrownTree:
    """Nodes of one tree, of which the first one is the root, as a forest has them."""

    features: NDArray[np.int16]
    thresholds: Codes
    children: NDArray[np.int64]

    @property
    def n_cells(self) -> int:
        """How many nodes are cells."""
        return int((self.features < 0).sum())


@dataclass(frozen=True, eq=False)
class CellMeans:
    """A forest whose cells have values, which do not change.

    Parameters
    ----------
    forest : Forest
    values : array of shape (C, t)
    """

    forest: Forest
    values: Floats

    @classmethod
    def of(cls, forest: Forest, codes: Codes, target: Floats, mass: Floats) -> Self:
        """Means of targets (n, t), for each tree over the rows of its bag."""
        cells, apart = forest.cells(codes), forest.apart(codes)
        sums = np.zeros((forest.n_cells, target.shape[1] + 1))
        weighted = np.column_stack([target * mass[:, None], mass])
        for own, asked in zip(cells.T, ~apart.T, strict=True):
            add_to_cells(own[asked, None], weighted[asked], sums)
        seen = sums[:, -1:] > 0
        mean = np.average(target, axis=0, weights=mass)
        return cls(
            forest, np.where(seen, sums[:, :-1] / sums[:, -1:].clip(1e-300), mean)
        )

    def told(self, rows: NDArray[np.floating]) -> Floats:
        """The mean of all trees' answers for rows, shape (n, t)."""
        cells = self.forest.cells(self.forest.codes(rows))
        return sum_over_cells(cells, self.values) / self.forest.n_trees

    def told_apart(self, rows: NDArray[np.floating]) -> Floats:
        """The mean of the trees that do not know each row; of all, if they all do."""
        codes = self.forest.codes(rows)
        apart = self.forest.apart(codes)
        apart |= ~apart.any(axis=1, keepdims=True)
        answers = self.values[self.forest.cells(codes)]  # (n, T, t)
        sums = np.where(apart[:, :, None], answers, 0).sum(axis=1)
        return np.asarray(sums / apart.sum(axis=1)[:, None])


def depth_of(
    roots: NDArray[np.int32], features: NDArray[np.int16], children: NDArray[np.int32]
) -> int:
    """The depth of trees by their nodes, as a forest has them."""
    nodes, depth = roots, 0
    while len(nodes := nodes[features[nodes] >= 0]):
        nodes = np.concatenate([children[nodes], children[nodes] + 1])
        depth += 1
    return depth


def edges_of(rows: NDArray[np.floating], mass: Floats) -> list[Floats]:
    """Edges between the values of each column of rows (n, d) with weights (n,).

    Between all values where these are few, else between groups of about equal weight.
    """
    return [_edges_of_column(column.astype(np.float64), mass) for column in rows.T]


def _edges_of_column(column: Floats, mass: Floats) -> Floats:
    values, which = np.unique(column, return_inverse=True)
    places = np.arange(len(values) - 1)
    if len(places) > MOST_EDGES:
        below = np.cumsum(np.bincount(which, mass))
        levels = np.arange(1, MOST_EDGES + 1) / (MOST_EDGES + 1) * below[-1]
        below = below[:-1]
        places = np.unique(np.minimum(np.searchsorted(below, levels), len(below) - 1))
    # Halves before the sum: two large values must not add up to infinity.
    return np.asarray(values[places] / 2 + values[places + 1] / 2)


def edged(rows: NDArray[np.floating], mass: Floats) -> tuple[list[Floats], Codes]:
    """Edges of the columns of rows (n, d), and the rows' codes."""
    edges = edges_of(rows, mass)
    stops = np.cumsum([len(each) for each in edges])
    return edges, codes_of(rows, np.concatenate(edges), stops)


def codes_of(
    rows: NDArray[np.floating], edges: Floats, stops: NDArray[np.int64]
) -> Codes:
    """How many edges of its column lie below each value of rows, shape (n, d)."""
    codes = np.empty(rows.shape, np.uint8)
    for place, (start, stop) in enumerate(zip([0, *stops[:-1]], stops, strict=True)):
        codes[:, place] = np.searchsorted(edges[start:stop], rows[:, place])
    return codes


def in_bags(codes: Codes, n_trees: int, share: float) -> NDArray[np.bool_]:
    """Whether rows with these codes are in the bags of trees, shape (n, T)."""
    keys = code_keys(codes)
    keys ^= keys >> np.uint64(32)
    odd = _odd_numbers(n_trees, seed=2)
    return np.asarray(keys[:, None] * odd < np.uint64(int(share * 2.0**64)))


def code_keys(codes: Codes) -> NDArray[np.uint64]:
    """A hash of each row of codes (n, d), shape (n,); its first bits are the best.

    Eight codes are a word, and words are multiplied by an odd number of their place.
    """
    padded = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 8)))
    words = np.ascontiguousarray(padded).view(np.uint64)
    mixed = words ^ (words >> np.uint64(32))
    odd = _odd_numbers(words.shape[1], seed=1)
    return np.asarray((mixed * odd).sum(axis=1, dtype=np.uint64))


def _odd_numbers(count: int, seed: int) -> NDArray[np.uint64]:
    numbers = np.random.default_rng(seed).integers(2**63, size=count)
    return 2 * numbers.astype(np.uint64) + np.uint64(1)


def distinct_codes(
    codes: Codes, target: NDArray[Any], mass: Floats
) -> tuple[NDArray[np.intp], Floats]:
    """One row of each kind, by code and target (n, ...), and the kinds' weights.

    They come in an order that follows hashes of the codes: the first ones are a sample
    that neither depends on the rows' order nor on their units.
    """
    targets = target.reshape(len(target), -1)
    keys = code_keys(codes)
    order = np.lexsort((*targets.T, keys))
    same = keys[order[1:]] == keys[order[:-1]]
    same &= (targets[order[1:]] == targets[order[:-1]]).all(axis=1)
    kind = np.cumsum(np.concatenate([[True], ~same])) - 1
    sums = np.bincount(kind, mass[order]).astype(np.float64)
    return order[np.concatenate([[True], ~same])], sums
