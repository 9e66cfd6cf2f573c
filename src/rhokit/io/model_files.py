"""Saving and loading models."""

import json
import os
import platform
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import rhokit
from rhokit.errors import ModelFileError
from rhokit.io.atomic import write_atomically
from rhokit.io.container import pack, unpack
from rhokit.io.estimator_field import EstimatorField
from rhokit.io.map_field import MapField
from rhokit.io.model_field import states_of
from rhokit.io.protocol import PROTOCOL, upgraded
from rhokit.records import Field, Reader, Tensors, Writer, built
from rhokit.representations import REPRESENTATIONS

_FORMAT = "rhokit model"
_STATES = states_of(*REPRESENTATIONS)
# What every file may cost, and what each of its bytes adds to it.
_FREE_COST, _COST_PER_BYTE = 2**29, 2**7
_ROOTS: dict[str, Field] = {
    "estimator": EstimatorField(),
    "map": MapField(),
    "state": _STATES,
}


def save(model: Any, path: str | os.PathLike[str], *, state: str = "exact") -> None:
    """Write a model to a file, whole or not at all.

    The file holds numbers and names, no code: a safetensors file with JSON metadata.
    Its size does not depend on how many rows the model has seen.

    Parameters
    ----------
    model : estimator, feature map or state
        Of rhokit's own classes; fitted, prepared, or neither.
    path : str or path
    state : {"exact", "factor"}, default="exact"
        ``"exact"`` keeps the sums: the model can go on learning, merging and
        forgetting. ``"factor"`` keeps a factor of the model's rank: the smallest file,
        which only predicts (see :meth:`rhokit.DMKDE.compact`).

    Notes
    -----
    What would be refused when it is loaded is not written: an error says why.

    Random generators among the parameters are kept as None; what they drew is in the
    file. So are paths (``checkpoint``): no path is ever taken from a file.
    ``candidates_`` and torch modules are not kept: ``to_module()`` makes one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import rhokit
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = rhokit.DMKDE(n_components=64, random_state=0).fit(X)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "density.rhokit"
    >>> rhokit.save(model, path)
    >>> again = rhokit.load(path)
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    >>> again.partial_fit(X).state_.weight
    array([1000.])
    """
    data = dumps(model, state=state)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error


def load(path: str | os.PathLike[str], *, limit: float | None = None) -> Any:
    """Read a model from a file that :func:`save` wrote.

    Nothing in the file is run or imported, and nothing is built before everything has
    been checked, so files from strangers are safe to load. A small file may describe
    a model that takes gigabytes or minutes once it is built, asked or taught; such a
    file is refused, too.

    Parameters
    ----------
    path : str or path
    limit : float, optional
        Bytes that it may take to load the model, to ask it once and to teach it a row;
        or time, of which a byte stands for 6 ns. 512 MB and 128 bytes for each byte of
        the file without it: memory, or 4 s and 1 µs per byte. ``math.inf`` for files of
        your own.

    Returns
    -------
    model

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model, was written by a newer version, or would
        cost too much.
    """
    data = Path(path).read_bytes()
    try:
        return loads(data, limit=limit)
    except ModelFileError as error:
        raise ModelFileError(f"{str(path)!r}: {error}") from error


def dumps(model: Any, *, state: str = "exact") -> bytes:
    """The content of the file that :func:`save` would write.

    With :func:`loads` and ``merge`` it carries models between processes and machines.
    """
    if state not in ("exact", "factor"):
        raise ValueError(f"state must be 'exact' or 'factor', got {state!r}")
    if state == "factor" and hasattr(model, "compact"):
        model = model.compact()
    return pack_model(model)


def loads(data: bytes, *, limit: float | None = None) -> Any:
    """The model of :func:`dumps`; ``limit`` is that of :func:`load`."""
    return unpack_model(bytes(memoryview(data)), limit)[0]


def pack_model(model: Any, note: dict[str, Any] | None = None) -> bytes:
    """A model as bytes, with a note of plain JSON for whoever reads it."""
    writer = Writer()
    root = _root_of(model)
    content = _ROOTS[root].write(model, "", writer)
    _check_loads(root, content, writer.tensors)
    tree = {
        "format": _FORMAT,
        "protocol": PROTOCOL,
        "rhokit": rhokit.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        root: content,
        "note": note,
    }
    return pack(tree, writer.tensors)


def unpack_model(
    data: bytes, limit: float | None = None
) -> tuple[Any, dict[str, Any] | None]:
    """The model and the note of :func:`pack_model`; see :func:`load` for the limit."""
    limit = _checked_limit(limit, len(data))
    tree, tensors = unpack(data)
    if tree.get("format") != _FORMAT:
        raise ModelFileError("holds something else than a rhokit model")
    tree, tensors = upgraded(tree, tensors)
    roots = _ROOTS.keys() & tree.keys()
    if len(roots) != 1:
        raise ModelFileError(f"must hold one of {sorted(_ROOTS)}")
    (root,) = roots
    note = tree.get("note")
    if note is not None and not isinstance(note, dict):
        raise ModelFileError("note must be an object")
    reader = Reader(tensors, limit)
    try:
        plan = _ROOTS[root].read(tree[root], "", reader)
        reader.finish()
        return built(plan), note
    except (ModelFileError, ImportError, MemoryError):
        raise
    except Exception as error:  # whatever a hostile file makes of numbers and shapes
        raise ModelFileError(f"does not fit together: {error}") from error


def _checked_limit(limit: float | None, size: int) -> float:
    """What a file of so many bytes may cost."""
    if limit is None:
        return _FREE_COST + _COST_PER_BYTE * size
    if isinstance(limit, bool) or not isinstance(limit, Real) or not limit > 0:
        raise ValueError(
            f"limit must be a number of bytes above zero, or None, got {limit!r}"
        )
    return float(limit)


def _check_loads(root: str, content: Any, tensors: Tensors) -> None:
    """Refuse to write what would be refused when it is read; nothing is built."""
    reader = Reader(tensors)
    try:
        _ROOTS[root].read(json.loads(json.dumps(content)), "", reader)
        reader.finish()
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ModelFileError(
            f"cannot be saved: its file could not be loaded again ({error})"
        ) from error


def _root_of(model: Any) -> str:
    """What kind of thing is to be written."""
    if hasattr(model, "file_fields"):
        return "map"
    return "state" if _STATES.takes(model) else "estimator"
