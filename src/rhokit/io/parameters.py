"""Constructor parameters in a model file."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rhokit.io.errors import ModelFileError
from rhokit.io.fields import Array, Build, Field, Reader, Writer

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_ARRAY = Array(
    *((None,) * ndim for ndim in range(4)), dtypes=("float32", "float64", "int64")
)
# Parameters without a meaning for what was learned, or whose values are no data.
_GENERATORS = (np.random.RandomState, np.random.Generator)


class Parameters:
    """All parameters of an object, by name.

    Parameters
    ----------
    maps : Field
        Of feature maps, which may be parameters of others.
    """

    def __init__(self, maps: Callable[[], Field]) -> None:
        self._maps = maps

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return {
            name: self._write_one(item, f"{path}.{name}", writer)
            for name, item in value.items()
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, dict):
            raise ModelFileError(f"{path} must be an object of parameters")
        return {
            name: self._read_one(item, f"{path}.{name}", reader)
            for name, item in given.items()
        }

    def _write_one(self, value: Any, path: str, writer: Writer) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, _GENERATORS):
            return None  # what it drew is in the file, it itself is no parameter
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, type | np.dtype):
            return np.dtype(value).name
        if type(value).__module__ == "torch" and type(value).__name__ == "device":
            return str(value)
        if hasattr(value, "get_params"):
            return {"map": self._maps().write(value, path, writer)}
        return {"array": _ARRAY.write(_numeric(value, path), path, writer)}

    def _read_one(self, given: Any, path: str, reader: Reader) -> Any:
        if given is None or isinstance(given, bool | int | float | str):
            return given
        if isinstance(given, dict) and len(given) == 1:
            ((kind, value),) = given.items()
            if kind == "float" and isinstance(value, str) and value in _FLOATS:
                return _FLOATS[value]
            if kind == "array":
                return _ARRAY.read(value, path, reader)
            if kind == "map":
                return self._maps().read(value, path, reader)
        raise ModelFileError(f"{path} is no parameter that a model can have")


def _numeric(value: Any, path: str) -> Any:
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise TypeError(
            f"{path} is a {type(value).__name__}, which a model file cannot hold"
        )
    return array if array.dtype == np.float32 else array.astype(np.float64)


def checked_value(value: Any) -> Any:
    """A parameter as a table of constraints sees it: maps not built yet are maps."""
    return value.make if isinstance(value, Build) else value
