"""Checks of what estimators are compared with."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_target(y: Any, n_rows: int | None) -> NDArray[Any]:
    """The target as an array, refused where there is none, or not one per row."""
    if y is None:
        raise ValueError("y must be given: the labels or values of the rows, got None")
    target = np.asarray(y)
    if not target.ndim or (n_rows is not None and len(target) != n_rows):
        raise ValueError(
            f"y must have one entry per row of X, {n_rows}, got shape {target.shape}"
        )
    return target


def check_fraction(name: str, value: Any) -> float:
    """A number between 0 and 1, both excluded."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")
    return float(value)
