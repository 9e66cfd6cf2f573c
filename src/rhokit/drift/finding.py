"""When rows that are in order of time have changed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.drift.comparing import compare
from rhokit.drift.comparison import Comparison
from rhokit.drift.dependence import BLOCK_TIMES, correlation_time
from rhokit.drift.scores import scores_of
from rhokit.drift.sides import side_of
from rhokit.drift.tables import Table
from rhokit.drift.timeline import Timeline, edge_times, periods_of, tracks_of
from rhokit.drift.times import Times, times_of
from rhokit.drift.watch import ChangePoint, Watch
from rhokit.frame_columns import columns_of

# Rows that the length of blocks is told from; before and after a change, rows that are
# compared at least; exchanges of a comparison.
_DEPENDENCE_ROWS, _FEWEST_COMPARED, _N_PERMUTATIONS = 5000, 20, 199


def find_changes(
    X: Any,
    *,
    time: Any = None,
    target: str | None = None,
    block_rows: Any = None,
    false_alarms: float = 1e-6,
    random_state: int = 0,
) -> Timeline:
    r"""Find when rows changed, and in which columns.

    Each column's place, spread, categories and gaps, and products of two columns, are
    ranked among all rows since the last change, and bets are made that the ranks are
    not even. While rows are exchangeable (independent, in any order as likely),

    .. math:: P(\text{a false alarm within } t \text{ rows}) \le t \cdot a

    for every t, whatever the distribution, ties included; a is ``false_alarms``.

    Parameters
    ----------
    X : frame, array of shape (n, d), or (X, y)
        Rows in order of time.
    time : str or array-like of shape (n,), optional
        A column, or values, that say when rows came: numbers, dates or ISO texts. Rows
        are put in their order.
    target : str, optional
        The column that is the target, or the name of y.
    block_rows : int or "auto", optional
        Rows that come one after the other and may depend on each other, as in a time
        series: means of so many are watched. It should be ten times the correlation
        time; ``"auto"`` tells it from the first rows.
    false_alarms : float, default=1e-6
        Per row.
    random_state : int, default=0
        Of what orders ties.

    Returns
    -------
    timeline : Timeline

    Examples
    --------
    >>> import numpy as np
    >>> import rhokit
    >>> X = np.random.default_rng(0).normal(size=(4000, 3))
    >>> X[2500:, 1] += 1
    >>> timeline = rhokit.find_changes(X)
    >>> change, = timeline.changes
    >>> change.columns, abs(change.began - 2500) < 20, change.noticed - 2500 < 90
    (('column 1',), True, True)
    """
    _check(block_rows, false_alarms)
    table, times, notes = _in_order(X, time, target)
    size = _block_rows(table, block_rows)
    watch = Watch(float(false_alarms), size, int(random_state)).after(table)
    changes = tuple(_timed(change, times) for change in watch.changes)
    edges = periods_of(len(table), size)
    return Timeline(
        changes=changes,
        n_rows=len(table),
        false_alarms=float(false_alarms),
        block_rows=size,
        watches_from=watch.watches_from,
        edges=edges,
        edge_times=edge_times(edges, times),
        tracks=tracks_of(table, edges),
        comparisons=_comparisons(table, changes, size, int(random_state)),
        notes=(*notes, *_warnings(table, watch)),
    )


def _check(block_rows: Any, false_alarms: Any) -> None:
    check_rate(false_alarms)
    if block_rows not in (None, "auto"):
        check_block_rows(block_rows)


def check_rate(false_alarms: Any) -> None:
    """Refuse what is no rate of false alarms."""
    if isinstance(false_alarms, bool) or not 0 < false_alarms < 1:
        raise ValueError(
            f"false_alarms must be between 0 and 1 per row, got {false_alarms!r}"
        )


def check_block_rows(block_rows: Any) -> None:
    """Refuse what is no number of rows."""
    counts = isinstance(block_rows, Integral) and not isinstance(block_rows, bool)
    if not (counts and block_rows >= 1):
        raise ValueError(f"block_rows must be an integer >= 1, got {block_rows!r}")


def _in_order(
    X: Any, time: Any, target: str | None
) -> tuple[Table, Times | None, list[str]]:
    """Rows in order of time, and when they came."""
    times, names = None, None
    if isinstance(time, str):
        named = columns_of(X)
        if time not in named:
            raise ValueError(f"time must name a column of {list(named)}, got {time!r}")
        names = [name for name in named if name not in (time, target)]
        times = times_of(named[time].to_numpy())
    elif time is not None:
        times = times_of(time)
    table = side_of(X, names, target).table
    skipped = [f"{name} ({why})" for name, why in table.skipped.items()]
    notes = [f"not watched: {', '.join(skipped)}"] if skipped else []
    if times is None:
        return table, None, notes
    if len(times.values) != len(table):
        raise ValueError(
            f"time must have a value for each of the {len(table):,} rows, got "
            f"{len(times.values):,}"
        )
    if (np.diff(times.values) < 0).any():
        order = np.argsort(times.values, kind="stable")
        table = table.take(order)
        times = replace(times, values=times.values[order])
        notes.append("rows were put in order of time: their numbers are those there")
    return table, times, notes


def _timed(change: ChangePoint, times: Times | None) -> ChangePoint:
    if times is None:
        return change
    began, noticed = (times.shown(row) for row in (change.began, change.noticed))
    return replace(change, began_time=began, noticed_time=noticed)


# ---- rows that depend on each other ------------------------------------------------


def _block_rows(table: Table, wanted: Any) -> int:
    if wanted != "auto":
        return 1 if wanted is None else int(wanted)
    first = table.take(slice(max(min(len(table) // 4, _DEPENDENCE_ROWS), 50)))
    time = _dependence(first)
    return 1 if time is None else math.ceil(BLOCK_TIMES * time)


def _dependence(table: Table) -> float | None:
    """Correlation time of rows, None where chance may have made it."""
    if len(table) < _FEWEST_COMPARED:
        return None
    values: NDArray[np.float32] = scores_of(table.columns, pairs=False).values
    if not values.shape[1]:
        return None
    time = correlation_time(values)
    return time if time > 1 + max(4 * math.sqrt(22 / len(table)), 1) else None


def _warnings(table: Table, watch: Watch) -> list[str]:
    """That rows seem to depend on each other more than they are averaged."""
    places = [0, *(change.noticed for change in watch.changes), len(table)]
    start, stop = max(pairwise(places), key=lambda span: span[1] - span[0])
    time = _dependence(table.take(slice(start, min(stop, start + _DEPENDENCE_ROWS))))
    if time is None or BLOCK_TIMES * time <= watch.block_rows * 1.5:
        return []
    return [
        f"rows depend on those before them (correlation time about {time:.0f} rows), "
        "so that false alarms are more frequent than said; block_rows="
        f"{math.ceil(BLOCK_TIMES * time):,} would allow for it"
    ]


# ---- before and after --------------------------------------------------------------


def _comparisons(
    table: Table, changes: tuple[ChangePoint, ...], size: int, seed: int
) -> tuple[Comparison | None, ...]:
    """Of the rows before and after each change."""
    starts = [0, *(change.noticed + 1 for change in changes)]
    stops = [*(change.began for change in changes), len(table)]
    spans = list(zip(starts, stops, strict=True))
    return tuple(
        _comparison(table, before, after, size, seed)
        for before, after in pairwise(spans)
    )


def _comparison(
    table: Table, before: tuple[int, int], after: tuple[int, int], size: int, seed: int
) -> Comparison | None:
    sides = [
        replace(table.take(slice(*span)), total=float(span[1] - span[0]))
        for span in (before, after)
    ]
    if min(map(len, sides)) < max(_FEWEST_COMPARED, 2 * size):
        return None
    return compare(
        *sides,
        block_rows=None if size == 1 else min(size, min(map(len, sides)) // 10 or 1),
        n_permutations=_N_PERMUTATIONS,
        random_state=seed,
    )
