"""Dask collections as partitions of rows, targets and weights."""

from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np

from rhokit.frames import Schema
from rhokit.validation import is_missing


class Partitions:
    """The rows of Dask collections, partition by partition."""

    def __init__(self, X, y, sample_weight, numeric, mixed=False):
        self.names = None
        self._roles = None
        if is_frame(X):
            names = [part if _is_name(part) else None for part in (y, sample_weight)]
            self._roles = _roles(X, *names, numeric, mixed)
            if all(isinstance(name, str) for name in self._roles.columns):
                self.names = self._roles.columns
        elif isinstance(X, da.Array):
            X = by_rows(X)
        else:
            raise TypeError(
                f"X must be a Dask array or dataframe, got {type(X).__name__}"
            )
        self.schema = self._roles and self._roles.schema
        self._X = X
        self.n_columns = len(self._roles.columns) if self._roles else X.shape[1]
        if self.schema is not None:
            self.n_columns = self.schema.width
        self._y, self._weight = (_aligned(part, X) for part in (y, sample_weight))

    def delayed(self):
        """Delayed (X, y, weights), one for every partition."""
        return _split_all(self._X, self._y, self._weight, self._roles)

    def targets(self):
        """Delayed (X, y, weights) with no rows of X; None where there is no y."""
        if self._y is not None:
            return [_SPLIT(None, y, None, None) for y in _delayed(self._y)]
        if self._roles is None or self._roles.target is None:
            return None
        target = self._roles.target
        only = self._X[[target] if isinstance(target, str) else target]
        return _split_all(only, None, None, _Roles([], target, None))


@dataclass(frozen=True)
class _Roles:
    """What the columns of a frame are for."""

    columns: list
    target: str | list | None
    weight: str | None
    schema: Schema | None = None


def _roles(frame, target, weight, numeric, mixed):
    """Roles of a frame's columns, refused where they cannot be."""
    target = list(target) if isinstance(target, tuple) else target
    taken = [target] if isinstance(target, str) else list(target or [])
    taken += [] if weight is None else [weight]
    missing = [name for name in taken if name not in frame.columns]
    if missing:
        raise ValueError(f"X has no columns {missing}, it has {list(frame.columns)}")
    columns = [name for name in frame.columns if name not in taken]
    schema = Schema.of(frame._meta[columns]) if numeric and mixed else None
    kinds = schema.kinds if schema else ["number"] * len(columns)
    for name, kind in zip(columns, kinds, strict=True) if numeric else []:
        dtype = frame.dtypes[name]
        if kind == "number" and dtype.kind not in "fiub":
            raise ValueError(
                f"column {name!r} of X must be numbers, but is {dtype}: choose others, "
                "or convert it (categories to a known categorical type)"
            )
    return _Roles(columns, target, weight, schema)


def _split_all(X, y, weight, roles):
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


def _split(X, y, weight, roles):
    """A partition as arrays X, y and weights."""
    if roles is not None:
        y = y if roles.target is None else X[roles.target]
        weight = weight if roles.weight is None else X[roles.weight]
        X = X[roles.columns]
    for part in (y, weight):
        if X is not None and part is not None and len(part) != len(X):
            raise ValueError(
                f"a partition of X has {len(X)} rows, that of y or sample_weight has "
                f"{len(part)}"
            )
    if roles is not None and roles.schema is not None:
        rows = roles.schema.encode(X)
    else:
        rows = None if X is None else np.asarray(X)
    return rows, *(None if part is None else _array(part) for part in (y, weight))


def _array(part):
    values = np.asarray(part)
    if values.dtype != object:
        return values
    if any(map(is_missing, values.flat)):
        raise ValueError(
            "y or sample_weight has missing values: drop or fill such rows"
        )
    return values.astype(str)


def _is_name(part):
    return isinstance(part, str | list | tuple)


def is_frame(X):
    return hasattr(X, "map_partitions") and X.ndim == 2


def by_rows(X):
    """An array whose blocks hold whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _aligned(part, X):
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


def _delayed(collection):
    return list(np.ravel(collection.to_delayed()))


_SPLIT = dask.delayed(_split, pure=False)
