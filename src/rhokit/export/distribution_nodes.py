"""From measured logarithms to densities, probabilities, moments and quantiles."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core.distributions import cell_edges
from rhokit.export.graph import INTEGER, Value


def log_sum(logs: Value) -> Value:
    """``log Σ exp`` of each row (n, K), shape (n,); ``-inf`` where nothing is."""
    graph = logs.graph
    largest = logs.max(1, keep=True)
    shift = graph.where(largest > -np.inf, largest, 0.0)
    total = graph.log(graph.exp(logs - shift).sum(1, keep=True))
    return (total + shift).reshape(0)


def posterior(logs: Value, log_priors: NDArray[Any], least: float = 0.0) -> Value:
    """Probabilities (n, K) by Bayes' rule: see :func:`rhokit.core.log_posterior`."""
    graph = logs.graph
    joint = logs + log_priors
    nothing = joint.max(1, keep=True) <= -np.inf
    priors = graph.constant(np.asarray(log_priors, dtype=np.float64)[None], "priors")
    joint = graph.where(nothing, priors, joint)
    joint = joint - joint.max(1, keep=True)
    if least > 0:
        floor = np.where(np.isneginf(log_priors), -np.inf, math.log(least))
        joint = graph.node("Max", joint, floor)
    weights = graph.exp(joint)
    return weights / weights.sum(1, keep=True)


def mean_and_std(probabilities: Value, levels: NDArray[Any]) -> tuple[Value, Value]:
    """Mean and standard deviation (n,) of distributions (n, m) over levels (m,)."""
    graph = probabilities.graph
    mean = probabilities @ levels[:, None]  # (n, 1)
    difference = levels[None] - mean
    variance = (probabilities * difference * difference).sum(1)
    return mean.reshape(0), graph.node("Sqrt", variance)


def quantiles(
    probabilities: Value, values: NDArray[Any], levels: NDArray[Any]
) -> Value:
    """Quantiles (n, q) of given levels (q,) of distributions (n, m) over values."""
    graph, m = probabilities.graph, len(values)
    below = _cumulative(probabilities)
    edges = graph.constant(cell_edges(values), "edges")

    def one(level: float) -> Value:
        passed = (below.take(np.arange(1, m + 1), axis=1) < level).cast(INTEGER)
        # The last border is 1, which no level passes: there is such a cell, not empty.
        cell = passed.sum(1, keep=True)  # (n, 1)
        start, stop = (
            graph.node("GatherElements", below, cell + step, axis=1) for step in (0, 1)
        )
        left, right = (
            graph.node("Gather", edges, cell + step, axis=0) for step in (0, 1)
        )
        return left + (level - start) / (stop - start) * (right - left)

    return graph.concat([one(float(level)) for level in levels], axis=1)


def _cumulative(probabilities: Value) -> Value:
    """Probability below each border of the cells, shape (n, m + 1)."""
    sums = probabilities.running_sum(1)
    total = sums.take([-1], axis=1)
    return probabilities.graph.concat([total * 0.0, sums], axis=1) / total


def sorted_by_level(values: Value, levels: NDArray[Any]) -> Value:
    """Values (n, q) put in order, so that they do not fall as their levels rise."""
    graph = values.graph
    count = graph.constant(np.array([len(levels)], dtype=np.int64))
    ascending = graph.node("TopK", values, count, axis=1, largest=0, n_outputs=2)
    order = np.argsort(levels, kind="stable")
    return ascending.take(np.argsort(order, kind="stable"), axis=1)


def likeliest(probabilities: Value) -> Value:
    """Place of the largest probability, of equals the first, shape (n,)."""
    return probabilities.graph.node(
        "ArgMax", probabilities, axis=1, keepdims=0, dtype=INTEGER
    )


def decided(probabilities: Value, n_labels: int, decision: str) -> Value:
    """Ranks (n,) of least error: see :class:`rhokit.QMOrdinalClassifier`."""
    graph = probabilities.graph
    if decision == "mode":
        return likeliest(probabilities)
    if decision == "mean":
        mean = probabilities @ np.arange(n_labels)[:, None]
        ranks = graph.node("Round", mean).cast(INTEGER).reshape(0)
        return graph.clip(ranks, 0, n_labels - 1)  # NaN has become any number
    below = probabilities.running_sum(1) < 0.5 - 1e-12
    return below.cast(INTEGER).sum(1)
