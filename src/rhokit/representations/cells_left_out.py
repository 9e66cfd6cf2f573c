"""Log-densities of mosaics at rows, each of which is taken out of its cells."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.features import MosaicFeatures
from rhokit.features.cells import n_quadratic

Floats = NDArray[np.float64]

# Priors shrink with the rows that are left. They are the same for all masses between
# two steps of this many in a factor of two, which need not be told apart.
_STEPS = 8


def log_without(
    mosaic: MosaicFeatures,
    total: Floats,
    columns: Floats,
    member: Floats,
    mass: Floats,
) -> Floats:
    """Log-density (n,) of rows by a state's sums (C, m), each row's share left out.

    The share of a cell's least variance that goes with the row is left in.

    Parameters
    ----------
    mosaic : MosaicFeatures
    total : array of shape (C, m)
    columns : array of shape (n, m)
    member : array of shape (n, C)
        How much rows belong to cells.
    mass : array of shape (n,)
        What each row counts.
    """
    with np.errstate(divide="ignore"):
        alike = np.exp2(np.round(_STEPS * np.log2(mass)) / _STEPS)
    logs = np.empty(len(columns))
    for each in np.unique(alike):
        some = alike == each
        own = member[some] * mass[some, None]
        logs[some] = _log_without(mosaic, total, columns[some], own, float(each))
    return logs


def _log_without(
    mosaic: MosaicFeatures, total: Floats, columns: Floats, own: Floats, mass: float
) -> Floats:
    """Of rows of about the same mass, by their masses in the cells (n, C)."""
    d = mosaic.n_numbers
    logs = np.full((len(columns), mosaic.n_cells_), -np.inf)
    parts = zip(mosaic.priors(), mosaic.layers, mosaic.layer_weights_, strict=True)
    for prior, cells, layer_weight in parts:
        weight, out = total[cells, 0], own[:, cells]
        all_rows = float(weight.sum())
        rest_of_all = max(1 - mass / all_rows, 0.0) if all_rows > 0 else 0.0
        prior = replace(
            prior,
            strength=prior.strength * rest_of_all,
            smoothing=prior.smoothing * rest_of_all,
        )
        mixture = prior.mixture(total[cells], mosaic.shares_)
        left = np.where(weight - out > 1e-9 * weight, weight - out, 0.0)
        plain = replace(
            mixture,
            log_weight=np.zeros(len(weight)),
            log_shares=mixture.log_shares[:, :0],
        )
        q = n_quadratic(d)
        at_mean = -0.5 * (
            d * np.log(2 * np.pi) + np.linalg.slogdet(mixture.covariance)[1]
        )
        density = columns[:, :q] @ plain.coefficients()
        # Squared distance a in units of the scatter A, and that of it without the row.
        strength, more = prior.strength * all_rows, prior.smoothing * all_rows
        known = weight + strength
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.maximum(2 * (at_mean - density), 0) / known
            share = out * weight / left
            rest = np.maximum(1 - share * distance, 1e-12)
            known_left = left + strength
            moved = (weight / left) ** 2
            log_normal = (
                at_mean
                - 0.5 * np.log(rest)
                + 0.5 * d * np.log(known_left / known)
                - 0.5 * known_left * moved * distance / rest
            )
            counts = np.maximum(total[cells, q:], 0)
            onehot = columns[:, q:]
            if onehot.shape[1]:
                log_normal += _categories_left(
                    counts, onehot, out, left, more * mosaic.shares_, more
                )
            total_left = left.sum(axis=1, keepdims=True)
            each = np.log(left / total_left) + np.log(layer_weight) + log_normal
        logs[:, cells] = np.where(left > 0, each, -np.inf)
    return np.asarray(logsumexp(logs, axis=1))


def _categories_left(
    counts: Floats,
    onehot: Floats,
    out: Floats,
    left: Floats,
    shares: Floats,
    more: float,
) -> Floats:
    """Logarithms (n, C) of what cells say of rows' categories, without these rows."""
    logs = np.zeros_like(out)
    for place in range(onehot.shape[1]):
        has = onehot[:, place] > 0
        rest = np.maximum(counts[:, place] - out[has], 0) + shares[place]
        logs[has] += np.log(rest / (left[has] + more))
    return logs
