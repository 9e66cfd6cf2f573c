"""The work of ``rhokit fit``: what was asked for, checked, learned, saved, told."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import rhokit
from rhokit.cli.console import Output, byte_size, properties, short_list
from rhokit.cli.descriptions import described, described_pairs
from rhokit.cli.failures import UsageError, UserError
from rhokit.cli.kinds import guess_kind
from rhokit.cli.option_names import option_of
from rhokit.cli.options import names_of
from rhokit.cli.reading_options import Reading
from rhokit.cli.sources import Source, check_output, digest, opened, refuse_overwriting
from rhokit.cli.stored_models import (
    KINDS,
    WITHOUT_TARGET,
    Note,
    column_names,
    load_model,
    save_model,
)
from rhokit.cli.table_files import TableFiles
from rhokit.errors import DataError, DataNote
from rhokit.models.mass import warn_of_mass
from rhokit.progress import duration
from rhokit.streams import typical_values
from rhokit.validation import is_missing

_GAP_REASON = (
    "has no value (--missing drop leaves such rows out, --missing impute fills them)"
)


@dataclass(frozen=True)
class FitRequest:
    """A user's request to ``fit``; names are those of the options."""

    target: list[str] = field(default_factory=list)
    kind: str | None = None
    columns: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    weight: str | None = None
    categories: list[str] = field(default_factory=list)
    missing: str = "raise"
    like: Path | None = None
    memory_limit: str | None = None
    checkpoint: Path | None = None
    keep_all: bool = False
    reading: Reading = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


def fit_and_save(
    out: Output, data: list[str], output: Path, request: FitRequest
) -> None:
    """Fit a model to data, write it to a file, and say what it is."""
    start = time.monotonic()
    with opened(data, request.reading) as source:
        others = [] if request.like is None else [request.like]
        check_output(output, [*source.files, *others])
        if request.checkpoint is not None:
            refuse_overwriting(
                "--checkpoint", request.checkpoint, [output, *source.files]
            )
        table = TableFiles(source, _wanted(request))
        model, note, reason = _blank_model(table, request)
        columns = _columns(table, model, note, request)
        categories = names_of(request.categories, table.names)
        table.require(categories)
        with source.named_errors(), _gap_advice():
            note = replace(note, fill=_fill(source, columns, note, request))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)  # which was said before
                _fit(model, source, columns, categories, note, request)
        note = replace(note, sources=tuple(_describe(source, model, request)))
    warn_of_mass(model.fitted_model())
    size = save_model(model, note, output)
    told = _told(model, note, output, size, time.monotonic() - start)
    told["guessed_because"] = reason
    out.result(told, *_shown(told))


def _blank_model(
    table: TableFiles, request: FitRequest
) -> tuple[Any, Note, str | None]:
    """An estimator, what it is for, and why it is of that kind where nobody said so."""
    if request.like is not None:
        return _like(request.like, request)
    target = names_of(request.target, table.names)
    kind, reason = request.kind, None
    if kind is None:
        kind, reason = guess_kind(table, target)
    if (kind in WITHOUT_TARGET) != (not target):
        raise UsageError(
            f"--kind {kind} needs a --target"
            if not target
            else f"--kind {kind} takes no --target"
        )
    if "bounds" in request.parameters and kind != "values":
        raise UsageError(f"--bounds is for values, not for {kind}")
    if "training" in request.parameters and kind != "outliers":
        raise UsageError(f"--clean is for outliers, not for {kind}")
    if "rank" in request.parameters and kind == "outliers":
        raise UsageError("--rank is not for outliers")
    make = getattr(rhokit, KINDS[kind])
    model = make(**request.parameters, random_state=request.seed)
    return model, Note(tuple(target), request.weight), reason if target else None


def _wanted(request: FitRequest) -> list[str] | None:
    """The columns of a plan, which tell what to make of dates."""
    return None if request.like is None else load_model(request.like).columns


