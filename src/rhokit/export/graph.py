"""A small builder of ONNX graphs: expressions in Python become nodes.

``graph.exp(x @ weights + 1)`` adds three nodes and two constants, and is the value that
the last node computes. Constants take the type of the value that they are combined
with, so double precision stays double.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

# The newest operators needed are reductions over given axes (18) and comparisons of
# text (19), which runtimes have had since 2023.
_OPSET = 19
_IR_VERSION = 9
# Protocol buffers hold no more than two gigabytes; the rest is for names and nodes.
_MOST_BYTES = 2**31 - 2**20
# Equal constants of at most so many numbers are stored once.
_SMALL = 64
# The size of every axis that counts rows.
_ROWS = "rows"

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
_RESERVED = frozenset({"", *OUTPUTS})

TEXT = np.dtype(object)
DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)
INTEGER = np.dtype(np.int64)
PLACE = np.dtype(np.int32)
_TRUTH = np.dtype(bool)


def _is_nearly_one(factor: Any) -> bool:
    """Whether this is a number that only double precision tells from one.

    ONNX Runtime compares in single precision, and leaves such factors out.
    """
    if isinstance(factor, Value) or np.size(factor) != 1:
        return False
    number = float(np.asarray(factor).item())
    return number != 1 and bool(np.float32(number) == 1)


class Value:
    """A tensor of a graph; operators on it add nodes.

    Parameters
    ----------
    graph : Graph
    name : str
    dtype : dtype
        Of its numbers; of objects for text.
    """

    __array_ufunc__ = None  # so that an array on the left lets us compute

    def __init__(self, graph: "Graph", name: str, dtype: np.dtype[Any]) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype

    def __add__(self, other: Any) -> "Value":
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> "Value":
        if _is_nearly_one(other):
            return self.graph.node("Mul", self * 0.5, 2 * np.asarray(other))
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Any) -> "Value":
        if _is_nearly_one(other):
            return self.graph.node("Div", self * 2.0, 2 * np.asarray(other))
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Any) -> "Value":
        return self.graph.node("MatMul", self, other)

    def __lt__(self, other: Any) -> "Value":
        return self.graph.node("Less", self, other, dtype=_TRUTH)

    def __gt__(self, other: Any) -> "Value":
        return self.graph.node("Greater", self, other, dtype=_TRUTH)

    def __le__(self, other: Any) -> "Value":
        return self.graph.node("LessOrEqual", self, other, dtype=_TRUTH)

    def __ge__(self, other: Any) -> "Value":
        return self.graph.node("GreaterOrEqual", self, other, dtype=_TRUTH)

    def __and__(self, other: Any) -> "Value":
        return self.graph.node("And", self, other)

    def __or__(self, other: Any) -> "Value":
        return self.graph.node("Or", self, other)

    def equals(self, other: Any) -> "Value":
        """Where the two are equal; gaps (NaN) never are."""
        return self.graph.node("Equal", self, other, dtype=_TRUTH)

    def cast(self, dtype: Any) -> "Value":
        """The same numbers in another type."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        return self.graph.node("Cast", self, dtype=wanted, to=_element_type(wanted))

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


