"""What every representation keeps to."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from rhokit.representations import Load, Outcomes
from rhokit.testing.cases import RepresentationCase
from rhokit.testing.comparisons import assert_same_state

RepresentationLaw = Callable[[RepresentationCase], None]
REPRESENTATION_LAWS: dict[str, RepresentationLaw] = {}


def _law(law: RepresentationLaw) -> RepresentationLaw:
    REPRESENTATION_LAWS[law.__name__] = law
    return law


def _total(case: RepresentationCase, rows: Any, weights: Any = None) -> Any:
    return case.model.representation.total(rows, weights, Outcomes())


def _measured(case: RepresentationCase, state: Any) -> NDArray[np.float64]:
    """What rows measure of a state, shape (n,)."""
    model = case.model.with_state(state)
    return np.asarray(np.exp(model.log_measured(case.rows(20, 9))[:, 0]))


def _assert_same_measured(case: RepresentationCase, actual: Any, expected: Any) -> None:
    left, right = _measured(case, actual), _measured(case, expected)
    size = np.abs(right).max() * case.tolerance + case.model.representation.noise
    assert_allclose(left, right, rtol=0, atol=size)


@_law
def states_of_parts_add_up(case: RepresentationCase) -> None:
    """The state of rows is the sum of the states of any parts of them."""
    rows = case.rows(40, 0)
    parts = np.array_split(np.random.default_rng(0).permutation(rows), 3)
    assert_same_state(sum(_total(case, part) for part in parts), _total(case, rows))


@_law
def rows_that_are_subtracted_were_never_seen(case: RepresentationCase) -> None:
    """A difference of states is the state of the rows that are left."""
    rows = case.rows(40, 0)
    left = _total(case, rows) - _total(case, rows[25:])
    assert_same_state(left, _total(case, rows[:25]), 1e-10)


@_law
def weights_are_copies(case: RepresentationCase) -> None:
    """A weight of k is k copies of the row."""
    rows, counts = case.rows(40, 0), np.arange(40) % 3
    weighted = _total(case, rows, counts.astype(float))
    assert_same_state(weighted, _total(case, np.repeat(rows, counts, axis=0)), 1e-10)


@_law
def scaled_states_measure_the_same(case: RepresentationCase) -> None:
    """Rows that all count less make the same density."""
    state = _total(case, case.rows(40, 0))
    _assert_same_measured(case, state.scale(0.3), state)
    assert_allclose(state.scale(0.3).weight, 0.3 * state.weight)


@_law
def states_measure_the_mean_of_their_parts(case: RepresentationCase) -> None:
    """What a state measures is the weighted mean of what its parts do."""
    if case.model.rank is not None or not case.model.representation.is_linear:
        return  # which is another one for every part
    rows = case.rows(40, 0)
    whole, first, second = (
        _measured(case, _total(case, part)) for part in (rows, rows[:10], rows[10:])
    )
    noise = case.model.representation.noise
    size = whole.max() * case.tolerance + 3 * noise
    assert_allclose(whole, (10 * first + 30 * second) / 40, rtol=0, atol=size)


@_law
def compact_states_measure_the_same(case: RepresentationCase) -> None:
    """The smallest state that predicts the same does."""
    state = _total(case, case.rows(40, 0))
    compact = case.model.representation.compact(state, None)
    _assert_same_measured(case, compact, state)


@_law
def states_survive_pickles(case: RepresentationCase) -> None:
    """A state that was pickled is the state."""
    state = _total(case, case.rows(40, 0))
    assert_same_state(pickle.loads(pickle.dumps(state)), state, 0)


@_law
def outcomes_stand_beside_each_other(case: RepresentationCase) -> None:
    """States of several outcomes keep each as it was."""
    if case.model.representation.shares_sums:
        return  # outcomes are of the same rows
    state = _total(case, case.rows(40, 0))
    both = state.beside(state.scale(2.0))
    assert both.n_outcomes == 2
    assert_same_state(both.outcome(0), state)
    assert_same_state(both.outcome(1), state.scale(2.0))
    spread = state.spread([1], 3)
    assert_same_state(spread.outcome(1), state)
    assert_allclose(spread.weight, [0, *state.weight, 0])


@_law
def memory_is_foreseen(case: RepresentationCase) -> None:
    """More outcomes and larger batches take more memory."""
    representation = case.model.representation
    small, large = (
        representation.memory(Load(k, rows, 3, 4)).total
        for k, rows in ((1, 1000), (50, 10**7))
    )
    assert 0 < small < large
