"""What has changed between two sets of rows, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Lines of a text or a table, and categories that are named in one of them.
_MOST_LINES, _MOST_NAMED = 12, 4
# Smaller p-values are not told apart.
_LEAST_P = 1e-99


@dataclass(frozen=True)
class ColumnChange:
    """How a column differs between old and new rows.

    Parameters
    ----------
    name : str
    kind : {"number", "category"}
    role : {"column", "target", "prediction"}
    p_value : float
        That there is no change, corrected for there being several columns.
    strength : float
        How far it is from no change, in standard deviations: what columns are ordered
        by.
    distance : float
        Part of the rows that would have to be others: the largest difference of both
        distribution functions, or half the sum of the differences of all categories.
    old, new : dict
        ``median`` and ``spread`` (between the quartiles) of numbers, or the
        probabilities of all categories.
    old_missing, new_missing : float
        Share of rows without a value; NaN of models, which learn from whole rows.
    appeared, vanished : dict
        From categories that only one side has to their numbers of rows.
    bins : tuple
        Edges of a histogram, or names of categories.
    old_counts, new_counts : tuple of int
        Rows in these.
    """

    name: str
    kind: str
    role: str
    p_value: float
    strength: float
    distance: float
    old: dict[str, float]
    new: dict[str, float]
    old_missing: float
    new_missing: float
    appeared: dict[str, int]
    vanished: dict[str, int]
    bins: tuple[Any, ...]
    old_counts: tuple[int, ...]
    new_counts: tuple[int, ...]

    @property
    def text(self) -> str:
        """The change in words."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.kind == "number":
            for what in ("median", "spread"):
                yield f"{what} {self.old[what]:.4g} → {self.new[what]:.4g}"
        else:
            labels = sorted(
                self.old, key=lambda name: -abs(self.new[name] - self.old[name])
            )
            seen = [x for x in labels if x not in self.appeared | self.vanished]
            for name in seen[:2]:
                old, new = self.old[name], self.new[name]
                yield f"{name} {old:.1%} → {new:.1%}"
        for word, names in (("new", self.appeared), ("gone", self.vanished)):
            if names:
                yield f"{word}: {_listed(names)}"
        missing = self.old_missing, self.new_missing
        if any(share > 0 for share in missing):
            shown = ["unknown" if s != s else f"{s:.1%}" for s in missing]
            yield f"missing {shown[0]} → {shown[1]}"


@dataclass(frozen=True)
class PairChange:
    """How two columns' dependence differs between old and new rows.

    Parameters
    ----------
    names : tuple of two str
    p_value : float
        That there is no change, corrected for there being several pairs.
    old, new : float
        Spearman's correlation of two columns of numbers; Cramér's V where one of them
        holds categories.
    """

    names: tuple[str, str]
    p_value: float
    old: float
    new: float

    @property
    def text(self) -> str:
        """The change in words."""
        a, b = self.names
        return f"{a} and {b}: {self.old:.2f} → {self.new:.2f}"


