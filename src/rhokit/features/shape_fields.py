"""What files hold of the shapes of columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.bends import LOG
from rhokit.features.ends import ColumnEnds
from rhokit.features.reading import Reading
from rhokit.features.shapes import ColumnShapes
from rhokit.records import ArrayField, Fields, Values, require

# Rows of the tensor that says how values are read.
_READING = ("anchor", "step", "low_cell", "high_cell", "low_turn", "high_turn")

SHAPE_FIELDS: Fields = {
    "kinds": ArrayField(("b",), dtypes=("int64",), low=0),
    "bends": ArrayField((5, "b")),
    # The upper ones mirrored, since what has no end is minus infinity.
    "ends": ArrayField((2, "b"), minus_infinity=True),
    "reading": ArrayField((len(_READING), "b")),
    "knots": ArrayField((3, "knots", "b")),
}


def shape_arrays(
    shapes: ColumnShapes, ends: list[ColumnEnds]
) -> dict[str, NDArray[Any]]:
    """The tensors of these fields."""
    bends, own, knots = shapes.arrays()
    return {
        "kinds": shapes.kind,
        "bends": bends,
        "ends": own,
        "reading": _reading(ends),
        "knots": knots,
    }


def reading_of(ends: list[ColumnEnds]) -> Reading:
    """How values of columns with these ends are read."""
    sides = np.array([[each.low, -each.high] for each in ends]).reshape(-1, 2).T
    return Reading.of(_reading(ends), sides)


def _reading(ends: list[ColumnEnds]) -> NDArray[np.float64]:
    reading = [[getattr(each, name) for each in ends] for name in _READING]
    return np.array(reading, dtype=np.float64).reshape(len(_READING), -1)


def check_shapes(fitted: Values) -> None:
    """Columns must have an inside, and splines must ascend."""
    require((fitted["kinds"] <= 2).all(), "kinds must be 0, 1 or 2")
    sizes = fitted["bends"][[1, 2, 4]]
    require((sizes > 0).all(), "units and widths must be positive")
    low, high = fitted["ends"][0], -fitted["ends"][1]
    reading = fitted["reading"]
    require((reading[1:] >= 0).all(), "reading must not be negative")
    within = np.maximum(reading[2:4].sum(axis=0), reading[4:].sum(axis=0))
    room = np.where(np.isinf(high) | np.isinf(low), np.inf, high - low)
    is_room = (within < room) & (room > 0)
    require(is_room.all(), "columns must end above where they begin")
    is_log = fitted["kinds"] == LOG
    origin = fitted["bends"][0]
    ends = low[is_log] == origin[is_log]
    require(ends.all(), "logarithms must end at their origin")
    knots, values, slopes = fitted["knots"]
    require(len(knots) != 1, "a spline must have two knots or none")
    ascends = all((np.diff(each, axis=0) > 0).all() for each in (knots, values))
    require(ascends and (slopes > 0).all(), "splines must ascend")


__all__ = ["SHAPE_FIELDS", "check_shapes", "reading_of", "shape_arrays"]
