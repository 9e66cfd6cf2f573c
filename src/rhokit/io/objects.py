"""Objects of our classes in a model file: parameters, and what was learned."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import rhokit
from rhokit.estimators.choice import check_map
from rhokit.io.errors import ModelFileError
from rhokit.io.fields import Build, Field, Maybe, Reader, Writer
from rhokit.io.parameters import Parameters
from rhokit.validation import check_values

Fields = dict[str, Field]
Values = Mapping[str, Any]
Check = Callable[[Values, Values, Reader], None]
Table = Mapping[str, tuple[Fields, Check]]

_LONGEST_MESSAGE = 400
# A size that nothing in a file attests, since it is of what is made from it.
_MOST_OUTPUTS = 2**16


def require(holds: Any, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not holds:
        raise ModelFileError(what)


class Object:
    """An object of one of our classes: its parameters, and what it has learned.

    The class is looked up in a table of ours; the file's word for it is never imported.

    Parameters
    ----------
    table : mapping
        From names of classes to their fields and to what must hold between them.
    parameters : Parameters
        How parameters are written.
    with_fitted : bool
        Whether what was learned is kept, or only the parameters.
    """

    def __init__(
        self, table: Table, parameters: Parameters, *, with_fitted: bool = True
    ) -> None:
        self._table = table
        self._parameters = parameters
        self._with_fitted = with_fitted

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        name = type(value).__name__
        if name not in self._table or type(value) is not getattr(rhokit, name):
            raise TypeError(
                f"a {type(value).__module__}.{name} cannot be saved: a model file "
                f"holds objects of {sorted(self._table)}, and no code"
            )
        own = _join(path, "parameters")
        parameters = self._parameters.write(value.get_params(deep=False), own, writer)
        fitted = None
        if self._with_fitted and hasattr(value, "n_features_in_"):
            fitted = self._write_fitted(value, path, writer)
        return {"class": name, "parameters": parameters, "fitted": fitted}

    def _write_fitted(self, value: Any, path: str, writer: Writer) -> Any:
        kept = _with_wide_rows(_kept(value))
        return {
            name: field.write(kept[name], _join(path, name), writer)
            for name, field in self._table[type(value).__name__][0].items()
            if name in kept
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, dict) or given.keys() != {
            "class",
            "parameters",
            "fitted",
        }:
            raise ModelFileError(f"{path or 'the model'} is no object of ours")
        name = given["class"]
        if not isinstance(name, str) or name not in self._table:
            raise ModelFileError(
                f"the class of {path or 'the model'} must be one of "
                f"{sorted(self._table)}, got {str(name)[:80]!r}"
            )
        cls = getattr(rhokit, name)
        own = _join(path, "parameters")
        parameters = self._parameters.read(given["parameters"], own, reader)
        _check_parameters(cls, parameters, path)
        fitted = None
        if given["fitted"] is not None:
            require(self._with_fitted, f"{path} must have parameters alone")
            fitted = self._read_fitted(name, given["fitted"], path, reader)
            complete = _defaults(cls) | parameters
            self._table[name][1](complete, fitted, reader)
        return Build(
            partial(_make, cls),
            {
                "parameters": Build(dict, parameters),
                "fitted": None if fitted is None else Build(dict, fitted),
            },
        )

    def _read_fitted(self, name: str, given: Any, path: str, reader: Reader) -> Any:
        fields = self._table[name][0]
        if not isinstance(given, dict) or not given.keys() <= fields.keys():
            unknown = (
                sorted(set(given) - set(fields)) if isinstance(given, dict) else ""
            )
            raise ModelFileError(
                f"{_join(path, 'fitted')} is not understood: {unknown}"
            )
        missing = [
            key
            for key, field in fields.items()
            if key not in given and (not isinstance(field, Maybe) or field.required)
        ]
        if missing:
            raise ModelFileError(f"{_join(path, 'fitted')} lacks {missing}")
        return {
            key: field.read(given[key], _join(path, key), reader)
            for key, field in fields.items()
            if key in given
        }


def _kept(value: Any) -> Values:
    """What an object hands out for a file."""
    hand_out = getattr(value, "fitted_values", None) or value._keep
    kept: Values = hand_out()
    return kept


def _with_wide_rows(kept: Values) -> Values:
    """What a file keeps: of frames with categories, the number of wide columns."""
    schema = kept.get("schema_")
    if schema is None:
        return kept
    names = kept.keys() - {"feature_names_in_"}
    return {name: kept[name] for name in names} | {"n_features_in_": schema.width}


def _make(cls: type, parameters: dict[str, Any], fitted: dict[str, Any] | None) -> Any:
    made = cls(**parameters)
    if fitted is not None:
        vars(made).update(fitted)
        if made.schema_ is not None:
            made.n_features_in_ = len(made.schema_.names)
            made.feature_names_in_ = np.array(made.schema_.names, dtype=object)
        (getattr(made, "restore", None) or made._restore)()
    return made


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _defaults(cls: Any) -> dict[str, Any]:
    return dict(cls().get_params(deep=False))


def _check_parameters(cls: Any, parameters: dict[str, Any], path: str) -> None:
    known = _defaults(cls)
    if not parameters.keys() <= known.keys():
        unknown = sorted(parameters.keys() - known.keys())
        raise ModelFileError(f"{cls.__name__} has no parameters {unknown}")
    plain = {k: v for k, v in parameters.items() if not isinstance(v, Build)}
    try:
        check_values(cls.__name__, plain, cls._parameter_table)
        if "feature_map" in plain:
            check_map(plain["feature_map"])  # type: ignore[no-untyped-call]
    except (ValueError, TypeError) as error:
        raise ModelFileError(str(error)[:_LONGEST_MESSAGE]) from error
    output = parameters.get("output_map")
    if isinstance(output, Build):
        size = output.parts["parameters"].parts.get("n_components", 1)
        require(size <= _MOST_OUTPUTS, f"n_components={size} of output_map is too many")
    misplaced = parameters.keys() - plain.keys() - {"feature_map", "output_map"}
    if misplaced:
        raise ModelFileError(f"{cls.__name__}: {sorted(misplaced)} cannot be a map")
