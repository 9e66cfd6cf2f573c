"""Trees: codes, cells and bags, against loops over nodes and scikit-learn's own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from rhokit.fast import add_to_cells, sum_over_cells
from rhokit.fast.trees import tree_cells
from rhokit.features.growing import grow_forest, grown
from rhokit.features.trees import (
    MOST_EDGES,
    CellMeans,
    Forest,
    code_keys,
    distinct_codes,
    edged,
    in_bags,
)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(400, 5))


@pytest.fixture(scope="module")
def forest(rows):
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    mass = np.ones(len(rows))
    settings = {"of_classes": True, "n_trees": 12, "most_cells": 10_000, "seed": 0}
    return grow_forest(rows, labels, mass, **settings)[0]


def slow_cells(forest, codes):
    """Down every tree, node by node."""
    found = np.empty((len(codes), forest.n_trees), int)
    for i, code in enumerate(codes):
        for t, node in enumerate(forest.roots):
            while forest.features[node] >= 0:
                right = code[forest.features[node]] > forest.thresholds[node]
                node = forest.children[node] + (1 if right else 0)
            found[i, t] = forest.children[node]
    return found


class TestCells:
    def test_a_row_is_where_a_walk_down_each_tree_ends(self, forest, rows):
        codes = forest.codes(rows)
        assert_array_equal(forest.cells(codes), slow_cells(forest, codes))

    def test_compiled_walks_end_in_the_same_cells(self, forest, rows, monkeypatch):
        codes = forest.codes(np.repeat(rows, 60, axis=0))
        nodes = forest.roots, forest.features, forest.thresholds, forest.children
        compiled = tree_cells(codes, *nodes)
        monkeypatch.setattr("rhokit.fast.trees.loops_for", lambda size: None)
        assert_array_equal(compiled, tree_cells(codes, *nodes))

    def test_every_cell_of_a_tree_holds_some_row_of_its_bag(self, forest, rows):
        codes = forest.codes(rows)
        cells, apart = forest.cells(codes), forest.apart(codes)
        known = np.unique(cells[~apart])
        assert_array_equal(known, np.arange(forest.n_cells))

    @pytest.mark.parametrize("compiled", [False, True])
    def test_sums_over_cells_are_loops_over_rows(self, compiled, monkeypatch):
        rng = np.random.default_rng(0)
        cells = rng.integers(7, size=(50, 3)).astype(np.int32)
        masses = rng.random((50, 2)) * (rng.random((50, 2)) > 0.3)
        table, expected = np.zeros((7, 2)), np.zeros((7, 2))
        if compiled:
            loops = pytest.importorskip("rhokit.fast.loops")
            monkeypatch.setattr("rhokit.fast.trees.loops_for", lambda size: loops)
        add_to_cells(cells, masses, table)
        for row, own in zip(cells, masses, strict=True):
            for cell in row:
                expected[cell] += own
        assert_allclose(table, expected)
        assert_allclose(sum_over_cells(cells, table), table[cells].sum(axis=1))


class TestCodes:
    def test_a_code_counts_the_edges_below_a_value(self, forest, rows):
        starts = [0, *forest.edge_stops[:-1]]
        for place, start in enumerate(starts):
            edges = forest.edges[start : forest.edge_stops[place]]
            expected = (edges < rows[:, place, None]).sum(axis=1)
            assert_array_equal(forest.codes(rows)[:, place], expected)

    def test_edges_lie_between_all_values_where_these_are_few(self):
        column = np.repeat([3.0, -1.0, 7.5], 4)[:, None]
        edges, codes = edged(column, np.ones(12))
        assert_allclose(edges[0], [1.0, 5.25])
        assert_array_equal(np.unique(codes), [0, 1, 2])

    def test_of_many_values_groups_weigh_about_the_same(self):
        column = np.random.default_rng(0).lognormal(size=(20_000, 1))
        edges, codes = edged(column, np.ones(len(column)))
        assert len(edges[0]) <= MOST_EDGES
        counts = np.bincount(codes[:, 0])
        assert counts.max() < 2.5 * counts.mean()

    def test_weights_count_as_copies(self):
        rng = np.random.default_rng(0)
        column, counts = rng.normal(size=(2000, 1)), rng.integers(0, 4, 2000)
        seen = counts > 0
        weighted = edged(column[seen], counts[seen].astype(float))[0][0]
        copied = edged(np.repeat(column, counts, axis=0), np.ones(counts.sum()))[0][0]
        assert_array_equal(weighted, copied)

    def test_units_do_not_matter(self, rows):
        units = np.array([1e-200, 1e3, 1.0, 1e100, -1.0]) * 0.3
        codes = edged(rows, np.ones(len(rows)))[1]
        scaled = edged(rows * np.abs(units), np.ones(len(rows)))[1]
        assert_array_equal(scaled, codes)


class TestBags:
    def test_they_hold_their_share_whatever_the_tree(self):
        codes = np.random.default_rng(0).integers(256, size=(20_000, 9))
        inside = in_bags(codes.astype(np.uint8), 40, 0.75)
        assert_allclose(inside.mean(axis=0), 0.75, atol=0.02)
        # Bags of different trees know nothing of each other.
        assert_allclose(np.corrcoef(inside.T) - np.eye(40), 0, atol=0.05)

    def test_equal_rows_are_in_the_same_bags(self):
        codes = np.random.default_rng(0).integers(3, size=(300, 2)).astype(np.uint8)
        inside = in_bags(codes, 30, 0.75)
        for key in np.unique(code_keys(codes)):
            own = inside[code_keys(codes) == key]
            assert (own == own[0]).all()

    def test_rows_that_differ_have_other_keys(self):
        codes = np.random.default_rng(0).integers(256, size=(50_000, 3))
        codes = np.unique(codes, axis=0).astype(np.uint8)
        assert len(np.unique(code_keys(codes))) == len(codes)

    def test_kinds_of_rows_are_told_apart_by_code_and_target(self):
        codes = np.array([[1], [1], [2], [1]], np.uint8)
        kept, sums = distinct_codes(codes, np.array([0.0, 1, 0, 0]), np.arange(1.0, 5))
        found = {
            (int(codes[i, 0]), float(t)): w
            for i, t, w in zip(kept, np.array([0.0, 1, 0, 0])[kept], sums, strict=True)
        }
        assert found == {(1, 0.0): 5.0, (1, 1.0): 2.0, (2, 0.0): 3.0}


class TestMeans:
    """Values of cells that do not change."""

    def test_they_are_means_over_bags(self, forest, rows):
        codes, target = forest.codes(rows), rows[:, :2] ** 2
        mass = np.random.default_rng(0).random(len(rows))
        means = CellMeans.of(forest, codes, target, mass)
        cells, apart = forest.cells(codes), forest.apart(codes)
        for t, cell in ((0, cells[0, 0]), (5, cells[7, 5])):
            own = (cells[:, t] == cell) & ~apart[:, t]
            expected = np.average(target[own], axis=0, weights=mass[own])
            assert_allclose(means.values[cell], expected)

    def test_trees_that_know_a_row_are_not_asked_for_it(self, forest, rows):
        codes = forest.codes(rows)
        means = CellMeans.of(forest, codes, rows[:, :1], np.ones(len(rows)))
        cells, apart = forest.cells(codes), forest.apart(codes)
        found = means.told_apart(rows)
        for i in range(20):
            trees = apart[i] if apart[i].any() else np.ones(12, bool)
            assert_allclose(found[i], means.values[cells[i, trees]].mean(axis=0))
        assert_allclose(means.told(rows), means.values[cells].mean(axis=1))


class TestGrowth:
    def test_nodes_are_those_of_scikit_learn(self, rows):
        codes = edged(rows, np.ones(len(rows)))[1]
        labels = (rows[:, 0] > rows[:, 1]).astype(int)
        fitted = DecisionTreeClassifier(random_state=0).fit(
            codes.astype(np.float32), labels
        )
        forest = Forest.of([np.zeros(0)] * 5, [grown(fitted.tree_)], 0.75)
        leaves = fitted.apply(codes.astype(np.float32))
        cells = forest.cells(codes)[:, 0]
        pairs = np.unique(np.stack([leaves, cells]), axis=1)
        assert pairs.shape[1] == len(np.unique(leaves)) == len(np.unique(cells))

    def test_order_and_copies_do_not_matter(self, rows, forest):
        order = np.random.default_rng(1).permutation(len(rows))
        twice = np.concatenate([order, order])
        labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
        again, _ = grow_forest(
            rows[twice],
            labels[twice],
            np.full(len(twice), 0.5),
            of_classes=True,
            n_trees=12,
            most_cells=10_000,
            seed=0,
        )
        assert_array_equal(again.features, forest.features)
        assert_array_equal(again.thresholds, forest.thresholds)

    def test_cells_are_no_more_than_asked_for(self, rows):
        labels = np.random.default_rng(0).integers(2, size=len(rows))
        settings = {"of_classes": True, "n_trees": 10, "most_cells": 100, "seed": 0}
        assert grow_forest(rows, labels, np.ones(400), **settings)[0].n_cells <= 100

    def test_columns_that_tell_targets_apart_are_important(self, rows):
        settings = {"of_classes": False, "n_trees": 10, "most_cells": 9999, "seed": 0}
        target = (rows[:, [2]] > 0) + rows[:, [4]] / 10
        shares = grow_forest(rows, target, np.ones(400), **settings)[1]
        assert_allclose(shares.sum(), 1)
        assert shares.argmax() == 2
        assert shares[4] > shares[[0, 1, 3]].max()
