"""Cosines of projections as a torch layer.

What is random is drawn by the same NumPy code as in :mod:`rhokit.features`, so a seed
means the same features in both.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rhokit.core import cosine_states
from rhokit.features import FeatureMap, FourierFeatures
from rhokit.features.quadrature import cosine_mass
from rhokit.nn.feature_layer import FeatureLayer, to_numpy


class FourierLayer(FeatureLayer):
    r"""Random Fourier features, frozen or trained (eq. phi_rff).

    .. math:: \phi_j(x) = \sqrt{2/D}\,\cos(w_j^\top x + b_j)

    Parameters
    ----------
    n_features : int
        d, the columns of the rows.
    n_components : int, default=1024
        D, the dimension of the states.
    gamma, sampling, form, normalize, kernel, random_state :
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

    singular = True
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
        kernel: Any = "gaussian",
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
            kernel=kernel,
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
        feature_map: Any,
        *,
        trainable: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> "FourierLayer":
        """The layer of a fitted map of cosines: Fourier or quadrature features."""
        if trainable and feature_map.has_outsiders:
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
        feature_map: Any,
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

        self.gamma, self.kernel = float(feature_map.gamma), feature_map.kernel_
        settings = feature_map.get_params()
        form = settings.get("form", "pair")
        self.normalize = bool(settings.get("normalize", False)) and form == "phase"
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
        if feature_map.has_outsiders:
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

    def to_map(self, like: Any, rows: NDArray[Any]) -> FeatureMap:
        """A map of cosines with the trained frequencies."""
        if self.frozen:
            return like
        phases = None if self.phases is None else to_numpy(self.phases)
        return like.with_frequencies(to_numpy(self.frequencies), phases)

    def extra_repr(self) -> str:
        """Shapes, for printing."""
        return f"{self.n_features}, {self.n_components}, trainable={not self.frozen}"
