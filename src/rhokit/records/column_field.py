"""Columns of rows in a model file: their number, names and kinds."""

from typing import Any

from rhokit.batch import Columns
from rhokit.frames import MOST_CATEGORIES, Schema
from rhokit.records.field import (
    Build,
    Reader,
    Writer,
    are_scalars,
    is_a,
    members,
    refusal,
)
from rhokit.records.scalars import Number


class ColumnsField:
    """Number, names and kinds of columns; a row has ``size`` numbers."""

    def __init__(self, size: str) -> None:
        self._size = size
        self._width = Number(1, integer=True, size=size)

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The numbers of a row, names, and categories where there are some."""
        if value.schema is not None:
            schema = _written_schema(value.schema)
            return {"width": value.width, "names": None, "schema": schema}
        names = None if value.names is None else [str(name) for name in value.names]
        return {"width": value.width, "names": names, "schema": None}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The columns, which agree with the width of rows elsewhere."""
        width, names, schema = members(given, path, "width", "names", "schema")
        parts = {"n_features": self._width.read(width, f"{path}.width", reader)}
        if schema is not None:
            if names is not None:
                raise refusal(path, "without names beside a schema", names)
            return Build(_columns_of, self._schema(schema, f"{path}.schema", reader))
        return Build(Columns, parts | {"names": self._names(names, path, reader)})

    def _names(self, given: Any, path: str, reader: Reader) -> Any:
        if given is None:
            return None
        if not isinstance(given, list) or not all(is_a(name, str) for name in given):
            raise refusal(f"{path}.names", "a list of names", given)
        reader.bind(self._size, len(given), f"{path}.names")
        return tuple(given)

    def _schema(self, given: Any, path: str, reader: Reader) -> dict[str, Any]:
        if not isinstance(given, list) or not given:
            raise refusal(path, "a list of columns", given)
        columns = [_read_column(each, path) for each in given]
        names, categories, ordered = zip(*columns, strict=True)
        if len(set(names)) < len(names) or not any(categories):
            raise refusal(path, "different columns, some of categories", names)
        widths = [1 if values is None else len(values) for values in categories]
        reader.bind(self._size, sum(widths), path)
        return {"names": names, "categories": categories, "ordered": ordered}


def _columns_of(**parts: Any) -> Columns:
    schema = Schema(**parts)
    return Columns(len(schema.names), schema.names, schema)


def _written_schema(schema: Schema) -> list[dict[str, Any]]:
    known = [values for values in schema.categories if values is not None]
    if not all(are_scalars(values) for values in known):
        raise TypeError(
            "categories that are not text, numbers or truth values cannot be saved"
        )
    columns = zip(schema.names, schema.categories, schema.ordered, strict=True)
    return [
        {"name": str(name), "categories": values and list(values), "ordered": order}
        for name, values, order in columns
    ]


def _read_column(given: Any, path: str) -> tuple[Any, ...]:
    name, values, ordered = members(given, path, "name", "categories", "ordered")
    if type(name) is not str or type(ordered) is not bool:
        raise refusal(path, "a name and whether there is an order", given)
    if values is None:
        return name, None, ordered
    fits = isinstance(values, list) and are_scalars(values)
    if not fits or not 1 <= len(values) <= MOST_CATEGORIES:
        raise refusal(path, "a list of categories", values)
    if len(set(values)) < len(values):
        raise refusal(path, "different categories", values)
    return name, tuple(values), ordered
