"""Frequencies that are trained on rows: slopes, and what they are good for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from rhokit.features import FourierFeatures
from rhokit.features.adaptive import misfit
from rhokit.kernels import kernel_of

ROWS = np.random.default_rng(0).normal(size=(9, 2))
SHARE = np.arange(1.0, 10) / 45


@pytest.mark.parametrize("has_phases", [True, False])
def test_slopes(has_phases):
    wanted = kernel_of("gaussian", 1.0).overlaps(ROWS, ROWS)
    start = np.random.default_rng(1).normal(size=18)

    def parts(flat):
        frequencies = flat[:12].reshape(2, 6)
        return (frequencies, flat[12:]) if has_phases else (frequencies,)

    def value(flat):
        return misfit(ROWS, SHARE, wanted, *parts(flat))[0]

    def slope(flat):
        found = [each.ravel() for each in misfit(ROWS, SHARE, wanted, *parts(flat))[1]]
        return np.concatenate([*found, *([] if has_phases else [np.zeros(6)])])

    assert check_grad(value, slope, start) < 1e-6


@pytest.mark.parametrize("form", ["phase", "pair"])
def test_misfit_is_that_of_the_features(form):
    fitted = FourierFeatures(n_components=8, form=form, normalize=False).fit(ROWS)
    states, wanted = fitted.transform(ROWS), np.zeros((9, 9))
    phases = [fitted.phases_] if form == "phase" else []
    found, _ = misfit(ROWS, SHARE, wanted, fitted.frequencies_, *phases)
    expected = SHARE @ (states @ states.T) ** 2 @ SHARE
    assert_allclose(found, expected)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
@pytest.mark.parametrize("form", ["phase", "pair", "complex"])
def test_overlaps_of_other_rows_are_nearer(form, kernel):
    rng = np.random.default_rng(2)
    rows, others = rng.normal(size=(500, 2)), rng.normal(size=(200, 2))
    wanted = kernel_of(kernel, 4.0).overlaps(others, others)
    errors = {}
    for sampling in ("orthogonal", "adaptive"):
        fitted = FourierFeatures(
            gamma=4.0,
            n_components=64,
            form=form,
            sampling=sampling,
            kernel=kernel,
            normalize=False,
            random_state=0,
        ).fit(rows)
        states = fitted.transform(others)
        overlaps = (states @ states.conj().T).real
        errors[sampling] = np.sqrt(np.mean((overlaps - wanted) ** 2))
    assert errors["adaptive"] < 0.8 * errors["orthogonal"]
