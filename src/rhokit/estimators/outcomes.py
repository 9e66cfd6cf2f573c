"""Models with a target: one density matrix per outcome, chosen by leave-one-out."""

from abc import abstractmethod
from copy import copy
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from rhokit.core import LowRankDensityMatrix, log_measured
from rhokit.core.arrays import safe_log
from rhokit.core.sums import inverse_weight, remaining_weight
from rhokit.estimators.matrix_state import MatrixState
from rhokit.estimators.row_sample import MeasuredSample, RowSample
from rhokit.estimators.scaling import GROUP_RULES, RULES
from rhokit.estimators.supervised_choice import (
    LeaveOneOut,
    SupervisedChoice,
    choose_rank_by_score,
)
from rhokit.validation import StrOptions, all_or_nothing

# Of more columns, the covariance inside groups costs more than it may bring.
_MOST_WITHIN_COLUMNS = 1024
# Rows that are kept to learn from what they measure when left out.
SAMPLE_ROWS = 2000
# Of few rows, at most this share is kept out of the choice of landmarks.
WITNESS_SHARE = 0.25


class OutcomeEstimator(MatrixState):
    """An estimator that learns a target through a density matrix per outcome.

    A subclass says how rows are summed up per outcome (``_sum``), what is a good
    prediction (``_task``), and which rows belong together (``_groups``).
    """

    _landmarks_by_group = False
    _parameter_table: ClassVar = MatrixState._parameter_table | {
        "scale": [StrOptions({"auto", *RULES, *GROUP_RULES}), "array-like", None],
        "rank": [*MatrixState._parameter_table["rank"], StrOptions({"loo"})],
    }

    # ---- what a subclass says ----------------------------------------------------

    @abstractmethod
    def _task(self, target, weights):
        """How leave-one-out predictions are scored, as a Task."""

    @abstractmethod
    def _sum(self, rows, weights, target):
        """Sums per outcome."""

    @abstractmethod
    def _groups(self, target, weights):
        """Which rows belong together, shape (n,)."""

    @abstractmethod
    def _sample_roots(self, sample):
        """Square roots of the outcome weights of sampled rows, shape (n, K)."""

    @abstractmethod
    def _essential_targets(self, y):
        """The few of many targets that :meth:`prepare` must know of."""

    def _plan_readout(self, loo, sample):
        """Hook: choose what turns measured values into predictions.

        ``sample`` are the scaled rows of the leave-one-out.
        """

    def _rank_task(self, loo):
        """How predictions from the outcomes themselves are scored."""
        return loo.task

    def _needs_sample(self):
        """Whether rows must be kept to learn from them when left out."""
        return False

    def _batch_copies(self):
        return super()._batch_copies() + (4 if self._needs_sample() else 1)

    def _needs_witnesses(self):
        """Whether the sample must not have taken part in the choice of landmarks."""
        return False

    # ---- learning ----------------------------------------------------------------

    @all_or_nothing
    def prepare(self, X, y, sample_weight=None, *, targets=None):
        """Choose scaling, γ and map from a sample, without adding its rows.

        For streams and for work on several machines: prepare once, send the model
        to every worker, ``partial_fit`` there, and :meth:`merge` the results.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
        targets : array-like, optional
            Targets that will come and that the sample may lack: all labels, or the
            lowest and the highest value.

        Returns
        -------
        self
        """
        self._foreseen = targets
        self._start(X, y, sample_weight, bounded=False, add=False)
        del self._foreseen

    def _require_target(self, y):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )

    def _plan(self, rows, weights, target, *, bounded):
        self._sample_size = SAMPLE_ROWS
        seed, task = self._draw_seed(), self._task(target, weights)
        loo = LeaveOneOut(rows, weights, target, task, np.random.default_rng(seed))
        if self._is_gaussian():
            self._plan_by_score(loo, rows, weights, target, seed, bounded)
        else:
            super()._plan(rows, weights, target, bounded=bounded)
            self.candidates_ = []
        sample = self._apply_scaling(loo.rows(rows))
        self._plan_readout(loo, sample)
        if self.rank == "loo":
            states = self.feature_map_.transform(sample)
            self.rank_ = choose_rank_by_score(loo, self._rank_task(loo), states)

    def _plan_by_score(self, loo, rows, weights, target, seed, bounded):
        """Choose scaling, map and γ by what they predict for rows left out."""
        witnesses = None
        if self._needs_witnesses():
            size = min(SAMPLE_ROWS, max(1, int(WITNESS_SHARE * len(rows))))
            witnesses = self._sample(rows, weights, target, size)
        choice = SupervisedChoice(
            loo,
            rows,
            weights,
            self._groups(target, weights),
            scales=self._scales(rows.shape[1]),
            gamma=self.gamma,
            wanted=self.feature_map,
            n_components=self.n_components,
            seed=seed,
            bounded=bounded,
            grids=self._takes_grids(),
            landmarks_by_group=self._landmarks_by_group,
            witnesses=witnesses and witnesses.holds(rows, self._names(target)),
            schema=self.schema_,
        )
        self.scaling_, self.feature_map_, self.gamma_ = choice.run()
        self.candidates_ = choice.candidates
        if choice.spared_witnesses:
            self._sample_size = size

    def _scales(self, d):
        """Rules of scaling to choose from."""
        automatic = isinstance(self.scale, str) and self.scale == "auto"
        if not (automatic and self.gamma == "loo"):
            return [self._scale_rule()]
        if d == 1:
            return ["std"]
        within = ["within"] if d <= _MOST_WITHIN_COLUMNS else []
        return ["std", "common", *within]

    def _add(self, rows, weights, target):
        super()._add(rows, weights, target)
        if self._needs_sample():
            fresh = self._sample(rows, weights, target, self._sample_size)
            self.sample_ = fresh if self.sample_ is None else self.sample_ + fresh

    def _take_up(self, other):
        super()._take_up(other)
        if not self._needs_sample():
            return
        if other.sample_ is None:
            raise ValueError(
                f"merge: this {type(self).__name__} learns from rows left out, and the "
                "other one kept no sample of them: fit it with the same parameters"
            )
        mine = self.sample_
        self.sample_ = other.sample_ if mine is None else mine + other.sample_

    def _fade(self, decay):
        super()._fade(decay)
        if self.sample_ is not None:
            self.sample_ = self.sample_.scale(decay)

    def _give_back(self, other):
        super()._give_back(other)
        if self.sample_ is not None and other.sample_ is not None:
            self.sample_ -= other.sample_

    def _subtract(self, rows, weights, target):
        super()._subtract(rows, weights, target)
        if self.sample_ is not None:
            self.sample_ -= self._sample(rows, weights, target, len(rows))

    def _sample(self, rows, weights, target, size):
        return RowSample.of(rows, target, weights, size, self._names(target))

    def _names(self, target):
        """What tells rows with different targets apart, shape (n, ...)."""
        return target

    def _set_state(self, state):
        super()._set_state(state)
        if state is None:
            self.sample_ = None

    def _restore(self):
        super()._restore()
        self.candidates_ = []

    def compact(self):
        """A copy that only predicts: see :meth:`DMKDE.compact`."""
        other, sample = super().compact(), self.sample_
        has_factor = isinstance(other.state_, LowRankDensityMatrix)
        if has_factor and isinstance(sample, RowSample):
            logs = self._log_left_out(sample, self._sample_roots(sample))
            other.sample_ = MeasuredSample(sample.target, sample.weight, logs)
        return other

    # ---- densities ---------------------------------------------------------------

    def score_samples(self, X, y=None, *, leave_one_out=False):
        """Log-density of each row, whatever its target, shape (n,).

        In the user's units. It falls without bound away from the data (with random
        Fourier features to the map's floor), so it tells rows like no other.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,) or (n, t), optional
            Targets of rows that the model was fitted to, for ``leave_one_out``.
        leave_one_out : bool, default=False
            Take each row's own contribution out, in closed form, as of a row with
            weight one.
        """
        self._require_rows()
        if leave_one_out:
            # On a copy: labels that are new get a place in the model.
            return copy(self)._score_left_out(X, y)
        rows = self._checked(X)
        joint = self._log_measured(rows) + self._log_shares(self.state_.weight)
        return logsumexp(joint, axis=1) + self._log_norm_of(rows)

    @abstractmethod
    def _log_shares(self, weight):
        """Logarithms of the outcomes' shares in the density, of weights (..., K)."""

    def _score_left_out(self, X, y):
        if isinstance(self.state_, LowRankDensityMatrix):
            raise ValueError(
                f"leave_one_out needs the sums that a {type(self).__name__} was fitted "
                "with, and this one holds only a factor of them"
            )
        rows = self._checked(X)
        self._refuse_gaps(rows)
        target = self._check_target(y, rows, None, reset=False)
        keys = np.arange(len(rows), dtype=np.uint64)
        ones = np.ones(len(rows))
        return self._log_density_left_out(
            RowSample(len(rows), keys, rows, target, ones)
        )

    def _log_density_left_out(self, sample):
        """Log-density of sampled rows, each left out of the state, shape (n,)."""
        roots = self._sample_roots(sample)
        logs = self._log_left_out(sample, roots)
        # The outcomes' weights without the row, in its density and in their shares.
        weight = self.state_.weight
        rest = remaining_weight(weight, roots**2 * sample.weight[:, None])
        logs += safe_log(weight) - safe_log(np.where(rest > 0, rest, np.inf))
        return logsumexp(logs + self._log_shares(rest), axis=1) + self._log_norm()

    # ---- measuring ---------------------------------------------------------------

    def _measured_map(self):
        """Probabilities do not depend on a row's length: no need to normalise."""
        return self.feature_map_.unnormalized()

    def _prepare_measurement(self):
        return self._measure_outcomes(self._rank()).born

    def _least_measured(self):
        return self._noise()  # ratios of errors would be taken for probabilities

    def _rank(self):
        if self.rank != "loo":
            return self.rank
        if not hasattr(self, "rank_"):
            raise ValueError(
                "The 'rank' parameter was set to 'loo' after the model had chosen: set "
                "it before fit"
            )
        return self.rank_

    def _log_left_out(self, sample, roots):
        """Logarithms measured by sampled rows, each left out of the state, (n, K).

        What rows measure of themselves is known in closed form: the squared overlap
        with their own state, or with what the rank keeps of it. The sums lack that;
        they are still divided by the outcomes' whole weights, as priors are made of.

        Parameters
        ----------
        sample : RowSample or MeasuredSample
        roots : array of shape (n, K)
            Square roots of the rows' outcome weights.
        """
        if isinstance(sample, MeasuredSample):
            return sample.logs.copy()
        rows, weights = sample.rows, sample.weight
        if isinstance(self.state_, LowRankDensityMatrix):
            return self._log_measured(rows)  # a trained state's sample was held out
        measure, keeps = self._measurement(), self._kept_measurement()
        feature_map = self._measured_map()
        unit = feature_map is not self.feature_map_  # what was summed had length one
        tiny = 100 * np.finfo(feature_map.dtype_).eps
        noise = self._noise() * self.state_.weight

        def use(worker, which, columns, log_scale):
            mass = roots[which] ** 2 * weights[which][:, None]  # (b, K)
            total = measure(columns).astype(np.float64) * self.state_.weight
            length = feature_map.lengths_of(columns).astype(np.float64)[:, None]
            kept = length if keeps is None else keeps(columns).astype(np.float64)
            own = mass * (kept**2 / length if unit else kept**2)
            if log_scale is not None and not unit:
                own *= np.exp(2 * log_scale)[:, None]  # it was summed unscaled
            # What rounding leaves of a cancelled sum says nothing.
            left = np.where(total - own > tiny * own + noise, total - own, 0)
            return log_measured(left * inverse_weight(self.state_.weight), log_scale)

        return np.concatenate(self._for_blocks(rows, use, relative=True, stretch=2))

    def _kept_measurement(self):
        """Measures how much of a state the rank keeps; None where that is all."""
        rank = self._rank()
        if rank is None:
            return None
        return self._measure_states([self.state_], rank, projector=True).born
