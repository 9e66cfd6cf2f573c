"""Values with honest intervals: how often does the truth lie inside?"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score

from rhokit import QMRegressor
from rhokit.demo.shared import (
    BLUE,
    FAINT,
    INK,
    RED,
    SEED,
    SHADES,
    Split,
    columns,
    duration,
    hold_out_a_quarter,
    label,
    percent,
    save,
    show,
    timed,
)
from rhokit.progress import progress

_SPLITS = 6  # the share inside, of one split's rows alone, is mostly chance
_COVERAGES = (0.5, 0.8, 0.9)
_COLUMN = "bmi"


@dataclass(frozen=True, eq=False)
class Verdict:
    """A fitted model on the held-out rows of a split, for every coverage."""

    model: Any
    r2: float
    inside: list[float]  # part of the true values in their intervals
    widths: list[float]  # mean of the intervals
    fit_time: float


class ConformalForest:
    """A random forest; its intervals are as wide as its errors on rows set aside."""

    def fit(self, rows: NDArray[Any], values: NDArray[Any]) -> Self:
        """Grow the forest on three quarters of the rows, try it on the others."""
        parts = hold_out_a_quarter(rows, values)
        self._forest = RandomForestRegressor(random_state=SEED)
        self._forest.fit(parts.train, parts.train_target)
        self._errors = np.sort(np.abs(parts.target - self.predict(parts.held_out)))
        return self

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """The forest's mean."""
        return np.asarray(self._forest.predict(rows))

    def predict_interval(self, rows: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """The mean, give or take an error that enough of the spare rows stay below."""
        rank = math.ceil(coverage * (len(self._errors) + 1))
        error = np.append(self._errors, np.inf)[rank - 1]
        return self.predict(rows)[:, None] + np.array([-error, error])


def tell(output: Path) -> None:
    """Print the chapter, and draw its picture into the folder ``output``."""
    data = load_diabetes(scaled=False)
    count, width = data.data.shape
    splits = [hold_out_a_quarter(data.data, data.target, i) for i in range(_SPLITS)]
    print("4. Values with honest intervals: how diabetes went on within a year")
    show(
        f"{count:,} patients, {width} columns; {_SPLITS} times a quarter is held out",
        "",
    )
    verdicts: dict[str, list[Verdict]] = {}
    for name, make in regressors().items():
        with progress(f"Predicting with {name}"):
            verdicts[name] = [judge(make(), each) for each in splits]
    show(*table(verdicts, len(splits[0].target)))
    first = next(iter(verdicts.values()))[0].model
    column = data.feature_names.index(_COLUMN)
    save(draw, output / "values.png", splits[0], first, column)


# ---- the work --------------------------------------------------------------------


def regressors() -> dict[str, Callable[[], Any]]:
    """How to make the models, by name; ours is the first."""
    return {
        "QMRegressor": lambda: QMRegressor(random_state=SEED),
        "conformal forest": ConformalForest,
    }


def judge(model: Any, split: Split) -> Verdict:
    """Fit a model, and count how many held-out values its intervals hold."""
    _, fit_time = timed(model.fit, split.train, split.train_target)
    intervals = [model.predict_interval(split.held_out, c) for c in _COVERAGES]
    return Verdict(
        model,
        r2_score(split.target, model.predict(split.held_out)),
        [float(holds(interval, split.target).mean()) for interval in intervals],
        [float(np.mean(interval[:, 1] - interval[:, 0])) for interval in intervals],
        fit_time,
    )


def holds(intervals: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values lie in their intervals (n, 2)."""
    return (intervals[:, 0] <= values) & (values <= intervals[:, 1])


# ---- the words -------------------------------------------------------------------


def table(verdicts: dict[str, list[Verdict]], count: int) -> list[str]:
    """Both models side by side, as means over the splits."""
    asked = [percent(coverage, 0) for coverage in _COVERAGES]
    rows = [
        ("", "", *("inside" for _ in asked), "width", "time"),
        ("", "R2", *asked, f"of {asked[-1]}", "to fit"),
    ]
    rows += [(name, *_means(parts)) for name, parts in verdicts.items()]
    ours = next(iter(verdicts.values()))
    spread = float(np.std([verdict.inside[-1] for verdict in ours]))
    return [
        *columns(rows, (17, 6, 10, 10, 10, 11, 10)),
        "",
        f"Inside {asked[0]}: the share of held-out values in intervals that should "
        f"hold {asked[0]}.",
        f"All are means over the splits; among these, of {count} rows each, the share",
        f"inside QMRegressor's intervals of {asked[-1]} has a standard deviation of "
        f"{percent(spread)}.",
        "QMRegressor learns its intervals from rows left out in turn. The forest needs",
        "rows set aside for them, a quarter, and is grown on the other three.",
    ]


def _means(verdicts: list[Verdict]) -> tuple[str, ...]:
    inside = np.mean([verdict.inside for verdict in verdicts], axis=0)
    return (
        f"{np.mean([verdict.r2 for verdict in verdicts]):.2f}",
        *(percent(each) for each in inside.tolist()),
        f"{np.mean([verdict.widths[-1] for verdict in verdicts]):.0f}",
        duration(float(np.mean([verdict.fit_time for verdict in verdicts]))),
    )


# ---- the picture -----------------------------------------------------------------


def draw(figure: Any, split: Split, model: Any, column: int) -> None:
    """A fan of quantiles over one column, and intervals of rows held out."""
    figure.set_size_inches(11, 5)
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_fan(left, split, column)
    _draw_intervals(right, split, model)


def _draw_fan(axes: Any, split: Split, column: int) -> None:
    """Quantiles of a model that sees one column, over that column."""
    model = QMRegressor(random_state=SEED)
    model.fit(split.train[:, [column]], split.train_target)
    seen = split.held_out[:, column]
    line = np.linspace(seen.min(), seen.max(), 200)[:, None]
    bands = sorted(_COVERAGES, reverse=True)
    for coverage, shade in zip(bands, SHADES, strict=True):
        low, high = fan(model, line, coverage)
        name = f"{percent(coverage, 0)} of the patients"
        axes.fill_between(line[:, 0], low, high, color=shade, lw=0, label=name)
    middle = model.predict_quantiles(line, [0.5])[:, 0]
    axes.plot(line[:, 0], middle, color=INK, lw=1.5, label="median")
    axes.scatter(seen, split.target, s=9, c=FAINT, lw=0)
    title = "From the body mass index alone: quantiles"
    label(axes, title, "body mass index", "progression of the disease after a year")
    axes.legend(fontsize=9, labelcolor=FAINT, frameon=False, loc="upper left")


def fan(model: Any, rows: NDArray[Any], coverage: float) -> NDArray[np.float64]:
    """The two quantiles (2, n) between which this part of the values lies."""
    tails = (1 - coverage) / 2, (1 + coverage) / 2
    return np.asarray(model.predict_quantiles(rows, tails)).T


def _draw_intervals(axes: Any, split: Split, model: Any) -> None:
    """Held-out rows in the order of their predictions, with intervals."""
    mean = model.predict(split.held_out)
    order = np.argsort(mean)
    interval = model.predict_interval(split.held_out, _COVERAGES[-1])[order]
    truth = split.target[order]
    inside = holds(interval, truth)
    place = np.arange(len(order))
    for which, colour, words in ((inside, BLUE, "inside"), (~inside, RED, "outside")):
        name = f"{which.sum()} {words}"
        axes.vlines(place[which], *interval[which].T, color=colour, lw=1.2, alpha=0.3)
        axes.scatter(place[which], truth[which], s=12, c=colour, lw=0, label=name)
    axes.plot(place, mean[order], color=INK, lw=1.5, label="predicted")
    asked = percent(_COVERAGES[-1], 0)
    title = f"From all columns: intervals of {asked} for patients held out"
    label(axes, title, "patients, in the order of their predictions")
    axes.legend(fontsize=9, labelcolor=FAINT, frameon=False, loc="upper left")
