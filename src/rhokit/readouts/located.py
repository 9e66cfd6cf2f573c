"""The read-out of values by a mean and a spread of their own for every row."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.core.arrays import safe_log
from rhokit.readouts.base import Floats
from rhokit.readouts.conformal import calibration_sample, tails_of, uncrossed
from rhokit.readouts.levels import Distribution, LevelReadOut
from rhokit.readouts.ranges import check_levels_of_file
from rhokit.readouts.residuals import Residuals
from rhokit.records import Reader, Values
from rhokit.representations import Outcomes

if TYPE_CHECKING:
    from rhokit.models import Model

_LEVELS = 32
_MOMENTS = 3


@dataclass(frozen=True, eq=False)
class LocatedReadOut(LevelReadOut):
    r"""Moments of every target, and the distribution of what they miss.

    The outcomes of a target, scaled to u in [0, 1], are :math:`1, u, u^2`: what they
    measure is a mean m(x) and a spread s(x). The distribution of a value is that of
    :math:`m(x) + s(x)\,e`, where e are the residuals :math:`(y_i - m_i)/s_i` of rows
    that were left out of the model in turn.
    """

    name = "located"
    blend_link: ClassVar[str | None] = "values"

    @classmethod
    def for_blend(cls, readout: Any) -> Self:
        """The read-out with the parameters and the range of one of levels."""
        known = {each.name: getattr(readout, each.name) for each in fields(readout)}
        count = known["wanted_levels"]
        count = _LEVELS if count == "loo" else int(count)
        made: Self = cls(**known).with_levels(count, float((count - 1) ** 2))
        return made

    # ---- outcomes -------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Three moments of every target."""
        return _MOMENTS * max(len(self.low), 1)

    @property
    def parts(self) -> list[slice]:
        """Which outcomes belong to each target."""
        return [
            slice(start, start + _MOMENTS)
            for start in range(0, self.n_outcomes, _MOMENTS)
        ]

    def outcomes(self, target: Any) -> list[Outcomes]:
        """All targets at once."""
        return [Outcomes(self.n_outcomes, lambda which: self.roots(target[which]))]

    def roots(self, target: Any) -> Floats:
        """Square roots of the moments, shape (n, 3 t)."""
        shares = self._shares(target)
        roots = np.stack([np.ones_like(shares), np.sqrt(shares), shares], axis=2)
        return roots.reshape(len(target), -1)

    def _shares(self, target: Floats) -> Floats:
        """Targets as parts of their range, which rows of no weight may leave."""
        width = np.where(self.high > self.low, self.high - self.low, 1)
        return np.asarray(np.clip((target - self.low) / width, 0, 1))

    def log_priors(self, weight: Floats) -> Floats:
        """The first moment stands for all rows."""
        first = np.arange(weight.shape[-1]) == 0
        return np.broadcast_to(safe_log(first.astype(float)), weight.shape)

    def total_weight(self, weight: Floats) -> float:
        """Weight of the first moment."""
        return float(weight[0])

    def fingerprint(self) -> str:
        """The range."""
        return f"{self.low.tolist(), self.high.tolist()}"

    @classmethod
    def check_file(cls, learned: Values, reader: Reader) -> None:
        """Moments must be as many as outcomes, of ranges that begin before they end."""
        check_levels_of_file(learned, reader, outcomes=_MOMENTS)

    @classmethod
    def claim_answers(cls, parameters: Values, learned: Values, reader: Reader) -> None:
        """Residuals are compared with each other."""
        count = reader.sizes.get("s", 0)
        what = f"a sample of {count} rows, whose residuals are compared,"
        reader.claim(Residuals.cost(count), what)

    # ---- answers --------------------------------------------------------------------

    def located(self, logs: Floats) -> tuple[Floats, Floats]:
        """Means and spreads (n, t) in the units of the targets, from logarithms."""
        moments = np.exp(logs - logs[:, :1]).reshape(len(logs), -1, _MOMENTS)
        width = self.high - self.low
        mean, square = moments[:, :, 1], moments[:, :, 2]
        spread = np.sqrt(np.maximum(square - mean**2, 0))
        least = np.finfo(float).eps * np.maximum(np.abs(self.low), np.abs(self.high))
        return self.low + width * mean, np.maximum(width * spread, least)

    def predict(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Means, of shape (n,) or (n, t)."""
        mean, _ = self.located(model.log_measured(rows))
        return self.by_target(list(mean.T))

    def foretold(self, model: Model, logs: Floats) -> Floats:
        """Means."""
        mean, _ = self.located(logs)
        return self.by_target(list(mean.T))

    def moments(self, model: Model, rows: NDArray[Any]) -> tuple[Floats, Floats]:
        """Means and standard deviations."""
        mean, spread = self.located(model.log_measured(rows))
        stds = [
            own * residuals.std
            for own, residuals in zip(spread.T, self.residuals(model), strict=True)
        ]
        return self.by_target(list(mean.T)), self.by_target(stds)

    def residuals(self, model: Model) -> list[Residuals]:
        """What rows left out miss their means by, in units of their spreads."""
        if self.calibration is None:
            return [Residuals.normal()] * len(self.low)
        sample = calibration_sample(model.sample)

        def learn() -> list[Residuals]:
            mean, spread = self.located(model.log_left_out(sample))
            with np.errstate(divide="ignore", invalid="ignore"):
                missed = np.where(spread > 0, (sample.target - mean) / spread, 0.0)
            pairs = zip(missed.T, spread.T, strict=True)
            return [Residuals.of(each, sample.weight, own) for each, own in pairs]

        found: list[Residuals] = model.cache.get("residuals", None, learn)
        return found

    def log_density(self, model: Model, rows: NDArray[Any], target: Floats) -> Floats:
        """Logarithm of each target's density, shape (n,) or (n, t)."""
        mean, spread = self.located(model.log_measured(rows))
        parts = []
        for place, residuals in enumerate(self.residuals(model)):
            own = spread[:, place]
            e = (target[:, place] - mean[:, place]) / own
            parts.append(residuals.log_density(e) - np.log(own))
        return self.by_target(parts)

    def distributions(self, model: Model, rows: NDArray[Any]) -> list[Distribution]:
        """Pairs of probabilities (n, m) and levels (m,), one per target."""
        mean, spread = self.located(model.log_measured(rows))
        pairs = []
        for place, residuals in enumerate(self.residuals(model)):
            levels = self.output_maps[place].landmarks_[:, 0]
            between = (levels[1:] + levels[:-1]) / 2
            e = (between - mean[:, place, None]) / spread[:, place, None]
            reached = residuals.cdf(e)
            ends = np.zeros((len(e), 1)), np.ones((len(e), 1))
            pairs.append((np.diff(np.hstack([ends[0], reached, ends[1]])), levels))
        return pairs

    def quantiles(self, model: Model, rows: NDArray[Any], levels: Floats) -> Floats:
        """Quantiles of given levels (q,), shape (n, q) or (n, t, q)."""
        return self.by_target(
            [
                mean[:, None] + spread[:, None] * residuals.quantiles(levels)
                for mean, spread, residuals in self._by_target(model, rows)
            ]
        )

    def intervals(
        self, model: Model, rows: NDArray[Any], coverages: Floats
    ) -> list[Floats]:
        """Intervals of every coverage, (n, 2) or (n, t, 2)."""
        located = self._by_target(model, rows)
        return [
            self.by_target(
                [
                    uncrossed(
                        mean[:, None]
                        + spread[:, None] * residuals.interval(tails_of(coverage))
                    )
                    for mean, spread, residuals in located
                ]
            )
            for coverage in coverages.tolist()
        ]

    def _by_target(
        self, model: Model, rows: NDArray[Any]
    ) -> list[tuple[Floats, Floats, Residuals]]:
        mean, spread = self.located(model.log_measured(rows))
        return list(zip(mean.T, spread.T, self.residuals(model), strict=True))
