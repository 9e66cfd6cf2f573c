"""States of two parts, such as inputs and outputs: what each knows of the other.

Matrices have shape (..., D0·D1, D0·D1), with the index of the second part running
fastest, as ``kron`` gives it. Entropies are in nats.
"""

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, squared_modulus
from rhokit.core.information import (
    State,
    at_trace_one,
    matrices_of,
    von_neumann_entropy,
)
from rhokit.core.spectrum import spectral_entropy


def partial_trace(state: State, dims: tuple[int, int], keep: int) -> Array:
    r"""Trace out one side of a bipartite state.

    Parameters
    ----------
    state : matrices of shape (..., D0·D1, D0·D1)
        With the index of the second part running fastest, as ``kron`` gives it.
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
    split = _split(matrices_of(state), dims)
    check_part("keep", keep)
    # The pair of axes that is traced goes last.
    order = (0, 2, 1, 3) if keep == 0 else (1, 3, 0, 2)
    return array_namespace(split).linalg.trace(_permuted(split, order))


def partial_transpose(state: State, dims: tuple[int, int], part: int = 1) -> Array:
    """Transpose one part of a state of two.

    Parameters
    ----------
    state : matrices of shape (..., D0·D1, D0·D1)
    dims : (D0, D1)
    part : 0 or 1
        The part that is transposed.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.diag([0.2, 0.8]), np.array([[0, 1], [0, 0]])
    >>> bool((partial_transpose(np.kron(a, b), (2, 2)) == np.kron(a, b.T)).all())
    True
    """
    rho = matrices_of(state)
    split = _split(rho, dims)
    check_part("part", part)
    order = (2, 1, 0, 3) if part == 0 else (0, 3, 2, 1)
    return array_namespace(rho).reshape(_permuted(split, order), rho.shape)


def mutual_information(state: State, dims: tuple[int, int]) -> Array:
    r""":math:`S(\rho_0) + S(\rho_1) - S(\rho)`: what the parts know of each other.

    Zero for products; at most twice the logarithm of the smaller dimension, and once
    that where the parts are not entangled.

    Parameters
    ----------
    state : matrices of shape (..., D0·D1, D0·D1)
    dims : (D0, D1)

    Examples
    --------
    >>> import numpy as np
    >>> found = mutual_information(np.diag([0.5, 0, 0, 0.5]), (2, 2))  # a shared coin
    >>> round(float(found), 6)
    0.693147
    """
    parts = [von_neumann_entropy(partial_trace(state, dims, keep)) for keep in (0, 1)]
    found = parts[0] + parts[1] - von_neumann_entropy(state)
    return array_namespace(found).clip(found, 0, None)


def negativity(state: State, dims: tuple[int, int]) -> Array:
    r""":math:`(\|\rho^{T_1}\|_1 - 1)/2` at trace one: how entangled the parts are.

    Zero for every mixture of products, so that anything above says that no
    distribution over pairs of states makes this one.

    Parameters
    ----------
    state : matrices of shape (..., D0·D1, D0·D1)
    dims : (D0, D1)

    Examples
    --------
    >>> import numpy as np
    >>> bell = np.array([1.0, 0, 0, 1]) / np.sqrt(2)
    >>> round(float(negativity(np.outer(bell, bell), (2, 2))), 6)
    0.5
    """
    turned = partial_transpose(at_trace_one(state), dims)
    xp = array_namespace(turned)
    values = xp.linalg.eigvalsh(turned)
    # Its trace is one: what is below zero is half of what the norm has beyond that.
    return -xp.sum(xp.clip(values, None, 0), axis=-1)


def entanglement_entropy(vectors: Array, dims: tuple[int, int]) -> Array:
    r"""Entropy of either part of pure states, in nats: zero for products.

    Of a mixed state its eigenvectors can be asked one by one; it has no single number
    of this kind.

    Parameters
    ----------
    vectors : array of shape (..., D0·D1)
        Of any length but zero.
    dims : (D0, D1)

    Examples
    --------
    >>> import numpy as np
    >>> found = entanglement_entropy(np.array([1.0, 0, 0, 1]), (2, 2))
    >>> round(float(found), 6)
    0.693147
    """
    xp = array_namespace(vectors)
    if vectors.shape[-1] != dims[0] * dims[1]:
        raise ValueError(
            f"dims {dims} ask for vectors of length {dims[0] * dims[1]}, "
            f"got shape {tuple(vectors.shape)}"
        )
    tables = xp.reshape(vectors, (*vectors.shape[:-1], *dims))
    return spectral_entropy(squared_modulus(xp.linalg.svdvals(tables)))


def check_part(name: str, part: int) -> None:
    """Refuse a part that is neither the first nor the second."""
    if part not in (0, 1):
        raise ValueError(f"{name} must be 0 or 1, got {part!r}")


def _split(rho: Array, dims: tuple[int, int]) -> Array:
    """Matrices as tables (..., D0, D1, D0, D1)."""
    first, second = dims
    if tuple(rho.shape[-2:]) != (first * second, first * second):
        raise ValueError(
            f"dims {dims} ask for a matrix of side {first * second}, "
            f"got shape {tuple(rho.shape)}"
        )
    shape = (*rho.shape[:-2], first, second, first, second)
    return array_namespace(rho).reshape(rho, shape)


def _permuted(split: Array, order: tuple[int, int, int, int]) -> Array:
    """Tables with their last four axes in another order."""
    base = split.ndim - 4
    lead = tuple(range(base))
    axes = lead + tuple(base + axis for axis in order)
    return array_namespace(split).permute_dims(split, axes)
