"""Columns measured with states: ``‖A c‖²`` for density matrices, and its kin."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.exporters import (
    REPRESENTATION_EXPORTERS,
    map_columns,
    real_weights,
)
from rhokit.export.graph import DOUBLE, Value
from rhokit.fast import small_algebra
from rhokit.models import Model
from rhokit.representations import MatrixRepresentation, MeanRepresentation

# Thin factors of several outcomes share one product of at most so many columns.
_PANEL = 512


@REPRESENTATION_EXPORTERS.register(MatrixRepresentation.name)
def _matrix_logs(
    representation: MatrixRepresentation, model: Model, rows: Value
) -> Value:
    columns, log_scale = map_columns(model, rows)
    with small_algebra(model.plan.feature_map.n_columns_):
        panels = _panels(_factors(representation, model))
        parts = [_born(columns, panel) for panel in panels]
    return _logs(rows.graph.concat(parts, axis=1), log_scale, representation.power)


@REPRESENTATION_EXPORTERS.register(MeanRepresentation.name)
def _mean_logs(representation: MeanRepresentation, model: Model, rows: Value) -> Value:
    columns, log_scale = map_columns(model, rows)
    weights = representation.weights(model.state)  # (m, K)
    real = real_weights(weights)[:, : weights.shape[1]].astype(columns.dtype)
    measured = columns @ rows.graph.constant(real, "mean")
    return _logs(measured, log_scale, representation.power)


def _logs(measured: Value, log_scale: Value | None, power: int) -> Value:
    """Logarithms of measured values (n, K), with the scale that columns lack."""
    logs = measured.graph.log(measured.cast(DOUBLE))
    return logs if log_scale is None else logs + log_scale * float(power)


def _factors(
    representation: MatrixRepresentation, model: Model
) -> Iterator[NDArray[Any]]:
    """Factors (r, m) over the map's columns, one per outcome."""
    state: Any = model.state
    for k in range(state.n_outcomes):
        yield representation.factor_over_columns(state.outcome(k), model.rank)


def _panels(factors: Iterable[NDArray[Any]]) -> Iterator[list[NDArray[Any]]]:
    """Neighbouring outcomes whose factors are multiplied at once."""
    panel: list[NDArray[Any]] = []
    for factor in factors:
        if panel and sum(map(len, panel)) + len(factor) > _PANEL:
            yield panel
            panel = []
        panel.append(factor)
    yield panel


def _born(columns: Value, factors: list[NDArray[Any]]) -> Value:
    """``‖A_k c‖²`` of a few outcomes, shape (n, K)."""
    weights = [real_weights(factor.T) for factor in factors]
    joined = np.concatenate(weights, axis=1).astype(columns.dtype)
    amplitudes = columns @ columns.graph.constant(joined, "factor")
    if len(factors) == 1:
        return amplitudes.sum_of_squares(1, keep=True)
    owner = np.repeat(np.arange(len(weights)), [each.shape[1] for each in weights])
    groups = np.eye(len(weights))[owner]  # which outcome an amplitude belongs to
    return (amplitudes * amplitudes) @ groups
