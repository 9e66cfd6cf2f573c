"""Fitted models for other programs: as ONNX files, and as queries of SQL.

Both say what a model predicts without Python and without rhokit. ONNX files need onnx:
``pip install rhokit[onnx]``; queries need nothing.

To export a feature map, a representation or a read-out of your own, write a function
that computes it with values, and register it by the name that it has: see
:data:`MAP_EXPORTERS`, :data:`REPRESENTATION_EXPORTERS` and :data:`READOUT_EXPORTERS`.
"""

# Modules whose functions register themselves.
from rhokit.export import (  # noqa: F401
    blend_nodes,
    class_nodes,
    density_nodes,
    level_nodes,
    map_nodes,
    mosaic_nodes,
    series_nodes,
    state_nodes,
)
from rhokit.export.exporters import (
    MAP_EXPORTERS,
    READOUT_EXPORTERS,
    REPRESENTATION_EXPORTERS,
    MapColumns,
    Wanted,
    log_measured,
    map_columns,
)
from rhokit.export.graph import Graph, Value
from rhokit.export.onnx_file import export_onnx
from rhokit.export.sql_query import export_sql

__all__ = [
    "MAP_EXPORTERS",
    "READOUT_EXPORTERS",
    "REPRESENTATION_EXPORTERS",
    "Graph",
    "MapColumns",
    "Value",
    "Wanted",
    "export_onnx",
    "export_sql",
    "log_measured",
    "map_columns",
]
