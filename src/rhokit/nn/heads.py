"""Whole models as modules: features, measurement, read-out.

A head takes rows, or what an encoder made of them, and can stand at the end of any
network. ``forward`` is ``read`` of the features; training on frozen features computes
these once and calls ``read`` alone.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from rhokit.core import log_measured, log_posterior
from rhokit.core.arrays import safe_log
from rhokit.core.distributions import mean_and_variance
from rhokit.nn.feature_layer import FeatureLayer
from rhokit.nn.measurement import Measurement
from rhokit.readouts import LEAST_PROBABILITY


class Head(nn.Module, ABC):
    """Common part of all heads.

    Parameters
    ----------
    features : FeatureLayer
    rank, n_outcomes, trace, models, random_state, dtype, device :
        As for :class:`Measurement`; numbers are of the features' dtype without one.
    """

    def __init__(
        self,
        features: FeatureLayer,
        rank: int,
        n_outcomes: int = 1,
        *,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.features = features
        self.measurement = Measurement(
            features.n_components,
            rank,
            n_outcomes,
            dtype=dtype or features.state_dtype,
            **options,
        )

    def _constant(self, numbers: Any) -> Tensor:
        """Numbers beside the measurement: of its precision, on its device."""
        factor = self.measurement.factor
        return torch.as_tensor(numbers, dtype=factor.real.dtype, device=factor.device)

    def forward(self, rows: Tensor) -> Any:
        """The answer for rows (..., n, d)."""
        return self.read(*self.features.scaled(rows))

    @abstractmethod
    def read(self, states: Tensor, log_scale: Tensor | None = None) -> Any:
        """The answer for states (..., n, D) scaled by ``exp(log_scale)``."""


class DensityHead(Head):
    r"""Log-density of rows (DMKDE).

    .. math:: \log \hat f(x) = \log \|A\phi(x)\|^2 - \log \mathrm{tr}(A G A^\top)
              - \log M_\gamma, \qquad G = \frac1{M_\gamma}\int\phi\phi^\top dx

    so that the density integrates to one. Where the integral is not known, as for
    random Fourier features, the trace stands in its place, as in the paper: likelihood
    can then grow by as much as the integral does, up to :math:`2^{d/2}`.

    Parameters
    ----------
    features : FeatureLayer
        Frozen, unless you know what you do: densities of trained random features have
        singularities.
    rank : int, default=32
    log_norm : float, optional
        Logarithm of what the density is divided by: ``log M_γ`` of the features'
        kernel without it.
    **options :
        ``models``, ``random_state``, ``dtype``, ``device``, as for
        :class:`Measurement`.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import DensityHead, LandmarkLayer
    >>> landmarks = torch.linspace(-3, 3, 13)[:, None]
    >>> head = DensityHead(LandmarkLayer(landmarks, gamma=2.0), rank=4, random_state=0)
    >>> head(torch.zeros(5, 1)).shape
    torch.Size([5])
    """

    log_norm: Tensor

    def __init__(
        self,
        features: FeatureLayer,
        rank: int = 32,
        *,
        log_norm: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(features, rank, **options)
        norm = features.log_mass() if log_norm is None else log_norm
        self.register_buffer("log_norm", self._constant(norm))

    def read(self, states: Tensor, log_scale: Tensor | None = None) -> Tensor:
        """Log-density of states (..., n, D), shape (..., n)."""
        logs: Tensor = log_measured(self.measurement(states), log_scale)[..., 0]
        return logs - self.log_mass()[..., None] - self.log_norm

    def log_mass(self) -> Tensor:
        """Logarithm of the integral of what is measured, shape (...,)."""
        mass = self.features.mass_matrix()
        factor = self.measurement.factor[..., 0, :, :]  # (..., r, D)
        if mass is None:
            return torch.zeros(
                factor.shape[:-2], dtype=self.log_norm.dtype, device=factor.device
            )
        total = ((factor @ mass) * factor.conj()).real.sum(dim=(-2, -1))
        return (total / self.measurement.traces()[..., 0]).log()


class ClassifierHead(Head):
    r"""Log-probabilities of classes (DMKDC; with ``joint``, QMC).

    .. math:: P(k \mid x) = \frac{\pi_k \|A_k\phi(x)\|^2}{\sum_j \pi_j\|A_j\phi(x)\|^2}

    Parameters
    ----------
    features : FeatureLayer
    n_classes : int
    rank : int, default=16
    priors : array-like of shape (K,), optional
        π, fixed; equal without it.
    joint : bool, default=False
        Train one joint state of inputs and labels, whose trace is one: the priors are
        then part of it. Otherwise each class has a state of trace one.
    overlaps : array-like of shape (K, K), optional
        Squared overlaps of the labels' states, if they are not orthogonal.
    **options :
        ``models``, ``random_state``, ``dtype``, ``device``, as for
        :class:`Measurement`.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import ClassifierHead, FourierLayer
    >>> head = ClassifierHead(FourierLayer(4, 128, random_state=0), 3, random_state=0)
    >>> logs = head(torch.zeros(5, 4))
    >>> logs.shape, round(logs[0].exp().sum().item(), 5)
    (torch.Size([5, 3]), 1.0)
    """

    log_priors: Tensor
    overlaps: Tensor | None

    def __init__(
        self,
        features: FeatureLayer,
        n_classes: int,
        rank: int = 16,
        *,
        priors: Any = None,
        joint: bool = False,
        overlaps: Any = None,
        **options: Any,
    ) -> None:
        if joint and priors is not None:
            raise ValueError("priors are part of a joint state: give priors or joint")
        trace = "joint" if joint else "each"
        super().__init__(features, rank, n_classes, trace=trace, **options)
        even = torch.ones(n_classes)
        chosen = self._constant(even if priors is None else priors)
        _check_priors(chosen, n_classes)
        self.register_buffer("log_priors", safe_log(chosen))
        blur = None if overlaps is None else self._constant(overlaps)
        self.register_buffer("overlaps", blur)

    def read(self, states: Tensor, log_scale: Tensor | None = None) -> Tensor:
        """Log-probabilities of states (..., n, D), shape (..., n, K).

        They do not depend on a row's scale.
        """
        measured = self.measurement(states)
        if self.overlaps is not None:
            measured = measured @ self.overlaps
        # As in predictions, no probability is zero, and so no loss infinite.
        logs = log_measured(measured)
        found: Tensor = log_posterior(logs, self.log_priors, LEAST_PROBABILITY)
        return found


class RegressorHead(Head):
    r"""Mean and variance of values, from a distribution over levels (QMR).

    .. math:: p_j(x) = \frac{\|A_j\phi(x)\|^2}{\sum_l \|A_l\phi(x)\|^2}, \qquad
              \hat y = \sum_j p_j a_j

    Parameters
    ----------
    features : FeatureLayer
    n_levels : int, default=32
        m, the number of levels.
    rank : int, default=16
    bounds : tuple of float, default=(0.0, 1.0)
        The first and the last level.
    **options :
        ``models``, ``random_state``, ``dtype``, ``device``, as for
        :class:`Measurement`.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import FourierLayer, RegressorHead
    >>> head = RegressorHead(FourierLayer(4, 128, random_state=0), random_state=0)
    >>> mean, variance = head(torch.zeros(5, 4))
    >>> mean.shape, head.distribution(torch.zeros(5, 4)).shape
    (torch.Size([5]), torch.Size([5, 32]))
    """

    levels: Tensor

    def __init__(
        self,
        features: FeatureLayer,
        n_levels: int = 32,
        rank: int = 16,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
        **options: Any,
    ) -> None:
        super().__init__(features, rank, n_levels, **options)
        levels = torch.linspace(*bounds, n_levels, dtype=torch.float64)
        self.register_buffer("levels", self._constant(levels))

    def distribution(self, rows: Tensor) -> Tensor:
        """Probability of every level, shape (..., n, m)."""
        return self.probabilities(self.features.scaled(rows)[0])

    def read(
        self, states: Tensor, log_scale: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean and variance of states (..., n, D), each of shape (..., n)."""
        mean, variance = mean_and_variance(self.probabilities(states), self.levels)
        return mean, variance

    def probabilities(self, states: Tensor) -> Tensor:
        """Probability of every level for states (..., n, D), shape (..., n, m)."""
        logs = log_measured(self.measurement(states))
        found: Tensor = log_posterior(logs, torch.zeros_like(self.levels)).exp()
        return found


def _check_priors(priors: Tensor, n_classes: int) -> None:
    if priors.shape != (n_classes,) or bool((priors < 0).any()):
        raise ValueError(
            f"priors must be {n_classes} non-negative numbers, one per class, got "
            f"{priors.tolist()}"
        )
