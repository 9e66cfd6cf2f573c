"""Quantum-information read-outs of density matrices.

Every function takes matrices of shape (..., D, D), or a state of rhokit's (then with
its outcome axis first), and answers with one number per matrix.
"""

from typing import Any

from array_api_compat import array_namespace, device

from rhokit.core.arrays import Array, adjoint, conj, eps, real, squared_modulus
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
    rho = at_trace_one(state)
    return _sum_of_squares(rho)


def von_neumann_entropy(state: State) -> Array:
    r""":math:`-\mathrm{tr}\,\rho\log\rho` at trace one, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(von_neumann_entropy(np.diag([0.5, 0.5]))), 6)
    0.693147
    """
    rho = at_trace_one(state)
    xp = array_namespace(rho)
    return spectral_entropy(xp.clip(xp.linalg.eigvalsh(rho), 0, None))


def effective_rank(state: State) -> Array:
    r""":math:`e^{S(\rho)}`: how many directions the state really uses."""
    return array_namespace(matrices_of(state)).exp(von_neumann_entropy(state))


def fidelity(left: State, right: State) -> Array:
    r"""Uhlmann fidelity :math:`\|\sqrt\rho\sqrt\sigma\|_1^2` at trace one, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> round(float(fidelity(np.diag([1.0, 0.0]), np.diag([0.5, 0.5]))), 6)
    0.5
    """
    rho, sigma = at_trace_one(left), at_trace_one(right)
    xp = array_namespace(rho)
    overlaps = xp.linalg.svdvals(_square_root(rho) @ _square_root(sigma))
    return xp.sum(overlaps, axis=-1) ** 2


def trace_distance(left: State, right: State) -> Array:
    r""":math:`\tfrac12\|\rho - \sigma\|_1`, in [0, 1] for matrices of trace one."""
    difference = matrices_of(left) - matrices_of(right)
    xp = array_namespace(difference)
    return xp.sum(xp.abs(xp.linalg.eigvalsh(difference)), axis=-1) / 2


def hilbert_schmidt_distance(left: State, right: State) -> Array:
    r""":math:`\|\rho - \sigma\|_F`, the maximum mean discrepancy of two data sets.

    It is the distance of their mean embeddings under the density's own kernel
    :math:`\langle\phi(x),\phi(y)\rangle^2 \approx e^{-\gamma\|x-y\|^2}`.
    """
    difference = matrices_of(left) - matrices_of(right)
    return array_namespace(difference).sqrt(_sum_of_squares(difference))


def relative_entropy(left: State, right: State) -> Array:
    r""":math:`S(\rho\|\sigma) = \mathrm{tr}\,\rho(\log\rho - \log\sigma)` in nats.

    How fast, per row that comes from ρ and is measured, evidence grows against σ: zero
    for equal states, not symmetric, and infinite where ρ has a share beyond rounding
    (the root of the machine epsilon) outside of what σ reaches.

    Examples
    --------
    >>> import numpy as np
    >>> even, odd = np.diag([0.5, 0.5]), np.diag([1.0, 0.0])
    >>> round(float(relative_entropy(odd, even)), 6), float(relative_entropy(even, odd))
    (0.693147, inf)
    """
    rho, sigma = at_trace_one(left), at_trace_one(right)
    decomposed = array_namespace(rho).linalg.eigh(sigma)
    return _relative(rho, von_neumann_entropy(rho), *decomposed)


def relative_entropies(states: State) -> Array:
    """Relative entropy of each state (row) to each (column), shape (K, K), in nats.

    The table of :func:`relative_entropy`, with one decomposition for each state.

    Parameters
    ----------
    states : matrices of shape (K, D, D), or a state

    Examples
    --------
    >>> import numpy as np
    >>> pair = np.stack([np.diag([0.5, 0.5]), np.diag([0.9, 0.1])])
    >>> relative_entropies(pair).round(3)
    array([[0.   , 0.511],
           [0.368, 0.   ]])
    """
    rho = at_trace_one(states)
    xp = array_namespace(rho)
    values, vectors = xp.linalg.eigh(rho)
    entropies = spectral_entropy(xp.clip(values, 0, None))
    columns = [
        _relative(rho, entropies, values[k, ...], vectors[k, ...])
        for k in range(rho.shape[0])
    ]
    return xp.stack(columns, axis=-1)


def holevo_bound(states: State, probabilities: Array | None = None) -> Array:
    r"""Holevo's :math:`\chi = S(\sum_k p_k\rho_k) - \sum_k p_k S(\rho_k)`, in nats.

    What any measurement of a state can tell, at most, about which of the ρ it was drawn
    from. It is the mutual information of the state and an orthogonal label, and the
    mean relative entropy of the ρ to their mixture.

    Parameters
    ----------
    states : matrices of shape (..., K, D, D), or a state
    probabilities : array of shape (..., K), optional
        Brought to sum one. Without them the weights of a state's outcomes; of plain
        matrices, all equal.

    Examples
    --------
    >>> import numpy as np
    >>> apart = np.stack([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    >>> round(float(holevo_bound(apart)), 6), float(holevo_bound(apart, [1, 0]))
    (0.693147, 0.0)
    """
    rho = at_trace_one(states)
    if rho.ndim < 3:
        raise ValueError(
            f"holevo_bound takes matrices of shape (..., K, D, D), got {rho.shape}"
        )
    xp = array_namespace(rho)
    entropies = von_neumann_entropy(rho)  # (..., K)
    if probabilities is None:
        probabilities = getattr(states, "weight", xp.ones_like(entropies))
    shares = xp.asarray(probabilities, dtype=entropies.dtype, device=device(rho))
    if shares.shape[-1] != rho.shape[-3]:
        raise ValueError(
            f"probabilities must be one for each of {rho.shape[-3]} matrices, got "
            f"shape {tuple(shares.shape)}"
        )
    shares = shares / xp.sum(shares, axis=-1)[..., None]
    mixture = xp.sum(xp.astype(shares, rho.dtype)[..., None, None] * rho, axis=-3)
    found = von_neumann_entropy(mixture) - xp.sum(shares * entropies, axis=-1)
    return xp.clip(found, 0, None)


def _relative(rho: Array, entropy: Array, values: Array, vectors: Array) -> Array:
    """Relative entropy of ρ, whose entropy is known, to σ by its eigenvectors."""
    xp = array_namespace(rho)
    weights = real(xp.sum(conj(vectors) * (rho @ vectors), axis=-2))  # (..., D)
    rounding = eps(values)
    least = values.shape[-1] * rounding * xp.max(values, axis=-1)[..., None]
    reached = values > least
    outside = xp.sum(xp.where(reached, xp.zeros_like(weights), weights), axis=-1)
    logs = xp.log(xp.where(reached, values, xp.ones_like(values)))
    found = xp.clip(-entropy - xp.sum(weights * logs, axis=-1), 0, None)
    return xp.where(outside > rounding**0.5, xp.full_like(found, xp.inf), found)


def matrices_of(state: State) -> Array:
    """The density matrices of a state, or the matrices themselves."""
    if isinstance(state, DensityMatrix | LowRankDensityMatrix):
        return state.normalized()
    shape: Any = tuple(state.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"a density matrix has shape (..., D, D), got {shape}")
    return state


def at_trace_one(state: State) -> Array:
    """Its matrices, divided by their traces."""
    rho = matrices_of(state)
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
