"""Queries of SQL in DuckDB beside ``rhokit predict``, on the same Parquet file."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import rhokit
from benchmarks.records import Goal, Result
from rhokit import DMKDE, DMKDClassifier, MosaicFeatures

_COLUMNS = [f"x{j}" for j in range(5)]
_KERNELS = {"feature_map": "landmarks", "n_components": 64, "rank": 8}
_MODELS = {
    "classes of kernels": ("predict", DMKDClassifier, _KERNELS),
    "density of ten cells": (
        "score",
        DMKDE,
        {"feature_map": MosaicFeatures(n_cells=10)},
    ),
}


def run(repeats, seed=0, n=1_000_000):
    """All results of the section."""
    for name in _MODELS:
        yield scored(name, n, seed)


def scored(name, n, seed=0):
    """Processor seconds of a query over those of the program, writing Parquet."""
    command, kind, options = _MODELS[name]
    X, y = _rows(n, seed)
    target = () if command == "score" else (y[:20_000],)
    frame = pa.table(dict(zip(_COLUMNS, X.T, strict=True)))
    model = kind(**options, random_state=seed)
    model.fit(frame.slice(0, 20_000).to_pandas(), *target)
    with tempfile.TemporaryDirectory() as folder:
        rows, file = Path(folder) / "rows.parquet", Path(folder) / "model.rho"
        pq.write_table(frame, rows)
        rhokit.save(model, file)
        program = [sys.executable, "-m", "rhokit.cli", command, file, rows, "--quiet"]
        start = _children()
        subprocess.run([*program, "-o", Path(folder) / "p.parquet"], check=True)
        ours = _children() - start
        query = rhokit.export_sql(model, table=f"read_parquet('{rows}')")
        start = time.process_time()
        with duckdb.connect() as base:
            base.execute(f"SET threads = {os.environ.get('OMP_NUM_THREADS', 1)}")
            output = Path(folder) / "q.parquet"
            base.execute(f"COPY ({query}) TO '{output}' (FORMAT parquet)")
        theirs = time.process_time() - start
    return Result(
        f"SQL, {name}, {n:,} rows",
        f"DuckDB / rhokit {command}, processor time",
        theirs / ours,
        Goal(at_most=1.0),
        seed=seed,
        details={"query_bytes": len(query), "duckdb": theirs, "rhokit": ours},
    )


def _rows(n, seed):
    """Six clusters of five columns, in three classes."""
    rng = np.random.default_rng(seed)
    centres, label = rng.normal(size=(6, 5)) * 2, rng.integers(0, 6, n)
    return centres[label] + rng.normal(size=(n, 5)), label % 3


def _children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
