r"""A weight for every column, learned by gradient on the training rows.

.. math:: p(y \mid x) \propto \sum_i \psi(y_i)^2 e^{-\sum_c w_c (x_c - x_{ic})^2}

is QMR's estimate with a width per column. Its squared error on training rows, each
left out in turn, tells which columns matter; few steps from equal widths are taken, so
that small sets are not learned by heart.
"""

import math

import torch

from benchmarks.goals.ordinal import level_states
from rhokit.core.states import squared_distances

_LEARNING_RATE = 0.05
# Rows that are left out and asked for in one step.
_BATCH = 64
_FAR = -1e9


def learned_widths(task, gamma, steps, seed=0):
    """Distributions of the queries after each of so many steps.

    Parameters
    ----------
    task : benchmarks.goals.ordinal.Task
        Rows (B, n, d), codes (B, n) and queries (B, k, d).
    gamma : float
        The sum of the weights at the start.
    steps : list of int

    Returns
    -------
    found : list of arrays of shape (B, k, levels)
    """
    rows, queries = task.rows.float(), task.queries.float()
    probabilities = level_states(task.codes).square().float()  # (B, n, levels)
    models, n, d = rows.shape
    logs = torch.full((models, d), math.log(gamma / d), requires_grad=True)
    optimizer = torch.optim.Adam([logs], lr=_LEARNING_RATE)
    generator, found = torch.Generator().manual_seed(seed), {}
    for step in range(max(steps) + 1):
        if step in steps:
            with torch.no_grad():
                found[step] = smoothed(queries, rows, probabilities, logs).numpy()
        left = torch.randperm(n, generator=generator)[:_BATCH]
        optimizer.zero_grad()
        left_out_error(rows, task.codes, probabilities, logs, left).sum().backward()
        optimizer.step()
    return [found[step] for step in steps]


def left_out_error(rows, codes, probabilities, logs, left):
    """Mean squared error (B,) of the rows ``left``, each without itself."""
    found = smoothed(rows[:, left], rows, probabilities, logs, own=left)
    levels = torch.arange(probabilities.shape[-1], dtype=found.dtype)
    return (found @ levels - codes[:, left]).square().mean(dim=-1)


def smoothed(queries, rows, probabilities, logs, own=None):
    """Distributions (B, k, levels) with columns' weights ``exp(logs)``, (B, d).

    ``own`` are the places of the queries among the rows: these do not count.
    """
    roots = (logs / 2).exp()[:, None, :]
    exponents = -squared_distances(queries * roots, rows * roots, by_product=True)
    if own is not None:
        exponents = exponents.masked_fill(_same(own, rows.shape[1]), _FAR)
    return torch.softmax(exponents, dim=-1) @ probabilities


def _same(own, n):
    return own[:, None] == torch.arange(n)
