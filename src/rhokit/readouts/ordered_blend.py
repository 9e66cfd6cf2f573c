"""The read-out of ordered labels in a blend, whose labels do not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rhokit.readouts.base import Floats
from rhokit.readouts.joint import DECISIONS, OrderedReadOut, decide
from rhokit.records import Fields, Maybe, Word

if TYPE_CHECKING:
    from rhokit.models import Model


@dataclass(frozen=True, eq=False)
class BlendedOrderedReadOut(OrderedReadOut):
    """Probabilities of ordered labels, and the decision that rows left out want.

    Labels stand for themselves: β is infinite. A decision that was not given follows
    from a sample of the rows, so that it follows what a model learns and forgets.
    """

    name = "ordered-blend"
    blended: ClassVar[str | None] = None
    blend_link: ClassVar[str | None] = "classes"
    file_fields: ClassVar[Fields] = {
        **{k: v for k, v in OrderedReadOut.file_fields.items() if k != "beta"},
        "decision": Maybe(Word(DECISIONS)),
    }

    @classmethod
    def for_blend(cls, readout: Any) -> Self:
        """The read-out of the same labels and decision."""
        return cls(
            readout.classes,
            output_seed=readout.output_seed,
            decision=readout.decision,
        )

    @property
    def needs_sample(self) -> bool:
        """To choose the decision."""
        return self.decision is None

    @property
    def sharpness(self) -> float:
        """β of labels that do not overlap."""
        return float("inf")

    def output_states(self) -> Floats:
        """The basis."""
        return np.eye(len(self.classes))

    def mixing(self) -> Floats:
        """Labels do not mix."""
        return np.eye(len(self.classes))

    def decision_of(self, model: Model) -> str:
        """The decision of least absolute error for rows left out, if none is given."""
        if self.decision is not None:
            return self.decision
        sample = model.sample
        if sample is None or not len(sample.weight):
            return "median"

        def choose() -> str:
            logs = self.posterior(model, model.log_left_out(sample))
            found = np.exp(logs)

            def error(decision: str) -> float:
                missed = np.abs(decide(found, decision) - sample.target)
                return float(np.average(missed, weights=sample.weight))

            return min(DECISIONS, key=error)

        chosen: str = model.cache.get("decision", None, choose)
        return chosen
