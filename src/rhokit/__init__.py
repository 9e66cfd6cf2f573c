"""Density matrices as small, mergeable summaries of data.

The names below are loaded when first touched, so that ``import rhokit`` costs
next to nothing and pulls in no optional package.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from rhokit import (
        core,
        datasets,
        drift,
        errors,
        estimators,
        export,
        features,
        inspection,
        io,
        kernels,
        metrics,
        nn,
        parallel,
        plots,
        quantum,
        report,
        streams,
        testing,
    )
    from rhokit.core import DensityMatrix, LowRankDensityMatrix, ToeplitzDensityMatrix
    from rhokit.drift import compare, find_changes
    from rhokit.errors import DataError
    from rhokit.estimators import (
        DMKDE,
        DMKDClassifier,
        DMKDOutlierDetector,
        MeanEmbeddingKDE,
        QMClassifier,
        QMOrdinalClassifier,
        QMRegressor,
        n_components_for,
    )
    from rhokit.export import export_onnx, export_sql
    from rhokit.features import (
        CoherentFeatures,
        FourierFeatures,
        GridFeatures,
        LandmarkFeatures,
        MosaicFeatures,
        OneHotFeatures,
        QuadratureFeatures,
        SoftmaxFeatures,
    )
    from rhokit.io import ModelFileError, dumps, load, loads, save
    from rhokit.nn import DMKDESGD, DMKDClassifierSGD, QMClassifierSGD, QMRegressorSGD
    from rhokit.report import write_report
    from rhokit.streams import History, Stream, fit_batches, fit_files, read_table

__version__ = "0.1.0.dev0"

__all__ = [
    "DMKDE",
    "DMKDESGD",
    "CoherentFeatures",
    "DMKDClassifier",
    "DMKDClassifierSGD",
    "DMKDOutlierDetector",
    "DataError",
    "DensityMatrix",
    "FourierFeatures",
    "GridFeatures",
    "History",
    "LandmarkFeatures",
    "LowRankDensityMatrix",
    "MeanEmbeddingKDE",
    "ModelFileError",
    "MosaicFeatures",
    "OneHotFeatures",
    "QMClassifier",
    "QMClassifierSGD",
    "QMOrdinalClassifier",
    "QMRegressor",
    "QMRegressorSGD",
    "QuadratureFeatures",
    "SoftmaxFeatures",
    "Stream",
    "ToeplitzDensityMatrix",
    "compare",
    "core",
    "datasets",
    "drift",
    "dumps",
    "errors",
    "estimators",
    "export",
    "export_onnx",
    "export_sql",
    "features",
    "find_changes",
    "fit_batches",
    "fit_files",
    "inspection",
    "io",
    "kernels",
    "load",
    "loads",
    "metrics",
    "n_components_for",
    "nn",
    "parallel",
    "plots",
    "quantum",
    "read_table",
    "report",
    "save",
    "streams",
    "testing",
    "write_report",
]

# Where a name is found that is no module itself.
_HOME = {
    "CoherentFeatures": "rhokit.features",
    "DMKDClassifier": "rhokit.estimators",
    "DMKDClassifierSGD": "rhokit.nn",
    "DMKDE": "rhokit.estimators",
    "DMKDESGD": "rhokit.nn",
    "DMKDOutlierDetector": "rhokit.estimators",
    "DataError": "rhokit.errors",
    "DensityMatrix": "rhokit.core",
    "FourierFeatures": "rhokit.features",
    "GridFeatures": "rhokit.features",
    "History": "rhokit.streams",
    "LandmarkFeatures": "rhokit.features",
    "MosaicFeatures": "rhokit.features",
    "LowRankDensityMatrix": "rhokit.core",
    "MeanEmbeddingKDE": "rhokit.estimators",
    "ModelFileError": "rhokit.io",
    "OneHotFeatures": "rhokit.features",
    "QMClassifier": "rhokit.estimators",
    "QMClassifierSGD": "rhokit.nn",
    "QMOrdinalClassifier": "rhokit.estimators",
    "QMRegressor": "rhokit.estimators",
    "QMRegressorSGD": "rhokit.nn",
    "QuadratureFeatures": "rhokit.features",
    "SoftmaxFeatures": "rhokit.features",
    "Stream": "rhokit.streams",
    "ToeplitzDensityMatrix": "rhokit.core",
    "compare": "rhokit.drift",
    "dumps": "rhokit.io",
    "export_onnx": "rhokit.export",
    "export_sql": "rhokit.export",
    "find_changes": "rhokit.drift",
    "fit_batches": "rhokit.streams",
    "fit_files": "rhokit.streams",
    "read_table": "rhokit.streams",
    "load": "rhokit.io",
    "loads": "rhokit.io",
    "n_components_for": "rhokit.estimators",
    "save": "rhokit.io",
    "write_report": "rhokit.report",
}

if not TYPE_CHECKING:  # else type checkers would take any name for known

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        if name in __all__:
            return import_module(f"rhokit.{name}")
        raise AttributeError(
            f"module 'rhokit' has no attribute {name!r}",
            name=name,
            obj=sys.modules[__name__],
        )


def __dir__() -> list[str]:
    return ["__version__", *__all__]
