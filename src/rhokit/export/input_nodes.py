"""What a file takes: one input ``X`` of numbers or texts, or one input per column."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.export.graph import DOUBLE, INTEGER, SINGLE, TEXT, TRUTH, Graph, Value
from rhokit.frames import Schema
from rhokit.plans import Plan, Scaling
from rhokit.validation import is_missing


def scaled_rows(graph: Graph, plan: Plan) -> Value:
    """Inputs of the graph as rows in the units of the plan's map."""
    columns, feature_map = plan.columns, plan.feature_map
    if not feature_map.numeric_rows:
        return _unit_vectors(graph, feature_map.atoms() or [], column_names(columns))
    if columns.schema is None:
        rows = graph.input("X", SINGLE, columns.n_features).cast(DOUBLE)
    else:
        rows = _wide_rows(graph, columns.schema)
    return _scaled(plan.scaling, rows, feature_map.dtype_)


def column_names(columns: Columns) -> list[str]:
    """Names of the columns; ``x0``, ``x1`` and so on where they have none."""
    if columns.names is None:
        return [f"x{index}" for index in range(columns.n_features)]
    return [str(name) for name in columns.names]


def _scaled(scaling: Scaling, rows: Value, dtype: np.dtype[Any]) -> Value:
    """``(x - centre) @ matrix``, with the very numbers that the model computes with."""
    if scaling.is_identity:
        return rows
    dtype = scaling.dtype_for(dtype)
    centre, matrix = (
        part.astype(dtype).astype(np.float64)
        for part in (scaling.centre, scaling.matrix)
    )
    for part in centre.reshape(-1, len(matrix)):
        rows = rows - part
    return rows * matrix if matrix.ndim == 1 else rows @ matrix


# ---- columns of categories ---------------------------------------------------------


def _wide_rows(graph: Graph, schema: Schema) -> Value:
    """Numbers, and states of categories, side by side: one input per column."""
    parts = []
    for index, name in enumerate(schema.names):
        known = schema.categories[index]
        if known is None:
            parts.append(graph.input(name, SINGLE, 1).cast(DOUBLE))
            continue
        column = graph.input(name, _type_of(known, name), 1, gaps=True)
        found = _matches(column, known, name).cast(DOUBLE)  # (n, C)
        states = found @ schema.states(index)
        if not schema.is_open(index):
            # What is no category has no state; nobody shall take it for one.
            states = graph.known_where(found.max(1, keep=True) > 0.5, states)
        parts.append(states)  # of what is unseen, zeros
    return graph.concat(parts, axis=1)


def _unit_vectors(
    graph: Graph, categories: Sequence[tuple[Any, ...]], names: Sequence[str]
) -> Value:
    """One-hot vectors (n, C) of rows whose categories are whole rows."""
    columns = list(zip(*categories, strict=True))
    types = [
        _type_of(values, name) for values, name in zip(columns, names, strict=True)
    ]
    kinds = {SINGLE if each != TEXT else TEXT for each in types}
    if len(kinds) == 1:  # one input for all
        rows = graph.input("X", kinds.pop(), len(columns), gaps=True)
        inputs = [rows.column(index) for index in range(len(columns))]
    else:
        inputs = [
            graph.input(name, each, 1, gaps=True)
            for name, each in zip(names, types, strict=True)
        ]
    found = None
    for column, values, name in zip(inputs, columns, names, strict=True):
        match = _matches(column, values, name)
        found = match if found is None else found & match
    assert found is not None
    return found.cast(DOUBLE)


def _type_of(values: Sequence[Any], name: str) -> np.dtype[Any]:
    """Type of the input of a column that holds these values, gaps aside."""
    there = [value for value in values if not is_missing(value)]
    if all(isinstance(value, str) for value in there):
        return TEXT
    if all(isinstance(value, bool | np.bool_) for value in there):
        return TRUTH
    if all(isinstance(value, Integral) for value in there):
        return INTEGER
    if all(isinstance(value, Real) for value in there):
        return SINGLE
    raise ValueError(
        f"export: an input has one type, but the categories of column "
        f"{name!r} are of several, or neither numbers nor text: {list(there)[:8]!r}"
    )


def _matches(column: Value, values: Sequence[Any], name: str) -> Value:
    """Whether each row of a column (n, 1) is each of the values, shape (n, C)."""
    graph = column.graph
    gaps = np.array([is_missing(value) for value in values])
    if column.dtype == TEXT:
        return column.equals(_texts(values, gaps, name)[None])
    numbers = np.array(
        [0 if gap else value for value, gap in zip(values, gaps, strict=True)]
    )
    own = _exact(numbers, column.dtype, name)[None]
    if not gaps.any():
        return column.equals(own)
    empty = graph.node("IsNaN", column, dtype=TRUTH)
    return (column.equals(own) & ~gaps[None]) | (empty & gaps[None])


def _texts(values: Sequence[Any], gaps: NDArray[Any], name: str) -> NDArray[Any]:
    """Texts to compare with; an empty one stands for a gap, which ONNX lacks."""
    texts = np.empty(len(values), object)
    texts[:] = ["" if gap else value for value, gap in zip(values, gaps, strict=True)]
    if gaps.any() and (texts[~gaps] == "").any():
        raise ValueError(
            f"export: column {name!r} has gaps and empty texts among its "
            "categories, and ONNX has the empty text for both"
        )
    return texts


def _exact(numbers: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Numbers in the type of an input, refused where different ones become equal."""
    narrow = numbers.astype(dtype)
    if len(np.unique(narrow)) < len(np.unique(numbers)):
        raise ValueError(
            f"export: column {name!r} has categories that single precision, which "
            "ONNX inputs have, cannot tell apart: number them from zero"
        )
    return narrow
