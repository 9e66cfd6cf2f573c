"""Measurement with a factor, against the core's Born rule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.core import LowRankDensityMatrix
from rhokit.fast import FactorMeasurement
from rhokit.fast.measure import _STEP, _TRIANGULAR_FROM, _Triangle
from tests.support import random_array

DIM = 2 * _STEP + 44  # several steps and a tail
LIMIT = int(_TRIANGULAR_FROM * DIM)
RANKS = [1, 30, LIMIT, LIMIT + 1, DIM - 1, DIM, DIM + 9]
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-11, "complex128": 1e-11}


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def twin(factor, columns):
    """The Born rule in double precision."""
    weight = np.ones(len(factor))
    columns = columns.astype(np.result_type(columns.dtype, np.float64))
    return LowRankDensityMatrix(factor, weight).born(columns)


def assert_twins(factor, columns, dtype):
    measured = FactorMeasurement(factor, dtype).born(columns)
    assert measured.dtype == columns.real.dtype
    expected = twin(factor, columns)
    assert measured.shape == expected.shape
    scale = expected.max(axis=0)
    tolerance = TOLERANCE[np.dtype(dtype).name]
    assert_allclose(measured / scale, expected / scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", RANKS)
def test_any_rank(dtype, rank, rng):
    double = np.result_type(dtype, np.float64)
    factor = random_array(rng, (2, rank, DIM), double)
    parts = FactorMeasurement(factor, dtype)._parts
    assert {isinstance(part, _Triangle) for part in parts} == {rank > LIMIT}
    assert_twins(factor, random_array(rng, (11, DIM), dtype), dtype)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("rank", [3, DIM])
@pytest.mark.parametrize("outcomes", [1, 3])
def test_few_rows_and_many_outcomes(n, rank, outcomes, rng):
    factor = rng.normal(size=(outcomes, rank, DIM))
    columns = rng.normal(size=(1, DIM))
    measured = FactorMeasurement(factor, "float64").born(columns[:n])
    assert_allclose(measured, twin(factor, columns)[:n], rtol=1e-11)


@pytest.mark.parametrize("dim", [1, 2, _STEP, _STEP + 1])
def test_small_and_whole_steps(dim, rng):
    factor = rng.normal(size=(1, dim, dim))
    assert_twins(factor, rng.normal(size=(5, dim)), "float64")


@pytest.mark.parametrize("rank", [LIMIT + 1, DIM, DIM + 200])
def test_a_factor_that_is_triangular_already(rank, rng):
    factor = np.triu(rng.normal(size=(rank, DIM)))[None]
    assert_twins(factor, rng.normal(size=(5, DIM)), "float64")


def test_outcomes_of_different_rank(rng):
    """Factors are filled up with rows of zeros."""
    factor = rng.normal(size=(2, DIM, DIM))
    factor[1, 5:] = 0
    assert_twins(factor, rng.normal(size=(5, DIM)), "float64")


def test_columns_in_any_layout_stay_as_they_are(rng):
    factor = rng.normal(size=(1, DIM, DIM))
    columns = np.asfortranarray(rng.normal(size=(9, DIM)))
    copy = columns.copy()
    assert_twins(factor, columns, "float64")
    assert_array_equal(columns, copy)


def test_a_state_of_zeros_measures_zero():
    factor = np.ones((1, DIM, DIM))
    measured = FactorMeasurement(factor, "float32").born(np.zeros((3, DIM), "float32"))
    assert_array_equal(measured, np.zeros((3, 1)))
