"""Eigenvalues of density matrices, and how many of them to keep."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from array_api_compat import array_namespace, device

from rhokit.core.arrays import Array, adjoint, eps

Rank: TypeAlias = int | float | Literal["elbow"] | None


def choose_rank(
    eigenvalues: Array, rank: Rank = None, energy: float | None = None
) -> int:
    r"""How many of the leading eigenvalues to keep.

    Parameters
    ----------
    eigenvalues : array of shape (D,)
        In descending order, non-negative.
    rank : int, float, "elbow" or None
        A count; a fraction of the dimension in (0, 1]; or the elbow of the
        cumulative spectrum, the point farthest above its chord. That point is
        where eigenvalues fall below their mean :math:`\mathrm{tr}\rho/D`, which for
        unit states is the floor of random features: what lies below it is noise.
    energy : float in (0, 1], optional
        Keep the fewest eigenvalues whose sum reaches this share of the trace.

    Examples
    --------
    >>> import numpy as np
    >>> choose_rank(np.array([0.6, 0.3, 0.06, 0.04]), "elbow")
    2
    >>> choose_rank(np.array([0.6, 0.3, 0.06, 0.04]), energy=0.95)
    3
    """
    xp = array_namespace(eigenvalues)
    dim = eigenvalues.shape[0]
    if rank is not None and energy is not None:
        raise ValueError("give either rank or energy, not both")
    if energy is not None:
        if not 0 < energy <= 1:
            raise ValueError(f"energy must lie in (0, 1], got {energy!r}")
        wanted = energy * (1 - 1e-12) * xp.sum(eigenvalues)
        short = xp.sum(xp.astype(xp.cumulative_sum(eigenvalues) < wanted, xp.int64))
        return min(dim, int(short) + 1)
    if rank is None:
        return dim
    if isinstance(rank, str):
        if rank != "elbow":
            raise ValueError(f'rank must be a number, "elbow" or None, got {rank!r}')
        above = eigenvalues > xp.mean(eigenvalues)
        return max(1, int(xp.sum(xp.astype(above, xp.int64))))
    if isinstance(rank, Integral) and rank >= 1:
        return min(int(rank), dim)
    if isinstance(rank, Real) and not isinstance(rank, Integral) and 0 < rank <= 1:
        return max(1, math.ceil(rank * dim))
    raise ValueError(
        f"rank must be an int >= 1, a fraction in (0, 1] or 'elbow', got {rank!r}"
    )


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of density matrices, one per outcome, and how many are kept.

    Parameters
    ----------
    eigenvalues : array of shape (K, r)
        Descending, without those that a factor has lost.
    dim : int
        D, the dimension of the states.
    ranks : tuple of int, of length K, optional
        How many eigenvalues are kept; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> found = Spectrum(np.array([[0.5, 0.5, 0.0]]), 3, ranks=(1,))
    >>> found.effective_rank.round(6), found.kept
    (array([2.]), [0.5])
    """

    eigenvalues: Array  # (K, r)
    dim: int
    ranks: tuple[int, ...] | None = None

    @property
    def fractions(self) -> Array:
        """Eigenvalues as fractions of their traces, shape (K, r)."""
        return spectral_fractions(self.eigenvalues)

    @property
    def entropy(self) -> Array:
        """Von Neumann entropy of each matrix at trace one in nats, shape (K,)."""
        return spectral_entropy(self.eigenvalues)

    @property
    def effective_rank(self) -> Array:
        """Number of directions that each state really uses, shape (K,)."""
        return spectral_rank(self.eigenvalues)

    @property
    def kept(self) -> list[float] | None:
        """Fraction of each trace that the ranks keep; NaN where there is no row."""
        if self.ranks is None:
            return None
        xp = array_namespace(self.eigenvalues)
        parts = []
        for k, rank in enumerate(self.ranks):
            values = self.eigenvalues[k, ...]
            total = float(xp.sum(values))
            parts.append(float(xp.sum(values[:rank])) / total if total else math.nan)
        return parts


