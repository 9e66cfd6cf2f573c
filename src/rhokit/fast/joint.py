"""Leading eigenvectors of a joint state of inputs and outputs, never formed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh


def joint_factor(
    sums: NDArray[Any], outputs: NDArray[Any], rank: int, seed: int = 0
) -> NDArray[Any]:
    r"""Factor of the joint state of inputs and outputs, truncated to a rank.

    .. math:: \rho = \sum_k S_k \otimes \psi_k\psi_k^\top
              \approx \sum_{r} f_r f_r^\top

    Applying ρ to a vector costs ``K·D²``; the Kronecker product, of ``(D·D_Y)²``
    numbers, is never there. Eigenvalues are kept as they are.

    Parameters
    ----------
    sums : array of shape (K, D, D)
        One positive matrix per outcome, summing up to trace one.
    outputs : array of shape (K, D_Y)
        Output state of each outcome, real.
    rank : int
        Less than ``D·D_Y``.
    seed : int
        Of the vector that the iteration starts from.

    Returns
    -------
    factor : array of shape (r, D, D_Y)
    """
    dim, n_outputs = sums.shape[1], outputs.shape[1]

    def apply(vector: NDArray[Any]) -> NDArray[Any]:
        table = vector.reshape(dim, n_outputs)
        projected = table @ outputs.T  # (D, K)
        moved = [matrix @ projected[:, k] for k, matrix in enumerate(sums)]
        return (np.stack(moved, axis=1) @ outputs).ravel()

    size = dim * n_outputs
    operator = LinearOperator((size, size), matvec=apply, dtype=sums.dtype)
    start = np.random.default_rng(seed).normal(size=size).astype(sums.dtype)
    try:
        values, vectors = eigsh(operator, k=rank, v0=start)
    except ArpackError as error:  # nothing but zeros, or what is not finite
        raise ValueError(
            f"joint_rank: the joint matrix has no {rank} leading eigenvectors: {error}"
        ) from error
    order = np.argsort(values)[::-1]
    roots = np.sqrt(np.clip(values[order], 0, None))
    factor = roots[:, None] * vectors[:, order].T
    return factor.reshape(rank, dim, n_outputs)
