"""Density matrices of classes from bags of rows, of which only the shares are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import DensityMatrix, onehot_states
from rhokit.core.density_matrix import pad_and_stack
from rhokit.core.spectrum import eigen_factor
from rhokit.fast import small_algebra
from rhokit.models.model import Model
from rhokit.representations import Outcomes

Floats = NDArray[np.float64]
# Numbers of the bags' sums that are held at once.
_AT_ONCE = 2**25


@dataclass(frozen=True, eq=False)
class Bags:
    """Which bag each row is in, and what each bag is made of.

    Parameters
    ----------
    codes : array of shape (n,)
        Places of the rows' bags.
    shares : array of shape (B, K)
        Of the classes, with sum one in every bag.
    """

    codes: NDArray[np.intp]
    shares: Floats

    def mass(self, batch: Batch) -> Floats:
        """Weight of each bag's rows, shape (B,)."""
        found = np.bincount(self.codes, batch.weights, len(self.shares))
        return np.asarray(found, dtype=np.float64)

    def can_tell(self, batch: Batch, kept: NDArray[np.bool_]) -> bool:
        """Whether bags that are kept (B,) are enough to tell all classes."""
        scaled, seen, _ = self._scaled(batch, kept)
        return bool(seen.all() and np.linalg.matrix_rank(scaled) == len(seen))

    def _scaled(
        self, batch: Batch, kept: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        """Shares of the classes that occur, by roots of weights; which; the roots."""
        mass = np.where(kept, self.mass(batch), 0)
        roots, seen = np.sqrt(mass), mass @ self.shares > 0
        return self.shares[:, seen] * roots[:, None], seen, roots

    def take(self, batch: Batch, chosen: NDArray[np.bool_]) -> tuple[Batch, Bags]:
        """Rows of some of the bags (B,), and these bags."""
        which = chosen[self.codes]
        places = np.cumsum(chosen) - 1
        bags = Bags(places[self.codes[which]], self.shares[chosen])
        return batch.take(which), bags

    def unmixing(self, batch: Batch, kept: NDArray[np.bool_]) -> Floats:
        r"""What bags' means are multiplied by to be those of classes, shape (K, B).

        The least squares of :math:`\sigma_b = \sum_k s_{bk}\rho_k` over the bags that
        are kept (B,), each by its weight: :math:`(S^\top N S)^+ S^\top N`. Its rows sum
        to one.
        """
        scaled, seen, roots = self._scaled(batch, kept)
        if np.linalg.matrix_rank(scaled) < scaled.shape[1]:
            raise ValueError(
                f"proportions must tell {scaled.shape[1]} classes apart, but in all "
                "bags the shares of some classes follow from those of others: give "
                "more bags, of other shares"
            )
        found = np.zeros((self.shares.shape[1], len(roots)))
        found[seen] = np.linalg.pinv(scaled) * roots
        return found


def model_of_bags(model: Model, batch: Batch, bags: Bags) -> Model:
    r"""A model whose classes are the least squares of what bags are made of.

    Rows of a class are taken to be alike in all bags, so that the density matrix of a
    bag is :math:`\sigma_b = \sum_k s_{bk}\rho_k`. That is solved for the
    :math:`\rho_k` in closed form; what is negative of them is cut off, and their traces
    are restored.

    Parameters
    ----------
    model : Model
        Whose plan and read-out are chosen; it may hold no rows.
    batch : Batch
    bags : Bags
    """
    whole = np.ones(len(bags.shares), dtype=bool)
    return models_of_bags(model, batch, bags, [whole])[0]


def models_of_bags(
    model: Model, batch: Batch, bags: Bags, kept: Sequence[NDArray[np.bool_]]
) -> list[Model]:
    """Models of several choices (B,) of the bags, in one pass over the rows."""
    representation: Any = model.representation
    mixings = np.concatenate([bags.unmixing(batch, which) for which in kept])
    mixed = _mixed_means(model, batch, bags, mixings)
    rho = representation.density_matrix(mixed).normalized()
    with small_algebra(rho.shape[-1]):
        factors = pad_and_stack([_positive(matrix) for matrix in rho])
    models = []
    for which, own in zip(kept, np.split(factors, len(kept)), strict=True):
        weight = np.where(which, bags.mass(batch), 0) @ bags.shares
        state = representation.state_of_factor(own, weight).summed()
        models.append(model.with_state(state, sample=None, kept=None))
    return models


def _mixed_means(
    model: Model, batch: Batch, bags: Bags, shares: Floats
) -> DensityMatrix:
    """Weighted sums (K) of the bags' means, by shares (K, B) that may be negative."""
    mass = bags.mass(batch)
    scaled = shares / np.where(mass > 0, mass, 1)
    size = model.plan.feature_map.n_columns_
    total: Any = 0.0
    for first, rows, codes in _in_parts(batch, bags, max(1, _AT_ONCE // size**2)):
        count = int(codes.max()) + 1
        roots_of = partial(_members, codes, count)
        outcomes = Outcomes(count, roots_of, np.arange(len(codes)))
        found = model.representation.total(rows.rows, rows.weights, outcomes)
        total = total + np.tensordot(scaled[:, first : first + count], found.total, 1)
    return DensityMatrix(total, np.ones(len(shares)))


def _members(codes: NDArray[np.intp], count: int, which: Any) -> Floats:
    """One-hot places of rows."""
    return np.asarray(onehot_states(codes[which], count))


def _in_parts(
    batch: Batch, bags: Bags, most: int
) -> Iterator[tuple[int, Batch, NDArray[np.intp]]]:
    """Rows of so many bags at most, with the first bag and the bags' places from it."""
    order = np.argsort(bags.codes, kind="stable")
    codes = bags.codes[order]
    for first in range(0, len(bags.shares), most):
        start, stop = np.searchsorted(codes, [first, first + most])
        if stop > start:
            yield first, batch.take(order[start:stop]), codes[start:stop] - first


def _positive(matrix: NDArray[np.complexfloating] | Floats) -> NDArray[np.floating]:
    """A factor of the positive part of a Hermitian matrix, with the whole's trace."""
    factor = eigen_factor((matrix + matrix.conj().T) / 2)
    trace, kept = np.trace(matrix).real, np.vdot(factor, factor).real
    return np.asarray(factor * np.sqrt(max(trace, 0) / kept) if kept > 0 else factor)


def share_error(model: Model, batch: Batch, bags: Bags) -> float:
    """Squared error of bags' shares, by the labels that are predicted for their rows.

    The mean over bags by their weights, of rows that the model has not seen. Labels
    are counted as they are: probabilities under a wide kernel are modest, and right.
    """
    logs = model.readout.log_probabilities(model, batch.rows)
    sums = np.zeros(bags.shares.shape)
    np.add.at(sums, (bags.codes, logs.argmax(axis=1)), batch.mass)
    mass = bags.mass(batch)
    found = sums / np.where(mass > 0, mass, 1)[:, None]
    return float(mass @ ((found - bags.shares) ** 2).sum(axis=1) / mass.sum())
