"""Heads that training starts from, and trained heads as one-pass models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core.spectrum import eigen_factor
from rhokit.fast import map_blocks, small_algebra
from rhokit.models import Model
from rhokit.nn.feature_layer import to_numpy
from rhokit.nn.features import feature_layer
from rhokit.nn.heads import Head
from rhokit.nn.tasks import TrainingTask
from rhokit.representations import MatrixRepresentation


@dataclass(frozen=True)
class HeadMaker:
    """Makes the heads of a task.

    Parameters
    ----------
    task : TrainingTask
    train_features : bool
        Whether landmarks or frequencies are trained, too.
    device : str or torch.device, optional
    seed : int
        Of the factors that are drawn.
    """

    task: TrainingTask
    train_features: bool
    device: Any
    seed: int

    def drawn(
        self, model: Model, rank: int, weight: NDArray[np.float64] | None
    ) -> Head:
        """A head over a model's map, its factor at random."""
        feature_map = model.plan.measured_map
        dtype = torch.from_numpy(np.empty(0, feature_map.dtype_)).dtype
        features = feature_layer(
            feature_map, trainable=self.train_features, dtype=dtype, device=self.device
        )
        options = {"device": self.device, "random_state": self.seed}
        return self.task.make_head(model, features, rank, weight, **options)

    def of_state(self, model: Model, rank: int, truncation: Any = None) -> Head:
        """The head whose factor is a one-pass model's state.

        It has room for ``rank`` eigenvectors, and keeps as many as ``truncation``, in
        the words of a one-pass model, says.
        """
        head = self.drawn(model, rank, model.weight)
        factor = np.zeros_like(to_numpy(head.measurement.factor))
        _fill(factor, model.density_matrix(), truncation or rank)
        if head.measurement.trace == "joint":
            probabilities = model.weight / model.weight.sum()
            roots = np.sqrt(probabilities).astype(factor.real.dtype)
            factor *= roots[:, None, None]
        with torch.no_grad():
            head.measurement.factor.copy_(torch.from_numpy(factor))
        return head

    def exact(self, model: Model) -> Head:
        """The head that predicts what a one-pass model does."""
        dim = model.plan.feature_map.n_components_
        head = self.of_state(model, dim, model.rank or dim)
        self.task.restore_scale(head, model)
        return head


def _fill(factor: NDArray[Any], state: Any, truncation: Any) -> None:
    """Fill factors (K, r, D) with the leading eigenvectors of a state."""
    rho = state.normalized()

    def work(worker: int, block: slice) -> None:
        for k in range(block.start, block.stop):
            part = eigen_factor(rho[k], truncation)
            factor[k, : len(part)] = part

    with small_algebra(state.dim):
        map_blocks(work, len(rho), 1)


def trained_model(task: TrainingTask, model: Model, head: Head, batch: Batch) -> Model:
    """A one-pass model with what a head has learned from rows."""
    plan = model.plan
    wide = np.result_type(plan.feature_map.column_dtype_, np.float64)
    with torch.no_grad():
        learned, weight = task.learned(head, model, batch)
        factor = to_numpy(learned).astype(wide)  # (K, r, D)
    if not head.features.frozen:
        rows = plan.scale(batch.rows)
        plan = plan.with_map(head.features.to_map(plan.feature_map, rows))
    state = MatrixRepresentation(plan).state_of_factor(factor, weight)
    return model.with_state(state, plan=plan, sample=None, rank=None)
