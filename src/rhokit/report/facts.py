"""All that a report says, as plain numbers: ``gather`` makes it, the page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rhokit
from rhokit.inspection import (
    Description,
    InspectedRows,
    PredictedLabels,
    PredictedValues,
    RowScores,
    Spectrum,
    can_leave_out,
    describe,
    inspect_rows,
    kind_of,
    landmark_reach,
    learned_share,
    least_likely,
    matrix_size,
    normal_score,
    one_pass,
    predict_labels,
    predict_values,
    score_rows,
    spectrum,
    target_names,
)
from rhokit.inspection.rows import take_rows
from rhokit.inspection.subjects import NUMBER, column_kinds, fitted_model
from rhokit.report.columns import (
    ColumnRange,
    ColumnShape,
    Pair,
    column_ranges,
    column_shapes,
    pair_shape,
)
from rhokit.validation import check_count

# Rows that are looked at: distributions over classes, and more so over levels, cost
# as many measurements as there are outcomes.
MAX_ROWS = {
    "density": 5_000,
    "outliers": 5_000,
    "classes": 2_000,
    "ordered": 2_000,
    "values": 1_000,
}
MAIN_COVERAGE = 0.9
"""Coverage of the intervals that are shown row by row."""
MOST_UNLIKELY = 20
"""Rows that are shown as the least likely ones."""
# Every pair of columns is looked at.
_MOST_EXPLAINED_COLUMNS = 40
# A larger matrix takes too long to decompose for a page.
_LARGEST_MATRIX = 1024
# A larger share of learned rows, which is an estimate, says that all of them are.
_MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class DensityFacts:
    """How likely the rows are under a model, and whether it has a right to say so.

    Parameters
    ----------
    scores : RowScores
    normal_mean : float
        Mean log-density by the normal distribution of these very rows; NaN if unknown.
    reach : array of shape (m,), or None
        How well landmarks represent each row that lacks no value.
    """

    scores: RowScores
    normal_mean: float
    reach: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Facts:
    """All numbers that a report is made of.

    Parameters
    ----------
    title, source : str or None
    version, written : str
        Of rhokit, and the day.
    training : bool
        Whether the rows are those that the model was fitted to.
    learned_share : float
        Share of the rows that the model is found to have learned; NaN if unknown.
    targets : tuple of str
        Names of the targets, none where nobody knows them.
    rows : InspectedRows
    fitted : Description
    ranges : tuple of ColumnRange
        One per column.
    density : DensityFacts
    classes : PredictedLabels or None
    values : tuple of PredictedValues
        One per target.
    columns : tuple of ColumnShape
    pair : Pair or None
    spectrum : Spectrum or None
        Of all rows, whatever their outcome.
    reasons : dict of int to str
        Why the least likely rows are so, by their places; none where the model cannot
        tell.
    """

    title: str | None
    source: str | None
    version: str
    written: str
    training: bool
    learned_share: float
    targets: tuple[str, ...]
    rows: InspectedRows
    fitted: Description
    ranges: tuple[ColumnRange, ...]
    density: DensityFacts
    classes: PredictedLabels | None
    values: tuple[PredictedValues, ...]
    columns: tuple[ColumnShape, ...]
    pair: Pair | None
    spectrum: Spectrum | None
    reasons: dict[int, str]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the columns."""
        return tuple(column.kind for column in self.fitted.columns)

    @property
    def score_words(self) -> str:
        """What the scores of rows are."""
        return "log p-value" if self.fitted.kind == "outliers" else "log-density"