@dataclass(frozen=True)
class Comparison:
    """What :func:`rhokit.compare` finds.

    Parameters
    ----------
    p_value : float
        So likely is such a difference, or a larger one, if nothing has changed.
    effect : float
        0 where both are the same, and the nearer to 1 the less they have in common: the
        distance of both density matrices under a Gaussian kernel, over its largest
        possible value. Columns count by their ranks.
    level : float
        ``changed`` is said from this p-value downwards.
    columns : tuple of ColumnChange
        The most changed one first; the target is among them.
    pairs : tuple of PairChange
        The most changed one first.
    predictions : tuple of ColumnChange
        What the old model predicts for both.
    n_old, n_new : int
        Rows that were compared.
    total_old, total_new : float
        Rows that they stand for.
    block_rows : int
        Rows that were exchanged together.
    skipped : dict
        From columns that were not compared to why.
    """

    p_value: float
    effect: float
    level: float
    columns: tuple[ColumnChange, ...]
    pairs: tuple[PairChange, ...]
    predictions: tuple[ColumnChange, ...]
    n_old: int
    n_new: int
    total_old: float
    total_new: float
    block_rows: int
    skipped: dict[str, str]

    @property
    def changed(self) -> bool:
        """Whether the difference is more than chance would make at the level."""
        return self.p_value <= self.level

    @property
    def changed_columns(self) -> tuple[ColumnChange, ...]:
        """Columns that have changed at the level."""
        return tuple(c for c in self.columns if c.p_value <= self.level)

    @property
    def changed_pairs(self) -> tuple[PairChange, ...]:
        """Pairs that have changed at the level."""
        return tuple(p for p in self.pairs if p.p_value <= self.level)

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        word = "the data have changed" if self.changed else "no change was found"
        return f"{word}: {p_text(self.p_value)}, effect {self.effect:.2g}"

    @property
    def rows_text(self) -> str:
        """How many rows were compared."""
        sides = zip(
            (self.n_old, self.n_new), (self.total_old, self.total_new), strict=True
        )
        parts = [
            f"{n:,} rows" if n >= total else f"{n:,} of {total:,.0f} rows"
            for n, total in sides
        ]
        blocks = f", in blocks of {self.block_rows:,}" if self.block_rows > 1 else ""
        return f"{parts[0]} against {parts[1]}{blocks}"

    def lines(self) -> list[tuple[str, str, str, str]]:
        """Name, change, distance and p-value of what is worth a line."""
        columns = self.changed_columns or self.columns[:3]
        found = [
            (_named(c), c.text, f"{c.distance:.3f}", p_text(c.p_value))
            for c in (*columns[:_MOST_LINES], *self.predictions)
        ]
        return found + [
            ("pair", pair.text, "", p_text(pair.p_value))
            for pair in self.changed_pairs[:_MOST_LINES]
        ]

    def remarks(self) -> list[str]:
        """What else is to be said."""
        more = len(self.changed_columns) - _MOST_LINES
        found = [f"and {more:,} more columns"] if more > 0 else []
        more = len(self.changed_pairs) - _MOST_LINES
        found += [f"and {more:,} more pairs"] if more > 0 else []
        reasons = [f"{name} ({why})" for name, why in self.skipped.items()]
        return found + ([f"not compared: {', '.join(reasons)}"] if reasons else [])

    def to_frame(self) -> Any:
        """Columns as a pandas frame, the most changed one first."""
        import pandas as pd

        rows = [
            {
                "column": c.name,
                "role": c.role,
                "kind": c.kind,
                "p_value": c.p_value,
                "distance": c.distance,
                "old_missing": c.old_missing,
                "new_missing": c.new_missing,
                "change": c.text,
            }
            for c in (*self.columns, *self.predictions)
        ]
        return pd.DataFrame(rows)

    def plot(self, **kwargs: Any) -> Any:
        """Draw it: see :class:`rhokit.plots.ComparisonDisplay`."""
        from importlib import import_module

        display = import_module("rhokit.plots").ComparisonDisplay
        return display.from_comparison(self, **kwargs)

    def __str__(self) -> str:
        rows = [("column", "change", "distance", "p"), *self.lines()]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        table = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            for row in rows
        ]
        head = [self.verdict, self.rows_text, ""]
        return "\n".join(line.rstrip() for line in [*head, *table, *self.remarks()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{x}</th>" for x in ("column", "change", "distance", "p"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        rest = "".join(f"<p>{escape(text)}</p>" for text in self.remarks())
        return (
            f"<p><strong>{escape(self.verdict)}</strong><br>{escape(self.rows_text)}"
            f"</p><table><tr>{head}</tr>{rows}</table>{rest}"
        )


def p_text(p: float) -> str:
    """A p-value in words.

    Examples
    --------
    >>> [p_text(p) for p in (0.25, 0.0123, 3.21e-7, 0.0)]
    ['p = 0.25', 'p = 0.012', 'p = 3.2e-07', 'p < 1e-99']
    """
    return f"p < {_LEAST_P:g}" if p < _LEAST_P else f"p = {p:.2g}"


def _named(column: ColumnChange) -> str:
    return column.name if column.role == "column" else f"{column.name} ({column.role})"


def _listed(names: dict[str, int]) -> str:
    first = sorted(names, key=lambda name: -names[name])
    shown = [f"{name} ({names[name]:,})" for name in first[:_MOST_NAMED]]
    more = len(first) - _MOST_NAMED
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
