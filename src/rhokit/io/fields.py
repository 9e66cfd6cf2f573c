"""Kinds of values in a model file: how each is written, and checked when read.

Reading comes in two steps. First every value is checked: its type, its range, its
shape, and the sizes that it has in common with others (``"d"`` columns of a row, say,
wherever it stands). Only when the whole file has passed is anything built from it.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rhokit.io.container import Tensors
from rhokit.io.errors import ModelFileError

Size = str | int | None
# Rows of a sample: all of them may have been unlearned.
_MAY_BE_ZERO = ("s",)
# Text in arrays takes as much as the longest one for each; so much is always fine.
_MOST_PADDING = 2**20
_LABEL_DTYPE = re.compile(r"[<>|=]?[biufUO][0-9]{0,9}")
_TENSOR, _COMPLEX = "tensor", "complex tensor"
_LABEL_KINDS = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}
_SCALARS = (str, bool, int, float)


class Writer:
    """Collects tensors, each under the path of the field that it belongs to."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}

    def put(self, path: str, array: NDArray[Any]) -> None:
        self.tensors[path] = array


class Reader:
    """Hands out tensors, each once, and holds the sizes that fields share."""

    def __init__(self, tensors: Tensors) -> None:
        self._left = dict(tensors)
        self.sizes: dict[str, int] = {}

    def take(self, path: str) -> NDArray[Any]:
        if path not in self._left:
            raise ModelFileError(f"{path} is missing: there is no tensor of that name")
        return self._left.pop(path)

    def bind(self, size: Size, value: int, path: str) -> None:
        """Learn a size, or refuse one that differs from what is known, or is zero."""
        if size is None:
            return
        if value < 1 and size not in _MAY_BE_ZERO:
            raise ModelFileError(f"{path} has the size {value}: there must be some")
        known = self.sizes.setdefault(size, value) if isinstance(size, str) else size
        if known != value:
            name = f"{size} = " if isinstance(size, str) else ""
            raise ModelFileError(
                f"{path} has the size {value} where the rest has {name}{known}"
            )

    def finish(self) -> None:
        if self._left:
            raise ModelFileError(
                f"holds tensors that mean nothing: {_short(self._left)}"
            )


