"""How much of the hardware is used: fit and prediction against a plain matrix product.

The peak is a product in single precision (SGEMM), timed in the same rounds as what is
compared with it: a slow minute of the machine falls on both alike. Flops are those that
the sums need, whatever is done:

- a fit is a symmetric sum of N outer products of D columns, half of whose D² numbers
  have to be computed: N·D² flops. Choosing and computing the columns counts for none;
- a prediction is counted as the plain product with a matrix of D × D: 2·N·D² flops. It
  can be above one: the matrix is factored into a triangle, which halves the work, or
  into fewer rows than D where its rank, to rounding, is less. The rank stands beside;
- a multiplication and addition of complex numbers is four of real ones, so that complex
  columns count four times: 4·N·D² and 8·N·D².

The grid has no matrix: rows are gathered at nodes, and one FFT per block does the rest,
so that it does a thousandth of the flops of a product, most of its time waiting for
memory. A share of the peak would praise or blame it for work that nobody does; it has
rows per second instead.

Beside the shares stands the part of the time that goes to the columns themselves.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import uniform_rows
from benchmarks.goals.speed import only_the_map
from benchmarks.records import Goal, Result, n_cores
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import number, summary, text_table
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE
from rhokit.fast import thin_factor
from rhokit.features import FeatureMap, FourierFeatures

METRIC = "share of the SGEMM peak"
_FIT_SHARE = 0.80, 0.70  # on one core, on more
_PREDICT_SHARE = 1.4
_QUERIES = 4  # one query for so many rows: predicting is counted twice
_DIM = 1024
_NO_MATRIX = "a grid has no matrix: its work are a few operations per row and FFTs"
_REMARK = """\
fit: N·D² flops, predict: 2·N·D², complex ones four times that. Predictions can be above
1: a triangle halves their work, a rank far below D does more. A grid has no matrix.
On one core, choosing / fit: part of a fit that choosing the map takes, which does not
grow with the rows; columns / predict: part of a prediction that its columns take."""


@dataclass(frozen=True)
class Subject:
    """A map and the rows that it is measured on.

    Parameters
    ----------
    name : str
        Of the map, as tables show it.
    feature_map : str or FeatureMap
        As ``DMKDE`` takes it.
    d, n : int
        Columns, and rows to fit; a quarter of them is asked for.
    gamma : float
    has_goals : bool
        Whether its shares were promised.
    """

    name: str
    feature_map: str | FeatureMap
    d: int = 10
    n: int = 80_000
    gamma: float = 4.0
    has_goals: bool = False

    @property
    def label(self):
        """Name and columns: the same map is measured with several."""
        return f"{self.name}, d = {self.d}"


def tasks(quick: bool) -> Iterator[Task]:
    """A task for every group of maps, on one core and on all of them."""
    for name, (subjects, repeats) in (_few() if quick else _all()).items():
        for threads in sorted({1, n_cores()}):
            run = partial(share_of_peak, subjects, threads, repeats)
            yield Task(f"{name}, {_cores(threads)}", run)


def _few():
    """The maps that are chosen by themselves, and the paper's, on few rows."""
    subjects = (
        Subject("fourier phase, iid", "fourier", n=20_000),
        Subject("landmarks, kmeans", "landmarks", n=20_000),
        Subject("grid", "grid", d=2, n=20_000),
    )
    return {"main maps": (subjects, 2)}


