"""How like real rows synthetic ones are, and whether they give single ones away."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.drift import Comparison, PairChange, compare
from rhokit.drift.changes import pair_change
from rhokit.drift.sides import names_of, side_of
from rhokit.drift.tables import Column, Table, side_by_side

Floats = NDArray[np.float64]

# Rows of each side that are looked at, and parts of them that are told apart in turn.
_MOST_ROWS, _FOLDS = 2000, 3
# Real rows have so many of their own kind nearer than this: the share that is expected
# of synthetic rows, too.
_NEAR = 0.05
# Categories beyond these go together where the two are told apart.
_MOST_CATEGORIES = 200
# Columns whose pairs are compared.
_MOST_COLUMNS = 40


@dataclass(frozen=True)
class Nearness:
    """How near synthetic rows come to real ones, beside real ones to each other.

    Distances are those of positions among the real values of each column, and of
    categories one if they differ.

    Parameters
    ----------
    real, synthetic : float
        Median distance to the nearest (other) real row.
    near_share : float
        Share of the synthetic rows that are nearer to a real row than ``expected`` of
        the real rows are to another one: much more of them would be copies.
    expected : float
    real_copies, synthetic_copies : float
        Share of the rows that are equal to another real row, or to a real row.
    """

    real: float
    synthetic: float
    near_share: float
    expected: float
    real_copies: float
    synthetic_copies: float


@dataclass(frozen=True)
class Fidelity:
    """What :func:`fidelity` finds.

    Parameters
    ----------
    comparison : Comparison
        Columns, those that differ most first.
    pairs : tuple of PairChange
        All pairs of columns, those that differ most first.
    auc : float
        How well trees tell real rows from synthetic ones: 0.5 not at all, 1 always.
    nearness : Nearness
    """

    comparison: Comparison
    pairs: tuple[PairChange, ...]
    auc: float
    nearness: Nearness

    @property
    def distance(self) -> float:
        """Mean distance of the columns' distributions, 0 to 1."""
        return float(np.mean([each.distance for each in self.comparison.columns]))

    @property
    def association_error(self) -> float:
        """Mean difference of the correlations of all pairs; NaN without pairs."""
        if not self.pairs:
            return float("nan")
        return float(np.mean([abs(pair.new - pair.old) for pair in self.pairs]))

    def entries(self) -> list[tuple[str, str, str]]:
        """Name, figure and meaning of each finding."""
        near, found = self.nearness, self.comparison
        worst = found.columns[0]
        entries = [
            (
                "columns",
                f"{self.distance:.3f} apart",
                "mean distance of distribution functions, of 1; most: "
                f"{worst.name} ({max(c.distance for c in found.columns):.3f})",
            )
        ]
        if self.pairs:
            entries.append(
                (
                    "correlations",
                    f"{self.association_error:.3f} apart",
                    "mean difference of rank correlations and Cramér's V of "
                    f"{len(self.pairs)} pairs",
                )
            )
        entries.append(
            (
                "told apart",
                f"AUC {self.auc:.3f}",
                "by trees that see real and synthetic rows: 0.5 is by chance, 1 always",
            )
        )
        entries.append(
            (
                "nearest real row",
                f"{near.synthetic:.3g} away",
                f"median; real rows are {near.real:.3g} from each other",
            )
        )
        entries.append(
            (
                "very near",
                f"{near.near_share:.1%}",
                f"of the synthetic rows, where {near.expected:.1%} of the real ones "
                "are: much more would give rows away",
            )
        )
        entries.append(
            (
                "copies",
                f"{near.synthetic_copies:.1%}",
                f"of the synthetic rows equal a real one; {near.real_copies:.1%} of "
                "the real ones equal another",
            )
        )
        return entries

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values."""
        found, near = self.comparison, self.nearness
        return {
            "rows": [found.n_old, found.n_new],
            "column_distance": self.distance,
            "association_error": None if not self.pairs else self.association_error,
            "auc": self.auc,
            "nearest_real": near.real,
            "nearest_synthetic": near.synthetic,
            "near_share": near.near_share,
            "near_expected": near.expected,
            "real_copies": near.real_copies,
            "synthetic_copies": near.synthetic_copies,
            "columns": {each.name: each.distance for each in found.columns},
            "pairs": [
                {"columns": each.names, "real": each.old, "synthetic": each.new}
                for each in self.pairs
            ],
            "not_compared": found.skipped,
        }

    def __str__(self) -> str:
        lines = self.entries()
        widths = [max(len(line[k]) for line in lines) for k in (0, 1)]
        return "\n".join(
            f"{name.ljust(widths[0])}  {figure.ljust(widths[1])}  {meaning}"
            for name, figure, meaning in lines
        )


def fidelity(
    real: Any, synthetic: Any, *, target: str | None = None, random_state: int = 0
) -> Fidelity:
    """Compare synthetic rows with real ones.

    Parameters
    ----------
    real : frame, array of shape (n, d) or fitted model
        A model keeps a sample of its rows.
    synthetic : frame or array of shape (m, d)
    target : str, optional
        Name of the target, where there is one.
    random_state : int, default=0

    Returns
    -------
    fidelity : Fidelity

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.inspection import fidelity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0, 0], [[2, 1, 0], [1, 2, 0], [0, 0, 1]], 600)
    >>> made = DMKDE(random_state=0).fit(X).sample(600, random_state=0)
    >>> found = fidelity(X, made)
    >>> found.auc < 0.6, found.distance < 0.1, found.nearness.synthetic_copies
    (True, True, 0.0)
    """
    names = names_of(real)
    sides = [
        _some(side_of(each, names, target).table, random_state)
        for each in (real, synthetic)
    ]
    one, other = side_by_side(*sides)
    return Fidelity(
        compare(
            real,
            synthetic,
            target=target,
            n_permutations=199,
            random_state=random_state,
        ),
        _pairs(one, other),
        _auc(one, other, random_state),
        _nearness(one, other),
    )


def _some(table: Table, seed: int) -> Table:
    if len(table) <= _MOST_ROWS:
        return table
    rng = np.random.default_rng(seed)
    return table.take(np.sort(rng.choice(len(table), _MOST_ROWS, replace=False)))


def _pairs(real: Table, synthetic: Table) -> tuple[PairChange, ...]:
    """What columns have in common, of all pairs of the first few."""
    columns = list(zip(real.columns, synthetic.columns, strict=True))
    found = [
        pair_change((a, b), (c, d), float("nan"))
        for (a, c), (b, d) in combinations(columns[:_MOST_COLUMNS], 2)
    ]
    return tuple(sorted(found, key=lambda pair: -abs(pair.new - pair.old)))


# ---- telling apart -------------------------------------------------------------------


def _auc(real: Table, synthetic: Table, seed: int) -> float:
    """Area under the curve of trees that have not seen the rows, (n,) and (m,)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rows = np.concatenate([_codes(real), _codes(synthetic)])
    is_real = np.repeat([1, 0], [len(real), len(synthetic)])
    kinds = [column.labels is not None for column in real.columns]
    trees = HistGradientBoostingClassifier(
        categorical_features=kinds, max_iter=50, random_state=seed
    )
    folds = min(_FOLDS, len(real), len(synthetic))
    if folds < 2:
        return float("nan")
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    told = cross_val_predict(trees, rows, is_real, cv=parts, method="predict_proba")
    return float(roc_auc_score(is_real, told[:, 1]))


