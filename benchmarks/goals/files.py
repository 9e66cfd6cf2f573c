"""Text files: how fast they are read and learned, and in how much memory."""

import shutil
import tempfile
from pathlib import Path

from benchmarks.goals.memory import batches, late_growth
from benchmarks.goals.scale import trace_file_fit
from benchmarks.records import Goal, Result
from benchmarks.timing import compare, interleaved

_READ_ROWS = 65_536


def run(repeats, seed=0):
    """All results of the section."""
    folder = Path(tempfile.mkdtemp(prefix="rhokit-files-"))
    try:
        yield from reading(folder, repeats, seed)
        yield from learning(folder, seed)
    finally:
        shutil.rmtree(folder)


def reading(folder, repeats, seed=0, n=1_000_000, d=10):
    """CSV as arrays, batch by batch, beside pyarrow's own reader of it."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    from rhokit.streams.tables import TableReader

    path = write_csv(folder / "medium.csv", n, d, seed)
    types = {f"x{column}": pa.float64() for column in range(d)}
    convert = pa_csv.ConvertOptions(column_types=types)

    def by_pyarrow():
        with pa_csv.open_csv(path, convert_options=convert) as reader:
            assert sum(record.num_rows for record in reader) == n

    def by_rhokit():
        found = TableReader(path).batches(_READ_ROWS)
        assert sum(len(batch) for batch, _ in found) == n

    times = interleaved({"pyarrow": by_pyarrow, "rhokit": by_rhokit}, repeats)
    ratio, best = compare(lambda a, b: a / b, times["pyarrow"], times["rhokit"])
    details = {
        "best": best,
        "file_megabytes": path.stat().st_size / 1e6,
        **times["pyarrow"].details("pyarrow"),
        **times["rhokit"].details("rhokit"),
    }
    yield Result(
        f"{n:,} rows × {d} columns of CSV",
        "speed of reading over pyarrow's",
        ratio,
        Goal(at_least=0.6),
        seed=seed,
        details=details,
    )


def learning(folder, seed=0, n=3_000_000, d=10, n_components=64):
    """A fit of a CSV file: its memory, and rows per second."""
    path = write_csv(folder / "large.csv", n, d, seed)
    megabytes = path.stat().st_size / 1e6
    trace = trace_file_fit(path, n_components)
    case = f"fit of {n:,} rows × {d} columns of CSV"
    most = max(step["peak_megabytes"] for step in trace)
    yield Result(
        case,
        "most resident memory, everything included, MB",
        most,
        Goal(at_most=600),
        seed=seed,
        details={"file_megabytes": megabytes},
    )
    growth = late_growth(trace)
    yield Result(
        case, "growth from the middle to the end, MB", growth, Goal(at_most=10)
    )
    yield Result(case, "rows per second", n / trace[-1]["seconds"], seed=seed)


def write_csv(path, n, d, seed):
    """A text file of a Gaussian mixture, written batch by batch."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    names = [f"x{column}" for column in range(d)]
    with open(path, "wb") as file:
        for number, batch in enumerate(batches(n, d, seed)):
            table = pa.table(list(batch.T.copy()), names=names)
            options = pa_csv.WriteOptions(include_header=number == 0)
            pa_csv.write_csv(table, file, options)
    return path
