"""Rows that were checked once, at the border."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.column_support import ColumnSupport
from rhokit.frame_columns import columns_of
from rhokit.frame_form import FrameForm
from rhokit.frames import Schema
from rhokit.validation import is_missing


@dataclass(frozen=True)
class Columns:
    """Number, names and kinds of the columns that rows come with.

    Parameters
    ----------
    n_features : int
        d, as the user counts columns.
    names : tuple of str, optional
    schema : Schema, optional
        Where some columns are categories: rows are then *wide*, a category being
        several numbers (see :mod:`rhokit.frames`).
    form : FrameForm, optional
        The kind of frame that rows came as, and the types of its columns.
    supports : tuple of ColumnSupport or None, optional
        Of each column, the values that it takes, where that is known.
    """

    n_features: int
    names: tuple[Any, ...] | None = None
    schema: Schema | None = None
    form: FrameForm | None = None
    supports: tuple[ColumnSupport | None, ...] | None = None

    @classmethod
    def of(cls, estimator: Any) -> "Columns":
        """The columns that an estimator has learned, as scikit-learn names them."""
        names = getattr(estimator, "feature_names_in_", None)
        known = None if names is None else tuple(names)
        return cls(estimator.n_features_in_, known, estimator.schema_)

    def give_to(self, estimator: Any) -> None:
        """Let an estimator know these columns under scikit-learn's names."""
        estimator.n_features_in_, estimator.schema_ = self.n_features, self.schema
        if self.names is not None:  # at once, for threads that ask meanwhile
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        else:
            vars(estimator).pop("feature_names_in_", None)

    @property
    def width(self) -> int:
        """Numbers of a row as it is worked on."""
        return self.n_features if self.schema is None else self.schema.width

    @property
    def is_number(self) -> NDArray[np.bool_] | None:
        """Which numbers of a row are no part of a category; None for all."""
        return None if self.schema is None else self.schema.is_number

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where each column begins in a row, shape (d,)."""
        if self.schema is None:
            return np.arange(self.n_features)
        return np.array([block.start for block in self.schema.blocks])

    def places(self, kept: list[int]) -> list[int]:
        """Places of some columns' numbers in a row."""
        if self.schema is None:
            return list(kept)
        blocks = [self.schema.blocks[column] for column in kept]
        return [place for block in blocks for place in range(block.start, block.stop)]

    def find(self, name: str, wanted: Any) -> list[int]:
        """Places of columns that are given by place or by name, one or several.

        ``name`` is that of the argument, for the error.
        """
        many = np.iterable(wanted) and not isinstance(wanted, str)
        each = list(wanted) if many else [wanted]
        names, d = list(self.names or ()), self.n_features
        places = [names.index(c) if c in names else c for c in each]
        known = [
            isinstance(p, Integral) and not isinstance(p, bool) and 0 <= int(p) < d
            for p in places
        ]
        if not places or not all(known) or len(set(places)) < len(places):
            which = names or f"0 to {d - 1}"
            raise ValueError(
                f"{name} must name different columns of this model ({which}), got "
                f"{wanted!r}"
            )
        return [int(place) for place in places]

    @property
    def categories(self) -> tuple[tuple[Any, ...] | None, ...]:
        """Of each column, None for numbers."""
        known = (None,) * self.n_features
        return known if self.schema is None else self.schema.categories

    def part(self, kept: list[int]) -> "Columns":
        """Some of the columns."""
        names = None if self.names is None else tuple(self.names[i] for i in kept)
        schema = None if self.schema is None else self.schema.part(kept)
        if schema is not None and not schema.category_columns():
            schema = None
        form = None if self.form is None else self.form.part(kept)
        supports = self.supports and tuple(self.supports[i] for i in kept)
        return Columns(len(kept), names, schema, form, supports)

    # ---- rows as they came ----------------------------------------------------------

    def restored(self, rows: NDArray[Any]) -> Any:
        """Rows (n, w) as the kind of frame that rows came as, with its types.

        An array where they came as one, and a dict of columns where categories came
        as no frame that is known.
        """
        rows = self._settled(rows)
        if self.form is None:
            return rows if self.schema is None else self.schema.decode(rows)
        if self.schema is None:
            names = self.names or tuple(range(self.n_features))
            columns = dict(zip(names, rows.T, strict=True))
            return self.form.frame(columns, {})
        schema = self.schema
        known = {
            schema.names[i]: (schema.categories[i] or (), schema.ordered[i])
            for i in schema.category_columns()
        }
        return self.form.frame(schema.decode(rows), known)

    def completed(self, X: Any, rows: NDArray[Any]) -> Any:
        """Rows (n, w) without gaps as X came, with the values that it had."""
        there, form = columns_of(X), FrameForm.of(X, self.categories)
        if form is None or not there:
            return rows
        if self.form is not None:
            form = replace(self.form, kind=form.kind)
        if self.schema is None:
            return form.frame(dict(zip(there, rows.T, strict=True)), {}, X)
        columns, known = self.schema.decode(rows), {}
        for place in self.schema.category_columns():
            name = self.schema.names[place]
            for row, value in enumerate(there[name].to_list()):
                if not is_missing(value):
                    columns[name][row] = value
            categories = dict.fromkeys(
                [*(self.categories[place] or ()), *columns[name]]
            )
            known[name] = tuple(categories), self.schema.ordered[place]
        return form.frame(columns, known, X)

    def _settled(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows (n, w) with values that their columns take."""
        rows = rows.copy()
        for start, support in zip(self.starts, self.supports or (), strict=False):
            if support is not None:
                rows[:, start] = support.settled(rows[:, start])
        return rows


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows with their targets and weights, all of them checked.

    What public methods make of their arguments, once, and everybody else hands on.

    Parameters
    ----------
    rows : array of shape (n, w)
        In the user's units; wide where there are columns of categories.
    columns : Columns
    target : array of shape (n,) or (n, t), optional
        Labels or values as they were given.
    weights : array of shape (n,), optional
        None where all are one.
    times : array of shape (n,), optional
        When they came, where streams keep a history.
    """

    rows: NDArray[Any]
    columns: Columns
    target: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    times: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """Weights of the rows, shape (n,)."""
        return np.ones(len(self.rows)) if self.weights is None else self.weights

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(len(self.rows) if self.weights is None else self.weights.sum())

    def take(self, which: Any) -> "Batch":
        """Some of the rows: a slice, places, or a mask."""
        target = None if self.target is None else self.target[which]
        weights = None if self.weights is None else self.weights[which]
        times = None if self.times is None else self.times[which]
        rows = self.rows[which]
        return replace(self, rows=rows, target=target, weights=weights, times=times)

    def told(self, *, bounded: bool) -> "Batch":
        """These rows, whose columns have learned from them what values they have.

        Parameters
        ----------
        bounded : bool
            Whether these are all the rows that will come.
        """
        columns, seen = self.columns, self.seen()
        if columns.schema is not None:
            schema = columns.schema.expecting(seen.rows, seen.weights)
            columns = replace(columns, schema=schema)
        if bounded:
            columns = replace(columns, supports=seen.supports())
        return replace(self, columns=columns)

    def supports(self) -> tuple[ColumnSupport | None, ...]:
        """Of each column, the values that it takes; None for categories, too."""
        pairs = zip(self.columns.starts, self.columns.categories, strict=True)
        return tuple(
            ColumnSupport.of(self.rows[:, start], self.weights)
            if known is None
            else None
            for start, known in pairs
        )

    def seen(self) -> "Batch":
        """The rows of a weight above zero: others are not there."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(self.weights > 0)