def gather(
    model: Any,
    X: Any,
    *,
    y: Any = None,
    title: str | None = None,
    source: str | None = None,
    training: bool | None = None,
    max_rows: int | None = None,
    labels: Any = None,
    targets: Sequence[str] | None = None,
) -> Facts:
    """Ask a model everything that its report says: see ``write_report``.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> facts = gather(DMKDE(random_state=0).fit(X), X, training=True)
    >>> facts.fitted.weight, facts.density.scores.left_out, facts.density.scores.n_zero
    (500.0, True, 0)
    """
    check_count("max_rows", max_rows)
    kind = kind_of(model)
    most = max_rows or MAX_ROWS.get(kind, 5_000)
    rows = inspect_rows(X, y, model, most, labels=labels)
    names = tuple(target_names(y) if targets is None else targets)
    learned = _learned(model, rows)
    if training is None:
        training = learned > _MOSTLY
    fitted, density = describe(model), _lean_density(model)
    scored = density_facts(model, rows, training)
    has_labels = kind in ("classes", "ordered")
    return Facts(
        title=title,
        source=source,
        version=rhokit.__version__,
        written=date.today().isoformat(),
        training=training,
        learned_share=learned,
        targets=names,
        rows=rows,
        fitted=fitted,
        ranges=column_ranges(rows, fitted.columns),
        density=scored,
        classes=predict_labels(model, rows.X, rows.y) if has_labels else None,
        values=predict_values(model, rows.X, rows.y, names=names)
        if kind == "values"
        else (),
        columns=column_shapes(density, rows, fitted.columns),
        pair=pair_shape(density, rows, fitted.columns),
        spectrum=_small_spectrum(model),
        reasons=_reasons(model, rows, scored.scores.log_densities),
    )


def _learned(model: Any, rows: InspectedRows) -> float:
    """Share of the rows that the model has learned, of those without gaps."""
    whole = rows.without_gaps()
    return learned_share(model, whole) if len(whole) else float("nan")


def density_facts(model: Any, rows: InspectedRows, training: bool) -> DensityFacts:
    """Score rows, each left out of the model if it is among those it was fitted to."""
    leave_out = training and _leaves_out(model, rows)
    scores = score_rows(model, rows.X, rows.y, leave_one_out=leave_out)
    return DensityFacts(scores, _normal_mean(model, rows), _reach(model, rows))


def _reasons(
    model: Any, rows: InspectedRows, logs: NDArray[np.float64]
) -> dict[int, str]:
    """Why the least likely rows are so, of models that say something of columns."""
    if not hasattr(model, "explain") or len(rows.names) > _MOST_EXPLAINED_COLUMNS:
        return {}
    places = least_likely(logs, MOST_UNLIKELY)
    places = places[np.isfinite(logs[places])]
    if not len(places):
        return {}
    try:
        texts = model.explain(take_rows(rows.X, places)).texts
    except ValueError:  # a map whose columns cannot be integrated over
        return {}
    return dict(zip(places.tolist(), texts, strict=True))


def _leaves_out(model: Any, rows: InspectedRows) -> bool:
    """Whether these rows can be left out of the model in turn."""
    numeric = fitted_model(model).plan.feature_map.numeric_rows
    if numeric and rows.gaps.any():
        return False
    return can_leave_out(model, rows.y is not None)


def _normal_mean(model: Any, rows: InspectedRows) -> float:
    kinds = column_kinds(model)
    if set(kinds) != {NUMBER}:
        return float("nan")
    table = np.column_stack([rows.numbers(place) for place in range(len(kinds))])
    return normal_score(table)


def _reach(model: Any, rows: InspectedRows) -> NDArray[np.float64] | None:
    whole = rows.without_gaps()
    return landmark_reach(model, whole) if len(whole) else None


def _lean_density(model: Any) -> Any:
    """A density of numbers with a factor, computed once for all its parts, or None."""
    found = fitted_model(model)
    has_parts = found.plan.gamma is not None or found.plan.representation == "mosaic"
    if found.readout.kind != "density" or not has_parts:
        return None
    return one_pass(model).compact()


def _small_spectrum(model: Any) -> Spectrum | None:
    size = matrix_size(model)
    if size is None or size > _LARGEST_MATRIX:
        return None
    return spectrum(model, outcomes="pooled")
