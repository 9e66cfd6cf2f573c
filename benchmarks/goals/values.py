"""How well intervals of predicted values hold the truth, and what a model takes."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from benchmarks.memory import resident_megabytes
from benchmarks.real_data import load_partitions, readable
from benchmarks.records import Goal, Result
from benchmarks.rivals import SplitConformalForest
from rhokit import QMRegressor
from rhokit.progress import progress

COVERAGES = (0.5, 0.8, 0.9, 0.95)
COVERAGE_SETS = ("stocks", "auto_mpg", "abalone", "boston_housing")
_COVERAGE_ERROR = 0.02
# A partition of this set takes a quarter of a minute: the first ones must do.
_FEWER_PARTITIONS = {"abalone": 10}
_MOST_GIGABYTES = 1.0
_INTERVAL_ROWS = 2000
_ROOT = Path(__file__).resolve().parents[2]


def run(repeats, seed=0):
    """All results of the section; none depends on ``repeats``."""
    for name in readable(COVERAGE_SETS):
        partitions = coverage_partitions(name)
        yield from intervals(name, partitions, seed=seed)
        yield from forest_intervals(name, partitions, seed=seed)
    yield from memory(seed=seed)


# ---- intervals -----------------------------------------------------------------------


def coverage_partitions(name):
    """The partitions of a set that intervals are judged on."""
    partitions = load_partitions(name, "y_continuous")
    return partitions[: _FEWER_PARTITIONS.get(name)]


def intervals(name, partitions, seed=0):
    """Coverage, with a goal, and width of QMRegressor's intervals; its R²."""
    case = f"{name}, {len(partitions)} partitions: QMRegressor"

    def make():
        return QMRegressor(feature_map="landmarks", random_state=seed)

    yield from _interval_results(case, make, partitions, seed, has_goal=True)


def forest_intervals(name, partitions, n_trees=200, seed=0):
    """The same of a random forest on half of the rows, conformal on the other."""
    case = f"{name}, {len(partitions)} partitions: split-conformal forest"

    def make():
        return SplitConformalForest(seed, n_trees)

    yield from _interval_results(case, make, partitions, seed, has_goal=False)


def _interval_results(case, make, partitions, seed, *, has_goal):
    start = time.perf_counter()
    with threadpool_limits(1), progress(f"  {case}"):  # small products
        judged = [judge(make(), split) for split in partitions]
    seconds = {"seconds": time.perf_counter() - start}
    for place, wanted in enumerate(COVERAGES):
        inside, width = (
            np.array([each[key][place] for each in judged])
            for key in ("inside", "width")
        )
        goal = Goal(wanted - _COVERAGE_ERROR, wanted + _COVERAGE_ERROR)
        yield Result(
            case,
            f"coverage of {wanted:.0%} intervals",
            float(inside.mean()),
            goal if has_goal else None,
            threads=1,
            seed=seed,
            details=seconds | {"spread": float(inside.std())},
        )
        yield Result(
            case,
            f"width of {wanted:.0%} intervals / deviation of y",
            float(width.mean()),
            threads=1,
            seed=seed,
        )
    fits = [each["r2"] for each in judged]
    yield Result(
        case,
        "R²",
        float(np.mean(fits)),
        threads=1,
        seed=seed,
        details={"spread": float(np.std(fits))},
    )


def judge(model, split):
    """Fit a model of intervals; what they hold, how wide they are, and its R².

    Widths are in standard deviations of all targets of the split.
    """
    model.fit(split.train_rows, split.train_target)
    truth = split.test_target
    deviation = np.concatenate([split.train_target, truth]).std()
    inside, width = [], []
    for coverage in COVERAGES:
        low, high = model.predict_interval(split.test_rows, coverage).T
        inside.append(np.mean((low <= truth) & (truth <= high)))
        width.append(np.mean(high - low) / deviation)
    r2 = r2_score(truth, model.predict(split.test_rows))
    return {"inside": inside, "width": width, "r2": r2}


# ---- memory --------------------------------------------------------------------------


def memory(n=20_000, d=10, n_components=1000, n_levels=32, seed=0):
    """The most resident memory of a process that fits and predicts, and its times."""
    case = (
        f"{n:,} rows × {d} columns, {n_components:,} Fourier features, "
        f"{n_levels} levels, float64"
    )
    with progress(f"  {case}"):
        used = fit_apart(n, d, n_components, n_levels, seed)
    yield Result(
        case,
        "most resident memory, GB",
        used["peak_megabytes"] * 2**20 / 1e9,
        Goal(at_most=_MOST_GIGABYTES),
        seed=seed,
        details=used,
    )
    yield Result(case, "seconds to fit", used["fit_seconds"], seed=seed, details=used)


def fit_apart(n, d, n_components, n_levels, seed=0):
    """Fit and predict in a new process; its megabytes and seconds.

    Returns
    -------
    used : dict
        ``imported_megabytes`` and ``peak_megabytes`` of resident memory,
        ``fit_seconds``, ``predict_seconds`` of all rows and ``interval_seconds`` of
        some.
    """
    sizes = [str(size) for size in (n, d, n_components, n_levels, seed)]
    command = [sys.executable, "-m", "benchmarks.goals.values", *sizes]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)


# ---- in the process that is measured -------------------------------------------------


def main():
    """Fit, predict values and intervals once; one line of what that took."""
    parser = argparse.ArgumentParser()
    for name in ("n", "d", "n_components", "n_levels", "seed"):
        parser.add_argument(name, type=int)
    sizes = parser.parse_args()
    imported = resident_megabytes()[0]
    rows, target = wavy_rows(sizes.n, sizes.d, sizes.seed)
    model = QMRegressor(
        gamma=1.0,
        scale=None,
        n_components=sizes.n_components,
        feature_map="fourier",
        n_levels=sizes.n_levels,
        random_state=sizes.seed,
    )
    start = time.perf_counter()
    model.fit(rows, target)
    fitted = time.perf_counter()
    model.predict(rows)
    predicted = time.perf_counter()
    model.predict_interval(rows[:_INTERVAL_ROWS])
    used = {
        "imported_megabytes": imported,
        "peak_megabytes": resident_megabytes()[1],
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "interval_seconds": time.perf_counter() - predicted,
    }
    print(json.dumps(used), flush=True)


def wavy_rows(n, d, seed):
    """Uniform rows, and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, d))
    return rows, np.sin(3 * rows.sum(axis=1)) + 0.1 * rng.normal(size=n)


if __name__ == "__main__":
    main()