def _all():
    """Maps in groups that share the product's rounds."""
    paper = partial(Subject, "fourier phase, iid", "fourier")
    # Slow ones have fewer rows, which are enough for a share.
    complex_form = FourierFeatures(n_components=_DIM, form="complex")
    structured = _fourier("structured")
    return {
        "fourier, d = 4": ((paper(d=4, n=160_000, has_goals=True),), 5),
        "fourier, d = 10": ((paper(d=10, n=160_000, has_goals=True),), 5),
        "landmarks": ((Subject("landmarks, kmeans", "landmarks", n=160_000),), 5),
        "other rules": (
            tuple(
                Subject(f"fourier phase, {rule}", _fourier(rule))
                for rule in ("orthogonal", "sobol", "halton")
            ),
            3,
        ),
        "other forms": (
            (
                Subject("fourier pair, iid", _fourier("iid", "pair")),
                Subject("fourier complex, iid", complex_form, n=20_000),
            ),
            3,
        ),
        "structured": (
            (
                Subject("fourier phase, structured", structured, n=20_000),
                # What structure is for; distances are as long as with ten columns.
                paper(d=784, n=20_000, gamma=0.05),
                Subject("fourier phase, structured", structured, 784, 20_000, 0.05),
            ),
            3,
        ),
        "few columns": (
            (
                # This γ makes a grid of about 1,024 frequencies over the unit square.
                Subject("quadrature", "quadrature", d=2, gamma=40.0),
                Subject("grid", "grid", d=1, n=1_000_000),
                Subject("grid", "grid", d=2, n=1_000_000),
            ),
            3,
        ),
    }


def _fourier(rule, form="phase"):
    return FourierFeatures(n_components=_DIM, sampling=rule, form=form)


# ---- measuring -----------------------------------------------------------------------


def matrix_product(dim=_DIM, n=4096, times=8):
    """A job that multiplies (n, dim) by (dim, dim) in float32, and its flops."""
    left, right = uniform_rows(n, dim, 0), uniform_rows(dim, dim, 1)
    out = np.empty((n, dim), np.float32)

    def job():
        for _ in range(times):
            np.matmul(left, right, out=out)

    return job, 2.0 * times * n * dim * dim


def share_of_peak(subjects, threads, repeats, dim=_DIM, seed=0):
    """Fit and full-rank prediction against the matrix product of the same rounds.

    Parameters
    ----------
    subjects : sequence of Subject
        All in the same rounds.
    threads, repeats : int
    dim : int
        Columns, of the maps that leave them to the model, and of the product.
    seed : int

    Yields
    ------
    result : Result
        For every subject and step.
    """
    with threadpool_limits(threads):
        product, product_flops = matrix_product(dim)
        runs = [_Run(subject, dim, seed) for subject in subjects]
        jobs = {"product": product}
        for run in runs:
            jobs |= run.jobs()
        times = interleaved(jobs, repeats)
        results = [
            result
            for run in runs
            for result in run.results(times, product_flops, threads)
        ]
    yield from results


