"""Graphs of ONNX: values are names, and steps are nodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from rhokit.export.graph import (
    DOUBLE,
    INTEGER,
    OUTPUTS,
    TEXT,
    TRUTH,
    Graph,
    Value,
)
from rhokit.export.onnx_trees import cells_by_loop
from rhokit.export.questions import Questions

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
_RESERVED = frozenset({"", *OUTPUTS})


_BY_HALVES = frozenset({"Mul", "Div"})


def _is_nearly_one(factor: Any) -> bool:
    """Whether this is a number that only double precision tells from one.

    ONNX Runtime compares in single precision, and leaves such factors out.
    """
    if isinstance(factor, Value) or np.size(factor) != 1:
        return False
    number = float(np.asarray(factor).item())
    return number != 1 and bool(np.float32(number) == 1)


class OnnxGraph(Graph):
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

    def input(
        self, name: str, dtype: np.dtype[Any], width: int, *, gaps: bool = False
    ) -> Value:
        """An input of shape (rows, width); a name that is taken gets a ``_``."""
        while name in _RESERVED or name in self.input_names:
            name += "_"
        self._inputs.append(_described(name, dtype, [width]))
        return Value(self, name, dtype)

    def output(self, name: str, value: Value, *shape: int) -> None:
        """Let a value be an output of shape (rows, ...)."""
        if value.dtype.kind == "f":
            value = value.cast(self._output_dtype)
        self._nodes.append(helper.make_node("Identity", [value.content], [name]))
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
        """A node; see :meth:`Graph.node`."""
        if operator in _BY_HALVES and any(map(_is_nearly_one, operands)):
            return self._by_halves(operator, *operands)
        own = next(each.dtype for each in operands if isinstance(each, Value))
        inputs = [
            each if isinstance(each, Value) else self.constant(np.asarray(each, own))
            for each in operands
        ]
        name = self._name_of(operator)
        names = [each.content for each in inputs]
        made = [name, *(f"{name}_{k}" for k in range(1, n_outputs))]
        self._nodes.append(helper.make_node(operator, names, made, **attributes))
        return Value(self, name, own if dtype is None else dtype)

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """The same numbers in another type."""
        return self.node("Cast", value, dtype=dtype, to=_element_type(dtype))

    def cells_of(self, questions: Questions, rows: Value) -> Value:
        """The cell of every tree that scaled rows (n, d) are in, shape (n, T)."""
        return cells_by_loop(self, questions, rows)

    def _by_halves(self, operator: str, value: Value, factor: Any) -> Value:
        """A product or a quotient with a number that is nearly one, in two steps."""
        half = self.node(operator, value, np.asarray(0.5, value.dtype))
        return self.node(operator, half, 2 * np.asarray(factor))

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
            [_number(count, INTEGER), _number(going, TRUTH), _tensor(value)],
            [_number(still, TRUTH), _tensor(made)],
        )
        self._nodes = outside
        most = self.constant(np.array(times, dtype=np.int64)).content
        loop = helper.make_node("Loop", [most, "", start.content], [name], body=body)
        self._nodes.append(loop)
        return Value(self, name, start.dtype)

    def _name_of(self, operator: str) -> str:
        """A name that nothing else has, in the graph and in its loops."""
        self._n_names += 1
        return f"/{operator.lower()}_{self._n_names - 1}"

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
    return helper.make_tensor_value_info(value.content, kind, None)


def _described(name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> Any:
    sizes: list[str | int | None] = [_ROWS, *shape]
    return helper.make_tensor_value_info(name, _element_type(dtype), sizes)
