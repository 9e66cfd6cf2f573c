"""Streams in files: what was learned, the window, the history, and where it stands."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rhokit
from rhokit.batch import Batch
from rhokit.drift.watch_fields import WATCH, Many
from rhokit.errors import ModelFileError
from rhokit.estimators.base import OnePassEstimator
from rhokit.io import dumps, loads
from rhokit.io.atomic import write_atomically
from rhokit.io.container import pack, unpack
from rhokit.records import (
    ArrayField,
    Fields,
    Flag,
    Maybe,
    Number,
    Reader,
    Record,
    Writer,
    built,
    read_fields,
    refusal,
    require,
    write_fields,
)
from rhokit.streams.history import History, Period

_FORMAT, _PROTOCOL = "rhokit stream", 1
_COUNT = Number(0, 2**62, integer=True)
_FROM_ONE = Number(1, 2**62, integer=True)
_BYTES = ArrayField((None,), dtypes=("uint8",))
_ABOVE_ZERO = float(np.finfo(float).tiny)


class Embedded:
    """An estimator, as the bytes of a model file of its own."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The bytes."""
        return _BYTES.write(np.frombuffer(dumps(value), np.uint8), path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The bytes; :func:`read_stream` loads them."""
        return _BYTES.read(given, path, reader).tobytes()


class Targets:
    """Labels or values of rows: numbers, or texts."""

    _numbers = ArrayField((None,), (None, None), dtypes=("int64", "float64"))

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """Numbers as a tensor, texts as a list."""
        if value.dtype.kind in "if":
            return self._numbers.write(value, path, writer)
        if value.dtype.kind not in "USOb":
            raise TypeError(f"targets of dtype {value.dtype} cannot be saved")
        return value.tolist()

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """An array."""
        if not isinstance(given, list):
            return self._numbers.read(given, path, reader)
        kinds = {type(value) for value in given}
        if kinds not in ({str}, {bool}):
            raise refusal(path, "texts or truth values", given)
        return np.array(given)


_NAMED: dict[str, Fields] = {
    "options": {
        "half_life": Maybe(Number(_ABOVE_ZERO)),
        "window": Maybe(_FROM_ONE),
        "warm_up": _FROM_ONE,
        "buffer_rows": _FROM_ONE,
        "learn_above": Maybe(Number(_ABOVE_ZERO, 1 - 1e-16)),
    },
    "counts": {"n_learned": _COUNT, "n_left": _COUNT, "n_skipped": _COUNT},
    "held": {
        "rows": ArrayField((None, None), dtypes=("float32", "float64")),
        "target": Maybe(Targets()),
        "weights": Maybe(ArrayField((None,), low=0.0)),
    },
}


def _period(start: int, stop: int, model: bytes, **times: Any) -> dict[str, Any]:
    return {"start": start, "stop": stop, "model": model} | times


_PERIOD = Record(
    _period,
    start=_COUNT,
    stop=_FROM_ONE,
    model=Embedded(),
    start_time=Maybe(Number()),
    stop_time=Maybe(Number()),
)
_HISTORY: Fields = {
    "period_rows": _FROM_ONE,
    "detail": _FROM_ONE,
    "false_alarms": Number(_ABOVE_ZERO, 1.0),
    "block_rows": _FROM_ONE,
    "n_rows": _COUNT,
    "are_dates": Flag(),
    "watch": Maybe(WATCH),
    "periods": Many(_PERIOD),
}


def write_stream(
    path: str | os.PathLike[str],
    estimator: OnePassEstimator,
    parts: dict[str, dict[str, Any]],
    held: Batch | None,
    history: History | None,
) -> None:
    """Write a stream to a file, whole or not at all."""
    writer = Writer()
    tree: dict[str, Any] = {"format": _FORMAT, "protocol": _PROTOCOL}
    tree["model"] = Embedded().write(estimator, "model", writer)
    for name, values in parts.items():
        tree[name] = write_fields(_NAMED[name], values, name, writer)
    if held is not None:
        known = {name: getattr(held, name) for name in _NAMED["held"]}
        tree["held"] = write_fields(_NAMED["held"], known, "held", writer)
    if history is not None:
        known = {name: getattr(history, name) for name in _HISTORY}
        known["periods"] = tuple(_with_estimator(history, p) for p in history.periods)
        tree["history"] = write_fields(_HISTORY, known, "history", writer)
    try:
        write_atomically(path, pack(tree, writer.tensors))
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error


def _with_estimator(history: History, period: Period) -> Any:
    assert history.estimator is not None
    model = history.estimator.with_model(period.model)
    return _Written(period, model)


class _Written:
    """A period whose model is an estimator, for its record."""

    def __init__(self, period: Period, model: OnePassEstimator) -> None:
        vars(self).update(vars(period) | {"model": model})


def read_stream(
    path: str | os.PathLike[str], limit: float | None
) -> tuple[OnePassEstimator, dict[str, dict[str, Any]], Any, History | None]:
    """What :func:`write_stream` wrote: estimator, parts, held rows, history."""
    try:
        return _read(Path(path).read_bytes(), limit)
    except ModelFileError as error:
        raise ModelFileError(f"{str(path)!r}: {error}") from error


def _read(data: bytes, limit: float | None) -> Any:
    tree, tensors = unpack(data)
    require(tree.get("format") == _FORMAT, "holds something else than a rhokit stream")
    require(
        tree.get("protocol") == _PROTOCOL,
        f"was written by another version (protocol {tree.get('protocol')!r}) than "
        f"rhokit {rhokit.__version__} reads ({_PROTOCOL})",
    )
    reader = Reader(tensors, math.inf if limit is None else limit)
    try:
        model = Embedded().read(tree.get("model"), "model", reader)
        parts = {
            name: read_fields(_NAMED[name], tree.get(name), name, reader)
            for name in ("options", "counts")
        }
        held, history = tree.get("held"), tree.get("history")
        if held is not None:
            held = read_fields(_NAMED["held"], held, "held", reader)
        if history is not None:
            history = read_fields(_HISTORY, history, "history", reader)
        reader.finish()
        estimator = _estimator_of(model, limit)
        past = None if history is None else _history(estimator, history, limit)
        return estimator, parts, _held(estimator, held), past
    except ModelFileError:
        raise
    except Exception as error:  # whatever a hostile file makes of numbers and shapes
        raise ModelFileError(f"does not fit together: {error}") from error


def _estimator_of(data: bytes, limit: float | None) -> OnePassEstimator:
    found = loads(data, limit=limit)
    require(isinstance(found, OnePassEstimator), "a stream holds a one-pass model")
    estimator: OnePassEstimator = found
    return estimator


def _history(
    estimator: OnePassEstimator, values: dict[str, Any], limit: float | None
) -> History:
    watch, periods = built(values["watch"]), built(values["periods"])
    stop, found = 0, []
    for each in periods:
        require(each["start"] == stop < each["stop"], "periods follow on each other")
        stop = each["stop"]
        model = _estimator_of(each.pop("model"), limit)
        require(type(model) is type(estimator), "periods have models of one class")
        same = model.is_prepared and model.fingerprint() == estimator.fingerprint()
        require(same, "models of periods must be such as add up")
        found.append(Period(model=model.model_, **each))
    require(stop == values["n_rows"], "periods must hold all rows")
    if watch is not None:
        require(watch.n_rows == stop, "a history has watched all its rows")
    known = {name: v for name, v in values.items() if name not in ("watch", "periods")}
    blank = estimator.blank() if periods else None
    return History(watch=watch, periods=tuple(found), estimator=blank, **known)


def _held(estimator: OnePassEstimator, values: dict[str, Any] | None) -> Batch | None:
    """Rows of a window."""
    if values is None:
        return None
    rows: NDArray[Any] = values["rows"]
    columns = estimator.plan_.columns
    require(rows.shape[1] == columns.width, "rows of the window fit the model")
    for name in ("target", "weights"):
        given = values[name]
        require(given is None or len(given) == len(rows), f"{name} of each row")
    has_target = values["target"] is not None
    require(has_target == estimator.readout_.has_target, "rows have targets, or none")
    return Batch(rows, columns, values["target"], values["weights"])
