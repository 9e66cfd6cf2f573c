"""Quantum-information read-outs of density matrices.

Every function takes matrices of shape (..., D, D), or a state of rhokit's (then with
its outcome axis first), and answers with one number per matrix.
"""

from typing import Any

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, adjoint, real, squared_modulus
from rhokit.core.density_matrix import DensityMatrix, LowRankDensityMatrix
from rhokit.core.spectrum import spectral_entropy

State = DensityMatrix | LowRankDensityMatrix | Array


def purity(state: State) -> Array:
    r""":math:`\mathrm{tr}\rho^2` at trace one: 1 for a pure state, 1/D at the least.

    Examples
    --------
    >>> import numpy as np
    >>> float(purity(np.diag([0.5, 0.5])))
    0.5
    """
    rho = _trace_one(state)
    return _sum_of_squares(rho)


def von_neumann_entropy(state: State) -> Array:
    r""":math:`-\mathrm{tr}\,\rho\log\rho` at trace one, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(von_neumann_entropy(np.diag([0.5, 0.5]))), 6)
    0.693147
    """
    rho = _trace_one(state)
    xp = array_namespace(rho)
    return spectral_entropy(xp.clip(xp.linalg.eigvalsh(rho), 0, None))


def effective_rank(state: State) -> Array:
    r""":math:`e^{S(\rho)}`: how many directions the state really uses."""
    return array_namespace(_matrices(state)).exp(von_neumann_entropy(state))


def fidelity(left: State, right: State) -> Array:
    r"""Uhlmann fidelity :math:`\|\sqrt\rho\sqrt\sigma\|_1^2` at trace one, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> round(float(fidelity(np.diag([1.0, 0.0]), np.diag([0.5, 0.5]))), 6)
    0.5
    """
    rho, sigma = _trace_one(left), _trace_one(right)
    xp = array_namespace(rho)
    overlaps = xp.linalg.svdvals(_square_root(rho) @ _square_root(sigma))
    return xp.sum(overlaps, axis=-1) ** 2


def trace_distance(left: State, right: State) -> Array:
    r""":math:`\tfrac12\|\rho - \sigma\|_1`, in [0, 1] for matrices of trace one."""
    difference = _matrices(left) - _matrices(right)
    xp = array_namespace(difference)
    return xp.sum(xp.abs(xp.linalg.eigvalsh(difference)), axis=-1) / 2


def hilbert_schmidt_distance(left: State, right: State) -> Array:
    r""":math:`\|\rho - \sigma\|_F`, the maximum mean discrepancy of two data sets.

    It is the distance of their mean embeddings under the density's own kernel
    :math:`\langle\phi(x),\phi(y)\rangle^2 \approx e^{-\gamma\|x-y\|^2}`.
    """
    difference = _matrices(left) - _matrices(right)
    return array_namespace(difference).sqrt(_sum_of_squares(difference))


def partial_trace(state: State, dims: tuple[int, int], keep: int) -> Array:
    r"""Trace out one side of a bipartite state.

    Parameters
    ----------
    state : matrices of shape (..., D0·D1, D0·D1)
        With the index of the second factor running fastest, as ``kron`` gives it.
    dims : (D0, D1)
    keep : 0 or 1
        The factor that stays.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.diag([0.2, 0.8]), np.diag([0.5, 0.25, 0.25])
    >>> partial_trace(np.kron(a, b), (2, 3), keep=0)
    array([[0.2, 0. ],
           [0. , 0.8]])
    """
    rho = _matrices(state)
    xp = array_namespace(rho)
    first, second = dims
    if tuple(rho.shape[-2:]) != (first * second, first * second):
        raise ValueError(
            f"dims {dims} ask for a matrix of side {first * second}, "
            f"got shape {tuple(rho.shape)}"
        )
    if keep not in (0, 1):
        raise ValueError(f"keep must be 0 or 1, got {keep!r}")
    split = xp.reshape(rho, (*rho.shape[:-2], first, second, first, second))
    # The pair of axes that is traced goes last.
    lead = tuple(range(split.ndim - 4))
    base = len(lead)
    order = (0, 2, 1, 3) if keep == 0 else (1, 3, 0, 2)
    split = xp.permute_dims(split, lead + tuple(base + axis for axis in order))
    return xp.linalg.trace(split)


def _matrices(state: State) -> Array:
    if isinstance(state, DensityMatrix | LowRankDensityMatrix):
        return state.normalized()
    shape: Any = tuple(state.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"a density matrix has shape (..., D, D), got {shape}")
    return state


def _trace_one(state: State) -> Array:
    rho = _matrices(state)
    xp = array_namespace(rho)
    trace = real(xp.linalg.trace(rho))
    return rho / xp.astype(trace, rho.dtype)[..., None, None]


def _square_root(rho: Array) -> Array:
    xp = array_namespace(rho)
    values, vectors = xp.linalg.eigh(rho)
    roots = xp.astype(xp.sqrt(xp.clip(values, 0, None)), rho.dtype)
    return (vectors * roots[..., None, :]) @ adjoint(vectors)


def _sum_of_squares(matrix: Array) -> Array:
    return array_namespace(matrix).sum(squared_modulus(matrix), axis=(-2, -1))
