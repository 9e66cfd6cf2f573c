"""Log-densities of rows, whatever their outcomes, and with each row left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.models import left_out, mass
from rhokit.models.gaps import kept_columns
from rhokit.models.row_sample import MeasuredSample, RowSample
from rhokit.readouts import DensityReadOut
from rhokit.representations import Cache

if TYPE_CHECKING:
    from rhokit.batch import Batch
    from rhokit.models.model import Model

Floats = NDArray[np.float64]


def inputs_of(model: Model) -> Model | None:
    """The density of a model's rows, where its representation has one of its own."""
    parts = model.representation.inputs(model.state)
    if parts is None:
        return None
    plan, state = parts
    made = replace(
        model,
        plan=plan,
        readout=DensityReadOut(),
        state=state,
        sample=None,
        rank=None,
        cache=Cache(),
    )
    mass.never_warn_of_mass(made)
    return made


def log_density(model: Model, rows: NDArray[Any], logs: Floats | None = None) -> Floats:
    """Log-density of checked rows, of which it may be known what they measure."""
    inputs = model.inputs()
    if inputs is not None:
        return inputs.log_density(rows)
    logs = model.log_measured(rows) if logs is None else logs
    logs = logs + model.plan.log_measure(rows)[:, None]
    if model.readout.n_outcomes == 1:
        return logs[:, 0] + _log_norms(model, rows)
    joint = logs + model.readout.log_priors(model.weight)
    return np.asarray(logsumexp(joint, axis=1) + _log_norms(model, rows))


def _log_norms(model: Model, rows: NDArray[Any]) -> Any:
    """Terms from logarithms to log-densities for each row, which may lack values."""
    if not model.lacks(rows):
        return model.log_norm()
    patterns, which = kept_columns(model.plan.columns, rows)
    norms = [model.plan.log_norm_of(kept) for kept in patterns]
    return np.array(norms)[which] - mass.log_excess(model)


def log_density_without(model: Model, batch: Batch) -> Floats:
    """Log-density of learned rows, each left out of the state, shape (n,)."""
    inputs = model.inputs()
    if inputs is not None:
        return inputs.log_density_without(replace(batch, target=None))
    return left_out.log_density_without(model, batch)


def log_density_left_out(model: Model, sample: RowSample | MeasuredSample) -> Floats:
    """Log-density of sampled rows, each left out of the state, shape (n,)."""
    inputs = model.inputs()
    if inputs is None:
        return left_out.log_density_left_out(model, sample)
    none = np.zeros(len(sample.weight), dtype=np.intp)
    return inputs.log_density_left_out(replace(sample, target=none))
