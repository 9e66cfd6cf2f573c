"""What is particular to the training of densities, classes and values."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from rhokit.batch import Batch
from rhokit.core import (
    cross_entropy,
    factor_trace,
    negative_log_likelihood,
    squared_error_and_variance,
)
from rhokit.core.arrays import safe_log
from rhokit.models import Model
from rhokit.nn.feature_layer import FeatureLayer, to_numpy
from rhokit.nn.heads import ClassifierHead, DensityHead, Head, RegressorHead
from rhokit.nn.training import TrainingWarning
from rhokit.plans.plan import SAMPLE_ROWS
from rhokit.validation import Interval, level_of_the_user

Floats = NDArray[np.float64]


class TrainingTask(ABC):
    """What a model is trained for: a head, a loss, and what becomes of both.

    A task is a frozen value of its own parameters; models, heads and rows come as
    arguments.
    """

    widening: ClassVar[float] = 1.0
    """By how much ``gamma="auto"`` is smaller than what the one-pass model chooses.

    A trained state makes sharp edges of wide kernels, which see farther.
    """
    rules: ClassVar[Mapping[str, Any]] = {}
    """Constraints of the task's own parameters."""

    # ---- targets --------------------------------------------------------------------

    def as_target(self, y: Any) -> Any:
        """Targets in the form that the one-pass estimator is to check."""
        return y

    def foreseen(self, batch: Batch) -> Any:
        """Targets that a plan of some of the rows must know of."""
        return None

    def groups(self, batch: Batch) -> NDArray[Any]:
        """Groups of rows, each split alike into training and validation, shape (n,)."""
        return np.zeros(len(batch), dtype=int)

    def refuse_readout(self, readout: Any, owner: str) -> None:  # noqa: B027
        """Refuse a read-out that cannot be trained."""

    def refuse_unknown(  # noqa: B027
        self, readout: Any, batch: Batch, owner: str
    ) -> None:
        """Refuse targets that a read-out has no place for."""

    def targets(self, model: Model, batch: Batch) -> NDArray[Any] | None:
        """Targets as the loss takes them; None where there are none."""
        return None

    # ---- heads ----------------------------------------------------------------------

    @abstractmethod
    def make_head(
        self,
        model: Model,
        features: FeatureLayer,
        rank: int,
        weight: Floats | None,
        **options: Any,
    ) -> Head:
        """A head for outcomes of given weights (K,), its factor drawn at random."""

    def outcome_weight(self, model: Model, batch: Batch) -> Floats | None:
        """Weights (K,) of the outcomes among rows, where a head needs them."""
        return None

    def update_head(  # noqa: B027
        self, head: Any, model: Model, batch: Batch
    ) -> None:
        """Set what a head takes from the rows, whatever it started from."""

    def restore_scale(self, head: Any, model: Model) -> None:  # noqa: B027
        """Let a head of a one-pass state predict exactly what that state does."""

    # ---- training -------------------------------------------------------------------

    @abstractmethod
    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        """Mean loss over rows, for outputs of the head."""

    def learned(self, head: Any, model: Model, batch: Batch) -> tuple[Tensor, Floats]:
        """Factors (K, r, D) of the outcomes' matrices, and their weights (K,)."""
        factor = head.measurement.scaled_factor()
        trace: Tensor = factor_trace(factor)
        weight = batch.total_weight * to_numpy(trace).astype(np.float64)
        scale = torch.where(trace > 0, trace, 1).sqrt()
        return factor / scale[:, None, None], weight

    def finish(self, estimator: Any, batch: Batch, held_out: Batch | None) -> Any:
        """A trained one-pass estimator with what it must still learn of some rows."""
        return estimator

    def released(self, estimator: Any) -> Any:
        """A trained estimator without the rows that were held out for it."""
        return estimator


