"""Log-densities of rows: how likely they are, and which are the least likely."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.subjects import (
    fitted_model,
    is_trained,
    one_pass,
    require_method,
    snapshot,
)
from rhokit.inspection.summaries import ScoreSummary

Floats = NDArray[np.float64]
# A correlation matrix worse than this has no logarithm worth the name.
_WORST_CONDITION = 1e12


@dataclass(frozen=True, eq=False)
class RowScores:
    """Log-densities of rows.

    Parameters
    ----------
    log_densities : array of shape (n,)
        ``-inf`` where the density is zero.
    floor : float, optional
        Log-density below which the model cannot tell the density from zero.
    left_out : bool, default=False
        Whether each row was left out of the model that scored it.
    """

    log_densities: Floats
    floor: float | None = None
    left_out: bool = False

    @cached_property
    def summary(self) -> ScoreSummary:
        """Mean, minimum and maximum; finite scores below the floor count as that."""
        return ScoreSummary.of(self.log_densities, self._least)

    @property
    def mean(self) -> float:
        """Mean over the rows whose density is not zero."""
        return self.summary.mean

    @property
    def median(self) -> float:
        """Median; rows below the floor count as that."""
        return float(np.median(np.maximum(self.log_densities, self._least)))

    @property
    def n_zero(self) -> int:
        """Rows of density zero."""
        return self.summary.n_zero

    @property
    def n_below_floor(self) -> int:
        """Rows below the floor whose density is not zero."""
        logs = self.log_densities
        return int((np.isfinite(logs) & (logs < self._least)).sum())

    @property
    def _least(self) -> float:
        return -math.inf if self.floor is None else float(self.floor)


def score_rows(
    estimator: Any, X: Any, y: Any = None, *, leave_one_out: bool = False
) -> RowScores:
    """Log-densities of rows under a model.

    Parameters
    ----------
    estimator : fitted estimator with ``score_samples``
    X : array-like of shape (n, d)
    y : array-like, optional
        Targets, with which rows are left out of a model that has learned them.
    leave_one_out : bool, default=False
        Whether the model was fitted to these rows: each is then scored by the model
        without it.

    Returns
    -------
    scores : RowScores

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> X[100] = 9.0
    >>> model = DMKDE(random_state=0).fit(X)
    >>> scores = score_rows(model, X, leave_one_out=True)
    >>> least_likely(scores.log_densities, 1)
    array([100])
    """
    what = "a model with log-densities (a DMKDE, say, or a DMKDClassifier)"
    require_method(estimator, "score_samples", what)
    estimator = snapshot(estimator)
    options: dict[str, Any] = {}
    if leave_one_out:
        if not can_leave_out(estimator):
            raise ValueError(
                f"rows cannot be left out of this {type(estimator).__name__}: only "
                "one-pass models with their sums know themselves without a row"
            )
        options = {"leave_one_out": True} | ({} if y is None else {"y": y})
    logs = np.asarray(estimator.score_samples(X, **options))
    return RowScores(logs, getattr(estimator, "floor_", None), leave_one_out)


def can_leave_out(estimator: Any, has_target: bool = True) -> bool:
    """Whether an estimator scores the rows that it was fitted to without themselves.

    Parameters
    ----------
    estimator : fitted estimator
    has_target : bool, default=True
        Whether the rows' targets are known, which models that have learned them need.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> can_leave_out(DMKDE(random_state=0).fit(X), has_target=False)
    True
    """
    if is_trained(estimator) or not hasattr(estimator, "fitted_model"):
        return False
    model = fitted_model(estimator)
    takes_rows = bool(model.state is not None and model.state.takes_rows)
    if model.readout.recognises_rows:
        return False
    return not model.readout.has_target or (takes_rows and has_target)


def least_likely(log_densities: Floats, count: int) -> NDArray[np.intp]:
    """Places of the rows with the lowest scores, the lowest first.

    Examples
    --------
    >>> import numpy as np
    >>> least_likely(np.array([-1.0, -np.inf, -3.0]), 2)
    array([1, 2])
    """
    return np.argsort(log_densities, kind="stable")[:count]


def normal_score(rows: Floats) -> float:
    """Largest mean log-density that a normal distribution gives rows (n, d).

    NaN where there are too few of them, or columns depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> round(normal_score(np.random.default_rng(0).normal(size=(10_000, 1))), 2)
    -1.42
    """
    n, d = rows.shape
    if n <= d + 1 or not np.isfinite(rows).all():
        return math.nan
    spread = rows.std(axis=0)
    if not (spread > 0).all():
        return math.nan
    correlation = np.corrcoef(rows.T).reshape(d, d)
    sign, log_det = np.linalg.slogdet(correlation)
    if sign <= 0 or np.linalg.cond(correlation) > _WORST_CONDITION:
        return math.nan
    log_det += 2 * np.log(spread).sum()
    return float(-(d * math.log(2 * math.pi * math.e) + log_det) / 2)


def landmark_reach(estimator: Any, X: Any) -> Floats | None:
    """How well the landmarks of a density represent rows; None where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> model = DMKDE(feature_map="landmarks", n_components=16, random_state=0)
    >>> landmark_reach(model.fit(X), X).shape
    (100,)
    >>> landmark_reach(DMKDE(random_state=0).fit(X), X)  # a mosaic has cells
    """
    plan, inner = fitted_model(estimator).plan, one_pass(estimator)
    has_landmarks = plan.feature_map.from_data and plan.representation != "mosaic"
    if not has_landmarks or not hasattr(inner, "reach"):
        return None
    return np.asarray(estimator.reach(X), dtype=np.float64)
