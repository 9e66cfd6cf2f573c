"""Scores of leave-one-out predictions: what a supervised model tries to do well."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import onehot_states, scoring
from rhokit.core.distributions import quantiles
from rhokit.features import SoftmaxFeatures
from rhokit.plans.leave_one_out import LeaveOneOut, Overlaps
from rhokit.plans.spread import ColumnSpread, power_of_two

Floats = NDArray[np.float64]
# Mean squared errors below this are none.
_LEAST_ERROR = 1e-12


class ClassScore:
    """Share of rows that get their own class, and log-likelihood of the classes.

    Both are proper scores, and so is any sum of them. Accuracy moves in steps of a
    row: the fewer rows the commonest class leaves to be told apart, the less it says,
    and the more the likelihood counts. Of n rows without a mistake, three in n may yet
    be mistaken (the 95 % bound): so many are taken to be of any class, which makes
    probabilities that are more certain than n rows can tell no better.

    Parameters
    ----------
    n_classes : int
    """

    # So much of the likelihood where accuracy says enough, twice as much where the
    # answer that is always the commonest class misses so few rows, and by their
    # square the more, the fewer they are.
    _LIKELIHOOD_SHARE = 0.02
    _FEW_MISSES = 100
    # So much of the classes' shares of the rows is mixed in: a class that was thought
    # impossible costs a finite amount, and the more, the rarer it is.
    _PRIOR_SHARE = 1e-3
    _DOUBTED_ROWS = 3

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def evidence(self, target: NDArray[Any]) -> Floats:
        """One-hot classes."""
        return np.asarray(onehot_states(target, self.n_classes))

    def strata(self, target: NDArray[Any]) -> NDArray[np.intp]:
        """The classes, where one has less than half of an equal part of the rows."""
        counts = np.bincount(target)
        counts = counts[counts > 0]
        is_rare = 2 * len(counts) * counts < len(target)
        return np.asarray(target) if is_rare.any() else np.zeros(len(target), int)

    def score(self, gathered: Floats, target: NDArray[Any], weight: Floats) -> float:
        """Accuracy, and of the log-likelihood the more, the less accuracy says."""
        found = probabilities(gathered)
        right = found.argmax(axis=1) == target
        counts = np.bincount(target, weight, self.n_classes).astype(float)
        mixed, shares = self._smoothed(found, self.evidence(target), counts)
        logs = np.log(np.maximum(mixed, np.finfo(float).tiny))
        likelihood = np.vecdot(logs, shares)
        misses = max(counts.sum() - counts.max(), np.finfo(float).eps)
        share = self._LIKELIHOOD_SHARE * (1 + (self._FEW_MISSES / misses) ** 2)
        return float(np.average(right + share * likelihood, weights=weight))

    def loss(
        self, gathered: Floats, truth: Floats, weight: Floats
    ) -> tuple[float, Floats]:
        """Log-loss, smoothed as the score is, and its slope (n, C)."""
        found = probabilities(gathered)
        mixed, shares = self._smoothed(found, truth, weight @ truth)
        safe = np.maximum(mixed, np.finfo(float).tiny)
        part = (weight / weight.sum())[:, None]
        slope = -(1 - self._PRIOR_SHARE) * part * shares / safe
        value = -float((part * shares * np.log(safe)).sum())
        return value, _of_shares(slope, found, gathered)

    def _smoothed(
        self, found: Floats, truth: Floats, counts: Floats
    ) -> tuple[Floats, Floats]:
        """Probabilities with the priors mixed in, and the doubted truth (n, C)."""
        prior = counts / counts.sum()
        doubted = self._DOUBTED_ROWS / (self._DOUBTED_ROWS + counts.sum())
        mixed = found + self._PRIOR_SHARE * (prior - found)
        return mixed, truth + doubted * (prior - truth)


class OrderedScore(ClassScore):
    """Ranked probability score of ordered classes: squared error of their CDF."""

    def score(self, gathered: Floats, target: NDArray[Any], weight: Floats) -> float:
        """Less the squared distance of the cumulative probabilities."""
        error = scoring.ranked_errors(probabilities(gathered), target)
        return -float(np.average(error, weights=weight))

    def loss(
        self, gathered: Floats, truth: Floats, weight: Floats
    ) -> tuple[float, Floats]:
        """Half the logarithm of the ranked probability score, and its slope (n, C)."""
        found = probabilities(gathered)
        error = (found - truth).cumsum(axis=1)
        part = (weight / weight.sum())[:, None]
        mean = max(float((part * error**2).sum()), _LEAST_ERROR)
        slope = (part * error / mean)[:, ::-1].cumsum(axis=1)[:, ::-1]
        return float(np.log(mean)) / 2, _of_shares(slope, found, gathered)


class ValueScore:
    """Squared error of the mean, of targets in units of their spread.

    Parameters
    ----------
    target : array of shape (n, t)
        Targets to take centre and spread from.
    weight : array of shape (n,)
    """

    def __init__(self, target: Floats, weight: Floats | None) -> None:
        mass = np.ones(len(target)) if weight is None else weight
        columns = ColumnSpread.of(target[mass > 0], mass[mass > 0])
        self._columns = columns
        self._spread = np.where(columns.spread > 0, columns.spread, 1)

    def evidence(self, target: NDArray[Any]) -> Floats:
        """One, and the targets."""
        centred = target - self._columns.centre - self._columns.remainder
        scaled = centred / self._spread
        return np.column_stack([np.ones(len(target)), scaled])

    def strata(self, target: NDArray[Any]) -> NDArray[np.intp]:
        """A single one: values have no classes."""
        return np.zeros(len(target), int)

    def score(self, gathered: Floats, target: NDArray[Any], weight: Floats) -> float:
        """Less the mean squared error."""
        error = (self._errors(gathered, self.evidence(target)) ** 2).mean(axis=1)
        return -float(np.average(error, weights=weight))

    def loss(
        self, gathered: Floats, truth: Floats, weight: Floats
    ) -> tuple[float, Floats]:
        """Half the logarithm of the mean squared error, and its slope (n, C)."""
        error = self._errors(gathered, truth)
        part = (weight / weight.sum())[:, None] / error.shape[1]
        square = max(float((part * error**2).sum()), _LEAST_ERROR)
        total = gathered[:, :1]
        seen = total > 0
        safe = np.where(seen, total, 1)
        by_mean = np.where(seen, part * error / (square * safe), 0)
        by_total = -np.vecdot(by_mean, gathered[:, 1:] / safe)
        return float(np.log(square)) / 2, np.column_stack([by_total, by_mean])

    def _errors(self, gathered: Floats, truth: Floats) -> Floats:
        """Local means less the targets, (n, t), in units of their spread."""
        total = gathered[:, :1]
        safe = np.where(total > 0, total, 1)
        mean = np.where(total > 0, gathered[:, 1:] / safe, 0)
        return np.asarray(mean - truth[:, 1:])


class LevelScore:
    """Squared error of the mean over levels, of targets in units of their range.

    Parameters
    ----------
    output_maps : list of SoftmaxFeatures
        One per target, fitted.
    """

    _LEVELS_OF_QUANTILES = np.arange(1, 20) / 20

    def __init__(self, output_maps: Sequence[SoftmaxFeatures]) -> None:
        self._maps = output_maps

    def evidence(self, target: NDArray[Any]) -> Floats:
        """Probabilities of every level of every target."""
        parts = [
            output.states(target[:, column : column + 1]) ** 2
            for column, output in enumerate(self._maps)
        ]
        return np.concatenate(parts, axis=1)

    def strata(self, target: NDArray[Any]) -> NDArray[np.intp]:
        """A single one: values have no classes."""
        return np.zeros(len(target), int)

    def score(self, gathered: Floats, target: NDArray[Any], weight: Floats) -> float:
        """Less the mean squared error."""
        errors = [
            (found @ levels - truth) ** 2 / width**2
            for found, levels, width, truth in self._by_target(gathered, target)
        ]
        return -float(np.average(np.mean(errors, axis=0), weights=weight))

    def quantile_loss(
        self, gathered: Floats, target: NDArray[Any], weight: Floats
    ) -> float:
        """Mean loss of quantiles at many shares: how good whole distributions are."""
        losses = []
        for found, levels, width, truth in self._by_target(gathered, target):
            values = quantiles(found, levels, self._LEVELS_OF_QUANTILES)
            loss = scoring.quantile_losses(truth, values, self._LEVELS_OF_QUANTILES)
            losses.append(loss.mean(axis=1) / width)
        return float(np.average(np.mean(losses, axis=0), weights=weight))

    def _by_target(
        self, gathered: Floats, target: NDArray[Any]
    ) -> Iterator[tuple[Floats, Floats, float, Floats]]:
        """Distribution, levels, width of the range and truth of every target."""
        parts = np.split(gathered, len(self._maps), axis=1)
        for output, part, truth in zip(self._maps, parts, target.T, strict=True):
            levels = output.landmarks_[:, 0]
            # In units that round nothing, and whose squares are numbers.
            unit = power_of_two(levels[-1] - levels[0])
            levels, truth = levels / unit, truth / unit
            width = max(levels[-1] - levels[0], np.finfo(float).tiny)
            yield probabilities(part), levels, width, truth


def probabilities(gathered: Floats) -> Floats:
    """Non-negative evidence as probabilities; all equal where there is none."""
    total = gathered.sum(axis=1, keepdims=True)
    some = total > 0
    even = np.full_like(gathered, 1 / gathered.shape[1])
    return np.asarray(np.where(some, gathered / np.where(some, total, 1), even))


def _of_shares(slope: Floats, found: Floats, gathered: Floats) -> Floats:
    """The slope by gathered evidence (n, C), from that by its shares."""
    total = gathered.sum(axis=1, keepdims=True)
    seen = total > 0
    centred = slope - np.vecdot(slope, found)[:, None]
    return np.asarray(np.where(seen, centred / np.where(seen, total, 1), 0))


def quantile_losses(
    tasks: Sequence[LevelScore],
    loo: LeaveOneOut,
    overlaps: Callable[[NDArray[np.intp]], Overlaps],
) -> list[float]:
    """Mean loss of quantiles predicted for rows left out, for each task."""
    probes = loo.probes()
    evidence = [loo.evidence(task.evidence) for task in tasks]
    gathered = loo.gather(overlaps(probes), probes, np.concatenate(evidence, axis=1))
    stops = np.cumsum([part.shape[1] for part in evidence])[:-1]
    which, target, weight = loo.members(probes)
    return [
        task.quantile_loss(part[which], target, weight)
        for task, part in zip(tasks, np.split(gathered, stops, axis=1), strict=True)
    ]
