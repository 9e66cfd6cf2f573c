"""Rows to be compared, column by column, whatever they came as."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.errors import DataError
from rhokit.frame_columns import (
    MOST_CATEGORIES,
    columns_of,
    dictionary_of,
    numbers_of_column,
)
from rhokit.frame_times import has_times, with_parts
from rhokit.validation import is_missing

Floats = NDArray[np.float64]
UNSEEN = "(unseen)"
"""The label of categories that a model has not learned."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers or of categories.

    Parameters
    ----------
    name : str
    values : array of shape (n,)
        Numbers, or places among the labels; NaN for what is missing.
    labels : tuple, optional
        The categories, None for numbers.
    role : {"column", "target", "prediction"}
    """

    name: str
    values: Floats
    labels: tuple[Any, ...] | None = None
    role: str = "column"

    @property
    def kind(self) -> str:
        """``"number"`` or ``"category"``."""
        return "number" if self.labels is None else "category"

    @classmethod
    def of_categories(cls, name: str, values: Any, role: str = "column") -> Column:
        """A column of labels, such as classes."""
        labels, codes = np.unique(np.asarray(values), return_inverse=True)
        return cls(name, codes.astype(np.float64), tuple(labels.tolist()), role)

    def take(self, which: Any) -> Column:
        """Some of the rows."""
        return replace(self, values=self.values[which])

    def coded_by(self, labels: tuple[Any, ...]) -> Column:
        """The same categories as places among other labels, which hold all of them."""
        places = {label: place for place, label in enumerate(labels)}
        lookup = np.array([places[label] for label in self.labels or ()] + [np.nan])
        known = np.where(np.isnan(self.values), len(lookup) - 1, self.values)
        return replace(self, values=lookup[known.astype(np.intp)], labels=labels)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, and those that cannot be compared.

    Parameters
    ----------
    columns : tuple of Column
    in_order : bool
        Whether rows stand as they came, so that neighbours may depend on each other.
    total : float
        Rows that these stand for.
    skipped : dict
        From names to why they are not compared.
    """

    columns: tuple[Column, ...]
    in_order: bool
    total: float
    skipped: dict[str, str]

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def take(self, which: Any) -> Table:
        """Some of the rows."""
        return replace(self, columns=tuple(c.take(which) for c in self.columns))

    @property
    def missing(self) -> dict[str, float]:
        """Share of the rows without a value, by column."""
        return {c.name: float(np.isnan(c.values).mean()) for c in self.columns}

    def whole(self) -> Table:
        """The rows that lack nothing."""
        gaps = np.stack([np.isnan(c.values) for c in self.columns])
        return self.take(~gaps.any(axis=0)) if gaps.any() else self

    def with_column(self, column: Column) -> Table:
        """The table with a further column."""
        return replace(self, columns=(*self.columns, column))

    def find(self, name: str) -> Column | None:
        """The column of a name, None where there is none."""
        return next((c for c in self.columns if c.name == name), None)


def table_of(X: Any, names: Sequence[str] | None = None) -> Table:
    """A frame or an array as a table.

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
    names : sequence of str, optional
        Of the columns of an array; of a frame, those to compare.
    """
    if names and has_times(X):
        X = with_parts(X, names)
    named = columns_of(X)
    if named:
        return _table_of_frame(named, names)
    rows = np.asarray(X)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(
            "rows to compare must be a frame or an array of shape (n, d), got an "
            f"array of shape {rows.shape}"
        )
    known = list(names) if names else [f"column {c}" for c in range(rows.shape[1])]
    if len(known) != rows.shape[1]:
        raise ValueError(f"rows must have {len(known)} columns, got {rows.shape[1]}")
    pairs = zip(known, rows.T, strict=True)
    columns = tuple(_column_of_array(name, values) for name, values in pairs)
    return Table(columns, True, float(len(rows)), {})


def _table_of_frame(named: dict[str, Any], names: Sequence[str] | None) -> Table:
    missing = [name for name in names or () if name not in named]
    if missing:
        raise ValueError(f"the rows lack the columns {missing}, got {list(named)}")
    kept = {name: named[name] for name in names} if names else named
    columns, skipped = [], {}
    for name, series in kept.items():
        reason = _reason_to_skip(series)
        if reason:
            skipped[name] = reason
        else:
            columns.append(_column_of_series(name, series))
    if not columns:
        raise ValueError("rows to compare must have a column of numbers or categories")
    return Table(tuple(columns), True, float(len(columns[0].values)), skipped)


def _reason_to_skip(series: Any) -> str | None:
    if series.dtype.is_temporal():
        return "a date or a time"
    if not len(series):
        raise ValueError("rows to compare: there are none")
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return None
    n_labels = series.n_unique()
    return f"{n_labels:,} different texts" if n_labels > MOST_CATEGORIES else None


def _column_of_series(name: str, series: Any) -> Column:
    if series.dtype.is_numeric():
        return Column(name, _finite(name, numbers_of_column(series)))
    return _categories(name, *dictionary_of(series))


