"""Distributions over equally spaced levels: means, cumulative shares, quantiles.

Probability at a level is spread evenly over its cell, the values that are nearer to
it than to any other level of the range.
"""

import math

from array_api_compat import array_namespace

from rhokit.core.arrays import Array


def mean_and_variance(chances: Array, levels: Array) -> tuple[Array, Array]:
    r"""Mean and variance of distributions (..., m) over levels (m,).

    .. math:: \mu = \sum_j p_j a_j, \qquad \sigma^2 = \sum_j p_j (a_j - \mu)^2
    """
    xp = array_namespace(chances)
    mean = chances @ levels
    squares = (levels - mean[..., None]) ** 2
    return mean, xp.sum(chances * squares, axis=-1)


def mean_and_std(chances: Array, levels: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of distributions (..., m) over levels (m,)."""
    # In units that round nothing, and whose squares are numbers.
    _, exponent = math.frexp(float(levels[-1] - levels[0]))
    unit = math.ldexp(1.0, exponent - 1)
    _, variance = mean_and_variance(chances, levels / unit)
    return chances @ levels, unit * array_namespace(chances).sqrt(variance)


def cell_edges(levels: Array) -> Array:
    """Borders of the cells of ascending levels (m,), shape (m + 1,)."""
    xp = array_namespace(levels)
    middles = (levels[1:] + levels[:-1]) / 2
    return xp.concat([levels[:1], middles, levels[-1:]])


def cumulative(chances: Array) -> Array:
    """Probability below each border of the cells, shape (n, m + 1)."""
    xp = array_namespace(chances)
    sums = xp.cumulative_sum(chances, axis=1, include_initial=True)
    return sums / sums[:, -1:]


def quantiles(chances: Array, levels: Array, shares: Array) -> Array:
    """Values (n, q) below which the given shares (q,) of distributions (n, m) lie."""
    xp = array_namespace(chances)
    edges, below = cell_edges(levels), cumulative(chances)
    last = levels.shape[0] - 1

    def one(share: Array) -> Array:
        passed = xp.sum(xp.astype(below[:, 1:] < share, xp.int64), axis=1)
        cell = xp.clip(passed, 0, last)[:, None]
        start = xp.take_along_axis(below, cell, axis=1)[:, 0]
        mass = xp.take_along_axis(below, cell + 1, axis=1)[:, 0] - start
        part = (share - start) / xp.where(mass > 0, mass, xp.ones_like(mass))
        left, right = (xp.take(edges, (cell + step)[:, 0]) for step in (0, 1))
        return left + xp.clip(part, 0, 1) * (right - left)

    return xp.stack([one(shares[i]) for i in range(shares.shape[0])], axis=1)


def log_densities(chances: Array, levels: Array, values: Array) -> Array:
    """Logarithms of the densities of distributions (n, m) at values (n,).

    ``-inf`` beyond the levels.
    """
    xp = array_namespace(chances)
    edges = cell_edges(levels)
    inner = edges[1:-1]
    cell = xp.sum(xp.astype(values[:, None] > inner, xp.int64), axis=1)
    mass = xp.take_along_axis(chances, cell[:, None], axis=1)[:, 0]
    width = xp.take(edges, cell + 1) - xp.take(edges, cell)
    inside = (values >= edges[0]) & (values <= edges[-1]) & (mass > 0)
    safe = xp.where(inside, mass, xp.ones_like(mass)) / width
    return xp.where(inside, xp.log(safe), -xp.inf)
