"""Answers of models to rows, as columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.cli.table_files import FileBatch

# What the columns of classes' probabilities start with.
PROBABILITY = "probability_"

Answers = dict[str, NDArray[Any]]
"""Columns by name, each of shape (n,)."""
Ask = Callable[[Any, FileBatch, NDArray[np.bool_]], Answers]
"""From rows, their batch, and which rows of it they are, to answers."""


def label_columns(model: Any, X: Any) -> Answers:
    """The class of each row, and the probability of every class."""
    probabilities, labels = model.predict_proba(X), model.predict(X)
    columns = {"prediction": labels.astype(str) if labels.dtype == object else labels}
    for label, column in zip(model.classes_.tolist(), probabilities.T, strict=True):
        columns[f"{PROBABILITY}{label}"] = column
    return columns


def value_columns(
    model: Any, X: Any, coverage: float, targets: Sequence[str] = ()
) -> Answers:
    """The value of each row, its standard deviation and its interval.

    ``targets`` are the targets' names, which tell several of them apart.
    """
    mean, std = model.predict(X, return_std=True)  # (n,) or (n, t)
    ends = model.predict_interval(X, coverage=coverage)  # (n, 2) or (n, t, 2)
    if mean.ndim == 1:
        return _columns_of_one("", mean, std, ends)
    columns: Answers = {}
    for index in range(mean.shape[1]):
        known = index < len(targets)
        name = f"_{targets[index] if known else index + 1}"
        columns |= _columns_of_one(name, mean[:, index], std[:, index], ends[:, index])
    return columns


def _columns_of_one(
    name: str, mean: NDArray[Any], std: NDArray[Any], ends: NDArray[Any]
) -> Answers:
    return {
        f"prediction{name}": mean,
        f"std{name}": std,
        f"low{name}": ends[:, 0],
        f"high{name}": ends[:, 1],
    }
