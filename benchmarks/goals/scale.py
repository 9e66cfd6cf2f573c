"""Files larger than memory, Dask, single rows, and model files."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.goals.memory import batches, late_growth
from benchmarks.memory import resident_megabytes
from benchmarks.records import Goal, Result, n_cores
from benchmarks.timing import compare, interleaved

_ROOT = Path(__file__).resolve().parents[2]
_GAMMA = 10.0


def run(repeats, seed=0):
    """All results of the section."""
    folder = Path(tempfile.mkdtemp(prefix="rhokit-scale-"))
    try:
        yield from _memory(folder, seed)
        yield from _throughput(folder, repeats, seed)
        yield from _dask(folder, repeats, seed)
    finally:
        shutil.rmtree(folder)
    yield from _single_rows(repeats, seed)
    yield from _model_files(repeats, seed)


# ---- memory --------------------------------------------------------------------------


def _memory(folder, seed, n=50_000_000, d=10, n_components=512):
    path = write_parquet(folder / "large.parquet", n, d, seed)
    gigabytes = path.stat().st_size / 1e9
    trace = trace_file_fit(path, n_components)
    path.unlink()
    case = f"{n:,} rows × {d} columns of Parquet, D = {n_components}"
    details = {
        "file_gigabytes": gigabytes,
        "trace": trace[:: max(1, len(trace) // 200)],
    }
    most = max(step["peak_megabytes"] for step in trace)
    yield Result(
        case,
        "most resident memory, everything included, MB",
        most,
        Goal(at_most=600),
        seed=seed,
        details=details,
    )
    yield Result(
        case,
        "growth from the middle to the end, MB",
        late_growth(trace),
        Goal(at_most=10),
        seed=seed,
    )
    seconds = trace[-1]["seconds"]
    yield Result(case, "rows per second", n / seconds, seed=seed)


def write_parquet(path, n, d, seed):
    """A file of float32 columns of a Gaussian mixture, written batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{column}" for column in range(d)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        held = []
        for number, batch in enumerate(batches(n, d, seed), start=1):
            held.append(pa.table(list(batch.T.copy()), schema=schema))
            if number % 10 == 0:  # row groups of half a million rows
                writer.write_table(pa.concat_tables(held).combine_chunks())
                held = []
        if held:
            writer.write_table(pa.concat_tables(held).combine_chunks())
    return path


