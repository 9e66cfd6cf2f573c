"""Phases of rows in single precision that are far from zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import FourierFeatures

# Of a cosine: the phase is right to 1e-5 of a turn, and so are all features.
ERROR = 2 * np.pi * 1e-5


@pytest.mark.parametrize("form", ["phase", "pair", "complex"])
@pytest.mark.parametrize("away", [1.0, 30.0, 1e3, 3e4, 1e6])
def test_single_precision_has_the_phases_of_double(form, away):
    """However far away rows are, their features are those of the very same rows."""
    rng = np.random.default_rng(0)
    rows = (away * rng.uniform(0.5, 1, size=(200, 2))).astype(np.float32)
    options = {"gamma": 1.0, "n_components": 64, "form": form, "normalize": False}
    single = FourierFeatures(**options, random_state=0).fit(rows)
    double = FourierFeatures(**options, random_state=0).fit(rows.astype(np.float64))
    found, expected = single.transform(rows), double.transform(rows.astype(np.float64))
    assert found.dtype in (np.float32, np.complex64)
    size = np.abs(expected).max()
    assert_allclose(found, expected, rtol=0, atol=size * (ERROR + 2e-6))


def test_frequencies_of_zero_take_rows_however_far_away():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    fitted = FourierFeatures(n_components=8, random_state=0).fit(rows)
    still = fitted.with_frequencies(np.zeros_like(fitted.frequencies_), fitted.phases_)
    far = np.array([[np.inf, 0.0, 0.0], [0.0, 0.0, 0.0]])
    first, second = still.columns(far)[0]
    assert np.array_equal(first, second)