def state_spectrum(state: Any, rank: Rank = None) -> Spectrum:
    """Eigenvalues of a state's density matrices, and how many of them are kept.

    Parameters
    ----------
    state : DensityMatrix or LowRankDensityMatrix
    rank : int, float, "elbow" or None
        The rank to cut at: see :func:`choose_rank`. Without it that of a factor.
    """
    values = state.eigenvalues()
    found = int(values.shape[1])
    if rank is None:
        kept = None if state.takes_rows or found == state.dim else found
        ranks = None if kept is None else (kept,) * state.n_outcomes
        return Spectrum(values, state.dim, ranks)
    # Fractions and the elbow are of the dimension; what a factor lacks is zero.
    xp = array_namespace(values)
    shape = (state.n_outcomes, state.dim - found)
    zeros = xp.zeros(shape, dtype=values.dtype, device=device(values))
    whole = xp.concat([values, zeros], axis=1)
    chosen = (choose_rank(whole[k, ...], rank) for k in range(state.n_outcomes))
    return Spectrum(values, state.dim, tuple(chosen))


def spectral_fractions(eigenvalues: Array) -> Array:
    """Spectra (..., r) brought to sum one; those of zeros stay."""
    xp = array_namespace(eigenvalues)
    total = xp.sum(eigenvalues, axis=-1)[..., None]
    return eigenvalues / xp.where(total > 0, total, xp.ones_like(total))


def spectral_entropy(eigenvalues: Array) -> Array:
    r"""Entropy :math:`-\sum_i p_i\log p_i` of spectra (..., r), brought to sum one.

    Zero where all eigenvalues are.
    """
    xp = array_namespace(eigenvalues)
    p = spectral_fractions(eigenvalues)
    return xp.sum(-p * xp.log(xp.where(p > 0, p, xp.ones_like(p))), axis=-1)


def spectral_rank(eigenvalues: Array) -> Array:
    """Effective rank of spectra (..., r): e to their entropy, 0 where all are zero."""
    xp = array_namespace(eigenvalues)
    rank = xp.exp(spectral_entropy(eigenvalues))
    seen = xp.sum(eigenvalues, axis=-1) > 0
    return xp.where(seen, rank, xp.zeros_like(rank))


def leading_eigenpairs(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, descending and clipped at zero, with eigenvectors as columns."""
    xp = array_namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    values = xp.flip(values, axis=-1)
    return xp.clip(values, 0, None), xp.flip(vectors, axis=-1)


def square_root_factor(matrix: Array) -> Array:
    r"""A factor ``A`` with :math:`A^\dagger A = \rho`, for one positive matrix.

    Cholesky with a shift of a few units of rounding, which costs a thirtieth of an
    eigendecomposition; that one serves where rounding made the matrix indefinite.
    """
    xp = array_namespace(matrix)
    largest = float(xp.max(xp.abs(xp.linalg.diagonal(matrix))))
    identity = xp.eye(matrix.shape[-1], dtype=matrix.dtype, device=device(matrix))
    shift = 64 * eps(matrix) * largest * identity
    try:
        return adjoint(xp.linalg.cholesky(matrix + shift))
    except (ValueError, RuntimeError):  # NumPy's and torch's "not positive definite"
        return eigen_factor(matrix)


def eigen_factor(
    matrix: Array, rank: Rank = None, energy: float | None = None
) -> Array:
    r"""``A = Λ^{1/2} V`` of the leading eigenpairs, shape (r, D).

    The eigenvalues are kept as they are: renormalising them would scale every
    density up by the share of the trace that was cut.
    """
    xp = array_namespace(matrix)
    values, vectors = leading_eigenpairs(matrix)
    kept = choose_rank(values, rank, energy)
    return xp.sqrt(values[:kept])[:, None] * adjoint(vectors[:, :kept])