def _like(like: Path, request: FitRequest) -> tuple[Any, Note, None]:
    """A model without rows that has another's plan, and what the other was for."""
    other = load_model(like)
    if request.parameters:
        names = short_list(map(option_of, request.parameters))
        raise UsageError(f"--like takes over the plan of {like}: leave out {names}")
    if request.kind not in (None, other.kind):
        raise UsageError(f"--like {like} is a model of kind {other.kind}")
    if not hasattr(other.model, "blank"):
        kind = type(other.model).__name__
        raise UserError(f"{like}: a {kind} is trained, and its plan cannot be used")
    asked = [name for text in request.target for name in (text, *text.split(","))]
    target = other.note.target or tuple(names_of(request.target, []))
    if asked and not set(target) <= set(asked):
        raise UsageError(f"--like {like} has the target {short_list(target)}")
    if other.kind not in WITHOUT_TARGET and not target:
        raise UsageError(f"--like {like} does not tell its target: give --target")
    note = Note(target, request.weight or other.note.weight, fill=other.note.fill)
    return other.model.blank(), note, None


def _columns(
    table: TableFiles, model: Any, note: Note, request: FitRequest
) -> list[str]:
    """The columns to learn from: those of a plan, or those that were asked for."""
    known = column_names(model)
    chosen, dropped = (table.named(given) for given in (request.columns, request.drop))
    if known is not None:
        if (chosen and chosen != known) or set(known) & set(dropped):
            raise UsageError(
                f"--like {request.like} has the columns {short_list(known)}"
            )
        table.require(known)
        return known
    taken = {*note.not_columns, *dropped}
    table.require(taken)
    if both := sorted(taken & set(chosen)):
        raise UsageError(f"--columns {both[0]} is also target, weight or dropped")
    columns = [name for name in chosen or table.names if name not in taken]
    table.require(columns)
    if not chosen and not request.keep_all:
        columns = table.without_idle(columns)
    if not columns:
        raise UsageError("no columns are left to learn from")
    return columns


def _fill(
    source: Source, columns: list[str], note: Note, request: FitRequest
) -> dict[str, Any]:
    """Values to fill in where some are missing, if that is wanted."""
    if request.missing != "impute":
        return {}
    return note.fill or typical_values(
        source.argument, columns, random_state=request.seed, **source.reading
    )


def _fit(
    model: Any,
    source: Source,
    columns: list[str],
    categories: list[str],
    note: Note,
    request: FitRequest,
) -> None:
    """Fit from files."""
    target = list(note.target)
    rhokit.fit_files(
        model,
        source.argument,
        columns=columns,
        target=(target[0] if len(target) == 1 else target) or None,
        weight=note.weight,
        categories=categories,
        missing=note.fill if request.missing == "impute" else request.missing,
        memory_limit=request.memory_limit,
        checkpoint=request.checkpoint,
        **source.reading,
    )


@contextmanager
def _gap_advice() -> Iterator[None]:
    """Let an error about a value that is missing say what can be done."""
    try:
        yield
    except DataError as error:
        is_gap = error.row is not None and error.column is not None
        if not is_gap or not is_missing(error.value):
            raise
        place: dict[str, Any] = {"file": error.file, "row": error.row}
        raise DataError(_GAP_REASON, **place, column=error.column) from error


def _describe(
    source: Source, model: Any, request: FitRequest
) -> Iterator[dict[str, Any]]:
    """Names, sizes and digests of the files, to be remembered."""
    alone = len(source.files) == 1 and request.weight is None
    for file in source.files:
        name = source.name if source.is_standard_input else file.name
        told = {"name": name, "bytes": file.stat().st_size, "sha256": digest(file)}
        rows = round(model.fitted_model().total_weight) if alone else None
        yield told | {"rows": rows}


def _told(
    model: Any, note: Note, output: Path, size: int, seconds: float
) -> dict[str, Any]:
    """A description of the new model for programs."""
    return described(model, note) | {
        "output": str(output),
        "bytes": size,
        "seconds": round(seconds, 3),
    }


def _shown(told: dict[str, Any]) -> Iterator[Any]:
    """A description of the new model for people."""
    kind, reason = told["kind"], told["guessed_because"]
    guess = f"{kind} (guessed: {reason})" if reason else kind
    size, seconds = byte_size(told["bytes"]), told["seconds"]
    yield properties(
        [
            ("kind", guess),
            *described_pairs(told),
            ("written to", f"{told['output']} ({size})"),
            ("time", duration(seconds)),
        ]
    )
