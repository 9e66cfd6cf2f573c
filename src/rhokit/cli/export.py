"""``rhokit export``: a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.errors import UsageError
from rhokit.cli.fit import Dtype
from rhokit.cli.options import ModelPath


def export(
    out,
    model: ModelPath,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="An .onnx file.", show_default=False
        ),
    ],
    coverage: Annotated[
        float,
        typer.Option(help="Of values: the interval holds so large a share of them."),
    ] = 0.9,
    dtype: Annotated[
        Dtype, typer.Option(help="Precision of what the graph gives.")
    ] = Dtype.float32,
):
    """Write a model as an ONNX graph, which other programs can run."""
    from rhokit.cli.console import byte_size, properties
    from rhokit.cli.models import load_model
    from rhokit.cli.sources import check_output
    from rhokit.export import export_onnx

    if not 0 < coverage < 1:
        raise UsageError(f"--coverage must be between 0 and 1, got {coverage}")
    loaded = load_model(model)
    check_output(output, [model], (".onnx",))
    export_onnx(loaded.model, output, coverage=coverage, output_dtype=dtype.value)
    size = output.stat().st_size
    told = {"model": str(model), "output": str(output), "bytes": size}
    pairs = [
        ("model", f"{model} ({type(loaded.model).__name__})"),
        ("written to", f"{output} ({byte_size(size)})"),
    ]
    out.result(told, properties(pairs))
