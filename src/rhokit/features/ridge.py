"""Ridge regression from sums over rows, with what it says of rows left out."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

Floats = NDArray[np.float64]

# Share of the mean diagonal that is added until a matrix can be factored.
_LEAST_RIDGE = 1e-13
_FEW_ATTEMPTS = 6


@dataclass(frozen=True, eq=False)
class Ridge:
    r"""Coefficients of features, and how much each row has a say in its own value.

    .. math:: C = (G + \lambda I)^{-1} B, \qquad
              h(x) = f(x)^\top (G + \lambda I)^{-1} f(x)

    with :math:`G = \sum_i w_i f_i f_i^\top` and
    :math:`B = \sum_i w_i f_i y_i^\top`. The residual of a row of weight w that is left
    out is its residual divided by :math:`1 - w h` (Allen's PRESS).

    Parameters
    ----------
    factor : pair
        The Cholesky factor.
    coefficients : array of shape (F, K)
    """

    factor: tuple[Floats, bool]
    coefficients: Floats

    @classmethod
    def of(cls, products: Floats, cross: Floats, strength: float) -> "Ridge":
        """The regression of sums G (F, F) and B (F, K) with λ."""
        mean = float(np.trace(products)) / len(products)
        ridge = max(strength, _LEAST_RIDGE * mean, np.finfo(float).tiny)
        attempt = 0
        while True:
            try:
                matrix = products + ridge * np.eye(len(products))
                factor = cho_factor(matrix, lower=True, overwrite_a=True)
            except np.linalg.LinAlgError:
                # Rounding has made an eigenvalue negative; or it is no sum of squares,
                # for which there shall be no thousand attempts.
                ridge *= 10.0**2 ** max(0, attempt - _FEW_ATTEMPTS)
                continue
            return cls(factor, cho_solve(factor, cross))

    def values(self, features: Floats) -> Floats:
        """Values (n, K) of features (n, F)."""
        return np.asarray(features @ self.coefficients)

    def leverage(self, features: Floats) -> Floats:
        """h of features (n, F), shape (n,)."""
        solved = cho_solve(self.factor, features.T)
        return np.asarray(np.einsum("nf,fn->n", features, solved))

    def values_without(self, features: Floats, truth: Floats, mass: Floats) -> Floats:
        """Values (n, K) of rows that are left out, whose own ones are known.

        Parameters
        ----------
        features : array of shape (n, F)
        truth : array of shape (n, K)
        mass : array of shape (n,)
        """
        own = np.minimum(mass * self.leverage(features), 1 - 1e-9)
        residual = (truth - self.values(features)) / (1 - own)[:, None]
        return np.asarray(truth - residual)


def press_errors(
    products: Floats,
    cross: Floats,
    strengths: Floats,
    features: Floats,
    truth: Floats,
    mass: Floats,
) -> Floats:
    """Mean squared errors of rows left out, for each of some strengths λ (q,).

    Parameters
    ----------
    products : array of shape (F, F)
    cross : array of shape (F, K)
    strengths : array of shape (q,)
    features, truth : arrays of shapes (n, F) and (n, K)
    mass : array of shape (n,)
    """
    values, vectors = eigh(products, driver="evd")
    values = np.maximum(values, _LEAST_RIDGE * values[-1])
    turned, cross = features @ vectors, vectors.T @ cross
    squares = turned**2
    errors = []
    for strength in strengths.tolist():
        shrunk = 1 / (values + strength)
        own = np.minimum(mass * (squares @ shrunk), 1 - 1e-9)
        missed = (truth - turned @ (shrunk[:, None] * cross)) / (1 - own)[:, None]
        errors.append(np.average(np.vecdot(missed, missed), weights=mass))
    return np.array(errors)


def triangle_size(dim: int) -> int:
    """Numbers of the upper triangle of a matrix."""
    return dim * (dim + 1) // 2


def triangle_side(size: int) -> int:
    """Columns of the largest matrix whose triangle has no more numbers."""
    return (math.isqrt(8 * size + 1) - 1) // 2


def packed(matrix: Floats) -> Floats:
    """The upper triangle of a symmetric matrix, row by row."""
    return np.asarray(matrix[np.triu_indices(len(matrix))])


def unpacked(triangle: Floats) -> Floats:
    """The symmetric matrix of an upper triangle."""
    dim = triangle_side(len(triangle))
    matrix = np.zeros((dim, dim))
    upper = np.triu_indices(dim)
    matrix[upper] = triangle
    matrix.T[upper] = triangle
    return matrix
