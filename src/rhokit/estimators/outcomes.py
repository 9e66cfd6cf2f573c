"""Models with a target: one density matrix per outcome, chosen by leave-one-out."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from rhokit.core import log_measured
from rhokit.core.density_matrix import inverse_weight
from rhokit.estimators.choice import MapChooser
from rhokit.estimators.matrix_state import MatrixState
from rhokit.estimators.row_sample import RowSample
from rhokit.estimators.scaling import GROUP_RULES, RULES, Scaling
from rhokit.estimators.supervised_choice import (
    LeaveOneOut,
    SupervisedChoice,
    map_overlaps,
)
from rhokit.fast import Measurement, small_algebra
from rhokit.validation import StrOptions, generator

# Of more columns, the covariance inside groups costs more than it may bring.
_MOST_WITHIN_COLUMNS = 1024
# Rows that are kept to learn from what they measure when left out.
_SAMPLE_ROWS = 2000


class OutcomeEstimator(MatrixState):
    """An estimator that learns a target through a density matrix per outcome.

    A subclass says how rows are summed up per outcome (``_sum``), what is a good
    prediction (``_task``), and which rows belong together (``_groups``).
    """

    _landmarks_by_group = False
    _parameter_table: ClassVar = MatrixState._parameter_table | {
        "scale": [StrOptions({"auto", *RULES, *GROUP_RULES}), "array-like", None],
    }

    # ---- what a subclass says ----------------------------------------------------

    @abstractmethod
    def _task(self, target, weights):
        """How leave-one-out predictions are scored, as a Task."""

    @abstractmethod
    def _sum(self, rows, weights, target):
        """Sums per outcome."""

    @abstractmethod
    def _groups(self, target):
        """Which rows belong together, shape (n,)."""

    def _plan_readout(self, loo):
        """Hook: choose what turns measured values into predictions."""

    def _needs_sample(self):
        """Whether rows must be kept to learn from them when left out."""
        return False

    # ---- learning ----------------------------------------------------------------

    def _plan(self, rows, weights, target, *, bounded):
        rng = generator(self.random_state)
        seed = int(rng.integers(2**31 - 1))
        loo = LeaveOneOut(
            rows,
            weights,
            target,
            self._task(target, weights),
            np.random.default_rng(seed),
        )
        if self._is_gaussian():
            choice = SupervisedChoice(
                loo,
                rows,
                weights,
                self._groups(target),
                scales=self._scales(rows.shape[1]),
                gamma=self.gamma,
                wanted=self.feature_map,
                n_components=self.n_components,
                seed=seed,
                bounded=bounded,
                landmarks_by_group=self._landmarks_by_group,
            )
            self.scaling_, self.feature_map_, self.gamma_ = choice.run()
            self.candidates_ = choice.candidates
        else:
            self.gamma_, self.candidates_ = None, []
            self.scaling_ = Scaling.from_rows(self._scale_rule(), rows, weights)
            scaled = self.scaling_.apply(rows) if self._numeric_rows() else rows
            chooser = MapChooser(
                self.feature_map, scaled, weights, self.n_components, seed, bounded
            )
            self.feature_map_ = chooser(None)
        self._rows_of_choice = rows
        self._plan_readout(loo)
        del self._rows_of_choice
        self.sample_ = None

    def _scales(self, d):
        """Rules of scaling to choose from."""
        automatic = isinstance(self.scale, str) and self.scale == "auto"
        if not (automatic and self.gamma == "loo"):
            return [self._scale_rule()]
        if d == 1:
            return ["std"]
        within = ["within"] if d <= _MOST_WITHIN_COLUMNS else []
        return ["std", "common", *within]

    def _probe_overlaps(self, loo):
        """Probes of a leave-one-out, and their squared overlaps under the map."""
        probes = loo.probes()
        rows = self._apply_scaling(loo.rows(self._rows_of_choice))
        return probes, map_overlaps(self.feature_map_, rows, probes)

    def _add(self, rows, weights, target):
        super()._add(rows, weights, target)
        if self._needs_sample():
            fresh = self._sample(rows, weights, target, _SAMPLE_ROWS)
            self.sample_ = fresh if self.sample_ is None else self.sample_ + fresh

    def _take_up(self, other):
        super()._take_up(other)
        if other.sample_ is not None:
            mine = self.sample_
            self.sample_ = other.sample_ if mine is None else mine + other.sample_

    def _subtract(self, rows, weights, target):
        super()._subtract(rows, weights, target)
        if self.sample_ is not None:
            self.sample_ -= self._sample(rows, weights, target, len(rows))

    def _sample(self, rows, weights, target, size):
        return RowSample.of(rows, target, weights, size)

    # ---- measuring ---------------------------------------------------------------

    def _measured_map(self):
        """Probabilities do not depend on a row's length: no need to normalise."""
        return self.feature_map_.unnormalized()

    def _prepare_measurement(self):
        return self._measure_outcomes(self.rank).born

    def _log_left_out(self, rows, roots, weights):
        """Logarithms measured by rows of the state, each with itself left out, (n, K).

        The sums lack the rows; they are still divided by the outcomes' whole weights,
        which is what the priors are made of. What rows measure of themselves is known in closed form: the squared overlap
        with their own state, or with what the rank keeps of it.

        Parameters
        ----------
        rows : array of shape (n, d)
        roots : array of shape (n, K)
            Square roots of the rows' outcome weights.
        weights : array of shape (n,)
        """
        measure, keeps = self._measurement(), self._kept_measurement()
        feature_map = self._measured_map()
        whitening = feature_map.whitening_
        unit = feature_map is not self.feature_map_  # what was summed had length one
        tiny = 100 * np.finfo(feature_map.dtype_).eps

        def use(worker, which, columns, log_scale):
            mass = roots[which] ** 2 * weights[which][:, None]  # (b, K)
            total = measure(columns).astype(np.float64) * self.state_.weight
            states = columns if whitening is None else columns @ whitening
            length = np.vecdot(states, states).real.astype(np.float64)[:, None]
            kept = length if keeps is None else keeps(columns).astype(np.float64)
            own = mass * (kept**2 / length if unit else kept**2)
            # What rounding leaves of a cancelled sum says nothing.
            left = np.where(total - own > tiny * own, total - own, 0)
            return log_measured(left * inverse_weight(self.state_.weight), log_scale)

        return np.concatenate(self._for_blocks(rows, use, relative=True, stretch=2))

    def _kept_measurement(self):
        """Measures how much of a state the rank keeps; None where that is all."""
        if self.rank is None:
            return None
        feature_map = self._measured_map()
        with small_algebra(feature_map.n_columns_):
            factors = self._folded(self.rank, projector=True)
            return Measurement(factors, feature_map.column_dtype_).born
