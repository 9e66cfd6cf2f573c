"""Why rows are improbable: what each column contributes, as numbers and as words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.models.column_surprises import column_surprises
from rhokit.models.model import Model
from rhokit.models.sampling import draw_wide

Floats = NDArray[np.float64]

# Rows that are drawn to say what is usual, where a model keeps none.
_DRAWN = 500
# Nats below which a column does not stand out.
_LEAST = 2.0
# Of the largest contribution, what others must have to be named, and how many are.
_SHARE, _MOST_NAMED = 0.5, 2
# Rows of a text or a table.
_MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Explanation:
    """What makes rows improbable, column by column.

    Parameters
    ----------
    contributions : array of shape (n, d)
        Nats by which each value is less probable, given the other columns of its row,
        than values of this column usually are.
    alone : array of shape (n,)
        The same of each row's top column, where nothing else of the row is known.
    gains : array of shape (n, d)
        Nats by which each column alone makes the top one more surprising.
    names : tuple of str, of length d
    values : list of n lists of str
    """

    contributions: Floats
    alone: Floats
    gains: Floats
    names: tuple[str, ...]
    values: list[list[str]]

    @cached_property
    def top(self) -> NDArray[np.intp]:
        """Place of the column that contributes most, shape (n,)."""
        return np.asarray(self.contributions.argmax(axis=1))

    @cached_property
    def partners(self) -> list[list[int]]:
        """Columns given which the top one is improbable, the most telling first.

        None for rows whose top column is improbable by itself.
        """
        return [self._partners_of(row) for row in range(len(self.contributions))]

    def _partners_of(self, row: int) -> list[int]:
        largest = self.contributions[row, self.top[row]]
        gains = self.gains[row]
        order = np.argsort(-gains, kind="stable")[:_MOST_NAMED]
        best = float(gains[order[0]])
        if best < _LEAST / 2 or self.alone[row] >= _SHARE * largest:
            return []
        return [int(place) for place in order if gains[place] >= _SHARE * best]

    @cached_property
    def texts(self) -> list[str]:
        """A sentence for every row."""
        return [self._text_of(row) for row in range(len(self.contributions))]

    def _text_of(self, row: int) -> str:
        place = int(self.top[row])
        largest = self.contributions[row, place]
        if largest < _LEAST:
            return "no column stands out"
        parts = [self._named(row, partner) for partner in self.partners[row]]
        given = f" given {' and '.join(parts)}" if parts else ""
        if not parts and self.alone[row] < _SHARE * largest:
            given = " given the other columns"
        return f"odd because {self._named(row, place)} is improbable{given}"

    def _named(self, row: int, place: int) -> str:
        return f"`{self.names[place]}` ({self.values[row][place]})"

    def to_frame(self) -> Any:
        """Contributions as a pandas frame, with a column ``why`` of texts."""
        import pandas as pd

        frame = pd.DataFrame(self.contributions, columns=list(self.names))
        return frame.assign(why=self.texts)

    def __len__(self) -> int:
        return len(self.contributions)

    def __str__(self) -> str:
        lines = [f"row {row}: {text}" for row, text in enumerate(self._shown)]
        return "\n".join([*lines, *self._rest])

    @property
    def _shown(self) -> list[str]:
        return [self._text_of(row) for row in range(min(len(self), _MOST_ROWS))]

    @property
    def _rest(self) -> list[str]:
        more = len(self) - _MOST_ROWS
        return [f"and {more:,} more rows"] if more > 0 else []

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{row}</td><td>{escape(text)}</td>"
            f'<td style="text-align:right">{self._largest(row):.1f}</td></tr>'
            for row, text in enumerate(self._shown)
        )
        rest = "".join(f"<p>{text}</p>" for text in self._rest)
        head = "<tr><th>row</th><th>why</th><th>nats</th></tr>"
        return f"<table>{head}{cells}</table>{rest}"

    def _largest(self, row: int) -> float:
        return float(self.contributions[row, self.top[row]])


def explanation_of(model: Model, rows: NDArray[Any]) -> Explanation:
    """Why rows are improbable under a model.

    Parameters
    ----------
    model : Model
        Of a density, or of outliers.
    rows : array of shape (n, w)
        Checked, in the user's units.
    """
    reference, typical = model.readout.typical(model)
    if typical is None:
        typical = draw_wide(reference, _DRAWN, np.random.default_rng(0))
        typical = typical.astype(rows.dtype)
    usual = column_surprises(reference, typical).mean(axis=0)
    found = column_surprises(reference, rows)
    columns = model.plan.columns
    known = ~np.isnan(rows[:, columns.starts]) if model.lacks(rows) else found == found
    contributions = np.where(known, found - usual, 0.0)
    alone, gains = _by_pairs(reference, rows, typical, contributions.argmax(axis=1))
    names = columns.names or [f"column {c}" for c in range(columns.n_features)]
    return Explanation(
        contributions,
        alone,
        np.where(known, gains, 0.0),
        tuple(str(name) for name in names),
        _values(model, rows),
    )


def _by_pairs(
    model: Model, rows: NDArray[Any], typical: NDArray[Any], top: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """How odd top columns are alone (n,), and what each other one alone adds (n, d)."""
    columns = model.plan.columns
    d = columns.n_features
    alone, gains = np.zeros(len(rows)), np.zeros((len(rows), d))
    for column in np.unique(top).tolist():
        mine = np.flatnonzero(top == column)
        single = _of_columns(model, rows[mine], [column])
        usual = _of_columns(model, typical, [column]).mean()
        alone[mine] = single - usual
        for other in range(d):
            if other != column:
                both = _of_columns(model, rows[mine], sorted([column, other]))
                gains[mine, other] = both - _of_columns(model, rows[mine], [other])
                gains[mine, other] -= single
    return alone, gains


def _of_columns(model: Model, rows: NDArray[Any], kept: list[int]) -> Floats:
    """Minus log-densities of some columns of rows, whatever the others are, (n,)."""
    columns = model.plan.columns
    part = model if len(kept) == columns.n_features else model.marginal(kept)
    logs = part.log_density(rows[:, columns.places(kept)])
    return np.asarray(-np.maximum(logs, -1e6))


def _values(model: Model, rows: NDArray[Any]) -> list[list[str]]:
    """Values of rows as words."""
    columns, schema = model.plan.columns, model.plan.columns.schema
    words: list[list[str]] = []
    for place, start in enumerate(columns.starts):
        known = None if schema is None else schema.categories[place]
        if schema is None or known is None:
            words.append([f"{value:.6g}" for value in rows[:, start]])
        else:
            outcomes = [*map(str, known), "unseen", "missing"]
            words.append([outcomes[code] for code in schema.codes(place, rows)])
    return [list(each) for each in zip(*words, strict=True)]
