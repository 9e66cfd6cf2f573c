"""Rows as a model takes them, from tables as they are read."""

import re

from rhokit.cli.errors import UserError
from rhokit.cli.tables import Rows

_ROW_OF_BATCH = re.compile(r" \(first in row (\d+)\)")


class ModelRows:
    """The columns of a table that a model answers for.

    Parameters
    ----------
    loaded : Loaded
    source : Source
    target : str, optional
        The target's column, where the model's file does not tell.
    missing : {"raise", "empty", "integrate", "impute"}
        What to do with rows that lack values.

    Attributes
    ----------
    columns, target : lists of str
    model : estimator
        For what :meth:`values` gives: it does not ask arrays for names.
    """

    def __init__(self, loaded, source, target=None, missing="raise"):
        self.rows = Rows(source)
        self.target = [target] if target else list(loaded.note.target)
        apart = {*loaded.note.not_columns, *self.target}
        self.columns = loaded.columns or [n for n in self.rows.names if n not in apart]
        self.rows.require(self.columns)
        self._name = source.name
        self._schema = getattr(loaded.model, "schema_", None)
        self._check(loaded.model.n_features_in_)
        self._missing = missing
        self._fill = _fill_of(loaded, missing)
        self.model = _without_names(_asked(loaded, missing), self.columns)

    @property
    def has_target(self):
        """Whether the table tells what the model would predict."""
        return bool(self.target) and set(self.target) <= set(self.rows.names)

    def batches(self, others=(), *, as_text=False):
        """Batches of the model's columns, and of others besides.

        With ``as_text``, the others are what text files say, letter by letter.
        """
        import pyarrow as pa

        own = dict.fromkeys(self.columns, pa.float64()) | self._category_types()
        kept = [name for name in others if name not in self.columns]
        verbatim = {name: pa.string() for name in kept} if as_text else {}
        types = verbatim | self._target_types() | own
        return self.rows.batches([*self.columns, *kept], types)

    def values(self, batch):
        """What the model takes of a batch, and which rows of it are answered.

        Returns
        -------
        X : array of shape (m, d) or pyarrow.Table
        whole : array of shape (n,)
        """
        import numpy as np
        import pyarrow as pa

        table = batch.table.select(self.columns)
        for name, value in self._fill.items():
            table = _filled(table, name, value)
        numbers = {name: _as_numbers(table.column(name)) for name in self._numbers()}
        gaps = [_gaps(table, name, numbers) for name in self.columns]
        gaps = np.stack(gaps, axis=1)  # (n, d)
        whole = ~(gaps.all(axis=1) if self.integrates else gaps.any(axis=1))
        if self._missing != "empty" and not whole.all():
            row = int(np.argmin(whole))
            self._refuse_gap(batch, row, self.columns[int(np.argmax(gaps[row]))])
        if self._schema is not None:
            return table.filter(pa.array(whole)), whole
        return np.stack(list(numbers.values()), axis=1)[whole], whole

    @property
    def integrates(self):
        """Whether rows that lack values are answered from the columns they have."""
        return getattr(self.model, "missing", None) == "integrate"

    def asked(self, batch, ask):
        """What ``ask(X, batch, whole)`` says about a batch, and which rows it is of.

        Where no row of the batch can be asked for, the answers are empty.
        """
        import numpy as np

        X, whole = self.values(batch)
        if not whole.any():  # one row, for the sake of the answer's columns
            first = np.arange(len(whole)) < 1
            found = ask(self.model.scaling_.centre[None], batch, first)
            return {name: values[:0] for name, values in found.items()}, whole
        try:
            return ask(X, batch, whole), whole
        except (ValueError, TypeError) as error:
            text = _with_row(str(error), batch.first_row + np.flatnonzero(whole))
            raise UserError(f"{batch.file}: {text}") from error

    def targets(self, batch):
        """The target of a batch as the model knows it, shape (n,) or (n, t)."""
        import numpy as np

        columns = [batch.table.column(name) for name in self.target]
        if hasattr(self.model, "classes_"):
            labels = columns[0].to_numpy()
            is_text = self.model.classes_.dtype.kind in "US"
            return labels.astype(str) if is_text else labels
        values = [_as_numbers(column) for column in columns]
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def knows_target(self, batch):
        """Of which rows of a batch the target is known, shape (n,)."""
        import numpy as np

        columns = [batch.table.column(name) for name in self.target]
        gaps = [each.is_null(nan_is_null=True).to_numpy() for each in columns]
        return ~np.any(gaps, axis=0)

    def _target_types(self):
        """What the target's columns are read as, so that they can be compared."""
        import pyarrow as pa

        kinds = {"U": pa.string(), "S": pa.string(), "b": pa.bool_(), "i": pa.int64()}
        labels = getattr(self.model, "classes_", None)
        kind = "f" if labels is None else labels.dtype.kind
        return {name: kinds.get(kind, pa.float64()) for name in self.target}

    def _check(self, n_columns):
        """Refuse tables of other columns than the model's."""
        from rhokit.streams.arrow import is_number, value_type

        if len(self.columns) != n_columns:
            raise UserError(
                f"{self._name}: the model takes {n_columns:,} columns, got "
                f"{len(self.columns):,}"
            )
        for name in [] if self.rows.is_text else self._numbers():
            kind = self.rows.schema.field(name).type
            if not is_number(value_type(kind)):
                raise UserError(
                    f"{self._name}: column {name!r} must be numbers, but holds {kind}"
                )

    def _category_types(self):
        """What columns of categories are read as, so that they can be told apart."""
        import pyarrow as pa

        if self._schema is None:
            return {}
        kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
        columns = zip(self.columns, self._schema.categories, strict=True)
        return {
            name: kinds.get(type(known[0]), pa.string())
            for name, known in columns
            if known is not None
        }

    def _numbers(self):
        if self._schema is None:
            return self.columns
        kinds = zip(self.columns, self._schema.kinds, strict=True)
        return [name for name, kind in kinds if kind == "number"]

    def _refuse_gap(self, batch, row, name):
        raise UserError(
            f"{batch.file}: row {batch.first_row + row:,}: column {name!r} has no "
            "value (--missing empty leaves such rows unanswered, --missing integrate "
            "answers from the other columns)"
        )


