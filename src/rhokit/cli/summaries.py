"""What all rows of a table say together, added up batch by batch."""

import math
from abc import ABC, abstractmethod

from rhokit.cli.console import number


def summary_for(rows, key):
    """The summary of scores, or of what a model predicts for these rows."""
    if key == "log_density":
        return ScoreSummary()
    kind = _Labels if hasattr(rows.model, "classes_") else _Values
    return kind(rows)


class Summary:
    """Counts rows, and those that could not be answered."""

    def __init__(self):
        self.n_rows = self.n_unanswered = 0

    def add(self, columns, batch, whole):
        """Take up the answers of a batch to those rows that are whole."""
        self.n_rows += len(whole)
        self.n_unanswered += len(whole) - int(whole.sum())

    def to_json(self):
        return {"rows": self.n_rows, "unanswered": self.n_unanswered}

    def pairs(self):
        """Names and texts for people."""
        lacking = self.n_unanswered
        yield "rows", number(self.n_rows)
        yield "without an answer", number(lacking) if lacking else None


class ScoreSummary(Summary):
    """Mean, lowest and highest log-density."""

    def __init__(self):
        super().__init__()
        self._total, self._n_finite = 0.0, 0
        self._low, self._high = math.inf, -math.inf

    def add(self, columns, batch, whole):
        import numpy as np

        super().add(columns, batch, whole)
        logs = columns["log_density"]
        finite = logs[np.isfinite(logs)]
        self._total += float(finite.sum())
        self._n_finite += len(finite)
        self._low = float(logs.min(initial=self._low))
        self._high = float(logs.max(initial=self._high))

    @property
    def n_zero(self):
        """Rows whose density is zero as far as the model can tell."""
        return self.n_rows - self.n_unanswered - self._n_finite

    @property
    def mean(self):
        """Of the rows whose density is not zero."""
        return self._total / self._n_finite if self._n_finite else None

    def to_json(self):
        return super().to_json() | {
            "mean_log_density": self.mean,
            "lowest": self._low,
            "highest": self._high,
            "zero_density": self.n_zero,
        }

    def pairs(self):
        yield from super().pairs()
        yield "mean log-density", None if self.mean is None else number(self.mean)
        yield "lowest, highest", f"{number(self._low)}, {number(self._high)}"
        if self.n_zero:
            yield "density zero", f"{number(self.n_zero)} rows, left out of the mean"


class _Predictions(Summary, ABC):
    """What predictions are compared with, where the table has the target."""

    def __init__(self, rows):
        super().__init__()
        self._rows = rows
        self._n_compared = 0

    def add(self, columns, batch, whole):
        super().add(columns, batch, whole)
        if not self._rows.has_target:
            return
        known = self._rows.knows_target(batch)[whole]
        found = {name: values[known] for name, values in columns.items()}
        self._compare(found, self._rows.targets(batch)[whole][known])

    @abstractmethod
    def _compare(self, columns, truth):
        """Take note of predictions whose truth is known."""


class _Labels(_Predictions):
    """How many rows got which label, and how many the right one."""

    def __init__(self, rows):
        super().__init__(rows)
        self._counts = {}
        self._n_right = 0

    def add(self, columns, batch, whole):
        import numpy as np

        super().add(columns, batch, whole)
        found = np.unique(columns["prediction"].astype(str), return_counts=True)
        for label, count in zip(*found, strict=True):
            self._counts[str(label)] = self._counts.get(str(label), 0) + int(count)

    def _compare(self, columns, truth):
        self._n_compared += len(truth)
        self._n_right += int((columns["prediction"] == truth).sum())

    def to_json(self):
        told = super().to_json() | {"predicted": self._counts}
        if self._n_compared:
            told["accuracy"] = self._n_right / self._n_compared
        return told

    def pairs(self):
        yield from super().pairs()
        most = sorted(self._counts.items(), key=lambda item: -item[1])
        texts = [f"{label} {number(count)}" for label, count in most[:6]]
        more = f" and {len(most) - 6} more" if len(most) > 6 else ""
        yield "predicted", ", ".join(texts) + more
        if self._n_compared:
            share = self._n_right / self._n_compared
            yield "right", f"{share:.1%} of {number(self._n_compared)} known ones"


class _Values(_Predictions):
    """Errors of values, and how many lie in their intervals."""

    def __init__(self, rows):
        super().__init__(rows)
        self._error, self._n_inside = 0.0, 0

    def _compare(self, columns, truth):
        import numpy as np

        if truth.ndim > 1:
            return  # of several targets, errors do not add up
        inside = (columns["low"] <= truth) & (truth <= columns["high"])
        self._n_compared += len(truth)
        self._error += float(np.abs(columns["prediction"] - truth).sum())
        self._n_inside += int(inside.sum())

    def to_json(self):
        told = super().to_json()
        if self._n_compared:
            told["mean_absolute_error"] = self._error / self._n_compared
            told["inside_interval"] = self._n_inside / self._n_compared
        return told

    def pairs(self):
        yield from super().pairs()
        if self._n_compared:
            yield "mean absolute error", number(self._error / self._n_compared)
            share = self._n_inside / self._n_compared
            yield "inside the interval", f"{share:.1%} of {number(self._n_compared)}"
