"""Fitted models as quantum circuits: OpenQASM 3, Qiskit, PennyLane.

States of rows are encoded into amplitudes, density matrices are purified, and overlaps
are measured by the inversion or the swap test. The gates are rhokit's own, so that the
text of a circuit needs no package; running it here takes ``rhokit[quantum]``.
"""

from rhokit.quantum.backends import BACKENDS, Depolarising
from rhokit.quantum.circuit import Circuit, Gate, Resources
from rhokit.quantum.model import CircuitModel
from rhokit.quantum.run import CircuitRun
from rhokit.quantum.synthesis import prepare

__all__ = [
    "BACKENDS",
    "Circuit",
    "CircuitModel",
    "CircuitRun",
    "Depolarising",
    "Gate",
    "Resources",
    "prepare",
]