@dataclass(frozen=True)
class DensityTask(TrainingTask):
    """Densities, by maximum likelihood."""

    def make_head(
        self,
        model: Model,
        features: FeatureLayer,
        rank: int,
        weight: Floats | None,
        **options: Any,
    ) -> DensityHead:
        """A head that divides by the integral of what it measures."""
        if features.singular and not features.frozen:
            warnings.warn(
                "train_features=True with random features: the likelihood has "
                "singularities, so watch validation rows; trained landmarks have none",
                TrainingWarning,
                stacklevel=level_of_the_user(),
            )
        norm = model.plan.log_norm(model.representation.power)
        return DensityHead(features, rank, log_norm=-norm, **options)

    def restore_scale(self, head: Any, model: Model) -> None:
        """What the one-pass model divides by, where the head does not know it."""
        trace, log_mass = head.measurement.traces()[0], head.log_mass()
        norm = -model.log_norm() - trace.log() - log_mass
        head.log_norm.copy_(norm.detach())

    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        """Less the mean log-density."""
        loss: Tensor = negative_log_likelihood(output, weight)
        return loss

    def learned(self, head: Any, model: Model, batch: Batch) -> tuple[Tensor, Floats]:
        """The factor of a density that integrates to one."""
        mass = (head.log_mass() / 2).exp()
        factor = head.measurement.scaled_factor() / mass
        return factor, np.array([batch.total_weight])


@dataclass(frozen=True)
class LabelTask(TrainingTask):
    """Common part of both classifiers: cross-entropy of labels.

    Parameters
    ----------
    label_smoothing : float
    """

    label_smoothing: float = 0.0

    widening = 16.0
    rules: ClassVar[Mapping[str, Any]] = {
        "label_smoothing": [Interval(Real, 0, 1, closed="left")]
    }

    def foreseen(self, batch: Batch) -> Any:
        """All labels, those of weight zero included."""
        return batch.target

    def groups(self, batch: Batch) -> NDArray[Any]:
        """The labels."""
        return np.asarray(batch.target)

    def refuse_unknown(self, readout: Any, batch: Batch, owner: str) -> None:
        """Refuse labels that are new."""
        known = readout.classes
        new = np.setdiff1d(np.asarray(batch.target), known)
        if len(new):
            raise ValueError(
                f"y holds labels that this {owner} was not fitted to: "
                f"{new.tolist()}; it knows {known.tolist()}"
            )

    def targets(self, model: Model, batch: Batch) -> NDArray[Any]:
        """Codes of the labels."""
        return np.asarray(model.readout.encode(batch.target))

    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        """Mean cross-entropy."""
        loss: Tensor = cross_entropy(
            output, target, weight, smoothing=self.label_smoothing
        )
        return loss


@dataclass(frozen=True)
class ClassTask(LabelTask):
    """Classes with a state of trace one each, and priors beside them."""

    def make_head(
        self,
        model: Model,
        features: FeatureLayer,
        rank: int,
        weight: Floats | None,
        **options: Any,
    ) -> ClassifierHead:
        """A head whose priors are those of the read-out."""
        priors = np.exp(model.readout.log_priors(weight))
        return ClassifierHead(features, len(priors), rank, priors=priors, **options)

    def outcome_weight(self, model: Model, batch: Batch) -> Floats:
        """Weight of each class."""
        codes, n_classes = self.targets(model, batch), model.readout.n_outcomes
        return np.bincount(codes, batch.weights, n_classes).astype(float)

    def update_head(self, head: Any, model: Model, batch: Batch) -> None:
        """Priors follow the rows that are trained on."""
        logs = model.readout.log_priors(self.outcome_weight(model, batch))
        head.log_priors.copy_(torch.from_numpy(logs))

    def restore_scale(self, head: Any, model: Model) -> None:
        """One-pass states are not scaled to trace one: what a rank loses is lost."""
        head.log_priors += safe_log(head.measurement.traces()).detach()

    def learned(self, head: Any, model: Model, batch: Batch) -> tuple[Tensor, Floats]:
        """Factors of trace one, and the classes' weights among the rows."""
        return head.measurement.scaled_factor(), self.outcome_weight(model, batch)

    def finish(self, estimator: Any, batch: Batch, held_out: Batch | None) -> Any:
        """Densities of rows held out, or else of rows trained on, decide on rejection.

        Of the latter only such as no landmark was made of.
        """
        if estimator.reject is None:
            return estimator
        size = estimator.plan_.sample_rows if held_out is None else SAMPLE_ROWS
        return _with_sample(estimator, batch if held_out is None else held_out, size)

    def released(self, estimator: Any) -> Any:
        """The threshold stays, as a number."""
        if estimator.reject is None:
            return estimator
        threshold = estimator.threshold_
        other = _without_sample(estimator)
        return other.set_params(reject=None, min_log_density=threshold)


