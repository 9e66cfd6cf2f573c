"""Scores of distributions, row by row, against loops."""

import numpy as np

from rhokit.core.scoring import quantile_losses, ranked_errors
from tests.support import assert_close


def test_losses_of_quantiles(xp):
    rng = np.random.default_rng(0)
    truth, quantiles = rng.normal(size=9), rng.normal(size=(9, 3))
    levels = np.array([0.1, 0.5, 0.8])
    expected = [
        [
            level * (y - v) if y >= v else (1 - level) * (v - y)
            for v, level in zip(row, levels, strict=True)
        ]
        for y, row in zip(truth, quantiles, strict=True)
    ]
    found = quantile_losses(*(xp.asarray(a) for a in (truth, quantiles, levels)))
    assert_close(found, np.array(expected))


def test_errors_of_ranks(xp):
    rng = np.random.default_rng(1)
    probabilities, codes = rng.dirichlet(np.ones(4), size=9), rng.integers(4, size=9)
    expected = [
        sum((row[: k + 1].sum() - (code <= k)) ** 2 for k in range(4))
        for row, code in zip(probabilities, codes, strict=True)
    ]
    found = ranked_errors(xp.asarray(probabilities), xp.asarray(codes))
    assert_close(found, np.array(expected))
