"""How far predicted values are off, and whether intervals hold what they promise."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.report.rows import Rows

NOMINAL = (0.5, 0.8, 0.9, 0.95)
_MAIN = 0.9


@dataclass(frozen=True, eq=False)
class ValueQuality:
    """Predicted values of one target, with intervals.

    Parameters
    ----------
    name : str
    predicted : array of shape (n,)
    interval : array of shape (n, 2)
        That should hold ``main`` of the values.
    nominal, widths : tuples of float
        Coverages asked for, and the mean width of their intervals.
    truth : array of shape (n,), or None
        Without it, what follows is None.
    achieved : tuple of float
        Shares of the values inside.
    absolute_error, r2, baseline : float
        ``baseline`` is the mean absolute error of the median of these very values.
    """

    name: str
    predicted: np.ndarray
    interval: np.ndarray
    nominal: tuple[float, ...]
    widths: tuple[float, ...]
    main: float = _MAIN
    truth: np.ndarray | None = None
    achieved: tuple[float, ...] | None = None
    absolute_error: float | None = None
    r2: float | None = None
    baseline: float | None = None


def judge_values(model: Any, rows: Rows) -> tuple[ValueQuality, ...]:
    """Predict rows, and compare with their values where these are known."""
    n = len(rows)
    predicted = model.predict(rows.X).reshape(n, -1)  # (n, t)
    together = model.predict_interval(rows.X, coverage=NOMINAL)
    together = together.reshape(n, -1, len(NOMINAL), 2)  # (n, t, c, 2)
    intervals = {share: together[:, :, c] for c, share in enumerate(NOMINAL)}
    truth = None if rows.y is None else _values(rows.y, predicted.shape)
    return tuple(
        _judge_target(
            "the value" if predicted.shape[1] == 1 else f"target {place}",
            predicted[:, place],
            {share: interval[:, place] for share, interval in intervals.items()},
            None if truth is None else truth[:, place],
        )
        for place in range(predicted.shape[1])
    )


def _values(y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        truth = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers for a model of values: {error}") from error
    if truth.size != shape[0] * shape[1]:
        raise ValueError(f"y must have {shape[1]} targets, got shape {y.shape}")
    return truth.reshape(shape)


def _judge_target(
    name: str,
    predicted: np.ndarray,
    intervals: dict[float, np.ndarray],
    truth: np.ndarray | None,
) -> ValueQuality:
    widths = tuple(
        float(np.mean(each[:, 1] - each[:, 0])) for each in intervals.values()
    )
    known = ValueQuality(name, predicted, intervals[_MAIN], tuple(intervals), widths)
    if truth is None:
        return known
    inside = (
        np.mean((low <= truth) & (truth <= high))
        for low, high in (each.T for each in intervals.values())
    )
    return ValueQuality(
        name,
        predicted,
        intervals[_MAIN],
        tuple(intervals),
        widths,
        truth=truth,
        achieved=tuple(float(share) for share in inside),
        absolute_error=float(np.mean(np.abs(truth - predicted))),
        r2=_r2(truth, predicted),
        baseline=float(np.mean(np.abs(truth - np.median(truth)))),
    )


def _r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return 1 - float(np.sum((truth - predicted) ** 2)) / spread if spread else math.nan
