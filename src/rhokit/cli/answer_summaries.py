"""Summaries of all answers, added up batch by batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.cli.answer_columns import Answers
from rhokit.cli.console import number
from rhokit.cli.model_rows import ModelRows
from rhokit.cli.table_files import FileBatch
from rhokit.inspection import LabelSummary, ScoreSummary, ValueSummary

_MOST_LABELS = 6

Pairs = Iterator[tuple[str, str | None]]


class AnswerSummary:
    """Counts rows, and those that could not be answered."""

    def __init__(self) -> None:
        self.n_rows = self.n_unanswered = 0

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the answers of a batch to those rows that are whole."""
        self.n_rows += len(whole)
        self.n_unanswered += len(whole) - int(whole.sum())

    def to_json(self) -> dict[str, Any]:
        """The summary for programs."""
        return {"rows": self.n_rows, "unanswered": self.n_unanswered}

    def pairs(self) -> Pairs:
        """Names and texts for people."""
        lacking = self.n_unanswered
        yield "rows", number(self.n_rows)
        yield "without an answer", number(lacking) if lacking else None


class ScoreAnswers(AnswerSummary):
    """Mean, lowest and highest score.

    Parameters
    ----------
    name : str, default="log_density"
        What scores are.
    """

    def __init__(self, name: str = "log_density") -> None:
        super().__init__()
        self._name = name
        self._found = ScoreSummary()

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the log-densities of a batch."""
        super().add(columns, batch, whole)
        self._found += ScoreSummary.of(columns[self._name])

    def to_json(self) -> dict[str, Any]:
        """The summary for programs."""
        return super().to_json() | {
            f"mean_{self._name}": self._found.mean,
            "lowest": self._found.minimum,
            "highest": self._found.maximum,
            "zero_density": self._found.n_zero,
        }

    def pairs(self) -> Pairs:
        """Names and texts for people."""
        yield from super().pairs()
        found = self._found
        if found.n_zero < found.n_rows:
            yield f"mean {self._name.replace('_', '-')}", number(found.mean)
        yield "lowest, highest", f"{number(found.minimum)}, {number(found.maximum)}"
        if found.n_zero:
            yield "density zero", f"{number(found.n_zero)} rows, left out of the mean"


class _PredictedAnswers(AnswerSummary):
    """Compares predictions with the target, where the table has it."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__()
        self._rows = rows

    def add(self, columns: Answers, batch: FileBatch, whole: NDArray[np.bool_]) -> None:
        """Take up the predictions of a batch."""
        super().add(columns, batch, whole)
        if not self._rows.has_target:
            self._take(columns, None)
            return
        known = self._rows.knows_target(batch)[whole]
        self._take({name: each[~known] for name, each in columns.items()}, None)
        truth = self._rows.targets(batch)[whole][known]
        self._take({name: each[known] for name, each in columns.items()}, truth)

    @abstractmethod
    def _take(self, columns: Answers, truth: NDArray[Any] | None) -> None:
        """Take up predictions whose truth is known, or not."""


class LabelAnswers(_PredictedAnswers):
    """How many rows got which label, and how many the right one."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__(rows)
        self._found = LabelSummary()

    def _take(self, columns: Answers, truth: NDArray[Any] | None) -> None:
        self._found += LabelSummary.of(columns["prediction"], truth)

    def to_json(self) -> dict[str, Any]:
        """The summary for programs."""
        told = super().to_json() | {"predicted": dict(self._found.counts)}
        if self._found.n_compared:
            told["accuracy"] = self._found.accuracy
        return told

    def pairs(self) -> Pairs:
        """Names and texts for people."""
        yield from super().pairs()
        most = sorted(self._found.counts.items(), key=lambda item: -item[1])
        texts = [f"{label} {number(count)}" for label, count in most[:_MOST_LABELS]]
        rest = len(most) - _MOST_LABELS
        yield "predicted", ", ".join(texts) + (f" and {rest} more" if rest > 0 else "")
        count = self._found.n_compared
        if count:
            yield "right", f"{self._found.accuracy:.1%} of {number(count)} known ones"


class ValueAnswers(_PredictedAnswers):
    """Errors of values, and how many lie in their intervals."""

    def __init__(self, rows: ModelRows) -> None:
        super().__init__(rows)
        self._found = ValueSummary()

    def _take(self, columns: Answers, truth: NDArray[Any] | None) -> None:
        if truth is None or truth.ndim > 1:
            return  # of several targets, errors do not add up
        interval = np.stack([columns["low"], columns["high"]], axis=1)
        self._found += ValueSummary.of(columns["prediction"], interval, truth)

    def to_json(self) -> dict[str, Any]:
        """The summary for programs."""
        told = super().to_json()
        if self._found.n_compared:
            told["mean_absolute_error"] = self._found.absolute_error
            told["inside_interval"] = self._found.achieved
        return told

    def pairs(self) -> Pairs:
        """Names and texts for people."""
        yield from super().pairs()
        found = self._found
        if found.n_compared:
            yield "mean absolute error", number(found.absolute_error)
            inside = f"{found.achieved:.1%} of {number(found.n_compared)}"
            yield "inside the interval", inside
