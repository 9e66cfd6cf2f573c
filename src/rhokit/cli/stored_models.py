"""Model files of the command line: a model, and a note on where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rhokit.cli.failures import UserError
from rhokit.cli.sources import digest
from rhokit.errors import ModelFileError
from rhokit.inspection import one_pass
from rhokit.io.atomic import write_atomically
from rhokit.io.model_files import pack_model, unpack_model

_KEY = "command line"
KINDS = {
    "density": "DMKDE",
    "classes": "DMKDClassifier",
    "values": "QMRegressor",
    "ordinal": "QMOrdinalClassifier",
    "outliers": "DMKDOutlierDetector",
}
"""Names of estimators by the kinds of ``--kind``."""
WITHOUT_TARGET = ("density", "outliers")
"""Kinds that learn rows alone."""
# Where ``--kind`` has another word than the read-outs have.
_KIND_OF_READOUT = {"ordered": "ordinal"}


@dataclass(frozen=True)
class Note:
    """The part of a model file that tells how it was made.

    Parameters
    ----------
    target : tuple of str
        The target's column, none of a density, or several.
    weight : str or None
    sources : tuple of dict
        ``name``, ``bytes``, ``sha256`` and, where it is known, ``rows`` of each file.
    fill : dict
        Values that stood for missing ones, by column.
    """

    target: tuple[str, ...] = ()
    weight: str | None = None
    sources: tuple[dict[str, Any], ...] = ()
    fill: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The note as a model file keeps it."""
        return {_KEY: asdict(self) | {"version": 1}}

    @classmethod
    def from_json(cls, note: dict[str, Any] | None) -> Note:
        """The note of a file; an empty one where there is none of ours."""
        told = (note or {}).get(_KEY)
        if not isinstance(told, dict):
            return cls()
        target, weight = _list(told.get("target")), told.get("weight")
        sources, fill = _list(told.get("sources")), told.get("fill")
        return cls(
            tuple(name for name in target if isinstance(name, str)),
            weight if isinstance(weight, str) else None,
            tuple(each for each in sources if isinstance(each, dict)),
            fill if isinstance(fill, dict) else {},
        )

    def merged(self, other: Note) -> Note:
        """The note of a model that has seen what two models saw."""
        return replace(self, sources=self.sources + other.sources)

    @property
    def not_columns(self) -> set[str]:
        """Columns that are no part of a row."""
        return {*self.target, *([self.weight] if self.weight else [])}

    def has_seen(self, files: Sequence[Path]) -> bool:
        """Whether all of these files are among those that the model was fitted to."""
        known = {(each.get("bytes"), each.get("sha256")) for each in self.sources}
        sizes = {size for size, _ in known}
        return bool(files) and all(
            file.stat().st_size in sizes
            and (file.stat().st_size, digest(file)) in known
            for file in files
        )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class StoredModel:
    """An estimator of a file, with its note.

    Parameters
    ----------
    model : estimator
        One-pass or trained.
    note : Note
    path : Path
    """

    model: Any
    note: Note
    path: Path

    @property
    def estimator(self) -> Any:
        """The one-pass estimator that answers."""
        return answering(self.model)

    @property
    def kind(self) -> str:
        """One of density, classes, values, ordinal, outliers."""
        return kind_of(self.model)

    @property
    def has_labels(self) -> bool:
        """Whether it predicts classes, with an order or without."""
        return self.kind in ("classes", "ordinal")

    @property
    def score_name(self) -> str:
        """What the scores of rows are."""
        return "log_p_value" if self.kind == "outliers" else "log_density"

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns of a row; None of a model of arrays, which has none."""
        return column_names(self.model)


def answering(model: Any) -> Any:
    """The one-pass estimator that answers: a trained model has one, or makes one."""
    inner = one_pass(model)
    return inner.untrained() if hasattr(inner, "untrained") else inner


def kind_of(model: Any) -> str:
    """The kind of a model, as ``--kind`` names it."""
    kind = str(answering(model).make_readout().kind)
    return _KIND_OF_READOUT.get(kind, kind)


def column_names(model: Any) -> list[str] | None:
    """Names of the columns that a model has learned, None where it knows none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def load_model(path: Path, *, fitted: bool = True) -> StoredModel:
    """Read a model file that the command line or :func:`rhokit.save` wrote."""
    if not path.exists():
        raise UserError(f"{path}: no such file")
    if path.is_dir():
        raise UserError(f"{path}: is a folder, not a model file")
    try:
        model, note = unpack_model(path.read_bytes())
    except ModelFileError as error:
        raise UserError(f"{path}: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"{path}: {reason}") from error
    _check_is_model(model, path, fitted)
    return StoredModel(model, Note.from_json(note), path)


def _check_is_model(model: Any, path: Path, fitted: bool) -> None:
    if not isinstance(model, BaseEstimator) or not hasattr(model, "score_samples"):
        raise UserError(f"{path}: holds a {type(model).__name__}, which is no model")
    if not fitted:
        return
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise UserError(f"{path}: this {type(model).__name__} holds no rows") from None


def save_model(model: Any, note: Note, path: Path) -> int:
    """Write a model and its note, whole or not at all; returns the bytes written."""
    data = pack_model(model, note.to_json())
    try:
        write_atomically(path, data)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{path}: could not be written: {reason}") from error
    return len(data)


def check_alike(first: StoredModel, other: StoredModel) -> None:
    """Refuse models whose states have nothing to do with each other."""
    one, two = type(first.model).__name__, type(other.model).__name__
    if one != two:
        raise UserError(f"{other.path}: is a {two}, but {first.path} is a {one}")
    if not hasattr(first.model, "merge"):
        raise UserError(f"{first.path}: a {one} is trained, and does not add up")
    targets = first.note.target, other.note.target
    if all(targets) and targets[0] != targets[1]:
        raise UserError(
            f"{other.path}: has the target {', '.join(targets[1])}, but "
            f"{first.path} has {', '.join(targets[0])}"
        )
    if (first.columns or other.columns) != (other.columns or first.columns):
        raise UserError(f"{other.path}: has other columns than {first.path}")
    if first.model.fingerprint() != other.model.fingerprint():
        raise UserError(
            f"{other.path}: differs from {first.path} in scaling, gamma or map: fit it "
            f"with --like {first.path}"
        )
