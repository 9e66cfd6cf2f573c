"""A fitted model as one frozen value: plan, read-out, state and sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.models import densities, left_out, mass
from rhokit.models.gaps import by_gaps
from rhokit.models.kept import kept_of_both, kept_with, kept_without
from rhokit.models.row_sample import MeasuredSample, RowSample
from rhokit.plans import Plan
from rhokit.readouts import ReadOut
from rhokit.representations import REPRESENTATIONS, Cache, Representation, State

Floats = NDArray[np.float64]
# Answers from some of the columns that are kept, for rows that lack the others.
_MOST_PARTS = 16


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that an estimator knows once it has learned, and how it is asked.

    Learning gives a new model and leaves this one as it was, so whoever asks has one
    consistent picture, whatever others do meanwhile.

    Parameters
    ----------
    plan : Plan
    readout : ReadOut
    state : state, optional
        None before the first row.
    sample : RowSample or MeasuredSample, optional
        Rows that are left out again, where the read-out needs them.
    kept : RowSample, optional
        Rows to compare with those of other models; a large sample serves for both.
    rank : int, float, "elbow" or None
        The rank to measure with.
    batch_size : int, optional
        Rows per block.
    may_miss : bool
        Whether rows may lack values.
    """

    plan: Plan
    readout: Any
    state: State | None = None
    sample: Any = None
    kept: RowSample | None = None
    rank: Any = None
    batch_size: int | None = None
    may_miss: bool = False
    cache: Cache = field(default_factory=Cache, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, cache=Cache())

    @property
    def representation(self) -> Representation:
        """The representation of the state."""
        cls = REPRESENTATIONS[self.plan.representation]
        return cls(self.plan, self.batch_size, self.cache)

    @property
    def asked_with(self) -> tuple[Any, int | None, bool]:
        """Rank, rows per block, and whether rows may lack values."""
        return self.rank, self.batch_size, self.may_miss

    @property
    def weight(self) -> Floats:
        """Total weight of the rows of each outcome, shape (K,)."""
        assert self.state is not None
        return np.asarray(self.state.weight)

    @property
    def total_weight(self) -> float:
        """Total weight of the rows, each counted once."""
        return float(self.readout.total_weight(self.weight))

    @property
    def probabilities(self) -> Floats:
        """Of the outcomes, shape (K,)."""
        return np.exp(self.readout.log_priors(self.weight))

    @property
    def has_rows(self) -> bool:
        """Whether anything is left to answer from."""
        return self.state is not None and float(np.sum(self.state.weight)) > 0

    def fingerprint(self) -> str:
        """Digest of what two models must share to be merged."""
        return self.plan.fingerprint(self.readout.fingerprint())

    # ---- learning -------------------------------------------------------------------

    def with_state(self, state: State | None, **changes: Any) -> Model:
        """This model of other rows."""
        return replace(self, state=state, cache=Cache(), **changes)

    def blank(self) -> Model:
        """This plan and read-out without rows."""
        return self.with_state(None, sample=None, kept=None)

    def add(self, batch: Batch) -> Model:
        """The model that has seen these rows, too."""
        readout, plan = self.readout, self.representation.plan_for(batch)
        model = self if plan is self.plan else self.moved_to(plan)
        target: Any = None
        sample = model.sample
        if readout.has_target:
            target = readout.encode(batch.target, batch.weights)
        state = model.total(batch, target)
        if model.state is not None:
            state = state + model.state
        if readout.may_sample and readout.needs_sample:
            fresh = model.sampled(batch, target, plan.sample_rows)
            sample = fresh if sample is None else sample + fresh
        kept = kept_with(model, batch, target)
        return model.with_state(state, sample=sample, kept=kept)

    def subtract(self, batch: Batch) -> Model:
        """The model that has never seen these rows."""
        self.refuse_factor()
        target = self.readout.encode(batch.target, batch.weights)
        feature_map, seen = self.plan.feature_map, batch.seen().rows
        if feature_map.has_outsiders:
            feature_map.refuse_outsiders(self.plan.scale(seen))
        sample, gone = self.sample, self.sampled(batch, target, len(batch))
        sample = None if sample is None else sample - gone
        return self._without(self.total(batch, target), sample, gone)

    def fade(self, factor: float) -> Model:
        """All rows count ``factor`` times as much."""
        if self.state is None:
            return self
        self.refuse_factor()
        sample = None if self.sample is None else self.sample.scale(factor)
        kept = None if self.kept is None else self.kept.scale(factor)
        return self.with_state(self.state.scale(factor), sample=sample, kept=kept)

    def merge(self, other: Model) -> Model:
        """The model of both models' rows."""
        mine, yours = self._brought_together(other)
        sample = mine.sample
        if mine.readout.needs_sample:
            if yours.sample is None:
                raise ValueError(
                    "merge: this model learns from rows left out, and the "
                    "other one kept no sample of them: fit it with the same parameters"
                )
            sample = yours.sample if sample is None else sample + yours.sample
        state: Any = yours.state + (mine.state or 0)  # type: ignore[operator]
        return mine.with_state(state, sample=sample, kept=kept_of_both(mine, yours))

    def unmerge(self, other: Model) -> Model:
        """The model without what the other one has seen."""
        mine, yours = self._brought_together(other)
        both = mine.sample is not None and yours.sample is not None
        sample = mine.sample - yours.sample if both else mine.sample
        return mine._without(yours.state, sample, yours.kept)

    def _without(self, state: Any, sample: RowSample | None, gone: Any) -> Model:
        """The model without a state, and with what is left of its samples."""
        left = self.state - state
        total = self.readout.total_weight(np.asarray(left.weight))
        sample = None if sample is None else sample.whole(total)
        kept = kept_without(self.kept, gone, total)
        return self.with_state(left, sample=sample, kept=kept)

    def with_outcomes(self, readout: ReadOut) -> Model:
        """This model, with empty places for outcomes that it has not seen."""
        places = self.readout.places_in(readout)
        if places is None or self.state is None:
            return replace(self, readout=readout)
        self.refuse_factor()
        state = self.state.spread(places.tolist(), readout.n_outcomes)
        both = (self.sample, self.kept)
        sample, kept = (s and s.with_target(places[s.target]) for s in both)
        return self.with_state(state, sample=sample, kept=kept, readout=readout)

    def knowing(self, batch: Batch, owner: str, foreseen: Any = None) -> Model:
        """The model with a place for the targets of these rows, and foreseen ones."""
        readout = self.readout.learn(batch.target, batch.weights, foreseen, owner)
        return self.with_outcomes(readout)

    def moved_to(self, plan: Plan) -> Model:
        """This model under a plan that differs in the room it has for rows."""
        if plan is self.plan:
            return self
        state = self.state
        if state is not None:
            state = self.representation.moved(state, plan)
        return self.with_state(state, plan=plan)

    def total(self, batch: Batch, target: Any) -> State:
        """The state of these rows alone."""
        if self.state is not None:
            self.refuse_factor()
        representation = self.representation
        parts = [
            representation.total(batch.rows, batch.weights, outcomes)
            for outcomes in self.readout.outcomes(target)
        ]
        return parts[0] if len(parts) == 1 else parts[0].beside(*parts[1:])

    def sampled(self, batch: Batch, target: Any, size: int) -> RowSample:
        """At most so many of these rows, chosen by what they are."""
        if target is None:
            target = np.zeros(len(batch), dtype=np.intp)
        names = self.readout.names(target)
        return RowSample.of(batch.rows, target, batch.weights, size, names)

    def refuse_unlike(self, other: Model, what: str) -> None:
        """Refuse a model whose states do not add to this one's."""
        if other.fingerprint() != self.fingerprint():
            raise ValueError(
                f"{what}: the models differ in scaling, gamma or feature map, so "
                "their states do not add. Fit the second one from a copy: "
                "first.blank().partial_fit(X), or prepare() both on the same "
                "sample with the same random_state"
            )

    def _brought_together(self, other: Model) -> tuple[Model, Model]:
        """Both models with the same outcomes, under the same plan."""
        self.refuse_factor()
        other.refuse_factor()
        readout = self.readout.joined(other.readout)
        mine, yours = self.with_outcomes(readout), other.with_outcomes(readout)
        plan = mine.representation.common_plan(yours.plan)
        return mine.moved_to(plan), yours.moved_to(plan)

    def refuse_factor(self) -> None:
        """Refuse to learn where there is only a factor, which has no sums to add to."""
        if self.state is not None and not self.state.takes_rows:
            raise TypeError(
                "this model holds only a factor, which takes up no "
                "rows. If it was trained, to_estimator() of the model that trained it "
                'gives one that does; if it was saved with state="factor", save it '
                'with state="exact"'
            )

    def compact(self) -> Model:
        """The smallest model that predicts the same, and may learn no more."""
        state = self.representation.compact(self.state, self.rank)
        sample = self.sample
        if not state.takes_rows and isinstance(sample, RowSample):
            logs = left_out.log_left_out_of_one(self, sample)
            held_out = self.state is not None and not self.state.takes_rows
            sample = MeasuredSample(sample.target, sample.weight, logs, held_out)
        kept = self.kept if state.takes_rows else None
        return self.with_state(state, sample=sample, kept=kept)

    # ---- measuring ------------------------------------------------------------------

    def for_blocks(
        self, rows: NDArray[Any], use: Callable[..., Any], stretch: int = 1
    ) -> list[Any]:
        """``use(worker, which, columns, log_scale)`` of the columns to be measured."""
        return self.plan.for_blocks(
            rows,
            use,
            n_outcomes=self.readout.n_outcomes,
            batch_size=self.batch_size,
            relative=True,
            stretch=stretch,
        )

    def measure(self, projector: bool = False) -> Callable[[NDArray[Any]], Any]:
        """Function that measures columns (n, m), made when first needed."""
        purpose = "projection" if projector else "measurement"

        def make() -> Callable[[NDArray[Any]], Any]:
            return self.representation.measure(
                [self.state], self.rank, projector=projector
            )

        found: Callable[[NDArray[Any]], Any] = self.cache.get(purpose, self.rank, make)
        return found

    def log_measured(self, rows: NDArray[Any]) -> Floats:
        """Logarithms (n, K) of what checked rows measure, however far away they are."""
        if not self.lacks(rows):
            return self._log_measured(rows)
        return by_gaps(self.plan.columns, rows, self._measured_knowing)

    def _log_measured(self, rows: NDArray[Any]) -> Floats:
        measure, representation = self.measure(), self.representation

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            return representation.logarithms(measure(columns), log_scale)

        return np.concatenate(self.for_blocks(rows, use, stretch=2))

    def lacks(self, rows: NDArray[Any]) -> bool:
        """Whether some of the rows lack values."""
        return self.may_miss and bool(np.isnan(rows).any())

    def by_gaps(
        self,
        rows: NDArray[Any],
        knowing: Callable[[list[int]], Callable[[NDArray[Any]], NDArray[Any]]],
    ) -> NDArray[Any]:
        """Answers from the columns that each row has: see :func:`by_gaps`."""
        return by_gaps(self.plan.columns, rows, knowing)

    def _measured_knowing(self, kept: list[int]) -> Callable[[NDArray[Any]], Floats]:
        """Function that answers from the columns that are known."""
        if len(kept) == self.plan.columns.n_features:
            return self._log_measured
        found: Callable[[NDArray[Any]], Floats] = self.cache.get_among(
            "parts",
            (self.rank, *kept),
            lambda: self.representation.measured_by_part(self.state, self.rank, kept),
            _MOST_PARTS,
        )
        return found

    def density_matrix(self) -> State:
        """ρ in the basis of the map's states, as sums or as a factor."""
        return self.representation.density_matrix(self.state)

    # ---- densities ------------------------------------------------------------------

    def log_norm(self) -> float:
        """Term from a measured logarithm to a log-density in the user's units."""
        return self.plan.log_norm(self.representation.power) - mass.log_excess(self)

    def inputs(self) -> Model | None:
        """The density of the rows alone, where outcomes do not add up to it.

        None where they do: what outcomes measure are densities of their rows.
        """
        if self.state is None:
            return None
        return self.cache.get("inputs", None, lambda: densities.inputs_of(self))

    def log_density(self, rows: NDArray[Any], logs: Floats | None = None) -> Floats:
        """Log-density of checked rows, whatever their outcome, shape (n,).

        Parameters
        ----------
        rows : array of shape (n, w)
        logs : array of shape (n, K), optional
            What they measure, where that is known.
        """
        return densities.log_density(self, rows, logs)

    # ---- leaving rows out -----------------------------------------------------------

    def log_density_without(self, batch: Batch) -> Floats:
        """Log-density of learned rows, each left out of the state, shape (n,)."""
        return densities.log_density_without(self, batch)

    def log_density_left_out(self, sample: RowSample | MeasuredSample) -> Floats:
        """Log-density of sampled rows, each left out of the state, shape (n,)."""
        return densities.log_density_left_out(self, sample)

    def log_left_out(self, sample: Any) -> Floats:
        """Logarithms measured by sampled rows, each left out of the state, (n, K).

        What rows measure of themselves is known in closed form: the squared overlap
        with their own state, or with what the rank keeps of it. The sums lack that;
        they are still divided by the outcomes' whole weights, as priors are made of.
        """
        return left_out.log_left_out(self, sample)

    # ---- parts ----------------------------------------------------------------------

    def conditional(self, given: dict[int, Any]) -> Model:
        """The model of the other columns, where some have values, in user units."""
        return self._part(
            *self.representation.conditional(self.state, self.rank, given)
        )

    def marginal(self, kept: list[int]) -> Model:
        """The model of some of the columns, whatever the others are."""
        return self._part(*self.representation.marginal(self.state, self.rank, kept))

    def _part(self, plan: Plan, state: State) -> Model:
        """The model of some columns, asked as this one is."""
        rank = self.rank if state.takes_rows else None  # what it left out is gone
        part = Model(
            plan,
            self.readout,
            state,
            rank=rank,
            batch_size=self.batch_size,
            may_miss=self.may_miss,
        )
        mass.never_warn_of_mass(part)
        return part
