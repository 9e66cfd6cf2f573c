"""The recipe for Spark runs, and learns what one machine does."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit

SCRIPT = Path(__file__).parents[2] / "examples" / "spark_fit.py"
# Spark says so of every pandas since 3.0, also where it is given Arrow alone.
PANDAS_TOO_NEW = "ignore:PySpark does not yet fully support pandas:FutureWarning"


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark_learns_what_one_machine_does(tmp_path):
    n_rows, path = 5003, tmp_path / "density.rhokit"
    options = ["--rows", str(n_rows), "--output", path]
    # As a script: Spark's workers get its functions, and could not import them.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", PANDAS_TOO_NEW, SCRIPT, *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"rows {n_rows}  learned {n_rows}\n"

    model, example = rhokit.load(path), runpy.run_path(str(SCRIPT))
    rows = example["to_rows"](example["make_table"](n_rows))
    alone = model.blank().partial_fit(rows)
    assert_array_equal(model.state_.weight, [n_rows])
    scale = np.abs(alone.state_.total).max()
    assert_allclose(model.state_.total, alone.state_.total, rtol=0, atol=1e-12 * scale)
    assert_allclose(model.score_samples(rows), alone.score_samples(rows), rtol=1e-8)
