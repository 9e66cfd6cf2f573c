"""The rows of a comparison, written once and read by every process."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Facts = dict[str, Any]
"""What a contestant may know of a case: numbers and words, as JSON has them."""


@dataclass(frozen=True, eq=False)
class Case:
    """Rows to learn from and rows to be asked about.

    Parameters
    ----------
    name : str
    rows : array of shape (N, d)
    queries : array of shape (n, d)
    target : array of shape (N,), optional
    facts : dict
        Handed to every contestant, with ``d``, ``n`` and ``threads`` added.
    """

    name: str
    rows: np.ndarray
    queries: np.ndarray
    target: np.ndarray | None = None
    facts: Facts = field(default_factory=dict)

    @property
    def sizes(self):
        """``n`` rows of ``d`` columns."""
        return {"n": len(self.rows), "d": self.rows.shape[1]}

    def write(self, folder):
        """Keep the arrays in a folder, for the workers."""
        for name in ("rows", "queries", "target"):
            array = getattr(self, name)
            if array is not None:
                np.save(Path(folder) / f"{name}.npy", array)


def read_arrays(folder):
    """Rows, queries and target (or None) from a case's folder."""
    paths = [Path(folder) / f"{name}.npy" for name in ("rows", "queries", "target")]
    return [np.load(path) if path.exists() else None for path in paths]
