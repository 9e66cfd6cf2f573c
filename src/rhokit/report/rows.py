"""The rows that a report looks at: a sample of a frame or an array, with names."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from rhokit.report.words import is_missing, is_number


@dataclass(frozen=True, eq=False)
class Rows:
    """At most so many rows, taken from all by a fixed seed.

    Parameters
    ----------
    X : frame or array of shape (n, d)
        As the model takes it.
    y : array of shape (n, ...), or None
    names : tuple of str
        Of the columns.
    labels : tuple
        Of the rows: those of a pandas index, else their places among all rows.
    columns : tuple of arrays of shape (n,)
        The values, for people.
    n_given : int
        How many rows there were.
    """

    X: Any
    y: np.ndarray | None
    names: tuple[str, ...]
    labels: tuple[Any, ...]
    columns: tuple[np.ndarray, ...]
    n_given: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_sample(self) -> bool:
        """Whether rows were left out."""
        return len(self) < self.n_given

    def without_gaps(self) -> Any:
        """The rows that lack no value, as the model takes them."""
        gaps = np.zeros(len(self), dtype=bool)
        for values in self.columns:
            gaps |= [is_missing(value) for value in values]
        if not gaps.any():
            return self.X
        kept = np.flatnonzero(~gaps)
        if isinstance(self.X, np.ndarray):
            return self.X[kept]
        return nw.from_native(self.X, eager_only=True)[kept].to_native()

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64 (n,), NaN where there is a gap."""
        values = self.columns[column]
        if values.dtype != object:
            return values.astype(np.float64)
        return np.array([np.nan if is_missing(v) else float(v) for v in values])


def take_rows(X: Any, y: Any, model: Any, max_rows: int, seed: int = 0) -> Rows:
    """The rows to look at, in their own order.

    Parameters
    ----------
    X : frame (pandas, polars, pyarrow) or array-like of shape (n, d)
    y : array-like of shape (n, ...), optional
    model : estimator
        Names the columns where the rows do not.
    max_rows : int
    seed : int
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    is_frame = isinstance(frame, nw.DataFrame)
    table = frame if is_frame else _as_array(X)
    n_given = len(table)
    if not n_given:
        raise ValueError("X must have at least one row, got none")
    target = _target(y, n_given)
    which = _some_of(n_given, max_rows, seed)
    if is_frame:
        part = frame[which]
        names = tuple(str(name) for name in frame.columns)
        columns = tuple(_values(part.get_column(name)) for name in frame.columns)
        native, labels = part.to_native(), _labels(part, which)
    else:
        native, labels = table[which], tuple(which.tolist())
        names, columns = _names_of(model, table.shape[1]), tuple(native.T)
    part_of_y = None if target is None else target[which]
    return Rows(native, part_of_y, names, labels, columns, n_given)


def _as_array(X: Any) -> np.ndarray:
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            "X must be a frame or an array of shape (n, d), got an array of shape "
            f"{array.shape}"
        )
    return array


def _target(y: Any, n_rows: int) -> np.ndarray | None:
    if y is None:
        return None
    target = np.asarray(y)
    if not target.ndim or len(target) != n_rows:
        raise ValueError(
            f"y must have one value for each of the {n_rows} rows of X, got shape "
            f"{target.shape}"
        )
    return target


def _some_of(n_rows: int, max_rows: int, seed: int) -> np.ndarray:
    if n_rows <= max_rows:
        return np.arange(n_rows)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, max_rows, replace=False))


def _values(series: nw.Series) -> np.ndarray:
    """Values of a column: numbers as they are, all else as objects."""
    if series.dtype.is_numeric() and not series.null_count():
        return series.to_numpy()
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    if series.dtype.is_numeric():
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return values


def _labels(part: nw.DataFrame, which: np.ndarray) -> tuple[Any, ...]:
    index = nw.maybe_get_index(part)
    if index is None:
        return tuple(which.tolist())
    return tuple(value if is_number(value) else str(value) for value in index)


def _names_of(model: Any, d: int) -> tuple[str, ...]:
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != d:
        return tuple(f"column {place}" for place in range(d))
    return tuple(str(name) for name in names)
