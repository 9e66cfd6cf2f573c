"""Losses of gradient training: means over rows, one number per model.

Rows are the last axis of what is compared; leading axes are those of many models.
Weights, where there are any, have mean one. The paper's likelihood and cross-entropy
lack their minus sign, which stands here.
"""

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, safe_log


def mean_over_rows(values: Array, weight: Array | None = None) -> Array:
    """Mean of values times weights, over the last axis.

    Weights have mean one over all rows, not over those of a batch: so batches may
    differ in weight, and a sum over batches is that over all rows.
    """
    xp = array_namespace(values)
    if weight is None:
        return xp.mean(values, axis=-1)
    # The loss of a row of weight zero may be anything, infinity too.
    kept = xp.where(weight > 0, values, xp.zeros_like(values))
    return xp.mean(kept * weight, axis=-1)


def negative_log_likelihood(log_density: Array, weight: Array | None = None) -> Array:
    r"""Loss of a density: :math:`-\frac1N\sum_i \log \hat f(x_i)`.

    Parameters
    ----------
    log_density : array of shape (..., n)
    weight : array of shape (..., n), optional
    """
    return mean_over_rows(-log_density, weight)


def cross_entropy(
    log_probabilities: Array,
    codes: Array,
    weight: Array | None = None,
    *,
    smoothing: float = 0.0,
) -> Array:
    r"""Loss of classes: :math:`-\frac1N\sum_i \log P(y_i \mid x_i)`.

    With ``smoothing`` s, labels count as :math:`1-s` of themselves and a share of s of
    all classes alike.

    Parameters
    ----------
    log_probabilities : array of shape (..., n, K)
    codes : array of shape (..., n), integers
    weight : array of shape (..., n), optional
    smoothing : float
    """
    xp = array_namespace(log_probabilities)
    index = xp.broadcast_to(codes[..., None], (*log_probabilities.shape[:-1], 1))
    logs = xp.take_along_axis(log_probabilities, index, axis=-1)[..., 0]
    if smoothing:
        logs = (1 - smoothing) * logs + smoothing * xp.mean(log_probabilities, axis=-1)
    return mean_over_rows(-logs, weight)


def squared_error_and_variance(
    mean: Array,
    variance: Array,
    target: Array,
    alpha: float,
    weight: Array | None = None,
) -> Array:
    r"""Loss of values: :math:`(y - \hat y)^2 + \alpha\,\mathrm{Var}`, section 5.4.

    Parameters
    ----------
    mean, variance : arrays of shape (..., n)
        Of the distributions over levels.
    target : array of shape (..., n)
    alpha : float
        How much the variance counts.
    weight : array of shape (..., n), optional
    """
    return mean_over_rows((target - mean) ** 2 + alpha * variance, weight)


def share_cross_entropy(
    log_probabilities: Array, shares: Array, weight: Array | None = None
) -> Array:
    r"""Loss of bags of rows: :math:`-\frac1B\sum_{bk} s_{bk}\log\bar P_{bk}`.

    With :math:`\bar P_{bk}` the mean probability of class k over the rows of bag b:
    for labels of which only the shares in each bag are known.

    Parameters
    ----------
    log_probabilities : array of shape (..., B, n, K)
        Of bags of n rows each.
    shares : array of shape (..., B, K)
    weight : array of shape (..., B), optional
    """
    xp = array_namespace(log_probabilities)
    largest = xp.max(log_probabilities, axis=-2, keepdims=True)
    largest = xp.where(largest > -xp.inf, largest, xp.zeros_like(largest))
    means = xp.mean(xp.exp(log_probabilities - largest), axis=-2)
    logs = safe_log(means) + largest[..., 0, :]
    # A class that a bag lacks costs nothing, however improbable it is.
    needed = xp.where(shares > 0, logs, xp.zeros_like(logs))
    return mean_over_rows(-xp.sum(shares * needed, axis=-1), weight)
