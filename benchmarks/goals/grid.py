"""One to three columns: exact to a tolerance, at the speed of an FFT."""

import math
import warnings

import finufft
import numpy as np
from KDEpy import FFTKDE
from KDEpy.bw_selection import improved_sheather_jones
from sklearn.neighbors import KernelDensity
from threadpoolctl import threadpool_limits

from benchmarks.exact import exact_log_density
from benchmarks.records import Goal, Result, n_cores
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE
from rhokit.features import gamma_by_rule, sheather_jones

# A bare transform at this tolerance has about our error.
_BARE_EPS = 1e-9
_FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)
_KINDS = ("normal", "mixture", "integers", "duplicates", "Student's t")


def run(repeats, seed=0):
    """All results of the section."""
    yield from exactness(seed=seed)
    yield from against_dense(seed=seed)
    for threads in sorted({1, n_cores()}):
        with threadpool_limits(threads):
            for d in (1, 2):
                yield from against_bare(threads, repeats, d, seed=seed)
            yield from against_kdepy(threads, repeats, seed=seed)
            yield from against_trees(threads, seed=seed)
    yield from bandwidths(repeats, seed=seed)


# ---- errors --------------------------------------------------------------------------


def rows_of(kind, n, d, rng):
    """Rows (n, d) of several kinds."""
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "mixture":
        return np.where(
            rng.random((n, 1)) < 0.3,
            rng.normal(size=(n, d)),
            rng.normal(5, 0.3, size=(n, d)),
        )
    if kind == "integers":
        return rng.poisson(20, size=(n, d)).astype(float)
    if kind == "duplicates":
        return rng.normal(size=(max(2, n // 20), d))[rng.integers(0, n // 20 or 2, n)]
    return rng.standard_t(3, size=(n, d))


def exactness(sizes=(10, 1_000, 100_000, 1_000_000), n_queries=200, seed=0):
    """Worst error of densities over γ and kinds of rows, as a share of the peak."""
    for d in (1, 2):
        for n in sizes:
            rng = np.random.default_rng(seed)
            errors, masses, refused = {}, [], 0
            for kind in _KINDS if n <= 100_000 else _KINDS[:1]:
                rows = rows_of(kind, n, d, rng)
                queries = _queries(rows, n_queries, rng)
                median = gamma_by_rule("median", rows, rng=rng)
                for factor in _FACTORS:
                    model = DMKDE(gamma=factor * median, scale=None).fit(rows)
                    if type(model.feature_map_).__name__ != "GridFeatures":
                        refused += 1
                        continue
                    errors[f"{kind}, {factor:g}"] = error_over_peak(
                        model, rows, queries
                    )
                    masses.append(abs(model.series().scaled.mass - 1))
            case = f"{d}-D, {n:,} rows, γ from 0.01 to 10,000 times the median rule"
            yield Result(
                case,
                "worst error / peak of the exact density",
                max(errors.values()),
                Goal(at_most=1e-8),
                seed=seed,
                details={"errors": errors, "left_to_landmarks": refused},
            )
            yield Result(
                case,
                "worst difference of the integral from 1",
                float(max(masses)),
                Goal(at_most=1e-6),
                seed=seed,
            )


def _queries(rows, n, rng):
    """Rows, points near rows, and points of the box."""
    some = rows[rng.choice(len(rows), n)]
    near = some + rng.normal(size=some.shape) * rows.std(axis=0) / 10
    box = rng.uniform(rows.min(axis=0), rows.max(axis=0), some.shape)
    return np.concatenate([some, near, box])


def error_over_peak(model, rows, queries):
    """Largest error at queries and modes, over the largest exact value there."""
    exact = np.exp(exact_log_density(rows, queries, model.gamma_))
    return float(np.abs(model.density(queries) - exact).max() / exact.max())


def against_dense(n=2_000, seed=0):
    """The same rows through a dense state over the same waves."""
    rng = np.random.default_rng(seed)
    for d, gamma in ((1, 50.0), (2, 2.0)):
        rows = rng.normal(size=(n, d))
        grid = (
            DMKDE(gamma=gamma, scale=None, feature_map="grid").fit(rows).density(rows)
        )
        dense = (
            DMKDE(gamma=gamma, scale=None, feature_map="quadrature")
            .fit(rows)
            .density(rows)
        )
        yield Result(
            f"{d}-D, {n:,} rows, γ = {gamma:g}",
            "difference of grid and dense state / peak",
            float(np.abs(grid - dense).max() / dense.max()),
            Goal(at_most=1e-10),
            seed=seed,
        )


# ---- speed ---------------------------------------------------------------------------


class BareKDE:
    """Nothing but the two transforms, with everything else done beforehand."""

    def __init__(self, model, rows, queries, threads):
        self._options = {"eps": _BARE_EPS, "nthreads": threads}
        grid = model.feature_map_
        self._shape = (*grid.spectrum_.shape[:-1], 2 * grid.spectrum_.shape[-1] - 1)
        mirrored = np.flip(grid.spectrum_[..., 1:])
        norm = len(rows) * math.exp(grid.log_mass())
        self._spectrum = np.concatenate([mirrored, grid.spectrum_], axis=-1) / norm
        turns = 2 * math.pi / grid.period_
        self._rows, self._queries = (
            list(np.ascontiguousarray(((each - grid.middle_) * turns).T))
            for each in (rows, queries)
        )
        self._ones = np.ones(len(rows), complex)
        name = f"nufft{rows.shape[1]}d"
        self._sum, self._evaluate = (getattr(finufft, name + k) for k in "12")

    def __call__(self):
        """Densities at the queries."""
        sums = *self._rows, self._ones, self._shape
        series = self._sum(*sums, isign=1, **self._options)
        series *= self._spectrum
        return self._evaluate(*self._queries, series, isign=-1, **self._options).real


def against_bare(threads, repeats, d, n=1_000_000, n_queries=100_000, seed=0):
    """Fit and queries against the bare calls of finufft, errors beside."""
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
    gamma = gamma_by_rule("scott", rows)
    model = DMKDE(gamma=gamma, scale=None).fit(rows)
    bare = BareKDE(model, rows, queries, threads)
    jobs = {"rhokit": lambda: DMKDE(gamma=gamma, scale=None).fit(rows).density(queries)}
    jobs["bare"] = bare
    times = interleaved(jobs, repeats)
    checked = queries[:200]
    exact = np.exp(exact_log_density(rows, checked, gamma))
    errors = {
        "error_over_peak": np.abs(model.density(checked) - exact).max(),
        "bare_error_over_peak": np.abs(bare()[:200] - exact).max(),
    }
    errors = {name: float(value / exact.max()) for name, value in errors.items()}
    ratio, best = compare(lambda a, b: a / b, times["rhokit"], times["bare"])
    yield Result(
        f"{d}-D, {n:,} rows, fit and {n_queries:,} queries",
        f"time / bare finufft calls (eps = {_BARE_EPS:g})",
        ratio,
        Goal(at_most=1.5),
        threads,
        best,
        seed,
        times["rhokit"].details("rhokit") | times["bare"].details("bare") | errors,
    )


def against_kdepy(threads, repeats, n=1_000_000, n_points=1024, seed=0):
    """Rows in, a grid for a plot out."""
    x = np.random.default_rng(seed).normal(size=n)
    gamma = gamma_by_rule("scott", x[:, None])
    bandwidth = 1 / math.sqrt(2 * gamma)
    jobs = {
        "rhokit": lambda: DMKDE(gamma=gamma, scale=None).fit(x[:, None]).grid(n_points),
        "KDEpy": lambda: FFTKDE(bw=bandwidth).fit(x).evaluate(n_points),
    }
    times = interleaved(jobs, repeats)
    ratio, best = compare(lambda a, b: a / b, times["rhokit"], times["KDEpy"])
    details = times["rhokit"].details("rhokit") | times["KDEpy"].details("kdepy")
    for name, job in jobs.items():
        points, density = (np.ravel(each) for each in job())
        some = slice(0, n_points, 8)
        exact = np.exp(exact_log_density(x[:, None], points[some, None], gamma))
        error = float(np.abs(density[some] - exact).max() / exact.max())
        details[f"{name}_error_over_peak"] = error
    case = f"1-D, {n:,} rows, fit and a grid of {n_points:,} points"
    yield Result(
        case,
        "time / KDEpy FFTKDE",
        ratio,
        Goal(at_most=2.0),
        threads,
        best,
        seed,
        details,
    )
    yield Result(
        case,
        "error / KDEpy FFTKDE's error",
        details["rhokit_error_over_peak"] / details["KDEpy_error_over_peak"],
        Goal(at_most=1.0),
        threads,
        seed=seed,
        details=details,
    )


def against_trees(threads, n=1_000_000, n_queries=100_000, n_timed=200, seed=0):
    """Against scikit-learn's tree with a tolerance, timed on few queries."""
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(n, 1)), rng.normal(size=(n_queries, 1))
    gamma = gamma_by_rule("scott", rows)
    tree = KernelDensity(bandwidth=1 / math.sqrt(2 * gamma), rtol=1e-2)
    fitted = DMKDE(gamma=gamma, scale=None).fit(rows)
    times = interleaved(
        {
            "all": lambda: DMKDE(gamma=gamma, scale=None).fit(rows).density(queries),
            "drawn": lambda: DMKDE(gamma=gamma, scale=None).fit(rows).grid(1024),
            "grid": lambda: fitted.grid(1024),
            "fit": lambda: tree.fit(rows),
            "few": lambda: tree.score_samples(queries[:n_timed]),
        },
        1,
    )

    def result(what, ours, count, with_fit, goal):
        def formula(own, fit, few):
            return (with_fit * fit + few * count / n_timed) / own

        value, _ = compare(formula, *(times[name] for name in (ours, "fit", "few")))
        details = {name: each.median for name, each in times.items()}
        return Result(
            f"1-D, {n:,} rows, {what}",
            "scikit-learn's KernelDensity(rtol=1e-2) / time",
            value,
            goal,
            threads,
            seed=seed,
            details={"seconds": details, "timed_queries": n_timed},
        )

    goal = Goal(at_least=1_000)
    yield result(f"fit and {n_queries:,} queries", "all", n_queries, True, goal)
    yield result("a grid of 1,024 points, once fitted", "grid", 1024, False, goal)
    yield result("fit and a grid of 1,024 points", "drawn", 1024, True, None)


# ---- bandwidths ----------------------------------------------------------------------


def bandwidths(repeats, n=1_000_000, seed=0):
    """Bandwidths that are chosen, as multiples of a fit with a given one."""
    x = np.random.default_rng(seed).normal(size=n)
    rows = x[:, None]
    gamma = gamma_by_rule("scott", rows)

    def kdepy():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return improved_sheather_jones(rows)

    times = interleaved(
        {
            "fit": lambda: DMKDE(gamma=gamma, scale=None).fit(rows),
            "loo": lambda: DMKDE(random_state=0).fit(rows),
            "sheather_jones": lambda: sheather_jones(x, np.ones(n)),
            "improved_sheather_jones": kdepy,
        },
        min(repeats, 3),
    )
    found = {
        "scott": 1 / math.sqrt(2 * gamma),
        "sheather_jones": sheather_jones(x, np.ones(n)),
        "improved_sheather_jones": float(kdepy()),
    }
    for name in ("loo", "sheather_jones", "improved_sheather_jones"):
        ratio, best = compare(lambda a, b: a / b, times[name], times["fit"])
        label = f"KDEpy's {name}" if name.startswith("improved") else name
        yield Result(
            f"1-D, {n:,} rows, {label.replace('_', ' ')}",
            "time / fit with a given bandwidth",
            ratio,
            best=best,
            seed=seed,
            details=times[name].details(name) | {"bandwidths": found},
        )
