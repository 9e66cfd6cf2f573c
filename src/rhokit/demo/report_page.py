"""A page to pass on: what a colleague wants to know of a model."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

from rhokit import QMRegressor
from rhokit.demo.honest_intervals import holds
from rhokit.demo.shared import SEED, hold_out_a_quarter, installed, percent, show
from rhokit.progress import progress

_COVERAGE = 0.9


def tell(output: Path) -> None:
    """Write the report of a model into the folder ``output``, and say where it is."""
    print("5. A page to pass on: the report of a model")
    if not installed("jinja2"):
        show("Left out: it takes jinja2, pip install 'rhokit[report]'", "")
        return
    from rhokit.report import write_report

    data = load_diabetes(scaled=False)
    split = hold_out_a_quarter(data.data, data.target)
    model = QMRegressor(random_state=SEED)
    with progress("Fitting the model of a report"):
        model.fit(named(split.train, data.feature_names), split.train_target)
    rows = named(split.held_out, data.feature_names)
    path = write_report(
        model,
        rows,
        output / "report.html",
        y=split.target,
        title="How diabetes goes on within a year",
        source="diabetes, scikit-learn",
    )
    show(*summary(model, rows, split.target), "", f"Report: {path}")
    print()


def named(rows: NDArray[Any], names: list[str]) -> Any:
    """Rows as a table with names, where pyarrow can make one."""
    if not installed("pyarrow"):
        return rows
    import pyarrow as pa

    return pa.table(dict(zip(names, rows.T, strict=True)))


def summary(model: Any, rows: Any, target: NDArray[Any]) -> list[str]:
    """What the page says first."""
    error = np.abs(model.predict(rows) - target).mean()
    inside = holds(model.predict_interval(rows, _COVERAGE), target).mean()
    return [
        f"{len(target)} patients that the model has not seen: predictions are off by "
        f"{error:.0f},",
        f"and {percent(inside)} of the values lie in intervals of "
        f"{percent(_COVERAGE, 0)}.",
        "The page shows it all, with charts. It needs no network: open it anywhere.",
    ]
