r"""Training in the coordinates of the data's own density matrix.

States of data lie close to few directions, and an optimiser that treats all directions
alike spends most of its steps on the long ones. In the coordinates

.. math:: z = M^\top\phi, \qquad M = V\,(\Lambda + \epsilon)^{-1/2}, \qquad
          \frac1N\sum_i \phi(x_i)\phi(x_i)^\dagger = V \Lambda V^\dagger,

all are about equally long. The model stays the same, since :math:`A\phi = Bz` with
:math:`A = B M^\top`; only the optimiser sees :math:`B`. The decomposition is made once,
before training: no gradient passes through it.
"""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rhokit.core import normalize_states
from rhokit.features import FeatureMap
from rhokit.nn.feature_layer import FeatureLayer
from rhokit.nn.heads import Head

# What is added to the squared lengths of directions, in units of their mean: the more,
# the fewer rows there are for a direction, so that short ones are learned last.
_LEAST_RIDGE = 0.1
_RIDGE_PER_ROW = 10.0
# Smaller eigenvalues, as shares of the largest, are rounding.
_ROUNDING = 1e-10
# Length of the rows that a factor lacks, as a share of the others'.
_SMALL = 0.03


class Preconditioned(FeatureLayer):
    """States of another layer, in other coordinates: ``basis`` has shape (D, D')."""

    basis: Tensor

    def __init__(self, features: FeatureLayer, basis: Tensor) -> None:
        super().__init__()
        self.features = features
        self.gamma, self.n_features = features.gamma, features.n_features
        self.n_components = basis.shape[-1]
        self.register_buffer("basis", basis)

    def scaled(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """States of rows (..., n, d), and what was taken out of them."""
        states, log_scale = self.features.scaled(rows)
        return states @ self.basis, log_scale

    def mass_matrix(self) -> Tensor | None:
        """That of the layer, in these coordinates."""
        mass = self.features.mass_matrix()
        if mass is None:
            return None
        if not self.features.frozen:  # each mass is another one, maybe at one address
            return self._changed(mass)
        return self._remembered(lambda: self._changed(mass), mass)

    def _changed(self, mass: Tensor) -> Tensor:
        return self.basis.mT @ mass @ self.basis.conj()

    @property
    def state_dtype(self) -> torch.dtype:
        """That of the layer."""
        return self.features.state_dtype

    def to_map(self, like: Any, rows: NDArray[Any]) -> FeatureMap:
        """That of the layer."""
        return self.features.to_map(like, rows)


class Coordinates:
    """Coordinates in which states (n, D) with weights (n,) are round.

    Parameters
    ----------
    states : tensor of shape (n, D)
    weight : tensor of shape (n,), optional
        Of mean one.
    n_rows : float, optional
        Of how many rows these are a sample.

    Attributes
    ----------
    lengths : tensor of shape (D',)
    vectors : tensor of shape (D, D')
        Orthonormal directions that the data have.
    """

    def __init__(
        self,
        states: Tensor,
        weight: Tensor | None = None,
        n_rows: float | None = None,
    ) -> None:
        states = normalize_states(states).to(_wide(states))  # losses see no lengths
        weighted = states if weight is None else states * weight.to(states)[:, None]
        rho = weighted.mT @ states.conj() / len(states)
        values, vectors = torch.linalg.eigh(rho)
        # Directions that the data do not have are not learned.
        kept = values > _ROUNDING * values[-1]
        values, vectors = values[kept], vectors[:, kept].conj()
        # Signs by the data's own mean: those of eigenvectors mean nothing.
        vectors = vectors * _inverse_sign(weighted.mean(dim=0) @ vectors)
        n_rows = n_rows or len(states)
        ridge = max(_LEAST_RIDGE, _RIDGE_PER_ROW * len(values) / n_rows)
        lengths = (values + ridge * values.mean()).rsqrt()
        # The mean of ‖z‖² is one, as that of ‖φ‖² is.
        self.lengths = lengths / (values * lengths**2).sum().sqrt()
        self.vectors = vectors

    def precondition(self, head: Head, seed: int, *, at_random: bool) -> Head:
        """A copy of a head that computes the same from these coordinates.

        Rows that its factor lacks are drawn at random, and small, so that they can be
        learned; with ``at_random``, all rows are.
        """
        other = deepcopy(head)
        factor = head.measurement.factor.detach()
        rng = np.random.default_rng(seed)
        inside = _drawn(factor, len(self.lengths), rng)
        if not at_random:
            known = factor @ (self.vectors.conj() / self.lengths).to(factor)
            inside = _evened_out(known, inside, rng)
        basis = (self.vectors * self.lengths).to(factor)
        other.features = Preconditioned(other.features, basis)
        other.measurement.factor = nn.Parameter(_of_unit_rows(inside))
        other.measurement.lengths = self.lengths.to(factor.real)
        return other

    def undo(self, head: Head, trained: Head) -> None:
        """Give a head what was trained in these coordinates."""
        assert isinstance(trained.features, Preconditioned)
        head.features.load_state_dict(trained.features.features.state_dict())
        with torch.no_grad():
            factor = trained.measurement.factor @ trained.features.basis.mT
            head.measurement.factor.copy_(factor / _size(factor))


def _drawn(like: Tensor, dim: int, rng: np.random.Generator) -> Tensor:
    """Normal numbers of shape (..., K, r, dim), of length one per row on average."""
    shape = (*like.shape[:-1], dim)
    numbers = rng.normal(size=shape)
    if like.is_complex():
        numbers = (numbers + 1j * rng.normal(size=shape)) / 2**0.5
    return torch.from_numpy(numbers / dim**0.5).to(like)


def _evened_out(known: Tensor, drawn: Tensor, rng: np.random.Generator) -> Tensor:
    """The same states with rows of about equal length: (..., K, r, D'), rotated.

    Adam steps as far along a short row as along a long one, and rows made of
    eigenvectors have very different lengths. Their signs, which mean nothing, are
    fixed first, and rows of rounding give way to drawn ones, small beside the others.
    """
    sizes = known.abs().pow(2).sum(dim=-1, keepdim=True)  # (..., K, r, 1)
    there = sizes > _ROUNDING * sizes.amax(dim=-2, keepdim=True)
    means = sizes.mean(dim=-2, keepdim=True)
    # An outcome without rows has nothing but what is drawn.
    means = torch.where(means > 0, means, means.mean(dim=-3, keepdim=True))
    small = _SMALL * drawn * means.sqrt()
    rows = torch.where(there, _with_fixed_signs(known), small)
    shape = (*known.shape[:-2], known.shape[-2], known.shape[-2])
    rotations = np.linalg.qr(rng.normal(size=shape))[0]
    return torch.from_numpy(rotations).to(known) @ rows


def _with_fixed_signs(rows: Tensor) -> Tensor:
    """Rows whose largest entries are positive."""
    largest = rows.abs().argmax(dim=-1, keepdim=True)
    return rows * _inverse_sign(rows.gather(-1, largest))


def _inverse_sign(numbers: Tensor) -> Tensor:
    """Numbers of length one that make these positive."""
    sizes = numbers.abs()
    return torch.where(sizes > 0, numbers.conj() / sizes.clip(min=1e-300), 1)


def _of_unit_rows(factor: Tensor) -> Tensor:
    """Scaled so that rows have length one on average: the optimiser's unit of step."""
    n_rows = factor.shape[-3] * factor.shape[-2]
    return factor * (n_rows**0.5 / _size(factor))


def _size(factor: Tensor) -> Tensor:
    return factor.abs().pow(2).sum(dim=(-3, -2, -1), keepdim=True).sqrt()


def _wide(tensor: Tensor) -> Any:
    return torch.complex128 if tensor.is_complex() else torch.float64
