"""States that are Fourier series over a box, which widens for rows outside."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import ToeplitzDensityMatrix, log_measured
from rhokit.features import GridFeatures
from rhokit.plans import Plan
from rhokit.plans.proposal import Proposal
from rhokit.records import ArrayField, CoefficientField, Reader, Record, Values, require
from rhokit.representations.base import Measure, Outcomes, Representation, State
from rhokit.representations.fourier_density import FourierDensity
from rhokit.representations.memory import Load, MemoryEstimate, estimate_grid_memory
from rhokit.validation import level_of_the_user

# Rows that stand for a series where rows are drawn from a matrix.
_PROPOSAL_ROWS = 2048
# Of the largest value of a spectrum; what is smaller is rounding.
_LEAST_POWER = 1e-12


def _check_series(values: Values, reader: Reader) -> None:
    """No mean of waves is larger than one, but for rounding and a little more."""
    total, weight = values["total"], values["weight"]
    reader.agree("the modes of a series", list(total.shape[1:]), "total")
    largest = np.abs(total).reshape(len(total), -1).max(axis=1)
    fits = (largest <= 2 * weight)[weight > 0].all()
    require(fits, "total has coefficients that are too large for its weight")


class SeriesRepresentation(Representation):
    """Coefficients of one Fourier series per outcome, over the box of a grid."""

    name = "series"
    state_records: ClassVar[dict[str, Record]] = {
        "series": Record(
            ToeplitzDensityMatrix,
            _check_series,
            total=CoefficientField("K"),
            weight=ArrayField(("K",), low=0),
        )
    }

    @classmethod
    def claim_rows(cls, reader: Reader) -> None:
        """Coefficients for every outcome, and sums of them."""
        count, modes = reader.sizes["K"], reader.sizes["modes"]
        what = f"rows, which would be summed up to {count} series of {modes} modes,"
        reader.claim(64 * count * modes, what)

    @property
    def grid(self) -> GridFeatures:
        """The map."""
        grid: Any = self.plan.feature_map
        return grid

    def total(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        outcomes: Outcomes,
    ) -> ToeplitzDensityMatrix:
        """Sum the waves of the rows up."""
        sums, roots_of = self.grid.sums(outcomes.count), outcomes.roots_of

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> NDArray[Any]:
            own = np.ones(1) if weights is None else weights[which]
            if roots_of is None:
                mass = np.broadcast_to(own[:, None], (len(columns), 1))
            else:
                mass = own[:, None] * roots_of(which) ** 2
            sums.add(worker, columns, mass)
            return np.asarray(mass.sum(axis=0))

        masses = self.plan.for_blocks(
            rows,
            use,
            order=outcomes.order,
            n_outcomes=outcomes.count,
            batch_size=self.batch_size,
        )
        return ToeplitzDensityMatrix(sums.total(), np.sum(masses, axis=0))

    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """Values of the series at angles."""
        means = np.concatenate([state.normalized() for state in states])
        # Ratios of errors would be taken for probabilities.
        least = self.noise if self.plan.compares_outcomes else 0.0
        return self.grid.series(means, least).born

    @property
    def noise(self) -> float:
        """Error of the series' values."""
        return float(self.grid.series_tol_)

    def check_rank(self, rank: Any, owner: str) -> None:
        """Refuse any rank: there is no matrix."""
        if rank is not None:
            raise ValueError(
                f"The 'rank' parameter of {owner} must be None for a "
                f"model on a grid, which keeps no matrix. Got {rank!r} instead: set it "
                'before fit, or take feature_map="quadrature"'
            )

    # ---- boxes ----------------------------------------------------------------------

    def plan_for(self, batch: Batch) -> Plan:
        """Widen the box for rows that it does not hold, or refuse them."""
        if self.grid.outside != "widen":
            return super().plan_for(batch)
        scaled = self.plan.scale(batch.seen().rows)
        if self.grid.holds(scaled):
            return self.plan
        wider = self.grid.widened_for(scaled)
        self._warn_of(wider, self.grid.n_outside(scaled), len(scaled))
        return self.plan.with_map(wider)

    def common_plan(self, other: Plan) -> Plan:
        """The plan over a box that holds both."""
        yours: Any = other.feature_map
        if self.grid.has_box_of(yours):
            return self.plan
        common = self.grid.widened(yours.low_, yours.high_)
        same = common.has_box_of(self.grid)
        return self.plan if same else self.plan.with_map(common)

    def moved(self, state: State, plan: Plan) -> State:
        """A density over another box."""
        box: Any = plan.feature_map
        return state if box.has_box_of(self.grid) else box.state_from(state, self.grid)

    def _warn_of(self, new: GridFeatures, n_outside: int, n_rows: int) -> None:
        before, after = ((m.low_, m.high_) for m in (self.grid, new))
        scaling, columns = self.plan.scaling, self.plan.columns
        units = " (in scaled units)"
        if scaling.by_columns:
            before, after = (
                (scaling.invert(low), scaling.invert(high))
                for low, high in (before, after)
            )
            units = ""
        names = columns.names or range(columns.n_features)
        changes = [
            f"column {name!r} from [{a:.4g}, {b:.4g}] to [{c:.4g}, {d:.4g}]"
            for name, a, b, c, d in zip(names, *before, *after, strict=True)
            if (a, b) != (c, d)
        ]
        warnings.warn(
            f"{n_outside} of {n_rows} rows lie outside the box of this "
            f"model's grid, which was widened for "
            f"{' and '.join(changes)}{units}. To choose the box beforehand, or to "
            "refuse such rows, give feature_map=GridFeatures(bounds=..., "
            'outside="refuse")',
            UserWarning,
            stacklevel=level_of_the_user(),
        )

    def extent(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The box."""
        return self.grid.low_, self.grid.high_

    # ---- other forms of a state -----------------------------------------------------

    def density_matrix(self, state: State) -> State:
        """ρ over cosines and sines."""
        return self.grid.to_dense(state)

    def as_matrix(self, state: State) -> tuple[Plan, State]:
        """A density over the cosines and sines of the grid."""
        rng = np.random.default_rng(0)
        proposal = None
        if not self.plan.compares_outcomes and self.plan.gamma is not None:
            rows = self.densities(state)[0].sample(_PROPOSAL_ROWS, rng)
            proposal = Proposal.from_rows(rows, None, self.plan.gamma, rng)
        plan = self.plan.with_map(
            self.grid.dense(), representation="matrix", proposal=proposal
        )
        return plan, self.density_matrix(state)

    def overlap_vector(self, state: State) -> NDArray[Any]:
        r"""``√P C`` of a series of coefficients ``P C``: no matrix is needed.

        .. math:: \mathrm{tr}\,\rho\sigma
                  = \sum_{jk} a_j^2 a_k^2 C_{j-k} \bar C'_{j-k}
                  = \sum_l P_l C_l \bar C'_l

        Along the last axis, differences above zero stand for their mirror images, too.
        """
        spectrum = self.grid.spectrum_
        known = spectrum > _LEAST_POWER * spectrum.max()
        counts = np.full(spectrum.shape[-1], 2.0)
        counts[0] = 1.0
        factor = np.sqrt(counts / np.where(known, spectrum, np.inf))
        return np.asarray(state.normalized()[0] * factor).ravel()

    def densities(self, state: State) -> list[FourierDensity]:
        """The outcomes' densities over scaled rows."""
        return [FourierDensity.over(self.grid, mean) for mean in state.normalized()]

    def series(
        self, state: State, rank: Any, probabilities: NDArray[np.float64]
    ) -> tuple[Any, FourierDensity]:
        """The mixture of what the state is, outcome by outcome."""
        mean = np.tensordot(probabilities, state.normalized(), axes=1)
        return self.grid, FourierDensity.over(self.grid, mean)

    @property
    def can_integrate(self) -> bool:
        """Whether columns stand for themselves."""
        return True

    def masses(self, state: State, rank: Any) -> NDArray[np.float64]:
        """One, to the grid's tolerance: its box holds all kernels, whole."""
        return np.ones(state.n_outcomes)

    def marginal(self, state: State, rank: Any, kept: list[int]) -> tuple[Plan, State]:
        """A slice of every series."""
        if not self.plan.scaling.by_columns:
            raise ValueError(
                "marginal needs columns that are scaled one by one, which "
                "scale='whiten' does not do: take scale='std' or 'robust'"
            )
        parts = [density.marginal(kept) for density in self.densities(state)]
        return self._part(kept, parts, state.weight)

    def conditional(
        self, state: State, rank: Any, given: dict[int, Any]
    ) -> tuple[Plan, State]:
        """Every series where some columns have values."""
        row = self.scaled_values(given, "conditional")[0]
        low, high = self.grid.box()
        inside = all(low[c] <= row[c] <= high[c] for c in given)
        values = {column: float(row[column]) for column in given}
        parts = [density.sliced(values) for density in self.densities(state)]
        least = math.exp(self.grid.log_floor_)
        if not inside or not max(part.mass for part in parts) > least:
            raise ValueError("conditional: the density is zero where these values are")
        kept = [c for c in range(self.plan.columns.n_features) if c not in given]
        return self._part(kept, parts, state.weight)

    def _part(
        self, kept: list[int], parts: list[FourierDensity], weight: Any
    ) -> tuple[Plan, State]:
        """Plan and state of densities of some of the columns."""
        plan = Plan(
            self.plan.columns.part(kept),
            self.plan.scaling.marginal(kept),
            self.plan.gamma,
            self.grid.restricted(kept),
            self.name,
            compares_outcomes=self.plan.compares_outcomes,
            sample_rows=self.plan.sample_rows,
        )
        return plan, series_state(plan.feature_map, parts, weight)

    def measured_by_part(
        self, state: State, rank: Any, kept: list[int]
    ) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Measure with a marginal model."""
        plan, state = self.marginal(state, rank, kept)
        part = SeriesRepresentation(plan, self.batch_size)
        measure = part.measure([state], None)

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> NDArray[Any]:
            return np.asarray(log_measured(measure(columns), log_scale))

        return lambda rows: np.concatenate(
            plan.for_blocks(
                rows, use, n_outcomes=state.n_outcomes, relative=True, stretch=2
            )
        )

    def memory(self, load: Load) -> MemoryEstimate:
        """Bytes that learning takes at most."""
        return estimate_grid_memory(self.grid, load)


def series_state(
    feature_map: Any, parts: list[FourierDensity], weight: NDArray[np.float64]
) -> ToeplitzDensityMatrix:
    """The state over a map's box of densities, up to a factor, of given weights."""
    kernel = np.exp(feature_map.log_mass())
    units = [
        mass * kernel / part.mass if mass > 0 else 0.0
        for part, mass in zip(parts, weight, strict=True)
    ]

    def evaluate(rows: NDArray[Any]) -> NDArray[Any]:
        pairs = zip(parts, units, strict=True)
        return np.stack([part.values(rows) * unit for part, unit in pairs])

    total = feature_map.coefficients(evaluate)
    return ToeplitzDensityMatrix(total, np.array(weight, dtype=float))
