"""The read-out of outliers: how surprising rows are, beside those that were learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rhokit.readouts.density import DensityReadOut
from rhokit.readouts.evidence import Evidence, cleaned
from rhokit.records import Reader, Values, require

if TYPE_CHECKING:
    from rhokit.models import Model

Floats = NDArray[np.float64]

# Outliers of rows that hold some come in groups, of up to such a share of all rows, so
# that the nearest neighbours say little.
_GROUP, _LEAST_GROUP = 0.02, 5.0
# Share of its least likely rows that a model is cleaned of, or more if there are more.
_CLEANED = 0.1
# p-values below which rows are outliers, where nothing is said.
_LEVELS = {"contaminated": 0.05, "clean": 0.01}
# Rows that say what is usual of a column.
_TYPICAL = 1000
# What rounding may add to a score.
_ROUNDING = 1e-9
# Answers from some of the columns that are kept.
_MOST_PARTS = 16


@dataclass(frozen=True, eq=False)
class OutlierReadOut(DensityReadOut):
    """All rows are one outcome; a sample of them says how surprising others are.

    Parameters
    ----------
    training : {"contaminated", "clean"}
        Whether some of the rows that are learned may be outliers themselves.
    contamination : float or "auto"
        Their share.
    threshold : float, optional
        p-value up to which rows are outliers.
    """

    training: str = "contaminated"
    contamination: Any = "auto"
    threshold: float | None = None

    name = kind = "outliers"
    may_sample = True
    needs_sample = recognises_rows = True
    sample_rows = 8192

    @classmethod
    def check_sample(
        cls, learned: Values, target: NDArray[Any], reader: Reader
    ) -> None:
        """There is one outcome."""
        require(not target.any(), "target of the sample must be zero")

    @classmethod
    def claim_answers(cls, parameters: Values, learned: Values, reader: Reader) -> None:
        """Each sampled row is compared with all of them."""
        n_rows = reader.sizes.get("s", 0)
        reader.claim(n_rows**2, f"comparing a sample of {n_rows} rows with itself")

    # ---- answers --------------------------------------------------------------------

    def surprise(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Minus the logarithm of the p-value of checked rows, shape (n,).

        Beyond the last of the rows that were learned, the p-values are extrapolated.
        """
        if not model.lacks(rows):
            return self.evidence(model).surprise(rows)
        return model.by_gaps(rows, lambda kept: self._knowing(model, kept))

    def p_values(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Share of the rows that are at least as surprising, shape (n,)."""
        least = self.evidence(model).tail.least
        return np.maximum(np.exp(-self.surprise(model, rows)), least)

    def offset(self, model: Model) -> float:
        """Logarithm of the p-value up to which rows are outliers."""
        level = self.threshold
        if level is None and self.contamination == "auto":
            level = _LEVELS[self.training]
        elif level is None:  # so many of the rows themselves
            total = float(model.sample.weight.sum())
            level = self.contamination * total / (total + 1)
        return float(np.log(level) * (1 - _ROUNDING) + _ROUNDING)

    # ---- what they are made from ----------------------------------------------------

    @property
    def cleaned_share(self) -> float:
        """Share of its rows that a model is cleaned of before it is asked."""
        if self.training == "clean":
            return 0.0
        known = 0.0 if self.contamination == "auto" else self.contamination
        return max(_CLEANED, known)

    def reference(self, model: Model) -> tuple[Model, NDArray[np.bool_]]:
        """The model that rows are compared with, and which sampled rows it holds."""
        share, whole = self.cleaned_share, np.ones(len(model.sample.keys), dtype=bool)
        if not share:
            return model, whole

        def make() -> tuple[Model, NDArray[np.bool_]]:
            first = self._evidence(model, model, whole, None)
            surprise = first.tail.surprise(first.means)
            return cleaned(model, model.sample, surprise, share)

        found: tuple[Model, NDArray[np.bool_]] = model.cache.get("cleaned", share, make)
        return found

    def typical(self, model: Model) -> tuple[Model, NDArray[Any]]:
        """The cleaned model, and some of the rows that it holds."""
        reference, is_kept = self.reference(model)
        return reference, model.sample.rows[is_kept][:_TYPICAL]

    def evidence(self, model: Model, kept: list[int] | None = None) -> Evidence:
        """What speaks against rows that have some of the columns, or all."""

        if not len(model.sample.keys):
            raise ValueError(
                "all rows that were kept to compare others with have been unlearned: "
                "add rows, or fit again"
            )

        def make() -> Evidence:
            reference, is_kept = self.reference(model)
            return self._evidence(reference, model, is_kept, kept)

        key = (self.cleaned_share, None if kept is None else tuple(kept))
        found: Evidence = model.cache.get_among("evidence", key, make, _MOST_PARTS)
        return found

    def _evidence(
        self,
        reference: Model,
        model: Model,
        is_kept: NDArray[np.bool_],
        kept: list[int] | None,
    ) -> Evidence:
        columns = model.plan.columns
        places = list(range(columns.width)) if kept is None else columns.places(kept)
        near = 1.0
        if self.training == "contaminated":
            near = max(_LEAST_GROUP, _GROUP * float(model.sample.weight.sum()))
        return Evidence.of(reference, model.sample, is_kept, places, near)

    def _knowing(
        self, model: Model, kept: list[int]
    ) -> Callable[[NDArray[Any]], Floats]:
        """Function from the numbers of some columns (n, p) to surprises (n,)."""
        columns = model.plan.columns
        if not kept:
            return lambda part: np.zeros(len(part))
        everything = len(kept) == columns.n_features
        places = columns.places(kept)

        def surprise(part: NDArray[Any]) -> Floats:
            rows = np.full((len(part), columns.width), np.nan, part.dtype)
            rows[:, places] = part
            return self.evidence(model, None if everything else kept).surprise(rows)

        return surprise
