"""A metric learned by the gradient of what rows left out are predicted with.

Under the exact kernel of weighted columns a row left out is predicted from all others,
in closed form, and so is the slope of the loss by every weight: sums over pairs of rows
are products of matrices. Weights, and a matrix where that is better, are looked for by
L-BFGS on one half of the rows, and must prove themselves on the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rhokit.plans.leave_one_out import (
    LeaveOneOut,
    kernel_overlaps,
    squared_distances,
)

Floats = NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]

# Of fewer rows nothing is learned, unless it is asked for; of fewer than the last of
# these, either half judges the other.
_LEAST_ROWS, _LEAST_ROWS_ASKED, _FEW_ROWS = 240, 16, 1200
# The most rows that learn from each start, while halves are compared, and in the end.
_ROWS_AT_FIRST, _MOST_ROWS, _MOST_ROWS_AT_LAST = 300, 1000, 2000
# Rows squared, times numbers per row, of one step.
_MOST_WORK = 8e7
_OVERHEAD = 24  # of numbers per pair
# A matrix has the square of so many columns of parameters.
_MOST_MATRIX_COLUMNS = 64
# Standard deviations that are expected of the logarithms of weights, about one another,
# and of the entries of a matrix, about those of one.
_WEIGHTS_SPREAD, _MATRIX_SPREAD = 2.0, 0.5
# Logarithms of weights go no farther from the start; what is learned is rounded to
# parts of one, so that rounding of rows does not show.
_MOST_MOVE = 9.0
_WEIGHT_STEPS, _MATRIX_STEPS = 64, 1024
_WEIGHT_ITERATIONS, _MATRIX_ITERATIONS = 30, 40
# What was learned is judged by so many rows at most, in parts that show the noise.
_MOST_JUDGES, _JUDGES_PER_PART, _MOST_PARTS = 1024, 8, 8
# γ in units of the learned one, which is that of fewer rows.
_NEAR = 2.0 ** np.arange(-1.5, 2.6, 0.5)


@dataclass(frozen=True, eq=False)
class Metric:
    """Weights of columns, and a matrix that mixes the weighted ones.

    Parameters
    ----------
    logs : array of shape (d,)
        Logarithms of the weights of squared differences, with γ.
    mixing : array of shape (d, d), optional
    """

    logs: Floats
    mixing: Floats | None = None

    @property
    def matrix(self) -> Floats:
        """What rows are multiplied with: factors (d,), or a matrix (d, d)."""
        factors = np.exp(self.logs / 2)
        return factors if self.mixing is None else factors[:, None] * self.mixing

    def apply(self, rows: Floats) -> Floats:
        """Rows whose squared distances are those of the kernel."""
        matrix = self.matrix
        return rows * matrix if matrix.ndim == 1 else rows @ matrix


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows, each of which is predicted from the others.

    Parameters
    ----------
    rows : array of shape (k, d)
    evidence : array of shape (k, C)
    which : array of shape (n,)
        The row of each of its members, which are copies.
    truth : array of shape (n, C)
        Evidence of the members.
    weight : array of shape (n,)
    task : Task
    """

    rows: Floats
    evidence: Floats
    which: NDArray[np.intp]
    truth: Floats
    weight: Floats
    task: Any

    @classmethod
    def of(cls, loo: LeaveOneOut, rows: Floats, kept: NDArray[np.intp]) -> "Neighbours":
        """Some of the groups of a sample, of which rows (G, d) are given."""
        which, target, weight = loo.members(kept)
        evidence = loo.evidence_among(kept)
        evidence = _single(evidence / np.abs(evidence).max())
        truth = _single(loo.task.evidence(target))
        own = _single(rows[kept])
        return cls(own, evidence, which, truth, _single(weight), loo.task)

    def by_weights(self, logs: Floats) -> tuple[float, Floats]:
        """Loss, and its slope by logarithms (d,) of the weights of squares."""
        mapped = self.rows * np.exp(logs / 2)
        value, slopes = self._by_squares(mapped)
        sums = slopes.sum(axis=0) + slopes.sum(axis=1)
        crossed = (mapped * (slopes @ mapped)).sum(axis=0)
        return value, sums @ mapped**2 - 2 * crossed

    def by_matrix(self, matrix: Floats) -> tuple[float, Floats]:
        """Loss, and its slope by the matrix (d, r) that rows are multiplied with."""
        mapped = self.rows @ matrix
        value, slopes = self._by_squares(mapped)
        slopes += slopes.T
        pulled = slopes.sum(axis=0)[:, None] * mapped - slopes @ mapped
        return value, 2 * (self.rows.T @ pulled)

    def _by_squares(self, mapped: Floats) -> tuple[float, Floats]:
        """Loss, and its slopes (k, k) by squared distances."""
        lengths = np.vecdot(mapped, mapped)
        squares = mapped @ (-2 * mapped.T)
        squares += lengths
        np.fill_diagonal(squares, np.inf)
        squares -= squares.min(axis=1, keepdims=True)  # so that nothing underflows
        overlaps = np.exp(np.negative(squares, out=squares), out=squares)
        gathered = overlaps @ self.evidence
        value, by_member = self.task.loss(gathered[self.which], self.truth, self.weight)
        by_row = np.zeros_like(gathered)
        np.add.at(by_row, self.which, by_member)
        overlaps *= by_row @ -self.evidence.T
        return value, overlaps


