"""Density matrices as small, mergeable summaries of data.

The names below are loaded when first touched, so that ``import rhokit`` costs
next to nothing and pulls in no optional package.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_HOME = {
    "DMKDClassifier": "rhokit.estimators",
    "DMKDClassifierSGD": "rhokit.nn",
    "DMKDE": "rhokit.estimators",
    "DMKDESGD": "rhokit.nn",
    "MeanEmbeddingKDE": "rhokit.estimators",
    "QMClassifier": "rhokit.estimators",
    "QMClassifierSGD": "rhokit.nn",
    "QMOrdinalClassifier": "rhokit.estimators",
    "QMRegressor": "rhokit.estimators",
    "QMRegressorSGD": "rhokit.nn",
    "DensityMatrix": "rhokit.core",
    "LowRankDensityMatrix": "rhokit.core",
    "ToeplitzDensityMatrix": "rhokit.core",
    "FourierFeatures": "rhokit.features",
    "GridFeatures": "rhokit.features",
    "LandmarkFeatures": "rhokit.features",
    "OneHotFeatures": "rhokit.features",
    "QuadratureFeatures": "rhokit.features",
    "SoftmaxFeatures": "rhokit.features",
    "ModelFileError": "rhokit.io",
    "Stream": "rhokit.streams",
    "dumps": "rhokit.io",
    "export_onnx": "rhokit.export",
    "fit_batches": "rhokit.streams",
    "fit_files": "rhokit.streams",
    "load": "rhokit.io",
    "loads": "rhokit.io",
    "n_components_for": "rhokit.estimators",
    "save": "rhokit.io",
    "write_report": "rhokit.report",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rhokit' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
