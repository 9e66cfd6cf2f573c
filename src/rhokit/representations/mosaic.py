"""States that are mosaics: a small density matrix in every cell."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.core import CellMoments, CellSums
from rhokit.features import MosaicFeatures
from rhokit.features.cell_rows import n_quadratic
from rhokit.features.cells import CellMixture, definite, mixed
from rhokit.plans import Plan
from rhokit.records import ArrayField, Reader, Record, Values, require
from rhokit.representations.base import Measure, Outcomes, Representation, State
from rhokit.representations.cells_left_out import log_without
from rhokit.representations.memory import Load, MemoryEstimate, estimate_cell_memory

Floats = NDArray[np.float64]

# Probabilities of the ends of what is drawn of a column.
_ENDS = (0.002, 0.998)
# Share of a cell's weight that rounding may leave below zero.
_ROUNDING = 1e-6
# Bent values of impossible rows.
_FAR = 1e9
# Shares of rows that no sum of others would show may be left out.
_LEAST_SHARE = 1e-25
# Weights of final cells below this have lost digits, and count for nothing.
_LEAST_WEIGHT = 1e-290


def _check_cells(values: Values, reader: Reader) -> None:
    """No cell has a weight or a variance below zero, but for rounding."""
    total, weight = values["total"], values["weight"]
    require(
        (total[:, :, 0] >= -_ROUNDING * np.maximum(weight, 1)[:, None]).all(),
        "total has cells of negative weight",
    )


class MosaicRepresentation(Representation):
    """Sums of quadratic features by the cells that rows belong to."""

    name = "mosaic"
    has_matrix = False
    is_linear = False
    subtracts_own = False
    state_records: ClassVar[dict[str, Record]] = {
        "cells": Record(
            CellSums,
            _check_cells,
            total=ArrayField(("K", "C", "m")),
            weight=ArrayField(("K",), low=0),
        ),
        "moments": Record(
            CellMoments,
            _check_cells,
            total=ArrayField(("K", "C", "m")),
            weight=ArrayField(("K",), low=0),
        ),
    }

    @classmethod
    def claim_rows(cls, reader: Reader) -> None:
        """Sums for every cell of every outcome."""
        count, cells, m = (reader.sizes[name] for name in "KCm")
        what = f"rows, which would be summed up to {count} times {cells} cells,"
        reader.claim(16 * count * cells * m, what)

    @property
    def mosaic(self) -> MosaicFeatures:
        """The map."""
        mosaic: Any = self.plan.feature_map
        return mosaic

    # ---- learning -------------------------------------------------------------------

    def total(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        outcomes: Outcomes,
    ) -> CellSums:
        """Sum features up by cells, per outcome."""
        mosaic, roots_of = self.mosaic, outcomes.roots_of
        shape = (outcomes.count, mosaic.n_cells_, len(mosaic.router_))
        sums: dict[int, Floats] = {}

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            mass = np.ones(len(columns)) if weights is None else weights[which]
            masses = (
                mass[:, None]
                if roots_of is None
                else (mass[:, None] * roots_of(which) ** 2)
            )
            rows = mosaic.cell_rows(columns)
            member = mosaic.memberships(rows)
            own = sums.setdefault(worker, np.zeros(shape))
            for k, each in enumerate(masses.T):
                if each.any():
                    least = _LEAST_SHARE * each.max()
                    own[k] += rows.sums(member * each[:, None], least)
            return np.asarray(masses.sum(axis=0))

        masses = self.plan.for_blocks(
            rows, use, order=outcomes.order, batch_size=self.batch_size
        )
        total = sum(sums[worker] for worker in sorted(sums))
        return CellSums(np.asarray(total), np.sum(masses, axis=0))

    def check_rank(self, rank: Any, owner: str) -> None:
        """Refuse any rank: matrices of cells are small."""
        if rank is not None:
            raise ValueError(
                f"The 'rank' parameter of {owner} must be None for a mosaic, whose "
                f"matrices are small. Got {rank!r} instead: set it before fit, or take "
                'feature_map="landmarks"'
            )

    # ---- measuring ------------------------------------------------------------------

    def mixtures(self, state: State) -> list[CellMixture]:
        """The mixture of every outcome, in bent units."""
        if state.takes_rows:
            return [self.mosaic.mixture(total) for total in state.total]
        d, sizes = self.mosaic.n_numbers, self.mosaic.shares.sizes
        return [_final(total, d, sizes) for total in state.total]

    def mixture(self, state: State, probabilities: Floats) -> CellMixture:
        """The mixture of all outcomes' mixtures, with these probabilities (K,)."""
        return mixed(self.mixtures(state), probabilities)

    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """Logarithms of mixtures; one product for all cells of all outcomes."""
        mixtures = [each for state in states for each in self.mixtures(state)]
        stacked = np.concatenate([each.coefficients() for each in mixtures], axis=1)
        n_cells = self.mosaic.n_cells_

        def measured(columns: NDArray[Any]) -> Floats:
            logs = self.mosaic.cell_rows(columns).values(stacked)
            logs = logs.reshape(len(columns), len(mixtures), n_cells)
            top = logs.max(axis=2)
            logs -= top[:, :, None]
            np.exp(logs, out=logs)
            return np.asarray(np.log(logs.sum(axis=2)) + top)

        return measured

    def logarithms(self, measured: NDArray[Any], log_scale: Any) -> Floats:
        """What was measured are logarithms already."""
        return np.asarray(
            measured + (0 if log_scale is None else 2 * log_scale[:, None])
        )

    def log_left_out(self, state: State, rows: NDArray[Any], mass: Floats) -> Floats:
        r"""Logarithms that rows measure, each taken out of the cells it is in.

        A cell without a row is a rank-one change of its scatter: determinant and
        inverse follow.
        """
        mosaic = self.mosaic

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            rows = mosaic.cell_rows(columns)
            member = mosaic.memberships(rows)
            logs = [
                log_without(mosaic, total, rows, member, own)
                for total, own in zip(state.total, mass[which].T, strict=True)
            ]
            measured = np.stack(logs, axis=1)
            return self.logarithms(measured, log_scale)

        return np.concatenate(
            self.plan.for_blocks(rows, use, relative=True, batch_size=self.batch_size)
        )

    def density_matrix(self, state: State) -> State:
        """The cells' matrices as they are."""
        return state

    def overlap_vector(self, state: State) -> NDArray[Any]:
        r"""Shares of the cells, for the kernel that rows of the same cells have.

        .. math:: k(x, y) = \sum_l w_l \sum_{c \in l} r_c(x)\, r_c(y) \le 1
        """
        counts = np.diff([0, *self.mosaic.stops_])
        weights = np.repeat(self.mosaic.layer_weights_, counts)
        return np.asarray(state.normalized()[0, :, 0]) * np.sqrt(weights)

    def compact(self, state: State, rank: Any) -> State:
        """Moments that are final."""
        if not state.takes_rows:
            return state
        moments = np.stack([each.moments() for each in self.mixtures(state)])
        return CellMoments(moments, state.weight)

    # ---- columns left out -----------------------------------------------------------

    @property
    def can_integrate(self) -> bool:
        """Normal distributions have marginals."""
        return True

    def masses(self, state: State, rank: Any) -> NDArray[np.float64]:
        """One, by construction."""
        return np.ones(state.n_outcomes)

    def _part(self, kept: list[int]) -> Plan:
        columns = self.plan.columns.part(kept)
        scaling = self.plan.scaling.marginal(self.plan.columns.places(kept))
        mosaic = self.mosaic.restricted(kept, columns.schema)
        columns.give_to(mosaic)
        return replace(self.plan, columns=columns, scaling=scaling, feature_map=mosaic)

    def marginal(self, state: State, rank: Any, kept: list[int]) -> tuple[Plan, State]:
        """The cells' moments of these columns."""
        numbers, shares = self.mosaic.places(kept)
        parts = [each.part(numbers, shares) for each in self.mixtures(state)]
        moments = np.stack([each.moments() for each in parts])
        return self._part(kept), CellMoments(moments, state.weight)

    def conditional(
        self, state: State, rank: Any, given: dict[int, Any]
    ) -> tuple[Plan, State]:
        """The cells of the other columns, where some have values."""
        plan, mosaic = self.plan, self.mosaic
        kept = [c for c in range(plan.columns.n_features) if c not in given]
        scaled = self.scaled_values(given, "conditional")
        known_row = mosaic.cell_rows(mosaic.columns(scaled)[0])
        numbers, shares = mosaic.places(sorted(given))
        if mosaic.outside(scaled)[:, numbers].any():
            raise ValueError("conditional: the density is zero where these values are")
        onehot, values = known_row.onehot[0], known_row.z[0, numbers]
        rest_shares = mosaic.places(kept)[1]
        moments = []
        for each in self.mixtures(state):
            known = np.zeros(mosaic.n_cells_)
            if shares:
                known = each.part([], shares).log_categories(onehot[shares])
            part = each.conditional(numbers, values, known)
            every = list(range(part.d))
            moments.append(part.part(every, rest_shares).moments())
        return self._part(kept), CellMoments(np.stack(moments), state.weight)

    def measured_by_part(
        self, state: State, rank: Any, kept: list[int]
    ) -> Callable[[NDArray[Any]], Floats]:
        """Measure with a marginal model."""
        if not kept:
            return lambda rows: np.zeros((len(rows), state.n_outcomes))
        plan, part = self.marginal(state, rank, kept)
        asked = MosaicRepresentation(plan, self.batch_size)
        measure = asked.measure([part], None)

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            return asked.logarithms(measure(columns), log_scale)

        return lambda rows: np.concatenate(plan.for_blocks(rows, use, relative=True))

    def coordinates(self, rows: NDArray[Any], places: list[int]) -> list[Floats]:
        """Columns as they are scaled, and as they are bent."""
        scaled = self.plan.scale(rows).astype(np.float64)
        schema, bent = self.plan.columns.schema, scaled.copy()
        numbers = slice(None) if schema is None else schema.is_number
        bent[:, numbers] = np.clip(
            self.mosaic.shapes_.apply(scaled[:, numbers])[0], -_FAR, _FAR
        )
        return [scaled[:, places], bent[:, places]]

    # ---- drawing and looking --------------------------------------------------------

    def draw(
        self, state: State, probabilities: Floats, n: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Wide rows (n, width) in scaled units, by their cells."""
        mixture = self.mixture(state, probabilities)
        z, cell = mixture.draw(n, rng)
        numbers = self.mosaic.shapes_.invert(z)
        schema = self.plan.columns.schema
        if schema is None:
            return numbers
        rows = np.zeros((n, schema.width))
        rows[:, schema.is_number] = numbers
        stop = 0
        for column in schema.category_columns():
            states = schema.states(column)
            own = slice(stop, stop := stop + len(states))
            shares = np.exp(mixture.log_shares[cell, own])
            reached = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
            codes = (rng.random(n)[:, None] > reached[:, :-1]).sum(axis=1)
            rows[:, schema.blocks[column]] = states[codes]
        return rows

    def placed(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """In the user's units: whole steps, and not beyond the ends."""
        scaling, schema = self.plan.scaling, self.plan.columns.schema
        rows = np.array(scaling.invert(scaled))
        numbers = np.arange(scaled.shape[1])
        if schema is not None:
            numbers = np.flatnonzero(schema.is_number)
        mosaic, own = self.mosaic, scaling.marginal(numbers.tolist())
        rows[:, numbers] = mosaic.reading.in_units(
            scaled[:, numbers], own, mosaic.dtype_
        )
        return rows

    def extent(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between quantiles of every column, and a little more."""
        mixture = self.mixture(state, np.full(state.n_outcomes, 1 / state.n_outcomes))
        z = mixture.quantiles(list(range(mixture.d)), np.array(_ENDS))
        low, high = self.mosaic.shapes_.invert(z)
        more = 0.05 * (high - low)
        shapes = self.mosaic.shapes_
        return np.maximum(low - more, shapes.low), np.minimum(high + more, shapes.high)

    # ---- memory ---------------------------------------------------------------------

    def memory(self, load: Load) -> MemoryEstimate:
        """Bytes that learning takes at most."""
        return estimate_cell_memory(self.mosaic, load)


def _final(moments: Floats, d: int, sizes: tuple[int, ...]) -> CellMixture:
    """The mixture of moments that are final."""
    # A cell without weight has no covariance, and needs none.
    empty = ~(moments[:, 0] > _LEAST_WEIGHT)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(empty, -np.inf, np.log(np.maximum(moments[:, 0], 0)))
        shares = moments[:, n_quadratic(d) :] / moments[:, :1]
        log_shares = np.where(shares > 0, np.log(np.maximum(shares, 1e-300)), -1e300)
    mixture = CellMixture.from_moments(moments, d, log_weight, log_shares, sizes)
    mixture.covariance[empty] = np.eye(d)
    mixture.mean[empty] = 0
    mixture.log_shares[empty] = 0
    return replace(mixture, covariance=definite(mixture.covariance))
