"""Resident memory while a stream of batches is fitted, in a process of its own."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.records import Goal, Result

_ROOT = Path(__file__).resolve().parents[2]
_BATCH_ROWS = 50_000


def run(repeats, seed=0, n=5_000_000, d=20, n_components=512):
    """All results of the section; one pass is enough, whatever ``repeats`` says."""
    trace = fit_stream(n, d, n_components, seed=seed, progress=_show_progress)
    case = f"{n:,} rows × {d} columns, {n_components} landmarks, float32, in batches"
    common = {"seed": seed, "details": {"trace": trace}}
    yield Result(
        case,
        "most resident memory above the import, MB",
        peak(trace),
        Goal(at_most=400),
        **common,
    )
    yield Result(
        case,
        "growth from the middle to the end, MB",
        late_growth(trace),
        Goal(at_most=10),
        **common,
    )


def fit_stream(n, d, n_components, *, seed=0, progress=None):
    """Fit a stream in a new process; return its rows and megabytes over time.

    Parameters
    ----------
    n, d, n_components, seed : int
    progress : callable, optional
        Called with each step, a dictionary, as it happens.

    Returns
    -------
    trace : list of dict
        ``rows`` added so far, resident ``megabytes`` above the import, and
        ``peak_megabytes``, the most of it until then.
    """
    sizes = [str(size) for size in (n, d, n_components, seed)]
    command = [sys.executable, "-m", "benchmarks.goals.memory", *sizes]
    trace = []
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        for text in process.stdout:
            trace.append(json.loads(text))
            if progress is not None:
                progress(trace[-1], n)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return trace


def peak(trace):
    """Most megabytes above the import."""
    return max(step["peak_megabytes"] for step in trace)


def late_growth(trace):
    """Megabytes that the second half of the stream added to the most of the first."""
    return trace[-1]["peak_megabytes"] - trace[len(trace) // 2]["peak_megabytes"]


def _show_progress(step, n):
    text = f"  {step['rows']:>9,} of {n:,} rows, {step['megabytes']:.0f} MB"
    end = "\n" if step["rows"] >= n else ""
    print(f"\r{text}", end=end, file=sys.stderr, flush=True)


# ---- in the process that is measured ---------------------------------------------


def batches(n, d, seed):
    """Float32 batches of a Gaussian mixture, drawn one at a time."""
    import numpy as np

    rng = np.random.default_rng(seed)
    centres = rng.random((8, d), dtype=np.float32)
    for start in range(0, n, _BATCH_ROWS):
        size = min(_BATCH_ROWS, n - start)
        batch = rng.standard_normal((size, d), dtype=np.float32)
        batch *= np.float32(0.08)
        batch += centres[rng.integers(8, size=size)]
        yield batch


def main():
    """Fit the stream, one line per batch."""
    from benchmarks.memory import resident_megabytes
    from rhokit import DMKDE

    parser = argparse.ArgumentParser()
    for name in ("n", "d", "n_components", "seed"):
        parser.add_argument(name, type=int)
    sizes = parser.parse_args()
    model = DMKDE(
        gamma=10.0, scale=None, n_components=sizes.n_components, random_state=0
    )
    imported, rows = resident_megabytes()[0], 0
    for batch in batches(sizes.n, sizes.d, sizes.seed):
        model.partial_fit(batch)
        rows += len(batch)
        now, most = resident_megabytes()
        step = {
            "rows": rows,
            "megabytes": now - imported,
            "peak_megabytes": most - imported,
        }
        print(json.dumps(step), flush=True)


if __name__ == "__main__":
    main()
