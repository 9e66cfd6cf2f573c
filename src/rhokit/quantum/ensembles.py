"""Density matrices of fitted models as states that a circuit can prepare.

A density matrix is no state of its own qubits. It is what is left of a larger pure
state when the other qubits are not looked at, its *purification*; or a mixture of its
eigenvectors, each of which is prepared by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core.spectrum import eigen_factor
from rhokit.fast import joint_factor, small_algebra
from rhokit.models import Model
from rhokit.quantum.synthesis import n_qubits_for

Floats = NDArray[np.float64]
# Eigenvalues below this part of the largest are rounding.
_ROUNDING = 1e-12
# Amplitudes of this many qubits are prepared within seconds.
MOST_QUBITS = 14


@dataclass(frozen=True, eq=False)
class Preparation:
    r"""A pure state of an environment, a label and an input, and how it counts.

    Parameters
    ----------
    amplitudes : array of shape (E, Y, D)
        Of length one.
    weight : float
        By which its probabilities are multiplied.
    outputs : array of shape (J, Y)
        States whose overlaps with the label are told, if there is one.
    scores : array of shape (J,), optional
        What the input alone counts for each of them, where its label is known.
    """

    amplitudes: NDArray[Any]
    weight: float
    outputs: Floats
    scores: Floats | None = None


@dataclass(frozen=True, eq=False)
class Ensemble:
    r"""What a model measures: :math:`\rho = \sum_k S_k \otimes \psi_k\psi_k^\top`.

    Parameters
    ----------
    factors : list of arrays of shape (r_k, D)
        ``A_k`` with :math:`A_k^\dagger A_k = S_k`.
    states : array of shape (K, D_Y)
        ψ, the states of the outcomes.
    outputs : array of shape (J, D_Y)
        States whose overlaps with the label are told.
    joint : array of shape (r, D_Y, D), optional
        Eigenvectors of the whole, where that was truncated as one, as long as the
        square roots of their eigenvalues.
    """

    factors: list[NDArray[Any]]
    states: Floats
    outputs: Floats
    joint: NDArray[Any] | None = None

    @classmethod
    def of(cls, model: Model, rank: Any) -> Ensemble:
        """The matrices that a model measures with, cut at a rank."""
        readout = model.readout
        states, outputs = readout.output_states(), readout.measured_outputs()
        priors = np.exp(readout.log_priors(model.weight))
        matrices = model.density_matrix().normalized() * priors[:, None, None]
        cut = readout.truncation(model)
        with small_algebra(matrices.shape[-1]):
            if cut is not None:
                joint = joint_factor(matrices, states, cut)
                return cls([], states, outputs, joint.transpose(0, 2, 1))
            factors = [_above_rounding(eigen_factor(each, rank)) for each in matrices]
        return cls(factors, states, outputs)

    def tensor(self) -> NDArray[Any]:
        """Amplitudes (E, D_Y, D) whose mixture over E is ρ, not of length one.

        Of orthogonal labels, which are measured in their own basis, the environment
        is shared: how they hang together is lost when they are read.
        """
        if self.joint is not None:
            return self.joint
        dim = self.factors[0].shape[1]
        dtype = np.result_type(*self.factors)
        ranks = [len(factor) for factor in self.factors]
        if is_identity(self.states) and is_identity(self.outputs):
            shared = np.zeros((max(ranks), len(ranks), dim), dtype)
            for k, factor in enumerate(self.factors):
                shared[: ranks[k], k] = np.conj(factor)
            return shared
        rows = np.concatenate([np.conj(factor) for factor in self.factors])
        return (
            self.states[np.repeat(range(len(ranks)), ranks)][:, :, None]
            * (rows[:, None, :])
        )

    def purified(self) -> Iterator[Preparation]:
        """One state of which all matrices are parts."""
        tensor = self.tensor()
        weight = float(np.vdot(tensor, tensor).real)
        qubits = sum(map(n_qubits_for, tensor.shape))
        if qubits > MOST_QUBITS:
            raise ValueError(
                f"the purification of this model needs {qubits} qubits, more than "
                f"{MOST_QUBITS}: fit it with fewer n_components, give a smaller rank, "
                "or take preparation='eigenvectors'"
            )
        yield Preparation(tensor / np.sqrt(weight), weight, self.outputs)

    def eigenvectors(self) -> Iterator[Preparation]:
        """A state for every eigenvector of every outcome."""
        if self.joint is not None:
            raise ValueError(
                "preparation='eigenvectors' is of models that keep a matrix for each "
                "label, not of one with a joint_rank: take 'purification'"
            )
        mixing = (self.outputs @ self.states.T) ** 2  # (J, K)
        for k, factor in enumerate(self.factors):
            for row in factor:
                weight = float(np.vdot(row, row).real)
                amplitudes = np.conj(row)[None, None] / np.sqrt(weight)
                yield Preparation(amplitudes, weight, self.outputs, mixing[:, k])


PREPARATIONS: dict[str, Callable[[Ensemble], Iterator[Preparation]]] = {
    "purification": Ensemble.purified,
    "eigenvectors": Ensemble.eigenvectors,
}


def is_identity(states: Floats) -> bool:
    """Whether states are the basis itself."""
    return states.shape[0] == states.shape[1] and np.array_equal(
        states, np.eye(len(states))
    )


def _above_rounding(factor: NDArray[Any]) -> NDArray[Any]:
    """The rows (r, D) of a factor, largest first, that are not rounding."""
    values = np.vecdot(factor, factor).real
    return factor[values > _ROUNDING * max(values.max(), np.finfo(float).tiny)]
