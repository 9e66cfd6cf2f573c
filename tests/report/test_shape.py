"""Curves, maps and spectra are the model's own; bars are the rows'."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE
from rhokit.core import effective_rank
from rhokit.report.contours import area_above
from rhokit.report.rows import take_rows
from rhokit.report.shape import (
    SHARES,
    column_shapes,
    histogram,
    histogram_of_logs,
    levels,
    pair_shape,
    spectrum,
    view,
)
from tests.report.models import case, tumours


def rows_of(name):
    model, X, y, _ = case(name)
    return model, take_rows(X, y, model, 10_000)


# ---- columns ---------------------------------------------------------------------


def test_the_curve_of_one_column_is_the_models_density():
    model, rows = rows_of("one column")
    (shape,) = column_shapes(model, rows)
    points = np.asarray(shape.x)[:, None]
    nameless = DMKDE(random_state=0).fit(np.asarray(rows.X))
    assert_allclose(shape.density, nameless.density(points), atol=1e-10)


@pytest.mark.parametrize("name", ["two columns", "landmarks"])
def test_curves_are_marginals(name):
    model, rows = rows_of(name)
    shapes = column_shapes(model, rows)
    assert [shape.name for shape in shapes] == list(rows.names)
    for place, shape in enumerate(shapes):
        part = model.marginal([place])
        del part.feature_names_in_
        assert_allclose(shape.density, part.density(shape.x[:, None]))


@pytest.mark.parametrize("name", ["fourier", "mean", "classes", "values"])
def test_where_there_is_no_marginal_there_are_bars(name):
    model, rows = rows_of(name)
    shapes = column_shapes(model, rows)
    assert {shape.density is None for shape in shapes} == {True}
    assert all(shape.histogram.counts.sum() for shape in shapes)


def test_bars_count_all_rows_and_those_outside():
    values = np.concatenate([np.random.default_rng(0).normal(size=1000), [50.0, -70.0]])
    low, high = view(values)
    assert -5 < low < -2.5
    assert 2.5 < high < 5
    found = histogram(values, low, high)
    assert found.n_outside == ((values < low) | (values > high)).sum() >= 2
    assert found.counts.sum() + found.n_outside == len(values)


def test_a_constant_column_has_a_view():
    low, high = view(np.full(10, 3.0))
    assert low < 3 < high
    assert histogram(np.full(10, 3.0), low, high).counts.sum() == 10


@pytest.mark.parametrize("value", [-2.2374709006412186, 1e9, 3.0])
def test_values_that_rounding_tells_apart_have_bars(value):
    values = np.array([value, np.nextafter(value, np.inf)])
    assert histogram(values, *view(values)).counts.sum() == 2
    assert histogram_of_logs(values).counts.sum() == 2


def test_log_densities_that_are_minus_infinity_are_left_out():
    found = histogram_of_logs(np.array([-math.inf, -3.0, -2.0]))
    assert found.counts.sum() == 2
    assert histogram_of_logs(np.array([-math.inf])) is None
    assert histogram_of_logs(np.array([-2.0])).counts.sum() == 1


def test_a_few_log_densities_far_below_do_not_squeeze_the_others():
    logs = np.concatenate([np.linspace(-10, -1, 1000), [-500.0, -math.inf]])
    found = histogram_of_logs(logs)
    assert found.n_outside == 1
    assert -12 < found.edges[0] <= -10
    assert found.edges[-1] == -1
    assert found.counts.sum() == 1000


def test_categories_are_counted_and_the_models_shares_stand_beside():
    model, rows = rows_of("mixed")
    _, size, new = column_shapes(model, rows)
    counts = case("mixed").X["size"].value_counts()
    assert size.categories == tuple((word, int(counts[word])) for word in "SML")
    assert_allclose(sum(size.shares), 1.0, atol=1e-6)
    assert new.categories[0][0] == "False"  # the commonest first
    assert_allclose(new.shares[0], 1 - case("mixed").X["new"].mean(), atol=0.1)


def test_many_columns_are_cut():
    X = np.random.default_rng(0).normal(size=(60, 20))
    model = DMKDE(n_components=16, random_state=0).fit(X)
    assert len(column_shapes(model, take_rows(X, None, model, 100))) == 12


# ---- a pair ----------------------------------------------------------------------


def test_the_map_is_the_models_density():
    model, rows = rows_of("two columns")
    pair = pair_shape(model, rows)
    assert pair.names == rows.names
    nameless = DMKDE(random_state=0).fit(np.asarray(rows.X))
    for j, i in [(0, 0), (20, 30), (63, 5)]:
        point = [[pair.x[i], pair.y[j]]]
        assert_allclose(pair.density[j, i], nameless.density(point)[0], atol=1e-10)
    correlation = np.corrcoef(np.asarray(rows.X).T)[0, 1]
    assert_allclose(pair.correlation, correlation)


def test_the_pair_is_the_strongest():
    model, rows = rows_of("landmarks")
    pair = pair_shape(model, rows)
    matrix = np.abs(np.corrcoef(np.asarray(rows.X).T)) - np.eye(4)
    first, second = np.unravel_index(matrix.argmax(), matrix.shape)
    assert set(pair.names) == {rows.names[first], rows.names[second]}


@pytest.mark.parametrize("name", ["one column", "classes", "fourier"])
def test_some_models_have_no_pair(name):
    assert pair_shape(*rows_of(name)) is None


def test_levels_hold_their_shares():
    density = np.exp(-np.square(np.random.default_rng(0).normal(size=(40, 40))))
    for share, level in zip(SHARES, levels(density), strict=True):
        inside = density[density >= level].sum() / density.sum()
        assert_allclose(inside, share, atol=0.002)
        assert inside >= share
    assert levels(np.zeros((3, 3))) == ()


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


# ---- the spectrum ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["landmarks", "one column", "trained density"])
def test_eigenvalues_and_effective_rank_are_those_of_the_state(name):
    model = case(name).model
    inner = getattr(model, "estimator_", model)
    found = spectrum(model)
    rho = inner.density_matrix_.normalized()[0]
    expected = np.linalg.eigvalsh(rho / np.trace(rho))[::-1]
    assert_allclose(found.values, expected, atol=1e-8)
    assert_allclose(found.effective_rank, effective_rank(rho), rtol=1e-6)


def test_outcomes_are_pooled_by_their_weight():
    model = case("classes").model
    rho = np.tensordot(model.class_count_, model.density_matrix_.normalized(), axes=1)
    expected = np.linalg.eigvalsh(rho / np.trace(rho))[::-1]
    assert_allclose(spectrum(model).values, expected, atol=1e-10)
    assert spectrum(model).kept is None


def test_rank_and_what_it_keeps():
    found = spectrum(case("low rank").model)
    assert found.rank == 8
    assert_allclose(found.kept, found.values[:8].sum())
    assert spectrum(case("landmarks").model).rank is None
    trained = spectrum(case("trained density").model)
    assert (trained.rank, trained.kept) == (6, None)


def test_the_elbow_is_found():
    X = tumours(4)
    model = DMKDE(rank="elbow", n_components=32, random_state=0).fit(X)
    found = spectrum(model)
    assert found.rank == (found.values > found.values.mean()).sum()


def test_a_mean_has_no_spectrum_and_neither_has_a_large_grid():
    assert spectrum(case("mean").model) is None
    X = np.random.default_rng(0).normal(size=(500, 2))
    model = DMKDE(gamma=300.0).fit(X)
    assert model.feature_map_.n_components_ > 1024
    assert spectrum(model) is None


def test_values_stay_as_they_were():
    model, rows = rows_of("landmarks")
    before = np.array(rows.X)
    column_shapes(model, rows), pair_shape(model, rows)
    assert_array_equal(rows.X, before)
    assert hasattr(model, "feature_names_in_")
