"""Densities that are Fourier series: what rows over a box measure."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.export.exporters import REPRESENTATION_EXPORTERS
from rhokit.export.graph import INTEGER, Value
from rhokit.export.map_nodes import inside_box, not_a_number
from rhokit.fast.series import transform_for
from rhokit.models import Model
from rhokit.representations import SeriesRepresentation

Wave = tuple[Value, Value]


@REPRESENTATION_EXPORTERS.register(SeriesRepresentation.name)
def _series_logs(
    representation: SeriesRepresentation, model: Model, rows: Value
) -> Value:
    values = _series_values(representation, model.state, rows)
    return rows.graph.log(values)


def _series_values(
    representation: SeriesRepresentation, state: Any, rows: Value
) -> Value:
    """Measured values (n, K) of scaled rows (n, d); noise is zero where it misleads."""
    graph, grid = rows.graph, representation.grid
    there = inside_box(grid, rows)  # which is narrower than a period
    turns = graph.where(there, (rows - grid.middle_) / grid.period_, 0.0)
    coefficients, noise = state.normalized(), representation.noise
    table = _table(noise, coefficients) if coefficients.ndim == 2 else None
    if table is not None:
        values = _taylor_values(turns, table)
    else:
        values = _wave_values(turns, coefficients)
    # Ratios of errors would be taken for probabilities.
    least = noise if representation.plan.compares_outcomes else 0.0
    kept = there & (values >= least)
    return graph.where(kept, values, 0.0) + not_a_number(rows)


def _table(tol: float, coefficients: NDArray[Any]) -> NDArray[Any] | None:
    """Taylor series (K, N, P) about regular nodes; None where they are too many."""
    sizes = np.abs(coefficients).max(axis=0)
    transform = transform_for(sizes, tol, len(coefficients))
    prepared = transform.prepare(coefficients)
    return prepared if isinstance(prepared, np.ndarray) else None


def _taylor_values(turns: Value, table: NDArray[Any]) -> Value:
    """Sums of the Taylor series about each row's nearest node."""
    graph = turns.graph
    n_series, n_nodes, n_terms = table.shape
    place = turns * float(n_nodes)
    node = graph.node("Round", place)
    powers = graph.node("Pow", place - node, np.arange(n_terms)[None])
    flat = graph.constant(table.transpose(1, 0, 2), "taylor_series")  # (N, K, P)
    # Negative nodes count from the end, where they are.
    terms = graph.node("Gather", flat, node.cast(INTEGER), axis=0)
    terms = terms.reshape(0, n_series, n_terms)
    return (terms * powers.reshape(0, 1, n_terms)).sum(2)


def _wave_values(turns: Value, coefficients: NDArray[Any]) -> Value:
    """Sums of the waves themselves: one product, then a sum over the last column."""
    graph = turns.graph
    n_series, *others, last = coefficients.shape
    right = graph.concat(_wave(turns, len(others), np.arange(last)), axis=1)
    mirrored = np.where(np.arange(last) == 0, 1.0, 2.0)  # each stands for its image
    right = right * np.tile(mirrored, 2)[None]  # (n, 2 last)
    if not others:
        flat = np.concatenate([coefficients.real, coefficients.imag], axis=1).T
        return right @ graph.constant(flat, "series")
    waves = [
        _wave(turns, axis, np.arange(-(size // 2), size // 2 + 1))
        for axis, size in enumerate(others)
    ]
    left = (
        waves[0] if len(waves) == 1 else _pairs(waves[0], waves[1], math.prod(others))
    )
    sums = graph.concat(left, axis=1) @ graph.constant(_meeting(coefficients), "series")
    sums = sums.reshape(0, n_series, 2 * last)
    return (sums * right.reshape(0, 1, 2 * last)).sum(2)


def _wave(turns: Value, axis: int, steps: NDArray[Any]) -> Wave:
    """Cosines and sines (n, m) of whole multiples of one column's turns."""
    graph = turns.graph
    multiples = turns.column(axis) * steps[None]
    return graph.cosine_of_turns(multiples), graph.cosine_of_turns(multiples - 0.25)


def _pairs(left: Wave, right: Wave, width: int) -> Wave:
    """Products of all pairs of two columns' waves, shape (n, width)."""
    (a, b), (c, d) = left, right

    def outer(one: Value, other: Value) -> Value:
        return (one.unsqueeze(2) * other.unsqueeze(1)).reshape(0, width)

    return outer(a, c) - outer(b, d), outer(a, d) + outer(b, c)


def _meeting(coefficients: NDArray[Any]) -> NDArray[Any]:
    """What cosines and sines (2 L) of the first columns are multiplied by.

    Real and imaginary parts (K, 2, last) of the product with conjugate waves,
    ``(cos - i sin)(c_r + i c_i)``.
    """
    n_series, *others, last = coefficients.shape
    flat = coefficients.reshape(n_series, math.prod(others), last)
    real, imaginary = flat.real, flat.imag
    met = np.array([[real, imaginary], [imaginary, -real]])  # (2, 2, K, L, last)
    return met.transpose(0, 3, 2, 1, 4).reshape(-1, n_series * 2 * last)
