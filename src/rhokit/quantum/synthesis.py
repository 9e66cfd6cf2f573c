r"""Gates that prepare states of given amplitudes, from rotations and ``cx`` alone.

A state of q qubits is made qubit by qubit, from the most significant one on: each is
turned by an angle that depends on those before it, a *multiplexed rotation* (Möttönen,
Vartiainen, Bergholm and Salomaa, 2005). Of :math:`2^k` angles that k qubits choose
from, it takes :math:`2^k` rotations and as many ``cx``; a real state takes
:math:`2^q - 1` rotations, a complex one twice as many.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rhokit.quantum.circuit import Gate

# Rotations by less leave a state as it is.
_LEAST_ANGLE = 1e-14


def n_qubits_for(dim: int) -> int:
    """The fewest qubits whose states have so many amplitudes.

    Examples
    --------
    >>> [n_qubits_for(dim) for dim in (1, 2, 3, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    return (dim - 1).bit_length()


def padded(amplitudes: NDArray[np.number]) -> NDArray[np.number]:
    """Amplitudes with zeros at the ends of all axes, up to powers of two."""
    wanted = [(0, (1 << n_qubits_for(size)) - size) for size in amplitudes.shape]
    return np.pad(amplitudes, wanted)


def prepare(amplitudes: NDArray[np.number]) -> list[Gate]:
    r"""Gates that take zeros to :math:`\sum_j a_j |j\rangle`, up to a global phase.

    Parameters
    ----------
    amplitudes : array of shape (2^q,)
        Real or complex, brought to length one.

    Examples
    --------
    >>> import numpy as np
    >>> prepare(np.array([1.0, 0.0, 0.0, 1.0]))[0].name
    'ry'
    >>> len(prepare(np.ones(8)))  # as even as it is, no two qubits are entangled
    3
    """
    q = n_qubits_for(len(amplitudes))
    is_complex = np.iscomplexobj(amplitudes) and np.abs(amplitudes.imag).max() > 0
    bottom = np.abs(amplitudes) if is_complex else amplitudes.real
    lengths = [bottom.astype(float)]  # of the parts that more and more qubits choose
    for _ in range(q):
        lengths.append(np.hypot(lengths[-1][::2], lengths[-1][1::2]))
    gates: list[Gate] = []
    for target in reversed(range(q)):
        zero, one = lengths[target][::2], lengths[target][1::2]
        angles = 2 * np.arctan2(one, zero)
        gates += multiplexed("ry", angles, range(target + 1, q), target)
    if is_complex:
        gates += _phases(np.angle(amplitudes).astype(float), q)
    return _without_pairs(gates)


def _phases(phases: NDArray[np.float64], q: int) -> list[Gate]:
    """Gates that multiply amplitudes by phases (2^q,), up to a global one."""
    gates: list[Gate] = []
    for target in range(q):
        zero, one = phases[::2], phases[1::2]
        gates += multiplexed("rz", one - zero, range(target + 1, q), target)
        phases = (zero + one) / 2  # what is left to do for the other qubits
    return gates


def multiplexed(
    name: str, angles: NDArray[np.float64], controls: Sequence[int], target: int
) -> list[Gate]:
    """A rotation by the angle (2^k,) that the controls choose, the first one lowest.

    Between rotations by mean angles, ``cx`` in the order of a Gray code turn the sense
    of those to come.
    """
    k = len(controls)
    steps = np.arange(1 << k)
    gray = steps ^ (steps >> 1)
    means = _with_all_signs(angles)[gray] / len(steps)
    gates = []
    for step, angle in enumerate(means.tolist()):
        if abs(angle) > _LEAST_ANGLE:
            gates.append(Gate(name, (target,), angle))
        if k:
            changed = int(gray[step] ^ gray[(step + 1) % len(steps)]).bit_length() - 1
            gates.append(Gate("cx", (controls[changed], target)))
    return _without_pairs(gates)


def _with_all_signs(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Sums :math:`\sum_j (-1)^{i \cdot j} \theta_j`: a fast Hadamard transform."""
    found, half = angles, 1
    while half < len(angles):
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        half *= 2
    return found.reshape(-1)


def _without_pairs(gates: list[Gate]) -> list[Gate]:
    """The gates without pairs of equal ``cx`` that nothing stands between."""
    kept: list[Gate] = []
    for gate in gates:
        partner = _last_on(kept, gate) if gate.name == "cx" else None
        if partner is None:
            kept.append(gate)
        else:
            del kept[partner]
    return kept


def _last_on(kept: list[Gate], gate: Gate) -> int | None:
    """Where an equal gate stands that only gates with the same target follow.

    ``cx`` with one target commute.
    """
    for place in range(len(kept) - 1, -1, -1):
        other = kept[place]
        if other == gate:
            return place
        if other.name != "cx" or other.qubits[1] != gate.qubits[1]:
            return None
    return None


def controlled_swap(control: int, left: int, right: int) -> list[Gate]:
    """Gates that exchange two qubits where a third one is one: eight ``cx``."""
    inner = _toffoli(control, left, right)
    return [Gate("cx", (right, left)), *inner, Gate("cx", (right, left))]


def _toffoli(first: int, second: int, target: int) -> list[Gate]:
    """Gates that turn a qubit over where two others are one: six ``cx``."""
    return [
        Gate("h", (target,)),
        Gate("cx", (second, target)),
        Gate("tdg", (target,)),
        Gate("cx", (first, target)),
        Gate("t", (target,)),
        Gate("cx", (second, target)),
        Gate("tdg", (target,)),
        Gate("cx", (first, target)),
        Gate("t", (second,)),
        Gate("t", (target,)),
        Gate("h", (target,)),
        Gate("cx", (first, second)),
        Gate("t", (first,)),
        Gate("tdg", (second,)),
        Gate("cx", (first, second)),
    ]
