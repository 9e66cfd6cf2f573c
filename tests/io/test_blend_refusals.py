"""Wrong and hostile files of blends: each is refused, or answers without harm."""

import itertools
import warnings

import numpy as np
import pytest

import rhokit
from rhokit.features.ridge import Ridge
from tests.io import asked
from tests.io.drafts import Draft, cast, cut, entry, put, refuses, tensor

CLASSES, VALUES, BARE = "classes-blend", "values-blend", "blend"
MAP = "feature_map"


def nodes(name):
    """Nodes of the forest of a file: columns, and children."""
    draft = Draft(name)
    return (
        draft.tensors[draft.key(f"{MAP}.forest.{end}")]
        for end in ("features", "children")
    )


def child(value, which=0):
    """A change: the child of a node that asks, in place of another."""
    features, _ = nodes(CLASSES)
    return entry(f"{MAP}.forest.children", value, np.flatnonzero(features >= 0)[which])


def cell(value):
    features, _ = nodes(CLASSES)
    return entry(f"{MAP}.forest.children", value, np.flatnonzero(features < 0)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (child(0), "behind their node"),
        (child(2**31 - 1), "behind their node"),
        (child(5), "children of one node"),
        (cell(1), "must be their numbers"),
        (cell(-1), "children"),
        (tensor("forest.roots", lambda roots: roots[[0, *range(len(roots))]]), "rise"),
        (tensor("forest.roots", lambda roots: roots[1:]), "children of one node"),
        (tensor("forest.roots", lambda roots: roots[:0]), "rise"),
        (entry("forest.roots", 2**31 - 1, -1), "be nodes"),
        (entry("forest.features", 3), "features must be columns"),
        (entry("forest.features", -2), "features"),
        (cut("forest.thresholds"), "alike"),
        (entry("forest.edges", 1e9), "edges must rise"),
        (entry("forest.edges", np.nan), "edges"),
        (entry("forest.edge_stops", -1), "edge_stops"),
        (entry("forest.edge_stops", 2**62), "edge_stops must rise"),
        (cut("forest.edges"), "edge_stops must rise"),
        (cast("forest.thresholds", np.int64), "thresholds"),
    ],
)
def test_trees(change, message):
    refuses(message, CLASSES, change)


def forest(draft):
    return draft.fitted["forest"]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_bags_of_all_rows_or_none(share):
    refuses("must be a share", CLASSES, lambda d: forest(d).update(bag_share=share))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (CLASSES, cut("lines"), "lines must be as many as columns"),
        (CLASSES, entry("lines", -1.0), "lines"),
        (CLASSES, put("fitted", "strength", -1.0), "strength"),
        (CLASSES, put("fitted", "link", "values"), "link|has the size"),
        (CLASSES, cut("coefficients"), "has the size"),
        (CLASSES, entry("coefficients", np.inf), "coefficients"),
        (CLASSES, put("fitted", "noise", None), None),
        (VALUES, put("fitted", "noise", None), "has noise"),
        (VALUES, cut("noise.values"), "has the size"),
        (VALUES, tensor("noise.values", lambda v: v[1:]), "values must be of"),
        (CLASSES, put("fitted", "prototypes", None), "total must have sums"),
        (CLASSES, tensor("prototypes.points", lambda p: p[:0]), "some prototypes"),
        (CLASSES, tensor("prototypes.points", lambda p: p[1:]), "total must have sums"),
        (CLASSES, entry("prototypes.points", np.nan), "points"),
        (CLASSES, cast("prototypes.points", np.float32), "must be of the dtype"),
        (CLASSES, cut("prototypes.matrix"), "matrix"),
        (CLASSES, entry("prototypes.matrix", np.inf), "matrix"),
        (CLASSES, lambda d: d.fitted["prototypes"].update(floor=2.0), "floor"),
        (CLASSES, cast("landmarks", np.float32), "landmarks must be of the dtype"),
        (CLASSES, put("parameters", "rank", 3), None),
        (BARE, tensor("landmarks", lambda marks: marks[:0]), "there must be some"),
        (BARE, lambda d: d.map["parameters"].update(gamma=None), "must have a gamma"),
    ],
)
def test_maps(name, change, message):
    if message is None:
        draft = Draft(name)
        change(draft)
        rhokit.loads(draft.data())
    else:
        refuses(message, name, change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("state.total"), "total must have sums"),
        (cut("state.products"), "has the size"),
        (entry("state.total", -1.0, -1), "total has negative weights"),
        (entry("state.total", np.nan), "total"),
        (entry("state.weight", -1.0), "weight"),
    ],
)
def test_sums(change, message):
    refuses(message, CLASSES, change)


