"""States that are density matrices: how they are summed up and measured."""

from copy import copy
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy.linalg import qr, solve_triangular

from rhokit.core import DensityMatrix, LowRankDensityMatrix
from rhokit.core.density_matrix import pad_and_stack
from rhokit.core.spectrum import choose_rank, eigen_factor
from rhokit.estimators.gaps import GapAnswers
from rhokit.estimators.grid_state import GridState
from rhokit.fast import Measurement, OutcomeSums, small_algebra, thin_factor
from rhokit.validation import Interval, RealNotInt, StrOptions


class MatrixState(GapAnswers, GridState):
    """An estimator whose state is one density matrix per outcome."""

    _parameter_table: ClassVar = GridState._parameter_table | {
        "rank": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"elbow"}),
            None,
        ],
        "missing": [StrOptions({"raise", "integrate"})],
    }

    @property
    def density_matrix_(self):
        """ρ in the basis of the map's states, as sums or as a factor."""
        self._require_rows()
        if self._has_grid():
            return self.feature_map_.to_dense(self.state_)
        whitening = self.feature_map_.whitening_
        if whitening is None:
            return self.state_
        return self.state_.change_basis(whitening.astype(np.float64))

    def compact(self):
        """A copy that only predicts, with a factor of the model's rank for its sums.

        It is smaller, by as much as ``rank`` is below the dimension, and learns no
        more: it cannot add, merge or forget rows. On a grid it is a copy.
        """
        self._require_rows()
        other = copy(self)
        if self._has_grid():
            return other
        if isinstance(self.state_, DensityMatrix):
            other._set_factor(self._truncated_factor(), self.state_.weight)
        return other

    def _truncated_factor(self):
        """Factors of the outcomes over the map's states, shape (K, r, D)."""
        state, rank = self.density_matrix_, self._rank()
        with small_algebra(state.dim):
            return pad_and_stack(
                [
                    thin_factor(rho) if rank is None else eigen_factor(rho, rank)
                    for rho in state.normalized()
                ]
            )

    def _set_factor(self, factor, weight):
        """Hold factors (K, r, D) over the map's states instead of sums."""
        whitening = self.feature_map_.whitening_
        if whitening is not None:
            # A state is over columns, of which the whitening makes the map's states.
            q, r = qr(whitening.astype(np.float64), mode="economic")
            factor = factor @ solve_triangular(r, q.T)
        self._set_state(LowRankDensityMatrix(factor, weight))

    def _keep(self):
        if not isinstance(self.state_, LowRankDensityMatrix):
            return super()._keep()
        state, dtype = self.density_matrix_, self.feature_map_.column_dtype_
        factor = state.factor.astype(dtype)
        return vars(self) | {"state_": LowRankDensityMatrix(factor, state.weight)}

    def _restore(self):
        super()._restore()
        state, dtype = self.state_, self.feature_map_.column_dtype_
        if isinstance(state, LowRankDensityMatrix):
            wide = np.result_type(dtype, np.float64)
            self._set_factor(state.factor.astype(wide), state.weight)

    def _sum_outcomes(self, rows, weights, roots_of=None, order=None, n_outcomes=1):
        """Sum rows up per outcome.

        Parameters
        ----------
        rows : array of shape (n, d)
        weights : array of shape (n,), or None
        roots_of : callable, optional
            From an index of rows to the square roots of their outcome weights,
            shape (b, K).
        order : array of shape (n,), optional
            An order in which rows of the same outcome stand together.
        n_outcomes : int
        """
        self._refuse_factor()
        if self._has_grid():
            return self._sum_on_grid(rows, weights, roots_of, order, n_outcomes)
        feature_map = self.feature_map_
        dtype = feature_map.column_dtype_
        sums = OutcomeSums(n_outcomes, feature_map.n_columns_, dtype)
        scale = None if weights is None else np.sqrt(weights).astype(feature_map.dtype_)

        def use(worker, which, columns, log_scale):
            roots = (
                roots_of(which) if roots_of else np.ones((len(columns), 1))
            )  # (b, K)
            sums.add(worker, columns, roots)
            mass = np.ones(len(roots)) if weights is None else weights[which]
            return mass @ roots**2

        masses = self._for_blocks(rows, use, row_scale=scale, order=order)
        return DensityMatrix(sums.total(), np.sum(masses, axis=0))

    def _fade(self, decay):
        self._refuse_factor()
        super()._fade(decay)

    def _take_up(self, other):
        self._refuse_factor()
        other._refuse_factor()
        super()._take_up(other)

    def _give_back(self, other):
        self._refuse_factor()
        other._refuse_factor()
        super()._give_back(other)

    def _refuse_factor(self):
        """A factor has no sums that rows could be added to."""
        if isinstance(getattr(self, "state_", None), LowRankDensityMatrix):
            raise TypeError(
                f"this {type(self).__name__} holds only a factor, which takes up no "
                "rows. If it was trained, to_estimator() of the model that trained it "
                'gives one that does; if it was saved with state="factor", save it '
                'with state="exact"'
            )

    def _measure_outcomes(self, rank):
        """What measures columns with every outcome's density matrix."""
        return self._measure_states([self.state_], rank)

    def _measure_states(self, states, rank, *, projector=False):
        """What measures columns with the density matrices of states, one by one.

        With ``projector``, only how much the rank keeps of each is measured.
        """
        if self._has_grid():
            return self._series_of(states, rank)
        feature_map = self._measured_map()
        with small_algebra(feature_map.n_columns_):
            factors = (
                self._factor_over_columns(state.outcome(k), rank, projector)
                for state in states
                for k in range(state.n_outcomes)
            )
            return Measurement(factors, feature_map.column_dtype_)

    def _factor_over_columns(self, state, rank, projector):
        """Factor of a state of one outcome over the map's columns, shape (r, m)."""
        whitening = self.feature_map_.whitening_
        if whitening is not None:
            whitening = whitening.astype(np.float64)
            state = state.change_basis(whitening)
        if isinstance(state, LowRankDensityMatrix) and not _truncates(rank, state):
            factor = state.factor[0]
        else:
            rho = state.normalized()[0]
            factor = thin_factor(rho) if rank is None else eigen_factor(rho, rank)
        if projector:
            lengths = np.linalg.norm(factor, axis=1, keepdims=True)
            factor = factor / np.where(lengths > 0, lengths, 1)
        return factor if whitening is None else factor @ whitening.T


def _truncates(rank, state):
    """Whether a rank asks for less than a factor of one outcome has."""
    if rank is None or rank == "elbow":
        return rank == "elbow"
    return choose_rank(np.ones(state.dim), rank) < state.rank
