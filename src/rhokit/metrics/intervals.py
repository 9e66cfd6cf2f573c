"""Whether predicted intervals hold what they should, and how wide they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.inspection.values import inside
from rhokit.metrics.checks import (
    Floats,
    check_intervals,
    check_numbers,
    mean_over_rows,
)
from rhokit.validation import check_count, check_weights


@dataclass(frozen=True, eq=False)
class CoverageByWidth:
    """Coverage of the narrowest intervals, of the next ones, and so on.

    Parameters
    ----------
    width : array of shape (b,)
        Mean width of the intervals of each bin.
    coverage : array of shape (b,)
        Share of the true values inside.
    weight : array of shape (b,)
        Number of rows, or the sum of their weights.
    """

    width: Floats
    coverage: Floats
    weight: Floats


def interval_coverage(
    y_true: Any, y_interval: Any, *, sample_weight: Any = None
) -> float:
    r"""Share of the true values inside their intervals, ends included.

    .. math:: \frac1n \sum_{i=1}^n [l_i \le y_i \le u_i]

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_interval : array-like of shape (n, 2)
        Lower and upper ends, as of :meth:`~rhokit.QMRegressor.predict_interval`.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> from rhokit.metrics import interval_coverage
    >>> interval_coverage([1.0, 2.0, 5.0, 4.0], [[0, 1], [0, 3], [0, 4], [3, 5]])
    0.75
    """
    truth = check_numbers("y_true", y_true, (None,))
    held = inside(check_intervals(y_interval, len(truth)), truth)
    return mean_over_rows(held, sample_weight)


def interval_width(y_interval: Any, *, sample_weight: Any = None) -> float:
    r"""Mean width :math:`\frac1n \sum_i (u_i - l_i)` of intervals.

    Parameters
    ----------
    y_interval : array-like of shape (n, 2)
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> from rhokit.metrics import interval_width
    >>> interval_width([[0, 1], [0, 3]])
    2.0
    """
    low, high = check_intervals(y_interval).T
    return mean_over_rows(high - low, sample_weight)


def coverage_by_width(
    y_true: Any, y_interval: Any, *, n_bins: int = 5, sample_weight: Any = None
) -> CoverageByWidth:
    r"""Coverage among intervals of about the same width.

    Intervals may hold the right share of all rows, and too many of some and too few of
    others. Where the spread of the target changes from row to row, intervals that know
    have the same coverage whether they are narrow or wide,

    .. math:: P(l \le y \le u \mid u - l) = P(l \le y \le u),

    and those that do not have too little of it where they are narrow, or where they
    are wide.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_interval : array-like of shape (n, 2)
    n_bins : int, default=5
        Bins of about as many rows; widths that are equal fall into one bin, so that
        there may be fewer.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    found : CoverageByWidth
        The narrowest first.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.metrics import coverage_by_width
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.1, 2, size=10_000)
    >>> y = spread * rng.normal(size=10_000)
    >>> right, timid = 1.645 * spread, 1.5 + 0.3 * spread
    >>> for half in (right, timid):  # both hold about 90 % of all
    ...     print(coverage_by_width(y, np.outer(half, [-1, 1])).coverage.round(2))
    [0.9  0.9  0.91 0.9  0.9 ]
    [1.   0.99 0.92 0.83 0.76]
    """
    check_count("n_bins", n_bins)
    truth = check_numbers("y_true", y_true, (None,))
    intervals = check_intervals(y_interval, len(truth))
    weights = check_weights(sample_weight, len(truth))
    mass = np.ones(len(truth)) if weights is None else weights
    width, held = intervals[:, 1] - intervals[:, 0], inside(intervals, truth)
    levels = np.arange(1, n_bins) / n_bins
    ends = np.quantile(width, levels, weights=weights, method="inverted_cdf")
    places = np.searchsorted(np.unique(ends), width, side="left")  # (n,)
    total = np.bincount(places, mass).astype(np.float64)
    some = total > 0
    return CoverageByWidth(
        np.bincount(places, mass * width)[some] / total[some],
        np.bincount(places, mass * held)[some] / total[some],
        total[some],
    )
