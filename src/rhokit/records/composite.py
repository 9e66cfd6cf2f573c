"""Fields that are made of others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rhokit.errors import ModelFileError
from rhokit.records.field import (
    Build,
    Field,
    Fields,
    Reader,
    Values,
    Writer,
    joined,
    members,
    refusal,
)

Check = Callable[[Values, Reader], None]


@dataclass(frozen=True)
class Maybe:
    """A value that may be None.

    Parameters
    ----------
    field : Field
    optional : bool
        Whether it may also not be there, as in files that are older than the field.
    """

    field: Field
    optional: bool = False

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The value, or null."""
        return None if value is None else self.field.write(value, path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The value, or None."""
        return None if given is None else self.field.read(given, path, reader)


class Record:
    """A value type: its attributes are its fields.

    Parameters
    ----------
    make : callable
        Makes the value from its fields, by name.
    check : callable, optional
        Refuses fields that do not fit together, before anything is made.
    **fields : Field
    """

    def __init__(
        self, make: Callable[..., Any], check: Check | None = None, **fields: Field
    ) -> None:
        self.make = make
        self._check = check
        self._fields = fields

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """An object with all fields."""
        known = {name: getattr(value, name) for name in self._fields}
        return write_fields(self._fields, known, path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """All fields, checked."""
        values = read_fields(self._fields, given, path, reader)
        if self._check is not None:
            self._check(values, reader)
        return Build(self.make, values)


class OneOf:
    """A value of one of some types, each with its own record, told apart by a name."""

    def __init__(self, **records: Record) -> None:
        self._records = records

    def takes(self, value: Any) -> bool:
        """Whether a value is of one of the types."""
        return any(type(value) is record.make for record in self._records.values())

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The name of the type, and the value."""
        for name, record in self._records.items():
            if type(value) is record.make:
                return {"kind": name, "value": record.write(value, path, writer)}
        raise TypeError(f"a {type(value).__name__} cannot be saved as {path}")

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The value of the named type."""
        name, value = members(given, path, "kind", "value")
        if not isinstance(name, str) or name not in self._records:
            raise refusal(path, f"one of {list(self._records)}", name)
        return self._records[name].read(value, path, reader)


def write_fields(fields: Fields, values: Values, path: str, writer: Writer) -> Any:
    """An object with all fields."""
    return {
        name: field.write(values[name], joined(path, name), writer)
        for name, field in fields.items()
    }


def read_fields(
    fields: Fields, given: Any, path: str, reader: Reader
) -> dict[str, Any]:
    """All fields of an object that has no others; None for those it may lack."""
    if not isinstance(given, dict):
        raise refusal(path or "the model", f"an object with {list(fields)}", given)
    if not given.keys() <= fields.keys():
        unknown = sorted(given.keys() - fields.keys())
        raise ModelFileError(f"{path} is not understood: {str(unknown)[:200]}")
    missing = [
        name
        for name, field in fields.items()
        if name not in given and not (isinstance(field, Maybe) and field.optional)
    ]
    if missing:
        raise ModelFileError(f"{path} lacks {missing}")
    return {
        name: field.read(given.get(name), joined(path, name), reader)
        for name, field in fields.items()
    }
