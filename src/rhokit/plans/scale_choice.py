"""The scaling of a model with a target: by rule, or learned, and γ to start from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import gamma_by_rule
from rhokit.kernels import kernel_of
from rhokit.plans.exact_overlaps import exact_overlaps
from rhokit.plans.leave_one_out import LeaveOneOut
from rhokit.plans.metric import MetricSearch
from rhokit.plans.plan import Candidate
from rhokit.plans.request import PlanRequest
from rhokit.plans.scaling import Scaling, scaled_variances
from rhokit.validation import refuse_far

# γ around the median rule: coarse steps of the exact kernel, then finer ones.
_COARSE = 2.0 ** np.arange(-3, 12)
_FINE = 2.0 ** np.array([-0.5, 0.5])
_AROUND = 2.0 ** np.arange(-1, 1.1, 0.5)
_MOST_SCALING_ROWS = 10_000
# Of more columns, the covariance inside groups costs more than it may bring.
_MOST_WITHIN_COLUMNS = 1024
# Of more columns, a learned metric is not tried unless it is asked for.
_MOST_LEARNED_COLUMNS = 256
# Columns of a smaller range, in spreads, have none.
_LEAST_RANGE = 1e-3
# Score, rule, scaling, γ and kernel.
_Scored = tuple[float, Any, Scaling, float, Any]


class ScaleChoice:
    """Finds the scaling that suits the exact kernel best, and the kernel.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
        All rows.
    loo : LeaveOneOut
        Of these rows.
    groups : array of shape (n,)
        Which rows belong together.
    candidates : list of Candidate
        What is tried is added to it.
    """

    def __init__(
        self,
        request: PlanRequest,
        batch: Batch,
        loo: LeaveOneOut,
        groups: NDArray[Any],
        candidates: list[Candidate],
    ) -> None:
        self.request, self.batch, self.loo = request, batch, loo
        self.groups, self.candidates = groups, candidates
        self.by_score = isinstance(request.gamma, str) and request.gamma == "loo"
        self.rng = np.random.default_rng(request.seed)

    def run(self) -> tuple[Any, Scaling, float, Any]:
        """Rule and scaling that suit the exact kernel best, γ to start from, kernel.

        A γ that is given, or that a rule gives, is taken in the units of the scaling,
        and has no say in its choice.
        """
        self._refuse_equal_rows()
        is_number = self.batch.columns.is_number
        found = {
            rule if isinstance(rule, str) else "": (
                rule,
                Scaling.from_rows(rule, *self._rows_for_scaling(), is_number=is_number),
            )
            for rule in self._scale_rules()
        }
        kernels = self.request.kernels
        one = len(found) == len(kernels) == 1
        if one and not self.by_score and not self._is_learned:
            ((rule, scaling),) = found.values()
            return rule, scaling, self._given_gamma(scaling), kernels[0]
        scored = [
            (score, rule, scaling, gamma, kernel)
            for rule, scaling in found.values()
            for kernel in kernels
            for gamma, score in self._kernel_scores(rule, scaling, kernel)
        ]
        if self._may_learn:
            learned = self._learned(scored, found["std"][1])
            scored = learned if self._is_learned else scored + learned
        rule, scaling, gamma, kernel = max(scored, key=lambda each: each[0])[1:]
        gamma = gamma if self.by_score else self._given_gamma(scaling)
        return rule, scaling, gamma, kernel

    @property
    def _is_learned(self) -> bool:
        """Whether a learned metric is asked for."""
        rule = self.request.scale
        return isinstance(rule, str) and rule == "learned"

    @property
    def _may_learn(self) -> bool:
        """Whether a metric is to be learned."""
        d = self.batch.rows.shape[1]
        request, asked = self.request, self._is_learned
        free = request.scales_by_itself and not request.has_gaps
        several = d > 1 and MetricSearch.may_learn(self.loo, asked=asked)
        gaussian = any(kernel_of(each, 1.0).is_gaussian for each in request.kernels)
        free = free and gaussian and d <= _MOST_LEARNED_COLUMNS
        return several and (asked or free)

    def _scale_rules(self) -> list[Any]:
        """Rules of scaling to choose from; those that learning starts from."""
        d = self.batch.rows.shape[1]
        if self._is_learned:
            return ["std"]
        if not self.request.scales_by_itself:
            return [self.request.scale_rule]
        if d == 1 or self.loo.n_distinct < 2:
            return ["std"]
        within = ["within"] if d <= _MOST_WITHIN_COLUMNS else []
        return ["std", "common", *within]

    def _learned(self, scored: list[_Scored], plain: Scaling) -> list[_Scored]:
        """A learned metric, unless a fixed one is as good.

        Parameters
        ----------
        scored : list
            What the fixed ones do.
        plain : Scaling
            By the spread of columns.
        """
        std = [(score, gamma) for score, rule, _, gamma, _ in scored if rule == "std"]
        # The best γ may be so narrow that a row sees but its nearest neighbour, which
        # has no slope; twice that of the median rule is wide.
        starts = [max(std)[1], 2 * std[0][1] / float(_COARSE[0])]
        rows = self.loo.rows(self.batch.rows)
        rival = None
        if not self._is_learned:
            _, _, scaling, gamma, _ = max(scored, key=lambda each: each[0])
            rival = scaling.apply(rows), gamma * _AROUND
        is_number = self.batch.columns.is_number
        tied = None if is_number is None else ~is_number
        spread = plain.apply(rows)
        found = MetricSearch(self.loo, spread, starts, tied).run(rival)
        if found is None:
            return []
        metric, wanted = found
        # Numbers vary by one in the mean, as they do by rule; categories stay as they
        # are, where there are any.
        units = np.ptp(spread, axis=0) > _LEAST_RANGE if tied is None else tied
        scaling, gamma = plain.weighted(metric.matrix, units)
        narrow = scaling.apply(rows).astype(np.float32)
        return [
            (score, "learned", scaling, each, kernel)
            for kernel in self.request.kernels
            for each, score in self._scores_of(
                "learned",
                kernel,
                exact_overlaps(kernel, narrow, self.loo.probes()),
                gamma * wanted * self._around(kernel),
            )
        ]

    @staticmethod
    def _around(kernel: Any) -> NDArray[np.float64]:
        """Steps about the γ that was learned, which is that of the Gaussian kernel."""
        return np.ones(1) if kernel_of(kernel, 1.0).is_gaussian else _AROUND

    def importances(self, scaling: Scaling) -> NDArray[np.float64]:
        """Spreads of the user's columns after scaling, as shares of their sum."""
        rows = self.loo.rows(self.batch.rows)
        squares = scaled_variances(scaling, rows, self.loo.mass)
        spreads = np.sqrt(np.add.reduceat(squares, self.batch.columns.starts))
        if not spreads.any():
            spreads = np.ones(len(spreads))
        return np.asarray(spreads / spreads.sum())

    def _rows_for_scaling(self) -> tuple[Any, Any, Any]:
        """Rows, weights and groups, not more than needed to see their spread."""
        batch, groups = self.batch, self.groups
        if len(batch) > _MOST_SCALING_ROWS:
            some = self.rng.choice(len(batch), _MOST_SCALING_ROWS, replace=False)
            batch, groups = batch.take(some), groups[some]
        return batch.rows, batch.weights, groups

    def _refuse_equal_rows(self) -> None:
        gamma = self.request.gamma
        if isinstance(gamma, str) and self.loo.n_distinct < 2:
            raise ValueError(
                f"gamma={gamma!r} cannot be computed from rows that are all "
                f"equal (n_samples={self.loo.n_rows}): give gamma as a number"
            )

    def refuse_far(self, scaled: NDArray[Any]) -> None:
        """Refuse scaled rows whose squares would be too large, by column."""
        columns = self.batch.columns
        refuse_far(scaled, columns.names if columns.schema is None else None)

    def _given_gamma(self, scaling: Scaling) -> float:
        """γ as a number, or by a rule that needs no scores."""
        gamma = self.request.gamma
        if not isinstance(gamma, str):
            return float(gamma)
        rows = scaling.apply(self.loo.rows(self.batch.rows))
        self.refuse_far(rows)
        mass, total = self.loo.mass, self.loo.total_weight
        return gamma_by_rule(gamma, rows, mass, n_rows=total, rng=self.rng)

    def _kernel_scores(
        self, rule: Any, scaling: Scaling, kernel: Any
    ) -> list[tuple[float, float]]:
        """Pairs of γ and the exact kernel's score."""
        rows = scaling.apply(self.loo.rows(self.batch.rows))
        self.refuse_far(rows)
        median = gamma_by_rule("median", rows, self.loo.mass, rng=self.rng)
        probes = self.loo.probes()
        overlaps = exact_overlaps(kernel, rows.astype(np.float32), probes)
        coarse = self._scores_of(rule, kernel, overlaps, median * _COARSE)
        top = max(coarse, key=lambda pair: pair[1])[0]
        return coarse + self._scores_of(rule, kernel, overlaps, top * _FINE)

    def _scores_of(
        self, rule: Any, kernel: Any, overlaps: Any, gammas: NDArray[Any]
    ) -> list[tuple[float, float]]:
        """Pairs of γ and the kernel's score, from overlaps of probes for any γ."""
        probes, name = self.loo.probes(), kernel_of(kernel, 1.0).name
        values = [self.loo.score(overlaps(gamma), probes) for gamma in gammas]
        pairs = list(zip(gammas.tolist(), values, strict=True))
        self.candidates += [
            Candidate(rule, "exact", each, value, len(probes), name)
            for each, value in pairs
        ]
        return pairs
