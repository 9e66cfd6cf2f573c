"""Eigenvalues of density matrices, and how many of them to keep."""

import math
from numbers import Integral, Real
from typing import Literal, TypeAlias

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
