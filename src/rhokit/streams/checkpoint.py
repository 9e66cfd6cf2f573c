"""What a fit over files has learned so far, in a file of its own."""

import hashlib
import math
import os
import time
from numbers import Real
from pathlib import Path
from typing import Any

from rhokit.errors import ModelFileError
from rhokit.estimators.base import OnePassEstimator
from rhokit.io.atomic import write_atomically
from rhokit.io.model_files import pack_model, unpack_model
from rhokit.streams.learning import fresh

Note = dict[str, Any]


class Checkpoint:
    """What a fit over files has learned, and how far it has read.

    Parameters
    ----------
    path : path or None
        None keeps nothing.
    every : float
        Seconds between two writes.
    estimator : one-pass model
    reader : TableReader
    options : str
        What else the caller wished for that the result depends on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        every: float,
        estimator: OnePassEstimator,
        reader: Any,
        options: str,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._every = every
        self._last = time.monotonic()
        if not isinstance(every, Real) or not every >= 0:
            raise ValueError(
                f"checkpoint_every must be a number of seconds, got {every!r}"
            )
        if path is not None and not reader.has_files:
            raise ValueError("checkpoint needs a source that is made of files")
        self.digest: str = "" if path is None else _digest(estimator, reader, options)

    def read(self) -> tuple[OnePassEstimator, Note] | None:
        """The model so far and the note, None where there is no file yet."""
        if self._path is None or not self._path.exists():
            return None
        try:
            # Whatever it costs, the fit that goes on would cost as much without it.
            model, note = unpack_model(self._path.read_bytes(), limit=math.inf)
        except ModelFileError as error:
            raise ModelFileError(f"checkpoint={str(self._path)!r}: {error}") from error
        if not note or note.get("digest") != self.digest:
            raise ValueError(
                f"checkpoint={str(self._path)!r} belongs to another fit: its files, "
                "columns or parameters differ. Delete it, or give another path"
            )
        return model, note

    def write_if_due(self, model: OnePassEstimator, note: Note) -> None:
        """Write if the last time is long enough ago."""
        if time.monotonic() - self._last >= self._every:
            self.write(model, note)

    def write(self, model: OnePassEstimator, note: Note) -> None:
        """Write beside the old file, then put the new one in its place."""
        if self._path is None:
            return
        data = pack_model(model, note | {"digest": self.digest})
        try:
            write_atomically(self._path, data)
        except OSError as error:
            raise OSError(
                f"checkpoint={str(self._path)!r} could not be written: {error}"
            ) from error
        self._last = time.monotonic()


def _digest(estimator: OnePassEstimator, reader: Any, options: str) -> str:
    """What a fit's result depends on, as text."""
    digest = hashlib.sha256(pack_model(fresh(estimator)))
    digest.update(f"{options} {reader.fingerprint()}".encode())
    return digest.hexdigest()
