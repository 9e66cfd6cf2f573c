"""What the columns of a table are for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from rhokit.errors import DataError
from rhokit.frames import Schema
from rhokit.streams.arrow import is_category, is_number, value_type


@dataclass(frozen=True)
class TableRoles:
    """Which columns are rows, targets and weights, and what they must be.

    Parameters
    ----------
    columns : tuple of str
        Of X.
    targets : tuple of str
    flat_target : bool
        Whether there is one target, and y has one axis.
    weight : str, optional
    numeric, numeric_target : bool
        Whether the columns of X, and the targets, must be numbers.
    categories : tuple of str
        Columns of X that are categories beside numbers.
    """

    columns: tuple[str, ...]
    targets: tuple[str, ...] = ()
    flat_target: bool = False
    weight: str | None = None
    numeric: bool = True
    numeric_target: bool = False
    categories: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        columns: str | list[str] | None,
        target: str | list[str] | None,
        weight: str | None,
        **kinds: Any,
    ) -> "TableRoles":
        """Roles by name; without ``columns`` all that are neither target nor weight."""
        targets = [target] if isinstance(target, str) else list(target or [])
        taken = {*targets, *([] if weight is None else [weight])}
        wanted = [n for n in schema.names if n not in taken]
        if columns is not None:
            wanted = [columns] if isinstance(columns, str) else list(columns)
        flat = isinstance(target, str)
        roles = cls(tuple(wanted), tuple(targets), flat, weight, **kinds)
        roles._require(schema)
        return roles

    @property
    def used(self) -> list[str]:
        """All columns that are read."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.columns, *self.targets, *weight]

    @property
    def numbers(self) -> list[str]:
        """Columns that must be numbers."""
        plain = [name for name in self.columns if name not in self.categories]
        return [
            *(plain if self.numeric else []),
            *(self.targets if self.numeric_target else []),
            *([] if self.weight is None else [self.weight]),
        ]

    def with_categories(
        self, schema: pa.Schema, known: Schema | None, named: Iterable[str]
    ) -> "TableRoles":
        """Columns of X that are categories: as is known, named, or by their type."""
        if known is not None:
            kinds = dict(zip(known.names, known.kinds, strict=True))
            found = [n for n in self.columns if kinds.get(n, "number") != "number"]
        else:
            found = [
                name
                for name in self.columns
                if name in named or is_category(schema.field(name).type)
            ]
        return replace(self, categories=tuple(found))

    def checked_names(self, categories: str | Iterable[str]) -> list[str]:
        """Names of columns of X, refused if they are not."""
        names = [categories] if isinstance(categories, str) else list(categories)
        for name in names:
            if name not in self.columns:
                raise ValueError(
                    f"categories: {name!r} is not among the columns "
                    f"{list(self.columns)}"
                )
        return names

    def first_text(self, schema: pa.Schema) -> tuple[str, Any] | None:
        """The first column that must be numbers and is not, with its type."""
        for name in self.numbers:
            place = schema.get_field_index(name)
            kind = value_type(schema.types[place]) if place >= 0 else pa.float64()
            if not is_number(kind):
                return name, kind
        return None

    def refuse_text(self, schema: pa.Schema, file: str | None) -> None:
        """Refuse columns of text where numbers belong, before reading any."""
        found = self.first_text(schema)
        if found is not None:
            raise text_error(found[1], found[0], file)

    def _require(self, schema: pa.Schema) -> None:
        """Refuse columns that are not there, before reading any."""
        if not self.columns:
            raise ValueError(f"no columns to learn from: the table has {schema.names}")
        if len(set(self.used)) < len(self.used):
            raise ValueError(
                f"columns, target and weight must be different columns, got {self.used}"
            )
        for name in self.used:
            if schema.get_field_index(name) < 0:
                raise ValueError(
                    f"column {name!r} is not in the table, which has {schema.names}"
                )


def text_error(
    kind: Any,
    column: str,
    file: str | None,
    row: int | None = None,
    value: Any = None,
) -> DataError:
    """A column of text stands where numbers belong."""
    what = f"is {kind}" if value is None else f"holds {value!r}"
    reason = (
        f"must be numbers, but {what}: choose others with columns=[...], or convert it"
    )
    return DataError(reason, file=file, row=row, column=column, value=value)
