"""Rows drawn from a density that can only be evaluated."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from rhokit.features import distinct_rows

_ANCHORS = 256
_ROWS = 2048
_PROPOSALS_PER_ROW = 10
_LEAST_PROPOSALS = 2000
_SWEEPS = 30


@dataclass(frozen=True, eq=False)
class Proposal:
    """A mixture of normal distributions about anchor rows: roughly the data.

    Parameters
    ----------
    anchors : array of shape (a, d)
    weights : array of shape (a,), that sum to one
    widths : array of shape (a, d), standard deviations
    """

    anchors: np.ndarray
    weights: np.ndarray
    widths: np.ndarray

    @classmethod
    def from_rows(cls, rows, weights, gamma, rng):
        """Anchors drawn from the rows, as wide as the rows nearest to them spread."""
        rows, mass = distinct_rows(rows, weights, _ROWS, rng)
        rows = rows.astype(np.float64)
        count = min(_ANCHORS, len(rows))
        chosen = rng.choice(len(rows), count, replace=False, p=mass / mass.sum())
        anchors = rows[np.sort(chosen)]
        nearest = np.argmin(_squared_distances(rows, anchors), axis=1)
        share = np.zeros(count)
        spread = np.zeros((count, rows.shape[1]))
        np.add.at(share, nearest, mass)
        np.add.at(spread, nearest, mass[:, None] * (rows - anchors[nearest]) ** 2)
        # Half of the spread of all anchors, so that a lonely one is not too narrow.
        own = spread / share[:, None]
        common = np.average(own, axis=0, weights=share)
        variance = 0.5 * (own + common) + 1 / (2 * gamma)
        return cls(anchors, share / share.sum(), np.sqrt(variance))

    def draw(self, n, rng):
        """Rows (n, d) of the mixture."""
        part = rng.choice(len(self.anchors), n, p=self.weights)
        noise = rng.normal(size=(n, self.anchors.shape[1]))
        return self.anchors[part] + self.widths[part] * noise

    def log_density(self, rows):
        """Log-density of the mixture at rows (n, d), up to a constant."""
        scaled = rows[:, None, :] / self.widths - self.anchors / self.widths
        exponents = -0.5 * np.vecdot(scaled, scaled) - np.log(self.widths).sum(axis=1)
        return logsumexp(exponents, b=self.weights, axis=1)


def draw_rows(log_density, proposal, n, gamma, rng):
    """Rows (n, d) from ``exp(log_density)``, which need not be normalised.

    Importance resampling gives every chain its start; Metropolis steps, in turn from
    the proposal and by a random walk of the kernel's width, then make it exact in the
    limit of many sweeps.
    """
    rows = _resample(log_density, proposal, n, rng)
    logs = log_density(rows)
    d = rows.shape[1]
    walk = 2.4 / math.sqrt(d) / math.sqrt(2 * gamma)
    for sweep in range(_SWEEPS):
        if sweep % 2:
            candidates, correction = rows + walk * rng.normal(size=rows.shape), 0.0
        else:
            candidates = proposal.draw(n, rng)
            correction = proposal.log_density(rows) - proposal.log_density(candidates)
        candidate_logs = log_density(candidates)
        with np.errstate(invalid="ignore"):  # -inf - -inf: stay where you are
            gain = candidate_logs - logs + correction
        accepted = np.log(rng.random(n)) < gain
        rows = np.where(accepted[:, None], candidates, rows)
        logs = np.where(accepted, candidate_logs, logs)
    return rows


def _resample(log_density, proposal, n, rng):
    candidates = proposal.draw(max(_LEAST_PROPOSALS, _PROPOSALS_PER_ROW * n), rng)
    weights = log_density(candidates) - proposal.log_density(candidates)
    if not np.isfinite(weights).any():
        raise ValueError(
            "sample: the density is zero everywhere near the rows that this model "
            "was prepared with; it has moved away from them"
        )
    chances = np.exp(weights - weights.max())
    return candidates[rng.choice(len(candidates), n, p=chances / chances.sum())]


def _squared_distances(rows, anchors):
    cross = rows @ anchors.T
    return (anchors**2).sum(axis=1) - 2 * cross
