"""Cases that laws are tried on: an instance, and rows like those that it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

# From a number of rows and a seed to rows: an array, or a frame.
RowsOf = Callable[[int, int], Any]
# From rows and a seed to their targets.
TargetOf = Callable[[Any, int], Any]
Law = Callable[[Any], None]


def normal_rows(n: int, seed: int) -> NDArray[np.float64]:
    """Rows of two columns, all in the same box, whose corners come first."""
    rows = np.random.default_rng(seed).normal(size=(n, 2)).clip(-2, 2)
    rows[:2] = np.array([[-2, -2], [2, 2]])[:n]
    return rows


def labels_of(rows: Any, seed: int) -> NDArray[np.intp]:
    """Three classes that depend on the first column, and on chance."""
    noise = np.random.default_rng(seed).normal(size=len(rows))
    return np.digitize(np.asarray(rows)[:, 0] + 0.5 * noise, [-0.7, 0.7])


def values_of(rows: Any, seed: int) -> NDArray[np.float64]:
    """Values from -2 to 2 that depend on the first column, and on chance."""
    noise = np.random.default_rng(seed).normal(size=len(rows))
    values = np.clip(np.asarray(rows)[:, 0] + 0.3 * noise, -2, 2)
    values[:2] = [-2, 2][: len(values)]  # all seeds have the same range
    return values


def take(rows: Any, which: Any) -> Any:
    """Some rows of an array or of a pandas frame, by place."""
    if rows is None:
        return None
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def other_columns(rows: Any) -> Any:
    """Their first column alone or, where it is the only one, twice."""
    some = [0] if rows.shape[1] > 1 else [0, 0]
    if not hasattr(rows, "iloc"):
        return rows[:, some]
    found = rows.iloc[:, some]
    return found.set_axis([f"column {place}" for place in range(len(some))], axis=1)


def joined(parts: list[Any]) -> Any:
    """Arrays or pandas frames, one below the other."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)


@dataclass(frozen=True)
class EstimatorCase:
    """An estimator and rows that it can learn from.

    Parameters
    ----------
    estimator : estimator
        Not fitted; laws work on clones of it.
    rows : callable, optional
        From a number of rows and a seed to an array or a pandas frame.
    target : callable, optional
        From rows and a seed to targets; chosen by the estimator's tags without it.
        All seeds must give the same set of labels, or the same range of values.
    tolerance : float, default=1e-7
        Of answers, where rows were added up in another order.
    unlearned_tolerance : float, default=1e-6
        Of answers after rows were taken out again.
    state_tolerance : float, default=1e-12
        Of states, where rows were added up in another order; a hundred times that
        after rows were taken out again.
    """

    estimator: Any
    rows: RowsOf = normal_rows
    target: TargetOf | None = None
    tolerance: float = 1e-7
    unlearned_tolerance: float = 1e-6
    state_tolerance: float = 1e-12

    def data(self, n: int, seed: int) -> tuple[Any, Any]:
        """So many rows and their targets, which are None for a density."""
        rows, target = self.rows(n, seed), self._target()
        return rows, None if target is None else target(rows, seed)

    def _target(self) -> TargetOf | None:
        if self.target is not None:
            return self.target
        tags = get_tags(self.estimator)
        if not tags.target_tags.required:
            return None
        return values_of if tags.estimator_type == "regressor" else labels_of

    def prepared(self) -> Any:
        """A copy that has chosen its plan, from other rows, and holds none."""
        return clone(self.estimator).prepare(*self.data(60, 1))

    def fitted(self) -> Any:
        """A copy that was fitted to rows."""
        return clone(self.estimator).fit(*self.data(60, 1))

    def queries(self) -> Any:
        """Rows to be asked for."""
        return self.rows(20, 9)

    def has(self, *methods: str) -> bool:
        """Whether the estimator can do all of this."""
        return all(hasattr(self.estimator, method) for method in methods)


@dataclass(frozen=True)
class MapCase:
    """A feature map and rows that it can be drawn for.

    Parameters
    ----------
    feature_map : FeatureMap
        Not fitted; laws work on clones of it.
    rows : callable, optional
        From a number of rows and a seed to an array.
    tolerance : float, default=1e-10
        Of states and overlaps.
    """

    feature_map: Any
    rows: RowsOf = normal_rows
    tolerance: float = 1e-10

    def fitted(self) -> Any:
        """A copy that was drawn for rows."""
        return clone(self.feature_map).fit(self.rows(40, 0))

    def queries(self) -> Any:
        """Rows to be sent to states."""
        return self.rows(25, 0)


@dataclass(frozen=True)
class RepresentationCase:
    """A fitted model, whose representation is looked at.

    Parameters
    ----------
    model : rhokit.models.Model
        Of one outcome, with a plan of the representation.
    rows : callable, optional
        From a number of rows and a seed to an array, in the user's units.
    tolerance : float, default=1e-9
        Of measured values, over the largest.
    """

    model: Any
    rows: RowsOf = normal_rows
    tolerance: float = 1e-9
