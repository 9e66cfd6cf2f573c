"""Fitted models as ONNX files, which predict without Python and without rhokit.

Needs onnx: ``pip install rhokit[onnx]``.

To export a feature map, a representation or a read-out of your own, write a function
that builds its nodes, and register it by the name that it has: see
:data:`MAP_EXPORTERS`, :data:`REPRESENTATION_EXPORTERS` and :data:`READOUT_EXPORTERS`.
"""

try:
    import onnx as _onnx  # noqa: F401
except ImportError as error:
    raise ImportError("export_onnx needs onnx: pip install 'rhokit[onnx]'") from error

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

__all__ = [
    "MAP_EXPORTERS",
    "READOUT_EXPORTERS",
    "REPRESENTATION_EXPORTERS",
    "Graph",
    "MapColumns",
    "Value",
    "Wanted",
    "export_onnx",
    "log_measured",
    "map_columns",
]
