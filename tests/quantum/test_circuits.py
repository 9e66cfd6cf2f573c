"""Circuits as text and as other packages' are the same circuits."""

import numpy as np
import pennylane as qml
import pytest
import qiskit.qasm3
from qiskit.quantum_info import Statevector

from rhokit.quantum import Circuit, Depolarising, Gate
from rhokit.quantum.backends import BACKENDS
from tests.quantum.oracle import final_state, noisy_outcomes, outcomes

NAMES = ["h", "t", "tdg", "ry", "rz", "cx"]


def some_circuit(seed=0, n_gates=30):
    """All kinds of gates on two registers, and bits read in an order of their own."""
    rng = np.random.default_rng(seed)
    gates = []
    for name in [*NAMES, *rng.choice(NAMES, n_gates - len(NAMES))]:
        qubits = rng.permutation(3)[: 2 if name == "cx" else 1]
        angle = float(rng.normal()) if name in ("ry", "rz") else None
        gates.append(Gate(str(name), tuple(qubits.tolist()), angle))
    return Circuit((("row", 2), ("label", 0), ("beside", 1)), tuple(gates), (2, 0))


@pytest.fixture(scope="module")
def circuit():
    return some_circuit()


def test_text_is_read_by_a_parser(circuit):
    read = qiskit.qasm3.loads(circuit.to_qasm())
    assert [each.name for each in read.qregs] == ["row", "beside"]
    measured = [
        read.find_bit(each.qubits[0]).index
        for each in read.data
        if each.operation.name == "measure"
    ]
    assert measured == [2, 0]
    read.remove_final_measurements()
    found = Statevector(read).data
    np.testing.assert_allclose(found, final_state(circuit.gates, 3), atol=1e-12)


def test_objects_of_other_packages(circuit):
    wanted = final_state(circuit.gates, 3)
    made = circuit.to_qiskit(measure=False)
    np.testing.assert_allclose(Statevector(made).data, wanted, atol=1e-12)
    tape = qml.tape.QuantumScript(circuit.to_pennylane())
    matrix = qml.matrix(tape, wire_order=[2, 1, 0])
    np.testing.assert_allclose(matrix[:, 0], wanted, atol=1e-12)


def test_resources_are_counted_as_qiskit_does(circuit):
    made, mine = circuit.to_qiskit(measure=False), circuit.resources
    assert (mine.qubits, mine.depth, mine.gates) == (3, made.depth(), made.size())
    assert mine.two_qubit_gates == made.num_nonlocal_gates()


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_with_matrices(backend, circuit):
    others = [circuit, some_circuit(1)]
    for found, each in zip(
        BACKENDS[backend](others, None, None, 0), others, strict=True
    ):
        np.testing.assert_allclose(found, outcomes(each), atol=1e-12)
    noise = Depolarising(one_qubit=0.02, two_qubit=0.1)
    (found,) = BACKENDS[backend]([circuit], None, noise, 0)
    wanted = noisy_outcomes(circuit, 0.02, 0.1)
    assert np.abs(wanted - outcomes(circuit)).max() > 0.01
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    (found,) = BACKENDS[backend]([circuit], None, Depolarising(1, 1), 0)
    np.testing.assert_allclose(found, 0.25, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_shots_are_frequencies(backend, circuit):
    shots = [500, 4000, 500]
    found = BACKENDS[backend]([circuit] * 3, shots, None, 0)
    again = BACKENDS[backend]([circuit] * 3, shots, None, 0)
    wanted = outcomes(circuit)
    for number, each, same in zip(shots, found, again, strict=True):
        counts = each * number
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
        assert counts.sum() == pytest.approx(number)
        error = np.sqrt(wanted * (1 - wanted) / number)
        assert (np.abs(each - wanted) < 4 * error + 1e-12).all()
        np.testing.assert_array_equal(each, same)
    assert (found[0] != found[2]).any()
    noise = Depolarising(0.02, 0.1)
    (noisy,) = BACKENDS[backend]([circuit], [20_000], noise, 0)
    np.testing.assert_allclose(noisy, noisy_outcomes(circuit, 0.02, 0.1), atol=0.02)


def test_noise_is_a_share():
    with pytest.raises(ValueError, match=r"two_qubit must lie in \[0, 1\], got 1.5"):
        Depolarising(two_qubit=1.5)
