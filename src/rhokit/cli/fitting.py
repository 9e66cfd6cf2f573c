"""The work of ``rhokit fit``: what was asked for, checked, learned, saved, told."""

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rhokit.cli.console import byte_size, number, properties, short_list
from rhokit.cli.diagnosis import diagnosed
from rhokit.cli.errors import UsageError, UserError
from rhokit.cli.kinds import guess_kind
from rhokit.cli.models import KINDS, Note, kind_of, load_model, save_model, total_weight
from rhokit.cli.options import names_of
from rhokit.cli.sources import check_output, digest, opened, refuse_overwriting
from rhokit.cli.tables import Rows

# Options that are not named like the parameters that they set.
_OPTIONS = {"n_components": "--components", "feature_map": "--map"}


@dataclass(frozen=True)
class Wish:
    """What a user asked ``fit`` for; names are those of the options."""

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
    parameters: dict = field(default_factory=dict)
    seed: int = 0


def fitted(out, data, output, wish):
    """Fit a model to data, write it to a file, and say what it is."""
    start = time.monotonic()
    with opened(data) as source:
        others = [] if wish.like is None else [wish.like]
        check_output(output, [*source.files, *others])
        if wish.checkpoint is not None:
            refuse_overwriting("--checkpoint", wish.checkpoint, [output, *source.files])
        rows = Rows(source)
        model, note, reason = _planned(rows, wish)
        columns = _columns(rows, model, note, wish)
        categories = names_of(wish.categories, rows.names)
        rows.require(categories)
        with _named_errors(source, rows):
            note = replace(note, fill=_fill(source, columns, note, wish))
            _fit(model, source, columns, categories, note, wish)
        note = replace(note, sources=tuple(_describe(source, model, wish)))
    size = save_model(model, note, output)
    told = _told(model, note, output, size, time.monotonic() - start)
    out.result(told | {"guessed_because": reason}, *_shown(model, told, reason))


def _planned(rows, wish):
    """An estimator, what it is for, and why it is of that kind where nobody said so."""
    import rhokit

    if wish.like is not None:
        return _like(wish)
    target = names_of(wish.target, rows.names)
    kind, reason = wish.kind, None
    if kind is None:
        kind, reason = guess_kind(rows, target)
    if (kind == "density") != (not target):
        raise UsageError(
            f"--kind {kind} needs a --target"
            if not target
            else "--kind density takes no --target"
        )
    if "bounds" in wish.parameters and kind != "values":
        raise UsageError(f"--bounds is for values, not for {kind}")
    make = getattr(rhokit, KINDS[kind])
    model = make(**wish.parameters, random_state=wish.seed)
    return model, Note(tuple(target), wish.weight), reason if target else None


def _like(wish):
    """A model without rows that has another's plan, and what the other was for."""
    other = load_model(wish.like)
    if wish.parameters:
        names = short_list(_OPTIONS.get(p, f"--{p}") for p in wish.parameters)
        raise UsageError(
            f"--like takes over the plan of {wish.like}: leave out {names}"
        )
    if wish.kind not in (None, other.kind):
        raise UsageError(f"--like {wish.like} is a model of kind {other.kind}")
    if not hasattr(other.model, "blank"):
        kind = type(other.model).__name__
        raise UserError(
            f"{wish.like}: a {kind} is trained, and its plan cannot be used"
        )
    asked = [name for text in wish.target for name in (text, *text.split(","))]
    target = other.note.target or tuple(names_of(wish.target, []))
    if asked and not set(target) <= set(asked):
        raise UsageError(f"--like {wish.like} has the target {short_list(target)}")
    if other.kind != "density" and not target:
        raise UsageError(f"--like {wish.like} does not tell its target: give --target")
    note = Note(target, wish.weight or other.note.weight, fill=other.note.fill)
    return other.model.blank(), note, None


def _columns(rows, model, note, wish):
    """The columns to learn from: those of a plan, or those that were asked for."""
    known = getattr(model, "feature_names_in_", None)
    chosen, dropped = (names_of(w, rows.names) for w in (wish.columns, wish.drop))
    if known is not None:
        known = known.tolist()
        if (chosen and chosen != known) or set(known) & set(dropped):
            raise UsageError(f"--like {wish.like} has the columns {short_list(known)}")
        rows.require(known)
        return known
    taken = {*note.not_columns, *dropped}
    rows.require(taken)
    if both := sorted(taken & set(chosen)):
        raise UsageError(f"--columns {both[0]} is also target, weight or dropped")
    columns = [name for name in chosen or rows.names if name not in taken]
    rows.require(columns)
    if not columns:
        raise UsageError("no columns are left to learn from")
    return columns


def _fill(source, columns, note, wish):
    """What to fill in where values are missing, if that is wanted."""
    from rhokit.streams import typical_values

    if wish.missing != "impute":
        return {}
    return note.fill or typical_values(source.argument, columns, random_state=wish.seed)


def _fit(model, source, columns, categories, note, wish):
    """Fit from files."""
    import rhokit

    target = list(note.target)
    rhokit.fit_files(
        model,
        source.argument,
        columns=columns,
        target=(target[0] if len(target) == 1 else target) or None,
        weight=note.weight,
        categories=categories,
        missing=note.fill if wish.missing == "impute" else wish.missing,
        memory_limit=wish.memory_limit,
        checkpoint=wish.checkpoint,
    )


@contextmanager
def _named_errors(source, rows):
    """Let what is wrong with data be said with their name."""
    try:
        yield
    except (UserError, ImportError):
        raise
    except (ValueError, TypeError, OSError) as error:
        raise UserError(diagnosed(source, rows, error)) from error


def _describe(source, model, wish):
    """What to remember of the files."""
    alone = len(source.files) == 1 and wish.weight is None
    for file in source.files:
        name = source.name if source.is_standard_input else file.name
        told = {"name": name, "bytes": file.stat().st_size, "sha256": digest(file)}
        rows = round(total_weight(model)) if alone else None
        yield told | {"rows": rows}


def _told(model, note, output, size, seconds):
    """What was made, for programs."""
    from rhokit.cli.info import described

    return described(model, note) | {
        "output": str(output),
        "bytes": size,
        "seconds": round(seconds, 3),
    }


def _shown(model, told, reason):
    """The same for people."""
    from rhokit.cli.info import described_pairs

    guess = f"{kind_of(model)} (guessed: {reason})" if reason else kind_of(model)
    size, seconds = byte_size(told["bytes"]), told["seconds"]
    yield properties(
        [
            ("kind", guess),
            *described_pairs(told),
            ("written to", f"{told['output']} ({size})"),
            ("time", f"{number(seconds, 2)} s"),
        ]
    )
