"""Kernel columns over landmarks as a torch layer."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rhokit.core import GaussianKernel, gaussian_columns, normalize_states
from rhokit.core.states import squared_distances
from rhokit.features import FeatureMap, LandmarkFeatures
from rhokit.nn.feature_layer import FeatureLayer, to_numpy


class LandmarkLayer(FeatureLayer):
    r"""Nyström features over landmarks, frozen or trained.

    .. math:: \phi(x) = K_{mm}^{-1/2}\, k_m(x), \qquad
              k_m(x)_j = e^{-\frac\gamma2\|x - l_j\|^2}

    Trained landmarks keep the whitening :math:`K_{mm}^{-1/2}` that they started with:
    gradients never pass through an eigendecomposition.

    Parameters
    ----------
    landmarks : array-like of shape (..., m, d)
        Leading axes are models side by side, each with its own landmarks.
    gamma : float, default=1.0
        γ of the squared overlaps.
    normalize : bool, default=False
        Scale states to length one.
    trainable : bool, default=False
    dtype, device : optional

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import LandmarkLayer
    >>> layer = LandmarkLayer([[0.0], [1.0], [2.0]], gamma=4.0)
    >>> states = layer(torch.tensor([[0.0], [1.0]]))
    >>> overlap = float(states[0] @ states[1]) ** 2
    >>> round(overlap, 4)  # exp(-4)
    0.0183
    """

    landmarks: nn.Parameter
    centre: Tensor
    whitening: Tensor

    def __init__(
        self,
        landmarks: Any,
        *,
        gamma: float = 1.0,
        normalize: bool = False,
        trainable: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        array = to_numpy(landmarks) if isinstance(landmarks, Tensor) else landmarks
        array = np.asarray(array, dtype=float)
        maps = [
            LandmarkFeatures(gamma=gamma, landmarks=each, normalize=normalize).fit(each)
            for each in array.reshape(-1, *array.shape[-2:])
        ]
        self._set(maps, array.shape[:-2], trainable, dtype, device)

    @classmethod
    def from_map(
        cls,
        feature_map: LandmarkFeatures,
        *,
        trainable: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> "LandmarkLayer":
        """The layer of a fitted map."""
        layer = cls.__new__(cls)
        nn.Module.__init__(layer)
        layer._set([feature_map], (), trainable, dtype, device)
        return layer

    def _set(
        self,
        maps: list[LandmarkFeatures],
        models: tuple[int, ...],
        trainable: bool,
        dtype: torch.dtype | None,
        device: Any,
    ) -> None:
        options: dict[str, Any] = {
            "dtype": dtype or torch.get_default_dtype(),
            "device": device,
        }
        self.gamma, self.normalize = float(maps[0].gamma), maps[0].normalize
        self.kernel: GaussianKernel = _gaussian_kernel(maps[0])
        self.by_product = all(each.distances_by_product for each in maps)
        self.n_components = max(each.n_components_ for each in maps)
        self.n_features = maps[0].landmarks_.shape[1]

        def stacked(values: list[NDArray[Any]]) -> Tensor:
            array = np.stack(values)
            return torch.tensor(array.reshape(*models, *array.shape[1:]), **options)

        # Near the origin a product of rows and landmarks loses the fewest digits.
        centres = [each.landmarks_.mean(axis=0, keepdims=True) for each in maps]
        self.register_buffer("centre", stacked(centres))  # (..., 1, d)
        # Where a model has fewer directions than another, its last states are zero.
        whitenings = [_widened(each.whitening_, self.n_components) for each in maps]
        self.register_buffer("whitening", stacked(whitenings))  # (..., m, D)
        landmarks = stacked(
            [each.landmarks_ - mid for each, mid in zip(maps, centres, strict=True)]
        )
        self.landmarks = nn.Parameter(landmarks, requires_grad=trainable)

    def scaled(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """States of rows (..., n, d), and what was taken out of them."""
        columns, log_scale = gaussian_columns(
            rows - self.centre,
            self.landmarks,
            self.kernel.of_overlaps().gamma,
            relative=True,
            by_product=self.by_product,
        )
        states = columns @ self.whitening
        return (
            (normalize_states(states), None) if self.normalize else (states, log_scale)
        )

    @property
    def state_dtype(self) -> torch.dtype:
        """Dtype of the states."""
        return self.landmarks.dtype

    def mass_matrix(self) -> Tensor | None:
        """The integral of the states' products; follows landmarks that move."""
        if self.normalize:
            return None
        if self.landmarks.requires_grad:
            return self._landmark_mass()
        return self._remembered(self._landmark_mass, self.landmarks, self.whitening)

    def _landmark_mass(self) -> Tensor:
        squares = squared_distances(self.landmarks, self.landmarks)
        overlaps = self.kernel.overlap_of_columns(squares)
        return self.whitening.mT @ overlaps @ self.whitening

    def to_map(self, like: Any, rows: NDArray[Any]) -> FeatureMap:
        """A map over the trained landmarks."""
        if self.frozen:
            return like
        return like.with_landmarks(to_numpy(self.landmarks + self.centre), rows)

    def extra_repr(self) -> str:
        """Shapes, for printing."""
        m, d = self.landmarks.shape[-2:]
        return f"{m} landmarks, {d} columns, trainable={not self.frozen}"


def _gaussian_kernel(feature_map: LandmarkFeatures) -> Any:
    """The kernel of a map, if the layer has its columns."""
    if not feature_map.follows_gaussian:
        raise ValueError(
            f"landmarks of kernel={feature_map.kernel!r} cannot be trained with: take "
            'feature_map="fourier", which is trained for any kernel'
        )
    return feature_map.kernel_


def _widened(whitening: NDArray[Any] | None, width: int) -> NDArray[Any]:
    """A whitening (m, D) with columns of zeros up to a width."""
    assert whitening is not None
    return np.pad(whitening, ((0, 0), (0, width - whitening.shape[1])))
