"""The read-out of classes: Bayes' rule, and an answer where the density is low."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)

from rhokit.core import log_posterior, onehot_states
from rhokit.core.arrays import safe_log
from rhokit.readouts.base import Floats, TargetReadOut
from rhokit.readouts.tasks import ClassScore
from rhokit.records import Fields, LabelField, Reader, Values, require
from rhokit.representations import Outcomes

if TYPE_CHECKING:
    from rhokit.models import Model

# Of the likeliest class; what sums and factors leave below it is rounding.
LEAST_PROBABILITY = 1e-13
# A log-density is not below a threshold that it differs from by rounding.
DENSITY_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class ClassReadOut(TargetReadOut):
    """An outcome for every label.

    Parameters
    ----------
    classes : array of shape (K,)
        The labels that are known, sorted.
    """

    classes: NDArray[Any]

    kind = "classes"
    landmarks_by_group = True
    file_fields: ClassVar[Fields] = {"classes": LabelField("K")}

    # ---- labels ---------------------------------------------------------------------

    def check(self, y: Any, n_rows: int, owner: str) -> NDArray[Any]:
        """Labels, shape (n,)."""
        self.refuse_without_target(y, owner)
        if type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in "iubU":
            return y  # nothing can be wrong with these
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_consistent_length(np.empty(n_rows), labels)
        check_classification_targets(labels)
        return np.asarray(labels)

    def learn(
        self, target: Any, weights: Floats | None, foreseen: Any, owner: str
    ) -> Self:
        """Labels that are new get a place."""
        more = [] if foreseen is None else [column_or_1d(foreseen)]
        known = [self.classes] if len(self.classes) else []
        classes = unique_labels(*more, target, *known)
        if len(classes) < 2:
            raise ValueError(
                f"{owner} needs labels of at least two classes, got one "
                f"class: {classes[0]!r}"
            )
        return self.with_classes(classes)

    def with_classes(self, classes: NDArray[Any]) -> Self:
        """The read-out of these labels; or an error, if it cannot answer with them."""
        return replace(self, classes=classes)

    def encode(self, target: Any, weights: Floats | None = None) -> NDArray[np.intp]:
        """Codes of the labels, shape (n,)."""
        return np.searchsorted(self.classes, target)

    def decoded(self, target: NDArray[Any]) -> NDArray[Any]:
        """Labels of codes."""
        return self.classes[target]

    def known_target(self) -> NDArray[Any] | None:
        """A label."""
        return self.classes[:1] if len(self.classes) else None

    def essential(self, y: NDArray[Any]) -> NDArray[Any]:
        """All labels."""
        return np.asarray(unique_labels(y))

    def names(self, target: NDArray[Any]) -> NDArray[Any]:
        """Hashed labels: codes change when classes come to be known, these do not."""
        labels = self.classes.tolist()
        return np.array([zlib.crc32(repr(label).encode()) for label in labels])[target]

    # ---- outcomes -------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Number of labels, two where none is known."""
        return len(self.classes) or 2

    def outcomes(self, target: Any) -> list[Outcomes]:
        """One-hot."""
        order = np.argsort(target, kind="stable")
        return [Outcomes(len(self.classes), lambda i: self.roots(target[i]), order)]

    def roots(self, target: Any) -> Floats:
        """One-hot labels."""
        return np.asarray(onehot_states(target, len(self.classes)))

    def log_priors(self, weight: Floats) -> Floats:
        """Logarithms of the classes' shares of the rows."""
        return np.asarray(safe_log(weight / weight.sum(axis=-1, keepdims=True)))

    def joined(self, other: Self) -> Self:
        """All labels of either."""
        return self.with_classes(unique_labels(self.classes, other.classes))

    def places_in(self, other: Self) -> NDArray[np.intp] | None:
        """Where these labels stand among another's."""
        if len(other.classes) == len(self.classes):
            return None
        return np.searchsorted(other.classes, self.classes)

    @classmethod
    def check_sample(
        cls, learned: Values, target: NDArray[Any], reader: Reader
    ) -> None:
        """Sampled rows have codes of labels."""
        are_codes = target.ndim == 1 and target.dtype == np.int64
        inside = (target >= 0) & (target < reader.sizes["K"])
        require(
            are_codes and inside.all(),
            "sample has labels that are not among the classes",
        )

    # ---- planning -------------------------------------------------------------------

    def task(self, target: Any, weights: Floats | None) -> ClassScore:
        """Accuracy, and a little of the likelihood."""
        return ClassScore(len(self.classes))

    def groups(self, target: Any, weights: Floats | None) -> NDArray[np.intp]:
        """The classes."""
        return np.asarray(target)

    # ---- answers --------------------------------------------------------------------

    def predict(self, model: Model, rows: NDArray[Any]) -> NDArray[Any]:
        """The likeliest label of each row."""
        return self.classes[self.log_probabilities(model, rows).argmax(axis=1)]

    def foretold(self, model: Model, logs: Floats) -> NDArray[Any]:
        """The likeliest labels."""
        return self.classes[self.posterior(model, logs).argmax(axis=1)]

    def log_probabilities(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Logarithms of the classes' probabilities, shape (n, K)."""
        return self.posterior(model, model.log_measured(rows))

    def posterior(self, model: Model, logs: Floats) -> Floats:
        """Probabilities from what was measured, as logarithms (n, K)."""
        priors = self.log_priors(model.weight)
        return np.asarray(log_posterior(logs, priors, LEAST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class DensityClassReadOut(ClassReadOut):
    """Classes with priors of choice, of which rows unlike all others are kept apart.

    Parameters
    ----------
    classes : array of shape (K,)
    priors : {"empirical", "uniform"} or array-like of shape (K,)
    reject : float, optional
        Share of the training rows whose densities are too low.
    min_log_density : float, optional
        The threshold itself.
    reject_label :
        What is answered below it.
    """

    priors: Any = "empirical"
    reject: float | None = None
    min_log_density: float | None = None
    reject_label: Any = "unknown"

    name = "classes"
    blended: ClassVar[str | None] = "classes"
    blend_link: ClassVar[str | None] = "classes"

    @property
    def needs_sample(self) -> bool:
        """To learn the threshold."""
        return self.reject is not None

    @property
    def suits_blend(self) -> bool:
        """Whether no density is asked for: a blend's knows what tells classes apart.

        So rows that are like no class, but not in what tells these apart, would not
        be noticed.
        """
        asked = self.reject is not None or self.min_log_density is not None
        return self.may_blend and not asked

    @property
    def needs_witnesses(self) -> bool:
        """Landmarks lie closer to their own rows."""
        return self.reject is not None

    def with_classes(self, classes: NDArray[Any]) -> Self:
        """The read-out of these labels; given priors must be as many."""
        known: Self = replace(self, classes=classes)
        known.given_priors()
        return known

    def log_priors(self, weight: Floats) -> Floats:
        """Logarithms of π for classes of given weights: none without rows."""
        if isinstance(self.priors, str) and self.priors == "empirical":
            mass = weight
        else:
            mass = self.given_priors() * (weight > 0)
        total = mass.sum(axis=-1, keepdims=True)
        if not (total > 0).all():
            raise ValueError(
                "The 'priors' parameter of DMKDClassifier must not be zero for all "
                f"classes that have rows. Got {self.priors!r} instead."
            )
        return np.asarray(safe_log(mass / total))

    def given_priors(self) -> Floats:
        """Priors that do not depend on the weights, shape (K,)."""
        n_classes = len(self.classes)
        if isinstance(self.priors, str):
            return np.ones(n_classes)
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (n_classes,) or not (
            np.isfinite(priors).all() and (priors >= 0).all() and priors.any()
        ):
            raise ValueError(
                "The 'priors' parameter of DMKDClassifier must be 'empirical', "
                f"'uniform' or {n_classes} non-negative numbers, one per class. "
                f"Got {self.priors!r} instead, and the classes "
                f"{self.classes.tolist()}: for labels that come later, set their "
                "priors before."
            )
        return priors

    def predict(self, model: Model, rows: NDArray[Any]) -> NDArray[Any]:
        """The likeliest label of each row, or ``reject_label``."""
        logs = model.log_measured(rows)
        labels = self.classes[self.posterior(model, logs).argmax(axis=1)]
        threshold = self.threshold(model)
        if threshold is None:
            return labels
        density = model.log_density(rows, logs)
        rejected = density < threshold - DENSITY_SLACK
        if model.lacks(rows):  # whose density is of fewer columns: not to be compared
            rejected &= ~np.isnan(rows).any(axis=1)
        if isinstance(self.reject_label, str) != (self.classes.dtype.kind in "US"):
            labels = labels.astype(object)
        return np.where(rejected, np.asarray(self.reject_label), labels)

    def threshold(self, model: Model) -> float | None:
        """Log-density below which rows are rejected, None if none is."""
        if self.min_log_density is not None:
            return float(self.min_log_density)
        if self.reject is None:
            return None
        key = (self.reject, model.rank, str(self.priors))
        found = model.cache.get("threshold", key, lambda: self._learned(model))
        return float(found)

    def _learned(self, model: Model) -> float:
        """The quantile of the sampled rows' densities, each without itself."""
        sample, level = model.sample, self.reject
        if sample is None or level is None:
            raise ValueError(
                "The 'reject' parameter was set after the model had seen its rows: "
                "set it before fit, or set min_log_density"
            )
        density = model.log_density_left_out(sample)
        order = np.argsort(density)
        reached = np.cumsum(sample.weight[order])
        return float(density[order[np.searchsorted(reached, level * reached[-1])]])