@dataclass(frozen=True)
class JointClassTask(LabelTask):
    """Classes as one joint state of inputs and labels."""

    def make_head(
        self,
        model: Model,
        features: FeatureLayer,
        rank: int,
        weight: Floats | None,
        **options: Any,
    ) -> ClassifierHead:
        """A head of trace one in all, whose labels may overlap."""
        overlaps = model.readout.mixing()
        return ClassifierHead(
            features, len(overlaps), rank, joint=True, overlaps=overlaps, **options
        )

    def update_head(self, head: Any, model: Model, batch: Batch) -> None:
        """Labels mix as the read-out says."""
        head.overlaps.copy_(torch.from_numpy(model.readout.mixing()))

    def restore_scale(self, head: Any, model: Model) -> None:
        """Refuse a joint rank."""
        if model.readout.joint_rank is not None:
            raise ValueError(
                "to_module: a joint_rank truncates the joint state, which no module "
                "of one factor per label computes: train first, or take rank"
            )

    def finish(self, estimator: Any, batch: Batch, held_out: Batch | None) -> Any:
        """What was learned is not truncated again."""
        estimator.joint_rank = None
        return estimator


@dataclass(frozen=True)
class ValueTask(TrainingTask):
    """Values of one target, by squared error and variance.

    Parameters
    ----------
    alpha : float
        How much the variance counts.
    """

    alpha: float = 0.1

    rules: ClassVar[Mapping[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")]
    }

    def as_target(self, y: Any) -> Any:
        """One value per row, shape (n,)."""
        return None if y is None else column_or_1d(y, warn=True)

    def foreseen(self, batch: Batch) -> Any:
        """The lowest and the highest value that has a weight."""
        values = batch.seen().target
        return None if values is None else np.array([values.min(), values.max()])

    def refuse_readout(self, readout: Any, owner: str) -> None:
        """Refuse several targets, or one in a column."""
        if not readout.one_target:
            raise ValueError(
                f"{owner}.from_estimator takes models of one target, given as y "
                f"of shape (n,); this one has {len(readout.output_maps)} target(s) "
                "in columns"
            )

    def refuse_unknown(self, readout: Any, batch: Batch, owner: str) -> None:
        """Refuse values outside the levels."""
        readout.encode(batch.target, batch.weights)

    def targets(self, model: Model, batch: Batch) -> NDArray[Any]:
        """Values scaled to [0, 1]."""
        low, high = model.readout.low, model.readout.high
        width = high - low
        values = model.readout.encode(batch.target, batch.weights)
        unit = (values - low) / np.where(width > 0, width, 1)
        return np.asarray(unit[:, 0].astype(model.plan.feature_map.dtype_))

    def make_head(
        self,
        model: Model,
        features: FeatureLayer,
        rank: int,
        weight: Floats | None,
        **options: Any,
    ) -> RegressorHead:
        """A head of one joint state of inputs and levels."""
        return RegressorHead(features, model.readout.n_levels, rank, **options)

    def loss(self, output: Any, target: Any, weight: Any) -> Tensor:
        """Mean squared error, and α times the mean variance."""
        mean, variance = output
        loss: Tensor = squared_error_and_variance(
            mean, variance, target, self.alpha, weight
        )
        return loss

    def finish(self, estimator: Any, batch: Batch, held_out: Batch | None) -> Any:
        """Rows that were held out make quantiles and intervals honest."""
        if held_out is not None and estimator.calibration is not None:
            return _with_sample(estimator, held_out, SAMPLE_ROWS)
        return self.released(estimator)

    def released(self, estimator: Any) -> Any:
        """Quantiles and intervals are the raw ones of the distributions."""
        return _without_sample(estimator).set_params(calibration=None)


def _with_sample(estimator: Any, batch: Batch, size: int) -> Any:
    """An estimator that keeps some of these rows."""
    model: Model = estimator.model_
    target = model.readout.encode(batch.target, batch.weights)
    sample = model.sampled(batch, target, size)
    return estimator.with_model(model.with_state(model.state, sample=sample))


def _without_sample(estimator: Any) -> Any:
    model: Model = estimator.model_
    return estimator.with_model(model.with_state(model.state, sample=None))
