"""What the tests of the maps share."""

import numpy as np
from scipy.spatial.distance import cdist


def kernel(left, right, gamma):
    """``exp(-γ‖x-y‖²)`` for every pair, in double precision."""
    squares = cdist(np.asarray(left, float), np.asarray(right, float), "sqeuclidean")
    return np.exp(-gamma * squares)


def squared_overlaps(left, right):
    """``|⟨φ(x), φ(y)⟩|²`` for every pair of states."""
    return np.abs(left @ right.conj().T) ** 2


def lengths(states):
    """Length of every state."""
    return np.linalg.norm(states, axis=1)
