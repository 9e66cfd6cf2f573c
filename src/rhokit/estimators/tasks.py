"""What a supervised model tries to do well: how leave-one-out is scored."""

from typing import Protocol

import numpy as np

from rhokit.core import onehot_states
from rhokit.core.distributions import quantiles


class Task(Protocol):
    """From the targets of rows to evidence that adds up, and from that to a score."""

    def evidence(self, target) -> np.ndarray:
        """What each row adds to its neighbours, shape (n, C)."""

    def score(self, gathered, target, weight) -> float:
        """How good predictions from gathered evidence (n, C) are; more is better."""


class Classes:
    """Share of rows that get their own class; of equals, the better probabilities.

    Parameters
    ----------
    n_classes : int
    """

    # Accuracy moves in steps of a row; this much of the likelihood breaks its ties.
    _LIKELIHOOD_SHARE = 0.02
    _LEAST = 1e-3

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def evidence(self, target):
        """One-hot classes."""
        return onehot_states(target, self.n_classes)

    def score(self, gathered, target, weight):
        """Accuracy, and a little of the log-likelihood."""
        chances = shares(gathered)
        own = chances[np.arange(len(target)), target]
        right = chances.argmax(axis=1) == target
        likelihood = np.log(np.maximum(own, self._LEAST))
        return float(
            np.average(right + self._LIKELIHOOD_SHARE * likelihood, weights=weight)
        )


class OrderedClasses(Classes):
    """Ranked probability score of ordered classes: squared error of their CDF."""

    def score(self, gathered, target, weight):
        """Less the squared distance of the cumulative probabilities."""
        steps = np.arange(self.n_classes) >= target[:, None]
        error = ((shares(gathered).cumsum(axis=1) - steps) ** 2).sum(axis=1)
        return -float(np.average(error, weights=weight))


class Values:
    """Squared error of the mean, of targets in units of their spread.

    Parameters
    ----------
    target : array of shape (n, t)
        Targets to take centre and spread from.
    weight : array of shape (n,)
    """

    def __init__(self, target, weight):
        self._centre = np.average(target, axis=0, weights=weight)
        spread = np.sqrt(
            np.average((target - self._centre) ** 2, axis=0, weights=weight)
        )
        self._spread = np.where(spread > 0, spread, 1)

    def evidence(self, target):
        """One, and the targets."""
        scaled = (target - self._centre) / self._spread
        return np.column_stack([np.ones(len(target)), scaled])

    def score(self, gathered, target, weight):
        """Less the mean squared error."""
        total = gathered[:, :1]
        safe = np.where(total > 0, total, 1)
        mean = np.where(total > 0, gathered[:, 1:] / safe, 0)
        error = ((mean - self.evidence(target)[:, 1:]) ** 2).mean(axis=1)
        return -float(np.average(error, weights=weight))


class Levels:
    """Squared error of the mean over levels, of targets in units of their range.

    Parameters
    ----------
    output_maps : list of SoftmaxFeatures
        One per target, fitted.
    """

    _SHARES = np.arange(1, 20) / 20

    def __init__(self, output_maps):
        self._maps = output_maps

    def evidence(self, target):
        """Shares of every level of every target."""
        parts = [
            output.states(target[:, column : column + 1]) ** 2
            for column, output in enumerate(self._maps)
        ]
        return np.concatenate(parts, axis=1)

    def score(self, gathered, target, weight):
        """Less the mean squared error."""
        errors = [
            (chances @ levels - truth) ** 2 / width**2
            for chances, levels, width, truth in self._by_target(gathered, target)
        ]
        return -float(np.average(np.mean(errors, axis=0), weights=weight))

    def quantile_loss(self, gathered, target, weight):
        """Mean loss of quantiles at many shares: how good whole distributions are."""
        losses = []
        for chances, levels, width, truth in self._by_target(gathered, target):
            error = truth[:, None] - quantiles(chances, levels, self._SHARES)
            loss = np.maximum(self._SHARES * error, (self._SHARES - 1) * error)
            losses.append(loss.mean(axis=1) / width)
        return float(np.average(np.mean(losses, axis=0), weights=weight))

    def _by_target(self, gathered, target):
        """Distribution, levels, width of the range and truth of every target."""
        parts = np.split(gathered, len(self._maps), axis=1)
        for output, part, truth in zip(self._maps, parts, target.T, strict=True):
            levels = output.landmarks_[:, 0]
            width = max(levels[-1] - levels[0], np.finfo(float).tiny)
            yield shares(part), levels, width, truth


def shares(gathered):
    """Non-negative evidence as probabilities; all equal where there is none."""
    total = gathered.sum(axis=1, keepdims=True)
    some = total > 0
    even = np.full_like(gathered, 1 / gathered.shape[1])
    return np.where(some, gathered / np.where(some, total, 1), even)
