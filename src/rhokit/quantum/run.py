"""Outcomes of circuits as densities and probabilities, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.quantum.overlaps import OverlapCircuit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """What the circuits of one row tell: mean scores, and how sure they are.

    Parameters
    ----------
    mean : array of shape (J,)
    covariance : array of shape (J, J)
        Of the means, from the shots themselves; zero of exact probabilities.
    """

    mean: Floats
    covariance: Floats

    @classmethod
    def of(
        cls,
        circuits: Sequence[OverlapCircuit],
        frequencies: Sequence[Floats],
        shots: Sequence[int] | None,
    ) -> Measured:
        """Weighted means over circuits that were run apart."""
        n_results = circuits[0].scores.shape[1]
        mean, covariance = np.zeros(n_results), np.zeros((n_results, n_results))
        for place, (circuit, found) in enumerate(
            zip(circuits, frequencies, strict=True)
        ):
            scores = circuit.scores
            own = found @ scores
            mean += circuit.weight * own
            if shots is None:
                continue
            spread = (scores * found[:, None]).T @ scores - np.outer(own, own)
            # What was seen in no shot, or in all, is as unsure as one shot.
            most = np.abs(scores).max(axis=0) ** 2
            least = most * (1 - 1 / shots[place]) / shots[place]
            places = np.diag_indices(n_results)
            spread[places] = np.maximum(spread[places], least)
            covariance += circuit.weight**2 * spread / shots[place]
        return cls(mean, covariance)


@dataclass(frozen=True, eq=False)
class CircuitRun:
    r"""Answers of circuits, with the errors that a finite number of shots leaves.

    Of N shots of which a fraction p says yes, the standard error is
    :math:`\sqrt{p(1-p)/N}`; errors of means over several circuits add in squares, and
    those of probabilities follow to first order. Noise is no part of them: it moves
    the answers themselves.

    Parameters
    ----------
    measured : array of shape (n, J)
        :math:`\pi_k\,\phi^\dagger\rho_k\phi` at rows' states of length one.
    covariance : array of shape (n, J, J)
    log_units : array of shape (n,)
        Logarithm of what brings them to the user's units.
    priors : array of shape (J,)
        What is answered where nothing was measured.
    adds_up : bool
        Whether the results sum up to the density of the row.
    classes : array of shape (J,), optional
    shots : int, optional
    """

    measured: Floats
    covariance: Floats
    log_units: Floats
    priors: Floats
    adds_up: bool
    classes: NDArray[Any] | None
    shots: int | None

    @property
    def density(self) -> Floats:
        """Density of each row in the user's units, (n,); by chance it may be < 0."""
        self._refuse_overlapping()
        return np.asarray(self.measured.sum(axis=1) * np.exp(self.log_units))

    @property
    def density_error(self) -> Floats:
        """Standard errors of :attr:`density`, shape (n,)."""
        self._refuse_overlapping()
        variance = self.covariance.sum(axis=(1, 2))
        return np.sqrt(np.maximum(variance, 0)) * np.exp(self.log_units)

    def _refuse_overlapping(self) -> None:
        if not self.adds_up:
            raise AttributeError(
                "overlapping labels and truncated joint matrices do not add up to the "
                "density of the row: ask for probabilities"
            )

    @property
    def probabilities(self) -> Floats:
        """Probabilities of the classes (n, J); the priors where no shot says more."""
        kept = np.maximum(self.measured, 0)
        total = kept.sum(axis=1, keepdims=True)
        safe = np.where(total > 0, total, 1)
        return np.where(total > 0, kept / safe, self.priors / self.priors.sum())

    @property
    def probability_error(self) -> Floats:
        """Standard errors of :attr:`probabilities`; infinite where no shot counts."""
        found = self.probabilities  # p = m / Σm, so dp = (dm - p Σdm) / Σm
        total = np.maximum(self.measured, 0).sum(axis=1)[:, None, None]
        slope = np.eye(found.shape[1]) - found[:, :, None]
        spread = slope @ self.covariance @ slope.transpose(0, 2, 1)
        errors = np.sqrt(np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = errors / total[:, :, 0]
        return np.where(total[:, :, 0] > 0, errors, np.inf)

    @property
    def labels(self) -> NDArray[Any]:
        """The likeliest class of each row, shape (n,)."""
        if self.classes is None:
            raise AttributeError("a density has no classes")
        return self.classes[self.probabilities.argmax(axis=1)]
