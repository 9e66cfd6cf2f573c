"""Feature maps in a model file."""

from functools import partial
from typing import Any

from rhokit.batch import Columns
from rhokit.features.registry import MAPS
from rhokit.io.parameter_field import ParameterField, check_parameters, defaults
from rhokit.records import (
    Build,
    ColumnsField,
    Reader,
    Writer,
    members,
    read_fields,
    refusal,
    require,
    write_fields,
)
from rhokit.records.field import joined

_COLUMNS = ColumnsField("d")


class MapField:
    """A map of the registry: its name, its parameters, and what it has drawn.

    Parameters
    ----------
    with_fitted : bool
        Whether what was drawn is kept, or only the parameters.
    """

    def __init__(self, *, with_fitted: bool = True) -> None:
        self._with_fitted = with_fitted

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The map as an object."""
        name = getattr(value, "name", None)
        if not isinstance(name, str) or MAPS.get(name) is not type(value):
            kind = type(value)
            raise TypeError(
                f"a {kind.__module__}.{kind.__name__} cannot be saved: a model file "
                f"holds feature maps of {sorted(MAPS)}, and no code"
            )
        own = joined(path, "parameters")
        parameters = PARAMETERS.write(value.get_params(deep=False), own, writer)
        known = {"name": name, "parameters": parameters}
        if not self._with_fitted or not hasattr(value, "n_features_in_"):
            return known | {"columns": None, "fitted": None}
        columns = _COLUMNS.write(Columns.of(value), joined(path, "columns"), writer)
        drawn = {each: getattr(value, f"{each}_") for each in value.file_fields}
        fitted = write_fields(value.file_fields, drawn, path, writer)
        return known | {"columns": columns, "fitted": fitted}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The map that is to be made; its class is looked up, never imported."""
        name, parameters, columns, fitted = members(
            given, path, "name", "parameters", "columns", "fitted"
        )
        if not isinstance(name, str) or name not in MAPS:
            raise refusal(joined(path, "name"), f"one of {sorted(MAPS)}", name)
        cls = MAPS[name]
        parameters = PARAMETERS.read(parameters, joined(path, "parameters"), reader)
        check_parameters(cls, parameters)
        parts: dict[str, Any] = {"parameters": Build(dict, parameters)}
        if fitted is None:
            require(columns is None, f"{path} has columns, but was not fitted")
            return Build(partial(_unfitted, cls), parts)
        require(self._with_fitted, f"{path} must have parameters alone")
        columns = _COLUMNS.read(columns, joined(path, "columns"), reader)
        values = read_fields(cls.file_fields, fitted, path, reader)
        cls.check_file(defaults(cls) | parameters, values, reader)
        parts |= {"columns": columns, "fitted": Build(dict, values)}
        return Build(cls.from_file, parts, of=cls)


def _unfitted(cls: Any, parameters: dict[str, Any]) -> Any:
    return cls(**parameters)


PARAMETERS = ParameterField(lambda: MapField(with_fitted=False))