def trace_file_fit(path, n_components):
    """Fit a file in a new process; return its rows and megabytes over time."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.goals.scale",
        str(path),
        str(n_components),
    ]
    done = subprocess.run(
        command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def main(path, n_components):
    """In the process that is measured: fit, one line per batch."""
    from rhokit import DMKDE, fit_files
    from rhokit.progress import ProgressBar

    start = time.perf_counter()

    def record(bar, done, total=None):
        now, most = resident_megabytes()
        step = {
            "rows": done,
            "seconds": time.perf_counter() - start,
            "megabytes": now,
            "peak_megabytes": most,
        }
        print(json.dumps(step), flush=True)

    ProgressBar.count = record
    fit_files(DMKDE(n_components=n_components, random_state=0), path)


# ---- throughput ----------------------------------------------------------------------


def _throughput(folder, repeats, seed, n=2_000_000, d=10):
    """The same rows, with the same plan, from Parquet and from memory."""
    from rhokit import DMKDE, fit_files

    path = write_parquet(folder / "medium.parquet", n, d, seed)
    rows = np.concatenate(list(batches(n, d, seed)))
    for n_components in (512, 1024):
        plan = DMKDE(
            gamma=_GAMMA, scale=None, n_components=n_components, random_state=0
        )
        plan.prepare(rows[:20_000])
        jobs = {
            "file": lambda plan=plan: fit_files(plan.blank(), path),
            "memory": lambda plan=plan: plan.blank().partial_fit(rows),
        }
        for threads in dict.fromkeys((1, n_cores())):
            with threadpool_limits(threads):
                times = interleaved(jobs, repeats)
            ratio, best = compare(lambda a, b: a / b, times["file"], times["memory"])
            yield Result(
                f"{n:,} rows × {d} columns, D = {n_components}",
                "time from Parquet / time from memory",
                ratio,
                Goal(at_most=1.3),
                threads,
                best,
                seed,
                times["file"].details("file") | times["memory"].details("memory"),
            )


# ---- Dask ----------------------------------------------------------------------------


def _dask(folder, repeats, seed, n=2_000_000, d=10, n_components=512):
    """Two workers on one thread each against one process on two."""
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client, wait

    from rhokit import DMKDE, fit_files
    from rhokit.parallel.dask import fit

    path = folder / "medium.parquet"
    rows = np.concatenate(list(batches(n, d, seed)))
    plan = DMKDE(gamma=_GAMMA, scale=None, n_components=n_components, random_state=0)
    plan.prepare(rows[:20_000])
    chunked = da.from_array(rows, chunks=(100_000, d))
    with _cluster() as cluster, Client(cluster) as client:
        frame = dd.read_parquet(path, split_row_groups=True)
        held = client.persist(chunked)
        wait(held)
        client.scheduler_info()
        jobs = {
            "one process, file": lambda: fit_files(plan.blank(), path),
            "workers, file": lambda: fit(plan.blank(), frame),
            "one process, memory": lambda: plan.blank().partial_fit(rows),
            "workers, memory": lambda: fit(plan.blank(), held),
        }
        times = interleaved(jobs, repeats)
    with _threads():
        jobs = {
            "one process, memory": lambda: plan.blank().partial_fit(rows),
            "threads, memory": lambda: fit(plan.blank(), chunked),
        }
        times |= {f"{name} ": t for name, t in interleaved(jobs, repeats).items()}
    pairs = {
        "two worker processes, Parquet": ("one process, file", "workers, file"),
        "two worker processes, rows held by them": (
            "one process, memory",
            "workers, memory",
        ),
        "two threads, rows in memory": ("one process, memory ", "threads, memory "),
    }
    for case, (alone, together) in pairs.items():
        ratio, best = compare(lambda a, b: a / b, times[alone], times[together])
        yield Result(
            f"Dask, {case}, {n:,} rows, D = {n_components}",
            "speed / that of one process on all cores",
            ratio,
            Goal(at_least=0.85),
            None,
            best,
            seed,
            times[alone].details("alone") | times[together].details("together"),
        )


@contextmanager
def _cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=n_cores(), threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster


@contextmanager
def _threads():
    import dask

    with dask.config.set(scheduler="threads", num_workers=n_cores()):
        yield


# ---- single rows, model files --------------------------------------------------------


def _single_rows(repeats, seed, n=20_000, d=10, n_components=512):
    from rhokit import DMKDE, Stream

    rows = next(batches(n, d, seed))[:n].astype(float)
    listed = rows.tolist()
    plan = DMKDE(
        gamma=_GAMMA, scale=None, n_components=n_components, random_state=0
    ).prepare(rows)

    def buffered():
        stream = Stream(plan.blank())
        for row in listed:
            stream.learn_one(row)
        return stream.model

    def one_by_one():
        model = plan.blank()
        for row in rows[: n // 100]:
            model.partial_fit(row[None])

    times = interleaved({"buffered": buffered, "single": one_by_one}, repeats)
    rate = n / times["buffered"].median
    case = f"single rows of {d} columns, D = {n_components}"
    yield Result(case, "learn_one, rows per second", rate, seed=seed)
    alone = n / 100 / times["single"].median
    yield Result(case, "learn_one / partial_fit of one row", rate / alone, seed=seed)


def _model_files(repeats, seed, n_components=1024, d=50):
    import rhokit

    rows = next(batches(50_000, d, seed))
    labels = np.arange(len(rows)) % 10
    model = rhokit.DMKDClassifier(
        gamma=1.0, scale=None, n_components=n_components, rank=64, random_state=0
    ).fit(rows[:20_000], labels[:20_000])
    sizes, times = {}, {}
    for state in ("exact", "factor"):
        data = rhokit.dumps(model, state=state)
        sizes[state] = len(data)
        jobs = {
            "write": lambda state=state: rhokit.dumps(model, state=state),
            "read": lambda data=data: rhokit.loads(data),
        }
        times[state] = interleaved(jobs, repeats)
    grown = len(rhokit.dumps(model.partial_fit(rows, labels)))
    case = f"a classifier of 10 classes, D = {n_components}, {d} columns, rank 64"
    for state, size in sizes.items():
        details = {f"{job}_seconds": t.median for job, t in times[state].items()}
        metric = f"{state} file, MB"
        yield Result(case, metric, size / 1e6, seed=seed, details=details)
        for job, t in times[state].items():
            yield Result(case, f"{job} the {state} file, ms", 1e3 * t.median, seed=seed)
    yield Result(
        case,
        "bytes of the exact file that 50,000 more rows add",
        abs(grown - sizes["exact"]),
        Goal(at_most=64),  # a weight may have one more digit
        seed=seed,
    )


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(sys.argv[1], int(sys.argv[2]))
