"""How often a classifier is right, and whether it is as sure as it should be."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.report.fitted import one_pass
from rhokit.report.rows import Rows

_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Rows whose likeliest class has a probability between two ends."""

    low: float
    high: float
    n_rows: int
    confidence: float
    right: float


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each label (row) was answered with each (column)."""

    truths: tuple[str, ...]
    answers: tuple[str, ...]
    counts: np.ndarray  # (truths, answers)


@dataclass(frozen=True, eq=False)
class ClassQuality:
    """Answers of a classifier.

    Parameters
    ----------
    classes : tuple of str
    answered : tuple of (str, int)
        How often each label was answered.
    confidence : array of shape (n,)
        Probability of the likeliest class.
    accuracy, baseline : float or None
        Share of right answers, and of the commonest label; None without ``y``.
    rejected, accuracy_of_answered : float or None
        Share without an answer, and of right ones among the others; None if the
        model rejects nothing.
    rank_error : float or None
        Mean absolute error in ranks, for labels that have an order.
    calibration_error : float or None
        Expected calibration error over ``bins``.
    bins : tuple of Bin
    confusion : Confusion or None
    wrong : array of int
        Places of wrong answers, those of the highest probability first; rows
        without an answer are not among them.
    """

    classes: tuple[str, ...]
    answered: tuple[tuple[str, int], ...]
    answers: np.ndarray
    confidence: np.ndarray
    accuracy: float | None = None
    baseline: float | None = None
    rejected: float | None = None
    accuracy_of_answered: float | None = None
    rank_error: float | None = None
    calibration_error: float | None = None
    bins: tuple[Bin, ...] = ()
    confusion: Confusion | None = None
    wrong: np.ndarray | None = None


def judge_classes(model: Any, rows: Rows) -> ClassQuality:
    """Answer rows, and compare with their labels where these are known."""
    chances = model.predict_proba(rows.X)
    answers = model.predict(rows.X)
    labels, counts = np.unique(answers.astype(str), return_counts=True)
    known = {
        "classes": tuple(str(label) for label in model.classes_),
        "answered": tuple(zip(labels.tolist(), counts.tolist(), strict=True)),
        "answers": answers,
        "confidence": chances.max(axis=1),
    }
    if rows.y is None:
        return ClassQuality(**known)
    return ClassQuality(**known, **_against_labels(model, chances, answers, rows.y))


def _against_labels(
    model: Any, chances: np.ndarray, answers: np.ndarray, labels: np.ndarray
) -> dict[str, Any]:
    if labels.shape != (len(answers),):
        raise ValueError(f"y must have shape ({len(answers)},), got {labels.shape}")
    classes = model.classes_
    right = _same(answers, labels)
    likeliest = _same(classes[chances.argmax(axis=1)], labels)
    confidence = chances.max(axis=1)
    bins = reliability(confidence, likeliest)
    answered = _answered(model, answers)
    wrong = np.flatnonzero(~right if answered is None else ~right & answered)
    _, counts = np.unique(labels.astype(str), return_counts=True)
    return {
        "accuracy": float(right.mean()),
        "baseline": float(counts.max() / len(labels)),
        **_rejections(answered, right),
        "rank_error": _rank_error(model, answers, labels),
        "calibration_error": calibration_error(bins),
        "bins": bins,
        "confusion": confusion(classes, answers, labels),
        "wrong": wrong[np.argsort(-confidence[wrong], kind="stable")],
    }


def _same(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where labels agree, whatever their types."""
    return np.asarray(left.astype(object) == right.astype(object), dtype=bool)


def _answered(model: Any, answers: np.ndarray) -> np.ndarray | None:
    """Which rows were not rejected; None if the model rejects nothing."""
    if getattr(model, "threshold_", None) is None:
        return None
    rejected = np.full(len(answers), model.reject_label, dtype=object)
    return ~_same(answers, rejected)


def _rejections(
    answered: np.ndarray | None, right: np.ndarray
) -> dict[str, float | None]:
    if answered is None:
        return {"rejected": None, "accuracy_of_answered": None}
    share = float(right[answered].mean()) if answered.any() else math.nan
    return {"rejected": float((~answered).mean()), "accuracy_of_answered": share}


def _rank_error(model: Any, answers: np.ndarray, labels: np.ndarray) -> float | None:
    if not hasattr(one_pass(model), "decision_"):
        return None
    ranks = {label: rank for rank, label in enumerate(model.classes_.tolist())}
    pairs = [
        (ranks[a], ranks.get(b))
        for a, b in zip(answers.tolist(), labels.tolist(), strict=True)
    ]
    known = [abs(a - b) for a, b in pairs if b is not None]
    return float(np.mean(known)) if known else math.nan


def reliability(
    confidence: np.ndarray, right: np.ndarray, n_bins: int = _BINS
) -> tuple[Bin, ...]:
    """Rows in bins of equal width by their confidence, without empty bins.

    Examples
    --------
    >>> import numpy as np
    >>> bins = reliability(np.array([0.62, 0.68, 1.0]), np.array([True, False, True]))
    >>> [(b.n_rows, round(b.confidence, 2), b.right) for b in bins]
    [(2, 0.65, 0.5), (1, 1.0, 1.0)]
    """
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return tuple(
        Bin(
            k / n_bins,
            (k + 1) / n_bins,
            int((place == k).sum()),
            float(confidence[place == k].mean()),
            float(right[place == k].mean()),
        )
        for k in np.unique(place).tolist()
    )


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance of confidence and share of right answers, weighted by rows."""
    n_rows = sum(each.n_rows for each in bins)
    gaps = (each.n_rows * abs(each.confidence - each.right) for each in bins)
    return sum(gaps) / n_rows


def confusion(
    classes: np.ndarray, answers: np.ndarray, labels: np.ndarray
) -> Confusion:
    """Count answers by label, the model's classes first and strangers after them."""
    known = classes.tolist()

    def with_strangers(seen: list[Any]) -> dict[Any, int]:
        strangers = sorted(set(seen) - set(known), key=str)
        return {label: place for place, label in enumerate(known + strangers)}

    rows, columns = (with_strangers(part.tolist()) for part in (labels, answers))
    counts = np.zeros((len(rows), len(columns)), dtype=int)
    for truth, answer in zip(labels.tolist(), answers.tolist(), strict=True):
        counts[rows[truth], columns[answer]] += 1
    return Confusion(tuple(map(str, rows)), tuple(map(str, columns)), counts)
