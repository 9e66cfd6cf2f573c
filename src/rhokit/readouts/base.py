"""From targets to outcomes, and from what outcomes measure to answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.plans.leave_one_out import LeaveOneOut, Overlaps, Task
from rhokit.plans.plan import SAMPLE_ROWS
from rhokit.records import Fields, Reader, Values, require
from rhokit.representations import Load, Outcomes

if TYPE_CHECKING:
    from rhokit.batch import Batch
    from rhokit.models import Model

Floats = NDArray[np.float64]
# From probes to their squared overlaps with all rows, under the map of the plan.
OverlapsOf = Callable[[NDArray[np.intp]], Overlaps]


class ReadOut(ABC):
    """How targets become outcomes, and what outcomes measure becomes an answer.

    A read-out is a frozen value: what it must know of the targets, and the parameters
    that say how to answer. ``learn`` and ``chosen`` give new ones.
    """

    name: ClassVar[str]
    """Name by which :mod:`rhokit.readouts` and model files know it."""
    kind: ClassVar[str]
    """Kind of answers: ``"density"``, ``"classes"``, ``"ordered"`` or ``"values"``."""
    has_target: ClassVar[bool] = True
    may_sample: ClassVar[bool] = True
    """Whether there are parameters for which rows are kept to be left out."""
    blended: ClassVar[str | None] = None
    """Name of the read-out that takes this one's place in a blend, if one does."""
    blend_link: ClassVar[str | None] = None
    """How a blend brings its answers together for these outcomes."""
    weighs_blends: ClassVar[bool] = False
    """Whether rows left out say if a blend is taken, and not their number alone."""
    recognises_rows: ClassVar[bool] = False
    """Whether rows that were learned are left out of their answers in any case."""
    sample_rows: ClassVar[int] = SAMPLE_ROWS
    """How many these are at most, where a plan does not say."""
    takes_series: ClassVar[bool] = True
    """Whether the outcomes' states may be Fourier series."""
    landmarks_by_group: ClassVar[bool] = False
    open_sums: ClassVar[int] = 4
    """Outcomes that neighbouring rows have, when sorted by them."""
    file_fields: ClassVar[Fields] = {}
    """Fields of what was learned, as a model file holds it; the rest are parameters."""

    def with_parameters(self, **values: Any) -> Self:
        """The read-out that answers with these parameters; itself, if it does so."""
        if all(getattr(self, name) is value for name, value in values.items()):
            return self
        made: Self = replace(self, **values)  # type: ignore[type-var]
        return made

    # ---- targets --------------------------------------------------------------------

    @abstractmethod
    def check(self, y: Any, n_rows: int, owner: str) -> NDArray[Any] | None:
        """Targets as an array, checked at the border."""

    @abstractmethod
    def learn(
        self, target: Any, weights: Floats | None, foreseen: Any, owner: str
    ) -> Self:
        """The read-out once it knows these targets, and those that are foreseen."""

    @abstractmethod
    def encode(self, target: Any, weights: Floats | None = None) -> Any:
        """Targets as the outcomes are made from, for each row."""

    def decoded(self, target: NDArray[Any]) -> NDArray[Any]:
        """Encoded targets as they were given."""
        return target

    def known_target(self) -> NDArray[Any] | None:
        """A target of one row, as all are that were learned; None before the first."""
        return None

    def essential(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """The few of many targets that must be known beforehand."""
        return None

    # ---- outcomes -------------------------------------------------------------------

    @property
    @abstractmethod
    def n_outcomes(self) -> int:
        """K, as far as it is known."""

    @property
    def n_targets(self) -> int:
        """Targets of a row, each of which has outcomes of its own."""
        return 1

    @property
    def parts(self) -> list[slice]:
        """Outcomes of each target: in each part, every row counts once."""
        return [slice(0, self.n_outcomes)]

    @abstractmethod
    def outcomes(self, target: Any) -> list[Outcomes]:
        """To which outcomes encoded targets belong, for one set of them or several."""

    @abstractmethod
    def roots(self, target: Any) -> Floats:
        """Square roots of the outcome weights of encoded targets, shape (n, K)."""

    @abstractmethod
    def log_priors(self, weight: Floats) -> Floats:
        """Logarithms of the outcomes' probabilities, of weights (..., K)."""

    def output_states(self) -> Floats:
        """States of the outcomes, shape (K, D_Y): orthogonal, unless labels overlap."""
        return np.eye(self.n_outcomes)

    def measured_outputs(self) -> Floats:
        """States (J, D_Y) whose overlaps with an output's state are what is told."""
        return np.eye(self.n_outcomes)

    def truncation(self, model: Model) -> int | None:
        """Rank of the joint matrix, None where outcomes are kept one by one."""
        return None

    def joined(self, other: Self) -> Self:
        """The read-out of both models' outcomes."""
        return self

    def places_in(self, other: Self) -> NDArray[np.intp] | None:
        """Where this one's outcomes stand among another's; None for the same places."""
        return None

    def fingerprint(self) -> str:
        """Text of what two states must share to add up."""
        return ""

    def total_weight(self, weight: Floats) -> float:
        """Weight of the rows, each counted once, of the outcomes' weights (K,)."""
        return float(weight.sum())

    def foretold(self, model: Model, logs: Floats) -> NDArray[Any] | None:
        """Labels or means from measured logarithms, (n,) or (n, t); None of none."""
        return None

    # ---- planning -------------------------------------------------------------------

    def check_rank(self, rank: Any, owner: str) -> None:  # noqa: B027
        """Refuse a rank that does not go with the other parameters."""

    @property
    def needs_sample(self) -> bool:
        """Whether rows must be kept to learn from them when left out."""
        return False

    @property
    def needs_witnesses(self) -> bool:
        """Whether the sample must not have taken part in the choice of landmarks."""
        return False

    def load(self, n_outcomes: int | None, batch_rows: int) -> Load:
        """How much there is to learn at once, from batches of so many rows."""
        # A batch is there as it was given, checked, scaled, and sorted by its target.
        copies = 3 if not self.has_target else 7 if self.needs_sample else 4
        outcomes = n_outcomes or self.n_outcomes
        return Load(outcomes, batch_rows, copies, self.open_sums)

    def names(self, target: NDArray[Any]) -> NDArray[Any]:
        """Names that tell rows with different targets apart, shape (n, ...)."""
        return target

    # ---- model files ----------------------------------------------------------------

    @classmethod  # noqa: B027
    def check_file(cls, learned: Values, reader: Reader) -> None:
        """Refuse fields of a file that do not fit together; nothing is built yet."""

    @classmethod  # noqa: B027
    def claim_answers(cls, parameters: Values, learned: Values, reader: Reader) -> None:
        """Refuse fields of a file whose first answers would cost too much.

        Parameters
        ----------
        parameters : mapping
            Of the estimator.
        learned : mapping
            Fields of the file.
        reader : Reader
            Which has read everything else.
        """

    @classmethod
    def check_sample(
        cls, learned: Values, target: NDArray[Any], reader: Reader
    ) -> None:
        """Refuse targets of sampled rows that the fields of a file do not know."""
        require(False, f"a model of {cls.kind} keeps no sample")

    @classmethod
    def from_file(cls, **learned: Any) -> Self:
        """The read-out from what a file holds, all of it checked."""
        return cls(**learned)


class TargetReadOut(ReadOut):
    """A read-out whose plan is chosen by how well rows are predicted when left out."""

    @classmethod
    def for_blend(cls, readout: TargetReadOut) -> TargetReadOut:
        """The read-out that takes the place of a given one in a blend."""
        return readout

    @property
    def may_blend(self) -> bool:
        """Whether a blend can answer what the parameters ask for."""
        return self.blended is not None

    @property
    def suits_blend(self) -> bool:
        """Whether a blend is good at what the parameters ask for."""
        return self.may_blend

    def errors_of(self, model: Model, batch: Batch) -> Floats:
        """How badly a model predicts rows that it has not seen, shape (n,)."""
        raise TypeError(f"blends of {self.kind} are not weighed against matrices")

    @abstractmethod
    def task(self, target: Any, weights: Floats | None) -> Task:
        """How leave-one-out predictions are scored."""

    @abstractmethod
    def groups(self, target: Any, weights: Floats | None) -> NDArray[np.intp]:
        """Which rows belong together, shape (n,)."""

    def rank_task(self) -> Task:
        """How predictions from the outcomes themselves are scored."""
        return self.task(None, None)

    def chosen(self, loo: LeaveOneOut, overlaps: OverlapsOf, seed: int) -> Self:
        """The read-out with what it leaves to leave-one-out.

        Parameters
        ----------
        loo : LeaveOneOut
        overlaps : callable
            From probes to their overlaps with all rows, under the map that was chosen.
        seed : int
        """
        return self

    def refuse_without_target(self, y: Any, owner: str) -> None:
        """Say that a target is needed, where there is none."""
        if y is None:
            raise ValueError(
                f"This {owner} estimator requires y to be passed, but "
                "the target y is None."
            )

    def log_density_terms(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Logarithms (n, K) of what the outcomes add to the density of rows."""
        return model.log_measured(rows) + self.log_priors(model.weight)
