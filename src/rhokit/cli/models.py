"""Model files of the command line: a model, and a note on where it comes from."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rhokit.cli.errors import UserError
from rhokit.cli.sources import digest

_KEY = "command line"
KINDS = {
    "density": "DMKDE",
    "classes": "DMKDClassifier",
    "values": "QMRegressor",
    "ordinal": "QMOrdinalClassifier",
}


@dataclass(frozen=True)
class Note:
    """What a model file says about its making.

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
    sources: tuple[dict, ...] = ()
    fill: dict = field(default_factory=dict)

    def to_json(self):
        return {_KEY: asdict(self) | {"version": 1}}

    @classmethod
    def from_json(cls, note):
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

    def merged(self, other):
        """The note of a model that has seen what two models saw."""
        return replace(self, sources=self.sources + other.sources)

    @property
    def not_columns(self):
        """Columns that are no part of a row."""
        return {*self.target, *([self.weight] if self.weight else [])}

    def has_seen(self, files):
        """Whether all of these files are among those that the model was fitted to."""
        known = {(each.get("bytes"), each.get("sha256")) for each in self.sources}
        sizes = {size for size, _ in known}
        return bool(files) and all(
            file.stat().st_size in sizes
            and (file.stat().st_size, digest(file)) in known
            for file in files
        )


def _list(value):
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class Loaded:
    """A model, its note and its file."""

    model: object
    note: Note
    path: Path

    @property
    def kind(self):
        """One of density, classes, values, ordinal."""
        return kind_of(self.model)

    @property
    def columns(self):
        """Names of the columns of a row; None of a model of arrays, which has none."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


def kind_of(model):
    """What a model answers."""
    if type(model).__name__.startswith("QMOrdinal"):
        return "ordinal"
    if hasattr(model, "predict_proba"):
        return "classes"
    return "values" if hasattr(model, "predict") else "density"


def load_model(path, *, fitted=True):
    """Read a model file that the command line or :func:`rhokit.save` wrote."""
    from rhokit.io import ModelFileError
    from rhokit.io.model_files import unpack_model

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
    return Loaded(model, Note.from_json(note), path)


def _check_is_model(model, path, fitted):
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    answers = hasattr(model, "score_samples") or hasattr(model, "predict")
    if not isinstance(model, BaseEstimator) or not answers:
        raise UserError(f"{path}: holds a {type(model).__name__}, which is no model")
    if not fitted:
        return
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise UserError(f"{path}: this {type(model).__name__} holds no rows") from None


def save_model(model, note, path):
    """Write a model and its note, whole or not at all; returns the bytes written."""
    from rhokit.io.atomic import write_atomically
    from rhokit.io.model_files import pack_model

    data = pack_model(model, note.to_json())
    try:
        write_atomically(path, data)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{path}: could not be written: {reason}") from error
    return len(data)


def total_weight(model):
    """The weight of all rows that a model has seen."""
    weights = model.state_.weight
    # Every one of several targets has levels of its own.
    n_targets = len(getattr(model, "output_maps_", None) or [None])
    return float(weights.sum()) / n_targets
