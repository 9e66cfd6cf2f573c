r"""Measuring states with factored density matrices, many models at once.

Leading axes are those of the models, and broadcast: states ``(..., n, D)`` and
factors ``(..., K, r, D)`` with :math:`\rho_k = A_k^\dagger A_k`.
"""

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, conj, squared_modulus


def amplitudes(states: Array, factor: Array) -> Array:
    r""":math:`A_k \phi` of every state and outcome, shape (..., n, K, r)."""
    xp = array_namespace(states)
    *models, n_outcomes, rank, dim = factor.shape
    flat = xp.reshape(factor, (*models, n_outcomes * rank, dim))
    product = states @ flat.mT  # one product for all outcomes
    return xp.reshape(product, (*product.shape[:-1], n_outcomes, rank))


def factor_born(states: Array, factor: Array) -> Array:
    r"""Born rule :math:`\phi^\dagger\rho_k\phi = \|A_k\phi\|^2`, shape (..., n, K)."""
    xp = array_namespace(states)
    return xp.sum(squared_modulus(amplitudes(states, factor)), axis=-1)


def reduced_states(states: Array, factor: Array) -> Array:
    r"""State that measuring the inputs leaves of a joint one: shape (..., n, D_Y, D_Y).

    .. math:: \mathrm{Tr}_X[\pi_x \rho\, \pi_x], \qquad
              \pi_x = \phi(x)\phi(x)^\dagger \otimes I,

    for states of length one and not scaled to trace one, with the joint state's factor
    :math:`A \in \mathbb{C}^{r \times D D_Y}`, given as ``factor`` (..., D_Y, r, D).
    Its diagonal is what :func:`factor_born` measures.
    """
    parts = amplitudes(states, factor)
    return conj(parts) @ parts.mT


def factor_trace(factor: Array) -> Array:
    r""":math:`\mathrm{tr}\,\rho_k = \|A_k\|_F^2`, shape (..., K)."""
    xp = array_namespace(factor)
    return xp.sum(squared_modulus(factor), axis=(-2, -1))
