"""Densities written out slowly, as the paper defines them."""

import numpy as np
from scipy.special import logsumexp


def exact_log_kde(X, queries, gamma, weights=None):
    """Logarithm of Parzen's estimate, one query at a time (eq. Parzen-Gaussian)."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    log_norm = 0.5 * X.shape[1] * np.log(np.pi / gamma)
    logs = [
        logsumexp(-gamma * ((X - query) ** 2).sum(axis=1), b=weights)
        for query in np.asarray(queries, float)
    ]
    return np.array(logs) - np.log(weights.sum()) - log_norm


def definition_of_dmkde(feature_map, X, queries, gamma):
    """``φ(x)†ρφ(x)/M_γ`` with ρ as a mean of outer products, term by term."""
    rho = np.mean([np.outer(z, z.conj()) for z in feature_map.transform(X)], axis=0)
    born = [np.vdot(z, rho @ z).real for z in feature_map.transform(queries)]
    return np.array(born) / (np.pi / gamma) ** (X.shape[1] / 2)


def leave_one_out_log_kde(X, gamma):
    """Parzen's estimate at each row from all the other rows."""
    return np.array(
        [
            exact_log_kde(np.delete(X, i, axis=0), X[i : i + 1], gamma)[0]
            for i in range(len(X))
        ]
    )
