"""Read-outs: from measured numbers to log-densities and probabilities."""

import math

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, safe_log
from rhokit.core.kernel import GaussianKernel


def gaussian_log_norm(gamma: float, n_features: int) -> float:
    """``log M_γ``: see :meth:`rhokit.core.GaussianKernel.log_mass`."""
    return GaussianKernel(gamma).log_mass(n_features)


def log_measured(
    measured: Array, log_scale: Array | None = None, power: int = 2
) -> Array:
    r"""Logarithm of what was measured on states scaled by ``exp(log_scale)``.

    The Born rule is quadratic in the state (``power=2``), so that
    :math:`\log(\phi^\dagger\rho\phi)` with :math:`\phi = e^s c` is
    :math:`\log(c^\dagger\rho c) + 2s`. Nothing underflows, at any distance.

    Parameters
    ----------
    measured : array of shape (..., n, K)
    log_scale : array of shape (..., n), optional
    power : int
        2 for a density matrix, 1 for a mean of features.
    """
    logs = safe_log(measured)
    return logs if log_scale is None else logs + power * log_scale[..., None]


def log_posterior(logs: Array, log_priors: Array, least: float = 0.0) -> Array:
    r"""Logarithms of the probabilities of classes, by Bayes' rule.

    .. math:: \log P(k \mid x) = \log \pi_k + \log m_k(x)
              - \log \sum_j \pi_j m_j(x)

    Where nothing was measured at all, the priors remain.

    Parameters
    ----------
    logs : array of shape (..., n, K)
        Logarithms of what was measured.
    log_priors : array of shape (K,), or anything that broadcasts against ``logs``
    least : float
        A class that may occur has at least this share of the likeliest one's
        probability: what rounding leaves below it says nothing.
    """
    xp = array_namespace(logs)
    joint = logs + log_priors
    possible = xp.broadcast_to(log_priors > -xp.inf, joint.shape)
    nothing = xp.all(joint == -xp.inf, axis=-1)[..., None]
    joint = xp.where(nothing, xp.broadcast_to(log_priors, joint.shape), joint)
    joint = joint - xp.max(joint, axis=-1)[..., None]
    if least > 0:
        joint = xp.where(possible, xp.clip(joint, math.log(least), None), joint)
    return joint - xp.log(xp.sum(xp.exp(joint), axis=-1))[..., None]


def leave_one_out(
    measured: Array, own: Array, row_weight: Array, total_weight: float
) -> Array:
    r"""Value that a row measures once its own weight is taken out of the state.

    .. math:: m_{-i} = \frac{W m_i - w_i \,\kappa_i}{W - w_i}, \qquad
              \kappa_i = |\langle\phi_i|\phi_i\rangle|^2

    Closed form: no state is built per row. Rounding below zero is cut to zero.

    Parameters
    ----------
    measured : array of shape (n,)
        Measured with every row in the state.
    own : array of shape (n,)
        What a row measures of itself: the fourth power of its length for a density
        matrix, the second for a mean of features.
    row_weight : array of shape (n,)
        Weight of the row in the state.
    total_weight : float
        Weight of all rows in the state.
    """
    xp = array_namespace(measured)
    rest = total_weight - row_weight
    left = total_weight * measured - row_weight * own
    alone = rest <= 0
    safe = xp.where(alone, xp.ones_like(rest), rest)
    return xp.where(alone, xp.zeros_like(left), xp.clip(left / safe, 0, None))
