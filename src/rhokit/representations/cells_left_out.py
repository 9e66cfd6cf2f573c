"""Log-densities of mosaics at rows, each of which is taken out of its cells."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.features import MosaicFeatures
from rhokit.features.category_shares import CategoryShares, blocks_of
from rhokit.features.cell_rows import CellRows, n_quadratic
from rhokit.features.cells import centred
from rhokit.features.mixtures import CellPrior

Floats = NDArray[np.float64]

# Priors shrink with the rows that are left, by masses that are counted one by one up to
# so many different ones; of more, those between two of so many steps in a factor of two
# are taken for equal.
_MOST_MASSES, _STEPS = 32, 32
# Share of a layer's weight that is rounding.
_ROUNDING = 1e-12


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
    alike = mass
    if len(np.unique(mass)) > _MOST_MASSES:
        with np.errstate(divide="ignore"):
            alike = np.exp2(np.round(_STEPS * np.log2(mass)) / _STEPS)
    logs = np.empty(len(mass))
    for each in np.unique(alike):
        some = alike == each
        own = member[some] * mass[some, None]
        part = CellRows(rows.columns[some], rows.d)
        logs[some] = _log_without(mosaic, total, part, own, float(each))
    return logs


def _log_without(
    mosaic: MosaicFeatures, total: Floats, rows: CellRows, own: Floats, mass: float
) -> Floats:
    """Of rows of about the same mass, by their masses in the cells (n, C)."""
    q = n_quadratic(mosaic.n_numbers)
    logs = np.full(own.shape, -np.inf)
    parts = zip(mosaic.priors(), mosaic.layers, mosaic.layer_weights_, strict=True)
    for prior, cells, layer_weight in parts:
        moments, out = total[cells], own[:, cells]
        weight = moments[:, 0]
        all_rows = float(weight.sum())
        rest_of_all = max(1 - mass / all_rows, 0.0) if all_rows > 0 else 0.0
        # What forgetting leaves of a cell is rounding, and no row.
        has_rows = weight > _ROUNDING * all_rows
        moments = np.where(has_rows[:, None], moments, 0.0)
        left = np.where(weight - out > _ROUNDING * all_rows, weight - out, 0.0)
        strength = prior.strength * rest_of_all * all_rows
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_normal = _log_normal(prior, strength, moments, rows.z, out, left)
            if rows.onehot.shape[1]:
                more = prior.smoothing * rest_of_all * all_rows
                counts = np.maximum(moments[:, q:], 0)
                log_normal += _categories_left(
                    counts, rows.onehot, out, left, mosaic.shares, more
                )
            total_left = left.sum(axis=1, keepdims=True)
            each = np.log(left / total_left) + np.log(layer_weight) + log_normal
        logs[:, cells] = np.where(left > 0, each, -np.inf)
    return np.asarray(logsumexp(logs, axis=1))


def _log_normal(
    prior: CellPrior,
    strength: float,
    moments: Floats,
    z: Floats,
    out: Floats,
    left: Floats,
) -> Floats:
    r"""Logarithms (n, C) of the cells' normal densities at rows, without these.

    Without a row a cell's scatter has changed by a matrix of rank one, and the least
    variance, which counts once for every row, by a multiple of the identity: with
    eigenvectors of the rest, determinant and inverse follow for each row.
    """
    d = z.shape[1]
    mean, scatter = centred(moments, d)
    base = scatter + (strength * prior.size)[:, None, None] * prior.shape
    values, vectors = np.linalg.eigh(base)
    logs = np.empty(out.shape)
    for c, weight in enumerate(moments[:, 0]):
        known = left[:, c] + strength
        away = (z - mean[c]) @ vectors[c]
        spread = np.maximum(values[c], 0) + known[:, None] * prior.floor  # (n, d)
        distance = (away**2 / spread).sum(axis=1)
        grown = weight / left[:, c]  # the mean moves away from a row that leaves it
        rest = np.maximum(1 - out[:, c] * grown * distance, 1e-12)
        log_det = np.log(spread / known[:, None]).sum(axis=1) + np.log(rest)
        logs[:, c] = -0.5 * (
            d * np.log(2 * np.pi) + log_det + known * grown**2 * distance / rest
        )
    return logs


def _categories_left(
    counts: Floats,
    onehot: Floats,
    out: Floats,
    left: Floats,
    shares: CategoryShares,
    more: float,
) -> Floats:
    """Logarithms (n, C) of what cells say of rows' categories, without these rows."""
    logs = np.zeros_like(out)
    known, values = shares.known, more * shares.values
    for own in blocks_of(shares.sizes):
        for place in range(own.start, own.stop):
            has = onehot[:, place] > 0
            rest = np.maximum(counts[:, place] - out[has], 0) * known[place]
            logs[has] += np.log((rest + values[place]) / (left[has] + more))
        none = ~onehot[:, own].any(axis=1)
        if none.any():  # whose categories were not learned
            seen = counts[:, own].sum(axis=1) + more
            logs[none] += np.log(1 - known[own.start] * seen / (left[none] + more))
    return logs
