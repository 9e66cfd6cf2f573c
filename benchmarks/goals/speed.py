"""Speed as ratios within one run: of the whole prediction, of an exact rival."""

import numpy as np
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

from benchmarks.data import scaled_mixture, uniform_rows
from benchmarks.exact import exact_log_density, log_relative_rmse
from benchmarks.records import Goal, Result, n_cores
from benchmarks.rivals import FusedExactKDE
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE, MeanEmbeddingKDE
from rhokit.fast import block_rows, map_blocks
from rhokit.fast.numba_loops import compiled_loops

_GAMMA = 4.0


def run(repeats, seed=0):
    """All results of the section, on one core and on all of them."""
    for threads in sorted({1, n_cores()}):
        with threadpool_limits(threads):
            yield from low_rank(threads, repeats, seed=seed)
            if threads == 1:
                yield from element_loops(repeats)
            yield from against_exact(threads, repeats, seed=seed)


def fourier_model(dim, seed=0, rank=None):
    """DMKDE with the paper's map and a given γ: nothing but sums and products."""
    return DMKDE(
        gamma=_GAMMA,
        scale=None,
        n_components=dim,
        feature_map="fourier",
        rank=rank,
        random_state=seed,
    )


def low_rank(threads, repeats, n=5_000, n_queries=40_000, d=10, dim=1024, seed=0):
    """Which share of a prediction at rank 64 goes to the feature map."""
    rows, queries = uniform_rows(n, d, seed), uniform_rows(n_queries, d, seed + 1)
    for kind in ("fourier", "landmarks"):
        model = fourier_model(dim, seed, rank=64).set_params(feature_map=kind).fit(rows)
        times = interleaved(
            {
                "predict": lambda model=model: model.score_samples(queries),
                "map": lambda model=model: only_the_map(model.feature_map_, queries),
            },
            repeats,
        )
        value, best = compare(
            lambda part, whole: part / whole, *_pick(times, "map", "predict")
        )
        yield Result(
            f"predict, {kind}, {dim:,} columns, rank 64, {n_queries:,} rows, float32",
            "share of the time in the feature map",
            value,
            Goal(at_most=0.5),
            threads,
            best,
            seed,
            times["predict"].details("predict") | times["map"].details("map"),
        )


def only_the_map(feature_map, rows):
    """Compute the columns of all rows in the blocks of a prediction, and drop them."""
    size = 2 * block_rows(feature_map.n_columns_)
    buffers = {}

    def work(worker, block):
        if worker not in buffers:
            buffers[worker] = np.empty((size, feature_map.n_columns_), rows.dtype)
        part = rows[block]
        feature_map.columns(part, relative=True, out=buffers[worker][: len(part)])

    map_blocks(work, len(rows), size)


def element_loops(repeats, n=128, dim=1024, calls=200):
    """Evaluations per second of the compiled loops and of NumPy, in the cache."""
    loops = compiled_loops()
    if loops is None:
        return
    values = uniform_rows(n, dim, 0)
    ones, zeros = np.ones(dim, np.float32), np.zeros(n, np.float32)
    scale, out = np.ones(n, np.float32), np.empty_like(values)
    cosine, power = loops.cosine_rows, loops.exp_rows
    turns, exponents = values.copy(), -values
    times = interleaved(
        {
            "cos": _repeated(lambda: cosine(turns, ones, ones, scale, False), calls),
            "np.cos": _repeated(lambda: np.cos(values, out=out), calls),
            "exp": _repeated(
                lambda: power(exponents, zeros, scale, np.float32(-63)), calls
            ),
            "np.exp": _repeated(lambda: np.exp(values, out=out), calls),
        },
        repeats,
    )
    for name, goal in (
        ("cos", Goal(at_least=2.8)),
        ("np.cos", None),
        ("exp", Goal(at_least=2.8)),
        ("np.exp", None),
    ):
        label = (
            f"NumPy's {name[3:]}" if name.startswith("np.") else f"fused {name} loop"
        )
        value, best = compare(lambda s: calls * n * dim / s / 1e9, times[name])
        yield Result(
            f"{label}, float32, tiles of {n} × {dim:,}",
            "10⁹ evaluations per second",
            value,
            goal,
            1,
            best,
            details=times[name].details("tile"),
        )


def against_exact(
    threads, repeats, n=100_000, n_landmarks=256, n_timed=4_000, n_checked=1_000, seed=0
):
    """Landmarks in 40-D against the exact rivals, errors beside."""
    gamma = 1.0
    both = scaled_mixture(2 * n, seed)
    rows, queries = both[:n], both[n:]
    timed, checked = queries[:n_timed], queries[:n_checked]
    rivals = {way: FusedExactKDE(rows, gamma, way) for way in ("loop", "product")}
    common = {
        "gamma": gamma,
        "scale": None,
        "n_components": n_landmarks,
        "feature_map": "landmarks",
        "random_state": seed,
    }
    ours = {"matrix": DMKDE(**common), "linear": MeanEmbeddingKDE(**common)}
    jobs = {
        way: lambda rival=rival: rival.score_samples(timed, threads)
        for way, rival in rivals.items()
    }
    for name, model in ours.items():
        jobs[f"{name} fit"] = lambda model=model: model.fit(rows)
        jobs[f"{name} predict"] = lambda model=model: model.score_samples(queries)
    times = interleaved(jobs, repeats)

    exact = exact_log_density(rows, checked, gamma)
    sizes = f"40-D, {n:,} rows and queries, float32"
    if threads == 1:
        yield Result(
            f"rows of the mixture, {sizes}",
            "mean kernel value",
            mean_kernel(rows, gamma),
        )
    for way, rival in rivals.items():
        yield Result(
            f"exact rival, {way}, {sizes}",
            "relative RMSE",
            log_relative_rmse(rival.score_samples(checked, threads), exact),
            threads=threads,
            seed=seed,
            details=times[way].details("exact") | {"queries": n_timed},
        )
    for name, model in ours.items():
        case = f"{name}, {n_landmarks} landmarks, {sizes}"
        for way in rivals:
            parts = _pick(times, way, f"{name} fit", f"{name} predict")
            value, best = compare(lambda e, f, p: e * n / n_timed / (f + p), *parts)
            yield Result(
                case,
                f"time of the exact {way} / ours, fit + predict",
                value,
                Goal(at_least=40) if (name, way) == ("matrix", "loop") else None,
                threads,
                best,
                seed,
                parts[1].details("fit") | parts[2].details("predict"),
            )
        yield Result(
            case,
            "relative RMSE",
            log_relative_rmse(model.score_samples(checked), exact),
            Goal(at_most=3e-3) if name == "matrix" else None,
            threads,
            seed=seed,
        )


def mean_kernel(rows, gamma, n=2_000):
    """Mean of the kernel over pairs of different rows."""
    return float(np.exp(-gamma * pdist(rows[:n], "sqeuclidean")).mean())


def _pick(times, *names):
    return [times[name] for name in names]


def _repeated(call, times):
    def job():
        for _ in range(times):
            call()

    return job
