"""What densities keep to: they integrate to one, and so do their parts."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from rhokit.models.mass import known_mass
from rhokit.plans.proposal import Proposal
from rhokit.testing.cases import EstimatorCase

Floats = NDArray[np.float64]
# Of lattices, beyond the rows and from node to node, in standard deviations of the
# kernel: what is left out and what is between the nodes are both below 1e-8.
_BEYOND = 7.0
_STEP = 0.9
# Nodes of a panel between two landmarks, and beyond the last ones.
_PANEL_NODES = 24
_MOST_LATTICE_COLUMNS = 3
# More columns are integrated over by chance.
_DRAWS = 2**15
_CHANCE = 0.02
# γ of what mosaics are integrated by, which have none of their own.
_WIDE = 0.5
_TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}


def integrates_to_one(case: EstimatorCase) -> None:
    """A density integrates to one, if the integral is known in closed form."""
    if not case.has("score_samples"):
        return
    fitted, (rows, _) = case.fitted(), case.data(60, 1)
    assert_integrates(fitted, rows)
    if case.has("compact"):
        assert_integrates(fitted.compact(), rows)
    if (
        not case.has("marginal")
        or not fitted.fitted_model().representation.can_integrate
    ):
        return
    for column in range(rows.shape[1]):
        kept = rows.iloc[:, [column]] if hasattr(rows, "iloc") else rows[:, [column]]
        assert_integrates(fitted.marginal(column), kept)


def assert_integrates(fitted: Any, rows: Any) -> None:
    """A density integrates to one over what is about rows, if that is known."""
    model = fitted.fitted_model()
    if known_mass(model) is None:
        return
    feature_map = model.plan.feature_map
    tolerance = max(_TOLERANCE[feature_map.dtype_], getattr(feature_map, "tol", 0.0))
    if feature_map.atoms() is not None:
        total = np.exp(model.log_density(np.array(feature_map.atoms(), object))).sum()
    else:
        total, more = _integral(model, np.asarray(fitted.check_query(rows)))
        tolerance = max(tolerance, more)
    assert_allclose(total, 1, rtol=0, atol=tolerance)


def _integral(model: Any, rows: Floats) -> tuple[float, float]:
    """Integral of a density in scaled units, and how far off it may be."""
    plan = model.plan
    schema = plan.columns.schema
    scaled = plan.scaling.apply(rows.astype(np.float64))
    numbers = np.ones(scaled.shape[1], bool) if schema is None else schema.is_number
    kernel = getattr(plan.feature_map, "kernel_", None)
    few = plan.gamma is not None and numbers.sum() <= _MOST_LATTICE_COLUMNS
    if few and kernel is not None and not kernel.is_gaussian:
        nodes, log_volumes = _panels(plan.feature_map.landmarks_, plan.gamma)
        more = 0.0
    elif few or not numbers.any():
        nodes, volume = _lattice(scaled[:, numbers], plan.gamma or _WIDE)
        log_volumes, more = np.full(len(nodes), np.log(volume)), 0.0
    else:
        proposal = Proposal.from_rows(
            scaled[:, numbers],
            None,
            _WIDE if plan.gamma is None else plan.gamma,
            np.random.default_rng(0),
        )
        nodes = proposal.draw(_DRAWS, np.random.default_rng(1))
        drawn = proposal.log_density(nodes) - np.log(2 * np.pi) * numbers.sum() / 2
        log_volumes, more = -drawn - np.log(_DRAWS), _CHANCE
    total = 0.0
    for values in _category_values(schema):
        points = np.empty((len(nodes), scaled.shape[1]))
        points[:, numbers], points[:, ~numbers] = nodes, values
        asked = plan.scaling.invert(points).astype(plan.feature_map.dtype_)
        logs = model.log_density(asked) - plan.scaling.log_volume
        total += float(np.exp(logs + log_volumes).sum())
    return total, more


def _lattice(rows: Floats, gamma: float) -> tuple[Floats, float]:
    """Nodes (n, d) over rows and about them, and the volume of a node's cell."""
    width = 1 / np.sqrt(2 * gamma)
    if not rows.shape[1]:
        return np.empty((1, 0)), 1.0
    ends = zip(rows.min(axis=0), rows.max(axis=0), strict=True)
    axes = [
        np.arange(low - _BEYOND * width, high + _BEYOND * width, _STEP * width)
        for low, high in ends
    ]
    nodes = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    return nodes, float((_STEP * width) ** len(axes))


def _panels(landmarks: Floats, gamma: float) -> tuple[Floats, Floats]:
    """Nodes (n, d) of Gauss's rule between landmarks and beyond, and log-weights (n,).

    Kernels may have kinks at landmarks, and tails that fall as powers.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    unit = 1 / np.sqrt(gamma)
    axes, parts = [], []
    for ends in map(np.unique, landmarks.astype(np.float64).T):
        widths = np.diff(ends)
        inner = (ends[:-1, None] + widths[:, None] * nodes).ravel()
        tail = unit * nodes / (1 - nodes)
        shares = unit * weights / (1 - nodes) ** 2
        axes.append(np.concatenate([ends[0] - tail, inner, ends[-1] + tail]))
        inside = (widths[:, None] * weights).ravel()
        parts.append(np.log(np.concatenate([shares, inside, shares])))
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    logs = np.stack(np.meshgrid(*parts), axis=-1).reshape(-1, len(axes))
    return points, logs.sum(axis=1)


def _category_values(schema: Any) -> Iterator[Floats]:
    """States of every combination of outcomes of categories, side by side."""
    columns = [] if schema is None else schema.category_columns()
    for states in product(*(schema.outcomes(column) for column in columns)):
        yield np.concatenate(states) if states else np.empty(0)


MASS_LAWS: dict[str, Callable[[EstimatorCase], None]] = {
    "integrates_to_one": integrates_to_one
}
