"""Outputs of classifiers: labels, probabilities, and the density where there is one."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from rhokit.estimators import DMKDClassifier, QMClassifier, QMOrdinalClassifier
from rhokit.estimators.classifier import (
    DENSITY_SLACK,
    LEAST_CHANCE,
    ClassEstimator,
)
from rhokit.export.graph import INTEGER, TEXT, Value
from rhokit.export.measurement import joint_amplitudes, log_measured
from rhokit.export.readouts import decided, likeliest, log_sum, posterior


def add_density_classes(model: DMKDClassifier, rows: Value, *, density: bool) -> None:
    """Outputs of a density matrix per class."""
    graph, log_priors = rows.graph, model._log_priors()
    logs = log_measured(model, rows)
    chances = posterior(logs, log_priors, LEAST_CHANCE)
    log_density = log_sum(logs + log_priors) + model._log_norm()
    rejected, threshold = None, model.threshold_
    if threshold is not None:
        # Not "below": what is no number is rejected too.
        above = log_density >= threshold - DENSITY_SLACK
        rejected = graph.node("Not", above)
    _add_labels(model, likeliest(chances), rejected)
    _add_chances(model, chances)
    if density:
        graph.output("log_density", log_density)


def add_joint_classes(model: QMClassifier, rows: Value) -> None:
    """Outputs of a joint state of inputs and labels."""
    if isinstance(model, QMOrdinalClassifier):
        chances = _ordinal_chances(model, rows)
        places = decided(chances, len(model.classes_), model.decision_)
    else:
        chances = _joint_chances(model, rows)
        places = likeliest(chances)
    _add_labels(model, places, None)
    _add_chances(model, chances)


def _joint_chances(model: QMClassifier, rows: Value) -> Value:
    """Probabilities (n, K): labels as they overlap with ρ_Y."""
    outputs = model.output_states_  # (K, D_Y)
    if model._joint_rank() is not None:
        prior = np.exp(model._log_priors()) @ (outputs @ outputs.T) ** 2
        measured = _truncated(model, rows, outputs, prior)
    else:
        measured = _mixture(model, rows)
        if np.array_equal(outputs, np.eye(len(outputs))):
            return measured
        measured = measured @ (outputs @ outputs.T) ** 2
    even = np.zeros(len(outputs))
    return posterior(rows.graph.log(measured), even, LEAST_CHANCE)


def _ordinal_chances(model: QMOrdinalClassifier, rows: Value) -> Value:
    """Probabilities (n, K): the diagonal of ρ_Y."""
    blur = model._blur(model.beta_)
    if model._joint_rank() is None:
        return _mixture(model, rows) @ blur
    prior = np.exp(model._log_priors()) @ blur
    return _truncated(model, rows, np.eye(len(blur)), prior)


def _mixture(model: QMClassifier, rows: Value) -> Value:
    """Weights (n, K) of the labels in ρ_Y."""
    return posterior(log_measured(model, rows), model._log_priors(), LEAST_CHANCE)


def _truncated(
    model: QMClassifier, rows: Value, directions: np.ndarray, prior: np.ndarray
) -> Value:
    """``vᵀρ_Y v`` (n, K) of directions (K, D_Y), by the truncated joint state."""
    graph = rows.graph
    amplitudes = joint_amplitudes(model, rows)  # (n, r, D_Y)
    trace = amplitudes.sum_of_squares(1, 2).reshape(0, 1)
    measured = (amplitudes @ directions.T).sum_of_squares(1)  # (n, K)
    nothing = trace <= 0.0
    safe = graph.where(nothing, graph.constant(np.ones(1)), trace)
    return graph.where(nothing, graph.constant(prior[None]), measured / safe)


# ---- labels ------------------------------------------------------------------------


def _add_chances(model: ClassEstimator, chances: Value) -> None:
    width = len(model.classes_)
    chances.graph.output("probabilities", chances, width)


def _add_labels(model: ClassEstimator, places: Value, rejected: Value | None) -> None:
    """Labels at places (n,), or the label of what is rejected."""
    graph = places.graph
    known = model.classes_.tolist()
    all_labels = known if rejected is None else [*known, model.reject_label]
    names = label_table(all_labels)
    table = graph.constant(names[: len(known)], "classes")
    labels = graph.node("Gather", table, places, axis=0)
    if rejected is not None:
        refused = graph.constant(names[len(known) :], "reject_label")
        labels = graph.where(rejected, refused, labels)
    graph.output("label", labels)


def label_table(labels: list[Any]) -> np.ndarray:
    """Labels of one type: whole numbers, or text as soon as one of them is text."""
    whole = [_is_whole(label) for label in labels]
    if all(whole):
        return np.array([int(label) for label in labels], dtype=INTEGER)
    for label, is_whole in zip(labels, whole, strict=True):
        if not (is_whole or isinstance(label, str)):
            raise ValueError(
                "export_onnx: labels, and the reject_label, must be text or whole "
                f"numbers, got {label!r}"
            )
    return np.array([_as_text(label) for label in labels], dtype=TEXT)


def _is_whole(label: Any) -> bool:
    if isinstance(label, Integral | np.bool_):
        return True
    return isinstance(label, Real) and float(label).is_integer()


def _as_text(label: Any) -> str:
    return label if isinstance(label, str) else str(int(label))
