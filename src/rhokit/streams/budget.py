"""How many rows to learn at once, within a limit of memory."""

import re
from numbers import Integral

from rhokit.estimators.memory import as_text

# Sums of a batch cost as much to add up as this many rows of every outcome.
_ROWS_PER_OUTCOME = 4096
_FEWEST_ROWS, _MOST_ROWS = 4096, 2**18
# A batch has about this many bytes; more only where few rows would not pay.
_BATCH_BYTES, _MOST_BATCH_BYTES = 2**24, 2**27
# What pyarrow holds while it reads.
_READING_BYTES = 48 * 10**6
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def rows_per_batch(
    estimator, *, batch_rows, memory_limit, n_features=None, reading=False
):
    """Rows of a batch: those wished for, or as many as pay and fit in memory.

    Parameters
    ----------
    estimator : one-pass model
    batch_rows : int or None
    memory_limit : int, str or None
    n_features : int, optional
        Columns of the rows, for a model that is not prepared yet.
    reading : bool
        Whether batches are read from files meanwhile.

    Raises
    ------
    MemoryError
        If even small batches need more than ``memory_limit``.
    """
    limit = parse_limit(memory_limit)
    d = n_features or estimator.n_features_in_
    n_outcomes = estimator._n_outcomes()
    rows = batch_rows or _good_rows(d, n_outcomes)
    if limit is None:
        return rows

    def needed(rows):
        own = estimator.memory_estimate(d, n_outcomes, rows)
        return own.total + (_READING_BYTES + 2 * rows * 8 * d if reading else 0)

    while batch_rows is None and rows > _FEWEST_ROWS and needed(rows) > limit:
        rows //= 2
    if needed(rows) > limit:
        raise MemoryError(
            f"memory_limit={memory_limit!r} is less than the {as_text(needed(rows))} "
            f"that {type(estimator).__name__} needs for {d} columns and {n_outcomes} "
            f"outcome(s) in batches of {rows:,} rows: lower n_components (now "
            f"{estimator.n_components}), set dtype='float32', or raise the limit. What "
            f"learning takes of it: {estimator.memory_estimate(d, n_outcomes, rows)}"
        )
    return rows


def parse_limit(limit):
    """Bytes from a number or a text such as ``"600 MB"``; None for no limit."""
    if limit is None:
        return None
    if isinstance(limit, Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]I?)?B?\s*", limit.upper())
        if match and float(match[1]) > 0:
            return int(float(match[1]) * _UNITS[match[2] or ""])
    raise ValueError(
        "memory_limit must be a positive number of bytes, or a text such as '600 MB', "
        f"got {limit!r}"
    )


def _good_rows(n_features, n_outcomes):
    row = 8 * n_features
    wanted = max(_BATCH_BYTES // row, _ROWS_PER_OUTCOME * n_outcomes)
    return max(_FEWEST_ROWS, min(wanted, _MOST_BATCH_BYTES // row, _MOST_ROWS))
