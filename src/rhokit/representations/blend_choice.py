"""The plan of a blend: metric, landmarks, trees, ridge, and how they come together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.fast import small_algebra
from rhokit.features import BlendFeatures
from rhokit.features.growing import grow_forest
from rhokit.features.links import LINKS, Told
from rhokit.features.registry import make_map
from rhokit.features.ridge import press_errors
from rhokit.features.selection import independent_landmarks, select_landmarks
from rhokit.features.trees import CellMeans, distinct_codes, edged
from rhokit.plans import Candidate, Plan, PlanRequest, Scaling
from rhokit.plans.evidence import PROCESS_ROWS, ProcessMetric, process_metric
from rhokit.progress import progress
from rhokit.representations.base import Outcomes, State
from rhokit.representations.blend import (
    BlendRepresentation,
    Solution,
    centred_sums,
)
from rhokit.representations.prototype_choice import PrototypeChoice
from rhokit.validation import refuse_far

Floats = NDArray[np.float64]

# Lines of more columns than this are left out: kernels have them, too.
_MOST_LINES = 128
# Of few rows not all are landmarks: kernels are wide, and models small.
_LANDMARKS_PER_ROW = 0.75
# Landmarks whose kernels the others tell but for this part of the noise are left out.
_LEAST_PART = 1e-5
# λ over that of the likeliest process.
_STRENGTHS = 4.0 ** np.arange(-3, 4)
# Rows that are left out to learn how both answers come together.
_MOST_JUDGES, _JUDGED_AT_ONCE = 8000, 1000
# Rows from which edges and metric are made, and products of features until the ridge
# is known.
_MOST_SEEN = 2**15
# Where kernels have no say in classes, so many landmarks are enough.
_FEW_LANDMARKS = 64
# How many trees there are, and how many cells they may have together, which is what a
# model is large by.
_TREES = 64
_MOST_CELLS = {"classes": 2**23, "values": 2**16}
# Parts of the range that targets are rounded to where trees are grown, so that units
# do not show in their sums.
_TARGET_STEPS = 2.0**20
# Trees that tell how large errors are, and their cells; logarithms of errors are
# rounded, too.
_NOISE_TREES, _NOISE_CELLS = 32, 32 * 16
_ERROR_STEPS = 2.0**10


class BlendChoice:
    """Chooses all that is fixed before rows are summed up.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
    truth : array of shape (n, K)
        Outcomes of the rows, each of weight one.
    link : {"classes", "values"}
    """

    def __init__(
        self,
        request: PlanRequest,
        batch: Batch,
        truth: Floats,
        link: str,
    ) -> None:
        seen = batch.mass > 0
        self.request, self.batch = request, batch
        self.link_of = LINKS[link]
        self.rng = np.random.default_rng(request.seed)
        self._rows, self._mass = batch.rows[seen], batch.mass[seen]
        self._truth = truth[seen]

    def run(self) -> Plan:
        """The plan."""
        columns = self.batch.columns
        plain = Scaling.from_rows(
            "std", self._rows, self._mass, is_number=columns.is_number
        )
        spread = plain.apply(self._rows)
        names = columns.names if columns.schema is None else None
        refuse_far(spread, names)
        kinds = self._kinds(spread)
        sample = kinds[:PROCESS_ROWS]
        metric = self._metric(spread[sample].astype(np.float64), sample)
        factors = np.exp(metric.logs / 2)
        scaling, gamma = plain.weighted(factors, self._units(spread))
        # The covariance is an overlap, of which densities have the square.
        gamma = 2 * gamma if self.request.gamma == "loo" else float(self.request.gamma)
        blend, importances = self._parts(spread, scaling, gamma, metric)
        if self.link_of.may_have_prototypes:
            blend.prototypes_ = PrototypeChoice(
                self._rows,
                self._truth,
                self._mass,
                kinds,
                scaling,
                columns.is_number,
                self.request.scales_by_itself,
            ).run(blend.n_components)
        plan = Plan(
            columns,
            scaling,
            gamma,
            blend,
            BlendRepresentation.name,
            compares_outcomes=True,
            importances=np.add.reduceat(importances, columns.starts),
        )
        return self._brought_together(plan, metric.noise)

    # ---- metric ---------------------------------------------------------------------

    def _units(self, spread: NDArray[Any]) -> NDArray[np.bool_]:
        """Columns whose weights are one in the mean."""
        is_number = self.batch.columns.is_number
        if is_number is not None:
            return ~is_number if not is_number.all() else is_number
        return np.ptp(spread, axis=0) > 0

    def _kinds(self, spread: NDArray[Any]) -> NDArray[np.intp]:
        """Places of rows that differ, in an order that follows from what they are."""
        places = np.arange(len(spread))
        if len(places) > _MOST_SEEN:
            places = np.sort(self.rng.choice(places, _MOST_SEEN, replace=False))
        codes = edged(spread[places], self._mass[places])[1]
        kept, _ = distinct_codes(codes, self._targets()[places], self._mass[places])
        return places[kept]

    def _metric(self, rows: Floats, sample: NDArray[np.intp]) -> ProcessMetric:
        mass = self._mass[sample] / self._mass[sample].mean()
        truth = self._truth[sample]
        if self.link_of.name == "values":
            truth = truth[:, 1::3]
        centred = truth - np.average(truth, axis=0, weights=mass)
        if not centred.any():  # there is nothing to be told apart
            d = rows.shape[1]
            return ProcessMetric(np.full(d, -np.log(d)), 1.0, 1.0)
        is_number = self.batch.columns.is_number
        tied = None if is_number is None else ~is_number
        return process_metric(rows, centred / np.abs(centred).max(), mass, tied)

    # ---- landmarks and trees --------------------------------------------------------

    def _parts(
        self,
        spread: NDArray[Any],
        scaling: Scaling,
        gamma: float,
        metric: ProcessMetric,
    ) -> tuple[BlendFeatures, Floats]:
        """The map, and the importances (d,) of columns."""
        request, link = self.request, self.link_of.name
        wanted = request.feature_map
        if isinstance(wanted, str):
            wanted = BlendFeatures.name
        blend: Any = make_map(
            wanted,
            gamma=gamma,
            n_components=request.n_components,
            random_state=request.seed,
        )
        blend.set_params(gamma=gamma)
        self.batch.columns.give_to(blend)
        scaled = scaling.apply(self._rows)
        most = max(1, int(_LANDMARKS_PER_ROW * len(scaled)))
        count = min(blend.n_components, most)
        rng = np.random.default_rng(request.seed)
        marks = select_landmarks(scaled, self._mass, count, "kmeans", rng)
        landmarks = independent_landmarks(marks, gamma, _LEAST_PART * metric.noise)
        forest, importances = grow_forest(
            scaled,
            self._targets(),
            self._mass,
            of_classes=link == "classes",
            n_trees=_TREES,
            most_cells=_MOST_CELLS[link],
            seed=request.seed,
        )
        d = spread.shape[1]
        lines = np.zeros(0)
        if d <= _MOST_LINES:
            per_column = np.sqrt(metric.lines / d)
            lines = per_column * np.ptp(spread, axis=0) / _ranges(scaled)
        made: BlendFeatures = blend.made_of(landmarks, lines, forest)
        return made, importances

    def _targets(self) -> NDArray[Any]:
        """Targets as trees are told them."""
        if self.link_of.name == "classes":
            return np.asarray(self._truth.argmax(axis=1))
        return np.round(self._truth[:, 1::3] * _TARGET_STEPS) / _TARGET_STEPS

    # ---- bringing together ----------------------------------------------------------

    def _brought_together(self, plan: Plan, noise: float) -> Plan:
        """The plan with the ridge and the link that suit rows left out."""
        blend: Any = plan.feature_map
        judges, solution, errors, strength = self._with_ridge(plan, noise)
        told = judges.told(solution)
        means = None
        if self.link_of.has_noise:
            means = self._noise(judges, told)
            told = replace(told, noise=means.told_apart(judges.rows))
        link = self.link_of.fitted(told, judges.truth, judges.mass, solution.prior)
        if not link.needs_ridge:
            blend = blend.with_fewer_landmarks(_FEW_LANDMARKS)
        blend.bring_together(strength / float(self._mass.sum()), link, means)
        count = len(judges.rows)
        tried = [
            Candidate("learned", blend.name, plan.gamma, -error, count)
            for error in errors.tolist()
        ]
        return replace(plan, feature_map=blend, candidates=tuple(tried))

    def _with_ridge(
        self, plan: Plan, noise: float
    ) -> tuple["Judges", Solution, Floats, float]:
        """Rows that judge, what all others say of them, errors for each λ, and λ.

        Products of features are those of no more rows than needed to see the ridge.
        """
        blend: Any = plan.feature_map
        representation = BlendRepresentation(plan)
        some = np.arange(len(self._rows))
        if len(some) > _MOST_SEEN:
            some = np.sort(self.rng.choice(some, _MOST_SEEN, replace=False))
        mass = self._mass[some]
        state = representation.total(self._rows[some], mass, self._outcomes(some))
        judges = self._judges(plan, some)
        # λ that is likely for rows of mean weight.
        strengths = np.asarray(_STRENGTHS * noise * mass.mean(), dtype=np.float64)
        errors = self._errors(blend, state, judges, strengths)
        strength = float(strengths[int(np.argmin(errors))])
        share = strength / float(mass.sum())
        solution = Solution.of(blend, state, self.link_of, share)
        if len(some) < len(self._rows):
            every = self._outcomes(np.arange(len(self._rows)))
            cells = representation.cell_sums(self._rows, self._mass, every)
            solution = replace(solution, table=np.ascontiguousarray(cells.T))
        return judges, solution, errors, strength

    def _outcomes(self, some: NDArray[np.intp]) -> Outcomes:
        """Outcomes of some of the rows."""
        roots = np.sqrt(self._truth[some])
        return Outcomes(roots.shape[1], lambda which: roots[which])

    def _judges(self, plan: Plan, known: NDArray[np.intp]) -> "Judges":
        """Some of the known rows, as they are left out."""
        some = np.sort(self.rng.permutation(known)[:_MOST_JUDGES])
        rows = plan.scale(self._rows[some])
        return Judges(rows, self._truth[some], self._mass[some])

    def _errors(
        self, blend: BlendFeatures, state: State, judges: "Judges", strengths: Floats
    ) -> Floats:
        """Squared errors of the ridge regression on rows left out, for each λ."""
        features = blend.whitened(blend.features(judges.rows))
        products, cross, prior, _ = centred_sums(blend, state, self.link_of)
        with small_algebra(len(products)):
            return press_errors(
                products,
                cross,
                strengths,
                features.astype(np.float64),
                judges.truth - prior,
                judges.mass,
            )

    def _noise(self, judges: "Judges", told: Told) -> CellMeans:
        """Trees that tell large errors from small ones."""
        errors = self.link_of.log_errors(told, judges.truth, judges.mass)
        target = np.round(errors * _ERROR_STEPS) / _ERROR_STEPS
        forest, _ = grow_forest(
            judges.rows,
            target,
            judges.mass,
            of_classes=False,
            n_trees=_NOISE_TREES,
            most_cells=_NOISE_CELLS,
            seed=self.request.seed,
        )
        return CellMeans.of(forest, forest.codes(judges.rows), target, judges.mass)


@dataclass(frozen=True, eq=False)
class Judges:
    """Rows that are left out to see what is told of them.

    Parameters
    ----------
    rows : array of shape (n, d)
        Scaled.
    truth : array of shape (n, K)
    mass : array of shape (n,)
    """

    rows: NDArray[Any]
    truth: Floats
    mass: Floats

    def told(self, solution: Solution) -> Told:
        """What is told of each of them by all others, block by block."""
        count = max(1, len(self.rows) // _JUDGED_AT_ONCE)
        mass = self.truth * self.mass[:, None]
        told = [
            solution.told_without(self.rows[some], mass[some])
            for some in np.array_split(np.arange(len(self.rows)), count)
        ]
        ridge, cells = (
            np.concatenate([getattr(each, name) for each in told])
            for name in ("ridge", "cells")
        )
        near = [each.near for each in told if each.near is not None]
        return Told(ridge, cells, near=np.concatenate(near) if near else None)


def _ranges(rows: NDArray[Any]) -> Floats:
    ranges = np.ptp(rows, axis=0).astype(np.float64)
    return np.where(ranges > 0, ranges, 1.0)


def plan_blend(request: PlanRequest, batch: Batch, readout: Any) -> Plan:
    """Choose a blend that predicts the targets of rows left out.

    Parameters
    ----------
    request : PlanRequest
    batch : Batch
    readout : TargetReadOut
        Whose outcomes a blend can tell: see ``blend_link``.
    """
    if isinstance(request.gamma, str) and request.gamma != "loo":
        raise ValueError(
            "The 'gamma' parameter must be 'loo' or a number for a blend, which learns "
            f"it together with its metric. Got {request.gamma!r} instead."
        )
    target = readout.encode(batch.target, batch.weights)
    truth = readout.roots(target) ** 2
    choice = BlendChoice(request, batch, truth, readout.blend_link)
    with progress(f"Choosing a blend for {len(batch):,} rows", lines=False):
        return choice.run()
