"""Measuring columns with states: ``‖A c‖²`` for density matrices, and its kin."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rhokit.core.sums import Sums
from rhokit.estimators.base import StateEstimator
from rhokit.estimators.matrix_state import MatrixState
from rhokit.estimators.mean_embedding import MeanEmbeddingKDE
from rhokit.export.graph import DOUBLE, Value
from rhokit.export.maps import columns_of
from rhokit.export.series import series_values
from rhokit.fast import small_algebra

# Thin factors of several outcomes share one product of at most so many columns.
_PANEL = 512


def log_measured(model: StateEstimator, rows: Value) -> Value:
    """Logarithms (n, K) of what scaled rows measure, however far away they are."""
    graph = rows.graph
    if isinstance(model, MatrixState) and model._has_grid():
        least = model._least_measured()
        return graph.log(series_values(model.feature_map_, model.state_, least, rows))
    columns, log_scale = columns_of(model._measured_map(), rows)
    # As the model does: features and factors in its own precision, then double.
    columns = columns.cast(model.feature_map_.dtype_)
    measured = _measured(model, columns).cast(DOUBLE)
    logs = graph.log(measured)
    return logs if log_scale is None else logs + log_scale * float(model._power)


def _measured(model: StateEstimator, columns: Value) -> Value:
    """Measured values (n, K) of columns (n, m)."""
    if isinstance(model, MeanEmbeddingKDE):
        return columns @ columns.graph.constant(
            _mean_weights(model).astype(columns.dtype), "mean"
        )
    with small_algebra(model.feature_map_.n_columns_):
        return columns.graph.concat(
            [_born(columns, panel) for panel in _panels(_factors(model))], axis=1
        )


def _mean_weights(model: MeanEmbeddingKDE) -> np.ndarray:
    """What columns are multiplied by, shape (m, 1)."""
    mean = model.state_.normalized()[0].conj()
    whitening = model.feature_map_.whitening_
    if whitening is not None:
        whitening = whitening.astype(np.float64)
        mean = whitening @ (whitening.T @ mean)
    return _real_weights(mean[:, None])[:, :1]


def _factors(model: MatrixState) -> Iterable[np.ndarray]:
    """Factors (r, m) over the map's columns, one per outcome."""
    state: Sums = model.state_
    for k in range(state.n_outcomes):
        yield model._factor_over_columns(state.outcome(k), model._rank(), False)


def _panels(factors: Iterable[np.ndarray]) -> Iterable[list[np.ndarray]]:
    """Neighbouring outcomes whose factors are multiplied at once."""
    panel: list[np.ndarray] = []
    for factor in factors:
        if panel and sum(map(len, panel)) + len(factor) > _PANEL:
            yield panel
            panel = []
        panel.append(factor)
    yield panel


def _born(columns: Value, factors: list[np.ndarray]) -> Value:
    """``‖A_k c‖²`` of a few outcomes, shape (n, K)."""
    weights = [_real_weights(factor.T) for factor in factors]
    joined = np.concatenate(weights, axis=1).astype(columns.dtype)
    amplitudes = columns @ columns.graph.constant(joined, "factor")
    if len(factors) == 1:
        return amplitudes.sum_of_squares(1, keep=True)
    owner = np.repeat(np.arange(len(weights)), [each.shape[1] for each in weights])
    groups = np.eye(len(weights))[owner]  # which outcome an amplitude belongs to
    return (amplitudes * amplitudes) @ groups


def _real_weights(weights: np.ndarray) -> np.ndarray:
    """Complex weights (m, r) for columns of real and imaginary parts, (2m, 2r).

    Products are real parts, then imaginary ones; real weights stay as they are.
    """
    if not np.iscomplexobj(weights):
        return weights
    real, imaginary = weights.real, weights.imag
    return np.block([[real, imaginary], [-imaginary, real]])


def joint_amplitudes(model: Any, rows: Value) -> Value:
    """Amplitudes (n, r, D_Y) of a truncated joint state of inputs and outputs."""
    columns, _ = columns_of(model._measured_map(), rows)
    columns = columns.cast(model.feature_map_.dtype_)
    factor = model._joint_factor()  # (r, m, D_Y)
    n_outputs = factor.shape[2]
    weights = [_real_weights(factor[:, :, j].T) for j in range(n_outputs)]
    flat = np.stack(weights, axis=2)  # (m, r, D_Y)
    flat = flat.reshape(len(flat), -1).astype(columns.dtype)
    product = columns @ columns.graph.constant(flat, "joint_factor")
    return product.cast(DOUBLE).reshape(0, weights[0].shape[1], n_outputs)
