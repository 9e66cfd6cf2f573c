"""Rules that choose the kernel's γ from the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from rhokit.core import GaussianKernel
from rhokit.features.plugin import sheather_jones

_MEDIAN_ROWS = 1000
Masses = NDArray[np.float64]


def gamma_by_rule(
    rule: str,
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
    *,
    n_rows: float | None = None,
    rng: np.random.Generator | None = None,
) -> float:
    r"""γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`, which is :math:`1/(2h^2)`.

    ================  ==========================================================
    rule              bandwidth h
    ================  ==========================================================
    "scott"           :math:`\sigma\, n^{-1/(d+4)}`
    "silverman"       :math:`\sigma\, (n(d+2)/4)^{-1/(d+4)}`
    "median"          the median distance between two rows that differ
    "sheather-jones"  of one column: see :func:`rhokit.features.sheather_jones`
    ================  ==========================================================

    with :math:`\sigma^2` the mean variance of the columns.

    Parameters
    ----------
    rule : str
    rows : array of shape (n, d)
    weights : array of shape (n,), optional
    n_rows : float, optional
        Number of rows that the density will be made of, where ``rows`` is a sample.
    rng : numpy.random.Generator, optional
        Draws the rows whose distances are taken.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(gamma_by_rule("scott", rows), 3)
    2.532
    """
    if rule not in BANDWIDTH_RULES:
        raise ValueError(
            f"gamma must be a number or one of {(*BANDWIDTH_RULES,)}, got {rule!r}"
        )
    n = len(rows)
    mass = np.ones(n) if weights is None else weights
    rows, mass = rows[mass > 0], mass[mass > 0]
    total = float(mass.sum()) if n_rows is None else n_rows
    bandwidth = BANDWIDTH_RULES[rule](
        rows, mass, total, rng or np.random.default_rng(0)
    )
    if not bandwidth > 0 or (rows == rows[0]).all():
        raise ValueError(
            f"gamma={rule!r} cannot be computed from rows that are all equal "
            f"(n_samples={n}): give gamma as a number"
        )
    return GaussianKernel.from_bandwidth(bandwidth).gamma


# ---- the rules, each from rows (n, d), masses (n,) and how much all rows weigh -------


def _scott(
    rows: NDArray[Any], mass: Masses, total: float, rng: np.random.Generator
) -> float:
    return _spread(rows, mass) * total ** (-1 / (rows.shape[1] + 4))


def _silverman(
    rows: NDArray[Any], mass: Masses, total: float, rng: np.random.Generator
) -> float:
    d = rows.shape[1]
    return _spread(rows, mass) * (total * (d + 2) / 4) ** (-1 / (d + 4))


def _spread(rows: NDArray[Any], mass: Masses) -> float:
    """Root of the mean variance of the columns."""
    mean = np.average(rows, axis=0, weights=mass)
    variances = np.average((rows - mean) ** 2, axis=0, weights=mass)
    return float(np.sqrt(variances.mean()))


def _sheather_jones(
    rows: NDArray[Any], mass: Masses, total: float, rng: np.random.Generator
) -> float:
    if rows.shape[1] != 1:
        raise ValueError(
            'gamma="sheather-jones" is a rule for one column, got '
            f'{rows.shape[1]}: take "loo" or "scott"'
        )
    if (rows == rows[0]).all():
        return 0.0
    # Of a sample, the bandwidth that all rows would have.
    return sheather_jones(rows[:, 0], mass) * (float(mass.sum()) / total) ** 0.2


def _median_distance(
    rows: NDArray[Any], mass: Masses, total: float, rng: np.random.Generator
) -> float:
    if len(rows) > _MEDIAN_ROWS:
        chosen = rng.choice(len(rows), _MEDIAN_ROWS, replace=False)
        rows, mass = rows[chosen], mass[chosen]
    first, second = np.triu_indices(len(rows), 1)
    distances, pairs = pdist(rows), mass[first] * mass[second]
    # Copies do not count as pairs: then weight two is the same as being there twice.
    distances, pairs = distances[distances > 0], pairs[distances > 0]
    if not len(distances):
        return 0.0
    order = np.argsort(distances)
    reached = np.cumsum(pairs[order])
    return float(distances[order[np.searchsorted(reached, reached[-1] / 2)]])


BANDWIDTH_RULES: dict[str, Callable[..., float]] = {
    "median": _median_distance,
    "scott": _scott,
    "sheather-jones": _sheather_jones,
    "silverman": _silverman,
}
"""Bandwidths by the name that ``gamma`` gives them."""
