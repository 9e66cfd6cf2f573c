"""Circuits as values: gates on qubits, as OpenQASM 3 text and as other packages'."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

INVERSES = {"t": "tdg", "tdg": "t"}
_PENNYLANE = {"h": "Hadamard", "t": "T", "ry": "RY", "rz": "RZ", "cx": "CNOT"}


class Gate(NamedTuple):
    """A gate of the set that circuits are made of: h, t, tdg, ry, rz and cx.

    Parameters
    ----------
    name : {"h", "t", "tdg", "ry", "rz", "cx"}
    qubits : tuple of int
        Of ``cx`` the control, then the target.
    angle : float, optional
        Of ``ry`` and ``rz``, in radians.
    """

    name: str
    qubits: tuple[int, ...]
    angle: float | None = None

    def inverse(self) -> "Gate":
        """The gate that undoes this one."""
        angle = None if self.angle is None else -self.angle
        return Gate(INVERSES.get(self.name, self.name), self.qubits, angle)


def inverted(gates: Sequence[Gate]) -> list[Gate]:
    """Gates that undo others, in the order in which they do."""
    return [gate.inverse() for gate in reversed(gates)]


def moved(gates: Iterable[Gate], places: Sequence[int]) -> list[Gate]:
    """The same gates on other qubits: qubit j becomes ``places[j]``."""
    return [
        gate._replace(qubits=tuple(places[qubit] for qubit in gate.qubits))
        for gate in gates
    ]


@dataclass(frozen=True)
class Resources:
    """What a circuit, or the largest of several, asks of a machine.

    Parameters
    ----------
    qubits : int
    depth : int
        Layers of gates that act at the same time.
    gates : int
    two_qubit_gates : int
        The gates among them, all ``cx``, that are slow and noisy.
    circuits : int
        How many circuits answer for one row.

    Examples
    --------
    >>> print(Resources(5, 40, 60, 20))
    5 qubits, depth 40, 60 gates, 20 of them on two qubits
    """

    qubits: int
    depth: int
    gates: int
    two_qubit_gates: int
    circuits: int = 1

    def __str__(self) -> str:
        text = (
            f"{self.qubits} qubits, depth {self.depth}, {self.gates} gates, "
            f"{self.two_qubit_gates} of them on two qubits"
        )
        return text if self.circuits == 1 else f"{self.circuits} circuits of {text}"


@dataclass(frozen=True, eq=False)
class Circuit:
    """Gates on registers of qubits that start in zero, and the qubits measured.

    Qubits are counted through the registers in their order. Of numbers that they
    stand for, the first is the least significant bit, as in OpenQASM and Qiskit.

    Parameters
    ----------
    registers : tuple of (str, int)
        Names and sizes.
    gates : tuple of Gate
    measured : tuple of int
        Qubits, in the order of the bits that they are read into.
    title : str
        Heads the text of the circuit.

    Examples
    --------
    >>> bell = Circuit((("q", 2),), (Gate("h", (0,)), Gate("cx", (0, 1))), (0, 1))
    >>> print(bell.to_qasm())
    OPENQASM 3.0;
    include "stdgates.inc";
    qubit[2] q;
    bit[2] outcome;
    h q[0];
    cx q[0], q[1];
    outcome[0] = measure q[0];
    outcome[1] = measure q[1];
    <BLANKLINE>
    >>> print(bell.resources)
    2 qubits, depth 2, 2 gates, 1 of them on two qubits
    """

    registers: tuple[tuple[str, int], ...]
    gates: tuple[Gate, ...]
    measured: tuple[int, ...]
    title: str = ""

    @property
    def n_qubits(self) -> int:
        """Qubits of all registers."""
        return sum(size for _, size in self.registers)

    @cached_property
    def resources(self) -> Resources:
        """Qubits, depth and gates; measurements are not counted."""
        layers = [0] * self.n_qubits
        for gate in self.gates:
            layer = 1 + max(layers[qubit] for qubit in gate.qubits)
            for qubit in gate.qubits:
                layers[qubit] = layer
        pairs = sum(len(gate.qubits) == 2 for gate in self.gates)
        return Resources(self.n_qubits, max(layers), len(self.gates), pairs)

    def to_qasm(self) -> str:
        """OpenQASM 3 text, which needs no package to be written."""
        names = [f"{name}[{i}]" for name, size in self.registers for i in range(size)]
        lines = ["OPENQASM 3.0;", 'include "stdgates.inc";']
        lines += [f"// {line}" for line in self.title.splitlines()]
        lines += [f"qubit[{size}] {name};" for name, size in self.registers if size]
        lines.append(f"bit[{len(self.measured)}] outcome;")
        for name, qubits, angle in self.gates:
            call = name if angle is None else f"{name}({angle!r})"
            lines.append(f"{call} {', '.join(names[qubit] for qubit in qubits)};")
        lines += [
            f"outcome[{bit}] = measure {names[qubit]};"
            for bit, qubit in enumerate(self.measured)
        ]
        return "\n".join([*lines, ""])

    def to_qiskit(self, *, measure: bool = True) -> Any:
        """The circuit as ``qiskit.QuantumCircuit``, without measurements if so asked.

        Needs qiskit: ``pip install rhokit[quantum]``.
        """
        qiskit = needed("qiskit", "to_qiskit")
        registers = [
            qiskit.QuantumRegister(size, name) for name, size in self.registers if size
        ]
        made = qiskit.QuantumCircuit(*registers)
        for name, qubits, angle in self.gates:
            arguments = qubits if angle is None else (angle, *qubits)
            getattr(made, name)(*arguments)
        if measure:
            bits = qiskit.ClassicalRegister(len(self.measured), "outcome")
            made.add_register(bits)
            made.measure(list(self.measured), bits)
        return made

    def to_pennylane(self) -> list[Any]:
        """The gates as PennyLane's operations, on wires named as qubits are counted.

        Needs pennylane: ``pip install rhokit[quantum]``.
        """
        qml = needed("pennylane", "to_pennylane")

        def operation(gate: Gate) -> Any:
            wires = list(gate.qubits)
            if gate.name == "tdg":
                return qml.adjoint(qml.T(wires))
            made = getattr(qml, _PENNYLANE[gate.name])
            return made(wires) if gate.angle is None else made(gate.angle, wires)

        with qml.QueuingManager.stop_recording():
            return [operation(gate) for gate in self.gates]


def largest(circuits: Sequence[Circuit]) -> Resources:
    """The most that any of several circuits asks for, and their number."""
    each = [circuit.resources for circuit in circuits]
    return Resources(
        max(one.qubits for one in each),
        max(one.depth for one in each),
        max(one.gates for one in each),
        max(one.two_qubit_gates for one in each),
        len(each),
    )


def needed(package: str, what: str) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{what} needs {package}: pip install 'rhokit[quantum]'"
        ) from error
