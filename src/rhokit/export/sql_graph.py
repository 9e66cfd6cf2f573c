"""Graphs of SQL: what one row whose numbers are not known yet would give.

Values are arrays whose axis of rows has the length one, and hold expressions; so what
NumPy does with arrays of objects, SQL does with columns.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.graph import DOUBLE, SINGLE, TEXT, TRUTH, Graph, Value
from rhokit.export.questions import Questions
from rhokit.export.sql_expressions import Operand, Pool, is_expression

Cells = NDArray[Any]

# Larger numbers have squares that some databases refuse.
_FARTHEST = 1e100


class SqlGraph(Graph):
    """Columns of a table, expressions of them, and outputs.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns that a matrix of inputs is made of.
    most_cells : int
        How many cells trees may have.
    """

    def __init__(self, columns: Sequence[str], most_cells: int) -> None:
        self.columns, self.most_cells = list(columns), most_cells
        self.pool = Pool()
        self.outputs: dict[str, tuple[Cells, tuple[int, ...]]] = {}
        self._guards: list[Operand] = []

    # ---- inputs, constants and outputs ------------------------------------------

    def input(
        self, name: str, dtype: np.dtype[Any], width: int, *, gaps: bool = False
    ) -> Value:
        """Columns of the table; rows that lack a number get no answer."""
        names = self.columns if width == len(self.columns) else [name]
        cells = _array([[self._column(each, dtype, gaps) for each in names]])
        return Value(self, cells, DOUBLE if dtype == SINGLE else dtype)

    def _column(self, name: str, dtype: np.dtype[Any], gaps: bool) -> Operand:
        column = self.pool.column(name)
        if dtype == TEXT:  # the empty one stands for a missing one, as it does in ONNX
            return self.pool.make("text", column)
        if dtype.kind != "f":
            return column
        number = self.pool.make("number", column)
        if gaps:
            return number
        size = self.pool.function("abs", number)
        is_there = self.pool.compare("<", size, _FARTHEST)
        self._guards.append(is_there)
        return self.pool.make("choice", is_there, number, None)

    def constant(self, array: Any, name: str = "constant") -> Value:
        """Numbers or text that belong to the model."""
        array = np.asarray(array)
        return Value(self, array, array.dtype)

    def output(self, name: str, value: Value, *shape: int) -> None:
        """An output, where nothing that it takes is missing."""
        cells = value.content.astype(object)
        for place in np.ndindex(cells.shape):
            cells[place] = self.pool.choice([(self._answered(), cells[place])], None)
        self.outputs[name] = cells[0], shape

    def _answered(self) -> Operand:
        found: Operand = True
        for guard in dict.fromkeys(self._guards):
            found = self.pool.every(found, guard)
        return found

    def known_where(self, condition: Value, value: Value) -> Value:
        """The value; rows where the condition does not hold get no answer."""
        self._guards += list(condition.content.ravel())
        return value

    # ---- steps ------------------------------------------------------------------

    def node(
        self,
        operator: str,
        *operands: Any,
        dtype: np.dtype[Any] | None = None,
        n_outputs: int = 1,
        **attributes: Any,
    ) -> Value:
        """Expressions; see :meth:`Graph.node`."""
        if operator not in _OPERATORS:
            raise ValueError(f"export_sql knows no way to write {operator}")
        own = next(each.dtype for each in operands if isinstance(each, Value))
        cells = [
            each.content if isinstance(each, Value) else np.asarray(each)
            for each in operands
        ]
        found = _OPERATORS[operator](self.pool, *cells, **attributes)
        return Value(self, found, own if dtype is None else dtype)

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """Truth values become numbers; numbers are all alike."""
        cells = value.content
        if value.dtype == TRUTH and dtype != TRUTH:
            one = lambda cell: self.pool.choice([(cell, 1.0)], 0.0)  # noqa: E731
            cells = _each(one, cells)
        return Value(self, cells, dtype)

    def cells_of(self, questions: Questions, rows: Value) -> Value:
        """Trees as choices within choices."""
        if (count := questions.n_cells) > self.most_cells:
            raise ValueError(
                f"export_sql: {count:,} cells of trees, at most {self.most_cells:,} "
                "are worth a query: fit with feature_map='landmarks', or raise "
                "max_cells"
            )
        values = rows.content[0]

        def below(number: int) -> Operand:
            if number >= len(questions.asked):
                return float(number - len(questions.asked))
            edge = questions.asked[number]
            beyond = self.pool.compare(
                ">", values[questions.columns[edge]], float(questions.edges[edge])
            )
            left, right = questions.following[2 * number : 2 * number + 2]
            return self.pool.choice([(beyond, below(int(right)))], below(int(left)))

        return Value(
            self, _array([[below(int(root)) for root in questions.roots]]), DOUBLE
        )


def _array(nested: Any) -> Cells:
    return np.array(nested, dtype=object)


def _each(function: Callable[..., Operand], *cells: Cells) -> Cells:
    """A function of single cells, done with all of arrays that fit each other."""
    found = np.frompyfunc(function, len(cells), 1)(*cells)
    return _array(found) if np.ndim(found) == 0 else np.asarray(found)


# ---- operators, under the names of ONNX ----------------------------------------------

_OPERATORS: dict[str, Callable[..., Cells]] = {}


def _operator(name: str) -> Callable[[Callable[..., Cells]], Callable[..., Cells]]:
    def keep(function: Callable[..., Cells]) -> Callable[..., Cells]:
        _OPERATORS[name] = function
        return function

    return keep


def _by_cell(name: str, method: Callable[..., Operand]) -> None:
    """An operator that works on every cell by itself."""
    _OPERATORS[name] = lambda pool, *cells: _each(
        lambda *single: method(pool, *single), *cells
    )


_by_cell("Add", lambda pool, a, b: pool.sum([a, b]))
_by_cell("Sub", lambda pool, a, b: pool.sum([a, pool.product(b, -1.0)]))
_by_cell("Mul", Pool.product)
_by_cell("Div", Pool.ratio)
_by_cell("Max", lambda pool, a, b: pool.extreme("greatest", [a, b]))
_by_cell("Min", lambda pool, a, b: pool.extreme("least", [a, b]))
_by_cell("And", Pool.every)
_by_cell("Or", Pool.either)
_by_cell("Not", Pool.negation)
_by_cell("Where", lambda pool, condition, a, b: pool.choice([(condition, a)], b))
for _sign, _name in {
    "<": "Less",
    ">": "Greater",
    "<=": "LessOrEqual",
    ">=": "GreaterOrEqual",
    "=": "Equal",
}.items():
    _by_cell(_name, lambda pool, a, b, sign=_sign: pool.compare(sign, a, b))
for _function, _name in {
    "abs": "Abs",
    "cos": "Cos",
    "exp": "Exp",
    "log": "Log",
    "round": "Round",
    "sign": "Sign",
    "sqrt": "Sqrt",
}.items():
    _by_cell(_name, lambda pool, a, name=_function: pool.function(name, a))
_by_cell("IsNaN", lambda pool, a: pool.make("missing", a))


@_operator("MatMul")
def _product(pool: Pool, left: Cells, right: Cells) -> Cells:
    rows = left.reshape(-1, left.shape[-1])
    found = [
        [
            pool.sum([pool.product(a, b) for a, b in zip(row, column, strict=True)])
            for column in right.T
        ]
        for row in rows
    ]
    return _array(found).reshape(*left.shape[:-1], right.shape[-1])


def _reduced(cells: Cells, axes: Cells, keepdims: int, join: Any) -> Cells:
    """Cells joined over axes."""
    over = tuple(int(axis) % cells.ndim for axis in axes)
    rest = [axis for axis in range(cells.ndim) if axis not in over]
    moved = cells.transpose(*rest, *over)
    shape = moved.shape[: len(rest)]
    flat = moved.reshape(int(np.prod(shape)), -1)
    found = np.empty(len(flat), object)
    found[:] = [join(list(line)) for line in flat]
    kept = [1 if axis in over else n for axis, n in enumerate(cells.shape)]
    return found.reshape(kept if keepdims else shape)


@_operator("ReduceSum")
def _sum(pool: Pool, cells: Cells, axes: Cells, keepdims: int) -> Cells:
    return _reduced(cells, axes, keepdims, pool.sum)


@_operator("ReduceSumSquare")
def _squares(pool: Pool, cells: Cells, axes: Cells, keepdims: int) -> Cells:
    return _reduced(
        cells,
        axes,
        keepdims,
        lambda line: pool.sum([pool.product(each, each) for each in line]),
    )


@_operator("ReduceMax")
def _largest(pool: Pool, cells: Cells, axes: Cells, keepdims: int) -> Cells:
    if cells.dtype != object and cells.dtype != bool:
        return cells.max(axis=tuple(axes), keepdims=bool(keepdims))
    return _reduced(cells, axes, keepdims, lambda line: pool.extreme("greatest", line))


@_operator("CumSum")
def _running(pool: Pool, cells: Cells, axis: Cells) -> Cells:
    lines = np.moveaxis(cells.astype(object), int(axis), -1)
    found = lines.copy()
    for k in range(1, lines.shape[-1]):
        found[..., k] = _each(
            lambda a, b: pool.sum([a, b]), found[..., k - 1], lines[..., k]
        )
    return np.moveaxis(found, -1, int(axis))


@_operator("Reshape")
def _reshaped(pool: Pool, cells: Cells, sizes: Cells) -> Cells:
    shape = [cells.shape[k] if n == 0 else int(n) for k, n in enumerate(sizes)]
    return cells.reshape(shape)


@_operator("Unsqueeze")
def _unsqueezed(pool: Pool, cells: Cells, axes: Cells) -> Cells:
    return np.expand_dims(cells, tuple(int(axis) for axis in axes))


@_operator("Concat")
def _joined(pool: Pool, *cells: Cells, axis: int) -> Cells:
    return np.concatenate([each.astype(object) for each in cells], axis=axis)


@_operator("Gather")
def _gathered(pool: Pool, table: Cells, places: Cells, axis: int) -> Cells:
    if places.dtype != object:
        return np.take(table, places, axis=axis)
    moved = np.moveaxis(table, axis, 0)
    flat = moved.reshape(len(moved), -1)
    found = [
        [pool.picked(place, flat[:, k].tolist()) for k in range(flat.shape[1])]
        for place in places.ravel()
    ]
    return _array(found).reshape(places.shape + moved.shape[1:])


@_operator("GatherElements")
def _gathered_each(pool: Pool, cells: Cells, places: Cells, axis: int) -> Cells:
    if axis != 1 or cells.ndim != 2:
        raise ValueError("export_sql: elements are gathered along columns")
    found = [[pool.picked(place, list(cells[0])) for place in places[0]]]
    return _array(found)


@_operator("ArgMax")
def _place_of_largest(pool: Pool, cells: Cells, axis: int, keepdims: int) -> Cells:
    def place(line: list[Operand]) -> Operand:
        top = pool.extreme("greatest", line)
        cases = [
            (pool.compare(">=", each, top), float(k)) for k, each in enumerate(line)
        ]
        return pool.choice(cases[:-1], cases[-1][1])

    return _reduced(cells, np.array([axis]), keepdims, place)


@_operator("TopK")
def _sorted(pool: Pool, cells: Cells, count: Cells, axis: int, largest: int) -> Cells:
    """Ascending numbers of each row, by exchanges of neighbours."""
    found = cells.astype(object).copy()
    n = found.shape[axis]
    if largest or int(count[0]) != n or axis != 1:
        raise ValueError("export_sql: only whole rows are put in order")
    for turn in range(n):
        for k in range(turn % 2, n - 1, 2):
            pair = list(found[0, k : k + 2])
            found[0, k] = pool.extreme("least", pair)
            found[0, k + 1] = pool.extreme("greatest", pair)
    return found


@_operator("Pow")
def _powers(pool: Pool, base: Cells, exponents: Cells) -> Cells:
    def power(x: Operand, exponent: float) -> Operand:
        found: Operand = 1.0
        for _ in range(int(exponent)):
            found = pool.product(found, x) if is_expression(found) else x
        return found

    return _each(power, base, exponents)
