"""Densities less the error of their map, as far as a sample of rows shows it."""

from copy import copy

import numpy as np

from rhokit.core import log_measured
from rhokit.features import KernelSum


class CorrectedDensity:
    r"""A fitted density, corrected by rows that it was fitted to.

    A map represents the kernel k as :math:`\tilde k(x, y) = \langle\phi(x),
    \phi(y)\rangle^2`, and the density inherits the mean of :math:`k - \tilde k` over
    the rows as its error. A random sample S of them tells that mean,

    .. math:: \hat f_S(x) = \hat f(x) + \frac{1}{M_\gamma |S|} \sum_{i \in S}
              \big(k(x, x_i) - \tilde k(x, x_i)\big),

    without bias, and with far less noise than the sample alone would tell the
    density, since only what the map misses is left to chance. The second sum is a
    density matrix again, of the sample. Never below what the sampled rows contribute
    themselves.

    Made by :meth:`DMKDE.corrected`.

    Parameters
    ----------
    model : DMKDE
        With its rows.
    rows : array of shape (s, d), checked
    weights : array of shape (s,), or None
    """

    def __init__(self, model, rows, weights):
        self._model = copy(model).set_params(rank=None)
        self._model._set_state(model.state_)
        part = self._model.blank()
        part._add(rows, weights, None)
        states = [model.state_, part.state_]
        self._born = self._model._measure_states(states, rank=None).born
        scaled = self._model._apply_scaling(rows)
        self._kernels = KernelSum(scaled, weights, model.gamma_)
        share = part.state_.weight[0] / model.state_.weight[0]
        self._log_share = float(np.log(min(share, 1.0)))

    def score_samples(self, X):
        """Log-density at each row, in the user's units.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        log_density : array of shape (n,), float64
        """
        model = self._model
        rows = model._checked(X)
        model._refuse_gaps(rows, "corrected")
        represented, sampled = self._log_measured(rows).T
        exact = self._kernels.log_mean(model._apply_scaling(rows))
        top = np.maximum(np.maximum(represented, sampled), exact)
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
            terms = (np.exp(logs - top) for logs in (represented, exact, sampled))
            whole, kernels, part = terms
            logs = top + np.log(np.maximum(whole + kernels - part, 0))
        return np.maximum(logs, exact + self._log_share) + model._log_norm()

    def _log_measured(self, rows):
        """What the model and the sample measure, from the same columns, (n, 2)."""

        def use(worker, which, columns, log_scale):
            measured = self._born(columns).astype(np.float64)
            return log_measured(measured, log_scale)

        blocks = self._model._for_blocks(rows, use, relative=True, stretch=2)
        return np.concatenate(blocks)

    def density(self, X):
        """Density at each row, in the user's units; see :meth:`score_samples`."""
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.score_samples(X))
