"""What a page says of a model is what the model is."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import rhokit
from rhokit.report.fitted import describe, kind_of
from rhokit.report.rows import take_rows
from tests.report.models import MAKERS, SMALL, case, mixed_rows

KINDS = dict.fromkeys(list(MAKERS)[:8], "density")
KINDS |= dict.fromkeys(list(MAKERS)[8:14], "classes")
KINDS |= dict.fromkeys(list(MAKERS)[14:], "values")


def fitted(name):
    model, X, y, _ = case(name)
    return describe(model, take_rows(X, y, model, 10_000))


@pytest.mark.parametrize("name", MAKERS)
def test_kind_name_and_weight(name):
    model = case(name).model
    found = fitted(name)
    assert found.kind == KINDS[name] == kind_of(model)
    assert found.name == type(model).__name__
    assert found.is_trained == name.startswith("trained")
    inner = getattr(model, "estimator_", model)
    rows = {"density": 569, "classes": 89, "values": 300}[found.kind]
    if name == "mixed":
        rows = 240
    if name == "ordered classes":
        rows = 300
    if found.is_trained:  # some were held out
        assert 0.85 * rows < found.weight <= rows + 1e-6
    else:
        assert_allclose(found.weight, rows, rtol=1e-9)
    assert_allclose(found.gamma, inner.gamma_)


def test_bandwidths_are_in_the_columns_own_units():
    model, X, *_ = case("landmarks")
    found = fitted("landmarks")
    expected = X.std(ddof=0).to_numpy() / math.sqrt(2 * model.gamma_)
    assert_allclose([c.bandwidth for c in found.columns], expected, rtol=1e-10)
    assert found.scaling == "columns"
    assert_allclose([c.low for c in found.columns], X.min())
    assert_allclose([c.middle for c in found.columns], X.median())
    assert_allclose([c.high for c in found.columns], X.max())


def test_mixed_scaling_has_no_bandwidths():
    X = case("landmarks").X
    model = rhokit.DMKDE(scale="whiten", n_components=16, random_state=0).fit(X)
    found = describe(model, take_rows(X, None, model, 10))
    assert found.scaling == "mixed"
    assert {column.bandwidth for column in found.columns} == {None}


def test_categories_are_counted():
    price, size, new = fitted("mixed").columns
    assert [price.kind, size.kind, new.kind] == ["number", "ordered", "category"]
    assert [price.n_categories, size.n_categories, new.n_categories] == [None, 3, 2]
    spread = case("mixed").X["price"].std(ddof=0)
    gamma = case("mixed").model.gamma_
    assert_allclose(price.bandwidth, spread / math.sqrt(2 * gamma))
    assert size.bandwidth is None


def test_numbers_beside_categories_keep_their_own_bandwidth():
    X = mixed_rows()[["size", "new", "price"]]
    model = rhokit.DMKDE(**SMALL).fit(X)
    price = describe(model, take_rows(X, None, model, 10_000)).columns[2]
    expected = X["price"].std(ddof=0) / math.sqrt(2 * model.gamma_)
    assert_allclose(price.bandwidth, expected)


def test_gaps_are_counted_and_are_no_category():
    model, X, *_ = case("mixed")
    X = X.copy()
    X.loc[:4, "size"] = None
    X.loc[:6, "price"] = None
    price, size, new = describe(model, take_rows(X, None, model, 10_000)).columns
    assert [price.n_missing, size.n_missing, new.n_missing] == [7, 5, 0]
    assert size.n_categories == 3
    assert_allclose(price.low, X["price"].min())


@pytest.mark.parametrize(
    ("rank", "expected"), [(None, None), (5, 5), (0.25, 4), ("elbow", None)]
)
def test_ranks(rank, expected):
    X = case("landmarks").X
    model = rhokit.DMKDE(rank=rank, n_components=16, random_state=0).fit(X)
    assert describe(model, take_rows(X, None, model, 10)).rank == expected


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


def test_models_that_hold_nothing_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    rows = take_rows(X, None, None, 50)
    with pytest.raises(NotFittedError):
        kind_of(rhokit.DMKDE())
    with pytest.raises(NotFittedError, match="holds no rows: fit this DMKDE"):
        describe(rhokit.DMKDE().prepare(X), rows)


@pytest.mark.parametrize(
    "model", [LogisticRegression().fit([[0], [1]], [0, 1]), "DMKDE"]
)
def test_other_objects_are_refused(model):
    with pytest.raises(TypeError):
        kind_of(model)
