"""Log-densities of mosaics at rows, each of which is taken out of its cells."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.features import MosaicFeatures
from rhokit.features.cells import CellRows, n_quadratic
from rhokit.features.mixtures import CellPrior

Floats = NDArray[np.float64]

# Priors shrink with the rows that are left. They are the same for all masses between
# two steps of this many in a factor of two, which need not be told apart.
_STEPS = 8
# Share of a layer's weight that is rounding, and least share of a least variance.
_ROUNDING = 1e-12
_LEAST_SHARE = 1e-3


def log_without(
    mosaic: MosaicFeatures,
    total: Floats,
    rows: CellRows,
    member: Floats,
    mass: Floats,
) -> Floats:
    """Log-density (n,) of rows by a state's sums (C, m), each row's share left out.

    Parameters
    ----------
    mosaic : MosaicFeatures
    total : array of shape (C, m)
    rows : CellRows
    member : array of shape (n, C)
        How much rows belong to cells.
    mass : array of shape (n,)
        What each row counts.
    """
    with np.errstate(divide="ignore"):
        alike = np.exp2(np.round(_STEPS * np.log2(mass)) / _STEPS)
    logs = np.empty(len(mass))
    for each in np.unique(alike):
        some = alike == each
        own = member[some] * mass[some, None]
        logs[some] = _log_without(mosaic, total, rows.features[some], own, float(each))
    return logs


def _log_without(
    mosaic: MosaicFeatures, total: Floats, features: Floats, own: Floats, mass: float
) -> Floats:
    """Of rows of about the same mass, by their masses in the cells (n, C)."""
    q = n_quadratic(mosaic.n_numbers)
    logs = np.full((len(features), mosaic.n_cells_), -np.inf)
    parts = zip(mosaic.priors(), mosaic.layers, mosaic.layer_weights_, strict=True)
    for prior, cells, layer_weight in parts:
        moments, out = total[cells], own[:, cells]
        weight = moments[:, 0]
        all_rows = float(weight.sum())
        rest_of_all = max(1 - mass / all_rows, 0.0) if all_rows > 0 else 0.0
        prior = replace(
            prior,
            strength=prior.strength * rest_of_all,
            smoothing=prior.smoothing * rest_of_all,
        )
        left = np.where(weight - out > _ROUNDING * all_rows, weight - out, 0.0)
        args = moments, features[:, :q], out, left
        # A row is in a cell or it is not, and takes its share of the least variance.
        known = weight + prior.strength * all_rows
        shares = 1 - mass / np.maximum(known, np.finfo(float).tiny)
        less = prior.floor * np.maximum(shares, _LEAST_SHARE)[:, None]
        inside = _log_normal(replace(prior, floor=less), *args)
        log_normal = np.where(out > mass / 2, inside, _log_normal(prior, *args))
        onehot = features[:, q:]
        with np.errstate(divide="ignore", invalid="ignore"):
            if onehot.shape[1]:
                more = prior.smoothing * all_rows
                counts = np.maximum(moments[:, q:], 0)
                log_normal += _categories_left(
                    counts, onehot, out, left, more * mosaic.shares_, more
                )
            total_left = left.sum(axis=1, keepdims=True)
            each = np.log(left / total_left) + np.log(layer_weight) + log_normal
        logs[:, cells] = np.where(left > 0, each, -np.inf)
    return np.asarray(logsumexp(logs, axis=1))


def _log_normal(
    prior: CellPrior, moments: Floats, features: Floats, out: Floats, left: Floats
) -> Floats:
    """Logarithms (n, C) of the cells' normal densities at rows, without these.

    Without a row a cell's scatter has changed by a matrix of rank one, whose
    determinant and inverse follow.
    """
    weight, d = moments[:, 0], len(prior.shape)
    nothing = np.zeros(moments.shape[1] - n_quadratic(d))
    mixture = prior.mixture(moments, nothing)
    plain = replace(
        mixture,
        log_weight=np.zeros(len(weight)),
        log_shares=mixture.log_shares[:, :0],
    )
    log_det = np.linalg.slogdet(mixture.covariance)[1]
    at_mean = -0.5 * (d * np.log(2 * np.pi) + log_det)
    density = features @ plain.coefficients()
    strength = prior.strength * float(weight.sum())
    known = weight + strength
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Squared distance in units of the scatter, and of that without the row.
        distance = np.maximum(2 * (at_mean - density), 0) / known
        rest = np.maximum(1 - out * weight / left * distance, 1e-12)
        known_left = left + strength
        return np.asarray(
            at_mean
            - 0.5 * np.log(rest)
            + 0.5 * d * np.log(known_left / known)
            - 0.5 * known_left * (weight / left) ** 2 * distance / rest
        )


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
