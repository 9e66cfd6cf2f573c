"""How many rows to learn at once, within a limit of memory."""

import re
from numbers import Integral

from rhokit.estimators.memory import as_text

# Sums of a batch cost as much to add up as this many rows of every outcome.
_ROWS_PER_OUTCOME = 4096
_FEWEST_ROWS, _MOST_ROWS = 4096, 2**18
# A batch has about this many bytes; more only where few rows would not pay.
_BATCH_BYTES, _MOST_BATCH_BYTES = 2**24, 2**27
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def rows_per_batch(estimator, n_features, n_outcomes, *, batch_rows, memory_limit):
    """Rows of a batch: those wished for, or as many as pay and fit in memory.

    Raises
    ------
    MemoryError
        If even small batches need more than ``memory_limit``.
    """
    limit = parse_limit(memory_limit)
    rows = batch_rows or _good_rows(n_features, n_outcomes)

    def estimate(rows):
        return estimator.memory_estimate(n_features, n_outcomes, rows)

    if limit is None:
        return rows
    while batch_rows is None and rows > _FEWEST_ROWS and estimate(rows).total > limit:
        rows //= 2
    needed = estimate(rows)
    if needed.total > limit:
        raise MemoryError(
            f"memory_limit={memory_limit!r} is less than the {needed} that "
            f"{type(estimator).__name__} needs for {n_features} columns and "
            f"{n_outcomes} outcome(s) in batches of {rows:,} rows: lower n_components "
            f"(now {estimator.n_components}), set dtype='float32', or raise the limit"
        )
    return rows


def parse_limit(limit):
    """Bytes from a number or a text such as ``"600 MB"``; None for no limit."""
    if limit is None:
        return None
    if isinstance(limit, Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]I?)?B?\s*", limit.upper())
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


__all__ = ["as_text", "parse_limit", "rows_per_batch"]
