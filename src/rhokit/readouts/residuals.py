"""The distribution of residuals in units of their spread: its quantiles and density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr
from scipy.stats import norm, t

from rhokit.readouts.conformal import offset_for_level, sorted_by_level

Floats = NDArray[np.float64]

# Bandwidths, in units of the rule of thumb, among which rows left out choose.
_WIDTHS = 2.0 ** np.arange(-1, 3.1, 0.5)
# Share and degrees of freedom of the wide distribution that is mixed in: residuals
# larger than any that were seen are possible.
_TAIL_SHARE, _TAIL_FREEDOM = 0.02, 3
# Residuals beyond so many of their spreads are taken to be there.
_FARTHEST = 50.0
# Of more residuals, so many groups of neighbours stand for all.
_MOST_KERNELS = 512


@dataclass(frozen=True, eq=False)
class Residuals:
    """A weighted sample of residuals, and the density that it is drawn from.

    Parameters
    ----------
    values, weight : arrays of shape (n,)
        Sorted; empty for the normal distribution.
    centres, shares : arrays of shape (k,)
        Of the normal kernels that make up the density.
    width : float
        Standard deviation of the kernels.
    scale : float
        Of the wide distribution that is mixed in.
    std : float
        Standard deviation of what is missed, in units of the spreads' root mean
        square: errors where spreads are small do not rule it.
    """

    values: Floats
    weight: Floats
    centres: Floats
    shares: Floats
    width: float
    scale: float
    std: float

    @classmethod
    def normal(cls) -> Self:
        """Standard normal residuals."""
        return cls(np.empty(0), np.empty(0), np.zeros(1), np.ones(1), 1.0, 1.0, 1.0)

    @classmethod
    def of(cls, missed: Floats, weight: Floats, spread: Floats | None = None) -> Self:
        """The distribution of a sample, with the width that rows left out choose.

        Parameters
        ----------
        missed : array of shape (n,)
            In units of the spreads.
        weight : array of shape (n,)
        spread : array of shape (n,), optional
            One without it.
        """
        size = np.ones(len(missed)) if spread is None else spread
        square = (size / size.max()) ** 2
        mean = (weight * square) @ missed**2 / (weight @ square)
        order = np.argsort(missed)
        values, mass = np.clip(missed[order], -_FARTHEST, _FARTHEST), weight[order]
        low, high = (
            offset_for_level(values, mass, level) for level in (0.1587, 0.8413)
        )
        scale = max((high - low) / 2, 1e-3)
        thumb = scale * len(values) ** -0.2
        squares = (values[:, None] - values) ** 2
        np.fill_diagonal(squares, np.inf)
        logs = [_left_out(squares, mass, thumb * each) for each in _WIDTHS]
        tail = np.log(_TAIL_SHARE) + t.logpdf(values / (2 * scale), _TAIL_FREEDOM)
        tail -= np.log(2 * scale)
        bulk = np.log1p(-_TAIL_SHARE)
        scores = [mass @ np.logaddexp(bulk + each, tail) for each in logs]
        width = thumb * float(_WIDTHS[int(np.argmax(scores))])
        centres, shares = _grouped(values, mass)
        std = float(np.sqrt(mean))
        return cls(values, mass, centres, shares, width, scale, std)

    @staticmethod
    def cost(count: int) -> float:
        """Bytes that :meth:`of` takes for so many, or the time of filling them."""
        return 32.0 * count**2

    def quantiles(self, levels: Floats) -> Floats:
        """Values that residuals stay below with probabilities (q,), conformal."""
        if not len(self.values):
            return np.asarray(norm.ppf(levels))
        found = [
            offset_for_level(self.values, self.weight, level)
            for level in levels.tolist()
        ]
        return sorted_by_level(np.array([found]), levels)[0]

    def interval(self, tails: Floats) -> Floats:
        """Ends that residuals lie between, as often as the levels (2,) say."""
        return self.quantiles(tails)

    def log_density(self, e: Floats) -> Floats:
        """Logarithm of the density at residuals (n,)."""
        found = np.empty(len(e))
        for start in range(0, len(e), 1000):
            own = slice(start, start + 1000)
            ratio = (e[own, None] - self.centres) / self.width
            kernels = -0.5 * ratio**2 + np.log(self.shares)
            found[own] = logsumexp(kernels, axis=1)
        found -= np.log(self.width) + 0.5 * np.log(2 * np.pi)
        if not len(self.values):
            return found
        tail = t.logpdf(e / (2 * self.scale), _TAIL_FREEDOM) - np.log(2 * self.scale)
        return np.logaddexp(np.log1p(-_TAIL_SHARE) + found, np.log(_TAIL_SHARE) + tail)

    def cdf(self, e: Floats) -> Floats:
        """Probability of a smaller residual, of any shape."""
        if not len(self.values):
            return np.asarray(ndtr(e))
        # Between the sample's steps, straight lines.
        reached = np.cumsum(self.weight) - self.weight / 2
        reached = reached / self.weight.sum()
        bulk = np.interp(e, self.values, reached, left=0.0, right=1.0)
        return np.asarray(bulk)


def _left_out(squares: Floats, mass: Floats, width: float) -> Floats:
    """Logarithm of the kernels' density at each residual, without its own."""
    logs = -0.5 * squares / width**2
    with np.errstate(divide="ignore"):
        rest = np.log(np.maximum(mass.sum() - mass, np.finfo(float).tiny))
        found = logsumexp(logs, axis=1, b=mass[None])
    return np.asarray(found - rest - np.log(width) - 0.5 * np.log(2 * np.pi))


def _grouped(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Centres and shares of at most so many groups of neighbours."""
    groups = np.arange(len(values)) * min(len(values), _MOST_KERNELS) // len(values)
    total = np.bincount(groups, mass)
    centres = np.bincount(groups, mass * values) / total
    return centres, total / total.sum()
