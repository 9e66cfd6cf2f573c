"""Checks of what metrics are given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.validation import check_weights

Floats = NDArray[np.float64]


def check_numbers(name: str, given: Any, shape: tuple[int | None, ...]) -> Floats:
    """Finite numbers of a shape, in which None stands for any length but zero."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    fits = found.ndim == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(found.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("n" if each is None else str(each) for each in shape)
        comma = "," if len(shape) == 1 else ""
        raise ValueError(
            f"{name} must have shape ({wanted}{comma}), got {found.shape}: one row "
            "for each of the others"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return found


def check_intervals(given: Any, n_rows: int | None = None) -> Floats:
    """Intervals (n, 2) whose ends are in order."""
    found = check_numbers("y_interval", given, (n_rows, 2))
    crossed = np.flatnonzero(found[:, 0] > found[:, 1])
    if len(crossed):
        raise ValueError(
            "y_interval must have the lower end first, got "
            f"{found[crossed[0]].tolist()} in row {crossed[0]}"
        )
    return found


def mean_over_rows(values: Any, sample_weight: Any) -> float:
    """Mean of values (n,), weighted if there are weights."""
    weights = check_weights(sample_weight, len(values))
    return float(np.average(values, weights=weights))
