"""``rhokit merge``: one model of what several have seen."""

import warnings
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import typer

from rhokit.cli.console import Output, byte_size, properties
from rhokit.cli.failures import UsageError
from rhokit.cli.options import ModelOutput

Models = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL", help="Model files, of one plan.", show_default=False
    ),
]


def merge(out: Output, models: Models, output: ModelOutput) -> None:
    """One model of all the rows that several models have seen.

    They must share scaling, map and gamma: fit all but the first with --like.
    """
    from rhokit.cli.descriptions import described, described_pairs
    from rhokit.cli.sources import check_output
    from rhokit.cli.stored_models import check_alike, load_model, save_model
    from rhokit.parallel import merge as merged

    if len(models) < 2:
        raise UsageError("merge needs two models or more")
    check_output(output, models)
    stored = [load_model(path) for path in models]
    for other in stored[1:]:
        check_alike(stored[0], other)
    note = reduce(lambda a, b: a.merged(b), (each.note for each in stored))
    _warn_of_copies(note.sources)
    model = merged([each.model for each in stored])
    size = save_model(model, note, output)
    told = described(model, note) | {"output": str(output), "bytes": size}
    pairs = [("models", str(len(models))), *described_pairs(told)]
    written = ("written to", f"{output} ({byte_size(size)})")
    out.result(told | {"models": len(models)}, properties([*pairs, written]))


def _warn_of_copies(sources: tuple[dict[str, Any], ...]) -> None:
    """Say that a file is there twice."""
    counts = Counter(each.get("sha256") for each in sources)
    twice = [each.get("name") for each in sources if counts[each.get("sha256")] > 1]
    if twice and twice[0]:
        warnings.warn(f"the rows of {twice[0]} are counted twice", stacklevel=2)
