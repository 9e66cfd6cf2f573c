"""Outputs of classifiers: labels, probabilities, and the density where there is one."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.density_nodes import log_terms
from rhokit.export.distribution_nodes import decided, likeliest, log_sum, posterior
from rhokit.export.exporters import (
    READOUT_EXPORTERS,
    Wanted,
    log_measured,
    map_columns,
    real_weights,
)
from rhokit.export.graph import DOUBLE, INTEGER, TEXT, Value
from rhokit.models import Model
from rhokit.readouts import (
    DENSITY_SLACK,
    LEAST_PROBABILITY,
    BlendedOrderedReadOut,
    ClassReadOut,
    DensityClassReadOut,
    JointReadOut,
    OrderedReadOut,
)

Floats = NDArray[np.float64]


@READOUT_EXPORTERS.register(DensityClassReadOut.name)
def _density_classes(
    readout: DensityClassReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """Outputs of a density matrix per class."""
    graph, log_priors = rows.graph, readout.log_priors(model.weight)
    logs = log_measured(model, rows)
    probabilities = posterior(logs, log_priors, LEAST_PROBABILITY)
    log_density = _log_density(model, rows, logs + log_priors)
    known, places = readout.classes.tolist(), likeliest(probabilities)
    threshold = readout.threshold(model)
    if threshold is None:
        _add_labels(known, places)
    else:
        # Not "below": what is no number is rejected too.
        above = log_density >= threshold - DENSITY_SLACK
        _add_labels_or(known, places, graph.node("Not", above), readout.reject_label)
    _add_probabilities(readout, probabilities)
    graph.output("log_density", log_density)


def _log_density(model: Model, rows: Value, joint: Value) -> Value:
    """Log-densities (n,): of the inputs alone, or the sum of what outcomes say."""
    inputs = model.inputs()
    if inputs is None:
        return log_sum(joint) + log_terms(model, rows)
    return log_measured(inputs, rows).reshape(0) + log_terms(inputs, rows)


@READOUT_EXPORTERS.register(JointReadOut.name)
def _joint_classes(
    readout: JointReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """Outputs of a joint state of inputs and labels."""
    probabilities = _overlaps(readout, model, rows)
    _add_labels(readout.classes.tolist(), likeliest(probabilities))
    _add_probabilities(readout, probabilities)


@READOUT_EXPORTERS.register(BlendedOrderedReadOut.name)
@READOUT_EXPORTERS.register(OrderedReadOut.name)
def _ordered_classes(
    readout: OrderedReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """Outputs of labels that have an order."""
    probabilities = _diagonal(readout, model, rows)
    decision = readout.decision_of(model)
    places = decided(probabilities, len(readout.classes), decision)
    _add_labels(readout.classes.tolist(), places)
    _add_probabilities(readout, probabilities)


# ---- joint states ------------------------------------------------------------------


def _overlaps(readout: JointReadOut, model: Model, rows: Value) -> Value:
    """Probabilities (n, K): labels as they overlap with ρ_Y."""
    outputs = readout.output_states()  # (K, D_Y)
    if readout.truncation(model) is not None:
        prior = _priors(readout, model) @ (outputs @ outputs.T) ** 2
        measured = _truncated(readout, model, rows, outputs, prior)
    else:
        measured = _mixture(readout, model, rows)
        if np.array_equal(outputs, np.eye(len(outputs))):
            return measured
        measured = measured @ (outputs @ outputs.T) ** 2
    even = np.zeros(len(outputs))
    return posterior(rows.graph.log(measured), even, LEAST_PROBABILITY)


def _diagonal(readout: OrderedReadOut, model: Model, rows: Value) -> Value:
    """Probabilities (n, K): the diagonal of ρ_Y."""
    blur = readout.mixing()
    if readout.truncation(model) is None:
        return _mixture(readout, model, rows) @ blur
    prior = _priors(readout, model) @ blur
    return _truncated(readout, model, rows, np.eye(len(blur)), prior)


def _priors(readout: JointReadOut, model: Model) -> Floats:
    return np.asarray(np.exp(readout.log_priors(model.weight)))


def _mixture(readout: JointReadOut, model: Model, rows: Value) -> Value:
    """Weights (n, K) of the labels in ρ_Y."""
    log_priors = readout.log_priors(model.weight)
    return posterior(log_measured(model, rows), log_priors, LEAST_PROBABILITY)


def _truncated(
    readout: JointReadOut, model: Model, rows: Value, directions: Floats, prior: Floats
) -> Value:
    """``vᵀρ_Y v`` (n, K) of directions (K, D_Y), by the truncated joint state."""
    graph = rows.graph
    amplitudes = _joint_amplitudes(readout, model, rows)  # (n, r, D_Y)
    trace = amplitudes.sum_of_squares(1, 2).reshape(0, 1)
    measured = (amplitudes @ directions.T).sum_of_squares(1)  # (n, K)
    nothing = trace <= 0.0
    safe = graph.where(nothing, graph.constant(np.ones(1)), trace)
    return graph.where(nothing, graph.constant(prior[None]), measured / safe)


def _joint_amplitudes(readout: JointReadOut, model: Model, rows: Value) -> Value:
    """Amplitudes (n, r, D_Y) of a truncated joint state of inputs and outputs."""
    columns, _ = map_columns(model, rows)
    factor = readout.joint_factor(model)  # (r, m, D_Y)
    n_outputs = factor.shape[2]
    weights = [real_weights(factor[:, :, j].T) for j in range(n_outputs)]
    flat = np.stack(weights, axis=2)  # (m, r, D_Y)
    flat = flat.reshape(len(flat), -1).astype(columns.dtype)
    product = columns @ columns.graph.constant(flat, "joint_factor")
    return product.cast(DOUBLE).reshape(0, weights[0].shape[1], n_outputs)


# ---- labels ------------------------------------------------------------------------


def _add_probabilities(readout: ClassReadOut, probabilities: Value) -> None:
    probabilities.graph.output("probabilities", probabilities, len(readout.classes))


def _add_labels(known: list[Any], places: Value) -> None:
    """Labels at places (n,)."""
    graph = places.graph
    table = graph.constant(_label_table(known), "classes")
    graph.output("label", graph.node("Gather", table, places, axis=0))


def _add_labels_or(known: list[Any], places: Value, refused: Value, other: Any) -> None:
    """Labels at places (n,), or the label of what is refused."""
    graph, names = places.graph, _label_table([*known, other])
    table = graph.constant(names[:-1], "classes")
    labels = graph.node("Gather", table, places, axis=0)
    instead = graph.constant(names[-1:], "reject_label")
    graph.output("label", graph.where(refused, instead, labels))


def _label_table(labels: list[Any]) -> NDArray[Any]:
    """Labels of one type: whole numbers, or text as soon as one of them is text."""
    whole = [_is_whole(label) for label in labels]
    if all(whole):
        return np.array([int(label) for label in labels], dtype=INTEGER)
    for label, is_whole in zip(labels, whole, strict=True):
        if not (is_whole or isinstance(label, str)):
            raise ValueError(
                "export: labels, and the reject_label, must be text or whole "
                f"numbers, got {label!r}"
            )
    return np.array([_as_text(label) for label in labels], dtype=TEXT)


def _is_whole(label: Any) -> bool:
    if isinstance(label, Integral | np.bool_):
        return True
    return isinstance(label, Real) and float(label).is_integer()


def _as_text(label: Any) -> str:
    return label if isinstance(label, str) else str(int(label))
