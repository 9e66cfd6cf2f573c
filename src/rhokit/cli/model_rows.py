"""Rows as a model takes them, from tables as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rhokit.cli.answer_columns import Answers, Ask
from rhokit.cli.failures import UserError
from rhokit.cli.sources import Source
from rhokit.cli.stored_models import StoredModel
from rhokit.cli.table_files import FileBatch, TableFiles
from rhokit.errors import DataError
from rhokit.streams.arrow import filled, is_number, value_type

_GAP_REASON = (
    "has no value (--missing empty leaves such rows unanswered, --missing integrate "
    "answers from the other columns)"
)
# What labels and categories are read as, so that they can be compared.
_LABEL_TYPES = {
    "U": pa.string(),
    "S": pa.string(),
    "b": pa.bool_(),
    "i": pa.int64(),
}
_CATEGORY_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


class ModelRows:
    """The columns of a table that a model answers for.

    Parameters
    ----------
    stored : StoredModel
    source : Source
    target : str, optional
        The target's column, where the model's file does not tell.
    missing : {"raise", "empty", "integrate", "impute"}
        What to do with rows that lack values.

    Attributes
    ----------
    table : TableFiles
    columns, target : lists of str
    model : one-pass estimator
        For what :meth:`values` gives.
    has_labels : bool
        Whether the model predicts classes.
    """

    def __init__(
        self,
        stored: StoredModel,
        source: Source,
        target: str | None = None,
        missing: str = "raise",
    ) -> None:
        self.table = TableFiles(source, stored.columns)
        self.target = [target] if target else list(stored.note.target)
        apart = {*stored.note.not_columns, *self.target}
        named = stored.columns
        self.columns = named or [n for n in self.table.names if n not in apart]
        self.table.require(self.columns)
        self.has_labels = stored.has_labels
        self._takes_frames = named is not None
        self._name = source.name
        columns = stored.estimator.plan_.columns
        self._schema = columns.schema
        self._check(columns.n_features)
        self._missing = missing
        self._fill = _fill_of(stored, missing)
        self.model = _asked(stored, missing)

    @property
    def has_target(self) -> bool:
        """Whether the table tells what the model would predict."""
        return bool(self.target) and set(self.target) <= set(self.table.names)

    @property
    def integrates(self) -> bool:
        """Whether rows that lack values are answered from the columns they have."""
        return bool(self.model.fitted_model().may_miss)

    def batches(
        self, others: Sequence[str] = (), *, as_text: bool = False
    ) -> Iterator[FileBatch]:
        """Batches of the model's columns, and of others besides.

        With ``as_text``, the others are what text files say, letter by letter.
        """
        own = dict.fromkeys(self.columns, pa.float64()) | self._category_types()
        kept = [name for name in others if name not in self.columns]
        verbatim = {name: pa.string() for name in kept} if as_text else {}
        types = verbatim | self._target_types() | own
        return self.table.batches([*self.columns, *kept], types)

    # ---- asking ---------------------------------------------------------------------

    def values(self, batch: FileBatch) -> tuple[Any, NDArray[np.bool_]]:
        """Rows of a batch as the model takes them, and which of all rows they are.

        Returns
        -------
        X : array of shape (m, d) or pyarrow.Table
        whole : array of shape (n,)
        """
        table = batch.table.select(self.columns)
        for name, value in self._fill.items():
            table = _filled(table, name, value)
        for name in self._numbers():
            table = _replaced(table, name, _as_numbers(table.column(name)))
        gaps = np.stack([_gaps(table.column(name)) for name in self.columns], axis=1)
        lacking = np.all if self.integrates else np.any
        whole = ~np.asarray(lacking(gaps, axis=1))
        if self._missing != "empty" and not whole.all():
            row = int(np.argmin(whole))
            column = self.columns[int(np.argmax(gaps[row]))]
            row += batch.start
            raise DataError(_GAP_REASON, file=batch.file, row=row, column=column)
        answered = table if whole.all() else table.filter(pa.array(whole))
        return answered if self._takes_frames else np.asarray(answered), whole

    def asked(self, batch: FileBatch, ask: Ask) -> tuple[Answers, NDArray[np.bool_]]:
        """Answers of ``ask`` to a batch, and the rows that they are about.

        Where no row of the batch can be asked for, the answers are empty.
        """
        X, whole = self.values(batch)
        if not whole.any():
            return self._no_answers(batch, ask), whole
        try:
            return ask(X, batch, whole), whole
        except DataError as error:
            places = batch.start + np.flatnonzero(whole)
            row = None if error.row is None else int(places[error.row])
            raise error.at(file=batch.file, row=row) from error
        except (ValueError, TypeError) as error:
            raise UserError(f"{batch.file}: {error}") from error

    def _no_answers(self, batch: FileBatch, ask: Ask) -> Answers:
        """The columns of answers without rows: those to one row, taken away again."""
        scaling = self.model.plan_.scaling
        centre = scaling.invert(np.zeros((1, len(scaling.matrix))))
        X = centre
        if self._schema is not None:
            for column in self._schema.category_columns():
                block = self._schema.blocks[column]
                centre[:, block] = self._schema.states(column)[0]
            X = pa.table(self._schema.decode(centre))
        elif self._takes_frames:
            X = pa.table(dict(zip(self.columns, centre.T, strict=True)))
        found = ask(X, batch, np.arange(batch.table.num_rows) < 1)
        return {name: values[:0] for name, values in found.items()}

    # ---- targets --------------------------------------------------------------------

    def targets(self, batch: FileBatch) -> NDArray[Any]:
        """The target of a batch as the model knows it, shape (n,) or (n, t)."""
        columns = [batch.table.column(name) for name in self.target]
        if self.has_labels:
            labels = columns[0].to_numpy()
            is_text = self.model.classes_.dtype.kind in "US"
            return labels.astype(str) if is_text else labels
        values = [_as_numbers(column).to_numpy() for column in columns]
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def knows_target(self, batch: FileBatch) -> NDArray[np.bool_]:
        """Of which rows of a batch the target is known, shape (n,)."""
        columns = [batch.table.column(name) for name in self.target]
        gaps = [each.is_null(nan_is_null=True).to_numpy() for each in columns]
        return ~np.any(gaps, axis=0)

    # ---- columns --------------------------------------------------------------------

    def _target_types(self) -> dict[str, pa.DataType]:
        kind = self.model.classes_.dtype.kind if self.has_labels else "f"
        return dict.fromkeys(self.target, _LABEL_TYPES.get(kind, pa.float64()))

    def _category_types(self) -> dict[str, pa.DataType]:
        if self._schema is None:
            return {}
        columns = zip(self.columns, self._schema.categories, strict=True)
        return {
            name: _CATEGORY_TYPES.get(type(known[0]), pa.string())
            for name, known in columns
            if known is not None
        }

    def _numbers(self) -> list[str]:
        """Columns that are no categories."""
        if self._schema is None:
            return self.columns
        kinds = zip(self.columns, self._schema.kinds, strict=True)
        return [name for name, kind in kinds if kind == "number"]

    def _check(self, n_columns: int) -> None:
        """Refuse tables of other columns than the model's."""
        if len(self.columns) != n_columns:
            raise UserError(
                f"{self._name}: the model takes {n_columns:,} columns, got "
                f"{len(self.columns):,}"
            )
        for name in [] if self.table.is_text else self._numbers():
            kind = self.table.schema.field(name).type
            if not is_number(value_type(kind)):
                reason = f"must be numbers, but holds {kind}"
                raise DataError(reason, file=self._name, column=name)


