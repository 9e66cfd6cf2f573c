"""Feature maps as torch layers, by the names of the maps."""

from collections.abc import Callable
from typing import Any

import torch

from rhokit.features import FeatureMap
from rhokit.nn.feature_layer import FeatureLayer
from rhokit.nn.fourier_layer import FourierLayer
from rhokit.nn.landmark_layer import LandmarkLayer

LAYERS: dict[str, Callable[..., FeatureLayer]] = {
    "fourier": FourierLayer.from_map,
    "quadrature": FourierLayer.from_map,
    "landmarks": LandmarkLayer.from_map,
}
"""What makes a layer of a fitted map, by the map's name."""


def feature_layer(
    feature_map: FeatureMap,
    *,
    trainable: bool = False,
    dtype: torch.dtype | None = None,
    device: Any = None,
) -> FeatureLayer:
    """The layer that computes what a fitted map computes."""
    make = LAYERS.get(feature_map.name)
    if make is None:
        raise ValueError(
            "The 'feature_map' parameter must be one of Fourier features, "
            "landmarks or quadrature for gradient training. Got "
            f"{feature_map!r} instead."
        )
    return make(feature_map, trainable=trainable, dtype=dtype, device=device)
