"""Frequencies that are trained to follow a kernel between the rows that there are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import Kernel
from rhokit.features.sample import distinct_rows

Floats = NDArray[np.float64]
# Steps of Adam, each on all pairs of so many of the rows.
_STEPS, _BATCH, _ROWS = 400, 256, 8192
# The first rate, in units of √γ for frequencies, which falls to zero; and how long
# means of slopes and of their squares remember.
_RATE, _SLOPES, _SQUARES = 0.05, 0.9, 0.99
_LEAST = 1e-12


def adapted(
    frequencies: Floats,
    phases: Floats | None,
    rows: NDArray[Any],
    weights: Floats | None,
    kernel: Kernel,
    rng: np.random.Generator,
) -> tuple[Floats, Floats | None]:
    r"""Frequencies and phases whose features follow a kernel on rows like these.

    Adam takes :math:`\sum_{ij} w_i w_j (\langle\phi(x_i), \phi(x_j)\rangle -
    \kappa(x_i, x_j))^2` down, over all pairs of 256 rows at a time. No state is summed,
    and no target is looked at.

    Parameters
    ----------
    frequencies : array of shape (d, F)
        To start from.
    phases : array of shape (F,), optional
        Of cosines with a phase; None for pairs of a cosine and a sine.
    rows : array of shape (n, d)
    weights : array of shape (n,), optional
    kernel : Kernel
    rng : numpy.random.Generator
    """
    distinct, mass = distinct_rows(rows, weights, _ROWS, rng)
    distinct, mass = distinct.astype(np.float64), mass / mass.sum()
    trained = [frequencies] if phases is None else [frequencies, phases]
    units = (np.sqrt(kernel.gamma), 1.0)
    slopes = [np.zeros_like(each) for each in trained]
    squares = [np.zeros_like(each) for each in trained]
    for step in range(1, _STEPS + 1):
        part, share = distinct, mass
        if len(distinct) > _BATCH:
            chosen = rng.choice(len(distinct), _BATCH, replace=False, p=mass)
            part, share = distinct[chosen], np.full(_BATCH, 1 / _BATCH)
        _, found = misfit(part, share, kernel.overlaps(part, part), *trained)
        rate = _RATE * 0.5 * (1 + np.cos(np.pi * step / _STEPS))
        for k, slope in enumerate(found):
            slopes[k] = _SLOPES * slopes[k] + (1 - _SLOPES) * slope
            squares[k] = _SQUARES * squares[k] + (1 - _SQUARES) * slope**2
            mean = slopes[k] / (1 - _SLOPES**step)
            size = np.sqrt(squares[k] / (1 - _SQUARES**step)) + _LEAST
            trained[k] = trained[k] - rate * units[k] * mean / size
    return trained[0], None if phases is None else trained[1]


def misfit(
    rows: Floats,
    share: Floats,
    wanted: Floats,
    frequencies: Floats,
    phases: Floats | None = None,
) -> tuple[float, list[Floats]]:
    """Squared error of overlaps, and its slopes by frequencies and by phases.

    Parameters
    ----------
    rows : array of shape (n, d)
    share : array of shape (n,)
        Weights of the rows.
    wanted : array of shape (n, n)
        Values of the kernel.
    frequencies : array of shape (d, F)
    phases : array of shape (F,), optional
    """
    angles = rows @ frequencies
    if phases is not None:
        angles = angles + phases
    # cos(a) cos(b) is a half of what cos(a) cos(b) + sin(a) sin(b) is in the mean.
    scale = (1 if phases is None else 2) / frequencies.shape[1]
    cosines, sines = np.cos(angles), np.sin(angles)
    overlaps = scale * (cosines @ cosines.T)
    if phases is None:
        overlaps += scale * (sines @ sines.T)
    errors = overlaps - wanted
    weighted = np.outer(share, share) * errors
    slope = -(weighted @ cosines) * sines
    if phases is None:
        slope += (weighted @ sines) * cosines
    slope *= 4 * scale
    by_frequency = rows.T @ slope
    found = [by_frequency] if phases is None else [by_frequency, slope.sum(axis=0)]
    return float((weighted * errors).sum()), found