class _Run:
    """One subject with its rows, and the models that are timed on them."""

    def __init__(self, subject, dim, seed):
        self._subject, self._seed = subject, seed
        self._rows = uniform_rows(subject.n, subject.d, seed)
        self._queries = self._rows[: max(1, subject.n // _QUERIES)]
        self._fresh, self._fitted = (self._model(dim) for _ in range(2))
        self._fitted.fit(self._queries)  # how many rows there were costs no prediction
        self._map = self._fitted.feature_map_
        self._has_matrix = subject.feature_map != "grid"
        if self._has_matrix:
            rho = self._fitted.density_matrix_.normalized()[0]
            self._rank = len(thin_factor(rho))
        # Once will do: of these maps only landmarks take long to choose.
        self._choosing_seconds = _seconds(lambda: self._model(dim).prepare(self._rows))

    def jobs(self):
        """What is timed, by what it is."""
        jobs = {"fit": lambda: self._fresh.fit(self._rows)}
        jobs["predict"] = lambda: self._fitted.score_samples(self._queries)
        if self._has_matrix:
            jobs["map"] = lambda: only_the_map(self._map, self._queries)
        return {(self._subject.label, name): job for name, job in jobs.items()}

    def results(self, times, product_flops, threads):
        """Of both steps, from the times of all jobs."""
        wide = 4 if self._map.column_dtype_.kind == "c" else 1
        squares = wide * self._map.n_columns_**2
        for step, rows, flops in (
            ("fit", len(self._rows), squares * len(self._rows)),
            ("predict", len(self._queries), 2 * squares * len(self._queries)),
        ):
            yield self._result(times, step, rows, flops, product_flops, threads)

    def _result(self, times, step, rows, flops, product_flops, threads):
        spent, product = times[self._subject.label, step], times["product"]
        details = self._facts(step, rows, spent)
        value = best = None
        if self._has_matrix:
            value, best = compare(
                lambda seconds, whole: (flops / seconds) / (product_flops / whole),
                spent,
                product,
            )
            details |= {
                "flops": float(flops),
                "peak_flops": product_flops / product.median,
                "columns": self._map.n_columns_,
                "rank": self._rank,
                "map_share": self._map_share(times, step, rows),
            }
            details |= product.details("product")
        else:
            details["reason"] = _NO_MATRIX
        return Result(
            f"{step}, {self._subject.label}",
            METRIC,
            value,
            self._goal(step, threads),
            threads,
            best,
            self._seed,
            details,
        )

    def _facts(self, step, rows, spent):
        facts = {
            "map": self._subject.label,
            "step": step,
            "d": self._subject.d,
            "rows": rows,
            "gamma": self._subject.gamma,
            "seconds": spent.median,
            "best_seconds": spent.best,
            "rows_per_second": rows / spent.median,
        }
        if step == "fit":
            facts["choosing_seconds"] = self._choosing_seconds
            facts["choosing_share"] = self._choosing_seconds / spent.median
        return facts

    def _map_share(self, times, step, rows):
        """Part of a step's time that the columns of its rows take."""
        label = self._subject.label
        scale = rows / len(self._queries)
        share, _ = compare(
            lambda part, whole: scale * part / whole,
            times[label, "map"],
            times[label, step],
        )
        return share

    def _goal(self, step, threads):
        if not self._subject.has_goals:
            return None
        fit = _FIT_SHARE[threads > 1]
        return Goal(at_least=fit if step == "fit" else _PREDICT_SHARE)

    def _model(self, dim):
        return DMKDE(
            gamma=self._subject.gamma,
            scale=None,
            n_components=dim,
            feature_map=self._subject.feature_map,
            random_state=self._seed,
        )


def _seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


# ---- showing -------------------------------------------------------------------------


def table(lines):
    """Maps down, steps and cores across."""
    lines = [line for line in lines if line["metric"] != SECONDS]
    maps = dict.fromkeys(line["details"]["map"] for line in lines)
    columns = sorted({(line["threads"], line["details"]["step"]) for line in lines})
    cells = {
        (line["details"]["map"], line["threads"], line["details"]["step"]): line
        for line in lines
    }
    rows = [
        {"map": name, "D": _size(cells, name, "columns")}
        | {"rank": _size(cells, name, "rank")}
        | {
            f"{step}, {_cores(threads)}": _cell(cells.get((name, threads, step)))
            for threads, step in columns
        }
        | {
            "choosing / fit": _part(cells.get((name, 1, "fit")), "choosing_share"),
            "columns / predict": _part(cells.get((name, 1, "predict")), "map_share"),
        }
        for name in maps
    ]
    parts = [text_table(rows, {"map"}), _REMARK]
    if any(line["goal"] for line in lines):
        parts.append(f"{summary(lines)}.")
    return "\n\n".join(parts)


def _size(cells, name, key):
    line = cells.get((name, 1, "predict"))
    size = None if line is None else line["details"].get(key)
    return "" if size is None else f"{size:,}"


def _cell(line):
    if line is None:
        return ""
    if line["value"] is None:
        return f"{number(line['details']['rows_per_second'])} rows/s"
    return f"{line['value']:.2f}"


def _part(line, name):
    part = None if line is None else line["details"].get(name)
    return "" if part is None else f"{part:.0%}"


def _cores(threads):
    return "1 core" if threads == 1 else f"{threads} cores"
