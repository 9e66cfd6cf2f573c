"""What gradient training minimises: means over rows, one number per model.

Rows are the last axis of what is compared; leading axes are those of many models.
The paper's likelihood and cross-entropy lack their minus sign, which stands here.
"""

from array_api_compat import array_namespace

from rhokit.core.arrays import Array
from rhokit.core.distributions import mean_and_variance


def weighted_mean(values: Array, weight: Array | None = None) -> Array:
    """Mean over the last axis; rows of weight zero are not there."""
    xp = array_namespace(values)
    if weight is None:
        return xp.mean(values, axis=-1)
    # A row that is not there may hold anything, such as an infinite loss.
    kept = xp.where(weight > 0, values, xp.zeros_like(values))
    return xp.sum(kept * weight, axis=-1) / xp.sum(weight, axis=-1)


def negative_log_likelihood(log_density: Array, weight: Array | None = None) -> Array:
    r"""Loss of a density: :math:`-\frac1N\sum_i \log \hat f(x_i)`.

    Parameters
    ----------
    log_density : array of shape (..., n)
    weight : array of shape (..., n), optional
    """
    return weighted_mean(-log_density, weight)


def cross_entropy(
    log_chances: Array, codes: Array, weight: Array | None = None
) -> Array:
    r"""Loss of classes: :math:`-\frac1N\sum_i \log P(y_i \mid x_i)`.

    Parameters
    ----------
    log_chances : array of shape (..., n, K)
    codes : array of shape (..., n), integers
    weight : array of shape (..., n), optional
    """
    xp = array_namespace(log_chances)
    index = xp.broadcast_to(codes[..., None], (*log_chances.shape[:-1], 1))
    own = xp.take_along_axis(log_chances, index, axis=-1)[..., 0]
    return weighted_mean(-own, weight)


def squared_error_and_variance(
    chances: Array,
    levels: Array,
    target: Array,
    alpha: float,
    weight: Array | None = None,
) -> Array:
    r"""Loss of values: :math:`(y - \hat y)^2 + \alpha\,\mathrm{Var}`, section 5.4.

    Parameters
    ----------
    chances : array of shape (..., n, m)
        Distributions over the levels.
    levels : array of shape (m,)
    target : array of shape (..., n)
    alpha : float
        How much the variance of the distributions counts.
    weight : array of shape (..., n), optional
    """
    mean, variance = mean_and_variance(chances, levels)
    return weighted_mean((target - mean) ** 2 + alpha * variance, weight)
