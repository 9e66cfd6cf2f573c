"""``rhokit fit``: a model file from tables of any size."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.errors import UsageError
from rhokit.cli.options import DataPaths, ModelOutput


class Kind(StrEnum):
    """What a model is to answer."""

    density = "density"
    classes = "classes"
    values = "values"
    ordinal = "ordinal"


class Map(StrEnum):
    """Names of feature maps."""

    auto = "auto"
    grid = "grid"
    landmarks = "landmarks"
    fourier = "fourier"
    quadrature = "quadrature"


class Scale(StrEnum):
    """Names of scalings."""

    auto = "auto"
    std = "std"
    common = "common"
    within = "within"
    robust = "robust"
    whiten = "whiten"
    none = "none"


class Dtype(StrEnum):
    """Precision of features."""

    float32 = "float32"
    float64 = "float64"


class Gaps(StrEnum):
    """What to do with rows that lack a value."""

    refuse = "raise"
    drop = "drop"
    impute = "impute"


_CHOICES, _LIMITS = "What is chosen for you otherwise", "Large data"
_NAMES = {"metavar": "A,B", "show_default": False}


def fit(
    out,
    data: DataPaths,
    output: ModelOutput,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="What to predict; none: a density."),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            metavar="KIND",
            help="density, classes, values or ordinal; guessed from the target's "
            "values without it.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to learn from; without it all.", **_NAMES),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out.", **_NAMES)
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(help="Columns of numbers that are codes.", **_NAMES),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The rows' weights.")
    ] = None,
    missing: Annotated[
        Gaps, typer.Option(help="Rows that lack a value: an error, left out, filled.")
    ] = Gaps.refuse,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Take over scaling, map and gamma of this model, so that the two can "
            "be merged and compared.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    gamma: Annotated[
        str | None,
        typer.Option(
            help="Of the kernel exp(-gamma d^2): a number, or a rule such as loo, "
            "median, scott.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            min=1, help="Landmarks, or random features.", rich_help_panel=_CHOICES
        ),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(
            help="Eigenvectors to predict with: a count, a share, elbow, or loo.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    feature_map: Annotated[
        Map | None,
        typer.Option(
            "--map",
            metavar="NAME",
            help="auto, grid, landmarks, fourier or quadrature.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    scale: Annotated[
        Scale | None,
        typer.Option(
            metavar="NAME",
            help="Of the columns: auto, std, common, within, robust, whiten or none.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Of values: the range of all that will come.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    dtype: Annotated[
        Dtype | None,
        typer.Option(
            help="Precision of the features; float32 halves time and memory.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help='Such as "600 MB": smaller batches, or refuse to start.',
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write here what was learned, every minute; go on from it.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
):
    """Sum a table up in a model file, in one pass.

    Without --target a density; with one, classes or values, as its column says.
    """
    from rhokit.cli.fitting import Wish, fitted

    wish = Wish(
        target=target or [],
        kind=kind and kind.value,
        columns=columns or [],
        drop=drop or [],
        categories=categories or [],
        weight=weight,
        missing=missing.value,
        like=like,
        memory_limit=memory_limit,
        checkpoint=checkpoint,
        parameters=_parameters(
            gamma=gamma and _number_or_word("--gamma", gamma),
            n_components=components,
            rank=rank and _rank(rank),
            feature_map=feature_map and feature_map.value,
            scale=scale and (None if scale is Scale.none else scale.value),
            bounds=bounds and _bounds(bounds),
            dtype=dtype and dtype.value,
            scale_is_none=scale is Scale.none,
        ),
        seed=seed,
    )
    fitted(out, data, output, wish)


def _parameters(*, scale_is_none, **given):
    """The parameters that were asked for; a scale of none is one, too."""
    asked = {name: value for name, value in given.items() if value is not None}
    return asked | ({"scale": None} if scale_is_none else {})


def _number_or_word(option, text):
    try:
        number = float(text)
    except ValueError:
        return text
    if not 0 < number < float("inf"):
        raise UsageError(f"{option} must be a number above zero or a rule, got {text}")
    return number


def _rank(text):
    """A count, a share or a rule."""
    value = _number_or_word("--rank", text)
    is_count = isinstance(value, float) and value == int(value) and "." not in text
    return int(value) if is_count else value


def _bounds(text):
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--bounds must be two numbers such as 0,100, got {text}"
        ) from None
    if not low < high:
        raise UsageError(f"--bounds must be lowest, then highest, got {text}")
    return [low, high]
