"""Predicted labels, how often they are right, and what they are taken for."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.checks import check_target
from rhokit.inspection.reliability import ReliabilityCurve, reliability
from rhokit.inspection.subjects import kind_of, one_pass, require_method, snapshot
from rhokit.inspection.summaries import LabelSummary, same_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each true label (row) was predicted as each label (column).

    Parameters
    ----------
    truths, predicted : tuples of str
    counts : array of shape (truths, predicted)
    """

    truths: tuple[str, ...]
    predicted: tuple[str, ...]
    counts: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PredictedLabels:
    """Answers of a classifier to rows.

    Parameters
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (n, K)
    predicted : array of shape (n,)
    truth : array of shape (n,), optional
        True labels; without them nothing is known of right and wrong.
    rejected : array of shape (n,), bool, optional
        Rows without an answer; None if the model rejects nothing.
    ordered : bool, default=False
        Whether the labels have an order.
    """

    classes: NDArray[Any]
    probabilities: Floats
    predicted: NDArray[Any]
    truth: NDArray[Any] | None = None
    rejected: NDArray[np.bool_] | None = None
    ordered: bool = False

    @cached_property
    def summary(self) -> LabelSummary:
        """How often each label was predicted, and how many are right."""
        return LabelSummary.of(self.predicted, self.truth)

    @cached_property
    def confidence(self) -> Floats:
        """Probability of the likeliest class, shape (n,)."""
        return np.asarray(self.probabilities.max(axis=1))

    @cached_property
    def right(self) -> NDArray[np.bool_] | None:
        """Which rows are predicted rightly, shape (n,)."""
        return None if self.truth is None else same_labels(self.predicted, self.truth)

    @property
    def accuracy(self) -> float | None:
        """Fraction of right predictions."""
        return None if self.truth is None else self.summary.accuracy

    @property
    def baseline(self) -> float | None:
        """Fraction of the commonest label."""
        if self.truth is None:
            return None
        _, counts = np.unique(self.truth.astype(str), return_counts=True)
        return float(counts.max() / len(self.truth))

    @property
    def rejected_fraction(self) -> float | None:
        """Fraction of the rows without an answer."""
        return None if self.rejected is None else float(self.rejected.mean())

    @property
    def accuracy_of_answered(self) -> float | None:
        """Fraction of right predictions among rows that have an answer."""
        if self.rejected is None or self.right is None:
            return None
        answered = self.right[~self.rejected]
        return float(answered.mean()) if len(answered) else math.nan

    @cached_property
    def rank_error(self) -> float | None:
        """Mean absolute error in ranks, of labels that have an order."""
        if self.truth is None or not self.ordered:
            return None
        ranks = {label: rank for rank, label in enumerate(self.classes.tolist())}
        pairs = zip(self.predicted.tolist(), self.truth.tolist(), strict=True)
        known = [abs(ranks[a] - ranks[b]) for a, b in pairs if b in ranks]
        return float(np.mean(known)) if known else math.nan

    @cached_property
    def reliability(self) -> ReliabilityCurve | None:
        """Confidence against the fraction of likeliest classes that are right."""
        if self.truth is None:
            return None
        likeliest = self.classes[self.probabilities.argmax(axis=1)]
        return reliability(self.confidence, same_labels(likeliest, self.truth))

    @cached_property
    def confusion(self) -> Confusion | None:
        """Predicted labels by true label."""
        if self.truth is None:
            return None
        return confusion(self.classes, self.predicted, self.truth)

    @cached_property
    def wrong(self) -> NDArray[np.intp] | None:
        """Places of wrong answers, those of the highest confidence first."""
        if self.right is None:
            return None
        wrong = ~self.right if self.rejected is None else ~self.right & ~self.rejected
        places = np.flatnonzero(wrong)
        return places[np.argsort(-self.confidence[places], kind="stable")]


def predict_labels(estimator: Any, X: Any, y: Any = None) -> PredictedLabels:
    """Predict rows, to be compared with their labels if these are known.

    Parameters
    ----------
    estimator : fitted classifier of rhokit, one-pass or trained
    X : array-like of shape (n, d)
    y : array-like of shape (n,), optional

    Examples
    --------
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifier(random_state=0).fit(X[:400], y[:400])
    >>> found = predict_labels(model, X[400:], y[400:])
    >>> found.accuracy, found.confusion.counts.trace()
    (1.0, np.int64(200))
    """
    require_method(estimator, "predict_proba", "a classifier with probabilities")
    estimator = snapshot(estimator)
    probabilities = np.asarray(estimator.predict_proba(X))
    predicted = np.asarray(estimator.predict(X))
    truth = None if y is None else check_target(y, len(predicted))
    if truth is not None and truth.shape != predicted.shape:
        raise ValueError(f"y must have shape {predicted.shape}, got {truth.shape}")
    return PredictedLabels(
        np.asarray(estimator.classes_),
        probabilities,
        predicted,
        truth,
        _rejected(estimator, predicted),
        kind_of(estimator) == "ordered",
    )


def confusion(
    classes: NDArray[Any], predicted: NDArray[Any], truth: NDArray[Any]
) -> Confusion:
    """Count predictions by true label, the classes first and strangers after them.

    Examples
    --------
    >>> import numpy as np
    >>> found = confusion(np.array([0, 1]), np.array([0, 1, 1]), np.array([0, 1, 7]))
    >>> found.truths, found.counts.tolist()
    (('0', '1', '7'), [[1, 0], [0, 1], [0, 1]])
    """
    known = classes.tolist()

    def with_strangers(seen: list[Any]) -> dict[Any, int]:
        strangers = sorted(set(seen) - set(known), key=str)
        return {label: place for place, label in enumerate(known + strangers)}

    rows, columns = (with_strangers(part.tolist()) for part in (truth, predicted))
    counts = np.zeros((len(rows), len(columns)), dtype=np.intp)
    for label, answer in zip(truth.tolist(), predicted.tolist(), strict=True):
        counts[rows[label], columns[answer]] += 1
    return Confusion(tuple(map(str, rows)), tuple(map(str, columns)), counts)


def _rejected(estimator: Any, predicted: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which rows were rejected; None if the model rejects nothing."""
    inner = one_pass(estimator)
    if getattr(inner, "threshold_", None) is None:
        return None
    label = np.full(len(predicted), inner.reject_label, dtype=object)
    return same_labels(predicted, label)
