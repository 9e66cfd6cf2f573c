"""States that are density matrices, one per outcome."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular, svd

from rhokit.core import DensityMatrix, LowRankDensityMatrix
from rhokit.core.density_matrix import pad_and_stack
from rhokit.core.spectrum import choose_rank, eigen_factor
from rhokit.fast import (
    FactorMeasurement,
    GramSum,
    OutcomeSums,
    block_rows,
    map_blocks,
    may_be_thin,
    pivoted_factor,
    small_algebra,
    thin_factor,
)
from rhokit.features import GridFeatures
from rhokit.plans import Plan
from rhokit.records import (
    ArrayField,
    FactorField,
    Reader,
    Record,
    TriangleField,
    Values,
    require,
)
from rhokit.representations.base import Measure, Outcomes, Representation, State
from rhokit.representations.fourier_density import FourierDensity
from rhokit.representations.integrals import ColumnForms, LandmarkIntegrals


def _check_sums(values: Values, reader: Reader) -> None:
    """Nothing on the diagonals of sums is negative but rounding."""
    total, weight = values["total"], values["weight"]
    diagonal = TriangleField.diagonals(total)
    rounding = 1e-6 * np.maximum(diagonal.max(axis=1), weight)
    negative = (diagonal.min(axis=1) < -rounding)[weight > 0]
    require(not negative.any(), "total has a negative diagonal: it is no state")
    is_complex = np.iscomplexobj(total.parts["triangles"])
    reader.agree("whether columns are complex", is_complex, "total")


def _check_factor(values: Values, reader: Reader) -> None:
    is_complex = np.iscomplexobj(values["factor"].parts["numbers"])
    reader.agree("whether columns are complex", is_complex, "factor")


class MatrixRepresentation(Representation):
    """Sums of outer products of columns; the whitening is applied to the sums."""

    name = "matrix"
    may_be_series = True
    state_records: ClassVar[dict[str, Record]] = {
        "sums": Record(
            DensityMatrix,
            _check_sums,
            total=TriangleField("K", "m"),
            weight=ArrayField(("K",), low=0),
        ),
        "factor": Record(
            LowRankDensityMatrix,
            _check_factor,
            factor=FactorField("K", "m"),
            weight=ArrayField(("K",), low=0),
        ),
    }

    @classmethod
    def claim_rows(cls, reader: Reader) -> None:
        """A matrix for every outcome, twice while they are added up."""
        count, m = reader.sizes["K"], reader.sizes["m"]
        what = f"rows, which would be summed up to {count} matrices of {m} columns,"
        reader.claim(16 * count * m**2, what)

    def total(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        outcomes: Outcomes,
    ) -> DensityMatrix:
        """Sum outer products up per outcome."""
        roots_of = outcomes.roots_of
        if roots_of is None:
            return self._total_of_all(rows, weights)
        feature_map = self.plan.feature_map
        dtype = feature_map.column_dtype_
        sums = OutcomeSums(outcomes.count, feature_map.n_columns_, dtype)
        scale = None if weights is None else np.sqrt(weights).astype(feature_map.dtype_)

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> NDArray[Any]:
            roots = roots_of(which)
            sums.add(worker, columns, roots)
            mass = np.ones(len(roots)) if weights is None else weights[which]
            return np.asarray(mass @ roots**2)

        masses = self.plan.for_blocks(
            rows,
            use,
            row_scale=scale,
            order=outcomes.order,
            n_outcomes=outcomes.count,
            batch_size=self.batch_size,
        )
        return DensityMatrix(sums.total(), np.sum(masses, axis=0))

    def _total_of_all(
        self, rows: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> DensityMatrix:
        """Sum outer products up where there is one outcome that all rows have."""
        feature_map = self.plan.feature_map
        scale = None if weights is None else np.sqrt(weights).astype(feature_map.dtype_)
        sums: dict[int, GramSum] = {}

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> None:
            if worker not in sums:
                sums[worker] = GramSum(feature_map.n_columns_, columns.dtype)
            sums[worker].add(columns)

        self.plan.for_blocks(rows, use, row_scale=scale, batch_size=self.batch_size)
        wide = np.result_type(feature_map.column_dtype_, np.float64)
        total = np.zeros((1, feature_map.n_columns_, feature_map.n_columns_), wide)
        for place, worker in enumerate(sorted(sums)):
            sums[worker].move_to(total[0], first=place == 0)
        weight = float(len(rows) if weights is None else weights.sum())
        return DensityMatrix(total, np.array([weight]))

    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """The Born rule with a factor of every outcome."""
        feature_map = self.plan.measured_map
        with small_algebra(feature_map.n_columns_):
            factors = (
                self.factor_over_columns(state.outcome(k), rank, projector)
                for state in states
                for k in range(state.n_outcomes)
            )
            return FactorMeasurement(factors, feature_map.column_dtype_).born

    def factor_over_columns(
        self, state: State, rank: Any, projector: bool = False
    ) -> NDArray[Any]:
        """Factor of a state of one outcome over the map's columns, shape (r, m)."""
        whitening = self._whitening
        factor = self._factor_over_states(state, rank, whitening)
        if projector:
            factor = _unit_rows(factor)
        return np.asarray(factor if whitening is None else factor @ whitening.T)

    def _factor_over_states(
        self, state: State, rank: Any, whitening: NDArray[np.float64] | None
    ) -> NDArray[Any]:
        """Factor of a state of one outcome over the map's states, shape (r, D)."""
        if whitening is not None and rank is None and state.takes_rows:
            factor = _few_rows(state)
            if factor is not None:
                return np.asarray(factor @ whitening)
        if whitening is not None:
            state = state.change_basis(whitening)
        if state.takes_rows:
            return _factor(state.normalized()[0], rank)
        return _truncated(state.factor[0], rank)

    def factors(self, state: State, rank: Any) -> list[NDArray[Any]]:
        """Factors of all outcomes over the map's columns, as they are measured."""
        with small_algebra(self.plan.feature_map.n_columns_):
            return [
                self.factor_over_columns(state.outcome(k), rank)
                for k in range(state.n_outcomes)
            ]

    def own_overlap(self, vector: NDArray[Any]) -> float:
        r"""Mean of :math:`\|\phi(x)\|^4` over the rows of a vector, or a bound.

        States of length one have one. Landmarks make shorter ones where they do not
        reach; of these the trace is known, the mean of :math:`\|\phi(x)\|^2`, which is
        no less.
        """
        step = math.isqrt(vector.size) + 1
        trace = float(vector[::step].real.sum())
        return max(trace, trace**2)

    # ---- factors in place of sums ---------------------------------------------------

    def compact(self, state: State, rank: Any) -> State:
        """A factor of this rank instead of sums."""
        if not state.takes_rows:
            return state
        dense = self.density_matrix(state)
        with small_algebra(dense.dim):
            factors = [_factor(rho, rank) for rho in dense.normalized()]
        return self.state_of_factor(pad_and_stack(factors), state.weight)

    def state_of_factor(
        self, factor: NDArray[Any], weight: NDArray[np.float64]
    ) -> LowRankDensityMatrix:
        """The state whose factors over the map's states are (K, r, D)."""
        whitening = self.plan.feature_map.whitening_
        if whitening is not None:
            # A state is over columns, of which the whitening makes the map's states.
            q, r = qr(whitening.astype(np.float64), mode="economic")
            factor = factor @ solve_triangular(r, q.T)
        return LowRankDensityMatrix(factor, weight)

    # ---- columns left out -----------------------------------------------------------

    @property
    def can_integrate(self) -> bool:
        """Whether measured columns can be integrated, as those of landmarks can."""
        return self.plan.measured_map.can_integrate

    def _integrals(self, kept: list[int]) -> LandmarkIntegrals:
        if not self.can_integrate:
            raise self.cannot_integrate()
        return LandmarkIntegrals(self.plan, kept)

    def marginal(self, state: State, rank: Any, kept: list[int]) -> tuple[Plan, State]:
        """A quadratic form of the kernel columns that are left, factored."""
        integrals = self._integrals(kept)
        return self._part(state, rank, integrals, integrals.overlaps())

    def conditional(
        self, state: State, rank: Any, given: dict[int, Any]
    ) -> tuple[Plan, State]:
        """The same form, times what kernel columns are where values are given."""
        kept = [c for c in range(self.plan.columns.n_features) if c not in given]
        integrals, row = self._integrals(kept), self.scaled_values(given, "conditional")
        places = self.plan.columns.places(sorted(given))
        return self._part(state, rank, integrals, integrals.products_at(row, places))

    def _part(
        self,
        state: State,
        rank: Any,
        integrals: LandmarkIntegrals,
        overlaps: NDArray[np.float64],
    ) -> tuple[Plan, State]:
        factors = [
            integrals.integrated(factor, overlaps)
            for factor in self.factors(state, rank)
        ]
        part = LowRankDensityMatrix(pad_and_stack(factors), state.weight)
        return integrals.plan(), part

    def measured_by_part(
        self, state: State, rank: Any, kept: list[int]
    ) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Quadratic forms as they are, since most patterns of gaps are rare."""
        integrals = self._integrals(kept)

        def forms() -> list[NDArray[Any]]:
            return [factor.T @ factor for factor in self.factors(state, rank)]

        known = self.cache.get("quadratic forms", rank, forms)
        return ColumnForms(integrals, known).log_measured

    def series(
        self, state: State, rank: Any, probabilities: NDArray[np.float64]
    ) -> tuple[Any, FourierDensity]:
        """The density, evaluated on the nodes of a grid.

        Over landmarks it is a sum of Gaussians about the middles of pairs of them, as
        wide as the kernel: the grid for rows like the landmarks holds it.
        """
        feature_map: Any = self.plan.measured_map
        held = feature_map.series_rows()
        if held is None:
            raise self.cannot_integrate()
        grid = GridFeatures(gamma=feature_map.gamma).fit(held)
        measure, size = self.measure([state], rank), block_rows(feature_map.n_columns_)

        def evaluate(rows: NDArray[Any]) -> NDArray[Any]:
            rows = rows.astype(feature_map.dtype_)

            def work(worker: int, block: slice) -> NDArray[Any]:
                measured = measure(feature_map.columns(rows[block])[0])
                return np.asarray(measured.astype(np.float64) @ probabilities)

            return np.concatenate(map_blocks(work, len(rows), size))[None]

        return grid, FourierDensity.over(grid, grid.coefficients(evaluate)[0])

    # ---- mass -----------------------------------------------------------------------

    def _mass_form(self) -> NDArray[np.float64] | None:
        """Integral of products of measured states (D, D); None where not known."""
        if not self.can_integrate:
            return self.plan.measured_map.mass_matrix()
        overlaps, whitening = self._integrals([]).overlaps(), self._whitening
        if whitening is None:
            return overlaps
        with small_algebra(len(overlaps)):
            return np.asarray(whitening.T @ (overlaps @ whitening))

    def masses(self, state: State, rank: Any) -> NDArray[np.float64] | None:
        """Overlaps of density matrices with the integral of products of states."""
        form = self._mass_form()
        if form is None:
            return None
        with small_algebra(len(form)):
            return np.array(
                [
                    self._mass(state.outcome(k), rank, form)
                    for k in range(state.n_outcomes)
                ]
            )

    def _mass(self, state: State, rank: Any, form: NDArray[np.float64]) -> float:
        if rank is None and state.takes_rows:
            rho = self.density_matrix(state).normalized()[0]
            return float(np.vdot(form, rho).real)
        factor = self._factor_over_states(state, rank, self._whitening)
        return float(np.vdot(factor, factor @ form).real)

    def own_masses(self, state: State, rank: Any) -> Measure | None:
        """The same of the rows' own states, or of what a rank keeps of them."""
        form = self._mass_form()
        if form is None:
            return None
        dtype = self.plan.measured_map.column_dtype_
        with small_algebra(len(form)):
            root = thin_factor(form)  # (r, D)
            if rank is None:
                whole = root if self._whitening is None else root @ self._whitening.T
                measure = FactorMeasurement([whole], dtype).born
                return lambda columns: np.broadcast_to(
                    measure(columns), (len(columns), state.n_outcomes)
                )
            factors = []
            for k in range(state.n_outcomes):
                factor = self._factor_over_states(
                    state.outcome(k), rank, self._whitening
                )
                kept = _unit_rows(factor)
                kept = root @ kept.conj().T @ kept
                whitening = self._whitening
                factors.append(kept if whitening is None else kept @ whitening.T)
            return FactorMeasurement(factors, dtype).born

    @property
    def _whitening(self) -> NDArray[np.float64] | None:
        whitening = self.plan.feature_map.whitening_
        return None if whitening is None else whitening.astype(np.float64)


