"""Simulators that run circuits: Qiskit Aer, and PennyLane's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.quantum.circuit import Circuit, needed

Floats = NDArray[np.float64]
_TURNS = ["h", "t", "tdg", "ry", "rz"]


@dataclass(frozen=True)
class Depolarising:
    r"""Noise after every gate: its qubits are, now and then, wholly mixed.

    After a gate on n qubits their state is

    .. math:: (1 - \lambda)\,\rho + \lambda\, I / 2^n,

    with another λ for gates on one qubit and on two. That is the simplest model of a
    machine's errors: reading out, waiting and crosstalk are perfect.

    Parameters
    ----------
    one_qubit, two_qubit : float in [0, 1]
        λ. A machine of today has about 0.0003 and 0.003 to 0.01.
    """

    one_qubit: float = 0.0003
    two_qubit: float = 0.005

    def __post_init__(self) -> None:
        for name, share in vars(self).items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {share!r}")


def run_on_aer(
    circuits: Sequence[Circuit],
    shots: Sequence[int] | None,
    noise: Depolarising | None,
    seed: int,
) -> list[Floats]:
    """Frequencies of outcomes (2^m,) of each circuit, on Qiskit Aer.

    Without shots they are probabilities, from the state vector; with noise, from the
    density matrix of the qubits.
    """
    aer = needed("qiskit_aer", "backend='aer'")
    options = {"noise_model": None if noise is None else _aer_noise(noise)}
    if shots is None:
        method = "statevector" if noise is None else "density_matrix"
        simulator = aer.AerSimulator(method=method, **options)
        made = [circuit.to_qiskit(measure=False) for circuit in circuits]
        for each, circuit in zip(made, circuits, strict=True):
            each.save_probabilities(list(circuit.measured))
        result = simulator.run(made, shots=1).result()
        return [
            np.asarray(result.data(place)["probabilities"])
            for place in range(len(circuits))
        ]
    simulator = aer.AerSimulator(seed_simulator=seed, **options)
    found: list[Floats] = [np.zeros(0)] * len(circuits)
    for number in sorted(set(shots)):
        places = [place for place, each in enumerate(shots) if each == number]
        made = [circuits[place].to_qiskit() for place in places]
        # Seeds of one run differ from circuit to circuit, those of runs must too.
        result = simulator.run(made, shots=number, seed_simulator=seed + number)
        for place, counts in zip(places, _as_list(result.result()), strict=True):
            frequencies = np.zeros(1 << len(circuits[place].measured))
            for outcome, count in counts.items():
                frequencies[int(outcome, 2)] = count / number
            found[place] = frequencies
    return found


def _as_list(result: Any) -> list[dict[str, int]]:
    """Counts of each circuit, which Qiskit does not give as a list of one."""
    counts = result.get_counts()
    return counts if isinstance(counts, list) else [counts]


def _aer_noise(noise: Depolarising) -> Any:
    models = needed("qiskit_aer.noise", "noise")
    made = models.NoiseModel()
    for share, size, names in (
        (noise.one_qubit, 1, _TURNS),
        (noise.two_qubit, 2, ["cx"]),
    ):
        if share > 0:
            error = models.depolarizing_error(share, size)
            made.add_all_qubit_quantum_error(error, names)
    return made


def run_on_pennylane(
    circuits: Sequence[Circuit],
    shots: Sequence[int] | None,
    noise: Depolarising | None,
    seed: int,
) -> list[Floats]:
    """Frequencies of outcomes (2^m,) of each circuit, on PennyLane's simulators.

    ``default.qubit``, and with noise ``default.mixed``.
    """
    qml = needed("pennylane", "backend='pennylane'")
    tapes = []
    for place, circuit in enumerate(circuits):
        operations = circuit.to_pennylane()
        if noise is not None:
            operations = _with_noise(operations, noise)
        # PennyLane's first wire is the most significant one.
        reading = qml.probs(wires=list(reversed(circuit.measured)))
        number = None if shots is None else shots[place]
        tapes.append(qml.tape.QuantumScript(operations, [reading], shots=number))
    if noise is None:
        device = qml.device("default.qubit", seed=seed)
    else:
        wires = max(circuit.n_qubits for circuit in circuits)
        device = qml.device("default.mixed", wires=wires, seed=seed)
    found = qml.execute(tapes, device, diff_method=None)
    return [np.asarray(each, dtype=np.float64) for each in found]


def _with_noise(operations: list[Any], noise: Depolarising) -> list[Any]:
    """Each operation, followed by the channel that its qubits go through."""
    qml = needed("pennylane", "noise")
    noisy = []
    for operation in operations:
        wires = list(operation.wires)
        share = noise.two_qubit if len(wires) == 2 else noise.one_qubit
        noisy.append(operation)
        if share > 0:
            kraus = _depolarising_kraus(share, len(wires))
            noisy.append(qml.QubitChannel(kraus, wires=wires))
    return noisy


@lru_cache(maxsize=8)
def _depolarising_kraus(share: float, n_qubits: int) -> list[NDArray[Any]]:
    """Products of Pauli matrices, of which the identity is the likeliest."""
    paulis = [
        np.eye(2),
        np.array([[0, 1], [1, 0]]),
        np.array([[0, -1j], [1j, 0]]),
        np.diag([1.0, -1.0]),
    ]
    even = share / 4**n_qubits
    made = []
    for place, factors in enumerate(product(paulis, repeat=n_qubits)):
        whole = np.eye(1)
        for factor in factors:
            whole = np.kron(whole, factor)
        made.append(np.sqrt(even + (1 - share if place == 0 else 0)) * whole)
    return made


Backend = Callable[
    [Sequence[Circuit], Sequence[int] | None, Depolarising | None, int], list[Floats]
]
BACKENDS: dict[str, Backend] = {"aer": run_on_aer, "pennylane": run_on_pennylane}
"""Simulators by name. A function of your own, with these arguments, may be added."""
