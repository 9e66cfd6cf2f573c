"""``rhokit merge``: one model of what several have seen."""

from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.errors import UsageError, UserError
from rhokit.cli.options import ModelOutput

Models = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL", help="Model files, of one plan.", show_default=False
    ),
]


def merge(out, models: Models, output: ModelOutput):
    """One model of all the rows that several models have seen.

    They must share scaling, map and gamma: fit all but the first with --like.
    """
    import warnings

    from rhokit.cli.console import byte_size, properties
    from rhokit.cli.info import described, described_pairs
    from rhokit.cli.models import load_model, save_model
    from rhokit.cli.sources import check_output
    from rhokit.parallel import merge as merged

    if len(models) < 2:
        raise UsageError("merge needs two models or more")
    check_output(output, models)
    loaded = [load_model(path) for path in models]
    for other in loaded[1:]:
        check_alike(loaded[0], other)
    note = reduce(lambda a, b: a.merged(b), (each.note for each in loaded))
    twice = _seen_twice(note)
    if twice:
        warnings.warn(f"the rows of {twice} are counted twice", stacklevel=2)
    model = merged([each.model for each in loaded])
    size = save_model(model, note, output)
    told = described(model, note) | {"output": str(output), "bytes": size}
    pairs = [("models", str(len(models))), *described_pairs(told)]
    written = ("written to", f"{output} ({byte_size(size)})")
    out.result(told | {"models": len(models)}, properties([*pairs, written]))


def check_alike(first, other):
    """Refuse models whose states have nothing to do with each other."""
    one, two = type(first.model).__name__, type(other.model).__name__
    if one != two:
        raise UserError(f"{other.path}: is a {two}, but {first.path} is a {one}")
    if not hasattr(first.model, "fingerprint"):
        raise UserError(f"{first.path}: a {one} is trained, and does not add up")
    if (
        first.note.target != other.note.target
        and first.note.target
        and other.note.target
    ):
        raise UserError(
            f"{other.path}: has the target {', '.join(other.note.target)}, but "
            f"{first.path} has {', '.join(first.note.target)}"
        )
    if (first.columns or other.columns) != (other.columns or first.columns):
        raise UserError(f"{other.path}: has other columns than {first.path}")
    if first.model.fingerprint() != other.model.fingerprint():
        raise UserError(
            f"{other.path}: differs from {first.path} in scaling, gamma or map: fit it "
            f"with --like {first.path}"
        )


def _seen_twice(note):
    """The name of a file that is there twice, None if there is none."""
    counts = Counter(each.get("sha256") for each in note.sources)
    for each in note.sources:
        if counts[each.get("sha256")] > 1:
            return each.get("name")
    return None