class Field(Protocol):
    """A kind of value."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The value as JSON; tensors go to the writer."""

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The value of checked JSON, or what to build it from."""


@dataclass(frozen=True)
class Maybe:
    """A value that may be None; unless it is required, it may also not be there."""

    field: Field
    required: bool = False

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return None if value is None else self.field.write(value, path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        return None if given is None else self.field.read(given, path, reader)


@dataclass(frozen=True)
class Number:
    """A finite number of an interval; ``size`` is the size that it states."""

    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    size: str | None = None

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return int(value) if self.integer else float(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        wanted = (int,) if self.integer else (int, float)
        if not _is_a(given, *wanted) or not self.low <= given <= self.high:
            kind = "an integer" if self.integer else "a number"
            raise refusal(path, f"{kind} in [{self.low}, {self.high}]", given)
        if not math.isfinite(given):
            raise refusal(path, "a finite number", given)
        if self.size is not None:
            reader.bind(self.size, int(given), path)
        return int(given) if self.integer else float(given)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return bool(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, bool):
            raise refusal(path, "true or false", given)
        return given


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    words: tuple[str, ...]
    build: Callable[[str], Any] = str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return str(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, str) or given not in self.words:
            raise refusal(path, f"one of {list(self.words)}", given)
        return self.build(given)


@dataclass(frozen=True)
class Names:
    """Names of columns, as scikit-learn keeps them."""

    size: str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return [str(name) for name in value]

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, list) or not all(_is_a(name, str) for name in given):
            raise refusal(path, "a list of names", given)
        reader.bind(self.size, len(given), path)
        return np.array(given, dtype=object)


@dataclass(frozen=True)
class Labels:
    """Distinct labels in their order: text, numbers or truth values of one dtype."""

    size: str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        values = value.tolist()
        known = value.dtype.kind in {*_LABEL_KINDS, "O"}
        if not known or not are_scalars(values) or not may_be_padded(values):
            raise TypeError(
                f"labels of dtype {value.dtype} cannot be saved: make them (short) "
                "text, numbers or truth values"
            )
        return {"dtype": value.dtype.str, "values": values}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        dtype, values = members(given, path, "dtype", "values")
        if not isinstance(values, list) or not are_scalars(values):
            raise refusal(path, "a list of labels", values)
        kind = _label_kind(dtype, path)
        if kind != "O" and not all(
            _is_a(value, *_LABEL_KINDS[kind]) for value in values
        ):
            raise refusal(path, f"labels of the dtype {dtype}", values)
        if not may_be_padded(values):
            raise refusal(path, "labels of similar length", values)
        labels = np.array(values, dtype="U" if kind == "U" else dtype)
        if not len(labels) or labels.tolist() != np.unique(labels).tolist():
            raise refusal(path, "distinct labels in ascending order", values)
        reader.bind(self.size, len(labels), path)
        return labels


@dataclass(frozen=True)
class Categories:
    """Categories of a one-hot map: each a tuple of plain values."""

    length: str
    count: str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        if not all(are_scalars(key, missing=True) for key in value):
            raise TypeError(
                "categories that are not text, numbers, truth values or missing "
                "cannot be saved"
            )
        return [list(key) for key in value]

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, list):
            raise refusal(path, "a list of categories", given)
        for key in given:
            if not isinstance(key, list) or not are_scalars(key, missing=True):
                raise refusal(path, "categories of plain values", key)
            reader.bind(self.length, len(key), path)
        keys = [tuple(key) for key in given]
        if not keys or len(set(keys)) != len(keys):
            raise refusal(path, "distinct categories", given)
        reader.bind(self.count, len(keys), path)
        return keys


class Array:
    """A tensor of one of some shapes, finite and not below ``low``.

    Parameters
    ----------
    *shapes : tuples of names of sizes, numbers, or None for any size
    dtypes : names
    low : float
        The least value.
    minus_infinity : bool
        Whether values may be ``-inf``.
    may_be_complex : bool
    """

    def __init__(
        self,
        *shapes: tuple[Size, ...],
        dtypes: tuple[str, ...] = ("float64",),
        low: float = -math.inf,
        minus_infinity: bool = False,
        may_be_complex: bool = False,
    ) -> None:
        self._may_be_complex = may_be_complex
        self._shapes = {len(shape): shape for shape in shapes}
        self._dtypes = dtypes
        self._low = low
        self._minus_infinity = minus_infinity

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        array = np.asarray(value)
        is_complex = np.iscomplexobj(array)
        if is_complex:
            array = np.stack([array.real, array.imag], axis=-1)
        if array.dtype.name not in self._dtypes:
            wide = self._dtypes[-1]
            if not np.can_cast(array.dtype, wide):
                raise TypeError(f"{path} of dtype {array.dtype} cannot be saved")
            array = array.astype(wide)
        writer.put(path, array)
        return _COMPLEX if is_complex else _TENSOR

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        kinds = [_TENSOR, *([_COMPLEX] if self._may_be_complex else [])]
        if given not in kinds:
            raise refusal(path, " or ".join(map(repr, kinds)), given)
        array = reader.take(path)
        if array.dtype.name not in self._dtypes:
            raise refusal(path, f"of dtype {self._dtypes}", array.dtype.name)
        if given == _COMPLEX:
            array = self._complex(array, path)
        shape = self._shapes.get(array.ndim)
        if shape is None:
            raise refusal(path, f"of shape {list(self._shapes.values())}", array.shape)
        for size, value in zip(shape, array.shape, strict=True):
            reader.bind(size, value, path)
        self._check_values(array, path)
        return array

    def _complex(self, array: NDArray[Any], path: str) -> NDArray[Any]:
        if not array.ndim or array.shape[-1] != 2:
            raise refusal(path, "pairs of real and imaginary parts", array.shape)
        return np.asarray(array[..., 0] + 1j * array[..., 1])

    def _check_values(self, array: NDArray[Any], path: str) -> None:
        fine = np.isfinite(array)
        if self._minus_infinity:
            fine |= array == -np.inf
        if not fine.all():
            raise ModelFileError(f"{path} holds values that are not finite")
        if self._low > -math.inf and array.size and array.min() < self._low:
            raise refusal(path, f"{self._low} or more everywhere", array.min())


@dataclass(frozen=True)
class Build:
    """Something that can be built, once the whole file has been checked."""

    make: Callable[..., Any]
    parts: Mapping[str, Any]

    def __call__(self) -> Any:
        return self.make(**{name: built(part) for name, part in self.parts.items()})


def built(value: Any) -> Any:
    """The value itself, or what it says to build."""
    return value() if isinstance(value, Build) else value


class Record:
    """A value type: its attributes are its fields."""

    def __init__(self, make: Callable[..., Any], **fields: Field) -> None:
        self._make = make
        self._fields = fields

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return {
            name: field.write(getattr(value, name), f"{path}.{name}", writer)
            for name, field in self._fields.items()
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        given = members(given, path, *self._fields)
        values = {
            name: field.read(member, f"{path}.{name}", reader)
            for (name, field), member in zip(self._fields.items(), given, strict=True)
        }
        return Build(self._make, values)


class OneOf:
    """A value of one of some types, each with its own field, told apart by a name."""

    def __init__(self, **kinds: tuple[type, Field]) -> None:
        self._kinds = kinds

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        for name, (kind, field) in self._kinds.items():
            if type(value) is kind:
                return {"kind": name, "value": field.write(value, path, writer)}
        raise TypeError(f"a {type(value).__name__} cannot be saved as {path}")

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        name, value = members(given, path, "kind", "value")
        if not isinstance(name, str) or name not in self._kinds:
            raise refusal(path, f"one of {list(self._kinds)}", name)
        return self._kinds[name][1].read(value, path, reader)


def members(given: Any, path: str, *names: str) -> list[Any]:
    """The members of a JSON object that must have these names and no others."""
    if not isinstance(given, dict) or given.keys() != set(names):
        found = list(given) if isinstance(given, dict) else given
        raise refusal(path, f"an object with {list(names)}", found)
    return [given[name] for name in names]


def _is_a(value: Any, *types: type) -> bool:
    """Whether a value is of a type; a truth value is no number."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def are_scalars(values: Any, *, missing: bool = False) -> bool:
    return all(
        (missing and value is None) or (type(value) in _SCALARS and _is_finite(value))
        for value in values
    )


def may_be_padded(values: Any) -> bool:
    """Whether text as long as the longest one for each does not take too much."""
    lengths = [len(value) for value in values if isinstance(value, str)]
    padded = len(values) * max(lengths, default=0)
    return padded <= _MOST_PADDING + 16 * sum(lengths)


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _label_kind(dtype: Any, path: str) -> str:
    """The kind of a dtype that labels may have."""
    # NumPy evaluates what it does not know; nothing else may come near it.
    if isinstance(dtype, str) and _LABEL_DTYPE.fullmatch(dtype):
        try:
            return np.dtype(dtype).kind
        except TypeError:
            pass
    raise refusal(path, "labels of a dtype for text or numbers", dtype)


def refusal(path: str, wanted: str, given: Any) -> ModelFileError:
    return ModelFileError(f"{path} must be {wanted}, got {_short(given)}")


def _short(value: Any) -> str:
    text = repr(list(value) if isinstance(value, dict) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."
