r"""Ordinal logistic regression: proportional odds, by maximum likelihood.

.. math:: P(y \le k \mid x) = \sigma(\theta_k - w^\top x), \qquad
          \theta_0 < \theta_1 < \dots < \theta_{K-2}

The thresholds are kept apart as :math:`\theta_k = \theta_{k-1} + e^{\delta_k}`.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator

# Probabilities of a class that two thresholds leave no room for.
_LEAST = 1e-12


class OrdinalLogistic(BaseEstimator):
    """Proportional odds with a ridge on the weights.

    Parameters
    ----------
    n_levels : int, default=5
        K; codes are 0 to K - 1.
    penalty : float, default=0.01
        λ of ``λ/2 ‖w‖²``, which is added to the mean negative log-likelihood.

    Attributes
    ----------
    weights_ : array of shape (d,)
    thresholds_ : array of shape (K - 1,)
    """

    def __init__(self, n_levels=5, penalty=0.01):
        self.n_levels, self.penalty = n_levels, penalty

    def fit(self, rows, codes):
        """Learn from rows (n, d) with codes (n,)."""
        rows, codes = np.asarray(rows, dtype=float), np.asarray(codes, dtype=int)
        start = np.concatenate([np.zeros(rows.shape[1]), _spread(self.n_levels)])
        found = minimize(
            loss_and_gradient,
            start,
            (rows, codes, self.penalty, self.n_levels),
            method="L-BFGS-B",
            jac=True,
            options={"maxiter": 500},
        )
        self.weights_, free = np.split(found.x, [rows.shape[1]])
        self.thresholds_ = thresholds(free)
        return self

    def predict(self, rows):
        """The median of each row's distribution, which has the least absolute error.

        ``P(y ≤ k)`` is at least one half from the first threshold on that is not below
        ``wᵀx``.
        """
        place = np.asarray(rows, dtype=float) @ self.weights_
        return (place[:, None] > self.thresholds_).sum(axis=1)


def loss_and_gradient(parameters, rows, codes, penalty, n_levels):
    """Mean negative log-likelihood with its penalty, and the gradient of both.

    Parameters
    ----------
    parameters : array of shape (d + K - 1,)
        Weights, the first threshold, logarithms of the steps to the others.
    """
    n, d = rows.shape
    weights, free = np.split(parameters, [d])
    # Below the first class lies nothing, below the end of the last everything.
    bounds = np.concatenate([[-np.inf], thresholds(free), [np.inf]])
    place = rows @ weights  # (n,)
    low, high = (expit(bounds[codes + shift] - place) for shift in (0, 1))
    chance = np.maximum(high - low, _LEAST)
    value = -np.log(chance).mean() + penalty / 2 * weights @ weights
    # Derivatives of a row's loss by the bounds of its class; σ' = σ(1 - σ).
    by_low, by_high = low * (1 - low) / chance / n, -high * (1 - high) / chance / n
    by_bound = np.bincount(codes, by_low, n_levels + 1)
    by_bound += np.bincount(codes + 1, by_high, n_levels + 1)
    by_weights = -rows.T @ (by_low + by_high) + penalty * weights
    # A step moves its own threshold and all above.
    above = np.cumsum(by_bound[1:-1][::-1])[::-1]
    above[1:] *= np.exp(free[1:])
    return value, np.concatenate([by_weights, above])


def thresholds(free):
    """Rising thresholds (K - 1,) from the first and the logarithms of the steps."""
    return free[0] + np.concatenate([[0], np.cumsum(np.exp(free[1:]))])


def _spread(n_levels):
    """Thresholds at -1 and above, 2/K apart, in free parameters."""
    steps = np.full(n_levels - 2, np.log(2 / n_levels))
    return np.concatenate([[-1.0], steps])
