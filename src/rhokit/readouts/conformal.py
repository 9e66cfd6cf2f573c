"""Conformal corrections: what predictions missed on rows they did not know."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def calibration_sample(sample: Any) -> Any:
    """The rows that a model keeps to be left out, of which there must be some."""
    if sample is None:
        raise ValueError(
            "The 'calibration' parameter was set after the model had seen its "
            "rows: set it before fit"
        )
    if not len(sample.weight):
        raise ValueError(
            "calibration: all rows that were kept for it have been unlearned; set "
            "calibration=None, or add rows"
        )
    return sample


def tails_of(coverage: float) -> Floats:
    """Levels of the quantiles that an interval lies between, (2,)."""
    return np.array([(1 - coverage) / 2, (1 + coverage) / 2])


def uncrossed(ends: Floats) -> Floats:
    """Ends (n, 2) of intervals; one narrowed by more than its width is a point."""
    crossed = (ends[:, 0] > ends[:, 1])[:, None]
    return np.asarray(np.where(crossed, ends.mean(axis=1, keepdims=True), ends))


def sorted_by_level(values: Floats, levels: Floats) -> Floats:
    """Values (n, q) that do not fall as their levels (q,) rise."""
    order = np.argsort(levels, kind="stable")
    ordered = np.empty_like(values)
    ordered[:, order] = np.sort(values, axis=1)
    return ordered


def interval_offsets(
    ends: Floats, truth: Floats, weight: Floats, coverage: float
) -> Floats:
    """By how much both ends (n, 2) of intervals must move, (2,).

    ``truth`` (n,) is what they were to hold.
    """
    missed = np.maximum(ends[:, 0] - truth, truth - ends[:, 1])
    offset = offset_for_coverage(missed, weight, coverage)
    return np.array([-offset, offset])


def quantile_offsets(
    values: Floats, truth: Floats, weight: Floats, levels: Floats
) -> Floats:
    """By how much quantiles (n, q) of given levels (q,) must move, (q,)."""
    errors = truth[:, None] - values
    return np.array(
        [
            offset_for_level(error, weight, level)
            for error, level in zip(errors.T, levels, strict=True)
        ]
    )


def offset_for_coverage(missed: Floats, weight: Floats, coverage: float) -> float:
    """By how much intervals must grow to hold a share of the rows.

    Parameters
    ----------
    missed : array of shape (n,)
        How far each row lies outside its interval; negative inside.
    weight : array of shape (n,)
    coverage : float

    Notes
    -----
    The row to come counts as one more, missed by as much as the worst one. This is
    what makes the coverage hold for any number n of rows, up to ``n / (n + 1)``.
    """
    return _upper_quantile(missed, weight, coverage)


def offset_for_level(error: Floats, weight: Floats, level: float) -> float:
    """By how much a quantile must move so that a share of the rows lies below it.

    Parameters
    ----------
    error : array of shape (n,)
        Truth less prediction.
    weight : array of shape (n,)
    level : float
    """
    if level >= 0.5:
        return _upper_quantile(error, weight, level)
    return -_upper_quantile(-error, weight, 1 - level)


def _upper_quantile(values: Floats, weight: Floats, level: float) -> float:
    """The smallest value that a share of all rows, and the one to come, stay below."""
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    unit = reached[-1] / len(values)
    place = np.searchsorted(reached, level * (reached[-1] + unit) * (1 - 1e-12))
    return float(values[order[min(place, len(values) - 1)]])
