"""The paper's losses as modules, for training loops that want one.

The formulas are those of :mod:`rhokit.core.losses`.
"""

from torch import Tensor, nn

from rhokit.core import (
    cross_entropy,
    negative_log_likelihood,
    share_cross_entropy,
    squared_error_and_variance,
)


class NegativeLogLikelihood(nn.Module):
    """Loss of a :class:`DensityHead`: less the mean log-density.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import NegativeLogLikelihood
    >>> NegativeLogLikelihood()(torch.tensor([-1.0, -2.0]))
    tensor(1.5000)
    """

    def forward(self, log_density: Tensor, target: Tensor | None = None) -> Tensor:
        """Of log-densities (..., n); a target is ignored."""
        loss: Tensor = negative_log_likelihood(log_density)
        return loss.sum()


class CrossEntropy(nn.Module):
    """Loss of a :class:`ClassifierHead`, from log-probabilities and codes.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import CrossEntropy
    >>> CrossEntropy()(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([1]))
    tensor(0.6931)
    """

    def forward(self, log_probabilities: Tensor, codes: Tensor) -> Tensor:
        """Of log-probabilities (..., n, K) and codes (..., n)."""
        loss: Tensor = cross_entropy(log_probabilities, codes)
        return loss.sum()


class ShareCrossEntropy(nn.Module):
    """Loss of a :class:`ClassifierHead` for bags whose classes' shares are known.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import ShareCrossEntropy
    >>> bag = torch.tensor([[[0.9, 0.1], [0.1, 0.9]]]).log()  # one of each, surely
    >>> ShareCrossEntropy()(bag, torch.tensor([[0.5, 0.5]]))
    tensor(0.6931)
    """

    def forward(self, log_probabilities: Tensor, shares: Tensor) -> Tensor:
        """Of log-probabilities (..., B, n, K) and shares (..., B, K)."""
        loss: Tensor = share_cross_entropy(log_probabilities, shares)
        return loss.sum()


class SquaredErrorAndVariance(nn.Module):
    r"""Loss of a :class:`RegressorHead`: :math:`(y-\hat y)^2 + \alpha\,\mathrm{Var}`.

    Parameters
    ----------
    alpha : float, default=0.1

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import SquaredErrorAndVariance
    >>> output = torch.tensor([0.5]), torch.tensor([0.2])
    >>> SquaredErrorAndVariance(alpha=0.5)(output, torch.tensor([1.0]))
    tensor(0.3500)
    """

    def __init__(self, alpha: float = 0.1) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
        """Of mean and variance, each (..., n), and target (..., n)."""
        mean, variance = output
        loss: Tensor = squared_error_and_variance(mean, variance, target, self.alpha)
        return loss.sum()
