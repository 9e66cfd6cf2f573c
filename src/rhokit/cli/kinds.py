"""The kind of model that a target asks for, told from its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.cli.failures import UserError
from rhokit.cli.table_files import TableFiles
from rhokit.progress import counted
from rhokit.streams.arrow import is_category, is_number

# More different whole numbers than this are values, not classes; and so are those that
# hardly ever come twice.
_MOST_WHOLE_NUMBERS = 20
_ROWS_PER_CLASS = 5


@dataclass
class _Looked:
    """Values that have been seen of a column of numbers."""

    values: set[float] = field(default_factory=set)
    n_rows: int = 0

    def add(self, column: Any) -> bool:
        """Take up a batch; whether that settles that these are values."""
        distinct = pc.unique(column.drop_null()).to_pylist()
        self.n_rows += len(column)
        self.values.update(distinct)
        whole = all(float(value).is_integer() for value in distinct)
        return not whole or len(self.values) > _MOST_WHOLE_NUMBERS


def guess_kind(table: TableFiles, target: list[str]) -> tuple[str, str]:
    """The kind of model that a target asks for, and why.

    Parameters
    ----------
    table : TableFiles
    target : list of str

    Returns
    -------
    kind : {"density", "classes", "values"}
    reason : str
    """
    if not target:
        return "density", "there is no target"
    table.require(target)
    if len(target) > 1:
        return "values", "there are several targets"
    (name,) = target
    kind = table.schema.field(name).type
    if is_category(kind) or not is_number(kind):
        return "classes", f"column {name!r} holds {_word(kind)}"
    return _guess_from_values(table, name)


def _guess_from_values(table: TableFiles, name: str) -> tuple[str, str]:
    looked = _Looked()
    batches = table.batches([name], {name: pa.float64()})
    for batch in counted("Looking at the target", batches):
        if looked.add(batch.table.column(name)):
            return "values", f"column {name!r} holds many different numbers"
    if not looked.values:
        raise UserError(f"column {name!r} holds no values")
    if looked.n_rows < _ROWS_PER_CLASS * len(looked.values):
        return "values", f"hardly a number of column {name!r} comes twice"
    count = len(looked.values)
    return "classes", f"column {name!r} holds {count} different whole numbers"


def _word(kind: pa.DataType) -> str:
    return "truth values" if pa.types.is_boolean(kind) else "text"
