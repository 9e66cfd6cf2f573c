"""What workers do with a partition: pick rows of it, look at targets, add it up."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.errors import DataError
from rhokit.estimators.base import OnePassEstimator
from rhokit.fast import one_worker
from rhokit.models import Model
from rhokit.parallel.code import code_version
from rhokit.plans import Plan
from rhokit.readouts import ReadOut
from rhokit.representations import State
from rhokit.streams.buffer import joined


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows, targets and weights of a partition, not checked yet."""

    rows: NDArray[Any]
    target: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def batch(
        self, estimator: OnePassEstimator, columns: Columns, which: NDArray[np.intp]
    ) -> Batch:
        """Some of the rows, checked; errors tell the row in the partition."""
        target = None if self.target is None else self.target[which]
        weights = None if self.weights is None else self.weights[which]
        try:
            return estimator.check_batch(
                self.rows[which],
                target,
                weights,
                columns=columns,
                one_of_many=True,
                encoded=True,
            )
        except DataError as error:
            if error.row is None:
                raise
            raise error.at(row=int(which[error.row])) from error


@dataclass(frozen=True)
class Stamp:
    """What states must share to be added up.

    A worker makes it from the plan that it really has: another version may unpack or
    use what it was sent in another way.

    Parameters
    ----------
    version : str
        Of rhokit's code, where the state was made.
    fingerprint : str
        Of plan and read-out.
    """

    version: str
    fingerprint: str

    @classmethod
    def of(cls, model: Model) -> "Stamp":
        """The stamp of states that are made here under a model's plan."""
        return cls(code_version(), model.fingerprint())

    def refuse_others(self, summands: Iterable["Summand"]) -> None:
        """Refuse what was made under another plan, or by another version."""
        for summand in summands:
            other = summand.stamp
            if other.version != self.version:
                raise ValueError(
                    f"a worker has rhokit {other.version}, here it is {self.version}: "
                    "states of two versions are not added up, install the same one "
                    "everywhere (what follows the + tells source codes apart)"
                )
            if other != self:
                raise ValueError(
                    "a worker has learned with another scaling, gamma or feature map "
                    "than it was sent: its state is not added up, restart the workers "
                    "and fit again"
                )


@dataclass(frozen=True, eq=False)
class Summand:
    """What rows add to a model.

    It is a model without its plan, which every worker has already, unless that grew.

    Parameters
    ----------
    readout : ReadOut
    state : state, optional
        None of no rows.
    sample, kept : RowSample, optional
    plan : Plan, optional
        Where it is no longer that of the model.
    stamp : Stamp
    """

    readout: ReadOut
    state: State | None
    sample: Any
    kept: Any
    plan: Plan | None
    stamp: Stamp

    @classmethod
    def of(cls, model: Model, base: Model) -> "Summand":
        """What a model holds that began as ``base``."""
        plan = None if model.plan is base.plan else model.plan
        known = model.readout, model.state, model.sample, model.kept
        return cls(*known, plan, Stamp.of(base))

    def model(self, base: Model) -> Model:
        """The model of the rows."""
        own = replace(base, readout=self.readout, plan=self.plan or base.plan)
        return own.with_state(self.state, sample=self.sample, kept=self.kept)


def pick(
    estimator: OnePassEstimator,
    part: Partition,
    columns: Columns,
    count: int,
    seed: int,
) -> tuple[Batch | None, int]:
    """Some rows of a partition at random, and how many it has of a weight above 0."""
    seen = np.arange(len(part))
    if part.weights is not None:  # rows of weight zero are not there
        seen = np.flatnonzero(part.weights)
    if not len(seen):
        return None, 0
    which = np.random.default_rng(seed).permutation(len(seen))[:count]
    return part.batch(estimator, columns, seen[which]), len(seen)


def even_sample(picks: Iterable[tuple[Batch | None, int]], size: int) -> Batch:
    """Rows of all picks, of each as many as its share of all rows."""
    known = [(batch, total) for batch, total in picks if batch is not None]
    if not known:
        raise ValueError(
            "X holds no rows of a weight above zero: nothing to learn from"
        )
    rate = min(len(batch) / total for batch, total in known)
    rate = min(rate, size / sum(total for _, total in known))
    counts = [min(len(b), max(1, round(rate * total))) for b, total in known]
    pairs = zip(known, counts, strict=True)
    return joined([batch.take(slice(count)) for (batch, _), count in pairs])


def essential(readout: ReadOut, target: NDArray[Any]) -> NDArray[Any] | None:
    """The few targets of a partition that must be known beforehand."""
    return readout.essential(target) if len(target) else None


def learn(
    plan: OnePassEstimator, part: Partition, columns: Columns, batch_rows: int
) -> Summand:
    """What a partition adds to a model without rows."""
    base = model = plan.prepared_model()
    with one_worker():
        for start in range(0, len(part), batch_rows):
            which = np.arange(start, min(start + batch_rows, len(part)))
            batch = part.batch(plan, columns, which)
            if batch.total_weight > 0:
                model = model.knowing(batch, type(plan).__name__).add(batch)
    return Summand.of(model, base)


def add_up(plan: OnePassEstimator, summands: list[Summand]) -> Summand:
    """What several partitions add, from the first to the last."""
    base = plan.prepared_model()
    Stamp.of(base).refuse_others(summands)
    total = summands[0].model(base)
    for other in summands[1:]:
        if other.state is not None:
            total = total.merge(other.model(base))
    return Summand.of(total, base)


def summed_up(plan: OnePassEstimator, total: Summand) -> OnePassEstimator:
    """The plan's model of all that workers have added up."""
    base = plan.prepared_model()
    Stamp.of(base).refuse_others([total])
    return plan.with_model(total.model(base))