def bare(total, products):
    """A state of these sizes on its own."""
    state = rhokit.core.BlendSums(np.ones((2, total)), np.ones(2), np.ones(products))
    return rhokit.loads(rhokit.dumps(state))


@pytest.mark.parametrize(
    ("total", "products", "message"),
    [(5, 7, "whole rows of a triangle"), (3, 6, "3 features and 1 cells")],
)
def test_sums_of_their_own(total, products, message):
    assert bare(5, 6).products.shape == (6,)
    with pytest.raises(rhokit.ModelFileError, match=message):
        bare(total, products)


# ---- absurd numbers ------------------------------------------------------------------


def outcome(name, *changes):
    draft = Draft(name)
    for change in changes:
        change(draft)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        asked.be_quiet()
        return asked.in_child(draft.data(), np.zeros((3, 3)))


@pytest.mark.parametrize("value", [0.0, 5e-324, -1.0, 1e150, -1e300, 1.7e308])
@pytest.mark.parametrize(
    ("name", "end"),
    [
        *itertools.product([CLASSES, VALUES], ["state.products", "coefficients"]),
        (CLASSES, "prototypes.points"),
        (CLASSES, "prototypes.matrix"),
    ],
)
def test_absurd_sums_and_coefficients_end_in_an_answer(name, value, end):
    change = tensor(end, lambda array: np.full_like(array, value))
    assert outcome(name, change, put("fitted", "strength", 0.0)) in ("asked", "refused")


@pytest.mark.parametrize("products", [np.zeros((3, 3)), -np.eye(3), 1e200 - np.eye(3)])
def test_what_is_no_sum_of_squares_is_factored_nevertheless(products):
    ridge = Ridge.of(products, np.ones((3, 1)), 0.0)
    assert not np.isnan(ridge.coefficients).any()


def test_a_trees_depth_and_number_cost():
    """Chains of questions, as many as there are nodes, for each of many trees."""
    draft, chain, trees = Draft(BARE), 40_000, 40_000
    inner = 2 * np.arange(chain) + 1  # on the left is a cell, on the right one goes on
    features = np.zeros(2 * chain + 1, np.int16)
    features[inner] = -1
    features[-1] = -1
    order = np.flatnonzero(features < 0)
    children = np.zeros(2 * chain + 1, np.int32)
    questions = np.flatnonzero(features >= 0)
    children[questions] = questions + 1
    children[order] = np.arange(len(order))
    assert len(features) == 2 * chain + 1
    features = np.append(features, np.full(trees, -1, np.int16))
    children = np.append(children, len(order) + np.arange(trees, dtype=np.int32))
    roots = np.append(0, 2 * chain + 1 + np.arange(trees)).astype(np.int32)
    for name, value in (
        ("features", features),
        ("children", children),
        ("thresholds", np.zeros(len(features), np.uint8)),
        ("roots", roots),
    ):
        draft.tensors[draft.key(f"forest.{name}")] = value
    draft.refused("40001 trees, of up to 40000 levels")


def test_residuals_of_many_rows_cost():
    draft, count = Draft(VALUES), 20_000
    for name in ("keys", "rows", "target", "weight"):
        key = f"model.sample.{name}"
        old = draft.tensors[key]
        draft.tensors[key] = np.resize(old, (count, *old.shape[1:]))
    draft.tensors["model.sample.keys"] = np.arange(count, dtype=np.uint64)
    draft.refused("residuals are compared")


@pytest.mark.parametrize("name", [CLASSES, VALUES])
def test_good_files_are_asked(name):
    assert outcome(name) == "asked"
