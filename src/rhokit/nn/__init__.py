"""Gradient training in PyTorch: layers, heads for any network, and models.

Needs torch: ``pip install rhokit[torch]``.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "rhokit.nn and the models trained by gradient (DMKDESGD, DMKDClassifierSGD, "
        "QMClassifierSGD, QMRegressorSGD) need PyTorch: pip install 'rhokit[torch]'"
    ) from error

from rhokit.nn.classifiers import DMKDClassifierSGD, QMClassifierSGD
from rhokit.nn.density import DMKDESGD
from rhokit.nn.feature_layer import FeatureLayer
from rhokit.nn.features import feature_layer
from rhokit.nn.fourier_layer import FourierLayer
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.heads import ClassifierHead, DensityHead, RegressorHead
from rhokit.nn.landmark_layer import LandmarkLayer
from rhokit.nn.lenet import LeNet
from rhokit.nn.losses import (
    CrossEntropy,
    NegativeLogLikelihood,
    ShareCrossEntropy,
    SquaredErrorAndVariance,
)
from rhokit.nn.measurement import JointMeasurement, Measurement
from rhokit.nn.recipe import Recipe, TrainingRows
from rhokit.nn.regressor import QMRegressorSGD
from rhokit.nn.tasks import TrainingTask
from rhokit.nn.training import TrainingWarning, train

__all__ = [
    "DMKDESGD",
    "ClassifierHead",
    "CrossEntropy",
    "DMKDClassifierSGD",
    "DensityHead",
    "FeatureLayer",
    "FourierLayer",
    "GradientEstimator",
    "JointMeasurement",
    "LandmarkLayer",
    "LeNet",
    "Measurement",
    "NegativeLogLikelihood",
    "QMClassifierSGD",
    "QMRegressorSGD",
    "Recipe",
    "RegressorHead",
    "ShareCrossEntropy",
    "SquaredErrorAndVariance",
    "TrainingRows",
    "TrainingTask",
    "TrainingWarning",
    "feature_layer",
    "train",
]
