"""Densities of columns are the models' marginals; regions are the smallest."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from rhokit import DMKDE
from rhokit.inspection import (
    NoMarginalError,
    category_probabilities,
    marginal_density,
    marginal_grid,
    one_pass,
    region_levels,
    strongest_pair,
)
from tests.inspection.models import case, tumours


def density_at(part, points):
    """Density of an estimator at points, under its own names if it has some."""
    names = getattr(part, "feature_names_in_", None)
    return part.density(
        points if names is None else pd.DataFrame(points, columns=names)
    )


@pytest.mark.parametrize("name", ["two columns", "landmarks", "trained density"])
def test_a_curve_is_the_marginal(name):
    model, X, *_ = case(name)
    x = np.linspace(X.iloc[:, 1].min(), X.iloc[:, 1].max(), 9)
    part = one_pass(model).marginal([1])
    found = marginal_density(model, [1], [x])
    assert_allclose(found.density, density_at(part, x[:, None]))
    assert found.columns == (1,)
    grid = marginal_grid(model, [1], 7)
    assert_allclose(grid.density, density_at(part, grid.axes[0][:, None]), atol=1e-12)


def test_a_map_is_the_marginal_whatever_the_order_of_columns():
    model = case("landmarks").model
    there, back = (marginal_grid(model, pair, 5) for pair in ([1, 3], [3, 1]))
    assert_allclose(back.density, there.density.T)
    for a, b in zip(there.axes, back.axes[::-1], strict=True):
        assert_allclose(a, b)
    x, y = there.axes
    found = marginal_density(model, [1, 3], [x, y])
    assert_allclose(found.density, there.density)
    expected = density_at(model.marginal([1, 3]), [[x[2], y[4]]])
    assert_allclose(there.density[4, 2], expected[0])


def test_all_columns_are_the_model_itself():
    model, X, *_ = case("two columns")
    x, y = (np.linspace(X[name].min(), X[name].max(), 4) for name in X)
    found = marginal_density(model, [0, 1], [x, y])
    nameless = DMKDE(random_state=0).fit(X.to_numpy())
    assert_allclose(
        found.density[1, 3], nameless.density([[x[3], y[1]]])[0], atol=1e-10
    )


@pytest.mark.parametrize("name", ["fourier", "mean"])
def test_models_without_marginals(name):
    with pytest.raises(NoMarginalError):
        marginal_density(case(name).model, [0], [np.zeros(1)])


def test_other_models_are_refused():
    with pytest.raises(TypeError, match=r"a density .* must be given, got QMRegressor"):
        marginal_grid(case("values").model, [0])


def test_probabilities_of_categories_add_up_to_one():
    model, X, *_ = case("mixed")
    size, new = (category_probabilities(model, place) for place in (1, 2))
    assert list(size) == ["S", "M", "L"]
    unseen = model.model_.plan.columns.schema.unseen[1]  # of landmarks about that
    assert_allclose(sum(size.values()), 1 - unseen, atol=0.01 * unseen)
    assert_allclose(new[True], X["new"].mean(), atol=0.1)
    assert category_probabilities(case("landmarks").model, 0) == {}


@given(
    hnp.arrays(np.float64, (5, 6), elements=st.floats(-1, 100, width=32)),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5),
)
def test_the_smallest_region_that_holds_a_probability(density, probabilities):
    density[0, 0] = 101.0  # somewhere it is positive
    mass = np.maximum(density, 0)
    found = region_levels(density, probabilities)
    for level, p in zip(found, probabilities, strict=True):
        assert mass[mass >= level].sum() >= (p - 1e-9) * mass.sum()
        assert mass[mass > level].sum() <= (p + 1e-9) * mass.sum()


def test_regions_of_nothing():
    assert len(region_levels(np.zeros((3, 3)), [0.5])) == 0
    with pytest.raises(ValueError, match="probabilities must be a number between"):
        region_levels(np.ones(3), [1.0])


def test_the_pair_is_the_strongest():
    X = tumours(4).to_numpy()
    first, second, correlation = strongest_pair(X)
    matrix = np.abs(np.corrcoef(X.T)) - np.eye(4)
    assert_allclose(matrix[first, second], matrix.max())
    assert_allclose(correlation, np.corrcoef(X.T)[first, second])


@pytest.mark.parametrize("rows", [np.ones((5, 3)), np.full((2, 3), np.nan)])
def test_where_nothing_depends_the_first_two_are_taken(rows):
    assert strongest_pair(rows) == (0, 1, 0.0)
