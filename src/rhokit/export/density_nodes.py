"""The output of densities; detectors of outliers have none."""

from typing import Any

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
    rows.graph.output("log_density", logs + log_terms(model, rows))


def log_terms(model: Model, rows: Value) -> Any:
    """From measured logarithms to log-densities, a number or (n,), of scaled rows."""
    terms: Any = model.log_norm()
    schema, gamma = model.plan.columns.schema, model.plan.gamma
    if schema is None or gamma is None:
        return terms
    for column in schema.category_columns():
        if schema.unseen[column]:
            known, unseen = schema.log_outcome_weights(column, gamma)[[0, -1]]
            block = schema.blocks[column]
            own = rows.take(list(range(block.start, block.stop)), axis=1)
            is_known = (own * own).sum(1) > 0.0
            terms = rows.graph.where(is_known, own.sum(1) * 0.0 + known, unseen) + terms
    return terms


@READOUT_EXPORTERS.register(OutlierReadOut.name)
def _outliers(
    readout: OutlierReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """There is no graph of what compares rows with rows."""
    raise ValueError(
        "export: the p-values of a DMKDOutlierDetector compare rows with those "
        "that it keeps, their nearest neighbours included, which is no graph of a "
        "fixed size. Export a DMKDE of the same rows: its log-density is one of the "
        "views that the detector has"
    )
