"""Estimators under scikit-learn's API: feature map + state + read-out."""

from rhokit.estimators.classifiers import DMKDClassifier
from rhokit.estimators.density import DMKDE
from rhokit.estimators.joint_classifiers import QMClassifier, QMOrdinalClassifier
from rhokit.estimators.mean_embedding import MeanEmbeddingKDE
from rhokit.estimators.outliers import DMKDOutlierDetector
from rhokit.estimators.regressor import QMRegressor
from rhokit.estimators.size_rule import n_components_for

__all__ = [
    "DMKDE",
    "DMKDClassifier",
    "DMKDOutlierDetector",
    "MeanEmbeddingKDE",
    "QMClassifier",
    "QMOrdinalClassifier",
    "QMRegressor",
    "n_components_for",
]
