"""Which rows are held out to judge a training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features import row_keys


def unpacked(validation_data: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of the rows that a caller gives to judge by."""
    is_one = not isinstance(validation_data, tuple | list)
    parts = (validation_data,) if is_one else tuple(validation_data)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            "validation_data must be a tuple (X, y) or (X, y, sample_weight), got "
            f"{len(parts)} entries"
        )
    X, y, weight = (*parts, None, None)[:3]
    return X, y, weight


def chosen_judges(
    rows: NDArray[Any], groups: NDArray[Any], fraction: float
) -> NDArray[np.bool_]:
    """Which rows (n, d) to judge by: of every group about this fraction.

    It follows from a hash of the rows: copies of a row stay on one side, and the order
    of the rows does not matter.
    """
    keys = row_keys(rows, np.zeros(len(rows)))
    held = np.zeros(len(rows), bool)
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        distinct = np.unique(keys[own])
        held[own] = np.isin(keys[own], distinct[: int(fraction * len(distinct))])
    return held
