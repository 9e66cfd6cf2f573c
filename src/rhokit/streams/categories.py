"""Categories of a table's columns, looked up in a pass of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rhokit.errors import DataError
from rhokit.frames import MOST_CATEGORIES, Schema
from rhokit.progress import counted
from rhokit.streams.arrow import distinct_values
from rhokit.streams.pieces import TablePiece
from rhokit.streams.roles import TableRoles
from rhokit.streams.text_values import refuse_numbers
from rhokit.streams.timed_tables import AnyTable


@dataclass(frozen=True, eq=False)
class CategorySearch:
    """Looks up what columns of categories hold.

    Parameters
    ----------
    table : AnyTable
    pieces : list of TablePiece
    named : list of str
        Columns that are categories whatever they look like.
    """

    table: AnyTable
    pieces: list[TablePiece]
    named: list[str]

    def schema(self, roles: TableRoles) -> Schema:
        """Names and kinds of the columns of X."""
        return Schema(
            roles.columns,
            tuple(
                self._categories(name) if name in roles.categories else None
                for name in roles.columns
            ),
            tuple(map(self._is_ordered, roles.columns)),
        )

    def _is_ordered(self, name: str) -> bool:
        return bool(getattr(self._type(name), "ordered", False))

    def _type(self, name: str) -> Any:
        return self.table.schema.field(name).type

    def _categories(self, name: str) -> tuple[Any, ...]:
        """All categories of a column."""
        if pa.types.is_boolean(self._type(name)):
            return False, True
        seen = self._distinct(name)
        if not seen:
            raise DataError("holds no value at all: leave it out", column=name)
        if self._is_ordered(name):
            return tuple(seen)
        self._refuse_numbers(name, seen)
        return tuple(sorted(seen, key=lambda value: (str(type(value)), value)))

    def _distinct(self, name: str) -> list[Any]:
        """Values of a column, in the order of an ordered dictionary."""
        seen: dict[Any, None] = {}
        for piece in self.pieces:
            records = counted(f"Looking at {name}", piece.records([name]))
            for record in records:
                seen |= dict.fromkeys(distinct_values(record.column(name)))
                if len(seen) > MOST_CATEGORIES + 1:
                    self._refuse_many(name, seen)
        seen.pop(None, None)
        return list(seen)

    def _refuse_many(self, name: str, seen: Iterable[Any]) -> None:
        self._refuse_numbers(name, seen)
        raise DataError(
            f"has more than {MOST_CATEGORIES:,} different values: names or texts are "
            "no categories, leave it out",
            column=name,
        )

    def _refuse_numbers(self, name: str, seen: Iterable[Any]) -> None:
        """Of text files, whose types are guessed."""
        if self.table.is_guessed and name not in self.named:
            values = [value for value in seen if value is not None]
            refuse_numbers(name, values, self.table)
