"""Summaries of many rows as sums, which add up batch by batch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.values import inside

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreSummary:
    """Mean, minimum and maximum of log-densities.

    Parameters
    ----------
    n_rows, n_zero : int
        Rows, and those of them whose density is zero.
    total : float
        Sum over the other rows.
    minimum, maximum : float
        Of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.array([-1.0, -3.0, -np.inf])
    >>> found = ScoreSummary.of(logs[:1]) + ScoreSummary.of(logs[1:])
    >>> found.mean, found.n_zero, found.minimum
    (-2.0, 1, -inf)
    """

    n_rows: int = 0
    n_zero: int = 0
    total: float = 0.0
    minimum: float = math.inf
    maximum: float = -math.inf

    @classmethod
    def of(cls, log_densities: Floats, floor: float = -math.inf) -> "ScoreSummary":
        """Sum up log-densities (n,); finite ones below the floor count as that."""
        logs = np.asarray(log_densities)
        seen = logs[np.isfinite(logs)]
        return cls(
            len(logs),
            len(logs) - len(seen),
            float(np.maximum(seen, floor).sum()),
            float(logs.min(initial=math.inf)),
            float(logs.max(initial=-math.inf)),
        )

    def __add__(self, other: "ScoreSummary") -> "ScoreSummary":
        return ScoreSummary(
            self.n_rows + other.n_rows,
            self.n_zero + other.n_zero,
            self.total + other.total,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
        )

    @property
    def mean(self) -> float:
        """Mean over the rows whose density is not zero; NaN without any."""
        seen = self.n_rows - self.n_zero
        return self.total / seen if seen else math.nan


@dataclass(frozen=True)
class LabelSummary:
    """How often labels were predicted, and how many of them are right.

    Parameters
    ----------
    counts : dict
        Rows by predicted label, as text.
    n_compared, n_right : int
        Rows whose label is known, and those of them that are predicted rightly.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array(["a", "b", "b"])
    >>> found = LabelSummary.of(labels, np.array(["a", "b", "a"]))
    >>> (found + LabelSummary.of(labels)).counts, found.n_right
    ({'a': 2, 'b': 4}, 2)
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    n_compared: int = 0
    n_right: int = 0

    @classmethod
    def of(
        cls, predicted: NDArray[Any], truth: NDArray[Any] | None = None
    ) -> "LabelSummary":
        """Count labels (n,), and compare them with the truth where it is known."""
        labels, counts = np.unique(predicted.astype(str), return_counts=True)
        known = dict(zip(labels.tolist(), counts.tolist(), strict=True))
        if truth is None:
            return cls(known)
        return cls(known, len(truth), int(same_labels(predicted, truth).sum()))

    def __add__(self, other: "LabelSummary") -> "LabelSummary":
        both = dict(self.counts)
        for label, count in other.counts.items():
            both[label] = both.get(label, 0) + count
        return LabelSummary(
            both, self.n_compared + other.n_compared, self.n_right + other.n_right
        )

    @property
    def accuracy(self) -> float:
        """Fraction of right predictions; NaN where nothing was compared."""
        return self.n_right / self.n_compared if self.n_compared else math.nan


@dataclass(frozen=True)
class ValueSummary:
    """How far predicted values are off, and how many lie in their intervals.

    Parameters
    ----------
    n_compared, n_inside : int
        Rows whose value is known, and those of them whose interval holds it.
    total_error : float
        Sum of the absolute errors.

    Examples
    --------
    >>> import numpy as np
    >>> interval = np.array([[0.0, 2.0], [1.0, 3.0]])
    >>> found = ValueSummary.of(np.array([1.0, 2.0]), interval, np.array([1.5, 3.5]))
    >>> found.absolute_error, found.achieved
    (1.0, 0.5)
    """

    n_compared: int = 0
    n_inside: int = 0
    total_error: float = 0.0

    @classmethod
    def of(cls, predicted: Floats, interval: Floats, truth: Floats) -> "ValueSummary":
        """Compare predictions (n,) and intervals (n, 2) with true values (n,)."""
        error = float(np.abs(predicted - truth).sum())
        return cls(len(truth), int(inside(interval, truth).sum()), error)

    def __add__(self, other: "ValueSummary") -> "ValueSummary":
        return ValueSummary(
            self.n_compared + other.n_compared,
            self.n_inside + other.n_inside,
            self.total_error + other.total_error,
        )

    @property
    def absolute_error(self) -> float:
        """Mean absolute error; NaN where nothing was compared."""
        return self.total_error / self.n_compared if self.n_compared else math.nan

    @property
    def achieved(self) -> float:
        """Fraction of the values inside their intervals; NaN without any."""
        return self.n_inside / self.n_compared if self.n_compared else math.nan


def same_labels(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where labels agree, whatever their types."""
    return np.asarray(left.astype(object) == right.astype(object), dtype=bool)
