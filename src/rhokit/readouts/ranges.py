"""Ranges of targets, which the levels of a regressor stand in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.errors import DataError
from rhokit.records import (
    OUTCOME_COST,
    POSITIVE,
    ArrayField,
    Fields,
    Flag,
    Number,
    Reader,
    Values,
    require,
)

Floats = NDArray[np.float64]

LEVEL_FIELDS: Fields = {
    "one_target": Flag(),
    "low": ArrayField(("t",)),
    "high": ArrayField(("t",)),
    "n_levels": Number(1, integer=True),
    "beta": POSITIVE,
}
"""Fields of levels in a model file."""

# What it costs to make the levels of a target, and to teach them the first rows.
_TARGET_COST = 2**16


def range_of(target: Floats, bounds: Any) -> tuple[Floats, Floats]:
    """Lowest and highest values (t,) of targets (n, t): given ones, or their own."""
    if bounds is None:
        return target.min(axis=0), target.max(axis=0)
    n_targets = target.shape[1]
    try:
        ends = np.asarray(bounds, dtype=float)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.shape == (2,):
        ends = ends[:, None]
    fits = ends.shape in ((2, 1), (2, n_targets))
    if not fits or not (np.isfinite(ends).all() and (ends[0] < ends[1]).all()):
        raise ValueError(
            "The 'bounds' parameter of QMRegressor must be finite numbers of shape "
            f"(2,) or (2, {n_targets}), the lowest values before the highest. "
            f"Got {bounds!r} instead."
        )
    low, high = np.broadcast_to(ends, (2, n_targets))
    return low, high


def refuse_outside(
    target: Floats,
    low: Floats,
    high: Floats,
    weights: Floats | None = None,
    names: list[str] | None = None,
) -> None:
    """Refuse targets (n, t) of a weight above zero outside of their range.

    ``names`` are those of the targets, for the error.
    """
    outside = (target < low) | (target > high)
    if weights is not None:
        outside &= (weights > 0)[:, None]
    if not outside.any():
        return
    row, column = (int(index[0]) for index in np.nonzero(outside))
    count = int(outside.any(axis=1).sum())
    name = f"target {column} of y" if names is None else names[column]
    value = float(target[row, column])
    raise DataError(
        f"{name} is {value}, outside the range [{low[column]}, {high[column]}] that "
        f"this model has levels for ({count} such rows): give bounds=(low, high) that "
        "hold all values to come before the first batch",
        row=row,
        value=value,
    )


def check_levels_of_file(
    learned: Values, reader: Reader, outcomes: int | None = None
) -> None:
    """Refuse levels of a file that do not stand in ranges, or are not the outcomes.

    With ``outcomes``, a target has so many of them beside its levels.
    """
    low, high = learned["low"], learned["high"]
    require((low <= high).all(), "low must not exceed high")
    require(len(low) == 1 or not learned["one_target"], "one target has one range")
    reader.claim(_TARGET_COST * len(low), f"{len(low)} targets")
    count = len(low) * learned["n_levels"]
    reader.claim(OUTCOME_COST * count, f"n_levels, which makes {count} levels,")
    reader.bind("K", count if outcomes is None else outcomes * len(low), "n_levels")


def check_targets_of_file(learned: Values, target: NDArray[Any]) -> None:
    """Refuse targets of a file outside of their range."""
    low, high = learned["low"], learned["high"]
    fits = target.shape[1:] == low.shape and target.dtype == np.float64
    inside = fits and ((target >= low) & (target <= high)).all()
    require(inside, "sample has targets outside of the range")
