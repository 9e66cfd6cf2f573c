"""Gates prepare the states that they are made for, and are as few as is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhokit.quantum.circuit import inverted, moved
from rhokit.quantum.synthesis import controlled_swap, multiplexed, padded, prepare
from tests.quantum.oracle import applied, final_state, turn
from tests.support import random_array


def up_to_phase(found, wanted):
    """|⟨found|wanted⟩|, which is 1 for equal states."""
    return abs(np.vdot(found, wanted)) / np.linalg.norm(wanted)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 4),
    st.sampled_from(["float64", "complex128"]),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_any_state_is_prepared_and_undone(q, dtype, share_of_zeros, seed):
    rng = np.random.default_rng(seed)
    wanted = random_array(rng, 2**q, dtype)
    wanted[rng.random(2**q) < share_of_zeros] = 0
    wanted[rng.integers(2**q)] = -1
    gates = prepare(wanted)
    found = final_state(gates, q)
    assert up_to_phase(found, wanted) == pytest.approx(1, abs=1e-12)
    back = final_state([*gates, *inverted(gates)], q)
    assert abs(back[0]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_counts_of_gates_are_those_of_multiplexed_rotations(q):
    real = random_array(np.random.default_rng(q), 2**q)
    names = [gate.name for gate in prepare(real)]
    assert names.count("ry") == 2**q - 1
    assert names.count("cx") == 2**q - 2
    phases = np.exp(1j * np.random.default_rng(0).normal(size=2**q))
    names = [gate.name for gate in prepare(real * phases)]
    assert names.count("ry") == names.count("rz") == 2**q - 1
    assert names.count("cx") <= 2 * (2**q - 2)


def test_states_of_apart_qubits_need_no_cx():
    parts = np.random.default_rng(0).normal(size=(3, 2))
    whole = np.kron(np.kron(parts[2], parts[1]), parts[0])
    gates = prepare(np.abs(whole))
    assert {gate.name for gate in gates} == {"ry"}


@pytest.mark.parametrize("name", ["ry", "rz"])
def test_controls_choose_the_angle(name):
    angles = np.random.default_rng(0).normal(size=4)
    gates = multiplexed(name, angles, [2, 0], 1)
    for chosen in range(4):
        start = (chosen & 1) << 2 | chosen >> 1
        found = after(gates, start)[[start, start | 2]]
        np.testing.assert_allclose(found, turn(name, angles[chosen])[:, 0], atol=1e-12)


def test_a_controlled_swap_exchanges_two_qubits():
    # Qubits in another order than counted, so that none is taken for another.
    gates = moved(controlled_swap(0, 1, 2), [1, 2, 0])
    for start in range(8):
        control, left, right = start >> 1 & 1, start >> 2 & 1, start & 1
        swapped = control << 1 | right << 2 | left
        wanted = swapped if control else start
        assert abs(after(gates, start)[wanted]) == pytest.approx(1)


def after(gates, start):
    """What gates make of a basis state of three qubits."""
    state = np.eye(8, dtype=complex)[start]
    for gate in gates:
        state = applied(gate, state)
    return state


def test_dimensions_are_filled_up():
    assert padded(np.ones((3, 1, 5))).shape == (4, 1, 8)
    assert padded(np.ones((3, 1, 5))).sum() == 15
