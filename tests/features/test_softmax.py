"""Numbers as states over equally spaced landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import core
from rhokit.features import SoftmaxFeatures
from tests.features.support import lengths


@pytest.fixture
def rows():
    return np.random.default_rng(41).uniform(-3, 5, size=(30, 2))


@pytest.mark.parametrize("beta", [None, 0.5, 1e6])
@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("real", ["float32", "float64"])
def test_core(rows, beta, count, d, real):
    rows = rows[:, :d].astype(real)
    softmax = SoftmaxFeatures(n_components=count, beta=beta).fit(rows)
    states = softmax.transform(rows)
    assert states.dtype == real
    assert softmax.n_components_ == count * d
    low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
    unit = (rows - low) / (high - low)
    sharp = 2.0 * max(count - 1, 1) ** 2 if beta is None else beta
    blocks = [core.softmax_states(column, count, sharp) for column in unit.T]
    expected = np.concatenate(blocks, axis=1) / np.sqrt(d)
    tolerance = 1e-12 if real == "float64" else 1e-5 * max(1.0, np.sqrt(sharp) / 100)
    assert_allclose(states, expected, atol=tolerance)
    assert_allclose(lengths(states), 1, rtol=1e-5)


def test_default_beta_shares_a_value_between_its_neighbours():
    softmax = SoftmaxFeatures(n_components=11).fit([[0.0], [10.0]])
    assert softmax.beta_ == 200
    shares = softmax.transform([[4.5]])[0] ** 2
    assert_allclose(shares[[4, 5]], 0.49, atol=0.01)
    assert np.delete(shares, [4, 5]).max() < 0.01


def test_landmarks_in_the_units_of_the_columns(rows):
    softmax = SoftmaxFeatures(n_components=5, beta=1e8).fit(rows)
    assert_allclose(softmax.landmarks_[[0, -1]], [rows.min(axis=0), rows.max(axis=0)])
    assert_allclose(np.diff(softmax.landmarks_, n=2, axis=0), 0, atol=1e-12)
    states = softmax.transform(softmax.landmarks_)
    assert_allclose(states, np.sqrt(0.5) * np.tile(np.eye(5), 2), atol=1e-12)


def test_values_outside_count_as_the_nearest_inside():
    softmax = SoftmaxFeatures(n_components=4, bounds=[[0.0], [2.0]]).fit([[1.0], [1.5]])
    assert_array_equal([softmax.low_, softmax.high_], [[0], [2]])
    states = softmax.transform([[0.0], [-9.0], [2.0], [1e300]])
    assert_array_equal(states[1], states[0])
    assert_array_equal(states[3], states[2])
    assert np.abs(states[0] - states[2]).max() > 0.5


def test_a_constant_column():
    softmax = SoftmaxFeatures(n_components=4).fit([[7.0, 0.0], [7.0, 1.0]])
    states = softmax.transform([[7.0, 0.0], [7.0, 1.0]])
    assert_allclose(lengths(states), 1, rtol=1e-12)
    assert_array_equal(states[0, :4], states[1, :4])


def test_rows_of_no_weight_do_not_widen_the_interval():
    softmax = SoftmaxFeatures().fit([[0.0], [1.0], [99.0]], sample_weight=[1, 2, 0])
    assert softmax.high_ == [1.0]


@pytest.mark.parametrize("bounds", [[[0.0, 1.0]], [[2.0], [1.0]], [[0.0], [np.inf]]])
def test_bounds_are_checked(bounds):
    with pytest.raises(ValueError, match=r"'bounds' parameter of SoftmaxFeatures.*Got"):
        SoftmaxFeatures(bounds=bounds).fit([[0.5]])


def test_several_columns_overlap_by_the_mean(rows):
    softmax = SoftmaxFeatures(n_components=6).fit(rows)
    parts = [
        SoftmaxFeatures(n_components=6).fit_transform(column[:, None])
        for column in rows.T
    ]
    states = softmax.transform(rows)
    expected = np.mean([part @ part.T for part in parts], axis=0)
    assert_allclose(states @ states.T, expected, atol=1e-12)