class MetricSearch:
    """Learns a metric of rows by what they predict when left out.

    Parameters
    ----------
    loo : LeaveOneOut
    rows : array of shape (G, d)
        One of each group, in units that are not the user's.
    starts : list of float
        Values of γ to start from.
    tied : array of shape (d,), bool, optional
        Columns that share one weight.
    """

    def __init__(
        self,
        loo: LeaveOneOut,
        rows: Floats,
        starts: list[float],
        tied: NDArray[np.bool_] | None = None,
    ) -> None:
        self.loo, self.rows = loo, rows
        d = rows.shape[1]
        self._starts = [np.full(d, _rounded(np.log(g), _WEIGHT_STEPS)) for g in starts]
        self._tied = np.zeros(d, bool) if tied is None else tied
        self._mixes = 1 < d <= _MOST_MATRIX_COLUMNS and not self._tied.any()

    @staticmethod
    def may_learn(loo: LeaveOneOut, *, asked: bool) -> bool:
        """Whether there are rows enough to learn from."""
        return loo.n_distinct >= (_LEAST_ROWS_ASKED if asked else _LEAST_ROWS)

    def run(self, rival: tuple[Floats, Floats] | None) -> tuple[Metric, float] | None:
        """The metric, and the γ that rows want which it was not learned from.

        None where the rival predicts as well.

        Parameters
        ----------
        rival : pair of arrays, optional
            Rows (G, d) in the units of another metric, and values of γ.
        """
        halves = self.loo.halves()
        turns = [halves, halves[::-1]] if self.loo.n_distinct < _FEW_ROWS else [halves]
        found = [self._learn(own, _MOST_ROWS) for own, _ in turns]
        judges = [self._judges(other) for _, other in turns]
        best, gamma, scores = None, 1.0, None
        if rival is not None:
            scores = self._judged([rival[0]] * len(turns), judges, rival[1])[1]
        for place in range(len(found[0])):
            mapped = [each[place].apply(self.rows) for each in found]
            wanted, own = self._judged(mapped, judges, _NEAR)
            if scores is None or _is_gain(own - scores):
                best, gamma, scores = place, wanted, own
        if best is None:
            return None
        everything = np.arange(self.loo.n_distinct)
        known = found[0][: best + 1]
        return self._learn(everything, _MOST_ROWS_AT_LAST, known)[best], gamma

    def _near(self, groups: NDArray[np.intp], most: int) -> Neighbours:
        """Groups that learn, no more than time allows."""
        breadth = self.rows.shape[1] + _OVERHEAD
        count = min(most, int(np.sqrt(_MOST_WORK / breadth)))
        return Neighbours.of(self.loo, self.rows, self.loo.some_of(groups, count))

    def _learn(
        self, groups: NDArray[np.intp], most: int, known: list[Metric] | None = None
    ) -> list[Metric]:
        """Weights, and a matrix from there on; those that are known go on."""
        near = self._near(groups, most)
        first = self._first(groups) if known is None else known[0].logs
        logs = _descend(self._weights_loss(near), first, _WEIGHT_ITERATIONS)[1]
        found = [Metric(_rounded(logs, _WEIGHT_STEPS))]
        if self._mixes and (known is None or len(known) > 1):
            mixing = None if known is None else known[1].mixing
            found.append(_mixed(near, found[0], mixing))
        return found

    def _first(self, groups: NDArray[np.intp]) -> Floats:
        """Weights from the best start, as few rows see it."""
        loss = self._weights_loss(self._near(groups, _ROWS_AT_FIRST))
        tried = [_descend(loss, start, _WEIGHT_ITERATIONS) for start in self._starts]
        return min(tried, key=lambda pair: pair[0])[1]

    def _weights_loss(self, near: Neighbours) -> Loss:
        """Loss of weights, which are expected not to be far from one another."""
        strength = 1 / (_WEIGHTS_SPREAD**2 * near.weight.sum())
        tied = self._tied

        def loss(logs: Floats) -> tuple[float, Floats]:
            value, slope = near.by_weights(logs)
            apart = logs - logs.mean()
            slope = slope + strength * apart
            slope[tied] = slope[tied].mean() if tied.any() else 0
            return value + strength * (apart @ apart) / 2, slope

        return loss

    def _judges(self, groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Groups that judge, in parts."""
        some = self.loo.some_of(groups, _MOST_JUDGES)
        n_parts = min(_MOST_PARTS, max(2, len(some) // _JUDGES_PER_PART))
        return [some[k::n_parts] for k in range(n_parts)]

    def _judged(
        self, mapped: list[Floats], judges: list[list[NDArray[np.intp]]], gammas: Floats
    ) -> tuple[float, Floats]:
        """The γ that is best in all parts, and their scores."""
        squares = [
            (part, squared_distances(rows.astype(np.float32), part))
            for rows, parts in zip(mapped, judges, strict=True)
            for part in parts
        ]
        scores = np.array(
            [
                [self.loo.score(kernel_overlaps(own, g), part) for part, own in squares]
                for g in gammas
            ]
        )
        best = int(scores.mean(axis=1).argmax())
        return float(gammas[best]), scores[best]


def _mixed(near: Neighbours, weighted: Metric, start: Floats | None) -> Metric:
    """The matrix that mixes weighted columns best, expected to be near one."""
    one, factors = np.eye(len(weighted.logs)), weighted.matrix[:, None]
    strength = 1 / (_MATRIX_SPREAD**2 * near.weight.sum())

    def loss(entries: Floats) -> tuple[float, Floats]:
        mixing = entries.reshape(one.shape)
        value, slope = near.by_matrix(factors * mixing)
        apart = mixing - one
        slope = factors * slope + strength * apart
        return value + strength * float((apart**2).sum()) / 2, slope.ravel()

    first = one if start is None else start
    mixing = _descend(loss, first.ravel(), _MATRIX_ITERATIONS, None)[1]
    return Metric(weighted.logs, _rounded(mixing.reshape(one.shape), _MATRIX_STEPS))


def _descend(
    loss: Loss, start: Floats, iterations: int, most: float | None = _MOST_MOVE
) -> tuple[float, Floats]:
    """The least loss on the way from a start, and where it is."""
    bounds = None if most is None else [(x - most, x + most) for x in start.tolist()]
    options = {"maxiter": iterations}
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return float(found.fun), np.asarray(found.x)


def _is_gain(gains: Floats) -> bool:
    """Whether gains of parts are more than their standard error."""
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains)))


def _rounded(values: Any, steps: int) -> Any:
    return np.round(values * steps) / steps


def _single(values: Floats) -> Floats:
    """Numbers without digits that rounding decides."""
    return np.asarray(values.astype(np.float32).astype(np.float64))
