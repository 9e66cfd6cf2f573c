"""Whether data have changed: two models, two tables, or one of each."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.drift.changes import column_change, dependence_p_value, pair_change
from rhokit.drift.comparison import ColumnChange, Comparison, PairChange
from rhokit.drift.dependence import BLOCK_TIMES, correlation_time
from rhokit.drift.permutation import Tested, permutation_test
from rhokit.drift.scores import Scores, scores_of
from rhokit.drift.sides import Side, names_of, side_of
from rhokit.drift.tables import Column, Table, side_by_side
from rhokit.validation import check_count, level_of_the_user

Floats = NDArray[np.float64]
# More rows of a side are compared in blocks; fewer blocks than these say little.
_MOST_BLOCKS, _FEWEST_BLOCKS = 5000, 10
_FEWEST_ROWS = 5
_MOST_PREDICTED = 2000


def compare(
    old: Any,
    new: Any,
    *,
    target: str | None = None,
    block_rows: Any = None,
    level: float = 0.05,
    n_permutations: int = 999,
    random_state: int = 0,
) -> Comparison:
    r"""Compare two data sets: whether they differ, by how much, and in what.

    Each side is a fitted model or the name of a model file, which keeps a sample of up
    to 2,000 of its rows, or rows themselves. Rows of
    both sides are exchanged at random to learn what chance makes of ranks of each
    column, of products of two columns, of labels, of gaps, and of the maximum mean
    discrepancy

    .. math:: \mathrm{MMD}^2 = \|\rho - \sigma\|^2_{\mathrm{HS}},

    so that :math:`P(p \le \alpha) \le \alpha` where nothing has changed, whatever the
    distribution and however few rows there are.

    Parameters
    ----------
    old, new : model, path, rows, or (rows, target)
        Rows are a frame of pandas, polars or Arrow, or an array of shape (n, d). Models
        may have been fitted apart.
    target : str, optional
        Name of the target: a column of frames, and what a model has learned.
    block_rows : int or "auto", optional
        Rows that come one after the other and may depend on each other, as in a time
        series: so many of them are exchanged together. It should be ten times the
        correlation time, with ten blocks on each side; ``"auto"`` estimates it. Of
        models, whose samples have no order, only a row in so many is used.
    level : float, default=0.05
        From which p-value downwards ``changed`` is said.
    n_permutations : int, default=999
    random_state : int, default=0

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import rhokit
    >>> rng = np.random.default_rng(0)
    >>> march = rhokit.DMKDE(random_state=0).fit(rng.normal(size=(1000, 3)))
    >>> april = rhokit.DMKDE(random_state=1).fit(rng.normal(size=(800, 3)))
    >>> may = rng.normal([0, 0.4, 0], size=(900, 3))
    >>> rhokit.compare(march, april).changed
    False
    >>> found = rhokit.compare(march, may)
    >>> found.changed, found.columns[0].name
    (True, 'column 1')
    """
    _check(block_rows, level, n_permutations)
    names = names_of(old) or names_of(new)
    sides = side_of(old, names, target), side_of(new, names, target)
    gaps = [_known_gaps(side) for side in sides]
    sides, size = _in_blocks(*_whole_as_models(*sides), block_rows, random_state)
    one, other = side_by_side(sides[0].table, sides[1].table)
    verdict, scores = _tested(one, other, size, n_permutations, random_state)
    columns = [
        column_change(
            *pair, p, strength, *(g.get(pair[0].name, math.nan) for g in gaps)
        )
        for pair, p, strength in zip(
            zip(one.columns, other.columns, strict=True),
            verdict.column_p_values,
            verdict.column_strengths,
            strict=True,
        )
    ]
    return Comparison(
        p_value=verdict.p_value,
        effect=_effect(scores.kernel, len(one)),
        level=level,
        columns=_ordered(columns),
        pairs=_pairs(one, other, verdict, level, size),
        predictions=_predictions(*sides, size, n_permutations, random_state),
        n_old=len(one),
        n_new=len(other),
        total_old=one.total,
        total_new=other.total,
        block_rows=size,
        skipped=one.skipped,
    )


def _check(block_rows: Any, level: float, n_permutations: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    check_count("n_permutations", n_permutations)
    counts = isinstance(block_rows, Integral) and not isinstance(block_rows, bool)
    if block_rows not in (None, "auto") and not (counts and block_rows >= 1):
        raise ValueError(
            f'block_rows must be an integer >= 1, "auto" or None, got {block_rows!r}'
        )


def _known_gaps(side: Side) -> dict[str, float]:
    """Shares of missing values; models do not know theirs."""
    return side.table.missing if side.model is None else {}


def _whole_as_models(old: Side, new: Side) -> tuple[Side, Side]:
    """Beside a model, which has learned from whole rows, whole rows alone."""
    if old.model is None and new.model is None:
        return old, new
    one, other = (
        each if each.model is not None else replace(each, table=each.table.whole())
        for each in (old, new)
    )
    return one, other


# ---- blocks ------------------------------------------------------------------------


def _in_blocks(
    old: Side, new: Side, wanted: Any, seed: int
) -> tuple[tuple[Side, Side], int]:
    """Both sides with the rows to compare, and how many are exchanged together."""
    _refuse_few(old.table, new.table)
    if old.table.in_order and new.table.in_order:
        size = _block_rows(old.table, new.table, wanted)
        most = max(len(old.table), len(new.table))
        return (old, new), max(size, math.ceil(most / _MOST_BLOCKS))
    apart = 1 if wanted in (None, "auto") else int(wanted)
    rng = np.random.default_rng(seed)
    return (_thinned(old, apart, rng), _thinned(new, apart, rng)), 1


def _refuse_few(*tables: Table) -> None:
    for which, table in zip(("old", "new"), tables, strict=True):
        if len(table) < _FEWEST_ROWS:
            raise ValueError(
                f"the {which} rows must be at least {_FEWEST_ROWS}, got {len(table)}"
            )


def _block_rows(old: Table, new: Table, wanted: Any) -> int:
    """Rows of a block of tables whose rows stand in order."""
    least = min(len(old), len(new))
    if wanted is None:
        return 1
    size = wanted if wanted != "auto" else _long_enough(old, new)
    most = max(least // _FEWEST_BLOCKS, 1)
    if size > most:
        warnings.warn(
            f"rows may depend on each other over blocks of {size:,}, of which "
            f"{least:,} rows hold fewer than {_FEWEST_BLOCKS}: blocks of {most:,} are "
            "compared, and false alarms are more frequent than level says",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
    return int(min(size, most))


def _long_enough(old: Table, new: Table) -> int:
    """Ten correlation times of the column that has the longest."""
    one, other = side_by_side(old, new)
    time = max(
        correlation_time(scores_of(each.columns, pairs=False).values)
        for each in (one, other)
    )
    by_chance = 1 + 4 * math.sqrt(22 / min(len(old), len(new)))
    return 1 if time < by_chance else math.ceil(BLOCK_TIMES * time)


def _thinned(side: Side, apart: int, rng: np.random.Generator) -> Side:
    """At most a row in so many of all that a side stands for, and not too many."""
    n = len(side.table)
    most = min(_MOST_BLOCKS, max(int(side.table.total / apart), _FEWEST_ROWS))
    return side if n <= most else side.take(np.sort(rng.permutation(n)[:most]))


# ---- what is found -----------------------------------------------------------------


def _tested(
    one: Table, other: Table, size: int, n_permutations: int, seed: int
) -> tuple[Tested, Scores]:
    both = [
        Column(a.name, np.concatenate([a.values, b.values]), a.labels)
        for a, b in zip(one.columns, other.columns, strict=True)
    ]
    scores = scores_of(both)
    verdict = permutation_test(
        scores,
        len(one),
        len(both),
        block_rows=size,
        n_permutations=n_permutations,
        seed=seed,
    )
    return verdict, scores


def _effect(kernel: NDArray[np.float32], n_old: int) -> float:
    """Distance of both density matrices over its largest value, freed of chance."""
    sides = kernel[:n_old].astype(np.float64), kernel[n_old:].astype(np.float64)
    means = [side.mean(axis=0) for side in sides]
    own = []
    for side, mean in zip(sides, means, strict=True):
        n = len(side)
        squares = (side**2).sum(axis=1).mean()
        own.append((n * float(mean @ mean) - squares) / (n - 1))
    apart = sum(own) - 2 * float(means[0] @ means[1])
    most = sum(own)
    return math.sqrt(min(max(apart, 0.0) / most, 1.0)) if most > 0 else 0.0


def _ordered(columns: list[ColumnChange]) -> tuple[ColumnChange, ...]:
    return tuple(sorted(columns, key=lambda c: (c.p_value, -c.strength)))


def _pairs(
    one: Table, other: Table, verdict: Tested, level: float, size: int
) -> tuple[PairChange, ...]:
    """Pairs that go together in another way, by their p-values.

    A shift of the columns themselves does not count.
    """
    found = []
    for (i, j), p in zip(verdict.pairs, verdict.pair_p_values, strict=True):
        if p > level:
            continue
        before = one.columns[i], one.columns[j]
        after = other.columns[i], other.columns[j]
        p = max(p, dependence_p_value(before, after, size) * len(verdict.pairs))
        if p <= level:
            found.append(pair_change(before, after, p))
    return tuple(sorted(found, key=lambda pair: pair.p_value))


def _predictions(
    old: Side, new: Side, size: int, n_permutations: int, seed: int
) -> tuple[ColumnChange, ...]:
    """Shift of what the old model predicts, or the new one where that is rows."""
    model = old.model or new.model
    if model is None or not model.readout.has_target:
        return ()
    rng = np.random.default_rng(seed)
    found = []
    parts = [_some(side, rng).foretold(model) for side in (old, new)]
    for one, other in zip(*parts, strict=True):
        pair = side_by_side(*(Table((c,), False, 0.0, {}) for c in (one, other)))
        verdict, _ = _tested(*pair, size, n_permutations, seed)
        p, strength = verdict.column_p_values[0], verdict.column_strengths[0]
        found.append(column_change(pair[0].columns[0], pair[1].columns[0], p, strength))
    return tuple(found)


def _some(side: Side, rng: np.random.Generator) -> Side:
    n = len(side.table)
    if n <= _MOST_PREDICTED:
        return side
    return side.take(np.sort(rng.permutation(n)[:_MOST_PREDICTED]))
