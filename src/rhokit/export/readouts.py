"""From measured logarithms to densities, probabilities, moments and quantiles."""

import math

import numpy as np

from rhokit.core.distributions import cell_edges
from rhokit.export.graph import INTEGER, Value


def log_sum(logs: Value) -> Value:
    """``log Σ exp`` of each row (n, K), shape (n,); ``-inf`` where nothing is."""
    graph = logs.graph
    largest = logs.max(1, keep=True)
    shift = graph.where(largest > -np.inf, largest, 0.0)
    total = graph.log(graph.exp(logs - shift).sum(1, keep=True))
    return (total + shift).reshape(0)


def posterior(logs: Value, log_priors: np.ndarray, least: float = 0.0) -> Value:
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
    shares = graph.exp(joint)
    return shares / shares.sum(1, keep=True)


def mean_and_std(chances: Value, levels: np.ndarray) -> tuple[Value, Value]:
    """Mean and standard deviation (n,) of distributions (n, m) over levels (m,)."""
    graph = chances.graph
    mean = chances @ levels[:, None]  # (n, 1)
    difference = levels[None] - mean
    variance = (chances * difference * difference).sum(1)
    return mean.reshape(0), graph.node("Sqrt", variance)


def quantiles(chances: Value, levels: np.ndarray, shares: np.ndarray) -> Value:
    """Values (n, q) below which the given shares (q,) of distributions (n, m) lie."""
    graph, m = chances.graph, len(levels)
    below = _cumulative(chances)
    edges = graph.constant(cell_edges(levels), "edges")

    def one(share: float) -> Value:
        passed = (below.take(np.arange(1, m + 1), axis=1) < share).cast(INTEGER)
        # The last border is 1, which no share passes: there is such a cell, not empty.
        cell = passed.sum(1, keep=True)  # (n, 1)
        start, stop = (
            graph.node("GatherElements", below, cell + step, axis=1) for step in (0, 1)
        )
        left, right = (
            graph.node("Gather", edges, cell + step, axis=0) for step in (0, 1)
        )
        return left + (share - start) / (stop - start) * (right - left)

    return graph.concat([one(float(share)) for share in shares], axis=1)


def _cumulative(chances: Value) -> Value:
    """Probability below each border of the cells, shape (n, m + 1)."""
    sums = chances.running_sum(1)
    total = sums.take([-1], axis=1)
    return chances.graph.concat([total * 0.0, sums], axis=1) / total


def sorted_by_share(values: Value, shares: np.ndarray) -> Value:
    """Values (n, q) put in order, so that they do not fall as their shares rise."""
    graph = values.graph
    count = graph.constant(np.array([len(shares)], dtype=np.int64))
    ascending = graph.node("TopK", values, count, axis=1, largest=0, n_outputs=2)
    order = np.argsort(shares, kind="stable")
    return ascending.take(np.argsort(order, kind="stable"), axis=1)


def likeliest(chances: Value) -> Value:
    """Place of the largest probability, of equals the first, shape (n,)."""
    return chances.graph.node("ArgMax", chances, axis=1, keepdims=0, dtype=INTEGER)


def decided(chances: Value, n_labels: int, decision: str) -> Value:
    """Ranks (n,) of least error: see :class:`rhokit.QMOrdinalClassifier`."""
    graph = chances.graph
    if decision == "mode":
        return likeliest(chances)
    if decision == "mean":
        mean = chances @ np.arange(n_labels)[:, None]
        ranks = graph.node("Round", mean).cast(INTEGER).reshape(0)
        return graph.clip(ranks, 0, n_labels - 1)  # NaN has become any number
    below = chances.running_sum(1) < 0.5 - 1e-12
    return below.cast(INTEGER).sum(1)
