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
from rhokit.demo.shared import SEED, columns, duration, entry, map_entry, timed
from rhokit.progress import progress


@dataclass(frozen=True)
class Timing:
    """Seconds to fit, and to score a thousand rows."""

    fit: float
    score: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """A fitted model and exact KDE on the same held-out rows."""

    model: DMKDE
    logs: NDArray[np.float64]
    timing: Timing
    exact_logs: NDArray[np.float64]
    exact_timing: Timing


# ---- the work --------------------------------------------------------------------


def compare(train: NDArray[Any], held_out: NDArray[Any], what: str) -> Comparison:
    """Fit DMKDE, with its defaults, and exact KDE to ``train``; score ``held_out``."""
    with progress(f"Fitting {what}"):
        warm_up(train)
        model, fit_time = timed(fit_and_prepare, train)
        logs, score_time = timed(model.score_samples, held_out, repeats=3)
    with progress(f"Exact KDE of {what}"):
        exact, exact_fit_time = timed(exact_kde, train, model)
        exact_logs, exact_score_time = timed(exact, held_out, repeats=3)
    thousands = len(held_out) / 1000
    return Comparison(
        model,
        logs,
        Timing(fit_time, score_time / thousands),
        exact_logs,
        Timing(exact_fit_time, exact_score_time / thousands),
    )


def warm_up(rows: NDArray[Any]) -> None:
    """Let numba compile for rows like these, so that no clock counts it."""
    DMKDE(gamma=1.0, n_components=16).fit(rows[:64]).score_samples(rows[:64])


def fit_and_prepare(rows: NDArray[Any]) -> DMKDE:
    """A model that has done the work which the first score would do."""
    model: DMKDE = DMKDE(random_state=SEED).fit(rows)
    model.score_samples(rows[:1])
    return model


def exact_kde(
    rows: NDArray[Any], model: DMKDE
) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """Log-density by scikit-learn at the model's γ and scaling, in the user's units."""
    bandwidth = bandwidth_of(model)
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
    floor, bandwidth = model.floor_, bandwidth_of(model)
    return [
        *map_entry(model),
        *entry(
            "gamma",
            f"{model.gamma_:.3g}, chosen by leave-one-out likelihood: the kernel is "
            f"{bandwidth:.2g} standard deviations of a column wide",
        ),
        *entry("dimension", _size(model)),
        *entry(
            "floor",
            "none: away from the data the density falls to zero"
            if math.isinf(floor)
            else f"{floor:.1f}: lower log-densities cannot be told from zero",
        ),
    ]


def _size(model: Any) -> str:
    total = model.state_.total[0]
    rows = "however many rows it is fitted to"
    if np.iscomplexobj(total):
        return f"{total.size:,} coefficients of a Fourier series, {rows}"
    size = f"{len(total):,}"
    return f"{size}: the density matrix has {size} x {size} numbers, {rows}"


def table(result: Comparison) -> list[str]:
    """Both estimators side by side, and how far apart they are."""
    rows = [
        ("", "mean log-density", "time", "time to score"),
        ("", "of held-out rows", "to fit", "1,000 rows"),
        _table_row("DMKDE", result.logs, result.timing),
        _table_row("exact KDE", result.exact_logs, result.exact_timing),
    ]
    gap = np.median(np.abs(result.logs - result.exact_logs))
    return [
        *columns(rows, (11, 17, 13, 18)),
        "",
        "DMKDE's time to fit includes the search for gamma, which exact KDE is given.",
        f"Half of the held-out log-densities differ by less than {gap:.1g}.",
    ]


def _table_row(name: str, logs: NDArray[np.float64], timing: Timing) -> tuple[str, ...]:
    return name, f"{logs.mean():.3f}", duration(timing.fit), duration(timing.score)
