"""Rows that must be refused, and what must be left as it was."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np


def bad_rows(rows: Any, may_miss: bool = False) -> dict[str, Any]:
    """Rows of numbers that no estimator takes, by what is wrong with them.

    With ``may_miss``, NaN is a value that is missing, and not wrong.
    """
    good = np.asarray(rows, dtype=float)
    last = np.arange(good.shape[1]) == good.shape[1] - 1
    return ({} if may_miss else {"NaN": np.where(last, np.nan, good)}) | {
        "infinity": np.where(last, np.inf, good),
        "width": np.column_stack([good, good[:, :1]]),
        "no rows": good[:0],
        "text": np.full(good.shape, "high"),
        "one dimension": good[:, 0],
        "complex numbers": good + 1j,
    }


def assert_refused(
    owner: Any, call: Callable[[], Any], what: str, kinds: Any = (ValueError, TypeError)
) -> None:
    """Assert that a call is refused, and leaves its owner as it was."""
    before, said = pickle.dumps(owner), None
    try:
        call()
    except kinds as error:
        said = str(error)
    assert said is not None, f"{what} was not refused"
    assert said, f"{what} was refused, but the error says nothing"
    assert pickle.dumps(owner) == before, f"{what} was refused, but changed something"
