"""What is read off a model is what the model is."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import rhokit
from rhokit.inspection import describe, kind_of, one_pass
from rhokit.inspection.subjects import column_names, find_columns
from tests.inspection.models import MAKERS, SMALL, case, mixed_rows

KINDS = dict.fromkeys(list(MAKERS)[:10], "density")
KINDS |= dict.fromkeys(list(MAKERS)[10:16], "classes")
KINDS |= dict.fromkeys(list(MAKERS)[16:], "values")
KINDS["ordered classes"] = "ordered"


def fitted(name):
    return describe(case(name).model)


@pytest.mark.parametrize("name", MAKERS)
def test_kind_name_and_weight(name):
    model = case(name).model
    found = fitted(name)
    assert found.kind == KINDS[name] == kind_of(model)
    assert found.name == type(model).__name__
    assert found.is_trained == name.startswith("trained")
    inner = getattr(model, "estimator_", model)
    rows = {"density": 569, "classes": 89, "ordered": 300, "values": 300}[found.kind]
    if name.startswith("mixed"):
        rows = 240
    if found.is_trained:  # some were held out
        assert 0.85 * rows < found.weight <= rows + 1e-6
    else:
        assert_allclose(found.weight, rows, rtol=1e-9)
    if "mosaic" in name:
        assert found.gamma is inner.gamma_ is found.bandwidth is None
    else:
        assert_allclose(found.gamma, inner.gamma_)


def test_bandwidths_are_in_the_columns_own_units():
    model, X, *_ = case("landmarks")
    found = fitted("landmarks")
    expected = X.std(ddof=0).to_numpy() / math.sqrt(2 * model.gamma_)
    assert_allclose([c.bandwidth for c in found.columns], expected, rtol=1e-10)
    assert found.scaling == "columns"
    assert [c.name for c in found.columns] == list(X.columns)


@pytest.mark.parametrize(
    ("name", "dimension"), [("mosaic", 1 + 4), ("mixed mosaic", 1 + 1 + 5)]
)
def test_a_mosaic_has_no_kernel(name, dimension):
    """Its states are sums of one, columns, their products, and categories."""
    model, found = case(name).model, fitted(name)
    assert (found.map_name, found.representation) == ("MosaicFeatures", "mosaic")
    assert found.dimension == dimension
    assert found.rank is None
    assert {column.bandwidth for column in found.columns} == {None}
    assert found.n_numbers == model.feature_map_.router_.size
    assert (found.n_cells, found.n_layers) == (
        model.feature_map_.n_cells_,
        len(model.feature_map_.layer_weights_),
    )


def test_only_a_mosaic_has_cells():
    found = fitted("landmarks")
    assert found.n_cells is found.n_layers is None


def test_mixed_scaling_has_no_bandwidths():
    X = case("landmarks").X
    model = rhokit.DMKDE(scale="whiten", n_components=16, random_state=0).fit(X)
    found = describe(model)
    assert found.scaling == "mixed"
    assert {column.bandwidth for column in found.columns} == {None}


def test_categories_stand_in_their_order():
    price, size, new = fitted("mixed").columns
    assert [price.kind, size.kind, new.kind] == ["number", "ordered", "category"]
    assert price.categories is None
    assert size.categories == ("S", "M", "L")
    assert set(new.categories) == {False, True}
    spread = case("mixed").X["price"].std(ddof=0)
    gamma = case("mixed").model.gamma_
    assert_allclose(price.bandwidth, spread / math.sqrt(2 * gamma))
    assert size.bandwidth is None


def test_numbers_beside_categories_keep_their_own_bandwidth():
    X = mixed_rows()[["size", "new", "price"]]
    model = rhokit.DMKDE(feature_map="landmarks", **SMALL).fit(X)
    price = describe(model).columns[2]
    expected = X["price"].std(ddof=0) / math.sqrt(2 * model.gamma_)
    assert_allclose(price.bandwidth, expected)


@pytest.mark.parametrize(
    ("rank", "expected"), [(None, None), (5, 5), (0.25, 4), ("elbow", None)]
)
def test_ranks(rank, expected):
    X = case("landmarks").X
    small = {"feature_map": "landmarks", "n_components": 16, "random_state": 0}
    model = rhokit.DMKDE(rank=rank, **small).fit(X)
    assert describe(model).rank == expected


def test_rank_of_a_trained_state_is_that_of_its_factor():
    assert fitted("trained density").rank == 6


def test_memory_counts_state_and_map():
    found, model = fitted("landmarks"), case("landmarks").model
    assert found.n_numbers == 48 * 48
    assert (
        found.memory > model.state_.total.nbytes + model.feature_map_.landmarks_.nbytes
    )


def test_floor_is_the_models():
    assert fitted("landmarks").floor == -math.inf
    assert_allclose(fitted("two columns").floor, case("two columns").model.floor_)
    assert fitted("classes").floor is None


def test_columns_of_a_trained_model_are_found_by_name():
    model, X, *_ = case("trained density")
    assert column_names(model) == list(X.columns)
    assert find_columns(model, "columns", [X.columns[2], 0]) == [2, 0]
    with pytest.raises(ValueError, match="columns must name different columns"):
        find_columns(model, "columns", "size")


def test_models_that_hold_nothing_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for model in (rhokit.DMKDE(), rhokit.DMKDE().prepare(X), rhokit.DMKDESGD()):
        for ask in (kind_of, describe):
            with pytest.raises(NotFittedError):
                ask(model)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression().fit([[0], [1]], [0, 1]), "DMKDE", rhokit.DMKDE],
    ids=["another library", "text", "class"],
)
def test_other_objects_are_refused(model):
    with pytest.raises(TypeError):
        kind_of(model)


def test_a_trained_model_is_answered_for_by_a_one_pass_model():
    model = case("trained density").model
    assert one_pass(model) is model.estimator_
    assert one_pass(model.estimator_) is model.estimator_
    bagged = BaggingClassifier(LogisticRegression()).fit([[0], [1]] * 5, [0, 1] * 5)
    assert one_pass(bagged) is bagged  # its estimator_ is another thing
