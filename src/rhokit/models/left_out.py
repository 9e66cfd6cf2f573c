"""Measuring rows when each of them is left out of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.core import leave_one_out, log_measured
from rhokit.core.arrays import safe_log
from rhokit.core.sums import inverse_weight, remaining_weight
from rhokit.models import mass
from rhokit.models.row_sample import MeasuredSample, RowSample

if TYPE_CHECKING:
    from rhokit.batch import Batch
    from rhokit.models.model import Model

Floats = NDArray[np.float64]


def log_density_without(model: Model, batch: Batch) -> Floats:
    """Log-density of learned rows, each left out of the state, shape (n,).

    With a rank, what is left of the eigenvectors that are kept: they are those of all
    rows.
    """
    assert model.state is not None
    if not model.state.takes_rows:
        raise ValueError(
            "leave_one_out needs the sums that a model was fitted with, and this "
            "one holds only a factor of them: ask the model that it was made from"
        )
    subtracts = model.representation.subtracts_own
    if subtracts and not model.readout.has_target and model.rank is None:
        return _log_density_of_all(model, batch.rows)
    keys = np.arange(len(batch), dtype=np.uint64)
    codes = model.readout.encode(batch.target)
    codes = np.zeros(len(batch), dtype=np.intp) if codes is None else codes
    sample = RowSample(len(batch), keys, batch.rows, codes, batch.mass)
    return log_density_left_out(model, sample)


def _log_density_of_all(model: Model, rows: NDArray[Any]) -> Floats:
    """Log-density of rows of one outcome, each left out of the state, shape (n,)."""
    lengths = model.plan.feature_map.lengths(model.plan.scale(rows))
    own = lengths.astype(np.float64) ** model.representation.power
    logs = model.log_measured(rows)[:, 0]
    rest = leave_one_out(np.exp(logs), own, np.ones(len(own)), float(model.weight[0]))
    keys = np.arange(len(rows), dtype=np.uint64)
    target, weight = np.zeros(len(rows), dtype=np.intp), np.ones(len(rows))
    sample = RowSample(len(rows), keys, rows, target, weight)
    terms = model.log_norm() + _log_terms(model, sample)
    return np.asarray(safe_log(rest) + terms)


def log_density_left_out(model: Model, sample: RowSample | MeasuredSample) -> Floats:
    """Log-density of sampled rows, each left out of the state, shape (n,)."""
    logs = log_left_out(model, sample)
    # The outcomes' weights without the row, in its density and in their priors.
    rest = weight_left(model, sample)
    logs += safe_log(model.weight) - safe_log(np.where(rest > 0, rest, np.inf))
    # Without its only row a model has no priors, and no density either.
    is_left = rest.any(axis=1, keepdims=True)
    priors = model.readout.log_priors(np.where(is_left, rest, model.weight))
    joint = np.where(is_left, logs + priors, -np.inf)
    terms = model.log_norm() + _log_terms(model, sample)
    return np.asarray(logsumexp(joint, axis=1) + terms)


def log_left_out_of_one(model: Model, sample: RowSample) -> Floats:
    """Logarithms measured by rows left out (n, K), for a model to keep without rows.

    Of a density that integrates to one without the row: see :func:`_log_terms`.
    """
    terms = np.asarray(_log_terms(model, sample))
    return log_left_out(model, sample) + terms[..., None]


def _log_terms(model: Model, sample: RowSample | MeasuredSample) -> Any:
    """Terms of rows from what they measure to their log-densities, shape (n,).

    Zero where they are in the measured logarithms of the sample.
    """
    if isinstance(sample, MeasuredSample):
        return 0.0
    return _log_mass_lost(model, sample) + model.plan.log_measure(sample.rows)


def _log_mass_lost(model: Model, sample: RowSample | MeasuredSample) -> Any:
    """Logarithms of the density's integral over that without each row, shape (n,).

    Zero where rows do not differ in what they add to it, and where the measured
    logarithms of the sample have it in them.
    """
    assert model.state is not None
    if isinstance(sample, MeasuredSample) or not model.state.takes_rows:
        return 0.0
    measure = model.representation.own_masses(model.state, model.rank)
    if measure is None or mass.known_mass(model) is None:
        return 0.0
    feature_map = model.plan.measured_map
    unit = feature_map is not model.plan.feature_map  # summed states had length one
    power = model.representation.power

    def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
        own = measure(columns).astype(np.float64)
        if unit:
            own = own / feature_map.lengths_of(columns).astype(np.float64)[:, None]
        elif log_scale is not None:
            own = own * np.exp(power * log_scale)[:, None]
        return np.asarray(own)

    own = np.concatenate(model.for_blocks(sample.rows, use))
    taken = model.readout.roots(sample.target) ** 2 * sample.weight[:, None]
    rest = remaining_weight(model.weight, taken)
    without = mass.log_excess_without(model, np.asarray(rest), taken, own)
    return mass.log_excess(model) - without


def log_left_out(model: Model, sample: RowSample | MeasuredSample) -> Floats:
    """Logarithms measured by sampled rows, each left out of the state, (n, K)."""
    if isinstance(sample, MeasuredSample):
        return sample.logs.copy()
    assert model.state is not None
    if not model.state.takes_rows:
        return model.log_measured(sample.rows)  # a trained state did not see them
    if not model.representation.subtracts_own:
        return _left_out_of_cells(model, sample)
    own_of = _own_measure(model, sample)
    measure, weight = model.measure(), model.weight
    tiny = 100 * np.finfo(model.plan.feature_map.dtype_).eps
    noise = model.representation.noise * weight

    def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
        total = measure(columns).astype(np.float64) * weight
        own = own_of(which, columns, log_scale)
        # What rounding leaves of a cancelled sum says nothing.
        left = np.where(total - own > tiny * own + noise, total - own, 0)
        return np.asarray(log_measured(left * inverse_weight(weight), log_scale))

    return np.concatenate(model.for_blocks(sample.rows, use, stretch=2))


def _left_out_of_cells(model: Model, sample: RowSample) -> Floats:
    """The same by a representation that knows how to leave rows out."""
    mass = model.readout.roots(sample.target) ** 2 * sample.weight[:, None]
    logs = model.representation.log_left_out(model.state, sample.rows, mass)
    if model.representation.shares_sums:
        return logs  # of all rows' priors already
    rest = weight_left(model, sample)
    # Others are divided by the outcomes' whole weights.
    return np.asarray(
        logs + safe_log(rest) - safe_log(np.where(model.weight > 0, model.weight, 1))
    )


def weight_left(model: Model, sample: RowSample | MeasuredSample) -> Floats:
    """Weights of the outcomes without each of the sampled rows, shape (n, K)."""
    assert model.state is not None
    held_out = not model.state.takes_rows
    if isinstance(sample, MeasuredSample):
        held_out = sample.held_out
    if held_out:
        return np.broadcast_to(model.weight, (len(sample.weight), len(model.weight)))
    own = model.readout.roots(sample.target) ** 2 * sample.weight[:, None]
    return np.asarray(remaining_weight(model.weight, own))


def _own_measure(model: Model, sample: RowSample) -> Callable[..., Floats]:
    """From the columns of sampled rows to what these measure of themselves, (b, K)."""
    roots = model.readout.roots(sample.target)
    feature_map = model.plan.measured_map
    unit = feature_map is not model.plan.feature_map  # summed states had length one
    keeps = None if model.rank is None else model.measure(projector=True)

    def own_of(which: Any, columns: Any, log_scale: Any) -> Floats:
        mass = roots[which] ** 2 * sample.weight[which][:, None]  # (b, K)
        length = feature_map.lengths_of(columns).astype(np.float64)[:, None]
        kept = length if keeps is None else keeps(columns).astype(np.float64)
        own = mass * (kept**2 / length if unit else kept**2)
        if log_scale is not None and not unit:
            own *= np.exp(2 * log_scale)[:, None]  # it was summed unscaled
        return np.asarray(own)

    return own_of
