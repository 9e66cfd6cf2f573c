"""Feature maps as torch layers: rows in, states out.

What is random is drawn by the same NumPy code as in :mod:`rhokit.features`, so a seed
means the same features in both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rhokit.core import (
    GaussianKernel,
    cosine_states,
    gaussian_columns,
    normalize_states,
)
from rhokit.core.states import squared_distances
from rhokit.features import (
    FeatureMap,
    FourierFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
)
from rhokit.features.cosine import CosineFeatures
from rhokit.features.quadrature import cosine_mass


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

    @property
    def kernel(self) -> GaussianKernel:
        """The kernel of squared overlaps that the layer started with."""
        return GaussianKernel(self.gamma)

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
    def to_map(self, like: FeatureMap, rows: np.ndarray) -> FeatureMap:
        """The NumPy map with this layer's weights, otherwise as a given one."""

    @property
    def frozen(self) -> bool:
        """Whether nothing in the layer is trained."""
        return not any(weight.requires_grad for weight in self.parameters())


class FourierLayer(FeatureLayer):
    r"""Random Fourier features, frozen or trained (eq. phi_rff).

    .. math:: \phi_j(x) = \sqrt{2/D}\,\cos(w_j^\top x + b_j)

    Parameters
    ----------
    n_features : int
        d, the columns of the rows.
    n_components : int, default=1024
        D, the dimension of the states.
    gamma, sampling, form, normalize, random_state :
        As for :class:`rhokit.FourierFeatures`, which draws the weights.
    trainable : bool, default=False
        Whether frequencies and phases are trained. Phases of pairs stay as they are.
    models : tuple of int, default=()
        Leading axes: so many models side by side, each with its own weights.
    dtype, device : optional
        As everywhere in torch.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import FourierLayer
    >>> layer = FourierLayer(2, 64, gamma=0.5, random_state=0)
    >>> states = layer(torch.zeros(5, 2))
    >>> states.shape, bool(torch.allclose(states.norm(dim=1), torch.ones(5)))
    (torch.Size([5, 64]), True)
    """

    amplitudes: Tensor
    box: Tensor | None

    def __init__(
        self,
        n_features: int,
        n_components: int = 1024,
        *,
        gamma: float = 1.0,
        sampling: str = "iid",
        form: str = "phase",
        normalize: bool = True,
        trainable: bool = False,
        models: tuple[int, ...] = (),
        random_state: Any = None,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        rng = np.random.default_rng(random_state) if models else random_state
        prototype = FourierFeatures(
            gamma=gamma,
            n_components=n_components,
            sampling=sampling,
            form=form,
            normalize=normalize,
            random_state=rng,
        )
        origin = np.zeros((1, n_features))
        drawn = [prototype.fit(origin)]
        frequencies, phases = [drawn[0].frequencies_], [drawn[0].phases_]
        for _ in range(int(np.prod(models)) - 1):
            prototype.fit(origin)
            frequencies.append(prototype.frequencies_)
            phases.append(prototype.phases_)
        self._set(prototype, frequencies, phases, trainable, models, dtype, device)

    @classmethod
    def from_map(
        cls,
        feature_map: CosineFeatures,
        *,
        trainable: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> "FourierLayer":
        """The layer of a fitted map of cosines: Fourier or quadrature features."""
        if trainable and isinstance(feature_map, QuadratureFeatures):
            raise ValueError(
                "the frequencies of QuadratureFeatures are a grid, which training "
                'would spoil: take feature_map="fourier" or "landmarks", or train the '
                "state alone"
            )
        layer = cls.__new__(cls)
        nn.Module.__init__(layer)
        frequencies, phases = [feature_map.frequencies_], [feature_map.phases_]
        layer._set(feature_map, frequencies, phases, trainable, (), dtype, device)
        return layer

    def _set(
        self,
        feature_map: CosineFeatures,
        frequencies: list[Any],
        phases: list[Any],
        trainable: bool,
        models: tuple[int, ...],
        dtype: torch.dtype | None,
        device: Any,
    ) -> None:
        options: dict[str, Any] = {
            "dtype": dtype or torch.get_default_dtype(),
            "device": device,
        }

        def weight(values: list[Any], trained: bool) -> nn.Parameter:
            array = np.stack(values).reshape(*models, *values[0].shape)
            return nn.Parameter(torch.tensor(array, **options), requires_grad=trained)

        self.gamma = float(feature_map.gamma)
        fourier = isinstance(feature_map, FourierFeatures)
        form = feature_map.form if fourier else "pair"
        self.normalize = fourier and feature_map.normalize and form == "phase"
        self.n_features, self.n_components = (
            frequencies[0].shape[0],
            len(feature_map.amplitudes_),
        )
        self.frequencies = weight(frequencies, trainable)
        self.phases = (
            None if form == "complex" else weight(phases, trainable and form == "phase")
        )
        self.register_buffer(
            "amplitudes", torch.tensor(feature_map.amplitudes_, **options)
        )
        box = None
        if isinstance(feature_map, QuadratureFeatures):
            box = torch.tensor(np.stack(feature_map.box()), **options)
        self.register_buffer("box", box)

    def scaled(self, rows: Tensor) -> tuple[Tensor, None]:
        """States of rows (..., n, d); nothing is taken out of them."""
        states = cosine_states(
            rows,
            self.frequencies,
            self.phases,
            self.amplitudes,
            normalize=self.normalize,
        )
        if self.box is not None:
            inside = ((rows >= self.box[0]) & (rows <= self.box[1])).all(dim=-1)
            states = states * inside[..., None]
        return states, None

    @property
    def state_dtype(self) -> torch.dtype:
        """Dtype of the states: complex without phases."""
        real = self.frequencies.dtype
        return real.to_complex() if self.phases is None else real

    def mass_matrix(self) -> Tensor | None:
        """That of a grid; random features have none."""
        if self.box is None or self.phases is None:
            return None
        return self._remembered(self._grid_mass, self.frequencies, self.box)

    def _grid_mass(self) -> Tensor:
        assert self.box is not None
        assert self.phases is not None
        weights = (self.frequencies, self.phases, self.amplitudes, self.box)
        frequencies, phases, amplitudes, (low, high) = (
            to_numpy(each).astype(np.float64) for each in weights
        )
        mass = cosine_mass(frequencies, phases, amplitudes, (low, high))
        return torch.as_tensor(mass * np.exp(-self.log_mass())).to(self.frequencies)

    def to_map(self, like: FeatureMap, rows: np.ndarray) -> FeatureMap:
        """A map of cosines with the trained frequencies."""
        if self.frozen:
            return like
        phases = None if self.phases is None else to_numpy(self.phases)
        return like.with_frequencies(to_numpy(self.frequencies), phases)

    def extra_repr(self) -> str:
        """Shapes, for printing."""
        return f"{self.n_features}, {self.n_components}, trainable={not self.frozen}"


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
        self.by_product = all(each.distances_by_product for each in maps)
        self.n_components = max(each.n_components_ for each in maps)
        self.n_features = maps[0].landmarks_.shape[1]

        def stacked(values: list[np.ndarray]) -> Tensor:
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

    def to_map(self, like: FeatureMap, rows: np.ndarray) -> FeatureMap:
        """A map over the trained landmarks."""
        if self.frozen:
            return like
        return like.with_landmarks(to_numpy(self.landmarks + self.centre), rows)

    def extra_repr(self) -> str:
        """Shapes, for printing."""
        m, d = self.landmarks.shape[-2:]
        return f"{m} landmarks, {d} columns, trainable={not self.frozen}"


def _widened(whitening: np.ndarray | None, width: int) -> np.ndarray:
    """A whitening (m, D) with columns of zeros up to a width."""
    assert whitening is not None
    return np.pad(whitening, ((0, 0), (0, width - whitening.shape[1])))


def feature_layer(
    feature_map: FeatureMap,
    *,
    trainable: bool = False,
    dtype: torch.dtype | None = None,
    device: Any = None,
) -> FeatureLayer:
    """The layer that computes what a fitted map computes."""
    options: dict[str, Any] = {"trainable": trainable, "dtype": dtype, "device": device}
    if isinstance(feature_map, CosineFeatures):
        return FourierLayer.from_map(feature_map, **options)
    if isinstance(feature_map, LandmarkFeatures):
        return LandmarkLayer.from_map(feature_map, **options)
    raise ValueError(
        "The 'feature_map' parameter must be a map of the Gaussian kernel (Fourier, "
        f"landmarks or quadrature) for gradient training. Got {feature_map!r} instead."
    )


def to_numpy(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor."""
    return tensor.detach().cpu().numpy()
