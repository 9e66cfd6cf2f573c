"""Rows that are looked at: some of a frame or an array, with names and labels."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.subjects import column_names, fitted_model, number_columns
from rhokit.validation import check_rows, is_missing


@dataclass(frozen=True, eq=False)
class InspectedRows:
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
    y: NDArray[Any] | None
    names: tuple[str, ...]
    labels: tuple[Any, ...]
    columns: tuple[NDArray[Any], ...]
    n_given: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_sample(self) -> bool:
        """Whether rows were left out."""
        return len(self) < self.n_given

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which rows lack a value, shape (n,)."""
        gaps = np.zeros(len(self), dtype=bool)
        for values in self.columns:
            gaps |= [is_missing(value) for value in values]
        return gaps

    def without_gaps(self) -> Any:
        """The rows that lack no value, as the model takes them."""
        gaps = self.gaps
        return take_rows(self.X, np.flatnonzero(~gaps)) if gaps.any() else self.X

    def numbers(self, column: int) -> NDArray[np.float64]:
        """A column as float64 (n,), NaN where there is a gap."""
        values = self.columns[column]
        if values.dtype != object:
            return values.astype(np.float64)
        return np.array([np.nan if is_missing(v) else float(v) for v in values])


def inspect_rows(
    X: Any,
    y: Any,
    estimator: Any,
    max_rows: int,
    seed: int = 0,
    labels: Any = None,
) -> InspectedRows:
    """The rows to look at, in their own order.

    Parameters
    ----------
    X : frame (pandas, polars, pyarrow) or array-like of shape (n, d)
    y : array-like of shape (n, ...), optional
    estimator : estimator or None
        Names the columns where the rows do not.
    max_rows : int
    seed : int
    labels : sequence of length n, optional
        What rows are called, if not by their index or place.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> rows = inspect_rows(X, None, None, 100)
    >>> len(rows), rows.n_given, rows.names
    (100, 1000, ('column 0', 'column 1'))
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    is_frame = isinstance(frame, nw.DataFrame)
    table = frame if is_frame else _as_array(X)
    n_given = len(table)
    if not n_given:
        raise ValueError("X must have at least one row, got none")
    target = _target(y, n_given)
    which = some_places(n_given, max_rows, seed)
    if is_frame:
        part = frame[which]
        names = tuple(str(name) for name in frame.columns)
        columns = tuple(_values(part.get_column(name)) for name in frame.columns)
        native, known = part.to_native(), _labels(part, which)
    else:
        native, known = table[which], tuple(which.tolist())
        names = tuple(column_names(estimator, table.shape[1]))
        columns = tuple(native.T)
    if labels is not None:
        if len(labels) != n_given:
            raise ValueError(
                f"labels must be one for each of the {n_given} rows, got {len(labels)}"
            )
        known = tuple(np.asarray(labels)[which].tolist())
    part_of_y = None if target is None else target[which]
    return InspectedRows(native, part_of_y, names, known, columns, n_given)


def some_places(n: int, most: int | None, seed: int = 0) -> NDArray[np.intp]:
    """At most so many of n places, in order, and the same every time.

    Examples
    --------
    >>> some_places(3, None), len(some_places(100, 10, seed=0))
    (array([0, 1, 2]), 10)
    """
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def take_rows(X: Any, which: NDArray[np.intp]) -> Any:
    """Some rows of an array or a frame, of the same kind.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows([[1, 2], [3, 4]], np.array([1]))
    array([[3, 4]])
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[which, :].to_native()
    return np.asarray(X)[which]


def row_labels(X: Any, n: int) -> NDArray[Any]:
    """Names of the rows: a frame's index, or their places."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or len(index) != n:
        return np.arange(n)
    return np.asarray(index)


def number_rows(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Rows as numbers (n, d), checked against the columns of a fitted model.

    NaN stands for what is missing, and for categories, which are no numbers.
    """
    model = fitted_model(estimator)
    schema = model.plan.columns.schema
    if schema is None:
        return check_rows(estimator, X, reset=False, may_miss=model.may_miss)
    wide = schema.encode(X)
    rows = np.full((len(wide), model.plan.columns.n_features), np.nan)
    for place in number_columns(estimator):
        rows[:, place] = wide[:, schema.blocks[place].start]
    return rows


def _as_array(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            "X must be a frame or an array of shape (n, d), got an array of shape "
            f"{array.shape}"
        )
    return array


def _target(y: Any, n_rows: int) -> NDArray[Any] | None:
    if y is None:
        return None
    target = np.asarray(y)
    if not target.ndim or len(target) != n_rows:
        raise ValueError(
            f"y must have one value for each of the {n_rows} rows of X, got shape "
            f"{target.shape}"
        )
    return target


def _values(series: Any) -> NDArray[Any]:
    """Values of a column: numbers as they are, all else as objects."""
    if series.dtype.is_numeric() and not series.null_count():
        return np.asarray(series.to_numpy())
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    if series.dtype.is_numeric():
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return values


def _labels(part: Any, which: NDArray[np.intp]) -> tuple[Any, ...]:
    index = nw.maybe_get_index(part)
    if index is None:
        return tuple(which.tolist())
    return tuple(value if is_number(value) else str(value) for value in index)


def is_number(value: Any) -> bool:
    """Whether a value is a number, rather than a category; a bool is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    )
