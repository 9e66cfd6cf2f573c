"""The error of data that are not what they must be, with its place as fields."""

from collections.abc import Sequence
from typing import Any


class DataError(ValueError):
    """Data are refused, and it is known where.

    Whoever knows more of the place adds it with :meth:`at`; nobody reads it out of the
    message.

    Parameters
    ----------
    reason : str
        What is wrong and what to do, without the place.
    file : str, optional
    row : int, optional
        Counted from zero, in the file or, without one, in the rows that were given.
    column : str or int, optional
        Name, or place where columns have no names.
    value : optional
        What stands there.

    Examples
    --------
    >>> from rhokit.errors import DataError
    >>> error = DataError("must be a finite number", row=3, column="age")
    >>> print(error.at(file="people.csv", row=103))
    people.csv: row 103: column 'age': must be a finite number
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | int | None = None,
        value: Any = None,
    ) -> None:
        self.reason = reason
        self.file, self.row, self.column, self.value = file, row, column, value
        super().__init__(self._text())

    def at(self, **place: Any) -> "DataError":
        """The same error of another place; fields that are not given stay."""
        known = {name: getattr(self, name) for name in _PLACE}
        return type(self)(self.reason, **(known | place))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.reason, [getattr(self, n) for n in _PLACE])

    def _text(self) -> str:
        parts = [
            None if self.file is None else self.file,
            None if self.row is None else f"row {self.row:,}",
            None if self.column is None else f"column {self.column!r}",
            self.reason,
        ]
        return ": ".join(part for part in parts if part)


class DataTypeError(DataError, TypeError):
    """Data are refused because a value is of a type that cannot be a number."""


class RefusedRows(ValueError):
    """Some of many rows are refused; the others have been learned.

    Parameters
    ----------
    errors : tuple of DataError
        What is wrong with each of them, by its position.
    n_rows : int
        How many there were.
    """

    def __init__(self, errors: tuple[DataError, ...], n_rows: int) -> None:
        self.errors, self.n_rows = errors, n_rows
        super().__init__(errors, n_rows)

    def __str__(self) -> str:
        return (
            f"{len(self.errors)} of {self.n_rows} rows were refused, the others have "
            f"been learned: {self.errors[0]}"
        )


class DataNote(UserWarning):
    """What was found out and acted upon, and could be meant in another way."""


class ModelFileError(ValueError):
    """A file is no model that can be read here: damaged, foreign, newer or hostile."""


def listed(values: Sequence[Any], most: int = 8) -> str:
    """Join values for a message, the first ones where there are many."""
    shown = ", ".join(map(repr, values[:most]))
    more = len(values) - most
    return f"{shown}, and {more} more" if more > 0 else shown


_PLACE = ("file", "row", "column", "value")


def _remade(cls: type[DataError], reason: str, place: list[Any]) -> DataError:
    return cls(reason, **dict(zip(_PLACE, place, strict=True)))
