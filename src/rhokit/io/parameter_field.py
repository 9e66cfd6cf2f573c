"""Constructor parameters in a model file."""

import math
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from rhokit.core import Kernel
from rhokit.errors import ModelFileError
from rhokit.kernels import KERNELS
from rhokit.kernels.registry import is_kernel, settings_of
from rhokit.records import (
    POSITIVE,
    ArrayField,
    Build,
    Field,
    Reader,
    Values,
    Writer,
    members,
    refusal,
    require,
)

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_ARRAY = ArrayField(
    *((None,) * ndim for ndim in range(4)), dtypes=("float32", "float64", "int64")
)
# What they drew is in the file; they themselves are no data.
_GENERATORS = (np.random.RandomState, np.random.Generator)
# Parameters that may be maps.
_MAPS = ("feature_map", "output_map")
_LONGEST_MESSAGE = 400
# Parts of it are divided by.
_LEAST_GAMMA = 16 * POSITIVE.low


class ParameterField:
    """All parameters of an object, by name.

    Parameters
    ----------
    maps : callable
        The field of feature maps, which may be parameters of others.
    """

    def __init__(self, maps: Callable[[], Field]) -> None:
        self._maps = maps

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """All parameters as JSON; generators of random numbers as null."""
        return {
            name: self._write_one(item, f"{path}.{name}", writer)
            for name, item in value.items()
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """Parameters as they were, or what to build them from."""
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
            return None
        if isinstance(value, type | np.dtype):
            return np.dtype(value).name
        if type(value).__module__ == "torch" and type(value).__name__ == "device":
            return str(value)
        if isinstance(value, Kernel):
            return {"kernel": _kernel(value, path)}
        if isinstance(value, tuple | list) and value and all(map(is_kernel, value)):
            return {"kernels": [self._write_one(one, path, writer) for one in value]}
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
            if kind == "kernel":
                return _read_kernel(value, path, reader)
            if kind == "kernels" and isinstance(value, list):
                return tuple(self._read_one(one, path, reader) for one in value)
        raise ModelFileError(f"{path} is no parameter that a model can have")


def _kernel(kernel: Kernel, path: str) -> dict[str, Any]:
    """Name and numbers of a kernel, which is all that there is to it."""
    if KERNELS.get(kernel.name) is not type(kernel):
        raise TypeError(
            f"{path} is a {type(kernel).__name__}, which a model file cannot hold: it "
            f"holds kernels of {sorted(KERNELS)}, and no code"
        )
    return settings_of(kernel)


def _read_kernel(given: Any, path: str, reader: Reader) -> Kernel:
    """A kernel of the registry; numbers are checked as they are by its class."""
    name = given.get("name") if isinstance(given, dict) else None
    cls = KERNELS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise refusal(path, f"a kernel, one of {sorted(KERNELS)}", given)
    names = [field.name for field in fields(cls)]
    values = members(given, path, "name", *names)[1:]
    numbers = [POSITIVE.read(value, path, reader) for value in values]
    try:
        return cls(*numbers)
    except ValueError as error:
        raise refusal(path, str(error), given) from error


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


def defaults(cls: Any) -> dict[str, Any]:
    """The parameters of a class that is made without any."""
    return dict(_defaults(cls))


@lru_cache(maxsize=128)  # they are looked up several times for every file
def _defaults(cls: Any) -> dict[str, Any]:
    return dict(cls().get_params(deep=False))


def paths_of(cls: Any) -> tuple[str, ...]:
    """Names of the parameters of a class that name files."""
    return tuple(getattr(cls, "path_parameters", ()))


def check_parameters(cls: Any, parameters: Values) -> None:
    """Refuse parameters that a class does not have, or values that they cannot have."""
    for name in paths_of(cls):
        require(
            parameters.get(name) is None,
            f"parameters.{name} must be null: paths are never taken from a file",
        )
    unknown = sorted(parameters.keys() - defaults(cls).keys())
    require(not unknown, f"{cls.__name__} has no parameters {str(unknown)[:200]}")
    maps = {k: v for k, v in parameters.items() if isinstance(v, Build)}
    plain = {k: v for k, v in parameters.items() if k not in maps}
    try:
        cls.check_constructor(plain)
    except (ValueError, TypeError) as error:
        raise ModelFileError(str(error)[:_LONGEST_MESSAGE]) from error
    gamma = parameters.get("gamma")
    fits = not isinstance(gamma, int | float) or gamma >= _LEAST_GAMMA
    require(fits, f"gamma={gamma} is too small a number to divide by")
    misplaced = sorted(maps.keys() - _MAPS)
    require(not misplaced, f"{cls.__name__}: {misplaced} cannot be a map")
