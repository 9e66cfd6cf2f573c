"""Cells: covariances, and what rounding or a file may make of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rhokit.features.cells import definite

NO_COVARIANCES = {
    "indefinite": [[1.0, 3.0], [3.0, 1.0]],
    "negative": [[-1.0, 0.0], [0.0, 2.0]],
    "nothing": [[0.0, 0.0], [0.0, 0.0]],
    "infinite": [[np.inf, 1.0], [1.0, 1.0]],
    "no number": [[np.nan, 1.0], [1.0, 1.0]],
    "huge": [[1e300, 1e305], [1e305, 1e300]],
}


def test_covariances_stay():
    rows = np.random.default_rng(0).normal(size=(3, 20, 4))
    covariance = rows.transpose(0, 2, 1) @ rows
    assert definite(covariance) is covariance


@pytest.mark.parametrize("name", NO_COVARIANCES)
def test_what_is_none_becomes_one(name):
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = definite(np.array([good, NO_COVARIANCES[name]]))
    assert np.isfinite(np.linalg.cholesky(found)).all()
    assert_array_equal(found[0], good)  # the others stay


def test_one_that_rounding_spoiled_hardly_changes():
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1e-4, 1e5]
    covariance = rows.T @ rows / 50
    spoiled = covariance.copy()
    spoiled[0, 1] = spoiled[1, 0] = np.sqrt(covariance[0, 0] * covariance[1, 1]) * (
        1 + 1e-9
    )
    spoiled[0, 2] = spoiled[2, 0] = spoiled[1, 2] = spoiled[2, 1] = 0
    found = definite(spoiled[None])[0]
    scale = np.sqrt(np.outer(np.diag(spoiled), np.diag(spoiled)))
    assert np.abs((found - spoiled) / scale).max() < 1e-8
