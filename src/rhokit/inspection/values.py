"""Predicted values with intervals, and how far they are off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.checks import check_fraction, check_target
from rhokit.inspection.subjects import require_method, snapshot
from rhokit.plans.spread import power_of_two

Floats = NDArray[np.float64]
NOMINAL = (0.5, 0.8, 0.9, 0.95)
"""Coverages of intervals that are predicted without others."""


THE_VALUE = "the value"
"""The name of a target that has none."""


@dataclass(frozen=True, eq=False)
class PredictedValues:
    """Predicted values of one target, with intervals of several coverages.

    Parameters
    ----------
    predicted : array of shape (n,)
    intervals : array of shape (n, c, 2)
    nominal : tuple of float, of length c
        Coverages that the intervals are to have.
    truth : array of shape (n,), optional
        True values; without them nothing is known of errors.
    name : str
    """

    predicted: Floats
    intervals: Floats
    nominal: tuple[float, ...]
    truth: Floats | None = None
    name: str = THE_VALUE

    def interval(self, coverage: float) -> Floats:
        """The intervals of one of the coverages, shape (n, 2)."""
        return self.intervals[:, self.nominal.index(coverage)]

    @property
    def widths(self) -> tuple[float, ...]:
        """Mean widths of the intervals, by coverage."""
        low, high = np.moveaxis(self.intervals, -1, 0)
        return tuple((high - low).mean(axis=0).tolist())

    @property
    def achieved(self) -> tuple[float, ...] | None:
        """Fractions of the true values inside their intervals, by coverage."""
        if self.truth is None:
            return None
        held = inside(self.intervals, self.truth[:, None])
        return tuple(held.mean(axis=0).tolist())

    @property
    def absolute_error(self) -> float | None:
        """Mean absolute error."""
        if self.truth is None:
            return None
        return float(np.mean(np.abs(self.truth - self.predicted)))

    @property
    def baseline(self) -> float | None:
        """Mean absolute error of the median of these very values."""
        if self.truth is None:
            return None
        return float(np.mean(np.abs(self.truth - np.median(self.truth))))

    @property
    def r2(self) -> float | None:
        """Fraction of the variance that is explained; NaN where there is none."""
        if self.truth is None:
            return None
        unit = power_of_two(np.abs(self.truth).max())  # whose squares are numbers
        spread = float(np.sum(((self.truth - self.truth.mean()) / unit) ** 2))
        squares = float(np.sum(((self.truth - self.predicted) / unit) ** 2))
        return 1 - squares / spread if spread else math.nan


def inside(intervals: Floats, truth: Floats) -> NDArray[np.bool_]:
    """Which values (...) lie in their intervals (..., 2); ends belong to these.

    Examples
    --------
    >>> import numpy as np
    >>> inside(np.array([[1.0, 3.0], [0.0, 2.0]]), np.array([3.0, 2.1]))
    array([ True, False])
    """
    return np.asarray((intervals[..., 0] <= truth) & (truth <= intervals[..., 1]))


def predict_values(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    coverage: Sequence[float] = NOMINAL,
    names: Sequence[str] | None = None,
) -> tuple[PredictedValues, ...]:
    """Predict rows with intervals, to be compared with true values if there are any.

    Parameters
    ----------
    estimator : fitted regressor with ``predict_interval``, one-pass or trained
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or (n, t), optional
        True values.
    coverage : sequence of float in (0, 1)
        Coverages that intervals are to have.
    names : sequence of str, optional
        Of the targets; those of a frame or series of true values without it.

    Returns
    -------
    values : tuple of PredictedValues
        One per target.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=3000)
    >>> model = QMRegressor(n_components=64, random_state=0).fit(X[:2000], y[:2000])
    >>> (value,) = predict_values(model, X[2000:], y[2000:], coverage=[0.5, 0.9])
    >>> [round(each, 1) for each in value.achieved]
    [0.5, 0.9]
    """
    what = "a regressor with intervals (QMRegressor or QMRegressorSGD)"
    require_method(estimator, "predict_interval", what)
    nominal = tuple(check_fraction("coverage", each) for each in coverage)
    estimator = snapshot(estimator)
    predicted = np.asarray(estimator.predict(X))
    n = len(predicted)
    truth = None if y is None else _true_values(y, predicted.shape)
    predicted = predicted.reshape(n, -1)
    intervals = np.asarray(estimator.predict_interval(X, coverage=nominal))
    intervals = intervals.reshape(n, -1, len(nominal), 2)
    t = predicted.shape[1]
    known = list(names or target_names(y))
    if len(known) != t:
        known = [THE_VALUE] if t == 1 else [f"target {place}" for place in range(t)]
    return tuple(
        PredictedValues(
            predicted[:, place],
            intervals[:, place],
            nominal,
            None if truth is None else truth[:, place],
            known[place],
        )
        for place in range(t)
    )


def target_names(y: Any) -> tuple[str, ...]:
    """Names of the columns of a frame of targets, or that of a series, if it has one.

    Examples
    --------
    >>> import pandas as pd
    >>> target_names(pd.Series([1, 2], name="price")), target_names([1, 2])
    (('price',), ())
    """
    name = getattr(y, "name", None)
    if isinstance(name, str):
        return (name,)
    columns = getattr(y, "columns", None)
    return () if columns is None or callable(columns) else tuple(map(str, columns))


def select_target(
    values: tuple[PredictedValues, ...], target: int | None
) -> PredictedValues:
    """One of several targets, which must be said if there are several."""
    if target is None and len(values) == 1:
        return values[0]
    if target is None or target not in range(len(values)):
        raise ValueError(
            f"target must be one of the model's, from 0 to {len(values) - 1}, "
            f"got {target!r}"
        )
    return values[target]


def _true_values(y: Any, shape: tuple[int, ...]) -> Floats:
    """True values of shape (n, t), compared with the shape of what is predicted."""
    given = check_target(y, shape[0])
    try:
        truth = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers for a model of values: {error}") from error
    t = math.prod(shape[1:])
    if truth.shape != shape and not (t == 1 and truth.size == shape[0]):
        raise ValueError(f"y must have shape {shape}, got {truth.shape}")
    return truth.reshape(shape[0], t)
