"""The read-out of densities: one outcome, which every row belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.readouts.base import Floats, ReadOut
from rhokit.records import Reader, Values
from rhokit.representations import Outcomes

if TYPE_CHECKING:
    from rhokit.models import Model


@dataclass(frozen=True, eq=False)
class DensityReadOut(ReadOut):
    """All rows are one outcome, and there is nothing else to know."""

    name = kind = "density"
    has_target = False
    may_sample = False

    def check(self, y: Any, n_rows: int, owner: str) -> None:
        """No target is looked at."""

    def learn(
        self, target: Any, weights: Floats | None, foreseen: Any, owner: str
    ) -> Self:
        """There is nothing to know."""
        return self

    def encode(self, target: Any, weights: Floats | None = None) -> None:
        """No target is learned."""

    @property
    def n_outcomes(self) -> int:
        """One."""
        return 1

    def outcomes(self, target: Any) -> list[Outcomes]:
        """All rows belong to the one outcome."""
        return [Outcomes()]

    @classmethod
    def check_file(cls, learned: Values, reader: Reader) -> None:
        """There is one outcome."""
        reader.bind("K", 1, "readout")

    def roots(self, target: Any) -> Floats:
        """One for every row."""
        return np.ones((len(target), 1))

    def typical(self, model: Model) -> tuple[Model, NDArray[Any] | None]:
        """The model that rows are compared with, and rows (n, w) that are usual.

        None where the model keeps none, and they must be drawn.
        """
        return model, None

    def log_priors(self, weight: Floats) -> Floats:
        """The outcome is certain."""
        return np.zeros_like(weight)
