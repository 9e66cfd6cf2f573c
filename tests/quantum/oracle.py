"""A slow simulator: few qubits, each gate by its matrix, the first qubit lowest."""

from itertools import product

import numpy as np

FIXED = {
    "h": np.array([[1, 1], [1, -1]]) / np.sqrt(2),
    "t": np.diag([1, np.exp(1j * np.pi / 4)]),
    "tdg": np.diag([1, np.exp(-1j * np.pi / 4)]),
}


def turn(name, angle):
    """The matrix of a gate on one qubit."""
    if name == "ry":
        c, s = np.cos(angle / 2), np.sin(angle / 2)
        return np.array([[c, -s], [s, c]])
    if name == "rz":
        return np.diag(np.exp([-0.5j * angle, 0.5j * angle]))
    return FIXED[name]


def applied(gate, state):
    """Amplitudes (2^q,) after a gate."""
    after = np.zeros_like(state)
    for j, amplitude in enumerate(state):
        if gate.name == "cx":
            control, target = gate.qubits
            after[j ^ ((j >> control & 1) << target)] += amplitude
        else:
            matrix, (target,) = turn(gate.name, gate.angle), gate.qubits
            low, bit = j & ~(1 << target), j >> target & 1
            after[low] += matrix[0, bit] * amplitude
            after[low | 1 << target] += matrix[1, bit] * amplitude
    return after


def final_state(gates, n_qubits):
    """Amplitudes (2^q,) after all gates."""
    state = np.eye(1, 2**n_qubits, dtype=complex)[0]
    for gate in gates:
        state = applied(gate, state)
    return state


def read(weights, measured):
    """Probabilities (2^m,) of some of the bits, from those of all."""
    found = np.zeros(2 ** len(measured))
    for j, weight in enumerate(weights):
        found[sum((j >> q & 1) << place for place, q in enumerate(measured))] += weight
    return found


def outcomes(circuit):
    """Probabilities (2^m,) of the measured bits."""
    state = final_state(circuit.gates, circuit.n_qubits)
    return read(np.abs(state) ** 2, circuit.measured)


def noisy_outcomes(circuit, one_qubit, two_qubit):
    """The same where qubits of a gate are wholly mixed with a probability."""
    dim = 2**circuit.n_qubits
    rho = np.zeros((dim, dim), dtype=complex)
    rho[0, 0] = 1
    for gate in circuit.gates:
        unitary = np.stack([applied(gate, row) for row in np.eye(dim) + 0j], axis=1)
        rho = unitary @ rho @ unitary.conj().T
        share = one_qubit if len(gate.qubits) == 1 else two_qubit
        rho = (1 - share) * rho + share * mixed(rho, gate.qubits)
    return read(rho.diagonal().real, circuit.measured)


def mixed(rho, qubits):
    """A density matrix whose state of some qubits is the identity's."""
    found, mask = np.zeros_like(rho), sum(1 << qubit for qubit in qubits)
    parts = [
        sum(bit << qubit for bit, qubit in zip(bits, qubits, strict=True))
        for bits in product((0, 1), repeat=len(qubits))
    ]
    for j, k in product(range(len(rho)), repeat=2):
        if j & mask == k & mask:
            rest = [rho[j & ~mask | part, k & ~mask | part] for part in parts]
            found[j, k] = np.mean(rest)
    return found
