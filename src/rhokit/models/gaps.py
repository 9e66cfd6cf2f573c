"""Rows that lack values, taken together by the columns that they have."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns


def kept_columns(
    columns: Columns, rows: NDArray[Any]
) -> tuple[list[list[int]], NDArray[np.intp]]:
    """The sets of columns that rows have, and which of them each row has, (n,)."""
    known = ~np.isnan(rows[:, columns.starts])  # (n, d)
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    return [np.flatnonzero(each).tolist() for each in patterns], which.ravel()


def by_gaps(
    columns: Columns,
    rows: NDArray[Any],
    knowing: Callable[[list[int]], Callable[[NDArray[Any]], NDArray[Any]]],
) -> NDArray[Any]:
    """Answers for rows, from the columns that each of them has.

    Parameters
    ----------
    columns : Columns
    rows : array of shape (n, w)
        NaN where a value is missing.
    knowing : callable
        From the columns that rows have to what answers from these alone.
    """
    patterns, which = kept_columns(columns, rows)
    results = None
    for index, kept in enumerate(patterns):
        mine = np.flatnonzero(which == index)
        part = knowing(kept)(
            rows[np.ix_(mine, np.array(columns.places(kept), dtype=int))]
        )
        if results is None:
            results = np.empty((len(rows), *part.shape[1:]), part.dtype)
        results[mine] = part
    assert results is not None
    return results


def refuse_gaps(rows: NDArray[Any], what: str = "leave_one_out") -> None:
    """Refuse rows that lack values, for what is asked of whole rows."""
    gaps = int(np.isnan(rows).any(axis=1).sum()) if rows.dtype.kind == "f" else 0
    if gaps:
        raise ValueError(
            f"{what} is for rows without gaps, as the model learned from: "
            f"{gaps} here lack a value"
        )
