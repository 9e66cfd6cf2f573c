"""Mixtures of Gaussian cells by expectation and maximisation, and how they are weighed.

Several mixtures of different fineness, *layers*, are fitted and mixed by what they say
of rows that were held out. A layer alone is smooth or detailed, not both; together they
are, and what one of them made of chance the others do not share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.fast import block_rows, map_blocks
from rhokit.features.category_shares import CategoryShares
from rhokit.features.cell_rows import n_quadratic
from rhokit.features.cells import CellMixture, centred, definite
from rhokit.features.starts import started
from rhokit.features.weighted_rows import WeightedRows

Floats = NDArray[np.float64]

# Numbers of cells in steps of about three; a cell has at least so many rows on average.
_LADDER = (3, 10, 30, 100, 300)
_LEAST_ROWS = 4
# Of a prior, in rows.
_STRENGTH = 3.0
# Multiplications of a step of expectation and maximisation that are worth their time;
# and where cells have fewer rows than columns, which seldom gains.
_MOST_WORK, _MOST_WORK_OF_FEW = 1e10, 3e8
_STEPS, _LAST_STEPS = 20, 5
# Rows are left out of the sums of cells that they belong to for a smaller share.
_LEAST_SHARE = 1e-9
# Nats per row that are a gain; in proportion to the columns, where these are more.
_LEAST_GAIN, _FEW_COLUMNS = 1e-2, 20
# Cells that lost their rows are dropped, and layers that hardly count.
_LEAST_WEIGHT = 1e-2
_LEAST_LAYER = 0.02
_STACKING_STEPS = 200
# Share of a layer's weight that is rounding.
_ROUNDING = 1e-12
# How fast belonging to a cell falls with squared distance, where rows are not shared.
_STEEPNESS = 1e8


@dataclass(frozen=True, eq=False)
class CellPrior:
    r"""What cells are taken to be like before they have rows.

    A covariance is that of the cell's rows and of ν rows more, of the shape that all
    cells share and of the cell's own size; and it has a width in every direction,

    .. math:: \Sigma_c = \frac{\sum_i r_{ic} (z_i - \mu_c)(z_i - \mu_c)^\top
              + \nu\, s_c B}{n_c + \nu} + h^2 I.

    ν is a share of all rows, so that rows that all count half as much, as those of a
    stream that forgets, give the same density.

    Parameters
    ----------
    strength : float
        ν over the weight of all rows.
    smoothing : float
        One row over that weight: what is added to the categories of each cell.
    shape : array of shape (d, d)
        B.
    size : array of shape (C,)
        s.
    floor : float
        h².
    """

    strength: float
    smoothing: float
    shape: Floats
    size: Floats
    floor: float

    @classmethod
    def pooled(
        cls, moments: Floats, d: int, strength: float, smoothing: float, floor: float
    ) -> Any:
        """The prior that cells of these sums (C, q) are to one another.

        A single cell has all rows, and as many again that spread alike in all columns:
        it is the background of the others, and must not be narrow anywhere.
        """
        if len(moments) == 1:
            return cls(1.0, smoothing, np.eye(d), np.ones(1), floor)
        weight = np.maximum(moments[:, 0], np.finfo(float).tiny)
        _, scatter = centred(moments, d)
        places = np.arange(d)
        covariance = scatter / weight[:, None, None]
        covariance[:, places, places] = (
            np.maximum(covariance[:, places, places], 0) + floor
        )
        variance = covariance[:, places, places]
        root = np.sqrt(variance)
        correlation = covariance / (root[:, :, None] * root[:, None, :])
        logs = np.log(variance)
        size = logs.mean(axis=1) if d else np.zeros(len(weight))
        share = weight / weight.sum()
        widths = np.exp(share @ (logs - size[:, None]) / 2)
        shape = (share @ correlation.reshape(len(share), -1)).reshape(d, d)
        shape *= np.outer(widths, widths)
        return cls(strength, smoothing, shape, np.exp(size), floor)

    def mixture(self, moments: Floats, shares: CategoryShares) -> CellMixture:
        """The mixture of sums of features (C, q + w), with weights that sum to one.

        Parameters
        ----------
        moments : array of shape (C, q + w)
        shares : CategoryShares
            Among all rows: each cell has one row of them more.
        """
        d = len(self.shape)
        weight = np.maximum(moments[:, 0], 0.0)
        all_rows = max(float(weight.sum()), np.finfo(float).tiny)
        # What forgetting leaves of a cell is rounding, and no row.
        weight = np.where(weight > _ROUNDING * all_rows, weight, 0.0)
        moments = np.where(weight[:, None] > 0, moments, 0.0)
        mean, scatter = centred(moments, d)
        strength = self.strength * all_rows
        known = weight + strength
        known = np.where(known > 0, known, 1.0)[:, None, None]
        prior = (strength * self.size)[:, None, None] * self.shape
        covariance = (scatter + prior) / known
        places = np.arange(d)
        covariance[:, places, places] = (
            np.maximum(covariance[:, places, places], 0) + self.floor
        )
        counts = np.maximum(moments[:, n_quadratic(d) :], 0)
        with np.errstate(divide="ignore"):
            log_weight = np.log(weight / all_rows)
            more = self.smoothing * all_rows
            own = shares.known * counts + more * shares.values
            log_shares = np.log(own / (weight[:, None] + more))
        return CellMixture(
            log_weight, mean, definite(covariance), log_shares, shares.sizes
        )


@dataclass(frozen=True, eq=False)
class Layer:
    """A mixture as sums of its rows' features, and the prior that goes with it.

    Parameters
    ----------
    moments : array of shape (C, q + w)
    prior : CellPrior
    n_cells : int
        How many cells it began with.
    """

    moments: Floats
    prior: CellPrior
    n_cells: int

    def mixture(self, shares: CategoryShares) -> CellMixture:
        """The mixture itself."""
        return self.prior.mixture(self.moments, shares)

    def router(self, shares: CategoryShares) -> Floats:
        """Coefficients (q + w, C) of the logarithms by which rows belong to cells."""
        return self.mixture(shares).coefficients()


@dataclass(frozen=True, eq=False)
class KernelLayer(Layer):
    """Cells that rows belong to as a whole, the nearest one.

    Of the kernel density estimate of a cell's rows, a normal distribution with the
    covariance of these rows and the kernel's has the same mean and covariance.
    """

    def router(self, shares: CategoryShares) -> Floats:
        """Distances, so steep that the nearest cell takes all."""
        d = len(self.prior.shape)
        mean, _ = centred(self.moments, d)
        narrow = np.broadcast_to(np.eye(d) / _STEEPNESS, (len(mean), d, d))
        nothing = np.zeros((len(mean), len(shares)))
        return CellMixture(np.zeros(len(mean)), mean, narrow, nothing).coefficients()


def fit_layer(
    rows: WeightedRows,
    n_cells: int,
    strength: float,
    floor: float,
    shares: CategoryShares,
    rng: np.random.Generator,
    steps: int = _STEPS,
) -> Layer:
    """A mixture of about so many cells, begun by k-means."""
    moments, mass = started(rows, n_cells, rng), rows.mass.sum()
    prior = CellPrior.pooled(moments, rows.z.shape[1], strength / mass, 1 / mass, floor)
    return improve_layer(Layer(moments, prior, n_cells), rows, shares, steps)


def fit_layers(
    rows: WeightedRows,
    n_cells: int,
    strengths: Sequence[float],
    floor: float,
    shares: CategoryShares,
    rng: np.random.Generator,
    *,
    held: bool,
) -> list[Layer]:
    """Mixtures of about so many cells for each of these strengths of priors.

    Each is begun by k-means of its own, since layers that differ say more together. But
    if it is ``held``, that without a prior begins where the strongest one has left its
    cells: it is sooner there, and of few rows makes less of chance.
    """
    found: dict[float, Layer] = {}
    for strength in sorted(strengths, reverse=True):
        if strength or not (found and held):
            found[strength] = fit_layer(rows, n_cells, strength, floor, shares, rng)
        else:
            strongest = found[max(strengths)]
            smoothing = strongest.prior.smoothing
            prior = CellPrior.pooled(
                strongest.moments, rows.z.shape[1], 0.0, smoothing, floor
            )
            free = replace(strongest, prior=prior)
            found[strength] = improve_layer(free, rows, shares)
    return [found[strength] for strength in strengths]


def kernel_layer(
    rows: WeightedRows, n_cells: int, floor: float, rng: np.random.Generator
) -> KernelLayer:
    """Cells of k-means, as wide as their rows spread and a kernel does."""
    moments = started(rows, n_cells, rng)
    prior = CellPrior.pooled(moments, rows.z.shape[1], 0.0, 1 / rows.mass.sum(), floor)
    if n_cells == 1:
        prior = replace(prior, strength=0.0)
    return KernelLayer(moments, prior, n_cells)


def improve_layer(
    layer: Layer, rows: WeightedRows, shares: CategoryShares, steps: int = _LAST_STEPS
) -> Layer:
    """Steps of expectation and maximisation, until they gain little."""
    before, d, known = -np.inf, rows.z.shape[1], layer.prior
    for _ in range(steps):
        moments, likelihood = _step(rows, layer.mixture(shares).coefficients())
        moments = moments[moments[:, 0] > _LEAST_WEIGHT]
        prior = CellPrior.pooled(
            moments, d, known.strength, known.smoothing, known.floor
        )
        layer = replace(layer, moments=moments, prior=prior)
        if likelihood - before < _LEAST_GAIN * max(1.0, d / _FEW_COLUMNS):
            break
        before = likelihood
    return layer


def _step(rows: WeightedRows, coefficients: Floats) -> tuple[Floats, float]:
    """Sums of features by the cells that rows belong to, and the mean log-density."""
    sums: dict[int, Any] = {}
    size, heaviest = block_rows(max(coefficients.shape)), rows.mass.max()

    def work(worker: int, block: slice) -> float:
        own, mass = rows.cell_rows(block), rows.mass[block]
        logits = own.values(coefficients)
        top = logits.max(axis=1)
        logits -= top[:, None]
        np.exp(logits, out=logits)
        total = logits.sum(axis=1)
        logits *= (mass / total)[:, None]
        sums[worker] = sums.get(worker, 0) + own.sums(logits, _LEAST_SHARE * heaviest)
        return float(mass @ (np.log(total) + top))

    likelihood = sum(map_blocks(work, len(rows), size)) / rows.mass.sum()
    return np.asarray(sum(sums[worker] for worker in sorted(sums))), likelihood


def settings(
    n_rows: int, d: int, n_cells: int | None
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Numbers of cells that are worth a try, with strengths of priors for each.

    Where a number of cells is given, it is that, and a background of one cell.
    """
    yield 1, (0.0,)
    if n_cells is not None:
        if 1 < n_cells <= n_rows:
            yield n_cells, (_STRENGTH,)
        return
    q = n_quadratic(d)
    for rung in _LADDER:
        most = _MOST_WORK_OF_FEW if d * rung > n_rows else _MOST_WORK
        too_slow = 4.0 * n_rows * q * rung > most and rung > 3
        if _LEAST_ROWS * rung > n_rows or too_slow:
            return
        yield rung, (0.0, _STRENGTH, d + 1.0)


def stacked_weights(logs: Floats, mass: Floats) -> Floats:
    """Weights (L,) of layers whose mixture is likeliest, of log-densities (n, L).

    One row more belongs to all layers alike, so that none is ruled out by chance.
    """
    n_layers = logs.shape[1]
    weights = np.full(n_layers, 1 / n_layers)
    # Relative to the best layer of each row: some term is one, so that no sum is zero.
    ratios = np.exp(logs - logs.max(axis=1, keepdims=True))
    for _ in range(_STACKING_STEPS):
        counts = weights * ((mass / (ratios @ weights)) @ ratios) + 1 / n_layers
        weights = counts / counts.sum()
    return weights


def worthwhile(weights: Floats) -> NDArray[np.bool_]:
    """Which layers count, of their weights (L,): the first, a background, always."""
    is_first = np.arange(len(weights)) == 0
    return np.asarray(is_first | (weights >= _LEAST_LAYER))


__all__ = [
    "CellPrior",
    "KernelLayer",
    "Layer",
    "fit_layer",
    "fit_layers",
    "improve_layer",
    "kernel_layer",
    "settings",
    "stacked_weights",
    "worthwhile",
]
