"""Rows drawn from the density of a model."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.models.kept import columns_of_drawn
from rhokit.models.mass import log_above_floor, warn_of_mass
from rhokit.models.model import Model
from rhokit.plans.proposal import Draws, MixedProposal, draw_rows


def draw_samples(
    model: Model, n: int, rng: np.random.Generator, given: dict[int, Any] | None = None
) -> Any:
    """Rows (n, d) in the user's units, as the kind of frame that rows came as.

    Parameters
    ----------
    model : Model
    n : int
    rng : Generator
    given : dict, optional
        From columns to values that all rows have, as wide rows have them.
    """
    columns = columns_of_drawn(model)
    if not given:
        return columns.restored(draw_wide(model, n, rng))
    rows = np.empty((n, columns.width))
    rest = [c for c in range(columns.n_features) if c not in given]
    rows[:, columns.places(rest)] = draw_wide(model.conditional(given), n, rng)
    for column, value in given.items():
        rows[:, columns.places([column])] = value
    return columns.restored(rows)


def draw_wide(model: Model, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Wide rows (n, w) in the user's units."""
    plan = model.plan
    atoms = plan.feature_map.atoms()
    if atoms is not None:
        return _draw_atoms(model, np.asarray(atoms, dtype=object), n, rng)
    if plan.gamma is None and plan.feature_map.representation == "matrix":
        raise ValueError(
            "sample: rows can be drawn from maps of the Gaussian kernel and from "
            f"categories, not from {type(plan.feature_map).__name__}"
        )
    if plan.proposal is None:
        probabilities = model.probabilities
        scaled = model.representation.draw(model.state, probabilities, n, rng)
    else:
        scaled = _drawn_by_chains(model, plan.proposal, n, rng)
    return model.representation.placed(scaled)


def _drawn_by_chains(
    model: Model, proposal: Draws, n: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Scaled rows (n, w) of a density that can only be evaluated."""
    plan = model.plan
    assert plan.gamma is not None
    if plan.columns.schema is not None:
        assert plan.proposal is not None
        proposal = MixedProposal(plan.proposal, plan.columns.schema)
    warn_of_mass(model)
    above_floor = partial(log_above_floor, model)
    return draw_rows(above_floor, proposal, n, plan.gamma, rng)


def _draw_atoms(
    model: Model, values: NDArray[Any], n: int, rng: np.random.Generator
) -> NDArray[Any]:
    probabilities = np.exp(model.log_measured(values)[:, 0])
    probabilities /= probabilities.sum()
    return values[rng.choice(len(values), n, p=probabilities)]
