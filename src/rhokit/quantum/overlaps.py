r"""How overlaps are measured: :math:`\phi^\dagger\rho\,\phi` as a mean over outcomes.

**Inversion test.** Gates that would prepare φ are undone on the input's qubits; these
are then all zero with probability :math:`\phi^\dagger\rho\,\phi`.

**Swap test.** φ is prepared on qubits of its own, and one more qubit decides whether
they are exchanged with the input's; it is zero with probability
:math:`(1 + \phi^\dagger\rho\,\phi)/2`. Twice the qubits, and shots are spent on telling
a small number from one half.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhokit.quantum.circuit import Circuit, Gate, inverted, moved
from rhokit.quantum.ensembles import Floats, Preparation, is_identity
from rhokit.quantum.synthesis import (
    controlled_swap,
    n_qubits_for,
    padded,
    prepare,
)


@dataclass(frozen=True, eq=False)
class OverlapCircuit:
    """A circuit, and what each outcome of it says.

    Parameters
    ----------
    circuit : Circuit
    scores : array of shape (2^m, J)
        What an outcome of the m measured bits counts for each of the J results.
    weight : float
        By which the mean score is multiplied.
    """

    circuit: Circuit
    scores: Floats
    weight: float


@dataclass(frozen=True, eq=False)
class PreparedState:
    """Gates that prepare a state, and on which qubits its parts are."""

    preparation: Preparation
    gates: tuple[Gate, ...]
    n_input: int
    n_label: int
    n_environment: int

    @classmethod
    def of(cls, preparation: Preparation) -> "PreparedState":
        """The gates of a state: those of the input's qubits are the lowest."""
        table = padded(preparation.amplitudes)
        sizes = [n_qubits_for(size) for size in reversed(table.shape)]
        return cls(preparation, tuple(prepare(table.ravel())), *sizes)

    @property
    def inputs(self) -> list[int]:
        """Qubits of the input."""
        return list(range(self.n_input))

    @property
    def labels(self) -> list[int]:
        """Qubits of the label."""
        return list(range(self.n_input, self.n_input + self.n_label))

    @property
    def registers(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes of the registers."""
        named = ("input", "label", "environment")
        sizes = (self.n_input, self.n_label, self.n_environment)
        # "input" is a word of OpenQASM's own.
        names = ("row" if name == "input" else name for name in named)
        return tuple(zip(names, sizes, strict=True))

    def label_readings(self) -> Iterator[tuple[list[Gate], Floats]]:
        """Gates before the label is read, and scores (2^l, J) of what is read."""
        preparation = self.preparation
        outputs, size = preparation.outputs, 1 << self.n_label
        if preparation.scores is not None:
            yield [], preparation.scores[None]
        elif is_identity(outputs):
            yield [], np.eye(size, len(outputs))
        else:
            for j, state in enumerate(outputs):
                scores = np.zeros((size, len(outputs)))
                scores[0, j] = 1
                undone = inverted(prepare(padded(state)))
                yield moved(undone, self.labels), scores


def inversion_test(
    state: PreparedState, row: list[Gate], title: str
) -> Iterator[OverlapCircuit]:
    """The row's gates undone on the input: zeros are what counts."""
    undone = inverted(row)
    measured = (*state.inputs, *state.labels)
    for gates, of_label in state.label_readings():
        scores = np.zeros((1 << len(measured), of_label.shape[1]))
        scores[:: 1 << state.n_input] = of_label
        circuit = Circuit(
            state.registers, (*state.gates, *undone, *gates), measured, title
        )
        yield OverlapCircuit(circuit, scores, state.preparation.weight)


def swap_test(
    state: PreparedState, row: list[Gate], title: str
) -> Iterator[OverlapCircuit]:
    """The row beside the input, exchanged or not as one more qubit decides."""
    before = sum(size for _, size in state.registers)
    beside = [before + qubit for qubit in state.inputs]
    control = before + state.n_input
    swaps = [
        gate
        for left, right in zip(state.inputs, beside, strict=True)
        for gate in controlled_swap(control, left, right)
    ]
    turn = Gate("h", (control,))
    shared = (*state.gates, *moved(row, beside), turn, *swaps, turn)
    registers = (*state.registers, ("beside", state.n_input), ("control", 1))
    measured = (control, *state.labels)
    for gates, of_label in state.label_readings():
        scores: NDArray[np.float64] = np.repeat(of_label, 2, axis=0)
        scores[1::2] *= -1
        circuit = Circuit(registers, (*shared, *gates), measured, title)
        yield OverlapCircuit(circuit, scores, state.preparation.weight)


Overlap = Callable[[PreparedState, list[Gate], str], Iterator[OverlapCircuit]]
OVERLAP_TESTS: dict[str, Overlap] = {
    "inversion": inversion_test,
    "swap": swap_test,
}
