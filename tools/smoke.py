"""Uses an installed rhokit a little, from outside its repository.

python tools/smoke.py            what every installation must do
python tools/smoke.py plot cli   and what these extras bring
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rhokit

ROWS = np.random.default_rng(0).normal(size=(300, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)
SMALL = {"n_components": 32, "random_state": 0}


def core() -> None:
    """Fit, ask, merge, save and load."""
    density = rhokit.DMKDE(**SMALL).fit(ROWS)
    assert np.isfinite(density.score_samples(ROWS)).all()
    classes = rhokit.DMKDClassifier(**SMALL).fit(ROWS, LABELS)
    assert classes.score(ROWS, LABELS) > 0.8
    values = rhokit.QMRegressor(**SMALL).fit(ROWS, ROWS[:, 1])
    assert values.predict_interval(ROWS[:5]).shape == (5, 2)
    again = rhokit.loads(rhokit.dumps(density))
    assert (again.score_samples(ROWS) == density.score_samples(ROWS)).all()


def fast() -> None:
    """Compiled loops are there."""
    from rhokit.fast.numba_loops import compiled_loops

    assert compiled_loops() is not None


def plot() -> None:
    """A picture of a density."""
    import matplotlib

    matplotlib.use("agg")
    from rhokit.plots import DensityDisplay

    DensityDisplay.from_estimator(rhokit.DMKDE(**SMALL).fit(ROWS), columns=0)


def torch() -> None:
    """A few epochs."""
    model = rhokit.DMKDClassifierSGD(max_epochs=2, rank=4, **SMALL)
    assert model.fit(ROWS, LABELS).score(ROWS, LABELS) > 0.6


def files() -> None:
    """A Parquet file, summed up."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({f"x{i}": ROWS[:, i] for i in range(3)}), path)
        model = rhokit.fit_files(rhokit.DMKDE(**SMALL), path)
    assert model.score_samples(ROWS).shape == (300,)


def excel() -> None:
    """A sheet, read as a table."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in [["a", "b"], [1.5, 2.5], [3.5, 4.5], [0.5, 1.0]]:
        book.active.append(row)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.xlsx"
        book.save(path)
        assert len(rhokit.read_table(path)) == 3


def dask() -> None:
    """Arrays in parts."""
    import dask.array

    from rhokit.parallel import dask as parallel

    rows = dask.array.from_array(ROWS, chunks=(100, 3))
    assert parallel.fit(rhokit.DMKDE(gamma=1.0, **SMALL), rows).score(ROWS) < 0


def onnx() -> None:
    """A density as a graph."""
    from rhokit.export import export_onnx

    model = rhokit.DMKDE(gamma=1.0, feature_map="landmarks", **SMALL).fit(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(model, Path(folder) / "density.onnx")


def report() -> None:
    """One page."""
    from rhokit.report import write_report

    with tempfile.TemporaryDirectory() as folder:
        write_report(rhokit.DMKDE(**SMALL).fit(ROWS), ROWS, Path(folder) / "page.html")


def quantum() -> None:
    """A circuit as text, and run."""
    from rhokit.quantum import CircuitModel

    model = rhokit.DMKDE(
        feature_map="landmarks", n_components=8, rank=2, random_state=0
    ).fit(ROWS)
    run = CircuitModel(model).run(ROWS[:2])
    assert np.allclose(run.density, model.density(ROWS[:2]), atol=1e-6)


def cli() -> None:
    """The program starts, and says what it can."""
    subprocess.run([sys.executable, "-m", "rhokit.cli", "--help"], check=True)


EXTRAS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (fast, plot, torch, files, excel, dask, onnx, report, quantum, cli)
}


def main(extras: list[str]) -> None:
    """The core, then extras by name."""
    core()
    for extra in extras:
        EXTRAS[extra]()
    print(f"rhokit {rhokit.__version__} works: {', '.join(['core', *extras])}")


if __name__ == "__main__":
    main(sys.argv[1:])
