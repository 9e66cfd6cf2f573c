"""How likely the rows are under a model, and whether it has a right to say so."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.core.sums import Sums
from rhokit.estimators.density import DensityEstimator
from rhokit.estimators.outcomes import OutcomeEstimator
from rhokit.features import LandmarkFeatures
from rhokit.report.fitted import NUMBER, column_kinds, one_pass
from rhokit.report.rows import Rows

# A correlation matrix worse than this has no logarithm worth the name.
_WORST_CONDITION = 1e12


@dataclass(frozen=True, eq=False)
class DensityQuality:
    """Log-densities of rows.

    Parameters
    ----------
    logs : array of shape (n,)
    leave_one_out : bool
        Whether each row's own share was taken out.
    mean, median : float
        Of the rows whose density is not zero; those below the floor count as it.
    n_zero, n_below_floor : int
    normal_mean : float
        Mean log-density by the normal distribution of these very rows; NaN if unknown.
    coverage : array of shape (m,), or None
        How well landmarks represent each row that lacks no value.
    """

    logs: np.ndarray
    leave_one_out: bool
    mean: float
    median: float
    n_zero: int
    n_below_floor: int
    normal_mean: float
    coverage: np.ndarray | None


def judge_density(model: Any, rows: Rows, training: bool) -> DensityQuality | None:
    """Score rows, where the model has densities; None where it has none."""
    if not hasattr(model, "score_samples"):
        return None
    left_out = _left_out_options(model, rows) if training else None
    logs = model.score_samples(rows.X, **(left_out or {}))
    floor = float(getattr(model, "floor_", -math.inf))
    seen = np.isfinite(logs)
    floored = np.maximum(logs[seen], floor)
    return DensityQuality(
        logs=logs,
        leave_one_out=left_out is not None,
        mean=float(floored.mean()) if seen.any() else math.nan,
        median=float(np.median(np.maximum(logs, floor))),
        n_zero=int((~seen).sum()),
        n_below_floor=int((logs[seen] < floor).sum()),
        normal_mean=_normal_mean(model, rows),
        coverage=_coverage(model, rows),
    )


def _normal_mean(model: Any, rows: Rows) -> float:
    """Largest mean log-density that a normal distribution gives these rows."""
    kinds = column_kinds(one_pass(model), rows)
    if set(kinds) != {NUMBER}:
        return math.nan
    table = np.column_stack([rows.numbers(place) for place in range(len(kinds))])
    n, d = table.shape
    if n <= d + 1 or not np.isfinite(table).all():
        return math.nan
    spread = table.std(axis=0)
    if not (spread > 0).all():
        return math.nan
    correlation = np.corrcoef(table.T).reshape(d, d)
    sign, log_det = np.linalg.slogdet(correlation)
    if sign <= 0 or np.linalg.cond(correlation) > _WORST_CONDITION:
        return math.nan
    log_det += 2 * np.log(spread).sum()
    return float(-(d * math.log(2 * math.pi * math.e) + log_det) / 2)


def _left_out_options(model: Any, rows: Rows) -> dict[str, Any] | None:
    """How to ask for densities of rows left out in turn; None where nobody can."""
    is_density = isinstance(model, DensityEstimator)
    if not is_density and not (
        isinstance(model, OutcomeEstimator)
        and isinstance(model.state_, Sums)
        and rows.y is not None
    ):
        return None
    if model.feature_map_.numeric_rows and np.isnan(model._checked(rows.X)).any():
        return None
    return {"leave_one_out": True} | ({} if is_density else {"y": rows.y})


def _coverage(model: Any, rows: Rows) -> np.ndarray | None:
    feature_map = one_pass(model).feature_map_
    if not isinstance(feature_map, LandmarkFeatures) or not hasattr(model, "coverage"):
        return None
    whole = rows.without_gaps()
    if not len(whole):
        return None
    return np.asarray(model.coverage(whole), dtype=np.float64)
