"""Estimators under scikit-learn's API: feature map + state + read-out."""

from rhokit.estimators.density import DMKDE
from rhokit.estimators.mean_embedding import MeanEmbeddingKDE

__all__ = ["DMKDE", "MeanEmbeddingKDE"]
