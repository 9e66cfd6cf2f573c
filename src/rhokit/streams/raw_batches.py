"""Records of files as arrays that are not checked yet, and where their rows stand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.errors import DataError
from rhokit.estimators.base import OnePassEstimator
from rhokit.frames import Schema
from rhokit.streams.arrow import filled, first_gap, plain_values, whole_rows
from rhokit.streams.roles import TableRoles


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from that follow each other in one file.

    Parameters
    ----------
    file : str or None
        None of what is in memory.
    first_row : int
        Rows of the file that come before.
    n_rows : int
    kept : array of int, optional
        Places of the rows that are left; None for all.
    """

    file: str | None
    first_row: int
    n_rows: int
    kept: NDArray[np.intp] | None = None

    def place(self, row: int) -> dict[str, Any]:
        """File, and row in it, of a row that is left."""
        own = row if self.kept is None else int(self.kept[row])
        return {"file": self.file, "row": self.first_row + own}


@dataclass(frozen=True, eq=False)
class FileSection:
    """A record, and where its rows come from."""

    record: pa.RecordBatch
    origin: Origin

    def without_gaps(self, missing: Any, names: list[str]) -> "FileSection":
        """The rows that lack nothing, or are filled, if that is what is wanted."""
        if isinstance(missing, Mapping):
            return replace(self, record=_filled(self.record, missing))
        if missing == "raise":
            return self
        whole = whole_rows(self.record, names)
        if whole.all():
            return self
        kept = np.flatnonzero(whole)
        origin = replace(self.origin, n_rows=len(kept), kept=kept)
        return FileSection(self.record.filter(pa.array(whole)), origin)

    def refuse_gaps(self, names: list[str]) -> None:
        """Refuse the first missing value of these columns."""
        for name in names:
            values = self.record.column(name)
            row = first_gap(values)
            if row is not None:
                raise DataError(
                    f"has {values.null_count} missing values among {len(values):,} "
                    "rows that were read together: drop or fill such rows",
                    **self.origin.place(row),
                    column=name,
                )


def placed(error: DataError, origins: Iterable[Origin]) -> DataError:
    """An error of a row of a batch, with the file and the row in it."""
    row = error.row
    if row is None:
        return error
    for origin in origins:
        if row < origin.n_rows:
            return error.at(**origin.place(row))
        row -= origin.n_rows
    return error


def _filled(record: pa.RecordBatch, values: Mapping[str, Any]) -> pa.RecordBatch:
    columns = {name: record.column(name) for name in record.schema.names}
    for name in columns.keys() & values.keys():
        columns[name] = filled(columns[name], values[name], name)
    return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, eq=False)
class RawBatch:
    """Rows, targets and weights as files hold them.

    Parameters
    ----------
    rows : array of shape (n, w)
    target : array of shape (n,) or (n, t), optional
    weights : array of shape (n,), optional
    origins : tuple of Origin
        Where the rows come from, in their order.
    """

    rows: NDArray[Any]
    target: NDArray[Any] | None
    weights: NDArray[Any] | None
    origins: tuple[Origin, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def checked(
        self,
        estimator: OnePassEstimator,
        columns: Columns,
        which: NDArray[np.intp] | None = None,
    ) -> Batch:
        """The batch that an estimator makes of it; errors know file and row.

        Parameters
        ----------
        estimator : one-pass model
        columns : Columns
        which : array of int, optional
            Places of the rows to take; None for all.
        """
        parts = [self.rows, self.target, self.weights]
        if which is not None:
            parts = [None if part is None else part[which] for part in parts]
        try:
            return estimator.check_batch(
                *parts, columns=columns, one_of_many=True, encoded=True
            )
        except DataError as error:
            if which is not None and error.row is not None:
                error = error.at(row=int(which[error.row]))
            raise placed(error, self.origins) from error


@dataclass(frozen=True, eq=False)
class ArrayMaker:
    """Makes arrays of records.

    Parameters
    ----------
    roles : TableRoles
    dtype : dtype
        Of rows of numbers.
    missing : "raise", "drop" or mapping
    schema : Schema, optional
        Where some columns are categories, and rows are wide.
    unseen : {"allow", "raise"}
        What to do with categories that the schema does not know.
    """

    roles: TableRoles
    dtype: Any
    missing: Any = "raise"
    schema: Schema | None = None
    unseen: str = "allow"

    def batch(self, sections: list[FileSection]) -> RawBatch:
        """Records as X (n, w), y (n,) or (n, t), and weights (n,)."""
        roles = self.roles
        whole = tuple(s.without_gaps(self.missing, roles.used) for s in sections)
        self._refuse_gaps(whole)
        target = None
        if roles.targets:
            columns = [_joined(whole, name) for name in roles.targets]
            target = columns[0] if roles.flat_target else np.stack(columns, axis=1)
        weights = None if roles.weight is None else _joined(whole, roles.weight)
        origins = tuple(section.origin for section in whole)
        return RawBatch(self._rows(whole), target, weights, origins)

    def _refuse_gaps(self, sections: tuple[FileSection, ...]) -> None:
        names = self.roles.used
        if not self.roles.numeric and self.schema is None:
            names = names[len(self.roles.columns) :]  # None is a category there
        for section in sections:
            section.refuse_gaps(names)

    def _rows(self, sections: tuple[FileSection, ...]) -> NDArray[Any]:
        """The columns of X, (n, d), or wide."""
        names = self.roles.columns
        if self.schema is not None:
            return self._encoded(self.schema, sections)
        rows = np.empty(
            (sum(section.record.num_rows for section in sections), len(names)),
            self.dtype if self.roles.numeric else object,
        )
        for index, name in enumerate(names):
            stop = 0
            for section in sections:
                start, stop = stop, stop + section.record.num_rows
                values = plain_values(section.record.column(name))
                rows[start:stop, index] = values
        return rows

    def _encoded(
        self, schema: Schema, sections: tuple[FileSection, ...]
    ) -> NDArray[Any]:
        """Wide rows; a category that is not known is refused by file and row."""
        table = pa.Table.from_batches([section.record for section in sections])
        given, is_closed = (
            table.select(list(self.roles.columns)),
            self.unseen == "raise",
        )
        try:
            return schema.encode(given, self.dtype, is_closed=is_closed)
        except DataError as error:
            raise placed(error, [section.origin for section in sections]) from error


def _joined(sections: tuple[FileSection, ...], name: str) -> NDArray[Any]:
    parts = [plain_values(section.record.column(name)) for section in sections]
    values = np.concatenate(parts)
    return values.astype(str) if values.dtype == object else values
