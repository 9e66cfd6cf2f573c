"""Ridge regression from sums, against fits to the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit.features.ridge import Ridge, packed, press_errors, triangle_size, unpacked


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    return features, truth, rng.random(40) + 0.5


def sums(features, truth, mass):
    return (features.T * mass) @ features, (features.T * mass) @ truth


def test_coefficients_minimise_the_penalised_squares(data):
    features, truth, mass = data
    ridge = Ridge.of(*sums(*data), 0.7)
    slope = (features.T * mass) @ (features @ ridge.coefficients - truth)
    assert_allclose(slope + 0.7 * ridge.coefficients, 0, atol=1e-10)


def test_values_without_a_row_are_those_of_a_fit_to_the_others(data):
    features, truth, mass = data
    found = Ridge.of(*sums(*data), 0.7).values_without(features, truth, mass)
    for i in range(len(features)):
        rest = np.arange(len(features)) != i
        others = Ridge.of(*sums(features[rest], truth[rest], mass[rest]), 0.7)
        assert_allclose(found[i], others.values(features[i]), atol=1e-10)


def test_errors_of_many_ridges_are_those_of_each(data):
    features, truth, mass = data
    strengths = np.array([1e-3, 0.7, 50.0])
    found = press_errors(*sums(*data), strengths, features, truth, mass)
    for error, strength in zip(found, strengths, strict=True):
        values = Ridge.of(*sums(*data), strength).values_without(features, truth, mass)
        missed = ((values - truth) ** 2).sum(axis=1)
        assert_allclose(error, np.average(missed, weights=mass))


def test_a_singular_matrix_gets_as_much_of_a_ridge_as_it_needs():
    row = np.ones((1, 4))
    ridge = Ridge.of(row.T @ row, row.T * 3.0, 0.0)
    assert_allclose(ridge.values(row), 3.0, rtol=1e-3)


def test_triangles_hold_all_of_a_symmetric_matrix(data):
    matrix = sums(*data)[0]
    triangle = packed(matrix)
    assert len(triangle) == triangle_size(6)
    assert_allclose(unpacked(triangle), matrix)
