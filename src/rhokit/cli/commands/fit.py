"""``rhokit fit``: a model file from tables of any size."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from rhokit.cli.console import Output
from rhokit.cli.failures import UsageError
from rhokit.cli.options import DataPaths, KeepAll, ModelOutput, Precision
from rhokit.cli.reading_options import Reading


class Kind(StrEnum):
    """Kinds of models, by what they answer."""

    density = "density"
    classes = "classes"
    values = "values"
    ordinal = "ordinal"
    outliers = "outliers"


class TrainingGaps(StrEnum):
    """Ways to learn from rows that lack a value."""

    refuse = "raise"
    drop = "drop"
    impute = "impute"


_NO_SCALING = "none"
_CHOICES, _LIMITS = "What is chosen for you otherwise", "Large data"
_NAMES: dict[str, Any] = {"metavar": "A,B", "show_default": False}


def fit(
    out: Output,
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
            help="density, classes, values, ordinal or outliers; guessed from the "
            "target's values without it.",
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
    keep_all: KeepAll = False,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The rows' weights.")
    ] = None,
    missing: Annotated[
        TrainingGaps,
        typer.Option(help="Rows that lack a value: an error, left out, filled."),
    ] = TrainingGaps.refuse,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Take over scaling, map and gamma of this model, so that the two can "
            "be merged and compared.",
        ),
    ] = None,
    seed: int = 0,
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
        str | None,
        typer.Option(
            "--map",
            metavar="NAME",
            help="auto, grid, landmarks, fourier or quadrature.",
            rich_help_panel=_CHOICES,
        ),
    ] = None,
    scale: Annotated[
        str | None,
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
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Of outliers: there are none among these rows.",
            rich_help_panel=_CHOICES,
        ),
    ] = False,
    dtype: Annotated[
        Precision | None,
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
    reading: Reading = MappingProxyType({}),
) -> None:
    """Sum a table up in a model file, in one pass.

    Without --target a density; with one, classes or values, as its column says.
    """
    from rhokit.cli.fit_request import FitRequest, fit_and_save

    request = FitRequest(
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
        keep_all=keep_all,
        reading=reading,
        parameters=_parameters(
            gamma=gamma and _number_or_word("--gamma", gamma),
            n_components=components,
            rank=rank and _rank(rank),
            feature_map=feature_map and _map_name(feature_map),
            scale=scale and _scale_name(scale),
            bounds=bounds and _bounds(bounds),
            training="clean" if clean else None,
            dtype=dtype and dtype.value,
        ),
        seed=seed,
    )
    fit_and_save(out, data, output, request)


def _parameters(**given: Any) -> dict[str, Any]:
    """The parameters that were asked for; a scale of none is one, too."""
    asked = {name: value for name, value in given.items() if value is not None}
    return asked | ({"scale": None} if asked.get("scale") == _NO_SCALING else {})


def _map_name(name: str) -> str:
    from rhokit.features.registry import planned_names

    return _one_of("--map", name, ["auto", *planned_names()])


def _scale_name(name: str) -> str:
    from rhokit.plans.scaling import SCALE_RULES, TARGET_RULES

    known = ["auto", *SCALE_RULES, *TARGET_RULES, _NO_SCALING]
    return _one_of("--scale", name, known)


def _one_of(option: str, name: str, known: Iterable[str]) -> str:
    if name not in known:
        raise UsageError(f"{option} must be one of {', '.join(known)}, got {name}")
    return name


def _number_or_word(option: str, text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    if not 0 < number < float("inf"):
        raise UsageError(f"{option} must be a number above zero or a rule, got {text}")
    return number


def _rank(text: str) -> float | str:
    """A count, a share or a rule."""
    value = _number_or_word("--rank", text)
    is_count = isinstance(value, float) and value == int(value) and "." not in text
    return int(value) if is_count else value


def _bounds(text: str) -> list[float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--bounds must be two numbers such as 0,100, got {text}"
        ) from None
    if not low < high:
        raise UsageError(f"--bounds must be lowest, then highest, got {text}")
    return [low, high]
