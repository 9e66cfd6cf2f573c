"""The integral of a model's density, by which it is divided."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core.arrays import safe_log
from rhokit.features.registry import planned_names
from rhokit.plans.proposal import Draws, MixedProposal
from rhokit.validation import level_of_the_user

if TYPE_CHECKING:
    from rhokit.models.model import Model

Floats = NDArray[np.float64]
# A map that misses more than this is worth a warning.
_MISSED = 0.1
# Rows that an integral is estimated from, where it is not known.
_DRAWS = 4096


def outcome_masses(model: Model) -> Floats | None:
    """Integrals of the outcomes' densities (K,); None where they are not known."""
    if model.state is None:
        return None

    def compute() -> Floats | None:
        return model.representation.masses(model.state, model.rank)

    found: Floats | None = model.cache.get("masses", model.rank, compute)
    return found


def known_mass(model: Model) -> float | None:
    """Integral of the density of all outcomes; None where it is not known."""
    masses = outcome_masses(model)
    if masses is None:
        return None
    return float(model.probabilities @ masses)


def log_excess(model: Model) -> float:
    """Logarithm of what a density is divided by to integrate to one.

    Zero where the integral is not known, and where there is nothing to divide.
    """
    mass = known_mass(model)
    if mass is None or not mass > 0:
        return 0.0
    warn_of_mass(model)
    return float(np.log(mass))


def log_excess_without(model: Model, rest: Floats, taken: Floats, own: Floats) -> Any:
    """Logarithms of the same for models that lack a row each, shape (n,).

    Parameters
    ----------
    model : Model
    rest, taken : arrays of shape (n, K)
        Weights of the outcomes without the row, and of the row.
    own : array of shape (n, K)
        Integrals of the densities of the row alone.
    """
    masses = outcome_masses(model)
    assert masses is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (model.weight * masses - taken * own) / rest
    left = np.where(rest > 0, left, 0)
    is_left = rest.any(axis=1, keepdims=True)
    priors = np.exp(model.readout.log_priors(np.where(is_left, rest, model.weight)))
    mass = np.vecdot(priors, left)
    return np.where(mass > 0, safe_log(np.maximum(mass, 0)), 0.0)


def measured_mass(model: Model) -> tuple[float, float]:
    """Integral of what the map makes of a density, and its standard error.

    In closed form, without an error, where the representation knows it. Else by
    importance sampling from the plan's proposal; what the map cannot tell from zero
    is left out of it, as it is of samples, since the integral of that is not finite.
    NaN where there is no proposal, either.
    """
    mass = known_mass(model)
    if mass is not None:
        return mass, 0.0
    found: tuple[float, float] = model.cache.get(
        "sampled mass", model.rank, lambda: _sampled_mass(model)
    )
    return found


def _sampled_mass(model: Model) -> tuple[float, float]:
    plan = model.plan
    if plan.proposal is None or plan.gamma is None:
        return float("nan"), float("nan")
    proposal: Draws = plan.proposal
    n_numbers = plan.columns.width
    if plan.columns.schema is not None:
        proposal = MixedProposal(plan.proposal, plan.columns.schema)
        n_numbers = int(plan.columns.schema.is_number.sum())
    scaled = proposal.draw(_DRAWS, np.random.default_rng(0))
    logs = log_above_floor(model, scaled)
    logs += plan.log_norm(model.representation.power) - plan.scaling.log_volume
    drawn = proposal.log_density(scaled) - 0.5 * n_numbers * np.log(2 * np.pi)
    with np.errstate(over="ignore", under="ignore"):
        ratios = np.exp(logs - drawn)
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(_DRAWS))


def log_above_floor(model: Model, scaled: NDArray[Any]) -> Floats:
    """Measured logarithms of scaled rows, less what the map cannot tell from zero."""
    plan = model.plan
    floor = np.log(2) + plan.feature_map.log_floor_ * model.representation.power / 2
    rows = plan.scaling.invert(scaled).astype(plan.feature_map.dtype_)
    logs = model.log_measured(rows)[:, 0]
    if np.isinf(floor):
        return logs
    above = logs > floor
    safe = np.where(above, logs, floor + 1.0)
    return np.where(above, safe + np.log1p(-np.exp(floor - safe)), -np.inf)


def warn_of_mass(model: Model) -> None:
    """Warn once where the map misses much of a density, and say what to do."""
    if not model.readout.has_target:
        model.cache.get("warning of mass", None, lambda: _warn_if_missed(model))


def never_warn_of_mass(model: Model) -> None:
    """Leave it at the warning of the model that this one is a part of."""
    model.cache.get("warning of mass", None, lambda: None)


def _warn_if_missed(model: Model) -> None:
    mass = known_mass(model)
    if mass is None or mass >= 1 - _MISSED:
        return
    mosaic = ' or feature_map="mosaic"' if "mosaic" in planned_names() else ""
    rank = "" if model.rank is None else " a higher rank,"
    warnings.warn(
        f"the map misses {1 - mass:.0%} of this density (mass_={mass:.2g}), mostly "
        "where rows are few; what it holds is scaled up to make one. To miss less, "
        f"take more components,{rank} a smaller gamma, that is a wider kernel{mosaic}",
        UserWarning,
        stacklevel=level_of_the_user(),
    )
