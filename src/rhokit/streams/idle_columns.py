"""Columns that say nothing about a row: its number, its name, or the same in all."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rhokit.errors import DataNote
from rhokit.progress import counted
from rhokit.streams.arrow import is_category
from rhokit.streams.text_values import is_written_number
from rhokit.streams.timed_tables import AnyTable
from rhokit.validation import level_of_the_user

# Fewer rows say nothing; so many that all differ say enough.
_FEWEST_ROWS, _ENOUGH_ROWS = 20, 20_000
_NAMES_OF_IDS = re.compile(
    r"(.*[_ .-])?(id|ids|idx|index|key|nr|no|number|row|rownames|uuid|guid)"
    r"|.*[a-z]I[Dd]|unnamed.*|column_1|",
    re.IGNORECASE,
)


@dataclass
class _Seen:
    """What has been seen of a column, until it is known not to be idle."""

    name: str
    first: Any = None
    n_rows: int = 0
    is_constant: bool = True
    is_counting: bool = True
    all_differ: bool = True
    last: int | None = None
    values: set[Any] = field(default_factory=set)

    def add(self, column: Any) -> None:
        """Take up some rows."""
        start, self.n_rows = self.n_rows, self.n_rows + len(column)
        if self.is_constant:
            self._compare(column)
        if self.all_differ and start < _ENOUGH_ROWS:
            self._collect(column)
        if self.is_counting and start < _ENOUGH_ROWS:
            self._count(column)

    def _compare(self, column: Any) -> None:
        known = column.drop_null()
        if self.first is None and len(known):
            self.first = known[0]
        if not len(known):
            return
        same = pc.equal(known, self.first) if self.first.is_valid else pa.array([False])
        self.is_constant = len(known) == len(column) and pc.all(same).as_py()

    def _collect(self, column: Any) -> None:
        """Texts and whole numbers may be names of rows."""
        kind = column.type
        if pa.types.is_boolean(kind) or not (
            is_category(kind) or pa.types.is_integer(kind)
        ):
            self.all_differ = False
            return
        found = column.to_pylist()
        self.values.update(found)
        self.all_differ = None not in self.values and len(self.values) == self.n_rows

    def _count(self, column: Any) -> None:
        if not pa.types.is_integer(column.type) or column.null_count:
            self.is_counting = False
            return
        values = column.to_numpy(zero_copy_only=False)
        if not len(values):
            return
        before = values[0] - 1 if self.last is None else self.last
        steps = values[0] == before + 1 and bool((values[1:] == values[:-1] + 1).all())
        starts = self.last is not None or values[0] in (0, 1) or self._is_called_id
        self.is_counting = steps and starts
        self.last = int(values[-1])

    @property
    def _is_called_id(self) -> bool:
        return bool(_NAMES_OF_IDS.fullmatch(self.name))

    @property
    def is_open(self) -> bool:
        """Whether more rows may still tell."""
        enough = self.n_rows >= _ENOUGH_ROWS
        return self.is_constant or (
            not enough and (self.all_differ or self.is_counting)
        )

    @property
    def reason(self) -> str | None:
        """Why the column is idle, None if it is not."""
        if self.n_rows < _FEWEST_ROWS:
            return None
        if self.is_constant:
            if self.first is None:
                return "empty"
            return f"{self.first.as_py()!r} in all rows"
        if self.is_counting:
            return "counts the rows"
        if not self.all_differ:
            return None
        texts = [
            v for v in self.values if isinstance(v, str) and not is_written_number(v)
        ]
        if len(texts) > len(self.values) / 2 or (not texts and self._is_called_id):
            return "different in all rows"
        return None  # numbers, or numbers with a mistake among them


def idle_columns(table: AnyTable, names: Iterable[str]) -> dict[str, str]:
    """Columns that say nothing about rows, and why.

    Rows are read until all columns are known to say something; those that are the same
    in all rows are looked at to the end.
    """
    seen = {name: _Seen(name) for name in names if table.holds(name)}
    for piece in table.pieces(list(seen), lambda *_: None):
        left = [name for name, each in seen.items() if each.is_open]
        if not left:
            break
        for record in counted("Looking at the columns", piece.records(left)):
            for name in left:
                seen[name].add(record.column(name))
            if not any(seen[name].is_open for name in left):
                break
    return _reasons(seen)


def _reasons(seen: dict[str, _Seen]) -> dict[str, str]:
    found = {name: each.reason for name, each in seen.items()}
    idle = {name: reason for name, reason in found.items() if reason}
    return idle if len(idle) < len(seen) else {}


def without_idle(table: AnyTable, names: list[str]) -> list[str]:
    """Columns that say something about rows; a note tells which do not."""
    idle = idle_columns(table, names)
    if idle:
        told = [f"{name} ({reason})" for name, reason in idle.items()]
        warnings.warn(
            f"left out columns that say nothing about a row: {', '.join(told)}: "
            "keep_all=True keeps them",
            DataNote,
            stacklevel=level_of_the_user(),
        )
    return [name for name in names if name not in idle]
