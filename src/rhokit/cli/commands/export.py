"""``rhokit export``: a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.console import Output, byte_size, properties
from rhokit.cli.options import Coverage, ModelPath, Precision, check_coverage


def export(
    out: Output,
    model: ModelPath,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="An .onnx file.", show_default=False
        ),
    ],
    coverage: Coverage = 0.9,
    dtype: Annotated[
        Precision, typer.Option(help="Precision of what the graph gives.")
    ] = Precision.float32,
) -> None:
    """Write a model as an ONNX graph, which other programs can run."""
    from rhokit.cli.sources import check_output
    from rhokit.cli.stored_models import load_model
    from rhokit.export import export_onnx

    check_coverage(coverage)
    stored = load_model(model)
    check_output(output, [model], (".onnx",))
    export_onnx(stored.model, output, coverage=coverage, output_dtype=dtype.value)
    size = output.stat().st_size
    told = {"model": str(model), "output": str(output), "bytes": size}
    pairs = [
        ("model", f"{model} ({type(stored.model).__name__})"),
        ("written to", f"{output} ({byte_size(size)})"),
    ]
    out.result(told, properties(pairs))
