"""Columns of rows in a model file: their number, names and kinds."""

from typing import Any

import numpy as np

from rhokit.batch import Columns
from rhokit.column_support import MOST_VALUES, ColumnSupport
from rhokit.frame_form import DTYPES, FORMS, FrameForm
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
        form = None if value.form is None else _written_form(value.form)
        found = {"width": value.width, "names": None, "schema": None, "form": form}
        found["supports"] = value.supports and list(
            map(_written_support, value.supports)
        )
        if value.schema is not None:
            return found | {"schema": _written_schema(value.schema)}
        names = None if value.names is None else [str(name) for name in value.names]
        return found | {"names": names}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The columns, which agree with the width of rows elsewhere."""
        width, names, schema, form, supports = members(
            given, path, "width", "names", "schema", "form", "supports"
        )
        parts = {"n_features": self._width.read(width, f"{path}.width", reader)}
        if schema is not None:
            if names is not None:
                raise refusal(path, "without names beside a schema", names)
            found = self._schema(schema, f"{path}.schema", reader)
            known = found["categories"]
            found["form"] = _read_form(form, path, known)
            found["supports"] = _read_supports(supports, path, known)
            return Build(_columns_of, found)
        parts |= {"names": self._names(names, path, reader)}
        found_form = _read_form(form, path, None)
        if found_form is not None:
            reader.bind(self._size, len(found_form.dtypes), f"{path}.form")
        found_supports = _read_supports(supports, path, None)
        if found_supports is not None:
            reader.bind(self._size, len(found_supports), f"{path}.supports")
        return Build(Columns, parts | {"form": found_form, "supports": found_supports})

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
        names, categories, ordered, unseen = zip(*columns, strict=True)
        if len(set(names)) < len(names) or not any(categories):
            raise refusal(path, "different columns, some of categories", names)
        widths = [1 if values is None else len(values) for values in categories]
        reader.bind(self._size, sum(widths), path)
        return {
            "names": names,
            "categories": categories,
            "ordered": ordered,
            "unseen": unseen,
        }


def _columns_of(form: Any, supports: Any, **parts: Any) -> Columns:
    schema = Schema(**parts)
    return Columns(len(schema.names), schema.names, schema, form, supports)


def _written_support(support: ColumnSupport | None) -> dict[str, Any] | None:
    if support is None:
        return None
    return {"values": list(support.values), "is_complete": support.is_complete}


def _read_supports(
    given: Any, path: str, categories: tuple[Any, ...] | None
) -> tuple[ColumnSupport | None, ...] | None:
    """Values that columns take, of numbers alone."""
    if given is None:
        return None
    path = f"{path}.supports"
    if not isinstance(given, list) or len(given) != len(categories or given):
        raise refusal(path, "a list of what columns take", given)
    found = tuple(_read_support(each, path) for each in given)
    for support, known in zip(found, categories or (), strict=False):
        if support is not None and known is not None:
            raise refusal(path, "none for columns of categories", given)
    return found


def _read_support(given: Any, path: str) -> ColumnSupport | None:
    if given is None:
        return None
    values, is_complete = members(given, path, "values", "is_complete")
    are_numbers = isinstance(values, list) and all(type(v) is float for v in values)
    if not are_numbers or not 1 <= len(values) <= MOST_VALUES:
        raise refusal(path, "a list of numbers", values)
    if not np.isfinite(values).all() or not (np.diff(values) >= 0).all():
        raise refusal(path, "ascending finite numbers", values)
    if type(is_complete) is not bool:
        raise refusal(path, "whether these are all values", is_complete)
    return ColumnSupport(tuple(values), is_complete)


def _written_form(form: FrameForm) -> dict[str, Any]:
    return {"kind": form.kind, "dtypes": list(form.dtypes)}


def _read_form(
    given: Any, path: str, categories: tuple[tuple[Any, ...] | None, ...] | None
) -> FrameForm | None:
    """What rows came as, with types that fit the columns; None for numbers alone."""
    if given is None:
        return None
    kind, dtypes = members(given, f"{path}.form", "kind", "dtypes")
    are_known = isinstance(dtypes, list) and all(each in DTYPES for each in dtypes)
    if kind not in FORMS or not are_known:
        raise refusal(f"{path}.form", "a kind of frame, and types of columns", given)
    form = FrameForm(kind, tuple(dtypes))
    known = (None,) * len(dtypes) if categories is None else categories
    if not form.fits(known):
        raise refusal(f"{path}.form", "types that fit the columns", dtypes)
    return form


def _written_schema(schema: Schema) -> list[dict[str, Any]]:
    known = [values for values in schema.categories if values is not None]
    if not all(are_scalars(values) for values in known):
        raise TypeError(
            "categories that are not text, numbers or truth values cannot be saved"
        )
    columns = zip(
        schema.names, schema.categories, schema.ordered, schema.unseen, strict=True
    )
    return [
        {
            "name": str(name),
            "categories": values and list(values),
            "ordered": order,
            "unseen": unseen,
        }
        for name, values, order, unseen in columns
    ]


def _read_column(given: Any, path: str) -> tuple[Any, ...]:
    name, values, ordered, unseen = members(
        given, path, "name", "categories", "ordered", "unseen"
    )
    if type(name) is not str or type(ordered) is not bool:
        raise refusal(path, "a name and whether there is an order", given)
    if type(unseen) is not float or not 0 <= unseen < 1:
        raise refusal(path, "a probability of unseen categories below one", unseen)
    if values is None:
        return name, None, ordered, 0.0
    fits = isinstance(values, list) and are_scalars(values)
    if not fits or not 1 <= len(values) <= MOST_CATEGORIES:
        raise refusal(path, "a list of categories", values)
    if len(set(values)) < len(values):
        raise refusal(path, "different categories", values)
    return name, tuple(values), ordered, unseen
