"""Checks of parameters and rows: one place, one wording.

scikit-learn's tables of parameter constraints are private names of its own; they are
used through this file alone, so that a change upstream touches one place.
"""

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial, wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import (
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_array, validate_data

from rhokit.errors import DataError, DataTypeError

__all__ = [
    "FARTHEST",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "all_or_nothing",
    "check_count",
    "check_float_dtype",
    "check_levels",
    "check_parameters",
    "check_rows",
    "check_share",
    "check_values",
    "check_weights",
    "generator",
    "is_missing",
    "level_of_the_user",
    "refuse_dates",
    "refuse_far",
    "refuse_non_finite",
    "refuse_weights",
]

# Farther than this from zero, squares of numbers would soon be none.
FARTHEST = {np.dtype(np.float64): 2.0**500, np.dtype(np.float32): 2.0**60}
_HOME = str(Path(__file__).parent)
# Names of types, in any library, that each turns into numbers in its own unit.
_OF_TIME = re.compile("date|time|duration", re.IGNORECASE)


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Run a method on a copy of the object; keep what it did only if it ends well.

    What estimators hold are values that are replaced, never changed, so a shallow
    copy suffices. The method's own result is dropped: the object is returned.
    """

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        attempt = copy(self)
        method(attempt, *args, **kwargs)
        self.__dict__ = attempt.__dict__
        return self

    return guarded


def check_parameters(estimator: Any, constraints: Mapping[str, Any]) -> None:
    """Refuse parameters outside their table: name, owner, what must be, what was."""
    values = estimator.get_params(deep=False)
    owner = type(estimator).__name__
    validate_parameter_constraints(dict(constraints), values, caller_name=owner)


def check_values(
    owner: str, values: Mapping[str, Any], constraints: Mapping[str, Any]
) -> None:
    """Refuse parameters of an object that does not exist yet, in the same words."""
    validate_parameter_constraints(dict(constraints), dict(values), caller_name=owner)


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    dtype: Any = None,
    numeric: bool = True,
    may_miss: bool = False,
    names: Sequence[Any] | None = None,
) -> NDArray[Any]:
    """Rows as a C-ordered array (n, d); errors name the column.

    Parameters
    ----------
    estimator : object
        Remembers or compares the number and names of the columns.
    X : array-like or frame
    reset : bool
        Whether the columns are learned (fit) or compared (everything else).
    dtype : dtype, optional
        None keeps float32 and makes float64 of everything else.
    numeric : bool
        False lets any values pass: categories.
    may_miss : bool
        Whether NaN may pass, for a value that is missing.
    names : sequence of str, optional
        Names for errors, of the columns of rows that come without them.
    """
    name_of = partial(_column_name, estimator, names)
    if not reset and numeric and _is_ready(estimator, X, dtype):
        refuse_non_finite(X, type(estimator).__name__, name_of, may_miss)
        return np.asarray(X)
    wanted = dtype if dtype is not None else [np.float64, np.float32]
    options: dict[str, Any] = {"reset": reset, "order": "C", "ensure_all_finite": False}
    if not numeric:
        options |= {"dtype": None, "order": None}
        return np.asarray(validate_data(estimator, X, **options))
    types = getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", None))
    if not np.iterable(types):  # no frame: one type for all
        first = np.asarray(X[:1]) if isinstance(X, list | tuple) else X
        types = [getattr(first, "dtype", None)]
        if types == [object]:
            types = [type(value) for value in np.ravel(first[:1])]
    if any(_OF_TIME.search(str(each)) for each in set(types)):
        raise _no_date(X, list(types), names)
    try:
        with warnings.catch_warnings():
            # Complex rows are refused below; the cast's own warning adds nothing.
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            rows = validate_data(estimator, X, dtype=wanted, **options)
    except (ValueError, TypeError) as error:
        place = _first_text(X)
        if place is None:
            raise
        if isinstance(place["column"], int):
            place["column"] = _column_name(estimator, names, place["column"])
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        needs = f"{type(estimator).__name__} needs numbers"
        reason = f"{needs}, but X holds {str(place['value'])!r}: {error}{_advice(X)}"
        raise kind(reason, **place) from error
    refuse_non_finite(rows, type(estimator).__name__, name_of, may_miss)
    return rows


def _advice(X: Any) -> str:
    """What to do with a column of text, of a frame."""
    if not hasattr(X, "columns"):
        return ""
    return (
        ". Text is categories once it is marked as such, as pandas' "
        "astype('category'), polars' cast(pl.Categorical) and Arrow's "
        "dictionary_encode() do"
    )


def _is_ready(estimator: Any, X: Any, dtype: Any) -> bool:
    """Whether rows are an array that nothing needs to be done with but look at it."""
    return (
        type(X) is np.ndarray
        and X.dtype in ((np.float64, np.float32) if dtype is None else (dtype,))
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and X.flags.c_contiguous
        and not hasattr(estimator, "feature_names_in_")
    )


def check_weights(
    sample_weight: Any, n_rows: int, *, may_vanish: bool = False
) -> NDArray[np.float64] | None:
    """Weights as a float64 array (n,), None for all ones.

    ``may_vanish`` lets all of them be zero, as may be in one batch of many.
    """
    if sample_weight is None:
        return None
    refuse_dates("sample_weight", sample_weight)
    try:
        weights = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            input_name="sample_weight",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        if "sample_weight" in str(error):
            raise
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight per row, "
            f"got {weights.shape}"
        )
    refuse_weights(weights)
    if not may_vanish and not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing to learn from")
    return weights


def refuse_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights that are negative or not finite, by row."""
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        value = float(weights[row])
        reason = f"Input sample_weight contains {_non_finite(value)}"
        raise DataError(reason, row=row, value=value)
    if weights.min(initial=0.0) < 0:
        row = int(np.argmin(weights))
        value = float(weights[row])
        reason = f"sample_weight must not be negative, got {value}"
        raise DataError(reason, row=row, value=value)


def check_share(name: str, value: Any) -> None:
    """Refuse what is neither None nor a number in (0, 1]."""
    if value is None:
        return
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) <= 1:
        raise ValueError(f"{name} must be a number in (0, 1], or None, got {value!r}")


