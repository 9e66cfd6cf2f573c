"""Densities less the error of their map, as far as a sample of rows shows it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import log_measured
from rhokit.features import KernelSum
from rhokit.models import Model
from rhokit.models.gaps import refuse_gaps


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
    themselves. Of maps whose mass is known, it is divided by that of this sum.

    Made by :meth:`DMKDE.corrected`.

    Parameters
    ----------
    estimator : DMKDE
        Whose rows are asked for.
    model : Model
        Of that estimator, with its rows.
    batch : Batch
        A random sample of them.
    """

    def __init__(self, estimator: Any, model: Model, batch: Batch) -> None:
        plan = model.plan
        if plan.gamma is None:
            raise ValueError(
                "corrected: only densities of numbers have a kernel that the map "
                f"approximates, not those of {type(plan.feature_map).__name__}"
            )
        part = model.total(batch, None)
        self._estimator = estimator
        self._model = replace(model, rank=None)
        self._born = self._model.representation.measure([model.state, part], None)
        scaled = plan.scale(batch.rows)
        self._kernels = KernelSum(scaled, batch.weights, plan.gamma)
        share = part.weight[0] / model.weight[0]
        self._log_share = float(np.log(min(share, 1.0)))
        self._log_norm = plan.log_norm(model.representation.power) - self._log_mass(
            part
        )

    def _log_mass(self, part: Any) -> float:
        """Logarithm of the integral: kernels have one, the maps' errors cancel."""
        masses = self._model.representation.masses
        whole, sampled = masses(self._model.state, None), masses(part, None)
        if whole is None or sampled is None:
            return 0.0
        mass = float(whole[0]) + 1 - float(sampled[0])
        return float(np.log(max(mass, np.finfo(float).eps)))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density at each row, in the user's units.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        log_density : array of shape (n,), float64
        """
        model = self._model
        rows = self._estimator.check_query(X, model)
        refuse_gaps(rows, "corrected")
        represented, sampled = self._log_measured(rows).T
        exact = self._kernels.log_mean(model.plan.scale(rows))
        top = np.maximum(np.maximum(represented, sampled), exact)
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
            terms = (np.exp(logs - top) for logs in (represented, exact, sampled))
            whole, kernels, part = terms
            logs = top + np.log(np.maximum(whole + kernels - part, 0))
        least = exact + self._log_share
        return np.asarray(np.maximum(logs, least) + self._log_norm)

    def _log_measured(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """What the model and the sample measure, from the same columns, (n, 2)."""

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Any:
            measured = self._born(columns).astype(np.float64)
            return log_measured(measured, log_scale)

        return np.concatenate(self._model.for_blocks(rows, use, stretch=2))

    def density(self, X: Any) -> NDArray[np.float64]:
        """Density at each row, in the user's units; see :meth:`score_samples`."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(self.score_samples(X)))
