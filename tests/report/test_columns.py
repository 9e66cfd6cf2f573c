"""Curves and maps of a page are the model's own; bars are the rows'."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE, MeanEmbeddingKDE, QMClassifier
from rhokit.inspection import (
    category_probabilities,
    describe,
    inspect_rows,
    marginal_density,
)
from rhokit.report.columns import (
    PROBABILITIES,
    column_ranges,
    column_shapes,
    pair_shape,
)
from rhokit.report.contours import area_above
from tests.inspection.models import case, mixed_rows


def seen(name):
    """A model, rows to look at, and its columns."""
    model, X, y, _ = case(name)
    return model, inspect_rows(X, y, model, 10_000), describe(model).columns


# ---- columns ---------------------------------------------------------------------


def test_ends_are_those_of_the_rows():
    _, rows, columns = seen("landmarks")
    X = case("landmarks").X
    found = column_ranges(rows, columns)
    assert_allclose([each.minimum for each in found], X.min())
    assert_allclose([each.median for each in found], X.median())
    assert_allclose([each.maximum for each in found], X.max())


def test_gaps_are_counted_and_are_no_category():
    model, X, *_ = case("mixed")
    X = X.copy()
    X.loc[:4, "size"] = None
    X.loc[:6, "price"] = None
    rows = inspect_rows(X, None, model, 10_000)
    price, size, new = column_ranges(rows, describe(model).columns)
    assert [price.n_missing, size.n_missing, new.n_missing] == [7, 5, 0]
    assert [price.n_categories, size.n_categories, new.n_categories] == [None, 3, 2]
    assert_allclose(price.minimum, X["price"].min())


def test_a_column_of_gaps_has_no_ends():
    rows = inspect_rows(np.full((3, 4), np.nan), None, None, 10)
    found = column_ranges(rows, describe(case("landmarks").model).columns)
    assert {(each.minimum, each.n_missing) for each in found} == {(None, 3)}


@pytest.mark.parametrize("name", ["one column", "landmarks"])
def test_curves_are_marginals(name):
    model, rows, columns = seen(name)
    shapes = column_shapes(model, rows, columns)
    assert [shape.name for shape in shapes] == list(rows.names)
    for place, shape in enumerate(shapes):
        expected = marginal_density(model, [place], shape.curve.axes)
        assert_array_equal(shape.curve.density, expected.density)
        (x,) = shape.curve.axes
        assert_array_equal(x[[0, -1]], shape.histogram.edges[[0, -1]])


@pytest.mark.parametrize("name", ["fourier", "mean", "classes", "values"])
def test_where_there_is_no_marginal_there_are_bars(name):
    model, rows, columns = seen(name)
    density = model if describe(model).kind == "density" else None
    shapes = column_shapes(density, rows, columns)
    assert {shape.curve is None for shape in shapes} == {True}
    assert all(shape.histogram.counts.sum() for shape in shapes)
    assert pair_shape(density, rows, columns) is None


def test_categories_are_counted_and_the_models_probabilities_stand_beside():
    model, rows, columns = seen("mixed")
    _, size, new = column_shapes(model, rows, columns)
    counts = case("mixed").X["size"].value_counts()
    assert size.categories == tuple((word, int(counts[word])) for word in "SML")
    assert 0.99 < sum(size.probabilities) < 1  # unseen sizes have the rest
    assert new.categories[0][0] == "False"  # the commonest first
    assert_allclose(new.probabilities[0], 1 - case("mixed").X["new"].mean(), atol=0.1)


def test_categories_of_a_classifier_keep_their_order():
    X = mixed_rows()
    model = QMClassifier(n_components=16, random_state=0).fit(X, X["new"])
    rows = inspect_rows(X, None, model, 1000)
    _, size, _ = column_shapes(None, rows, describe(model).columns)
    assert [word for word, _ in size.categories] == ["S", "M", "L"]
    assert all(map(math.isnan, size.probabilities))


def test_many_categories_are_cut():
    rng = np.random.default_rng(0)
    words = pd.Categorical(rng.choice([f"word {k}" for k in range(20)], 400))
    X = pd.DataFrame({"word": words, "x": rng.normal(size=400)})
    model = DMKDE(n_components=32, random_state=0).fit(X)
    rows = inspect_rows(X, None, model, 1000)
    shape, _ = column_shapes(model, rows, describe(model).columns)
    assert len(shape.categories) == len(shape.probabilities) == 12
    assert shape.categories[-1][0] == "9 others"
    assert sum(count for _, count in shape.categories) == 400
    expected = sum(category_probabilities(model, 0).values())
    assert_allclose(sum(shape.probabilities), expected)


def test_means_have_no_probabilities_of_categories():
    X = mixed_rows()
    model = MeanEmbeddingKDE(n_components=16, random_state=0).fit(X)
    rows = inspect_rows(X, None, model, 1000)
    _, size, _ = column_shapes(model, rows, describe(model).columns)
    assert all(map(math.isnan, size.probabilities))


def test_rows_full_of_gaps_are_no_pair():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = DMKDE(random_state=0).fit(X)
    X[::2, 0] = X[1::2, 1] = np.nan
    rows = inspect_rows(X, None, model, 100)
    assert pair_shape(model, rows, describe(model).columns) is None


def test_many_columns_are_cut():
    X = np.random.default_rng(0).normal(size=(60, 20))
    model = DMKDE(n_components=16, random_state=0).fit(X)
    rows = inspect_rows(X, None, model, 100)
    assert len(column_shapes(model, rows, describe(model).columns)) == 12


# ---- a pair ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two columns", "landmarks"])
def test_the_map_is_the_models_density_of_the_strongest_pair(name):
    model, rows, columns = seen(name)
    pair = pair_shape(model, rows, columns)
    matrix = np.corrcoef(np.asarray(rows.X).T) - np.eye(len(columns))
    strongest = np.abs(matrix).argmax()
    places = sorted(divmod(int(strongest), len(columns)))
    assert pair.names == tuple(rows.names[place] for place in places)
    expected = marginal_density(model, places, pair.grid.axes)
    assert_allclose(pair.grid.density, expected.density)
    assert_allclose(pair.correlation, matrix.ravel()[strongest])
    density = pair.grid.density
    for p, level in zip(PROBABILITIES, pair.levels, strict=True):
        assert density[density >= level].sum() >= (p - 1e-9) * density.sum()


def test_one_column_is_no_pair():
    assert pair_shape(*seen("one column")) is None


def test_rows_stay_as_they_were():
    model, rows, columns = seen("landmarks")
    before = np.array(rows.X)
    column_shapes(model, rows, columns)
    pair_shape(model, rows, columns)
    assert_array_equal(rows.X, before)
    assert hasattr(model, "feature_names_in_")


# ---- areas -----------------------------------------------------------------------


def _area(polygon):
    x, y = np.array(polygon).T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


def test_the_area_of_a_disc():
    line = np.linspace(-1, 1, 81)
    x, y = np.meshgrid(line, line)
    polygons = area_above(1 - x**2 - y**2, 1 - 0.8**2)
    area = sum(map(_area, polygons)) * (line[1] - line[0]) ** 2
    assert_allclose(area, math.pi * 0.8**2, rtol=1e-3)


@pytest.mark.parametrize("level", [-5.0, 0.0, 0.4, 5.0])
def test_areas_above_and_below_fill_the_grid(level):
    values = np.random.default_rng(1).normal(size=(9, 12))
    above = sum(map(_area, area_above(values, level)))
    below = sum(map(_area, area_above(-values, -level)))
    # Where two opposite corners are above, both count the middle of the cell.
    corners = np.stack(
        [values[:-1, :-1], values[1:, 1:], values[:-1, 1:], values[1:, :-1]]
    )
    high = corners >= level
    saddles = (high[:2].all(axis=0) & ~high[2:].any(axis=0)) | (
        high[2:].all(axis=0) & ~high[:2].any(axis=0)
    )
    assert above + below >= 88 - 1e-9
    assert above + below <= 88 + saddles.sum() + 1e-9
