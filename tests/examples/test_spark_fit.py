"""The recipe for Spark runs, and learns what one machine does."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit

SCRIPT = Path(__file__).parents[2] / "examples" / "spark_fit.py"
# Spark says so of every pandas since 3.0, also where it is given Arrow alone.
PANDAS_TOO_NEW = "ignore:PySpark does not yet fully support pandas:FutureWarning"
N_ROWS = 5003


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(SCRIPT))


class LocalFrame:
    """What the recipe asks of a Spark frame, in this process: two partitions."""

    def __init__(self, table, tamper=lambda row: row):
        self._tamper = tamper
        middle = table.num_rows // 3
        self._parts = [table.slice(0, middle), table.slice(middle), table.slice(0, 0)]
        self.sparkSession = SimpleNamespace(
            sparkContext=SimpleNamespace(
                broadcast=lambda sent: SimpleNamespace(value=sent)
            )
        )

    def mapInArrow(self, function, schema):
        assert schema == "model binary, version string"
        results = [
            batch
            for part in self._parts
            for batch in function(iter(part.to_batches(max_chunksize=700)))
        ]
        made = [row for each in results for row in each.to_pylist()]
        rows = [SimpleNamespace(**row) for row in (*made[:-1], self._tamper(made[-1]))]
        return SimpleNamespace(collect=lambda: rows)


def assert_learned_all(model, rows):
    """The model is that of all rows."""
    alone = model.blank().partial_fit(rows)
    assert_array_equal(model.state_.weight, [len(rows)])
    scale = abs(alone.state_.total).max()
    assert_allclose(model.state_.total, alone.state_.total, rtol=0, atol=1e-12 * scale)
    assert_allclose(model.score_samples(rows), alone.score_samples(rows), rtol=1e-8)


def test_partitions_learn_what_one_machine_does(example):
    table = example["make_table"](N_ROWS)
    rows = example["to_rows"](table)
    plan = rhokit.DMKDE(n_components=64, random_state=0).prepare(rows[::10])
    model = example["fit_spark"](plan, LocalFrame(table))
    assert_learned_all(model, rows)


def of_another_version(row):
    return row | {"version": "0.0.1"}


def of_another_plan(row):
    rows = np.random.default_rng(1).normal(size=(100, 3))
    model = rhokit.DMKDE(n_components=64, random_state=0).prepare(1.5 * rows)
    return row | {"model": rhokit.dumps(model.partial_fit(rows))}


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (of_another_version, r"workers have rhokit 0\.0\.1, the driver"),
        (of_another_plan, "differ in scaling, gamma or feature map"),
    ],
)
@pytest.mark.parametrize("n_rows", [0, 2000])
def test_a_worker_with_another_plan_or_version_is_refused(
    example, tamper, message, n_rows
):
    table = example["make_table"](2000)
    rows = example["to_rows"](table)
    plan = rhokit.DMKDE(n_components=64, random_state=0).prepare(rows)
    with pytest.raises(ValueError, match=message):
        example["fit_spark"](plan, LocalFrame(table.slice(0, n_rows), tamper))


def test_workers_that_all_have_another_plan_are_refused(example):
    """Among themselves they would add up."""
    table = example["make_table"](2000)
    plan = rhokit.DMKDE(n_components=64, random_state=0).prepare(
        example["to_rows"](table)
    )
    one_part = LocalFrame(table, of_another_plan)
    one_part._parts = [table]
    with pytest.raises(ValueError, match="differ in scaling, gamma or feature map"):
        example["fit_spark"](plan, one_part)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark_learns_what_one_machine_does(example, tmp_path):
    path = tmp_path / "density.rhokit"
    options = ["--rows", str(N_ROWS), "--output", path]
    # As a script: Spark's workers get its functions, and could not import them.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", PANDAS_TOO_NEW, SCRIPT, *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"rows {N_ROWS}  learned {N_ROWS}\n"
    rows = example["to_rows"](example["make_table"](N_ROWS))
    assert_learned_all(rhokit.load(path), rows)
