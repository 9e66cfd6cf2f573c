"""Exact kernel densities in double precision: what all errors are taken against."""

import numpy as np

_BLOCK_NUMBERS = 2**22


def exact_log_density(rows, queries, gamma):
    r"""``log (1/(N M_γ)) Σ_i exp(-γ‖x - x_i‖²)`` at each query, shape (n,)."""
    rows, queries = rows.astype(np.float64), queries.astype(np.float64)
    size = max(1, _BLOCK_NUMBERS // len(rows))
    parts = [
        _log_mean_kernel(rows, queries[start : start + size], gamma)
        for start in range(0, len(queries), size)
    ]
    return np.concatenate(parts) - log_mass(gamma, rows.shape[1])


def log_mass(gamma, d):
    """``log M_γ``, the logarithm of the kernel's integral over d dimensions."""
    return 0.5 * d * np.log(np.pi / gamma)


def _log_mean_kernel(rows, queries, gamma):
    from scipy.spatial.distance import cdist  # not all who need log_mass need scipy

    exponents = cdist(queries, rows, "sqeuclidean")
    exponents *= -gamma
    largest = exponents.max(axis=1)
    exponents -= largest[:, None]
    return largest + np.log(np.exp(exponents, out=exponents).mean(axis=1))


def rmse(density, exact):
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((density - exact) ** 2)))


def relative_rmse(density, exact):
    """The same, as a share of the root mean square of the exact values."""
    return rmse(density, exact) / float(np.sqrt(np.mean(exact**2)))


def log_relative_rmse(logs, exact_logs):
    """Relative RMSE of densities given as logarithms, which never overflow."""
    top = exact_logs.max()
    with np.errstate(under="ignore"):
        return relative_rmse(np.exp(logs - top), np.exp(exact_logs - top))


def median_nats(logs, exact_logs):
    """Median absolute error of log-densities."""
    return float(np.median(np.abs(logs - exact_logs)))
