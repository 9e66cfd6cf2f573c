"""Dask collections as partitions of rows, targets and weights."""

from dataclasses import dataclass
from typing import Any

import dask.array
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.errors import DataError
from rhokit.frames import Schema
from rhokit.parallel.worker_tasks import Partition
from rhokit.validation import is_missing

da: Any = dask.array  # which has no types


class Partitions:
    """The rows of Dask collections, partition by partition.

    Parameters
    ----------
    X : Dask array or dataframe
    y, sample_weight : Dask collection, array, or names of columns of X, optional
    numeric : bool
        Whether the columns of X must be numbers.
    mixed : bool
        Whether columns of a categorical type may stand beside them.
    """

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, numeric: bool, mixed: bool = False
    ) -> None:
        self._roles: FrameRoles | None = None
        if is_frame(X):
            names = [part if _is_name(part) else None for part in (y, sample_weight)]
            self._roles = _roles(X, names[0], names[1], numeric, mixed)
        elif isinstance(X, da.Array):
            X = by_rows(X)
        else:
            raise TypeError(
                f"X must be a Dask array or dataframe, got {type(X).__name__}"
            )
        self._X = X
        self._y, self._weight = (_aligned(part, X) for part in (y, sample_weight))

    @property
    def columns(self) -> Columns:
        """Number, names and kinds of the columns of X."""
        if self._roles is None:
            return Columns(self._X.shape[1])
        names, schema = self._roles.columns, self._roles.schema
        named = all(isinstance(name, str) for name in names)
        return Columns(len(names), tuple(names) if named else None, schema)

    def delayed(self) -> list[Any]:
        """Delayed partitions."""
        return _split_all(self._X, self._y, self._weight, self._roles)

    def targets(self) -> list[Any] | None:
        """Delayed targets of each partition; None where there are none."""
        if self._y is not None:
            return [_TARGETS(y) for y in _delayed(self._y)]
        if self._roles is None or self._roles.target is None:
            return None
        return [_TARGETS(y) for y in _delayed(self._X[self._roles.target])]


@dataclass(frozen=True)
class FrameRoles:
    """What the columns of a frame are for."""

    columns: list[Any]
    target: str | list[str] | None
    weight: str | None
    schema: Schema | None = None


def _roles(
    frame: Any, target: Any, weight: Any, numeric: bool, mixed: bool
) -> FrameRoles:
    """Roles of a frame's columns, refused where they cannot be."""
    target = list(target) if isinstance(target, tuple) else target
    taken = [target] if isinstance(target, str) else list(target or [])
    taken += [] if weight is None else [weight]
    missing = [name for name in taken if name not in frame.columns]
    if missing:
        raise ValueError(f"X has no columns {missing}, it has {list(frame.columns)}")
    columns = [name for name in frame.columns if name not in taken]
    schema = _schema(frame, columns) if numeric and mixed else None
    if numeric:
        _refuse_text(frame, columns, schema)
    return FrameRoles(columns, target, weight, schema)


def _schema(frame: Any, columns: list[Any]) -> Schema | None:
    """The schema of some columns, by their types."""
    import pandas as pd

    empty = {name: pd.Series(dtype=frame.dtypes[name]) for name in columns}
    return Schema.of(pd.DataFrame(empty))


def _refuse_text(frame: Any, columns: list[Any], schema: Schema | None) -> None:
    kinds = schema.kinds if schema else ["number"] * len(columns)
    for name, kind in zip(columns, kinds, strict=True):
        dtype = frame.dtypes[name]
        if kind == "number" and dtype.kind not in "fiub":
            raise DataError(
                f"X must be numbers, but is {dtype}: choose others, or convert it "
                "(categories to a known categorical type)",
                column=name,
            )


def _split_all(X: Any, y: Any, weight: Any, roles: FrameRoles | None) -> list[Any]:
    rows = _delayed(X)
    parts = [
        [None] * len(rows) if part is None else _delayed(part) for part in (y, weight)
    ]
    for part in parts:
        if len(part) != len(rows):
            raise ValueError(
                f"X has {len(rows)} partitions, y or sample_weight has {len(part)}: "
                "they must be partitioned alike"
            )
    return [_SPLIT(*part, roles) for part in zip(rows, *parts, strict=True)]


def _split(X: Any, y: Any, weight: Any, roles: FrameRoles | None) -> Partition:
    """A partition as arrays."""
    if roles is not None:
        y = y if roles.target is None else X[roles.target]
        weight = weight if roles.weight is None else X[roles.weight]
        X = X[roles.columns]
    for part in (y, weight):
        if part is not None and len(part) != len(X):
            raise ValueError(
                f"a partition of X has {len(X)} rows, that of y or sample_weight has "
                f"{len(part)}"
            )
    schema = None if roles is None else roles.schema
    rows = np.asarray(X) if schema is None else schema.encode(X)
    arrays = (None if part is None else _array(part) for part in (y, weight))
    return Partition(rows, *arrays)


def _array(part: Any) -> NDArray[Any]:
    """Targets or weights as an array, text as text."""
    values = np.asarray(part)
    if values.dtype != object:
        return values
    gaps = np.array([is_missing(value) for value in values.flat])
    if gaps.any():
        raise DataError(
            "y or sample_weight has missing values: drop or fill such rows",
            row=int(gaps.argmax()) // max(1, values.size // len(values)),
        )
    return values.astype(str)


def _is_name(part: Any) -> bool:
    return isinstance(part, str | list | tuple)


def is_frame(X: Any) -> bool:
    """Whether a Dask collection is a dataframe."""
    return hasattr(X, "map_partitions") and X.ndim == 2


def by_rows(X: Any) -> Any:
    """An array whose blocks hold whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _aligned(part: Any, X: Any) -> Any:
    """Targets or weights in the blocks of X."""
    if part is None:
        return None
    if _is_name(part):
        if not is_frame(X):
            raise ValueError("y and sample_weight may be names if X is a dataframe")
        return None
    if is_frame(X):
        if not hasattr(part, "to_delayed"):
            raise TypeError(
                "y and sample_weight of a Dask dataframe must be Dask series, or names "
                f"of its columns, got {type(part).__name__}"
            )
        return part
    if not isinstance(part, da.Array) and hasattr(part, "to_delayed"):
        return part  # a series; its partitions are those of X, or refused later
    return _like_rows(part, X)


def _like_rows(part: Any, X: Any) -> Any:
    """An array in chunks of the rows of another."""
    if not isinstance(part, da.Array):
        part = da.from_array(np.asarray(part), chunks=-1)
    known = not np.isnan([*X.chunks[0], *part.chunks[0]]).any()
    if known and part.chunks[0] != X.chunks[0]:
        if part.shape[0] != X.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows, y or sample_weight has {part.shape[0]}"
            )
        part = part.rechunk({0: X.chunks[0]})
    return part if part.ndim == 1 else part.rechunk({1: -1})


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(collection.to_delayed()))


_SPLIT, _TARGETS = (delayed(function, pure=False) for function in (_split, _array))
