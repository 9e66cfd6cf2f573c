"""Errors against exact kernel densities."""

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import bimodal_rows, box_rows, cluster_rows, spiral_rows
from benchmarks.exact import (
    exact_log_density,
    log_relative_rmse,
    median_nats,
    relative_rmse,
    rmse,
)
from benchmarks.records import Goal, Result
from rhokit import DMKDE, MeanEmbeddingKDE

LINEAR = "linear landmarks"


def run(repeats, seed=0):
    """All results of the section; errors need no repetition."""
    with threadpool_limits(1):  # small products: threads would only wait
        yield from one_dimension(seed=seed)
        yield from spirals(seed=seed)
        yield from clusters(10, 20.0, seed=seed)
        yield from clusters(40, 4.0, seed=seed)


def models(gamma, n_components, seed, first="auto"):
    """The default map first, then what stands beside it."""
    common = {
        "gamma": gamma,
        "scale": None,
        "n_components": n_components,
        "random_state": seed,
    }
    return {
        first: DMKDE(feature_map=first, **common),
        "fourier": DMKDE(feature_map="fourier", **common),
        LINEAR: MeanEmbeddingKDE(feature_map="landmarks", **common),
    }


def one_dimension(n=10_000, n_components=1024, seed=0):
    """RMSE over the line, 1-D."""
    gamma = 16.0
    rows, points = bimodal_rows(n, seed)
    exact = np.exp(exact_log_density(rows, points, gamma))
    for name, model in models(gamma, n_components, seed).items():
        model.fit(rows)
        yield Result(
            case=f"1-D mixture, γ = 16, {n:,} rows: {name}",
            metric="RMSE",
            value=rmse(model.density(points), exact),
            goal=Goal(at_most=1e-7) if name == "auto" else None,
            seed=seed,
            details=_details(model, n),
        )


def spirals(n=10_000, n_queries=1_000, n_components=1024, seed=0):
    """Relative RMSE where the data is, 2-D."""
    gamma = 256.0
    rows, queries = spiral_rows(n, n_queries, seed)
    exact = np.exp(exact_log_density(rows, queries, gamma))
    for name, model in models(gamma, n_components, seed).items():
        model.fit(rows)
        yield Result(
            case=f"2-D spirals, γ = 256, {n:,} rows: {name}",
            metric="relative RMSE",
            value=relative_rmse(model.density(queries), exact),
            goal=Goal(at_most=5e-4) if name == "auto" else None,
            seed=seed,
            details=_details(model, n),
        )


def clusters(d, gamma, n=20_000, n_queries=1_000, n_components=1024, seed=0):
    """Errors where the data is, and in the box around it."""
    rows, near = cluster_rows(n, d, n_queries, seed)
    far = box_rows(n_queries, d, seed)
    exact_near = exact_log_density(rows, near, gamma)
    exact_far = exact_log_density(rows, far, gamma)
    for name, model in models(gamma, n_components, seed, "landmarks").items():
        model.fit(rows)
        asked = name == "landmarks"
        common = {"seed": seed, "details": _details(model, n)}
        case = f"{d}-D clusters, γ = {gamma:g}, {n:,} rows: {name}"
        yield Result(
            case,
            "relative RMSE, rows of the mixture",
            log_relative_rmse(model.score_samples(near), exact_near),
            Goal(at_most=2e-2) if asked else None,
            **common,
        )
        logs = model.score_samples(far)
        if name == LINEAR:
            share = float(np.mean(logs == -np.inf))
            yield Result(case, "share of the box not above zero", share, **common)
        else:
            yield Result(
                case,
                "median log error in the box, nats",
                median_nats(logs, exact_far),
                Goal(at_most=1.0) if asked else None,
                **common,
            )


def _details(model, n):
    fitted = model.feature_map_
    return {"rows": n, "map": type(fitted).__name__, "columns": fitted.n_columns_}
