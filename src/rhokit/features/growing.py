"""How the trees of a forest are grown, by scikit-learn, on rows of their bags."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from rhokit.fast import map_jobs
from rhokit.features.trees import (
    Codes,
    Forest,
    GrownTree,
    distinct_codes,
    edged,
    in_bags,
)

Floats = NDArray[np.float64]

# Kinds of trees, which take turns: splits at random places or at the best ones, among
# which share of the columns. Different kinds know more together than the better one
# alone. Larger bags tell more, but out of them there must be trees enough to ask.
_OF_CLASSES = ((True, 1.0), (True, 0.5))
_OF_VALUES = ((True, 1.0), (False, 0.5))
_BAG_SHARE = 0.75
# Trees are grown on no more than so many rows.
_MOST_ROWS = 2**19


@dataclass(frozen=True, eq=False)
class Growth:
    """Rows that trees are grown on, each of them once.

    Parameters
    ----------
    codes : array of shape (n, d)
    target : array of shape (n,) of classes, or (n, t) of values
    mass : array of shape (n,)
        Weights of the rows.
    of_classes : bool
    most_cells : int
        Cells that a tree may have.
    """

    codes: Codes
    target: NDArray[Any]
    mass: Floats
    of_classes: bool
    most_cells: int

    def first(self, count: int) -> "Growth":
        """The first rows, which are as good as any: their order follows hashes."""
        some = slice(count)
        kept = self.codes[some], self.target[some], self.mass[some]
        return Growth(*kept, self.of_classes, self.most_cells)

    def tree(self, kind: tuple[bool, Any], bag: NDArray[np.bool_], seed: int) -> Any:
        """A tree of scikit-learn, grown on the rows of a bag."""
        at_random, share = kind
        if self.of_classes:
            cls: Any = ExtraTreeClassifier if at_random else DecisionTreeClassifier
        else:
            cls = ExtraTreeRegressor if at_random else DecisionTreeRegressor
        own = np.flatnonzero(bag) if bag.any() else np.arange(len(bag))
        limit = self.most_cells if len(own) > self.most_cells else None
        made = cls(max_features=share, max_leaf_nodes=limit, random_state=seed)
        rows = self.codes[own].astype(np.float32)
        return made.fit(rows, self.target[own], sample_weight=self.mass[own])


def grow_forest(
    rows: NDArray[Any],
    target: NDArray[Any],
    mass: Floats,
    *,
    of_classes: bool,
    n_trees: int,
    most_cells: int,
    seed: int,
) -> tuple[Forest, Floats]:
    """Trees that tell the targets of rows apart, and what columns have a part in it.


    Rows, their order and copies among them matter as a weighted set alone.

    Parameters
    ----------
    rows : array of shape (n, d)
    target : array of shape (n,) of classes, or (n, t) of values
    mass : array of shape (n,)
    of_classes : bool
    n_trees : int
    most_cells : int
        Of all trees together.
    seed : int

    Returns
    -------
    forest : Forest
    importances : array of shape (d,)
        Shares of what splits make targets more alike, in the mean over trees.
    """
    edges, codes = edged(rows, mass)
    kept, sums = distinct_codes(codes, target, mass)
    most = max(2, most_cells // n_trees)
    growth = Growth(codes[kept], target[kept], sums, of_classes, most)
    growth = growth.first(_MOST_ROWS)
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=n_trees).tolist()
    kinds = _OF_CLASSES if of_classes else _OF_VALUES
    bags = in_bags(growth.codes, n_trees, _BAG_SHARE)

    def grow(place: int) -> tuple[GrownTree, Floats]:
        kind = kinds[place % len(kinds)]
        tree = growth.tree(kind, bags[:, place], seeds[place]).tree_
        return grown(tree), np.asarray(tree.compute_feature_importances())

    trees, shares = zip(*map_jobs(grow, range(n_trees)), strict=True)
    importances = np.mean(shares, axis=0)
    if not importances.any():  # no tree has a split
        importances = np.ones(rows.shape[1])
    forest = Forest.of(edges, list(trees), _BAG_SHARE)
    return forest, importances / importances.sum()


def grown(tree: Any) -> GrownTree:
    """A tree of scikit-learn by its nodes, siblings next to each other."""
    inner = np.flatnonzero(tree.children_left >= 0)
    place = np.zeros(tree.node_count, dtype=np.int64)
    place[tree.children_left[inner]] = 1 + 2 * np.arange(len(inner))
    place[tree.children_right[inner]] = 2 + 2 * np.arange(len(inner))
    features = np.full(tree.node_count, -1, np.int16)
    thresholds = np.zeros(tree.node_count, np.uint8)
    children = np.zeros(tree.node_count, np.int64)
    features[place[inner]] = tree.feature[inner]
    thresholds[place[inner]] = np.floor(tree.threshold[inner])
    children[place[inner]] = place[tree.children_left[inner]]
    cells = features < 0
    children[cells] = np.arange(cells.sum())
    return GrownTree(features, thresholds, children)