class Graph:
    """Inputs, nodes, constants and outputs, in the order in which they are added."""

    def __init__(self, name: str, output_dtype: np.dtype[Any] = DOUBLE) -> None:
        self._name = name
        self._output_dtype = output_dtype
        self._nodes: list[Any] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._known: dict[Any, Value] = {}
        self._n_bytes = self._n_names = 0

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, in the order in which they were added."""
        return [each.name for each in self._inputs]

    def input(self, name: str, dtype: np.dtype[Any], width: int) -> Value:
        """An input of shape (rows, width); a name that is taken gets a ``_``."""
        while name in _RESERVED or name in self.input_names:
            name += "_"
        self._inputs.append(_described(name, dtype, [width]))
        return Value(self, name, dtype)

    def output(self, name: str, value: Value, *shape: int) -> None:
        """Let a value be an output of shape (rows, ...)."""
        if value.dtype.kind == "f":
            value = value.cast(self._output_dtype)
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(_described(name, value.dtype, shape))

    def constant(self, array: Any, name: str = "constant") -> Value:
        """Numbers or text that belong to the model; the name is for human readers."""
        array = np.asarray(array)
        key = None
        if array.size <= _SMALL and array.dtype != TEXT:
            key = (array.dtype.str, array.shape, array.tobytes())
            if key in self._known:
                return self._known[key]
        self._make_room(array.nbytes)
        unique = f"/{name}_{len(self._constants)}"  # no column is called so
        self._constants.append(numpy_helper.from_array(array, unique))
        value = Value(self, unique, array.dtype)
        if key is not None:
            self._known[key] = value
        return value

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
        own = next(each.dtype for each in operands if isinstance(each, Value))
        inputs = [
            each if isinstance(each, Value) else self.constant(np.asarray(each, own))
            for each in operands
        ]
        name = self._name_of(operator)
        names = [each.name for each in inputs]
        made = [name, *(f"{name}_{k}" for k in range(1, n_outputs))]
        self._nodes.append(helper.make_node(operator, names, made, **attributes))
        return Value(self, name, own if dtype is None else dtype)

    def repeat(self, times: int, start: Value, step: Callable[[Value], Value]) -> Value:
        """What ``step`` makes of a value, done so many times over, in a loop."""
        outside, self._nodes = self._nodes, []
        count, going = (self._name_of(name) for name in ("count", "going"))
        value = Value(self, self._name_of("value"), start.dtype)
        made = step(value)
        still, name = (self._name_of(name) for name in ("still", "loop"))
        self._nodes.append(helper.make_node("Identity", [going], [still]))
        body = helper.make_graph(
            self._nodes,
            f"{name}_body",
            [_number(count, INTEGER), _number(going, _TRUTH), _tensor(value)],
            [_number(still, _TRUTH), _tensor(made)],
        )
        self._nodes = outside
        most = self.constant(np.array(times, dtype=np.int64)).name
        loop = helper.make_node("Loop", [most, "", start.name], [name], body=body)
        self._nodes.append(loop)
        return Value(self, name, start.dtype)

    def _name_of(self, operator: str) -> str:
        """A name that nothing else has, in the graph and in its loops."""
        self._n_names += 1
        return f"/{operator.lower()}_{self._n_names - 1}"

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

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Values side by side along an axis."""
        if len(values) == 1:
            return values[0]
        return self.node("Concat", *values, axis=axis)

    # ---- the file ----------------------------------------------------------------

    def to_bytes(self, metadata: Mapping[str, str], version: str) -> bytes:
        """The checked content of a file."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, self._constants
        )
        model: ModelProto = helper.make_model(
            graph,
            producer_name="rhokit",
            producer_version=version,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
        )
        helper.set_model_props(model, dict(metadata))
        checker.check_model(model, full_check=True)
        return model.SerializeToString()

    def _make_room(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > _MOST_BYTES:
            raise ValueError(
                f"{self._name} holds more than the 2 GB of numbers that fit into an "
                "ONNX file: fit it with fewer n_components, or set its rank"
            )


def _element_type(dtype: np.dtype[Any]) -> int:
    if dtype == TEXT:
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(dtype))


def _number(name: str, dtype: np.dtype[Any]) -> Any:
    return helper.make_tensor_value_info(name, _element_type(dtype), [])


def _tensor(value: Value) -> Any:
    """Of any shape."""
    kind = _element_type(value.dtype)
    return helper.make_tensor_value_info(value.name, kind, None)


def _described(name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> Any:
    sizes: list[str | int | None] = [_ROWS, *shape]
    return helper.make_tensor_value_info(name, _element_type(dtype), sizes)
