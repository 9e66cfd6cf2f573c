"""Rows drawn from a density that can only be evaluated."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rhokit.core import GaussianKernel
from rhokit.features import distinct_rows
from rhokit.frames import Schema
from rhokit.plans.scaling import Scaling

_ANCHORS = 256
_ROWS = 2048
_PROPOSALS_PER_ROW = 10
_LEAST_PROPOSALS = 2000
_SWEEPS = 30
# Categories that a proposal does not take over from its anchor.
_REDRAWN = 0.2
# Differences between rows and anchors that are there at once, in the cache.
_BLOCK_NUMBERS = 2**17


class Draws(Protocol):
    """Distribution of candidates, and how likely each of them is there."""

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Rows (n, d)."""

    def walk(
        self, rows: NDArray[Any], step: float, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Rows (n, d) after a random step."""

    def log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Log-density of what is drawn at rows (n, d), up to a constant."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A mixture of normal distributions about anchor rows: roughly the data.

    Parameters
    ----------
    anchors : array of shape (a, d)
    weights : array of shape (a,), that sum to one
    widths : array of shape (a, d), standard deviations
    """

    anchors: NDArray[np.float64]
    weights: NDArray[np.float64]
    widths: NDArray[np.float64]

    @classmethod
    def from_rows(
        cls,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        gamma: float,
        rng: np.random.Generator,
    ) -> "Proposal":
        """Anchors drawn from the rows, as wide as the rows nearest to them spread."""
        rows, mass = distinct_rows(rows, weights, _ROWS, rng)
        rows = rows.astype(np.float64)
        count = min(_ANCHORS, len(rows))
        chosen = rng.choice(len(rows), count, replace=False, p=mass / mass.sum())
        anchors = rows[np.sort(chosen)]
        # Squared distances, but for what all anchors share.
        farness = (anchors**2).sum(axis=1) - 2 * (rows @ anchors.T)
        nearest = np.argmin(farness, axis=1)
        share = np.zeros(count)
        spread = np.zeros((count, rows.shape[1]))
        np.add.at(share, nearest, mass)
        np.add.at(spread, nearest, mass[:, None] * (rows - anchors[nearest]) ** 2)
        # Half of the spread of all anchors, so that a lonely one is not too narrow.
        own = spread / share[:, None]
        common = np.average(own, axis=0, weights=share)
        variance = 0.5 * (own + common) + GaussianKernel(gamma).bandwidth ** 2
        return cls(anchors, share / share.sum(), np.sqrt(variance))

    def marginal(self, places: list[int], old: Scaling, new: Scaling) -> "Proposal":
        """The mixture of some columns, scaled by ``new`` instead of by ``old``."""
        anchors = new.apply(old.invert(self.anchors)[:, places])
        if old.by_columns:
            return Proposal(anchors, self.weights, self.widths[:, places])
        back = old.inverse[:, places] @ new.matrix
        return Proposal(anchors, self.weights, np.sqrt(self.widths**2 @ back**2))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Rows (n, d) of the mixture."""
        part = rng.choice(len(self.anchors), n, p=self.weights)
        noise = rng.normal(size=(n, self.anchors.shape[1]))
        return np.asarray(self.anchors[part] + self.widths[part] * noise)

    def walk(
        self, rows: NDArray[Any], step: float, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Rows (n, d) after a step at random of this width in all columns."""
        step *= 2.4 / math.sqrt(rows.shape[1])
        return rows + step * rng.normal(size=rows.shape)

    def log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Log-density of the mixture at rows (n, d), up to a constant."""
        return _by_blocks(self._log_density, rows, self.anchors.size)

    def _log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        scaled = rows[:, None, :] / self.widths - self.anchors / self.widths
        exponents = -0.5 * np.vecdot(scaled, scaled) - np.log(self.widths).sum(axis=1)
        return _log_mixture(exponents, self.weights)


@dataclass(frozen=True, eq=False)
class MixedProposal:
    """A proposal where some columns are categories, which stay or are drawn evenly.

    Parameters
    ----------
    proposal : Proposal
        Of wide rows, whose categories' columns are not scaled.
    schema : Schema
    """

    proposal: Proposal
    schema: Schema

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Wide rows (n, d): numbers of the mixture, categories mostly the anchors'."""
        proposal, is_number = self.proposal, self.schema.is_number
        part = rng.choice(len(proposal.anchors), n, p=proposal.weights)
        rows = proposal.anchors[part]
        noise = rng.normal(size=(n, int(is_number.sum())))
        rows[:, is_number] += proposal.widths[part][:, is_number] * noise
        return self._redrawn(rows, _REDRAWN, rng)

    def walk(
        self, rows: NDArray[Any], step: float, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Wide rows after a step of the numbers, and some categories drawn anew."""
        is_number = self.schema.is_number
        count = int(is_number.sum())
        moved = rows.copy()
        step *= 2.4 / math.sqrt(max(count, 1))
        moved[:, is_number] += step * rng.normal(size=(len(rows), count))
        share = 1 / (2 * len(self.schema.category_columns()))
        return self._redrawn(moved, share, rng)

    def log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Log-density of what :meth:`draw` draws, up to a constant."""
        return _by_blocks(self._log_density, rows, self.proposal.anchors.size)

    def _log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        is_number = self.schema.is_number
        anchors = self.proposal.anchors
        widths = self.proposal.widths[:, is_number]
        scaled = rows[:, None, is_number] / widths - anchors[:, is_number] / widths
        exponents = -0.5 * np.vecdot(scaled, scaled) - np.log(widths).sum(axis=1)
        for column in self.schema.category_columns():
            same = self._codes(column, rows)[:, None] == self._codes(column, anchors)
            count = len(self.schema.states(column))
            chance = np.where(same, 1 - _REDRAWN, 0) + _REDRAWN / count
            exponents += np.log(chance)
        return _log_mixture(exponents, self.proposal.weights)

    def _codes(self, column: int, rows: NDArray[Any]) -> NDArray[np.intp]:
        return self.schema.nearest(column, rows)

    def _redrawn(
        self, rows: NDArray[Any], share: float, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Rows with each category a state of its own, a share of them any."""
        for column in self.schema.category_columns():
            states = self.schema.states(column)
            codes = self._codes(column, rows)
            any_code = rng.integers(len(states), size=len(rows))
            codes = np.where(rng.random(len(rows)) < share, any_code, codes)
            rows[:, self.schema.blocks[column]] = states[codes]
        return rows


def _log_mixture(
    exponents: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logarithms of ``exp(exponents) @ weights``, for exponents (n, a) of any size."""
    if not weights.all():
        exponents, weights = exponents[:, weights > 0], weights[weights > 0]
    top = exponents.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.exp(exponents - top[:, None]) @ weights
        logs = np.log(shares) + top
    return np.where(top == -np.inf, -np.inf, logs)


LogDensity = Callable[[NDArray[Any]], NDArray[np.float64]]


def _by_blocks(
    log_density: LogDensity, rows: NDArray[Any], numbers_per_row: int
) -> NDArray[np.float64]:
    """Log-densities of few rows at once, each of which takes so many numbers."""
    size = max(1, _BLOCK_NUMBERS // numbers_per_row)
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return np.concatenate([log_density(block) for block in blocks])


def draw_rows(
    log_density: LogDensity,
    proposal: Draws,
    n: int,
    gamma: float,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Rows (n, d) from ``exp(log_density)``, which need not be normalised.

    Importance resampling gives every chain its start; Metropolis steps, in turn from
    the proposal and by a random walk of the kernel's width, then make it exact in the
    limit of many sweeps.
    """
    rows = _resample(log_density, proposal, n, rng)
    logs = log_density(rows)
    step = GaussianKernel(gamma).bandwidth
    for sweep in range(_SWEEPS):
        correction: Any = 0.0
        if sweep % 2:
            candidates = proposal.walk(rows, step, rng)
        else:
            candidates = proposal.draw(n, rng)
            here_and_there = proposal.log_density(np.concatenate([rows, candidates]))
            correction = here_and_there[:n] - here_and_there[n:]
        candidate_logs = log_density(candidates)
        with np.errstate(invalid="ignore"):  # -inf - -inf: stay where you are
            gain = candidate_logs - logs + correction
        accepted = np.log(rng.random(n)) < gain
        rows = np.where(accepted[:, None], candidates, rows)
        logs = np.where(accepted, candidate_logs, logs)
    return rows


def _resample(
    log_density: LogDensity, proposal: Draws, n: int, rng: np.random.Generator
) -> NDArray[Any]:
    candidates = proposal.draw(max(_LEAST_PROPOSALS, _PROPOSALS_PER_ROW * n), rng)
    weights = log_density(candidates) - proposal.log_density(candidates)
    if not np.isfinite(weights).any():
        raise ValueError(
            "sample: the density is zero everywhere near the rows that this model "
            "was prepared with; it has moved away from them"
        )
    probabilities = np.exp(weights - weights.max())
    probabilities /= probabilities.sum()
    return candidates[rng.choice(len(candidates), n, p=probabilities)]