def _asked(loaded, missing):
    """The model, made to answer rows with gaps if that is wanted."""
    from copy import copy

    if missing != "integrate":
        return loaded.model
    if "missing" not in loaded.model.get_params(deep=False):
        kind = type(loaded.model).__name__
        raise UserError(f"{loaded.path}: a {kind} cannot integrate over columns")
    return copy(loaded.model).set_params(missing="integrate")


def _fill_of(loaded, missing):
    """Values that stand for missing ones, by column."""
    if missing != "impute":
        return {}
    if not loaded.note.fill:
        raise UserError(
            f"{loaded.path}: knows no values to fill in: it was not fitted with "
            "--missing impute"
        )
    return loaded.note.fill


def _filled(table, name, value):
    """A table with a value where a column has none."""
    from rhokit.streams.arrow import filled

    if name not in table.column_names:
        return table
    place = table.column_names.index(name)
    return table.set_column(place, name, filled(table.column(name), value, name))


def _with_row(text, numbers):
    """What the library says of a batch, with the number of the row in its file."""
    found = _ROW_OF_BATCH.search(text)
    if found is None:
        return text
    number = f"{numbers[int(found[1])]:,}"
    rest = text[: found.start()] + text[found.end() :]
    return f"row {number}: {rest}"


def _gaps(table, name, numbers):
    """Which rows have no value in a column, (n,)."""
    import numpy as np

    if name in numbers:
        return np.isnan(numbers[name])
    return table.column(name).is_null().to_numpy()


def _as_numbers(column):
    """A column as an array of floats (n,), NaN where there is nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    if column.type != pa.float32():
        column = pc.cast(column, pa.float64())
    return column.to_numpy()


def _without_names(model, columns):
    """A copy that takes arrays without asking for the names of their columns."""
    from rhokit.streams.columns import without_names

    if getattr(model, "schema_", None) is not None:
        return model
    return without_names(model, columns)
