"""Common part of feature maps as torch layers: rows in, states out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rhokit.core import Kernel
from rhokit.features import FeatureMap


class FeatureLayer(nn.Module, ABC):
    """Sends rows (..., n, d) to states (..., n, D); leading axes are models.

    Attributes
    ----------
    n_components : int
        D.
    n_features : int
        d.
    gamma : float
        γ of the squared overlaps that the layer started with.
    """

    n_components: int
    n_features: int
    gamma: float
    singular: ClassVar[bool] = False
    """Whether likelihoods of densities have singularities once the layer is trained."""

    kernel: Kernel
    """The kernel of overlaps that the layer started with."""

    @abstractmethod
    def scaled(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """States of the rows, and the logarithm of a scale taken out of each.

        The scale, of shape (..., n), keeps states from underflowing far from all
        landmarks; it is None where nothing was taken out.
        """

    def forward(self, rows: Tensor) -> Tensor:
        """States of rows (..., n, d), shape (..., n, D)."""
        states, log_scale = self.scaled(rows)
        return states if log_scale is None else states * log_scale.exp()[..., None]

    def mass_matrix(self) -> Tensor | None:
        """See :meth:`rhokit.features.FeatureMap.mass_matrix`."""
        return None

    def _remembered(self, compute: Callable[[], Tensor], *sources: Tensor) -> Tensor:
        """What was computed last, unless its sources have changed since."""
        key = [(each.data_ptr(), each._version, each.dtype) for each in sources]
        if getattr(self, "_memory", (None,))[0] != key:
            self._memory = key, compute()
        return self._memory[1]

    @property
    @abstractmethod
    def state_dtype(self) -> torch.dtype:
        """Dtype of the states."""

    def log_mass(self) -> float:
        """``log M_γ`` of the kernel, by which a density is divided."""
        return self.kernel.log_mass(self.n_features)

    @abstractmethod
    def to_map(self, like: Any, rows: NDArray[Any]) -> FeatureMap:
        """The NumPy map with this layer's weights, otherwise as a given one."""

    @property
    def frozen(self) -> bool:
        """Whether nothing in the layer is trained."""
        return not any(weight.requires_grad for weight in self.parameters())


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor."""
    return tensor.detach().cpu().numpy()
