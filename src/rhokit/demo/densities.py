"""A density beside exact kernel density estimation, for the first two chapters."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KernelDensity

from rhokit import DMKDE
from rhokit.core import GaussianKernel
from rhokit.demo.shared import (
    SEED,
    columns,
    duration,
    entry,
    map_entry,
    percent,
    timed,
)
from rhokit.progress import progress


@dataclass(frozen=True)
class Timing:
    """Seconds to fit, and to score a thousand rows."""

    fit: float
    score: float


@dataclass(frozen=True, eq=False)
class DensityComparison:
    """A fitted model and exact KDE on the same held-out rows.

    Exact KDE has the model's γ, or one chosen by leave-one-out for it.
    """

    model: DMKDE
    logs: NDArray[np.float64]
    timing: Timing
    exact_logs: NDArray[np.float64]
    exact_timing: Timing


# ---- the work --------------------------------------------------------------------


def compare(
    train: NDArray[Any], held_out: NDArray[Any], what: str
) -> DensityComparison:
    """Fit DMKDE, with its defaults, and exact KDE to ``train``; score ``held_out``."""
    with progress(f"Fitting {what}"):
        warm_up(train)
        model, fit_time = timed(fit_and_prepare, train)
        logs, score_time = timed(model.score_samples, held_out, repeats=3)
    with progress(f"Exact KDE of {what}"):
        gamma = gamma_of(model, train)
        exact, exact_fit_time = timed(exact_kde, train, model, gamma)
        exact_logs, exact_score_time = timed(exact, held_out, repeats=3)
    thousands = len(held_out) / 1000
    return DensityComparison(
        model,
        logs,
        Timing(fit_time, score_time / thousands),
        exact_logs,
        Timing(exact_fit_time, exact_score_time / thousands),
    )


def warm_up(rows: NDArray[Any]) -> None:
    """Let numba compile for rows like these, so that no clock counts it."""
    some = rows[:64]
    for model in (DMKDE(gamma=1e-4, n_components=16), DMKDE(random_state=SEED)):
        model.fit(some).score_samples(some)


def fit_and_prepare(rows: NDArray[Any]) -> DMKDE:
    """A model that has done the work which the first score would do."""
    model: DMKDE = DMKDE(random_state=SEED).fit(rows)
    model.score_samples(rows[:1])
    return model


def gamma_of(model: DMKDE, rows: NDArray[Any]) -> float:
    """The model's γ; of a mosaic, which has none, what leave-one-out chooses."""
    gamma = model.gamma_
    if gamma is None:
        gamma = DMKDE(feature_map="landmarks", random_state=SEED).prepare(rows).gamma_
    assert gamma is not None
    return float(gamma)


def exact_kde(
    rows: NDArray[Any], model: DMKDE, gamma: float
) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """Log-density by scikit-learn at γ and the model's scaling, in the user's units."""
    bandwidth = GaussianKernel(gamma).bandwidth
    kde = KernelDensity(bandwidth=bandwidth).fit(model.scaling_.apply(rows))

    def score_samples(rows: NDArray[Any]) -> NDArray[np.float64]:
        logs = kde.score_samples(model.scaling_.apply(rows))
        return np.asarray(logs + model.scaling_.log_volume)

    return score_samples


def merge_error(model: DMKDE, train: NDArray[Any], held_out: NDArray[Any]) -> float:
    """Largest change of a log-density when two halves are fitted apart and merged."""
    middle = len(train) // 2
    first = model.blank().partial_fit(train[:middle])
    second = model.blank().partial_fit(train[middle:])
    merged = first.merge(second).score_samples(held_out)
    return float(np.abs(merged - model.score_samples(held_out)).max())


def bandwidth_of(model: Any) -> float:
    """Standard deviation of the model's kernel, in scaled columns."""
    return GaussianKernel(model.gamma_).bandwidth


# ---- the words -------------------------------------------------------------------


def describe(model: DMKDE) -> list[str]:
    """What the model chose, for somebody who has never seen one."""
    floor = model.floor_
    return [
        *map_entry(model),
        *(_cells(model) if model.gamma_ is None else _kernel(model)),
        *entry("dimension", _size(model)),
        *entry(
            "floor",
            "none: away from the data the density falls to zero"
            if math.isinf(floor)
            else f"{floor:.1f}: lower log-densities cannot be told from zero",
        ),
    ]


def _kernel(model: Any) -> list[str]:
    return entry(
        "gamma",
        f"{model.gamma_:.3g}, chosen by leave-one-out likelihood: the kernel is "
        f"{bandwidth_of(model):.2g} standard deviations of a column wide",
    )


def _cells(model: Any) -> list[str]:
    mosaic = model.feature_map_
    return entry(
        "cells",
        f"{mosaic.n_cells_:,} in layers of different fineness, {len(mosaic.stops_)} of "
        "them, chosen by the log-density of rows that were held out of the fitted ones",
    )


def _size(model: Any) -> str:
    total = model.state_.total[0]
    rows = "however many rows it is fitted to"
    if model.gamma_ is None:
        size = f"{model.n_features_in_ + 1:,}"
        return f"{size}: each cell has a matrix of {size} x {size} numbers, {rows}"
    if np.iscomplexobj(total):
        return f"{total.size:,} coefficients of a Fourier series, {rows}"
    size = f"{len(total):,}"
    return f"{size}: the density matrix has {size} x {size} numbers, {rows}"


def table(result: DensityComparison) -> list[str]:
    """Both estimators side by side, and how far apart they are."""
    rows = [
        ("", "mean log-density", "time", "time to score"),
        ("", "of held-out rows", "to fit", "1,000 rows"),
        _table_row("DMKDE", result.logs, result.timing),
        _table_row("exact KDE", result.exact_logs, result.exact_timing),
    ]
    found = columns(rows, (11, 17, 13, 18))
    if result.model.gamma_ is None:
        better = float(np.mean(result.logs > result.exact_logs))
        return [
            *found,
            "",
            "DMKDE's time to fit includes the choice of cells; exact KDE is given the",
            "gamma that leave-one-out likelihood chooses, one for all rows.",
            f"DMKDE finds {percent(float(better), 0)} of the held-out rows likelier.",
        ]
    gap = np.median(np.abs(result.logs - result.exact_logs))
    return [
        *found,
        "",
        "DMKDE's time to fit includes the search for gamma, which exact KDE is given.",
        f"Half of the held-out log-densities differ by less than {gap:.1g}.",
    ]


def _table_row(name: str, logs: NDArray[np.float64], timing: Timing) -> tuple[str, ...]:
    return name, f"{logs.mean():.3f}", duration(timing.fit), duration(timing.score)
