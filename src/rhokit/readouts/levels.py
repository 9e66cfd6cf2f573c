"""The read-out of values: a distribution over levels, with honest intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from rhokit.core import log_posterior
from rhokit.core.arrays import safe_log
from rhokit.core.distributions import log_densities, mean_and_std, quantiles
from rhokit.features import SoftmaxFeatures
from rhokit.plans.leave_one_out import LeaveOneOut
from rhokit.readouts.base import Floats, OverlapsOf, TargetReadOut
from rhokit.readouts.conformal import (
    calibration_sample,
    interval_offsets,
    quantile_offsets,
    sorted_by_level,
    tails_of,
    uncrossed,
)
from rhokit.readouts.ranges import (
    LEVEL_FIELDS,
    check_levels_of_file,
    check_targets_of_file,
    range_of,
    refuse_outside,
)
from rhokit.readouts.tasks import LevelScore, ValueScore, quantile_losses
from rhokit.records import Fields, Reader, Values
from rhokit.representations import Outcomes
from rhokit.validation import refuse_dates

if TYPE_CHECKING:
    from rhokit.models import Model

# Outcome weights below the square of this are left out: together they are less than
# 1e-10 of a row, which then has few outcomes instead of all.
_LEAST_ROOT = 1e-6
# Groups of similar targets, for the scaling.
_MOST_GROUPS = 10
# What leave-one-out chooses from: levels, and sharpness in units of their distance.
_LEVELS = (16, 32, 64)
_BETAS = (0.5, 1.0, 2.0, 4.0)

# Probabilities (n, m) of the levels (m,) of one target.
Distribution = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class LevelReadOut(TargetReadOut):
    """An outcome for every level of every target.

    Parameters
    ----------
    wanted_levels, wanted_beta : number or "loo"
        As the parameters ask for them.
    bounds : array-like of shape (2,) or (2, t), optional
    calibration : {"loo"} or None
        Whether quantiles are corrected by what they missed on rows left out.
    one_target : bool
        Whether targets came as (n,).
    low, high : arrays of shape (t,)
        The range of the targets; empty before it is known.
    n_levels : int
        m; zero before it is chosen.
    beta : float
        Sharpness of the targets' states.
    """

    wanted_levels: Any = 32
    wanted_beta: Any = "loo"
    bounds: Any = None
    calibration: str | None = "loo"
    one_target: bool = True
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))
    n_levels: int = 0
    beta: float = 0.0
    output_maps: tuple[SoftmaxFeatures, ...] = ()

    name, kind = "levels", "values"
    blended: ClassVar[str | None] = "located"
    open_sums = 16  # a value belongs to several levels
    file_fields: ClassVar[Fields] = LEVEL_FIELDS

    # ---- targets --------------------------------------------------------------------

    def check(self, y: Any, n_rows: int, owner: str) -> Floats:
        """Values, shape (n,) or (n, t)."""
        self.refuse_without_target(y, owner)
        refuse_dates("y", y)
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(np.empty(n_rows), target)
        return np.asarray(target)

    def learn(
        self, target: Any, weights: Floats | None, foreseen: Any, owner: str
    ) -> Self:
        """The range of the first targets, which later ones must keep to."""
        if len(self.low):
            return self
        flat, values = target.ndim == 1, target.reshape(len(target), -1)
        seen = values if weights is None else values[weights > 0]
        if foreseen is not None:
            more = np.asarray(foreseen, dtype=float).reshape(-1, values.shape[1])
            seen = np.concatenate([seen, more])
        low, high = range_of(seen, self.bounds)
        return replace(self, one_target=flat, low=low, high=high)

    def encode(self, target: Any, weights: Floats | None = None) -> Floats:
        """Targets of shape (n, t), inside their range where they have weight."""
        values: Floats = target.reshape(len(target), -1)
        if values.shape[1] != len(self.low):
            raise ValueError(
                f"y must have {len(self.low)} targets, as before, got {values.shape[1]}"
            )
        names = ["y"] if self.one_target else None
        refuse_outside(values, self.low, self.high, weights, names)
        return values

    def known_target(self) -> Floats | None:
        """The lowest values."""
        if not len(self.low):
            return None
        return self.low if self.one_target else self.low[None]

    def essential(self, y: NDArray[Any]) -> NDArray[Any]:
        """The lowest and the highest values."""
        return np.stack([np.min(y, axis=0), np.max(y, axis=0)])

    # ---- outcomes -------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Levels of all targets; of one, where nothing is known."""
        if self.output_maps:
            return self.n_levels * len(self.output_maps)
        return max(_LEVELS) if self.wanted_levels == "loo" else int(self.wanted_levels)

    @property
    def n_targets(self) -> int:
        """Targets that have levels, one before they are known."""
        return len(self.output_maps) or 1

    def outcomes(self, target: Any) -> list[Outcomes]:
        """The levels of every target by themselves."""
        return [self._outcomes_of(target, column) for column in range(target.shape[1])]

    def _outcomes_of(self, target: Floats, column: int) -> Outcomes:
        order = np.argsort(target[:, column], kind="stable")
        return Outcomes(
            self.n_levels, lambda which: self._roots(target[which], column), order
        )

    def _roots(self, target: Floats, column: int) -> Floats:
        """Square roots of the outcome weights of one target, shape (n, m)."""
        roots = self.output_maps[column].states(target[:, column : column + 1])
        return np.asarray(np.where(roots > _LEAST_ROOT, roots, 0))

    def roots(self, target: Any) -> Floats:
        """Those of all targets, side by side."""
        columns = range(target.shape[1])
        return np.concatenate([self._roots(target, c) for c in columns], axis=1)

    def log_priors(self, weight: Floats) -> Floats:
        """Of the first target's levels, which make up all rows."""
        mine = np.arange(weight.shape[-1]) < self.n_levels
        mass = np.where(mine, weight, 0)
        return np.asarray(safe_log(mass / mass.sum(axis=-1, keepdims=True)))

    def total_weight(self, weight: Floats) -> float:
        """Weight of the first target's levels."""
        return float(weight[: self.n_levels].sum())

    def fingerprint(self) -> str:
        """Range, number and sharpness of the levels."""
        bounds = self.low.tolist(), self.high.tolist()
        return f"{bounds} {self.n_levels} {self.beta}"

    @property
    def parts(self) -> list[slice]:
        """Which outcomes belong to each target."""
        m = self.n_levels
        return [slice(start, start + m) for start in range(0, self.n_outcomes, m)]

    @property
    def positions(self) -> Floats:
        """The levels as parts of the range, shape (m,)."""
        return np.linspace(0, 1, self.n_levels)

    # ---- planning -------------------------------------------------------------------

    @property
    def needs_sample(self) -> bool:
        """To correct quantiles."""
        return self.calibration is not None

    def task(self, target: Any, weights: Floats | None) -> ValueScore:
        """Squared error of the mean."""
        return ValueScore(target, weights)

    def rank_task(self) -> LevelScore:
        """Squared error of the mean over levels."""
        return LevelScore(self.output_maps)

    def groups(self, target: Any, weights: Floats | None) -> NDArray[np.intp]:
        """Groups of about equal weight with similar first targets."""
        first = target[:, 0]
        levels = np.arange(1, _MOST_GROUPS) / _MOST_GROUPS
        inner = np.quantile(first, levels, weights=weights, method="inverted_cdf")
        return np.searchsorted(np.unique(inner), first, side="right")

    def chosen(self, loo: LeaveOneOut, overlaps: OverlapsOf, seed: int) -> Self:
        """Number and sharpness of the levels with the smallest quantile loss."""
        wanted, beta = self.wanted_levels, self.wanted_beta
        counts = _LEVELS if wanted == "loo" else (wanted,)
        sharps = _BETAS if beta == "loo" else (None,)
        options = [
            self.with_levels(m, float(beta) if sharp is None else sharp * (m - 1) ** 2)
            for m in counts
            for sharp in sharps
        ]
        if len(options) == 1:
            return options[0]
        tasks = [option.rank_task() for option in options]
        losses = quantile_losses(tasks, loo, overlaps)
        return options[int(np.argmin(losses))]

    def with_levels(self, n_levels: int, beta: float) -> Self:
        """The read-out with so many levels for every target."""
        maps = [
            SoftmaxFeatures(n_components=n_levels, beta=beta, bounds=[[low], [high]])
            for low, high in zip(self.low, self.high, strict=True)
        ]
        fitted = [each.fit([[low]]) for each, low in zip(maps, self.low, strict=True)]
        return replace(self, n_levels=n_levels, beta=beta, output_maps=tuple(fitted))

    # ---- model files ----------------------------------------------------------------

    @classmethod
    def check_file(cls, learned: Values, reader: Reader) -> None:
        """Levels must be as many as outcomes, of ranges that begin before they end."""
        check_levels_of_file(learned, reader)

    @classmethod
    def check_sample(
        cls, learned: Values, target: NDArray[Any], reader: Reader
    ) -> None:
        """Sampled rows have targets inside the range."""
        check_targets_of_file(learned, target)

    @classmethod
    def from_file(cls, **learned: Any) -> Self:
        """Levels of the range."""
        n_levels, beta = learned.pop("n_levels"), learned.pop("beta")
        return cls(**learned).with_levels(n_levels, beta)

    # ---- answers --------------------------------------------------------------------

    def levels(self) -> Floats:
        """The levels in the units of the targets, shape (m,) or (m, t)."""
        found = np.column_stack([each.landmarks_[:, 0] for each in self.output_maps])
        return np.asarray(found[:, 0] if self.one_target else found)

    def by_target(self, parts: Sequence[Floats]) -> Floats:
        """Results of each target, as one array; of one target, without its axis."""
        return parts[0] if self.one_target else np.stack(parts, axis=1)

    def predict(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Means, of shape (n,) or (n, t)."""
        if model.rank is None and not model.lacks(rows):
            return self.by_target(self._means(model, rows))
        return self.moments(model, rows)[0]

    def moments(self, model: Model, rows: NDArray[Any]) -> tuple[Floats, Floats]:
        """Means and standard deviations."""
        moments = [mean_and_std(*each) for each in self.distributions(model, rows)]
        mean, std = (self.by_target(part) for part in zip(*moments, strict=True))
        return mean, std

    def distributions(self, model: Model, rows: NDArray[Any]) -> list[Distribution]:
        """Pairs of probabilities (n, m) and levels (m,), one per target."""
        return self.read(model, model.log_measured(rows))

    def read(self, model: Model, logs: Floats) -> list[Distribution]:
        """Distributions from measured logarithms (n, t·m)."""
        pairs = []
        for part, output in zip(self.parts, self.output_maps, strict=True):
            priors = safe_log(model.weight[part])
            found = np.exp(log_posterior(logs[:, part], priors))
            pairs.append((found, output.landmarks_[:, 0]))
        return pairs

    def foretold(self, model: Model, logs: Floats) -> Floats:
        """Means over the levels."""
        pairs = self.read(model, logs)
        return self.by_target([shares @ levels for shares, levels in pairs])

    def log_density(self, model: Model, rows: NDArray[Any], target: Floats) -> Floats:
        """Logarithm of each target's density, shape (n,) or (n, t)."""
        pairs = zip(self.distributions(model, rows), target.T, strict=True)
        return self.by_target([log_densities(*each, own) for each, own in pairs])

    def _means(self, model: Model, rows: NDArray[Any]) -> list[Floats]:
        """Means without distributions: two measurements instead of one per level.

        The mean is a ratio of two sums over levels, and sums of density matrices are
        density matrices.
        """
        measure = model.cache.get("means", None, lambda: self._mean_measure(model))

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            return np.asarray(measure(columns), dtype=np.float64)

        blocks = model.for_blocks(rows, use, stretch=2)
        total, *moments = np.concatenate(blocks).T
        seen = total > 0
        safe = np.where(seen, total, 1)
        means = []
        for part, low, high, moment in zip(
            self.parts, self.low, self.high, moments, strict=True
        ):
            mass = model.weight[part]
            prior = mass @ self.positions / mass.sum()
            share = np.clip(np.where(seen, moment / safe, prior), 0, 1)
            means.append(low + (high - low) * share)
        return means

    def _mean_measure(self, model: Model) -> Any:
        """Function that measures the total and the first moment of every target."""
        shares = np.zeros((1 + len(self.parts), self.n_outcomes))
        shares[0, self.parts[0]] = 1
        for row, part in zip(shares[1:], self.parts, strict=True):
            row[part] = self.positions
        assert model.state is not None
        sums = model.state.mix(shares)
        size = np.full(len(shares), sums.weight[0])  # all in units of the total
        return model.representation.measure([replace(sums, weight=size)], None)

    # ---- quantiles and intervals ----------------------------------------------------

    def quantiles(self, model: Model, rows: NDArray[Any], levels: Floats) -> Floats:
        """Corrected quantiles of given levels (q,), shape (n, q) or (n, t, q)."""
        found = self._moved(
            self.distributions(model, rows),
            levels,
            self.quantile_offsets(model, levels),
        )
        return self.by_target([sorted_by_level(part, levels) for part in found])

    def intervals(
        self, model: Model, rows: NDArray[Any], coverages: Floats
    ) -> list[Floats]:
        """Corrected intervals of every coverage, (n, 2) or (n, t, 2)."""
        distributions = self.distributions(model, rows)
        found = []
        for coverage in coverages.tolist():
            offsets = self.interval_offsets(model, coverage)
            ends = self._moved(distributions, tails_of(coverage), offsets)
            found.append(self.by_target([uncrossed(part) for part in ends]))
        return found

    @staticmethod
    def _moved(
        distributions: list[Distribution], levels: Floats, offsets: list[Floats]
    ) -> list[Floats]:
        """Quantiles (n, q) of every target, moved by offsets (q,) of its own."""
        pairs = zip(distributions, offsets, strict=True)
        return [quantiles(*pair, levels) + offset for pair, offset in pairs]

    def quantile_offsets(self, model: Model, levels: Floats) -> list[Floats]:
        """Misses of quantiles of rows left out, (q,) of every target."""
        return self._offsets(model, levels, quantile_offsets, levels)

    def interval_offsets(self, model: Model, coverage: float) -> list[Floats]:
        """Misses of intervals, (2,) of every target."""
        return self._offsets(model, tails_of(coverage), interval_offsets, coverage)

    def _offsets(
        self, model: Model, levels: Floats, offsets_of: Callable[..., Floats], goal: Any
    ) -> list[Floats]:
        if self.calibration is None:
            return [np.zeros(len(levels))] * len(self.output_maps)
        sample = calibration_sample(model.sample)
        known = model.cache.get(
            "left out", model.rank, lambda: self.read(model, model.log_left_out(sample))
        )
        left_out = [quantiles(values, shares, levels) for values, shares in known]
        return [
            offsets_of(left, truth, sample.weight, goal)
            for left, truth in zip(left_out, sample.target.T, strict=True)
        ]