def _unit_rows(factor: NDArray[Any]) -> NDArray[Any]:
    """Rows at length one; those of length zero stay."""
    lengths = np.linalg.norm(factor, axis=1, keepdims=True)
    return np.asarray(factor / np.where(lengths > 0, lengths, 1))


def _factor(rho: NDArray[Any], rank: Any) -> NDArray[Any]:
    """A factor (r, D) of a density matrix, with all or some of its eigenvectors."""
    return thin_factor(rho) if rank is None else np.asarray(eigen_factor(rho, rank))


def _few_rows(state: State) -> NDArray[Any] | None:
    """Factor (r, m) of a state of fewer rows than columns, which is quick to whiten.

    It keeps all that is above rounding, which the whitening makes larger.
    """
    if not may_be_thin(float(state.weight[0]), state.dim):
        return None
    return pivoted_factor(state.normalized()[0], 1.0)


def _truncated(factor: NDArray[Any], rank: Any) -> NDArray[Any]:
    """A factor (r, D) with its leading singular vectors, if a rank asks for less."""
    most, dim = factor.shape
    if rank is None or (rank != "elbow" and choose_rank(np.ones(dim), rank) >= most):
        return factor
    _, roots, vectors = svd(factor, full_matrices=False)
    values = np.pad(roots**2, (0, dim - len(roots)))
    kept = choose_rank(values, rank)
    return np.asarray(roots[:kept, None] * vectors[:kept])
