"""Columns that end, and whole numbers: no mass beyond, samples like the rows."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDE, DataError
from rhokit.features.reading import Reading
from rhokit.plans import Scaling


def table(n=3000, seed=0):
    """A count, a share, an angle, an amount with zeros, and a number without ends."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    amount = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(size=n))
    columns = [
        rng.poisson(np.exp(0.3 * z + 1)),
        rng.beta(0.8, 0.8, n),
        90 * rng.random(n) ** 1.2,
        amount,
        z + rng.normal(size=n),
    ]
    return np.column_stack(columns).astype(float)


@functools.cache
def fitted():
    return DMKDE(random_state=0).fit(table())


LOW, HIGH = [0, 0, 0, 0, -np.inf], [np.inf, 1.05, 91, np.inf, np.inf]


class TestEnds:
    def test_samples_lie_within(self):
        drawn = fitted().sample(20_000, random_state=0)
        assert (drawn >= LOW).all()
        assert (drawn <= HIGH).all()

    def test_whole_numbers_are_whole_and_zeros_zero(self):
        drawn, X = fitted().sample(20_000, random_state=0), table()
        assert_array_equal(drawn[:, 0], np.round(drawn[:, 0]))
        for column in (0, 3):
            share = (X[:, column] == 0).mean()
            assert_allclose((drawn[:, column] == 0).mean(), share, atol=0.02)

    @pytest.mark.parametrize("column", range(5))
    def test_probabilities_are_those_of_samples(self, column):
        found = fitted().marginal(column).mosaic()
        drawn = fitted().sample(40_000, random_state=1)[:, column]
        for x in np.unique(np.quantile(drawn, [0.05, 0.3, 0.6, 0.95])):
            assert_allclose(found.cdf([x])[0], (drawn <= x).mean(), atol=0.01)
        if np.isfinite(LOW[column]):
            assert found.cdf([LOW[column] - 0.01])[0] == 0
        if np.isfinite(HIGH[column]):
            assert found.cdf([HIGH[column]])[0] == 1

    def test_quantiles_are_values(self):
        found = fitted().marginal(0).mosaic().quantile([0.0, 0.2, 0.5, 0.99])
        assert_array_equal(found, np.round(found))
        assert found[0] == 0

    def test_nothing_is_beyond(self):
        X = table(4, seed=1)
        X[0, 0], X[1, 1], X[2, 2] = -1, 1.2, 95
        found = fitted().score_samples(X)
        assert_array_equal(np.isneginf(found), [True, False, False, False])
        # What rows only suggest is improbable, and not impossible.
        assert (found[1:3] < found[3] - 5).all()

    def test_conditionals_end_too(self):
        drawn = fitted().conditional({4: 1.0}).sample(5000, random_state=0)
        assert (drawn >= LOW[:4]).all()
        assert (drawn <= HIGH[:4]).all()

    def test_moments_are_those_of_samples(self):
        drawn, found = fitted().sample(200_000, random_state=0), fitted().mosaic()
        spread = drawn.std(axis=0)
        # Cells of whole numbers are as wide as a step.
        assert_allclose(found.mean() / spread, drawn.mean(axis=0) / spread, atol=0.05)

    def test_files_keep_them(self):
        again = rhokit.loads(rhokit.dumps(fitted()))
        expected = fitted().sample(100, random_state=0)
        assert_array_equal(again.sample(100, random_state=0), expected)


class TestOutsiders:
    def test_beyond_an_end_that_rows_suggest_are_held(self):
        X = table(5, seed=1)
        X[0, 2] = 95
        model = DMKDE(random_state=0).fit(table()).partial_fit(X)
        assert np.isfinite(model.score_samples(table(50))).all()
        back = model.unlearn(X)
        rows = table(50)
        assert_allclose(back.score_samples(rows), fitted().score_samples(rows), 1e-6)

    def test_below_zero_are_refused(self):
        X = table(5, seed=1)
        X[3, 0] = -1
        with pytest.raises(DataError, match="below zero"):
            rhokit.loads(rhokit.dumps(fitted())).partial_fit(X)


def test_steps_beyond_all_numbers_of_the_users_units_round_nothing():
    """As a file may have them: a column of 1e-300 scaled by as much again."""
    step = np.array([1e200, 1.0])
    reading = Reading(np.zeros(2), step, *np.zeros((2, 2)), np.full(2, -9.0), step)
    units = Scaling(np.zeros(2), np.array([1e-200, 1.0]))
    rows = np.array([[2e200, 1.2]])
    with np.errstate(over="ignore"):
        found = reading.in_units(rows, units, np.dtype(np.float64))
    assert found.shape == (1, 2)
    assert found[0, 1] == 1.0
