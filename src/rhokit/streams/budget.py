"""How many rows to learn at once, within a limit of memory."""

import re
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from rhokit.estimators.base import OnePassEstimator
from rhokit.representations.memory import as_text

# Sums of a batch cost as much to add up as this many rows of every outcome.
_ROWS_PER_OUTCOME = 4096
_FEWEST_ROWS, _MOST_ROWS = 4096, 2**18
# A batch has about this many bytes; more only where few rows would not pay.
_BATCH_BYTES, _MOST_BATCH_BYTES = 2**24, 2**27
# What pyarrow holds while it reads.
_READING_BYTES = 48 * 10**6
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


@dataclass(frozen=True)
class RowBudget:
    """What a caller wants of the size of batches.

    Parameters
    ----------
    batch_rows : int, optional
        Rows of a batch; as many as pay and fit in memory without it.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"600 MB"``.
    reading : bool
        Whether batches are read from files meanwhile.
    """

    batch_rows: int | None = None
    memory_limit: int | str | None = None
    reading: bool = False

    def rows(self, estimator: OnePassEstimator, n_features: int | None = None) -> int:
        """Rows of a batch, of ``n_features`` columns if the model knows none yet.

        Raises
        ------
        MemoryError
            If even small batches need more than the limit.
        """
        limit = parse_limit(self.memory_limit)
        d = n_features or estimator.n_features_in_
        known = estimator.readout_ if estimator.is_prepared else None
        outcomes = estimator.make_readout(known).n_outcomes
        rows = self.batch_rows or _good_rows(d, outcomes)
        if limit is None:
            return rows
        while self._needs(estimator, d, outcomes, rows) > limit:
            if self.batch_rows is not None or rows <= _FEWEST_ROWS:
                raise self._refusal(estimator, d, outcomes, rows)
            rows //= 2
        return rows

    def _needs(
        self, estimator: OnePassEstimator, d: int, n_outcomes: int, rows: int
    ) -> int:
        own = estimator.memory_estimate(d, n_outcomes, rows).total
        return own + (_READING_BYTES + 2 * rows * 8 * d if self.reading else 0)

    def _refusal(
        self, estimator: OnePassEstimator, d: int, n_outcomes: int, rows: int
    ) -> MemoryError:
        needed = as_text(self._needs(estimator, d, n_outcomes, rows))
        return MemoryError(
            f"memory_limit={self.memory_limit!r} is less than the {needed} "
            f"that {type(estimator).__name__} needs for {d} columns and {n_outcomes} "
            f"outcome(s) in batches of {rows:,} rows: lower n_components (now "
            f"{estimator.n_components}), set dtype='float32', or raise the limit. What "
            f"learning takes of it: {estimator.memory_estimate(d, n_outcomes, rows)}"
        )


def parse_limit(limit: Any) -> int | None:
    """Bytes from a number or a text such as ``"600 MB"``; None for no limit."""
    if limit is None:
        return None
    if isinstance(limit, Integral) and not isinstance(limit, bool) and int(limit) > 0:
        return int(limit)
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]I?)?B?\s*", limit.upper())
        if match and float(match[1]) > 0:
            return int(float(match[1]) * _UNITS[match[2] or ""])
    raise ValueError(
        "memory_limit must be a positive number of bytes, or a text such as '600 MB', "
        f"got {limit!r}"
    )


def _good_rows(n_features: int, n_outcomes: int) -> int:
    row = 8 * n_features
    wanted = max(_BATCH_BYTES // row, _ROWS_PER_OUTCOME * n_outcomes)
    return max(_FEWEST_ROWS, min(wanted, _MOST_BATCH_BYTES // row, _MOST_ROWS))
