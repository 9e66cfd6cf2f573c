"""What a correction of a blend's ridge regression is trained for."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from torch import Tensor

from rhokit.core.losses import mean_over_rows
from rhokit.features.links import Link, Told
from rhokit.nn.tasks import TrainingTask

Floats = NDArray[np.float64]

# Degrees of freedom of Student's t, as for the spreads of a blend: outliers do not
# rule it.
_FREEDOM = 4.0
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What is told of rows that are left out, and their truth.

    Parameters
    ----------
    link : Link
    prior : array of shape (K,)
    told : Told
    features : array of shape (n, F)
        Whitened.
    truth : array of shape (n, K)
    weight : array of shape (n,)
    """

    link: Link
    prior: Floats
    told: Told
    features: Floats
    truth: Floats
    weight: Floats

    @classmethod
    def of(
        cls,
        link: Link,
        prior: Floats,
        parts: Sequence[tuple[Floats, Told]],
        truth: Floats,
        weight: Floats,
    ) -> Self:
        """From features and what is told, block by block."""
        features, told = zip(*parts, strict=True)
        joined = Told(*(_joined(told, each.name) for each in fields(Told)))
        return cls(link, prior, joined, np.concatenate(features), truth, weight)

    def moved(self, change: Floats) -> Self:
        """With a ridge regression whose coefficients differ by so much (F, K)."""
        ridge = self.told.ridge + self.features @ change
        return replace(self, told=replace(self.told, ridge=ridge))

    def logs(self) -> Floats:
        """Logarithms (n, K) of what outcomes measure, without priors."""
        return self.link.logs(self.told, self.prior)


@dataclass(frozen=True, eq=False)
class Correction(ABC):
    """How a correction changes answers, and what it is trained for.

    Parameters
    ----------
    say : float
        What the link multiplies the ridge regression with.
    """

    say: float

    @classmethod
    @abstractmethod
    def of(cls, rows: LeftOut, task: TrainingTask) -> Self:
        """For rows that are trained on."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Numbers that are learned for every feature."""

    @abstractmethod
    def start(self, rows: LeftOut) -> tuple[Floats, ...]:
        """What the start says of rows, each (n, ...)."""

    @abstractmethod
    def target(self, rows: LeftOut) -> NDArray[Any]:
        """Targets as the loss takes them, shape (n,)."""

    @abstractmethod
    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        """Mean loss of corrections (n, q) of a start."""

    @abstractmethod
    def losses(self, rows: LeftOut) -> Floats:
        """Loss of each row (n,) by the answers of the blend itself."""

    @abstractmethod
    def spread(self, learned: Floats) -> Floats:
        """Coefficients of the ridge regression (F, K) from what was learned (F, q)."""


@dataclass(frozen=True, eq=False)
class ClassCorrection(Correction):
    """Of logits, by cross-entropy."""

    n_classes: int
    task: TrainingTask

    @classmethod
    def of(cls, rows: LeftOut, task: TrainingTask) -> Self:
        return cls(rows.link.coefficients[0, 0], rows.truth.shape[1], task)

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    def start(self, rows: LeftOut) -> tuple[Floats, ...]:
        # Priors of choice are no part of it: these are the shares of the rows.
        log_prior = np.log(np.maximum(rows.prior, _LEAST))
        return (log_softmax(rows.logs() + log_prior, axis=1),)

    def target(self, rows: LeftOut) -> NDArray[Any]:
        return rows.truth.argmax(axis=1)

    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        correction, (start,) = output
        logs = torch.log_softmax(start + correction, dim=-1)
        return self.task.loss(logs, target, weight)

    def losses(self, rows: LeftOut) -> Floats:
        (logs,) = self.start(rows)
        return -np.take_along_axis(logs, self.target(rows)[:, None], axis=1)[:, 0]

    def spread(self, learned: Floats) -> Floats:
        return learned / self.say


@dataclass(frozen=True, eq=False)
class ValueCorrection(Correction):
    """Of means: by the likelihood of Student's t, and by the squared error.

    Parameters
    ----------
    error : float
        Root mean squared error of the start, in units of the targets' range.
    """

    error: float

    @classmethod
    def of(cls, rows: LeftOut, task: TrainingTask) -> Self:
        mean, _ = _located(rows)
        squares = np.average((rows.truth[:, 1] - mean) ** 2, weights=rows.weight)
        error = max(float(np.sqrt(squares)), float(np.finfo(np.float32).eps))
        return cls(rows.link.coefficients[0, 0], error)

    @property
    def n_outputs(self) -> int:
        return 1

    def start(self, rows: LeftOut) -> tuple[Floats, ...]:
        mean, spread = _located(rows)
        return mean / self.error, spread / self.error

    def target(self, rows: LeftOut) -> NDArray[Any]:
        return (rows.truth[:, 1] / self.error).astype(np.float32)

    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        correction, (mean, spread) = output
        error = (target - mean - correction[..., 0]) ** 2
        loss: Tensor = mean_over_rows(_sum_of_losses(error, spread, torch), weight)
        return loss

    def losses(self, rows: LeftOut) -> Floats:
        mean, spread = self.start(rows)
        error = (rows.truth[:, 1] / self.error - mean) ** 2
        return np.asarray(_sum_of_losses(error, spread, np))

    def spread(self, learned: Floats) -> Floats:
        moments = np.zeros((len(learned), 3))
        moments[:, 1] = learned[:, 0] * self.error / self.say
        return moments


def _joined(parts: Sequence[Told], name: str) -> Any:
    """A field of what is told, of all blocks; None where it is none."""
    found = [getattr(each, name) for each in parts]
    return None if found[0] is None else np.concatenate(found)


def _located(rows: LeftOut) -> tuple[Floats, Floats]:
    """Means and spreads (n,), in units of the targets' range."""
    moments = np.exp(rows.logs())
    mean = moments[:, 1] / moments[:, 0]
    variance = moments[:, 2] / moments[:, 0] - mean**2
    return mean, np.sqrt(np.maximum(variance, np.finfo(np.float32).tiny))


def _sum_of_losses(error: Any, spread: Any, xp: Any) -> Any:
    """Less the log-likelihood, and half the squared error, of errors in units of it."""
    ratio = xp.log1p(error / (_FREEDOM * spread**2))
    return xp.log(spread) + (_FREEDOM + 1) / 2 * ratio + error / 2


CORRECTIONS: dict[str, type[Correction]] = {
    "classes": ClassCorrection,
    "values": ValueCorrection,
}
"""Corrections by the name of a blend's link."""
