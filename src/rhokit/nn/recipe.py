"""What is trained on, and how."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

SCHEDULES = ("cycle", "constant")

# The learning rate rises from a tenth over this share of the steps, then falls.
_WARM_UP = 0.1
_FIRST_RATE = 0.1
_FEWEST_EPOCHS = 10
_FEWEST_STEPS = 400


@dataclass(frozen=True)
class TrainingRows:
    """Tensors that share an axis of rows.

    Parameters
    ----------
    inputs : tuple of tensors
        What the module takes; an entry may be None.
    target : tensor, optional
    weight : tensor, optional
        Of mean one.
    axis : int
        The axis of the rows, which follows the models' axes.
    """

    inputs: tuple[Tensor | None, ...]
    target: Tensor | None = None
    weight: Tensor | None = None
    axis: int = 0

    def __len__(self) -> int:
        assert self.inputs[0] is not None
        return self.inputs[0].shape[self.axis]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """All of them."""
        return (*self.inputs, self.target, self.weight)

    def take(self, index: Tensor) -> "TrainingRows":
        """Some of the rows."""
        *inputs, target, weight = (
            None if each is None else each.index_select(self.axis, index)
            for each in self.tensors()
        )
        return TrainingRows(tuple(inputs), target, weight, self.axis)

    def batches(self, size: int, order: Tensor) -> Iterator["TrainingRows"]:
        """Rows in an order, in batches of about equal size."""
        n = len(self)
        if size >= n:
            yield self  # the order of a whole makes no difference
            return
        for part in order.tensor_split(-(-n // size)):
            yield self.take(part)


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Parameters
    ----------
    learning_rate : float
        The highest one of the cycle.
    max_epochs : int
    batch_size : int
    weight_decay : float
        Not of feature layers: their weights are places, not sizes.
    schedule : {"cycle", "constant"}
        Whether the learning rate falls to zero in the end; both rise at first.
    patience : int, optional
        Stop after so many epochs without improvement; None never stops.
    seed : int
        Of the order of the rows.
    """

    learning_rate: float = 1e-3
    max_epochs: int = 10
    batch_size: int = 128
    weight_decay: float = 0.0
    schedule: str = "cycle"
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(
                f"schedule must be one of {SCHEDULES}, got {self.schedule!r}"
            )

    def rate(self, step: int, total: int) -> float:
        """Learning rate of a step: a short rise, then perhaps half a cosine."""
        rise = max(1, round(_WARM_UP * total))
        if step < rise:
            share = _FIRST_RATE + (1 - _FIRST_RATE) * step / rise
        elif self.schedule == "constant":
            share = 1.0
        else:
            share = 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, total - rise)))
        return self.learning_rate * share


def enough_epochs(n_rows: int, batch_size: int) -> int:
    """Few epochs, or of few rows as many as make enough steps."""
    steps_per_epoch = -(-n_rows // batch_size)
    return max(_FEWEST_EPOCHS, -(-_FEWEST_STEPS // steps_per_epoch))
