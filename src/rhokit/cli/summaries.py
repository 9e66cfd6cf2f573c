"""What all rows of a table say together, added up batch by batch."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.cli.answers import Answers
from rhokit.cli.console import number
from rhokit.cli.model_rows import ModelRows
from rhokit.cli.table_files import FileBatch

_MOST_LABELS = 6


class Summary:
    """Counts rows, and those that could not be answered."""

    def __init__(self) -> None:
        self.n_rows = self.n_unanswered = 0

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the answers of a batch to those rows that are whole."""
        self.n_rows += len(whole)
        self.n_unanswered += len(whole) - int(whole.sum())

    def to_json(self) -> dict[str, Any]:
        """What was found, for programs."""
        return {"rows": self.n_rows, "unanswered": self.n_unanswered}

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Names and texts for people."""
        lacking = self.n_unanswered
        yield "rows", number(self.n_rows)
        yield "without an answer", number(lacking) if lacking else None


class ScoreSummary(Summary):
    """Mean, lowest and highest log-density."""

    def __init__(self) -> None:
        super().__init__()
        self._total, self._n_finite = 0.0, 0
        self._low, self._high = math.inf, -math.inf

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the log-densities of a batch."""
        super().add(columns, batch, whole)
        logs = columns["log_density"]
        finite = logs[np.isfinite(logs)]
        self._total += float(finite.sum())
        self._n_finite += len(finite)
        self._low = float(logs.min(initial=self._low))
        self._high = float(logs.max(initial=self._high))

    @property
    def n_zero(self) -> int:
        """Rows whose density is zero as far as the model can tell."""
        return self.n_rows - self.n_unanswered - self._n_finite

    @property
    def mean(self) -> float | None:
        """Mean log-density of the rows whose density is not zero."""
        return self._total / self._n_finite if self._n_finite else None

    def to_json(self) -> dict[str, Any]:
        """What was found, for programs."""
        return super().to_json() | {
            "mean_log_density": self.mean,
            "lowest": self._low,
            "highest": self._high,
            "zero_density": self.n_zero,
        }

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Names and texts for people."""
        yield from super().pairs()
        yield "mean log-density", None if self.mean is None else number(self.mean)
        yield "lowest, highest", f"{number(self._low)}, {number(self._high)}"
        if self.n_zero:
            yield "density zero", f"{number(self.n_zero)} rows, left out of the mean"


class _Comparison(Summary):
    """Compares predictions with the target, where the table has it."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__()
        self._rows = rows
        self._n_compared = 0

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the predictions of a batch."""
        super().add(columns, batch, whole)
        if not self._rows.has_target:
            return
        known = self._rows.knows_target(batch)[whole]
        found = {name: values[known] for name, values in columns.items()}
        self._compare(found, self._rows.targets(batch)[whole][known])

    @abstractmethod
    def _compare(self, columns: Answers, truth: NDArray[Any]) -> None:
        """Take note of predictions whose truth is known."""


class LabelSummary(_Comparison):
    """How many rows got which label, and how many the right one."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__(rows)
        self._counts: Counter[str] = Counter()
        self._n_right = 0

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the labels of a batch."""
        super().add(columns, batch, whole)
        self._counts.update(map(str, columns["prediction"].tolist()))

    def _compare(self, columns: Answers, truth: NDArray[Any]) -> None:
        self._n_compared += len(truth)
        self._n_right += int((columns["prediction"] == truth).sum())

    def to_json(self) -> dict[str, Any]:
        """What was found, for programs."""
        told = super().to_json() | {"predicted": dict(sorted(self._counts.items()))}
        if self._n_compared:
            told["accuracy"] = self._n_right / self._n_compared
        return told

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Names and texts for people."""
        yield from super().pairs()
        counts = sorted(self._counts.items())
        most = sorted(counts, key=lambda item: -item[1])
        texts = [f"{label} {number(count)}" for label, count in most[:_MOST_LABELS]]
        rest = len(most) - _MOST_LABELS
        yield "predicted", ", ".join(texts) + (f" and {rest} more" if rest > 0 else "")
        if self._n_compared:
            right = self._n_right / self._n_compared
            yield "right", f"{right:.1%} of {number(self._n_compared)} known ones"


class ValueSummary(_Comparison):
    """Errors of values, and how many lie in their intervals."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__(rows)
        self._error, self._n_inside = 0.0, 0

    def _compare(self, columns: Answers, truth: NDArray[Any]) -> None:
        if truth.ndim > 1:
            return  # of several targets, errors do not add up
        inside = (columns["low"] <= truth) & (truth <= columns["high"])
        self._n_compared += len(truth)
        self._error += float(np.abs(columns["prediction"] - truth).sum())
        self._n_inside += int(inside.sum())

    def to_json(self) -> dict[str, Any]:
        """What was found, for programs."""
        told = super().to_json()
        if self._n_compared:
            told["mean_absolute_error"] = self._error / self._n_compared
            told["inside_interval"] = self._n_inside / self._n_compared
        return told

    def pairs(self) -> Iterator[tuple[str, str | None]]:
        """Names and texts for people."""
        yield from super().pairs()
        if self._n_compared:
            yield "mean absolute error", number(self._error / self._n_compared)
            inside = self._n_inside / self._n_compared
            yield "inside the interval", f"{inside:.1%} of {number(self._n_compared)}"
