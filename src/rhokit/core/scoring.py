"""Scores of predicted distributions, row by row; smaller is better.

All are proper: nobody does better, on average, than by saying what they believe.
"""

from array_api_compat import array_namespace

from rhokit.core.arrays import Array


def quantile_losses(truth: Array, quantiles: Array, levels: Array) -> Array:
    r"""Loss of each quantile of each row, shape (n, q).

    .. math:: \ell_\tau(y, v) = \max\big(\tau\,(y - v),\ (\tau - 1)\,(y - v)\big)

    Parameters
    ----------
    truth : array of shape (n,)
    quantiles : array of shape (n, q)
    levels : array of shape (q,), in (0, 1)
    """
    xp = array_namespace(truth, quantiles, levels)
    error = truth[:, None] - quantiles
    return xp.maximum(levels * error, (levels - 1) * error)


def ranked_errors(probabilities: Array, codes: Array) -> Array:
    r"""Squared distance of cumulative probabilities to those of the truth, (n,).

    .. math:: \sum_k \Big(\sum_{j \le k} p_j - [y \le k]\Big)^2

    Parameters
    ----------
    probabilities : array of shape (n, K)
    codes : array of shape (n,), integers
        Places of the true classes, in their order.
    """
    xp = array_namespace(probabilities)
    places = xp.arange(probabilities.shape[1])
    steps = xp.astype(places >= codes[:, None], probabilities.dtype)
    below = xp.cumulative_sum(probabilities, axis=1)
    return xp.sum((below - steps) ** 2, axis=1)
