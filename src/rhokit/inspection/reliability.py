"""Whether probabilities, and intervals, hold what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from rhokit.inspection.checks import check_fraction, check_target
from rhokit.inspection.subjects import require_method, snapshot
from rhokit.inspection.values import predict_values, select_target
from rhokit.validation import check_count

Floats = NDArray[np.float64]
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Coverages of intervals that are tried without others."""
# A normal variable stays within so many deviations with 95 %.
_TWO_SIDED = 1.959964


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Predicted probabilities, and how often they came true.

    Parameters
    ----------
    predicted : array of shape (b,)
        Mean predicted probability of each bin, or nominal coverage of intervals.
    observed : array of shape (b,)
        Fraction of the rows for which it came true.
    counts : array of shape (b,)
        Rows that this is the fraction of.
    name : str, optional
        Of a class.
    """

    predicted: Floats
    observed: Floats
    counts: NDArray[np.intp]
    name: str | None = None

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance, weighted by counts."""
        gaps = np.abs(self.predicted - self.observed)
        return float(np.average(gaps, weights=self.counts))

    def confidence_interval(self) -> Floats:
        """Wilson's intervals of 95 % for the observed fractions, shape (2, b)."""
        n, z = self.counts, _TWO_SIDED
        middle = (self.observed + z**2 / (2 * n)) / (1 + z**2 / n)
        root = np.sqrt(self.observed * (1 - self.observed) / n + z**2 / (4 * n**2))
        half = z * root / (1 + z**2 / n)
        return np.stack([middle - half, middle + half])


def reliability(
    probabilities: Floats,
    came_true: NDArray[Any],
    *,
    n_bins: int = 10,
    name: str | None = None,
) -> ReliabilityCurve:
    """Rows in bins of equal width by a probability, without empty bins.

    Parameters
    ----------
    probabilities : array of shape (n,)
    came_true : array of shape (n,), bool
    n_bins : int, default=10
    name : str, optional
        Of a class.

    Returns
    -------
    curve : ReliabilityCurve

    Examples
    --------
    >>> import numpy as np
    >>> curve = reliability(np.array([0.62, 0.68, 1.0]), np.array([True, False, True]))
    >>> curve.counts, curve.predicted, curve.observed
    (array([2, 1]), array([0.65, 1.  ]), array([0.5, 1. ]))
    """
    check_count("n_bins", n_bins)
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    seen = counts > 0
    predicted, observed = (
        np.bincount(bins, weights=each, minlength=n_bins)[seen] / counts[seen]
        for each in (probabilities, came_true.astype(float))
    )
    return ReliabilityCurve(predicted, observed, counts[seen], name)


def class_reliability(
    estimator: Any, X: Any, y: Any, *, classes: Any = "top", n_bins: int = 10
) -> list[ReliabilityCurve]:
    """Probabilities of a classifier against the fractions that came true.

    Parameters
    ----------
    estimator : fitted classifier with ``predict_proba``, of any library
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        True labels.
    classes : {"top", "each"} or list of labels, default="top"
        The likeliest class of each row, or one curve for each of these classes.
    n_bins : int, default=10

    Returns
    -------
    curves : list of ReliabilityCurve

    Examples
    --------
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifier(random_state=0).fit(X[:400], y[:400])
    >>> (curve,) = class_reliability(model, X[400:], y[400:])
    >>> int(curve.counts.sum()), curve.error < 0.1
    (200, True)
    """
    what = "a classifier with probabilities, or a regressor with intervals"
    require_method(estimator, "predict_proba", what)
    estimator = snapshot(estimator)
    probabilities = np.asarray(estimator.predict_proba(X), dtype=float)
    truth = column_or_1d(check_target(y, len(probabilities)))
    if isinstance(classes, str) and classes == "top":
        right = estimator.classes_[probabilities.argmax(axis=1)] == truth
        return [reliability(probabilities.max(axis=1), right, n_bins=n_bins)]
    known = list(estimator.classes_)
    return [
        reliability(
            probabilities[:, known.index(label)],
            truth == label,
            n_bins=n_bins,
            name=str(label),
        )
        for label in _wanted(classes, known)
    ]


def interval_reliability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    levels: Sequence[float] = LEVELS,
    target: int | None = None,
) -> ReliabilityCurve:
    """Coverage that intervals were to have against the one they had.

    Parameters
    ----------
    estimator : fitted regressor with ``predict_interval``
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or (n, t)
        True values.
    levels : sequence of float in (0, 1)
        Coverages to try.
    target : int, optional
        Which of several targets.

    Returns
    -------
    curve : ReliabilityCurve

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=600)
    >>> model = QMRegressor(n_components=64, random_state=0).fit(X[:400], y[:400])
    >>> interval_reliability(model, X[400:], y[400:], levels=[0.9]).observed > 0.8
    array([ True])
    """
    wanted = sorted({check_fraction("levels", each) for each in np.ravel(levels)})
    truth = check_target(y, None)
    values = predict_values(estimator, X, truth, coverage=wanted)
    found = select_target(values, target)
    counts = np.full(len(wanted), len(truth))
    return ReliabilityCurve(np.array(wanted), np.asarray(found.achieved), counts)


def _wanted(classes: Any, known: list[Any]) -> list[Any]:
    """Labels that are to have a curve each."""
    if isinstance(classes, str) and classes == "each":
        return known
    listed = np.iterable(classes) and not isinstance(classes, str)
    wanted = list(classes) if listed else []
    if not wanted:
        raise ValueError(
            f'classes must be "top", "each" or a list of labels, got {classes!r}'
        )
    unknown = [label for label in wanted if label not in known]
    if unknown:
        raise ValueError(f"classes must be among {known}, got {unknown[0]!r}")
    return wanted
