"""``rhokit demo``: a first look at real data."""

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.console import Output
from rhokit.cli.failures import UserError


def demo(
    out: Output,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="A folder for the pictures."
        ),
    ] = Path("demo-output"),
) -> None:
    """Densities, classes and values of real data, beside well-known methods."""
    from rhokit.demo.__main__ import main

    if output.exists() and not output.is_dir():
        raise UserError(f"--output {output} is a file, not a folder")
    silent = out.json or out.quiet
    with redirect_stdout(io.StringIO() if silent else sys.stdout):
        main(["--output", str(output)])
    told = {"output": str(output), "files": sorted(f.name for f in output.iterdir())}
    if out.json:
        out.result(told)
