"""The front door: a fitted model in, an ONNX file out."""

import json
import os
from typing import Any

from rhokit import __version__
from rhokit.export.exporters import Wanted, add_outputs, check_quantiles, fitted_model
from rhokit.export.graph import SINGLE
from rhokit.export.input_nodes import scaled_rows
from rhokit.io.atomic import write_atomically
from rhokit.models import Model
from rhokit.validation import check_float_dtype


def export_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    quantiles: Any = None,
    coverage: float = 0.9,
    output_dtype: Any = "float32",
) -> None:
    """Write what a fitted model predicts as an ONNX file.

    The file holds the model's scaling, feature map, states and read-out as plain
    nodes, and predicts with any ONNX runtime, without Python and rhokit.

    Parameters
    ----------
    model : estimator
        Of rhokit's own, fitted.
    path : str or path
        Written whole or not at all.
    quantiles : array-like of shape (q,), optional
        Of a regressor: probabilities of the quantiles that the file shall give.
    coverage : float, default=0.9
        Of a regressor: probability that the interval holds the target.
    output_dtype : {"float32", "float64"}, default="float32"
        Of the numbers that the file gives. It takes single precision and computes in
        double either way; ``"float64"`` keeps the digits of values far from zero.

    Notes
    -----
    The input is ``X``, of shape (rows, d) and single precision. Models of frames with
    categories have one input per column, of shape (rows, 1) and under its name: numbers
    in single precision, text, 64-bit integers or truth values.

    Densities give ``log_density``; classifiers ``label``, ``probabilities`` and, where
    they have one, ``log_density``; regressors ``mean``, ``std``, ``interval`` and, if
    asked for, ``quantiles``. Labels come as 64-bit integers or text; a reject label
    that is text makes text of all labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.export import export_onnx
    >>> X = np.random.default_rng(0).normal(size=(500, 3)).astype("float32")
    >>> model = DMKDE(n_components=64, random_state=0).fit(X.astype(float))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "density.onnx"
    >>> export_onnx(model, path)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(path)
    >>> (log_density,) = session.run(["log_density"], {"X": X})
    >>> bool(np.abs(log_density - model.score_samples(X)).max() < 1e-5)
    True
    """
    try:
        from rhokit.export.onnx_graph import OnnxGraph
    except ImportError as error:
        raise ImportError(
            "export_onnx needs onnx: pip install 'rhokit[onnx]'"
        ) from error

    fitted = fitted_model(model, "export_onnx")
    check_quantiles(model, fitted, quantiles)
    dtype = check_float_dtype("export_onnx", output_dtype, name="output_dtype")
    graph = OnnxGraph(type(model).__name__, dtype or SINGLE)
    add_outputs(fitted, scaled_rows(graph, fitted.plan), Wanted(coverage, quantiles))
    metadata = _metadata(model, fitted, graph.input_names)
    data = graph.to_bytes(metadata, __version__)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error


def _metadata(estimator: Any, model: Model, inputs: list[str]) -> dict[str, str]:
    """What a reader of the file may want to know."""
    names = model.plan.columns.names
    columns = None if names is None else [str(name) for name in names]
    return {
        "rhokit": __version__,
        "class": type(estimator).__name__,
        "columns": json.dumps(columns),
        "inputs": json.dumps(inputs),
    }