def _asked(stored: StoredModel, missing: str) -> Any:
    """The model, made to answer rows with gaps if that is wanted."""
    if missing != "integrate":
        return stored.estimator
    if "missing" not in stored.estimator.get_params(deep=False):
        kind = type(stored.model).__name__
        raise UserError(f"{stored.path}: a {kind} cannot integrate over columns")
    return copy(stored.estimator).set_params(missing="integrate")


def _fill_of(stored: StoredModel, missing: str) -> dict[str, Any]:
    """Values that stand for missing ones, by column."""
    if missing != "impute":
        return {}
    if not stored.note.fill:
        raise UserError(
            f"{stored.path}: knows no values to fill in: it was not fitted with "
            "--missing impute"
        )
    return stored.note.fill


def _filled(table: pa.Table, name: str, value: Any) -> pa.Table:
    """A table with a value where a column has none."""
    if name not in table.column_names:
        return table
    return _replaced(table, name, filled(table.column(name), value, name))


def _replaced(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _gaps(column: Any) -> NDArray[np.bool_]:
    """Which rows have no value in a column, (n,)."""
    return np.asarray(column.is_null(nan_is_null=True).to_numpy())


def _as_numbers(column: Any) -> Any:
    """A column of floats."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    if column.type != pa.float32():
        column = pc.cast(column, pa.float64())
    return column
