"""Which rows are held out to judge a training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import row_keys

# Fewer rows held out say too little to be worth their loss.
_FEWEST_JUDGES = 20


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


def split_batch(
    batch: Batch, groups: NDArray[Any], fraction: float, early_stopping: Any
) -> tuple[Batch, Batch | None]:
    """Rows to train on and rows to judge by.

    Parameters
    ----------
    batch : Batch
    groups : array of shape (n,)
        Each is split alike.
    fraction : float
        Share of the rows to judge by.
    early_stopping : True or "auto"
        ``"auto"`` holds none out where there would be too few.
    """
    held = chosen_judges(batch.rows, groups, fraction)
    n_judges = len(np.unique(row_keys(batch.rows[held])))
    if early_stopping == "auto" and n_judges < _FEWEST_JUDGES:
        return batch, None
    if not n_judges:
        raise ValueError(
            "early_stopping needs rows to judge by, but validation_fraction="
            f"{fraction} of n_samples={len(batch)} is none: raise "
            "it, give validation_data to fit, or set early_stopping=False"
        )
    return batch.take(~held), batch.take(held)
