"""All that a report says, as plain numbers: ``gather`` makes it, the page shows it."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import rhokit
from rhokit.report.class_quality import ClassQuality, judge_classes
from rhokit.report.density_quality import DensityQuality, judge_density
from rhokit.report.fitted import (
    CLASSES,
    DENSITY,
    VALUES,
    Fitted,
    describe,
    kind_of,
    one_pass,
)
from rhokit.report.rows import Rows, take_rows
from rhokit.report.shape import (
    ColumnShape,
    Pair,
    Spectrum,
    column_shapes,
    pair_shape,
    spectrum,
)
from rhokit.report.value_quality import ValueQuality, judge_values
from rhokit.validation import check_count

# Rows that are looked at: distributions over classes, and more so over levels, cost
# as many measurements as there are outcomes.
MAX_ROWS = {DENSITY: 5_000, CLASSES: 2_000, VALUES: 1_000}


@dataclass(frozen=True, eq=False)
class Facts:
    """What a report is made of.

    Parameters
    ----------
    title, source : str or None
    version, written : str
        Of rhokit, and the day.
    training : bool
        Whether the rows are those that the model was fitted to.
    rows : Rows
    fitted : Fitted
    density : DensityQuality or None
    classes : ClassQuality or None
    values : tuple of ValueQuality
        One per target.
    columns : tuple of ColumnShape
    pair : Pair or None
    spectrum : Spectrum or None
    """

    title: str | None
    source: str | None
    version: str
    written: str
    training: bool
    rows: Rows
    fitted: Fitted
    density: DensityQuality | None
    classes: ClassQuality | None
    values: tuple[ValueQuality, ...]
    columns: tuple[ColumnShape, ...]
    pair: Pair | None
    spectrum: Spectrum | None


def gather(
    model: Any,
    X: Any,
    *,
    y: Any = None,
    title: str | None = None,
    source: str | None = None,
    training: bool = False,
    max_rows: int | None = None,
) -> Facts:
    """Ask a model everything that its report says: see ``write_report``.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> facts = gather(DMKDE(random_state=0).fit(X), X, training=True)
    >>> facts.fitted.weight, facts.density.leave_one_out, facts.density.n_zero
    (500.0, True, 0)
    """
    check_count("max_rows", max_rows)
    kind = kind_of(model)
    rows = take_rows(X, y, model, max_rows or MAX_ROWS[kind])
    fitted = describe(model, rows)
    # The factor is the same for every part of a density: it is computed once.
    lean = one_pass(model).compact() if kind == DENSITY else model
    return Facts(
        title=title,
        source=source,
        version=rhokit.__version__,
        written=date.today().isoformat(),
        training=training,
        rows=rows,
        fitted=fitted,
        density=judge_density(model, rows, training),
        classes=judge_classes(model, rows) if kind == CLASSES else None,
        values=judge_values(model, rows) if kind == VALUES else (),
        columns=column_shapes(lean, rows),
        pair=pair_shape(lean, rows),
        spectrum=spectrum(model),
    )