def _column_of_array(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind in "iuf":
        return Column(name, _finite(name, values.astype(np.float64)))
    listed = values.tolist()
    if all(is_missing(v) or isinstance(v, int | float) for v in listed):
        known = [math.nan if is_missing(v) else float(v) for v in listed]
        return Column(name, _finite(name, np.array(known)))
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in listed])
    return _categories(name, list(places), codes)


def _finite(name: str, values: Floats) -> Floats:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        row = int(infinite[0])
        raise DataError("holds infinity", row=row, column=name, value=values[row])
    return values


def _categories(name: str, labels: list[Any], codes: NDArray[Any]) -> Column:
    """A column of categories that are seen, whatever others are declared."""
    gaps = [is_missing(label) for label in labels] + [True]
    codes = np.where(np.array(gaps)[codes], -1, codes)
    seen = np.unique(codes[codes >= 0])
    places = np.full(len(labels) + 1, np.nan)
    places[seen] = np.arange(len(seen))
    known = tuple(labels[place] for place in seen.tolist())
    return Column(name, places[codes], known)


def table_of_rows(rows: NDArray[Any], columns: Columns, total: float) -> Table:
    """Rows as a model works on them, as a table.

    Parameters
    ----------
    rows : array of shape (n, w)
        Wide where there are columns of categories.
    columns : Columns
    total : float
        Rows that these stand for.
    """
    names = [str(n) for n in columns.names or ()]
    names = names or [f"column {c}" for c in range(columns.n_features)]
    if columns.schema is None:
        return Table(
            tuple(
                _column_of_array(name, values)
                for name, values in zip(names, rows.T, strict=True)
            ),
            False,
            total,
            {},
        )
    schema = columns.schema
    return Table(
        tuple(
            Column(name, rows[:, schema.blocks[place].start].astype(np.float64))
            if schema.categories[place] is None
            else _of_codes(name, schema.categories[place], schema.codes(place, rows))
            for place, name in enumerate(names)
        ),
        False,
        total,
        {},
    )


def _of_codes(name: str, known: Any, codes: NDArray[np.intp]) -> Column:
    """A column of a schema's codes, of which the last one stands for what is unseen."""
    return _categories(name, [*known, UNSEEN], codes)


def stacked(tables: Sequence[Table]) -> Table:
    """Rows of tables of the same columns, one after the other."""
    columns = []
    for parts in zip(*(table.columns for table in tables), strict=True):
        if all(part.labels is None for part in parts):
            alike = list(parts)
        else:
            texts = [_as_categories(part) for part in parts]
            seen = dict.fromkeys(label for part in texts for label in part.labels or ())
            alike = [part.coded_by(tuple(seen)) for part in texts]
        values = np.concatenate([part.values for part in alike])
        columns.append(replace(alike[0], values=values))
    return replace(
        tables[0],
        columns=tuple(columns),
        total=sum(table.total for table in tables),
    )


def side_by_side(old: Table, new: Table) -> tuple[Table, Table]:
    """Both tables with the same columns, and the same labels of categories.

    Columns that only one of them has are named among the skipped.
    """
    skipped = old.skipped | new.skipped
    pairs = []
    for column in old.columns:
        other = new.find(column.name)
        if other is None:
            skipped.setdefault(column.name, "only in the old rows")
        else:
            pairs.append(_alike(column, other))
    for name in new.names:
        if name not in old.names:
            skipped.setdefault(name, "only in the new rows")
    if not pairs:
        raise ValueError(
            f"there is no column that both have: the old rows have {old.names}, the "
            f"new ones {new.names}"
        )
    lefts, rights = (tuple(side) for side in zip(*pairs, strict=True))
    return (
        replace(old, columns=lefts, skipped=skipped),
        replace(new, columns=rights, skipped=skipped),
    )


def _alike(one: Column, other: Column) -> tuple[Column, Column]:
    """Two columns of one kind: numbers become categories beside categories."""
    if one.labels is None and other.labels is None:
        return one, other
    one, other = _as_categories(one), _as_categories(other)
    both = {*(one.labels or ()), *(other.labels or ())}
    labels = tuple(sorted(both, key=lambda value: (str(type(value)), value)))
    return one.coded_by(labels), other.coded_by(labels)


def _as_categories(column: Column) -> Column:
    if column.labels is not None:
        texts = tuple(plain(label) for label in column.labels)
        return replace(column, labels=texts)
    known = ~np.isnan(column.values)
    labels, codes = np.unique(column.values[known], return_inverse=True)
    values = np.full(len(column.values), np.nan)
    values[known] = codes
    return replace(column, values=values, labels=tuple(map(plain, labels.tolist())))


def plain(label: Any) -> str:
    """A label as text, so that 1, 1.0 and "1" of two files are one category."""
    if isinstance(label, float) and label == int(label):
        return str(int(label))
    return str(label)
