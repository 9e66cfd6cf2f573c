"""Cells: triangles of covariances, and of what rounding or a file made of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.features.cells import CellMixture, quadratic_features, triangles

NO_COVARIANCES = {
    "indefinite": [[1.0, 3.0], [3.0, 1.0]],
    "negative": [[-1.0, 0.0], [0.0, 2.0]],
    "nothing": [[0.0, 0.0], [0.0, 0.0]],
    "infinite": [[np.inf, 1.0], [1.0, 1.0]],
    "no number": [[np.nan, 1.0], [1.0, 1.0]],
    "huge": [[1e300, 1e305], [1e305, 1e300]],
}


def test_triangles_of_covariances_are_cholesky_factors():
    rows = np.random.default_rng(0).normal(size=(3, 20, 4))
    covariance = rows.transpose(0, 2, 1) @ rows
    assert_array_equal(triangles(covariance), np.linalg.cholesky(covariance))


@pytest.mark.parametrize("name", NO_COVARIANCES)
def test_triangles_of_what_is_none(name):
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = triangles(np.array([good, NO_COVARIANCES[name]]))
    assert_array_equal(found, np.tril(found))
    assert (np.diagonal(found, axis1=1, axis2=2) > 0).all()
    assert_allclose(found[0] @ found[0].T, good, rtol=1e-12)  # the others stay


def test_a_mixture_of_them_answers():
    covariance = np.array([[[1.0, 3.0], [3.0, 1.0]], np.eye(2)])
    mixture = CellMixture(
        np.log([0.5, 0.5]), np.zeros((2, 2)), covariance, np.zeros((2, 0))
    )
    rows, _ = mixture.draw(20, np.random.default_rng(0))
    assert np.isfinite(rows).all()
    assert np.isfinite(mixture.log_density(quadratic_features(rows))).all()
