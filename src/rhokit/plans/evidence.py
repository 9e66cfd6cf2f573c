"""The metric of a Gaussian process that makes targets likely."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import minimize

from rhokit.fast import small_algebra

Floats = NDArray[np.float64]

# Rows that the metric is learned from: each step costs their number cubed.
PROCESS_ROWS = 600
_ITERATIONS = 50
# Gains of the likelihood, per row, that are not worth another step.
_LEAST_GAIN = 1e-5
# Standard deviation that is expected of the logarithms of weights, about that of one
# over the number of columns; how far these, noise and lines may go.
_SPREAD = 2.0
_LEAST_LOG, _MOST_LOG = -9.0, 6.0
_NOISE_LOGS, _LINE_LOGS = (-12.0, 5.0), (-10.0, 5.0)
_START = -3.0
# What is learned is rounded to parts of one, so that rounding of rows does not show.
_STEPS = 64


@dataclass(frozen=True, eq=False)
class ProcessMetric:
    """What makes targets likely under a Gaussian process.

    Its covariance is :math:`e^{-\\sum_j w_j (x_j - y_j)^2}`, and
    :math:`\\ell (1 + x^\\top y / d)` of straight lines, and :math:`\\lambda` of noise.

    Parameters
    ----------
    logs : array of shape (d,)
        Logarithms of w.
    noise, lines : float
        λ and ℓ.
    """

    logs: Floats
    noise: float
    lines: float


def process_metric(
    rows: Floats,
    targets: Floats,
    mass: Floats,
    tied: NDArray[np.bool_] | None = None,
) -> ProcessMetric:
    """The metric with the largest marginal likelihood of targets.

    Parameters
    ----------
    rows : array of shape (n, d)
        In units of the columns' spread.
    targets : array of shape (n, C)
        Of mean zero. All share one covariance, up to its size, which is the likeliest.
    mass : array of shape (n,)
        Of mean one.
    tied : array of shape (d,), bool, optional
        Columns that share one weight.
    """
    d = rows.shape[1]
    likelihood = _Likelihood(rows, targets, 1 / mass, tied)
    start = np.concatenate([np.full(d, -np.log(d)), [_START, _START]])
    bounds = [(_LEAST_LOG - np.log(d), _MOST_LOG)] * d + [_NOISE_LOGS, _LINE_LOGS]
    with small_algebra(len(rows)):
        found = minimize(
            likelihood.loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _ITERATIONS, "ftol": _LEAST_GAIN},
        )
    logs, noise, lines = np.split(np.round(found.x * _STEPS) / _STEPS, [d, d + 1])
    return ProcessMetric(logs, float(np.exp(noise[0])), float(np.exp(lines[0])))


class _Likelihood:
    """The negative logarithm of the marginal likelihood, and its slope."""

    def __init__(
        self,
        rows: Floats,
        targets: Floats,
        noise: Floats,
        tied: NDArray[np.bool_] | None,
    ) -> None:
        self._rows, self._noise, self._tied = rows, noise, tied
        # Directions of the targets are one process each; one-hot ones are one fewer.
        values, vectors = np.linalg.eigh(targets.T @ targets)
        kept = values > 1e-9 * values[-1]
        self._targets = targets @ vectors[:, kept] / np.sqrt(values[-1] / len(rows))
        self._products = rows @ rows.T / rows.shape[1] + 1

    def loss(self, logs: Floats) -> tuple[float, Floats]:
        """Per row and target."""
        rows, y = self._rows, self._targets
        (n, count), d = y.shape, rows.shape[1]
        weights, (noise, lines) = np.exp(logs[:d]), np.exp(logs[d:])
        scaled = rows * np.sqrt(weights)
        lengths = np.vecdot(scaled, scaled)
        kernel = scaled @ (2 * scaled.T)
        kernel -= lengths[:, None]
        kernel -= lengths
        np.exp(np.minimum(kernel, 0, out=kernel), out=kernel)
        matrix = lines * self._products
        matrix += kernel
        matrix[np.diag_indices(n)] += noise * self._noise
        # It is symmetric, so that its rows are columns, as LAPACK wants them.
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, y, check_finite=False)
        log_det = 2 * float(np.log(np.diag(factor[0])).sum())
        size = float((y * solved).sum()) / (n * count)
        value = (n * np.log(size) + log_det) / (2 * n)
        by_matrix = solved @ (solved.T / (-2 * n * size * count))
        by_matrix += _inverse(factor[0]) / (2 * n)
        pairs = by_matrix * kernel
        sums = pairs.sum(axis=1)
        by_weight = 2 * ((pairs @ rows) * rows).sum(axis=0) - 2 * sums @ rows**2
        slope = np.concatenate(
            [
                by_weight * weights,
                [noise * float(np.diag(by_matrix) @ self._noise)],
                [lines * float((by_matrix * self._products).sum())],
            ]
        )
        # Weights are expected near one another: the evidence decides.
        apart = logs[:d] + np.log(d)
        value += float(apart @ apart) / (2 * _SPREAD**2 * n)
        slope[:d] += apart / (_SPREAD**2 * n)
        if self._tied is not None and self._tied.any():
            slope[:d][self._tied] = slope[:d][self._tied].mean()
        return float(value), slope


def _inverse(lower: Floats) -> Floats:
    """The inverse of the matrix of a Cholesky factor, which is used up."""
    inverse = lapack.dpotri(lower, lower=1, overwrite_c=1)[0]
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    return np.asarray(inverse)
