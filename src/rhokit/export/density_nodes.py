"""The output of densities; detectors of outliers have none."""

from rhokit.export.exporters import READOUT_EXPORTERS, Wanted, log_measured
from rhokit.export.graph import Value
from rhokit.models import Model
from rhokit.readouts import DensityReadOut, OutlierReadOut


@READOUT_EXPORTERS.register(DensityReadOut.name)
def _density(
    readout: DensityReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """Log-densities in the user's units."""
    logs = log_measured(model, rows).reshape(0)
    rows.graph.output("log_density", logs + model.log_norm())


@READOUT_EXPORTERS.register(OutlierReadOut.name)
def _outliers(
    readout: OutlierReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """There is no graph of what compares rows with rows."""
    raise ValueError(
        "export_onnx: the p-values of a DMKDOutlierDetector compare rows with those "
        "that it keeps, their nearest neighbours included, which is no graph of a "
        "fixed size. Export a DMKDE of the same rows: its log-density is one of the "
        "views that the detector has"
    )