def _codes(table: Table) -> Floats:
    """Numbers, and places of categories, shape (n, d)."""
    columns = [
        column.values
        if column.labels is None
        else np.minimum(column.values, _MOST_CATEGORIES)
        for column in table.columns
    ]
    return np.column_stack(columns)


# ---- nearest rows --------------------------------------------------------------------


def _nearness(real: Table, synthetic: Table) -> Nearness:
    from sklearn.neighbors import NearestNeighbors

    ours, theirs = _positions(real, real), _positions(real, synthetic)
    known = NearestNeighbors().fit(ours)
    apart = known.kneighbors(n_neighbors=1)[0][:, 0] if len(ours) > 1 else np.zeros(1)
    away = known.kneighbors(theirs, n_neighbors=1)[0][:, 0]
    limit = float(np.quantile(apart, _NEAR))
    return Nearness(
        float(np.median(apart)),
        float(np.median(away)),
        float((away < limit).mean()),
        float((apart < limit).mean()),
        *_copies(_codes(real), _codes(synthetic)),
    )


def _positions(real: Table, table: Table) -> Floats:
    """Rows whose distances count: see :class:`Nearness`. Gaps are values, too."""
    parts = []
    for known, column in zip(real.columns, table.columns, strict=True):
        gap = np.isnan(column.values)
        if known.labels is None:
            parts.append(_position(known, column))
        else:
            codes = np.where(gap, len(known.labels), column.values).astype(int)
            parts.append(np.eye(len(known.labels) + 1)[codes] / np.sqrt(2))
        parts.append(gap[:, None].astype(float))
    return np.hstack(parts)


def _position(known: Column, column: Column) -> Floats:
    """Shares (n, 1) of the real values below those of a column, one half of gaps."""
    values = np.sort(known.values[~np.isnan(known.values)])
    if not len(values):
        return np.full((len(column.values), 1), 0.5)
    # Between equal values the middle, and between different ones a straight line.
    distinct, counts = np.unique(values, return_counts=True)
    reached = (np.cumsum(counts) - counts / 2) / len(values)
    found = np.interp(column.values, distinct, reached)
    return np.where(np.isnan(column.values), 0.5, found)[:, None]


def _copies(real: Floats, synthetic: Floats) -> tuple[float, float]:
    """Shares of rows that equal another real one, and a real one."""
    known, counts = np.unique(real, axis=0, return_counts=True)
    rows = {row.tobytes() for row in known}
    copied = [row.tobytes() in rows for row in synthetic]
    return float(counts[counts > 1].sum() / len(real)), float(np.mean(copied))
