"""Fitted models as ONNX files, which predict without Python and without rhokit.

Needs onnx: ``pip install rhokit[onnx]``.
"""

try:
    import onnx as _onnx  # noqa: F401
except ImportError as error:
    raise ImportError("export_onnx needs onnx: pip install 'rhokit[onnx]'") from error

from rhokit.export.onnx_file import export_onnx

__all__ = ["export_onnx"]