def check_levels(name: str, given: Any) -> NDArray[np.float64]:
    """Probabilities as an array (q,), each between 0 and 1."""
    values = np.atleast_1d(np.asarray(given, dtype=float))
    inside = (values > 0) & (values < 1)
    if values.ndim != 1 or not values.size or not inside.all():
        raise ValueError(f"{name} must lie between 0 and 1, got {given!r}")
    return values


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from None, an int, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def refuse_non_finite(
    rows: NDArray[Any],
    owner: str,
    name_of: Callable[[int], str | int],
    may_miss: bool = False,
) -> None:
    """Refuse infinity, and NaN unless values may be missing, by row and column."""
    # The sum of all is finite iff all are, but for overflow: a cheap first look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return
    bad = np.isinf(rows) if may_miss else ~np.isfinite(rows)
    if not bad.any():
        return
    row, column = (int(index[0]) for index in np.nonzero(bad))
    value = float(rows[row, column])
    raise DataError(
        f"Input X contains {_non_finite(value)}; {owner} needs finite numbers: drop or "
        "fill such rows",
        row=row,
        column=name_of(column),
        value=value,
    )


def refuse_far(rows: NDArray[Any], names: Sequence[Any] | None = None) -> None:
    """Refuse rows (n, d) so far from zero that their distances are no numbers.

    ``names`` are those of the columns, for the error.
    """
    largest = np.abs(rows).max(axis=0, initial=0)
    column = int(np.argmax(largest))
    if largest[column] >= FARTHEST[rows.dtype]:
        raise DataError(
            f"in the units of its kernel, a model takes rows of {rows.dtype} up to "
            f"{FARTHEST[rows.dtype]:.2g}, but X holds {largest[column]:.4g}: give "
            "scale='std', or this column in other units",
            column=column if names is None else str(names[column]),
            value=float(largest[column]),
        )


def _non_finite(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity"


def _column_name(estimator: Any, names: Sequence[Any] | None, column: int) -> str | int:
    """The name of a column, if it has one."""
    known = getattr(estimator, "feature_names_in_", names)
    return column if known is None else str(known[column])


def is_missing(value: Any) -> bool:
    """Whether a value marks a gap: None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT
    except TypeError:  # pandas.NA has no truth
        return True


def level_of_the_user() -> int:
    """The ``stacklevel`` at which a warning names the line that called rhokit."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level


def check_float_dtype(
    owner: str, wanted: Any, name: str = "dtype"
) -> np.dtype[Any] | None:
    """A dtype of numbers that was asked for, or None for any."""
    if wanted is None:
        return None
    try:
        dtype = np.dtype(wanted)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in (np.float32, np.float64):
        raise ValueError(
            f"The {name!r} parameter of {owner} must be float32, float64 or None. "
            f"Got {wanted!r} instead."
        )
    return dtype


def check_count(name: str, value: Any) -> None:
    """Refuse what is neither None nor an integer above zero."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer >= 1, or None, got {value!r}")


def refuse_dates(name: str, values: Any) -> None:
    """Refuse dates and durations, which each library counts in a unit of its own."""
    dtype = np.asarray(values).dtype
    if dtype.kind in "mM":
        raise DataTypeError(f"{name} must be numbers, got {dtype}: make numbers of it")


def _no_date(X: Any, types: Any, known: Sequence[Any] | None) -> DataTypeError:
    """An error that names the first column of dates or durations."""
    of_time = [bool(_OF_TIME.search(str(each))) for each in types]
    place = of_time.index(True)
    names = getattr(X, "column_names", getattr(X, "columns", known))
    column = place if names is None else str(names[place])
    kind = getattr(types[place], "__name__", types[place])
    return DataTypeError(
        "dates and durations are no numbers, since days and nanoseconds count "
        f"differently, but X holds {kind}: make numbers of them first",
        column=column,
    )


def _first_text(X: Any) -> dict[str, Any] | None:
    """Row, column and value of the first that is no number, column by column."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is not None:
        named = [(name, np.asarray(X[name], dtype=object)) for name in columns]
    else:
        array = np.asarray(X, dtype=object)
        if array.ndim != 2:
            return None
        named = [(index, array[:, index]) for index in range(array.shape[1])]
    for name, values in named:
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                return {"row": row, "column": name, "value": value}
    return None
