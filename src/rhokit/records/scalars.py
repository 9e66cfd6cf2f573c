"""Fields without tensors: numbers, words, labels and categories."""

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.records.field import (
    Reader,
    Writer,
    are_scalars,
    is_a,
    may_be_padded,
    members,
    refusal,
)
from rhokit.validation import is_missing

_LABEL_DTYPE = re.compile(r"[<>|=]?[biufUO][0-9]{0,9}")
_LABEL_KINDS = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}


@dataclass(frozen=True)
class Number:
    """A finite number of an interval; ``size`` is the size that it states."""

    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    size: str | None = None

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The number."""
        return int(value) if self.integer else float(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The number, inside its interval."""
        wanted = (int,) if self.integer else (int, float)
        if not is_a(given, *wanted) or not self.low <= given <= self.high:
            kind = "an integer" if self.integer else "a number"
            raise refusal(path, f"{kind} in [{self.low}, {self.high}]", given)
        if not math.isfinite(given):
            raise refusal(path, "a finite number", given)
        if self.size is not None:
            reader.bind(self.size, int(given), path)
        return int(given) if self.integer else float(given)


POSITIVE = Number(float(np.finfo(float).tiny))


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The truth value."""
        return bool(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The truth value, which is no number."""
        if not isinstance(given, bool):
            raise refusal(path, "true or false", given)
        return given


@dataclass(frozen=True)
class Word:
    """One of a few words, which may be those of a registry."""

    words: Collection[str]
    build: Callable[[str], Any] = str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The word."""
        return str(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """What the word stands for."""
        if not isinstance(given, str) or given not in self.words:
            raise refusal(path, f"one of {list(self.words)}", given)
        return self.build(given)


@dataclass(frozen=True)
class LabelField:
    """Distinct labels in their order: text, numbers or truth values of one dtype."""

    size: str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The labels with their dtype."""
        values = value.tolist()
        known = value.dtype.kind in {*_LABEL_KINDS, "O"}
        plain = known and are_scalars(values) and _fit_in_64_bits(values)
        if not plain or not may_be_padded(values):
            raise TypeError(
                f"labels of dtype {value.dtype} cannot be saved: make them (short) "
                "text, numbers of 64 bits or truth values"
            )
        return {"dtype": value.dtype.str, "values": values}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The labels as an array."""
        dtype, values = members(given, path, "dtype", "values")
        if not isinstance(values, list) or not are_scalars(values):
            raise refusal(path, "a list of labels", values)
        if not _fit_in_64_bits(values):
            raise refusal(path, "labels of 64 bits", values)
        kind = _label_kind(dtype, path)
        if kind != "O" and not all(
            is_a(value, *_LABEL_KINDS[kind]) for value in values
        ):
            raise refusal(path, f"labels of the dtype {dtype}", values)
        if not may_be_padded(values):
            raise refusal(path, "labels of similar length", values)
        labels = np.array(values, dtype="U" if kind == "U" else dtype)
        if not len(labels) or labels.tolist() != np.unique(labels).tolist():
            raise refusal(path, "distinct labels in ascending order", values)
        reader.bind(self.size, len(labels), path)
        return labels


def _fit_in_64_bits(values: list[Any]) -> bool:
    """Whether no integer is so large that any number of them may have one hash."""
    return all(abs(value) < 2**64 for value in values if isinstance(value, int))


def _label_kind(dtype: Any, path: str) -> str:
    """The kind of a dtype that labels may have."""
    # NumPy evaluates what it does not know; nothing else may come near it.
    if isinstance(dtype, str) and _LABEL_DTYPE.fullmatch(dtype):
        try:
            return np.dtype(dtype).kind
        except TypeError:
            pass
    raise refusal(path, "labels of a dtype for text or numbers", dtype)


@dataclass(frozen=True)
class CategoryField:
    """Categories of a one-hot map: each a tuple of plain values."""

    length: str
    count: str

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """Lists of plain values."""
        if not all(are_scalars(key, missing=True) for key in value):
            raise TypeError(
                "categories that are not text, numbers, truth values or missing "
                "cannot be saved"
            )
        return [list(key) for key in value]

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The categories, all different."""
        if not isinstance(given, list):
            raise refusal(path, "a list of categories", given)
        for key in given:
            if not isinstance(key, list) or not are_scalars(key, missing=True):
                raise refusal(path, "categories of plain values", key)
            reader.bind(self.length, len(key), path)
        keys = [tuple(key) for key in given]
        if not keys or len(set(map(hashable_key, keys))) != len(keys):
            raise refusal(path, "distinct categories", given)
        reader.bind(self.count, len(keys), path)
        return keys


def hashable_key(values: Iterable[Any]) -> tuple[Any, ...]:
    """Plain values as a key of sets and dicts: equal for equal ones, gaps as None.

    Hashes of numbers are known to everybody, so somebody may choose numbers whose
    hashes are all the same, among which nothing is found soon. Those of text and of
    bytes differ from process to process.
    """
    return tuple(map(_hashable, values))


def _hashable(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, float) and not value.is_integer():
        return repr(value).encode()
    return b"%x" % int(value) if isinstance(value, int | float) else value
