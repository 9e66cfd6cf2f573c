"""Blends as nodes: ridge regression, cells of trees, prototypes, and their link."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.distribution_nodes import log_sum
from rhokit.export.exporters import MAP_EXPORTERS, REPRESENTATION_EXPORTERS
from rhokit.export.graph import DOUBLE, Value
from rhokit.export.map_nodes import gaussian_exponents
from rhokit.export.tree_nodes import cells_of, sum_over_cells
from rhokit.features.links import (
    LEAST_SPREAD,
    LEAST_VALUE,
    MOMENTS,
    PRIOR_SHARE,
    ClassLink,
    ValueLink,
)
from rhokit.models import Model
from rhokit.representations import BlendRepresentation
from rhokit.representations.blend import Solution


@REPRESENTATION_EXPORTERS.register(BlendRepresentation.name)
def _blend_logs(
    representation: BlendRepresentation, model: Model, rows: Value
) -> Value:
    """Logarithms (n, K) of what outcomes measure, before their priors."""
    link = representation.blend.link
    if link.name not in _LINKS:
        raise ValueError(
            f"export knows blends of {', '.join(_LINKS)}, not of {link.name}: "
            "register an exporter of the representation of its own in rhokit.export"
        )
    told = _Told(representation.solution(model.state), rows)
    return _LINKS[link.name](told, link.coefficients)


@dataclass(frozen=True, eq=False)
class _Told:
    """What is told of rows, for the outcomes that somebody asks for.

    Everything is in double precision, whatever the model works in: coefficients of
    kernel columns are large, and cancel.

    Parameters
    ----------
    solution : Solution
    rows : Value
        Scaled, shape (n, d).
    """

    solution: Solution
    rows: Value

    @property
    def prior(self) -> NDArray[Any]:
        """Of the outcomes of a row of weight one, shape (K,)."""
        return self.solution.prior

    @cached_property
    def _kernels(self) -> Value:
        kernel = self.solution.blend.kernel_
        values, log_scale = MAP_EXPORTERS.find(kernel.name, kernel)(kernel, self.rows)
        if log_scale is None:
            return values
        return values * self.rows.graph.exp(log_scale)

    @cached_property
    def _cells(self) -> Value:
        return cells_of(self.solution.blend.forest_, self.rows)

    def ridge(self, outcomes: Sequence[int]) -> Value:
        """What ridge regression says, shape (n, len(outcomes))."""
        graph, blend = self.rows.graph, self.solution.blend
        m = blend.n_kernels
        weights = self.solution.coefficients[:, outcomes]
        constant = blend.constant * weights[m] + self.prior[outcomes]
        found = self._kernels @ graph.constant(weights[:m], "ridge") + constant
        if len(blend.lines_):
            lines = blend.lines_[:, None] * weights[m + 1 :]
            found = found + self.rows @ graph.constant(lines, "lines")
        return found

    def cells(self, outcomes: Sequence[int]) -> Value:
        """The mean of the trees that have an answer, shape (n, len(outcomes))."""
        graph, last = self.rows.graph, len(self.prior)
        table = self.solution.means[:, [*outcomes, last]]
        votes = sum_over_cells(self._cells, table, "cells")
        count = votes.column(len(outcomes))
        sums = votes.take(range(len(outcomes)), axis=1)
        means = sums / graph.node("Max", count, 1.0)
        prior = graph.constant(self.prior[None, outcomes], "prior")
        return graph.where(count > 0.0, means, prior)

    def near(self) -> Value | None:
        """What outcomes weigh about rows (n, K), where there are prototypes."""
        solution, graph = self.solution, self.rows.graph
        prototypes = solution.blend.prototypes_
        if prototypes is None:
            return None
        matrix, by_columns = prototypes.matrix, prototypes.matrix.ndim == 1
        metric = graph.constant(matrix, "metric")
        placed = self.rows * metric if by_columns else self.rows @ metric
        exponents, shift = gaussian_exponents(placed, prototypes.points, 1.0)
        whole = exponents if shift is None else exponents + shift
        kernel = graph.exp(graph.node("Min", whole, 0.0))
        shares = np.ascontiguousarray(solution.counts) / solution.total_weight
        floor = np.maximum(prototypes.floor * self.prior, LEAST_VALUE)
        return kernel @ graph.constant(shares, "counts") + floor

    def noise(self) -> Value | None:
        """Logarithms of squared errors (n, t), where they are known."""
        noise = self.solution.blend.noise_
        if noise is None:
            return None
        cells = cells_of(noise.forest, self.rows)
        return sum_over_cells(cells, noise.values, "noise") / float(
            noise.forest.n_trees
        )


def _of_classes(told: _Told, coefficients: NDArray[Any]) -> Value:
    """See :class:`rhokit.features.links.ClassLink`."""
    graph, prior = told.rows.graph, told.prior
    a, b, t = coefficients[0].tolist()
    outcomes = range(len(prior))
    mixed = told.cells(outcomes) * (1 - PRIOR_SHARE) + PRIOR_SHARE * prior
    shares = graph.log(graph.node("Max", mixed, LEAST_VALUE))
    joint, near = told.ridge(outcomes) * a + shares * b, told.near()
    if near is not None:
        joint = joint + graph.log(near) * t
    log_prior = np.log(np.maximum(prior, LEAST_VALUE))
    return joint - log_sum(joint).reshape(0, 1) - log_prior


def _of_values(told: _Told, coefficients: NDArray[Any]) -> Value:
    """See :class:`rhokit.features.links.ValueLink`."""
    graph, count = told.rows.graph, len(coefficients)
    firsts = MOMENTS * np.arange(count)
    ridges = told.ridge((firsts + 1).tolist())
    moments = told.cells([*(firsts + 1).tolist(), *(firsts + 2).tolist()])
    noise = told.noise()
    parts = []
    for place, (a, c0, c1, c2, floor) in enumerate(coefficients.tolist()):
        ridge, cells = ridges.column(place), moments.column(place)
        apart = ridge - cells
        square = moments.column(count + place)
        variance = graph.node("Max", square - cells * cells, 0.0)
        about = graph.log(variance + apart * apart + floor)
        log_square = about * c1 + c0
        if noise is not None:
            log_square = log_square + noise.column(place) * c2
        mean = graph.clip(ridge * a + cells * (1 - a), 0.0, 1.0)
        spread = graph.clip(graph.exp(log_square * 0.5), LEAST_SPREAD, 1.0)
        parts += [mean * 0.0 + 1.0, mean, mean * mean + spread * spread]
    found = graph.node("Max", graph.concat(parts, axis=1), LEAST_VALUE)
    return graph.log(found.cast(DOUBLE))


_LINKS: dict[str, Callable[[_Told, NDArray[Any]], Value]] = {
    ClassLink.name: _of_classes,
    ValueLink.name: _of_values,
}
