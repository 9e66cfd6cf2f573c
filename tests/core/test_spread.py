"""States that know some outcomes, brought to more of them."""

import numpy as np
import pytest

from rhokit.core import DensityMatrix
from tests.support import assert_close, assert_same_state, random_array


def make(xp, states, outcomes):
    return DensityMatrix.from_states(xp.asarray(states), xp.asarray(outcomes))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("places", [[0, 1], [1, 3], [3, 0]], ids=str)
def test_is_the_state_of_the_same_rows_with_outcomes_moved(xp, dtype, rng, places):
    states, outcomes = random_array(rng, (9, 3), dtype), rng.uniform(size=(9, 2))
    moved = np.zeros((9, 4))
    moved[:, places] = outcomes
    spread = make(xp, states, outcomes).spread(places, 4)
    assert_same_state(spread, make(xp, states, moved))


def test_outcomes_without_rows_measure_nothing(xp, dtype, rng):
    states = random_array(rng, (6, 3), dtype)
    spread = make(xp, states, np.ones((6, 1))).spread([2], 3)
    measured = spread.born(xp.asarray(states))
    assert_close(measured[:, :2], np.zeros((6, 2)))
    alone = make(xp, states, np.ones((6, 1))).born(xp.asarray(states))
    assert_close(measured[:, 2:], alone)


def test_states_of_different_outcomes_add_up(xp, dtype, rng):
    """One has seen the outcomes a and c, the other b and c."""
    states = random_array(rng, (8, 3), dtype)
    codes = np.array([0, 2, 2, 0, 1, 2, 1, 1])
    onehot = np.eye(3)[codes]
    first = make(xp, states[:4], onehot[:4][:, [0, 2]]).spread([0, 2], 3)
    second = make(xp, states[4:], onehot[4:][:, [2, 1]]).spread([2, 1], 3)
    assert_same_state(first + second, make(xp, states, onehot))


def test_all_in_place_changes_nothing(xp, dtype, rng):
    state = make(xp, random_array(rng, (5, 3), dtype), rng.uniform(size=(5, 2)))
    assert_same_state(state.spread([0, 1], 2), state)
