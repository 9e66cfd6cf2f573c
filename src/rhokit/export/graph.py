"""What exporters compute with: values that operators make others of.

``graph.exp(x @ weights + 1)`` adds steps to a graph, and is the value that the last one
computes. Which language they are written in is the graph's own matter: nodes of ONNX
(:mod:`rhokit.export.onnx_graph`), or expressions of SQL
(:mod:`rhokit.export.sql_graph`). Operators have the names and the meaning that ONNX
gives them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rhokit.export.questions import Questions

OUTPUTS = (
    "interval",
    "label",
    "log_density",
    "mean",
    "probabilities",
    "quantiles",
    "std",
)
"""Names of all outputs that there are."""

TEXT = np.dtype(object)
DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)
INTEGER = np.dtype(np.int64)
PLACE = np.dtype(np.int32)
TRUTH = np.dtype(bool)


class Value:
    """A tensor of a graph; operators on it add steps.

    Constants take the type of the value that they are combined with, so double
    precision stays double.

    Parameters
    ----------
    graph : Graph
    content : object
        What the graph knows it by.
    dtype : dtype
        Of its numbers; of objects for text.
    """

    __array_ufunc__ = None  # so that an array on the left lets us compute

    def __init__(self, graph: "Graph", content: Any, dtype: np.dtype[Any]) -> None:
        self.graph, self.content, self.dtype = graph, content, dtype

    def __add__(self, other: Any) -> "Value":
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> "Value":
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Any) -> "Value":
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Any) -> "Value":
        return self.graph.node("MatMul", self, other)

    def __lt__(self, other: Any) -> "Value":
        return self.graph.node("Less", self, other, dtype=TRUTH)

    def __gt__(self, other: Any) -> "Value":
        return self.graph.node("Greater", self, other, dtype=TRUTH)

    def __le__(self, other: Any) -> "Value":
        return self.graph.node("LessOrEqual", self, other, dtype=TRUTH)

    def __ge__(self, other: Any) -> "Value":
        return self.graph.node("GreaterOrEqual", self, other, dtype=TRUTH)

    def __and__(self, other: Any) -> "Value":
        return self.graph.node("And", self, other)

    def __or__(self, other: Any) -> "Value":
        return self.graph.node("Or", self, other)

    def equals(self, other: Any) -> "Value":
        """Where the two are equal; gaps (NaN) never are."""
        return self.graph.node("Equal", self, other, dtype=TRUTH)

    def cast(self, dtype: Any) -> "Value":
        """The same numbers in another type."""
        wanted = np.dtype(dtype)
        return self if wanted == self.dtype else self.graph.cast(self, wanted)

    def reshape(self, *shape: int) -> "Value":
        """The same numbers in another shape; 0 keeps the size that was there."""
        sizes = self.graph.constant(np.array(shape, dtype=np.int64))
        return self.graph.node("Reshape", self, sizes)

    def unsqueeze(self, axis: int) -> "Value":
        """The same numbers with one more axis, of size one."""
        where = self.graph.constant(np.array([axis], dtype=np.int64))
        return self.graph.node("Unsqueeze", self, where)

    def column(self, index: int) -> "Value":
        """One column of a matrix, shape (n, 1)."""
        return self.take([index], axis=1)

    def take(self, places: Any, axis: int) -> "Value":
        """Slices at given places of an axis."""
        where = self.graph.constant(np.asarray(places, dtype=np.int64))
        return self.graph.node("Gather", self, where, axis=axis)

    def sum(self, *axes: int, keep: bool = False) -> "Value":
        """Sum over axes."""
        return self._reduce("ReduceSum", axes, keep)

    def sum_of_squares(self, *axes: int, keep: bool = False) -> "Value":
        """Sum of the squares over axes."""
        return self._reduce("ReduceSumSquare", axes, keep)

    def max(self, *axes: int, keep: bool = False) -> "Value":
        """Largest number over axes."""
        return self._reduce("ReduceMax", axes, keep)

    def running_sum(self, axis: int) -> "Value":
        """Sums of all numbers up to each one along an axis."""
        along = self.graph.constant(np.array(axis, dtype=np.int64))
        return self.graph.node("CumSum", self, along)

    def _reduce(self, operator: str, axes: Sequence[int], keep: bool) -> "Value":
        over = self.graph.constant(np.array(axes, dtype=np.int64))
        return self.graph.node(operator, self, over, keepdims=int(keep))


class Graph(ABC):
    """Inputs, steps, constants and outputs, in the order in which they are added."""

    @abstractmethod
    def input(
        self, name: str, dtype: np.dtype[Any], width: int, *, gaps: bool = False
    ) -> Value:
        """An input of shape (rows, width); of some, gaps are values like others."""

    @abstractmethod
    def output(self, name: str, value: Value, *shape: int) -> None:
        """Let a value be an output of shape (rows, ...)."""

    @abstractmethod
    def constant(self, array: Any, name: str = "constant") -> Value:
        """Numbers or text that belong to the model; the name is for human readers."""

    @abstractmethod
    def node(
        self,
        operator: str,
        *operands: Any,
        dtype: np.dtype[Any] | None = None,
        n_outputs: int = 1,
        **attributes: Any,
    ) -> Value:
        """What an operator makes of values and arrays, of several outputs the first.

        Its type is that of the first value, unless ``dtype`` says otherwise.
        """

    @abstractmethod
    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """The same numbers in another type."""

    @abstractmethod
    def cells_of(self, questions: "Questions", rows: Value) -> Value:
        """The cell of every tree that scaled rows (n, d) are in, shape (n, T)."""

    # ---- functions ---------------------------------------------------------------

    def exp(self, value: Value) -> Value:
        """Exponential function."""
        return self.node("Exp", value)

    def log(self, value: Value) -> Value:
        """Logarithm; zero and what rounding leaves below it give ``-inf``."""
        nothing = value <= 0.0
        ones = self.constant(np.ones(1, value.dtype))
        logs = self.node("Log", self.where(nothing, ones, value))
        return self.where(
            nothing, self.constant(np.array([-np.inf], value.dtype)), logs
        )

    def cosine_of_turns(self, turns: Value) -> Value:
        """``cos(2πt)``, of the part of t that is no whole turn."""
        rest = turns - self.node("Round", turns)
        return self.node("Cos", rest * (2 * np.pi))

    def clip(self, value: Value, low: Any, high: Any) -> Value:
        """Numbers below ``low`` or above ``high`` become these."""
        return self.node("Min", self.node("Max", value, low), high)

    def where(self, condition: Value, chosen: Value, other: Any) -> Value:
        """``chosen`` where the condition holds, else ``other``."""
        if not isinstance(other, Value):
            other = self.constant(np.asarray(other, chosen.dtype))
        return self.node("Where", condition, chosen, other, dtype=chosen.dtype)

    def known_where(self, condition: Value, value: Value) -> Value:
        """A value where the condition holds; other rows get no answer."""
        return self.where(condition, value, np.nan)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Values side by side along an axis."""
        if len(values) == 1:
            return values[0]
        return self.node("Concat", *values, axis=axis)
