"""Writers, readers, and what is built once a whole file has been checked.

Reading comes in two steps. First every value is checked: its type, its range, its
shape, and what it has in common with others (``"d"`` columns of a row, say, wherever
they stand). Only when the whole file has passed is anything built from it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rhokit.errors import ModelFileError

Size = str | int | None
Tensors = dict[str, NDArray[Any]]
Values = Mapping[str, Any]

# Rows of a sample, all of which may have been unlearned; categories, of numbers none.
_MAY_BE_ZERO = ("knots", "lines", "s", "w")

OUTCOME_COST = 2**15
"""What it costs to factor the state of an outcome, however small: see Reader.claim."""


class Writer:
    """Collects tensors, each under the path of the field that it belongs to."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}

    def put(self, path: str, array: NDArray[Any]) -> None:
        """Keep a tensor."""
        self.tensors[path] = array


class Reader:
    """Hands out tensors, each once, and holds what fields must agree about.

    Parameters
    ----------
    tensors : mapping
    limit : float
        The largest cost that anything may have: see :meth:`claim`.
    """

    def __init__(self, tensors: Tensors, limit: float = math.inf) -> None:
        self._left = dict(tensors)
        self._facts: dict[str, Any] = {}
        self._limit = limit
        self.sizes: dict[str, int] = {}

    def claim(self, cost: float, what: str) -> None:
        """Refuse what costs more to build, or to be asked once, than it may.

        Parameters
        ----------
        cost : float
            Bytes that are needed at once; or time, of which a byte stands for 6 ns.
        what : str
            What costs so much.
        """
        if cost > self._limit:
            raise ModelFileError(
                f"{what} would cost {cost:.3g} bytes, or as much time as filling them "
                f"takes: more than {self._limit:.3g}, which is what a file of this "
                f"size may. Load it with limit={math.ceil(cost)} if you trust it"
            )

    def take(self, path: str) -> NDArray[Any]:
        """The tensor of a field."""
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

    def agree(self, fact: str, value: Any, path: str) -> None:
        """Learn what holds of the whole file, or refuse what contradicts it."""
        known = self._facts.setdefault(fact, value)
        if known != value:
            raise ModelFileError(
                f"{path} does not go with the rest of the file: {fact} must be "
                f"{shortened(known)}, got {shortened(value)}"
            )

    def finish(self) -> None:
        """Refuse tensors that nobody asked for."""
        if self._left:
            raise ModelFileError(
                f"holds tensors that mean nothing: {shortened(self._left)}"
            )


class Field(Protocol):
    """A kind of value: how it is written, and checked when it is read."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The value as JSON; tensors go to the writer."""

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The value of checked JSON, or what to build it from."""


Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Build:
    """Something that can be built, once the whole file has been checked.

    Parameters
    ----------
    make : callable
    parts : mapping
        What it takes, by name; itself to be built, where that must be.
    of : type, optional
        The class of what is built, where it matters to others.
    """

    make: Callable[..., Any]
    parts: Values
    of: Any = None

    def __call__(self) -> Any:
        return self.make(**{name: built(part) for name, part in self.parts.items()})


def built(value: Any) -> Any:
    """The value itself, or what it says to build."""
    return value() if isinstance(value, Build) else value


def require(holds: Any, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not holds:
        raise ModelFileError(what)


def refusal(path: str, wanted: str, given: Any) -> ModelFileError:
    """The error that says what a value must be, and what it is."""
    return ModelFileError(f"{path} must be {wanted}, got {shortened(given)}")


def members(given: Any, path: str, *names: str) -> list[Any]:
    """The members of a JSON object that must have these names and no others."""
    if not isinstance(given, dict) or given.keys() != set(names):
        found = list(given) if isinstance(given, dict) else given
        raise refusal(path or "the model", f"an object with {list(names)}", found)
    return [given[name] for name in names]


def joined(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def shortened(value: Any) -> str:
    """A value as an error shows it."""
    text = repr(list(value) if isinstance(value, dict) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def is_a(value: Any, *types: type) -> bool:
    """Whether a value is of a type; a truth value is no number."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


_SCALARS = (str, bool, int, float)
# Text in arrays takes as much as the longest one for each; so much is always fine.
_MOST_PADDING = 2**20


def are_scalars(values: Any, *, missing: bool = False) -> bool:
    """Whether all are text, finite numbers or truth values; or None, if that may be."""
    return all(
        (missing and value is None)
        or (
            type(value) in _SCALARS
            and not (isinstance(value, float) and not np.isfinite(value))
        )
        for value in values
    )


def may_be_padded(values: Any) -> bool:
    """Whether text as long as the longest one for each does not take too much."""
    lengths = [len(value) for value in values if isinstance(value, str)]
    padded = len(values) * max(lengths, default=0)
    return padded <= _MOST_PADDING + 16 * sum(lengths)
