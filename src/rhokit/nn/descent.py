"""One training of a head: rows as tensors, in the coordinates of the data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rhokit.batch import Batch
from rhokit.models import Model
from rhokit.nn.heads import Head
from rhokit.nn.preconditioning import Coordinates
from rhokit.nn.recipe import Recipe, TrainingRows
from rhokit.nn.tasks import TrainingTask
from rhokit.nn.training import train

# States of frozen features are computed once if they take no more than this.
_MOST_CACHED_BYTES = 2**30
_BLOCK = 4096
# The coordinates to train in come from at most so many rows.
_ROWS_PER_COMPONENT = 8


@dataclass(frozen=True)
class Descent:
    """Trains the head of a one-pass model.

    Parameters
    ----------
    task : TrainingTask
    model : Model
        Whose plan the head follows.
    head : Head
        It has what was learned in the end.
    """

    task: TrainingTask
    model: Model
    head: Head

    def run(
        self,
        batch: Batch,
        held_out: Batch | None,
        recipe: Recipe,
        *,
        at_random: bool,
        checkpoint: str | Path | None,
        settings: str,
        label: str,
    ) -> tuple[dict[str, list[Any]], bool]:
        """Train on a batch, judged by rows that were held out, if there are any.

        Parameters
        ----------
        batch, held_out : Batch
        recipe : Recipe
        at_random : bool
            Whether the factor is drawn anew, in the coordinates of the data.
        checkpoint, settings, label :
            As for :func:`rhokit.nn.train`.

        Returns
        -------
        history : dict of lists
        improved : bool
            Whether anything that was learned is kept.
        """
        coordinates = self._coordinates(batch)
        training = coordinates.precondition(self.head, recipe.seed, at_random=at_random)
        cached = _fits_in_memory(training, len(batch))
        judges = None if held_out is None else self._rows(training, held_out, cached)
        before = [weight.detach().clone() for weight in training.parameters()]
        history = train(
            training,
            self.task.loss,
            self._rows(training, batch, cached),
            recipe,
            validation=judges,
            forward=training.read if cached else training,
            checkpoint=checkpoint,
            settings=settings,
            label=label,
        )
        pairs = zip(training.parameters(), before, strict=True)
        improved = not all(torch.equal(now, then) for now, then in pairs)
        coordinates.undo(self.head, training)
        return history, improved

    def _coordinates(self, batch: Batch) -> Coordinates:
        """Coordinates to train in, from at most a few thousand rows."""
        head, n = self.head, len(batch)
        count = min(n, _ROWS_PER_COMPONENT * head.features.n_components)
        some = batch.take(np.linspace(0, n - 1, count).astype(int))
        with torch.no_grad():
            states, _ = head.features.scaled(self._scaled(head, some.rows))
        weights = None
        if some.weights is not None:
            weights = torch.as_tensor(some.weights / some.weights.mean())
        return Coordinates(states, weights, batch.total_weight)

    def _rows(self, training: Head, batch: Batch, cached: bool) -> TrainingRows:
        """What the head is trained on: states if they are cached, else rows."""
        factor = training.measurement.factor
        inputs: tuple[Tensor | None, ...] = (self._scaled(training, batch.rows),)
        if cached:
            inputs = _states(training, inputs[0])
        targets, weights = self.task.targets(self.model, batch), None
        if batch.weights is not None:
            mean_one = batch.weights / batch.weights.mean()
            weights = torch.as_tensor(mean_one, dtype=factor.real.dtype)
            weights = weights.to(factor.device)
        if targets is None:
            return TrainingRows(inputs, None, weights)
        codes = torch.as_tensor(targets, device=factor.device)
        return TrainingRows(inputs, codes, weights)

    def _scaled(self, head: Head, rows: NDArray[Any]) -> Tensor:
        scaled = torch.from_numpy(np.array(self.model.plan.scale(rows)))
        return scaled.to(head.measurement.factor.device)


def _fits_in_memory(head: Head, n_rows: int) -> bool:
    """Whether states can be computed once for all epochs."""
    size = head.measurement.factor.element_size() * head.features.n_components
    return head.features.frozen and n_rows * size <= _MOST_CACHED_BYTES


def _states(head: Head, rows: Any) -> tuple[Tensor, Tensor | None]:
    """States of rows, and the logarithms of what was taken out of them."""
    with torch.no_grad():
        blocks = [head.features.scaled(part) for part in rows.split(_BLOCK)]
    states, scales = zip(*blocks, strict=True)
    if scales[0] is None:
        return torch.cat(states), None
    return torch.cat(states), torch.cat(scales)
