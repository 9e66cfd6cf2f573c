"""The output of densities."""

from rhokit.export.exporters import READOUT_EXPORTERS, Wanted, log_measured
from rhokit.export.graph import Value
from rhokit.models import Model
from rhokit.readouts import DensityReadOut


@READOUT_EXPORTERS.register(DensityReadOut.name)
def _density(
    readout: DensityReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """Log-densities in the user's units."""
    logs = log_measured(model, rows).reshape(0)
    rows.graph.output("log_density", logs + model.log_norm())
